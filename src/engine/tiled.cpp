// Gather, transform, scatter; see tiled.hpp.
//
// Worked numbers: axis 0 of a C-order 256 x 128 x 256 array of 16-byte elements has stride 32768 elements; 32768 lines
// lie side by side. A tile of 16 of them is 16 * 256 * 16 B = 64 KiB; each of the 256 gathers copies 256 contiguous
// bytes.
#include "engine/tiled.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

#include "core/buffer.hpp"
#include "core/shared_team.hpp"
#include "core/stream_copy.hpp"
#include "engine/rows.hpp"
#include "engine/spec.hpp"
#include "engine/tile.hpp"

namespace spanfft {

namespace {

constexpr index_t kFarBytes = 1024;       // a stride below this is no trouble for an engine
constexpr index_t kWorthBytes = 1 << 19;  // nor is an array that stays in the cache...
constexpr index_t kPageBytes = 4096;
constexpr index_t kCrowdedBytes = 512;     // ...unless its points lie a multiple of this apart
constexpr double kThreadWorthFlops = 1e6;  // waking a thread costs some microseconds
constexpr index_t kFewestLanes = 4;
constexpr index_t kLineBytes = 64;  // of the cache

// One axis of complex data: lines of `n` points, `lanes` of them side by side, repeated over loops.
struct AxisWork {
    LoopDim axis;
    index_t lanes = 0;
    std::vector<LoopDim> loops;
    index_t loop_count() const {
        index_t count = 1;
        for (const LoopDim& loop : loops) count *= loop.n;
        return count;
    }
};

// Takes the loop in which neighbours are adjacent on both sides out of `loops`; nothing when there is none worth it.
std::optional<AxisWork> axis_work(const LoopDim& axis, std::vector<LoopDim> loops) {
    const auto lane = std::find_if(loops.begin(), loops.end(), [](const LoopDim& l) {
        return l.in_stride == 1 && l.out_stride == 1 && l.n >= kFewestLanes;
    });
    if (lane == loops.end()) return std::nullopt;
    AxisWork work{axis, lane->n, {}};
    loops.erase(lane);
    // Rows that follow one another without a gap are one row: 256 of 129 are cut into tiles of 32, not of 28.
    for (;;) {
        const auto next = std::find_if(loops.begin(), loops.end(), [&](const LoopDim& l) {
            return l.in_stride == work.lanes && l.out_stride == work.lanes;
        });
        if (next == loops.end()) break;
        work.lanes *= next->n;
        loops.erase(next);
    }
    work.loops = std::move(loops);
    return work;
}

class AxisByTiles {
  public:
    static Result<std::unique_ptr<AxisByTiles>> make(const Engine& engine, Kernel kernel, const LocalSpec& whole,
                                                     AxisWork work, int threads) {
        auto made = std::unique_ptr<AxisByTiles>(new AxisByTiles(std::move(work), whole.precision, whole.caches));
        TileSpec& spec = made->tile_;
        spec.kernel = kernel;
        spec.measure = whole.measure;
        for (int i = 0; i < threads; ++i) {
            Tile tile;
            SPANFFT_ASSIGN(tile.memory, tile_memory(tile_bytes(spec)));
            SPANFFT_ASSIGN(tile.fft, engine.plan(tile_lines(spec)));
            made->tiles_.push_back(std::move(tile));
        }
        return made;
    }

    index_t blocks() const { return ceil_div(work_.lanes, tile_.lanes) * work_.loop_count(); }

    // Block i of blocks(), by thread `member`.
    void run(index_t i, int member, const void* in, void* out) const {
        const index_t per_loop = ceil_div(work_.lanes, tile_.lanes);
        const index_t first = i % per_loop * tile_.lanes, width = std::min(tile_.lanes, work_.lanes - first);
        index_t in_offset = first, out_offset = first, rest = i / per_loop;
        for (size_t l = work_.loops.size(); l-- > 0;) {
            const index_t at = rest % work_.loops[l].n;
            rest /= work_.loops[l].n;
            in_offset += at * work_.loops[l].in_stride;
            out_offset += at * work_.loops[l].out_stride;
        }
        const Tile& tile = tiles_[static_cast<size_t>(member)];
        const auto elem = static_cast<index_t>(tile_.elem.bytes());
        const auto run_bytes = static_cast<size_t>(width * elem);
        const char* from = static_cast<const char*>(in) + in_offset * elem;
        char* to = static_cast<char*>(out) + out_offset * elem;
        for (index_t p = 0; p < work_.axis.n; ++p) {
            prefetch(from + (p + kTileAhead) * work_.axis.in_stride * elem, run_bytes);
            std::memcpy(tile.rows() + p * pitch_bytes_, from + p * work_.axis.in_stride * elem, run_bytes);
        }
        tile.transform();
        for (index_t p = 0; p < work_.axis.n; ++p) {
            copy_out(tile_.elem.precision, scale_, stream_, to + p * work_.axis.out_stride * elem,
                     tile.rows() + p * pitch_bytes_, run_bytes);
        }
        if (stream_) stream_fence();
    }
    // The output is too large for the cache.
    void set_stream() { stream_ = true; }
    void set_scale(long double scale) { scale_ = scale; }

  private:
    AxisByTiles(AxisWork work, Precision precision, const Caches& caches) : work_(std::move(work)) {
        tile_.elem = {precision, true};
        tile_.points = work_.axis.n;
        tile_.lanes = tile_lanes(caches, work_.axis.n, static_cast<index_t>(tile_.elem.bytes()), work_.lanes);
        pitch_bytes_ = tile_pitch_bytes(tile_);
    }

    AxisWork work_;
    TileSpec tile_;
    index_t pitch_bytes_ = 0;
    bool stream_ = false;
    long double scale_ = 1;
    std::vector<Tile> tiles_;  // one for each thread
};

// A stage: one axis, by the engine itself or by tiles; on the input, across, or on the output.
struct Stage {
    enum class On { across, input, output };
    On on = On::across;
    std::vector<std::unique_ptr<LocalFft>> whole;  // one for each thread; when empty: tiles
    std::unique_ptr<AxisByTiles> tiles;
};

// The last two axes, one plane after another, in memory of its own that stays in the cache. The plane's columns come
// out of there with stores that pass the cache by: else the output would be fetched, written, read and written again,
// and each fetch costs as much as a store. Rows are transformed few at a time while the next ones are fetched, because
// the processor fetches ahead in a page only: 64 planes of 256^2 double on one core take 15 ms without and 9.7 with.
//     c2c, r2c   rows into the plane, columns there, and out
//     c2r        copied into the plane, columns there, rows of it through a buffer, and out
class PlaneByPlane {
  public:
    static Result<std::unique_ptr<PlaneByPlane>> make(const Engine& engine, const LocalSpec& spec, int threads,
                                                      long double scale) {
        auto made = std::unique_ptr<PlaneByPlane>(new PlaneByPlane(spec, scale));
        for (int i = 0; i < threads; ++i) {
            Member member;
            SPANFFT_TRY(made->plan_member(engine, spec, member));
            made->members_.push_back(std::move(member));
        }
        return made;
    }

    // By thread `member`; in and out may be the same.
    void run(int member, const void* in, void* out) const {
        const Member& own = members_[static_cast<size_t>(member)];
        const auto* from = static_cast<const char*>(in);
        auto* to = static_cast<char*>(out);
        if (c2r_)
            copy_in(own, from);
        else
            own.rows.run(from, own.plane.data());
        for (index_t first = 0; first < row_points_; first += lanes_) {
            const index_t width = std::min(lanes_, row_points_ - first);
            char* lines = own.plane.as<char>() + first * elem_bytes_;
            (width == lanes_ ? own.lanes : own.last_lanes)->execute(lines, lines);
            for (index_t row = 0; row < rows_ && !c2r_; ++row) {
                copy_out(precision_, scale_, true, to + row * target_stride_bytes_ + first * elem_bytes_,
                         lines + row * pitch_bytes_, static_cast<size_t>(width * elem_bytes_));
            }
        }
        stream_fence();
        if (c2r_) own.rows.run(own.plane.data(), to);
    }

  private:
    struct Member {
        Buffer plane;
        RowGroups rows;                               // into the plane, or for c2r out of it
        std::unique_ptr<LocalFft> lanes, last_lanes;  // last: of what whole tiles leave over
    };

    PlaneByPlane(const LocalSpec& spec, long double scale)
        : c2r_(spec.kernel == Kernel::c2r), precision_(spec.precision), scale_(scale) {
        const LoopDim &column = spec.transform[spec.transform.size() - 2], &row = spec.transform.back();
        elem_bytes_ = static_cast<index_t>(ElemType{spec.precision, true}.bytes());
        rows_ = column.n;
        row_points_ = is_c2c(spec.kernel) ? row.n : row.n / 2 + 1;
        source_stride_bytes_ = column.in_stride * static_cast<index_t>(input_type(spec).bytes());
        target_stride_bytes_ = column.out_stride * static_cast<index_t>(output_type(spec).bytes());
        pitch_bytes_ = row_pitch_bytes(row_points_ * elem_bytes_);
        lanes_ = tile_lanes(spec.caches, rows_, elem_bytes_, row_points_);
    }

    Status plan_member(const Engine& engine, const LocalSpec& spec, Member& member) const {
        SPANFFT_ASSIGN(member.plane, tile_memory(rows_ * pitch_bytes_));
        const auto plan = [&](LocalSpec part, LoopDim axis, LoopDim batch, std::unique_ptr<LocalFft>& fft) -> Status {
            if (batch.n == 0) return {};
            part.transform = {axis};
            part.batch = {batch};
            part.threads = 1;
            SPANFFT_ASSIGN(fft, engine.plan(part));
            return {};
        };
        const index_t pitch = pitch_bytes_ / elem_bytes_;
        LocalSpec rows = spec, columns = spec;
        const LoopDim& column = spec.transform[spec.transform.size() - 2];
        rows.in_place = false;
        if (c2r_) rows.scale = scale_;
        rows.transform = {spec.transform.back()};
        rows.batch = {{rows_, c2r_ ? pitch : column.in_stride, c2r_ ? column.out_stride : pitch}};
        SPANFFT_ASSIGN(member.rows, RowGroups::make(engine, rows, {!c2r_, c2r_}));
        columns.in_place = true;
        if (!is_c2c(spec.kernel)) columns.kernel = c2r_ ? Kernel::c2c_backward : Kernel::c2c_forward;
        SPANFFT_TRY(plan(columns, {rows_, pitch, pitch}, {lanes_, 1, 1}, member.lanes));
        columns.spare_lines = pitch - row_points_;
        return plan(columns, {rows_, pitch, pitch}, {row_points_ % lanes_, 1, 1}, member.last_lanes);
    }

    // c2r: rows as they are into the plane.
    void copy_in(const Member& own, const char* from) const {
        const auto row_bytes = static_cast<size_t>(row_points_ * elem_bytes_);
        for (index_t row = 0; row < rows_; ++row, from += source_stride_bytes_) {
            prefetch(from + source_stride_bytes_, row_bytes);
            std::memcpy(own.plane.as<char>() + row * pitch_bytes_, from, row_bytes);
        }
    }

    const bool c2r_;
    const Precision precision_;
    const long double scale_;
    index_t elem_bytes_ = 0;  // of a complex number
    index_t rows_ = 0, row_points_ = 0;
    index_t source_stride_bytes_ = 0, target_stride_bytes_ = 0, pitch_bytes_ = 0;
    index_t lanes_ = 1;
    std::vector<Member> members_;  // one for each thread
};

// Stages that are done in turn for each index of the outer loops, so that what they share stays in the cache. Threads
// share the outer indices where there are enough of them, else the blocks of each stage.
struct Phase {
    std::vector<LoopDim> outer;
    std::vector<Stage> stages;
    std::unique_ptr<PlaneByPlane> planes;  // instead of stages
    bool share_outer = false;
    index_t count() const {
        index_t n = 1;
        for (const LoopDim& loop : outer) n *= loop.n;
        return n;
    }
};

class TiledFft final : public LocalFft {
  public:
    std::vector<Phase> phases;
    size_t in_bytes = 0, out_bytes = 0;  // of an element
    std::unique_ptr<SharedTeam> team;    // nullptr: this thread alone

    void execute(const void* in, void* out) const override {
        for (const Phase& phase : phases) {
            if (team && phase.share_outer) {
                std::atomic<index_t> next{0};
                team->run([&](int member) {
                    for (index_t i = next++; i < phase.count(); i = next++) run_stages(phase, i, member, in, out);
                });
            } else {
                for (index_t i = 0; i < phase.count(); ++i) run_stages(phase, i, 0, in, out);
            }
        }
    }

  private:
    void run_stages(const Phase& phase, index_t i, int member, const void* in, void* out) const {
        auto* from = static_cast<const char*>(in);
        auto* to = static_cast<char*>(out);
        for (size_t l = phase.outer.size(); l-- > 0;) {
            from += i % phase.outer[l].n * phase.outer[l].in_stride * static_cast<index_t>(in_bytes);
            to += i % phase.outer[l].n * phase.outer[l].out_stride * static_cast<index_t>(out_bytes);
            i /= phase.outer[l].n;
        }
        if (phase.planes) phase.planes->run(member, from, to);
        for (const Stage& stage : phase.stages) {
            const char* source = stage.on == Stage::On::output ? to : from;
            // In place on the input: only c2r, which may destroy what it reads.
            char* target = stage.on == Stage::On::input ? const_cast<char*>(from) : to;
            if (!stage.whole.empty()) {
                stage.whole[static_cast<size_t>(member)]->execute(source, target);
            } else if (team && !phase.share_outer) {
                std::atomic<index_t> next{0};
                team->run([&](int who) {
                    for (index_t block = next++; block < stage.tiles->blocks(); block = next++)
                        stage.tiles->run(block, who, source, target);
                });
            } else {
                for (index_t block = 0; block < stage.tiles->blocks(); ++block)
                    stage.tiles->run(block, member, source, target);
            }
        }
    }
};

bool is_far(index_t stride, index_t elem_bytes) { return std::abs(stride) * elem_bytes > kFarBytes; }

// Whether the points of a line push one another out of the first cache: the place of a point in its page says which set
// it goes to, so points whole powers of two apart share few. Worked: 256 points 1 KiB apart lie at 4 places of a page,
// for which 12 ways hold 48 of them. Points that share more sets than that gain from twice as many on.
bool is_crowded(index_t n, index_t stride_bytes, const Caches& caches) {
    const index_t common = std::gcd(stride_bytes, kPageBytes), held = caches.l1_bytes / common;
    return common >= kCrowdedBytes ? n > held : common == kCrowdedBytes / 2 && n > 2 * held;
}

// The transform axis that the engine does itself: the last, if it is contiguous or halved (which tiles can't do).
bool engine_does_last(const LocalSpec& spec) {
    const LoopDim& last = spec.transform.back();
    return !is_c2c(spec.kernel) || (last.in_stride == 1 && last.out_stride == 1);
}

// Transform axis `axis` as a loop around another one; the halved axis has n/2+1 points there.
LoopDim as_loop(const LocalSpec& spec, size_t axis) {
    LoopDim loop = spec.transform[axis];
    if (axis + 1 == spec.transform.size() && !is_c2c(spec.kernel)) loop.n = loop.n / 2 + 1;
    return loop;
}

LoopDim on_side(LoopDim axis, Stage::On on) {
    if (on == Stage::On::output) axis.in_stride = axis.out_stride;
    if (on == Stage::On::input) axis.out_stride = axis.in_stride;
    return axis;
}

// Batch loops further apart than any transform axis reaches are the outer ones; the rest runs inside each stage.
void divide_batch(const LocalSpec& spec, std::vector<LoopDim>& outer, std::vector<LoopDim>& inner) {
    index_t widest = 0;
    for (const LoopDim& axis : spec.transform) widest = std::max({widest, axis.in_stride, axis.out_stride});
    for (const LoopDim& loop : spec.batch)
        (std::min(loop.in_stride, loop.out_stride) > widest ? outer : inner).push_back(loop);
}

// One axis of a phase: where it is done, by whom, and the loops around it.
struct Order {
    size_t axis;
    Stage::On on;
    bool by_engine;
    std::vector<LoopDim> loops;
};
struct PhaseOrder {
    std::vector<LoopDim> outer;
    std::vector<Order> steps;
};

// Which axis when. The last two axes together, plane by plane; each other axis in a phase of its own. The engine's axis
// comes first, the others then on the output; for c2r all that backwards, and the others on the input.
std::vector<PhaseOrder> order_of(const LocalSpec& spec) {
    std::vector<LoopDim> batch_outer, inner;
    divide_batch(spec, batch_outer, inner);
    const size_t axes = spec.transform.size(), last = axes - 1, plane = axes > 1 ? last - 1 : last;
    const bool c2r = spec.kernel == Kernel::c2r;
    const auto step = [&](size_t axis, std::vector<LoopDim> loops) {
        const bool first = axis == last;
        const auto on = first ? (spec.in_place ? Stage::On::output : Stage::On::across)
                        : c2r ? Stage::On::input
                              : Stage::On::output;
        for (LoopDim& loop : loops) loop = on_side(loop, on);
        return Order{axis, on, first && engine_does_last(spec), std::move(loops)};
    };
    std::vector<PhaseOrder> phases(1);
    phases[0].outer = batch_outer;
    for (size_t axis = 0; axis < plane; ++axis) phases[0].outer.push_back(as_loop(spec, axis));
    for (size_t axis = last + 1; axis-- > plane;) {
        auto loops = inner;
        if (axes > 1) loops.push_back(as_loop(spec, axis == last ? plane : last));
        phases[0].steps.push_back(step(axis, std::move(loops)));
    }
    for (size_t axis = plane; axis-- > 0;) {
        auto loops = inner;
        for (size_t other = 0; other < axes; ++other) {
            if (other != axis) loops.push_back(as_loop(spec, other));
        }
        phases.push_back({batch_outer, {step(axis, std::move(loops))}});
    }
    if (c2r) {
        std::reverse(phases.begin(), phases.end());
        for (auto& phase : phases) std::reverse(phase.steps.begin(), phase.steps.end());
    }
    return phases;
}

// Whether the plane of a phase goes through PlaneByPlane.
bool passes_plane(const LocalSpec& spec, const PhaseOrder& order) {
    if (order.steps.size() != 2) return false;
    const bool rows_first = order.steps[0].by_engine;
    const Order &rows = order.steps[rows_first ? 0 : 1], &columns = order.steps[rows_first ? 1 : 0];
    if (!rows.by_engine || columns.by_engine || rows.loops.size() != 1 || columns.loops.size() != 1) return false;
    if (spec.transform.back().in_stride != 1 || spec.transform.back().out_stride != 1) return false;
    const auto elem = static_cast<index_t>(ElemType{spec.precision, true}.bytes());
    const index_t plane_bytes = rows.loops[0].n * columns.loops[0].n * elem;
    const index_t most_plane_bytes = spec.caches.l3_bytes / 2;  // the rest is for what is read and written beside it
    return plane_bytes <= most_plane_bytes && spec_elems(spec) * elem >= spec.caches.stream_worth_bytes();
}

Kernel kernel_of_stage(const LocalSpec& spec, const Order& step) {
    if (is_c2c(spec.kernel) || step.by_engine) return spec.kernel;
    return spec.kernel == Kernel::c2r ? Kernel::c2c_backward : Kernel::c2c_forward;
}

}  // namespace

bool worth_tiling(const LocalSpec& asked, bool minds_crowds) {
    const LocalSpec spec = canonical(asked);
    if (spec.transform.empty() || is_r2r(spec.kernel) || is_empty(spec)) return false;
    if (spec.in_place && !is_c2c(spec.kernel)) return false;
    if (spec.transform.size() == 1 && engine_does_last(spec)) return false;
    const auto elem = static_cast<index_t>(ElemType{spec.precision, true}.bytes());
    const bool large = spec_elems(spec) * elem >= kWorthBytes;
    const auto is_trouble = [&](index_t n, index_t stride) {
        return (large && is_far(stride, elem)) || (minds_crowds && is_crowded(n, stride * elem, spec.caches));
    };
    bool trouble = false;
    for (const PhaseOrder& phase : order_of(spec)) {
        for (const Order& step : phase.steps) {
            if (step.by_engine) continue;
            const LoopDim axis = on_side(spec.transform[step.axis], step.on);
            if (!axis_work(axis, step.loops)) return false;
            trouble = trouble || is_trouble(axis.n, axis.in_stride) || is_trouble(axis.n, axis.out_stride);
        }
    }
    return trouble;
}

namespace {

Result<Stage> make_stage(const Engine& engine, const LocalSpec& spec, const Order& step, bool alone, bool share_outer,
                         int members) {
    const LoopDim axis = on_side(spec.transform[step.axis], step.on);
    Stage stage;
    stage.on = step.on;
    if (!step.by_engine) {
        SPANFFT_ASSIGN(stage.tiles, AxisByTiles::make(engine, kernel_of_stage(spec, step), spec,
                                                      *axis_work(axis, step.loops), members));
        const auto elem = static_cast<index_t>(ElemType{spec.precision, true}.bytes());
        // In place too where a far axis is a phase of its own: its rows push one another out of the cache before they
        // are written, and would be fetched again. Only whole cache lines, as parts of one cost more past the cache.
        const bool whole_lines = axis.out_stride * elem % kLineBytes == 0;
        if ((step.on == Stage::On::across || (alone && whole_lines)) &&
            spec_elems(spec) * elem >= spec.caches.stream_worth_bytes())
            stage.tiles->set_stream();
        return stage;
    }
    LocalSpec part = spec;
    part.transform = {axis};
    part.batch = step.loops;
    part.in_place = step.on == Stage::On::input || step.on == Stage::On::output;
    part.threads = share_outer ? 1 : spec.threads;
    for (int i = 0; i < (share_outer ? members : 1); ++i) {
        SPANFFT_ASSIGN(auto whole, engine.plan(part));
        stage.whole.push_back(std::move(whole));
    }
    return stage;
}

}  // namespace

Result<std::unique_ptr<LocalFft>> plan_tiled(const Engine& engine, const LocalSpec& asked) {
    LocalSpec spec = canonical(asked);
    const long double scale = std::exchange(spec.scale, 1);
    auto fft = std::make_unique<TiledFft>();
    fft->in_bytes = input_type(spec).bytes();
    fft->out_bytes = output_type(spec).bytes();
    const int threads = spec_flops(spec) >= kThreadWorthFlops ? spec.threads : 1;
    fft->team = SharedTeam::of(threads);
    const int members = fft->team ? fft->team->size() : 1;
    const std::vector<PhaseOrder> orders = order_of(spec);
    // The last phase that copies results itself multiplies them by the scale, on the way; there is one (worth_tiling).
    const auto copies = [](const PhaseOrder& order) {
        return std::any_of(order.steps.begin(), order.steps.end(), [](const Order& step) { return !step.by_engine; });
    };
    const auto scaling = std::find_if(orders.rbegin(), orders.rend(), copies);
    for (const PhaseOrder& order : orders) {
        const bool scales = scaling != orders.rend() && &order == &*scaling;
        Phase phase;
        phase.outer = order.outer;
        phase.share_outer = members > 1 && phase.count() >= 4 * members;
        // With few planes threads share the columns of each, and one plane must be seen by all of them.
        if ((members == 1 || phase.share_outer) && passes_plane(spec, order)) {
            SPANFFT_ASSIGN(phase.planes, PlaneByPlane::make(engine, spec, members, scales ? scale : 1));
        }
        for (size_t i = 0; !phase.planes && i < order.steps.size(); ++i) {
            SPANFFT_ASSIGN(Stage stage, make_stage(engine, spec, order.steps[i], order.steps.size() == 1,
                                                   phase.share_outer, members));
            phase.stages.push_back(std::move(stage));
        }
        const auto tiles = std::find_if(phase.stages.rbegin(), phase.stages.rend(),
                                        [](const Stage& stage) { return stage.tiles != nullptr; });
        if (scales && tiles != phase.stages.rend()) tiles->tiles->set_scale(scale);
        fft->phases.push_back(std::move(phase));
    }
    return std::unique_ptr<LocalFft>(std::move(fft));
}

}  // namespace spanfft
