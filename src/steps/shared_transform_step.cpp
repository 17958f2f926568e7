// Tiles, barriers, copies beside them; see shared_transform_step.hpp.
#include "steps/shared_transform_step.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/shared_team.hpp"
#include "core/stream_copy.hpp"
#include "engine/line_fold.hpp"
#include "engine/line_tile.hpp"
#include "engine/rates.hpp"
#include "engine/tile.hpp"
#include "steps/shared_regions.hpp"
#include "steps/transform_step.hpp"

namespace spanfft {

namespace {

// A run into a tile or out of it, beside its bytes: 480 and 700 points of 4 and 3 lanes take two ranks 5 to 6 ns each
// beside the engine, on an EPYC of 2023.
constexpr double kRunSeconds = 6e-9;

index_t elem_bytes_of(const SharedTransformSpec& spec) { return static_cast<index_t>(spec.elem.bytes()); }

// The length whose transform a turned one is half of.
index_t turned_length(const SharedTransformSpec& spec) { return spec.points() * spec.share.shape().back(); }

// How a rank's lines lie in tiles, and what the engine is asked for in one call.
struct Tiling {
    index_t lanes = 0;  // lines of a tile; 0: there are none
    index_t lines_a_call = 1;
    index_t bytes = 0;        // of a tile
    index_t pitch_bytes = 0;  // from a point's run to the next one's, where lines lie side by side
    LineTileForm rows;        // where they are rows
    LocalSpec call;
    index_t calls(index_t lines) const { return ceil_div(lines, lines_a_call); }
};

Tiling tiling_of(const SharedTransformSpec& spec, index_t available) {
    Tiling tiling;
    if (available == 0) return tiling;
    if (spec.rows) {
        tiling.rows = line_tile_form(spec.caches, spec.points(), elem_bytes_of(spec), available);
        tiling.lanes = tiling.rows.lines;
        tiling.lines_a_call = tiling.rows.lines_a_call;
        tiling.bytes = tiling.rows.bytes();
        tiling.call = line_tile_call(tiling.rows, spec.kernel, spec.elem.precision, spec.measure);
        return tiling;
    }
    TileSpec tile{spec.kernel, spec.elem, spec.points(), 1, spec.measure};
    tile.lanes = tile_lanes(spec.caches, tile.points, elem_bytes_of(spec), available);
    tiling.lanes = tiling.lines_a_call = tile.lanes;
    tiling.bytes = tile_bytes(tile);
    tiling.pitch_bytes = tile_pitch_bytes(tile);
    tiling.call = tile_lines(tile);
    return tiling;
}

Tiling tiling_of(const SharedTransformSpec& spec, const std::vector<Region>& regions) {
    index_t most_lanes = 0;
    for (const Region& region : regions) {
        const bool paired = region.columns == Region::Columns::low;
        most_lanes = std::max(most_lanes, region.lanes() * (paired ? 2 : 1));
    }
    return tiling_of(spec, most_lanes);
}

// The lanes of a region in groups of a tile.
ColumnGroups groups_of(const SharedTransformSpec& spec, const Region& region, const Tiling& tiling) {
    const index_t lead = spec.rows ? elems_before_line(region.past_line_bytes(), elem_bytes_of(spec)) : 0;
    return {region.lanes(), std::min(lead, tiling.lanes), tiling.lanes};
}

// Low columns in groups of half a tile, whose other half is for the high ones.
ColumnGroups pairs_of(const Region& low, const Tiling& tiling) {
    return {low.lanes(), 0, std::max<index_t>(1, tiling.lanes / 2)};
}

index_t bytes_of(const std::vector<StridedPart>& parts) {
    index_t bytes = 0;
    for (const StridedPart& part : parts) bytes += part.bytes();
    return bytes;
}

// What a rank reads and writes beside its lines.
index_t copied_bytes(const SharedTransformSpec& spec, int rank) {
    return 2 * (bytes_of(others_parts(spec, spec.from, rank)) + bytes_of(others_parts(spec, spec.to, rank)));
}

// What a rank does through its tiles.
struct TileWork {
    index_t lines = 0, calls = 0;  // the engine is given whole calls, the unused lanes of a last one too
    index_t moved = 0;             // elements into tiles and out of them
    index_t runs = 0;              // in which they are moved, where lines lie side by side
    index_t ends = 0;              // elements that folding copies from one end to the other
};

TileWork tile_work(const SharedTransformSpec& spec, const std::vector<Region>& regions, const Tiling& tiling) {
    TileWork work;
    for (const Region& region : regions) {
        if (region.lanes() * region.outer() == 0) continue;
        work.lines += region.lanes() * region.outer();
        index_t points = 0;  // of both sides
        for (const auto* pieces : {&region.from, &region.to})
            for (const Piece1d& piece : *pieces) points += piece.points;
        work.moved += region.lanes() * region.outer() * points;
        if (region.end) work.ends += region.outer();
        if (region.columns == Region::Columns::high) continue;  // with the low ones
        if (region.columns == Region::Columns::low) {
            work.calls += region.outer() * pairs_of(region, tiling).sum([&](index_t n) { return tiling.calls(2 * n); });
            continue;
        }
        const ColumnGroups groups = groups_of(spec, region, tiling);
        work.calls += region.outer() * groups.sum([&](index_t n) { return tiling.calls(n); });
        if (!spec.rows) work.runs += region.outer() * groups.count() * points;
    }
    return work;
}

// What transforming a rank's lines costs, in time aside: only lines that there are go through memory.
Counts counts_of(const SharedTransformSpec& spec, int rank, const TileWork& work, const Tiling& tiling) {
    Counts counts;
    counts.memory_bytes = copied_bytes(spec, rank) + work.ends * elem_bytes_of(spec);
    if (work.lines == 0) return counts;
    const index_t points = work.lines * spec.points();
    counts.flops = static_cast<double>(work.calls) * transform_flops(tiling.call);
    if (spec.twiddles()) counts.flops += 6 * static_cast<double>(points);
    if (spec.folded) counts.flops += LineFold::kFlops * static_cast<double>(points);
    if (spec.filter) {
        counts.flops += counts.flops + 6 * static_cast<double>(points);
        counts.memory_bytes += points * elem_bytes_of(spec);
    }
    counts.memory_bytes += work.moved * elem_bytes_of(spec);
    return counts;
}

class SharedTransformTask final : public Task {
  public:
    static Result<std::unique_ptr<Task>> make(const SharedTransformSpec& spec, Binding& binding) {
        auto task = std::unique_ptr<SharedTransformTask>(new SharedTransformTask(spec, binding));
        task->team_ = SharedTeam::of(spec.threads);
        task->members_.resize(static_cast<size_t>(task->team_ ? task->team_->size() : 1));
        if (task->tiling_.lanes == 0) return std::unique_ptr<Task>(std::move(task));
        for (Member& member : task->members_) {
            SPANFFT_ASSIGN(member.memory, tile_memory(task->tiling_.bytes));
            SPANFFT_ASSIGN(EngineChoice choice, plan_local(task->tiling_.call, spec.engine, spec.rates));
            binding.engine_ran(choice.engine);
            member.fft = std::move(choice.fft);
            member.lines = LineTile(member.memory, task->tiling_.rows);
            if (spec.filter) {
                LocalSpec back = task->tiling_.call;
                back.kernel = inverse_kernel(spec.kernel);
                SPANFFT_ASSIGN(EngineChoice undoing, plan_local(back, spec.engine, spec.rates));
                binding.engine_ran(undoing.engine);
                member.back = std::move(undoing.fft);
            }
            if (!spec.twiddles() && !spec.folded) continue;
            SPANFFT_ASSIGN(member.factors, Twiddles::Row::make(spec.points(), spec.elem.precision));
        }
        if (spec.filter) {
            task->filter_form_ = spec.filter_of(task->rank_);
            SPANFFT_ASSIGN(task->filter_, make_chirp_filter(task->filter_form_, spec.engine, spec.rates, binding));
        }
        if (spec.folded) {
            SPANFFT_ASSIGN(task->fold_, LineFold::make(spec.share.shape().back(), spec.points(), spec.elem.precision,
                                                       spec.folds(spec.to)));
        }
        if (spec.twiddles()) {
            SPANFFT_ASSIGN(task->twiddles_, Twiddles::make(turned_length(spec), spec.elem.precision,
                                                           spec.kernel == Kernel::c2c_backward));
        }
        return std::unique_ptr<Task>(std::move(task));
    }

    Status run(RunContext& context) override {
        const Counts before = done();
        if (spec_.from.own) copy_others(others_take_, context.at(*spec_.from.own), own_part(from_window_), context);
        Status first = barrier();  // after a failure too: the others come to the second one
        {
            const TraceScope scope(context.trace, "transform", TraceCategory::compute);
            for (size_t i = 0; i < regions_.size(); ++i) {
                if (regions_[i].columns == Region::Columns::low) {
                    run_pairs(regions_[i], regions_[i + 1], context);
                    ++i;
                } else {
                    run_region(regions_[i], context);
                }
            }
        }
        keep_first(first, barrier());
        if (spec_.to.own) copy_others(others_put_, own_part(to_window_), context.at(*spec_.to.own), context);
        counts_ = done();
        counts_.flops -= before.flops;
        counts_.memory_bytes -= before.memory_bytes;
        return first;
    }
    Counts counted() const override { return counts_; }

  private:
    struct alignas(64) Member {  // of one thread, and what it did: in cache lines of its own
        Buffer memory;
        LineTile lines;                         // a view of the memory, where lines are rows
        std::unique_ptr<CountedFft> fft, back;  // back: behind a filter
        Twiddles::Row factors;
        index_t moved_bytes = 0;
        index_t twiddled = 0, folded = 0, filtered = 0;  // elements
    };

    SharedTransformTask(const SharedTransformSpec& spec, Binding& binding)
        : spec_(spec),
          rank_(binding.comm.rank()),
          regions_(regions_of(spec, rank_)),
          others_take_(others_parts(spec, spec.from, rank_)),
          others_put_(others_parts(spec, spec.to, rank_)),
          elem_bytes_(elem_bytes_of(spec)),
          from_window_(spec.from.shared ? binding.window(spec.from.slot) : nullptr),
          to_window_(spec.to.shared ? binding.window(spec.to.slot) : nullptr),
          large_(spec.share.local_elems(rank_) * elem_bytes_ >= spec.caches.stream_worth_bytes()),
          stream_(spec.rows ? large_ && !spec.folds(spec.to) : !spec.to.shared),
          tiling_(tiling_of(spec, regions_)) {}

    // By all threads, in all runs.
    Counts done() const {
        Counts counts;
        for (const Member& member : members_) {
            if (member.fft) counts.flops += member.fft->done().flops;
            if (member.back) counts.flops += member.back->done().flops;
            counts.flops += 6 * static_cast<double>(member.twiddled + member.filtered);
            counts.flops += LineFold::kFlops * static_cast<double>(member.folded);
            counts.memory_bytes += member.moved_bytes;
        }
        return counts;
    }

    Status barrier() { return (from_window_ ? from_window_ : to_window_)->barrier(); }
    void* own_part(SharedWindow* window) const { return window->part(rank_); }

    // Each of so many jobs once, by whichever thread is free.
    template <class Job>
    void share(index_t count, const Job& job) {
        if (team_) {
            std::atomic<index_t> next{0};
            team_->run([&](int member) {
                for (index_t i = next++; i < count; i = next++) job(i, members_[static_cast<size_t>(member)]);
                stream_fence();
            });
        } else {
            for (index_t i = 0; i < count; ++i) job(i, members_[0]);
            stream_fence();
        }
    }

    void copy_others(const std::vector<StridedPart>& parts, const void* from, void* to, RunContext& context) {
        TraceScope scope(context.trace, "copy", TraceCategory::compute, 2 * bytes_of(parts));
        for (const StridedPart& part : parts) {
            share(part.bytes() / part.elem_bytes, [&](index_t run, Member& member) {
                index_t at = part.offset_bytes;
                for (size_t d = part.dims.size(); d-- > 0;) {
                    at += run % part.dims[d].count * part.dims[d].stride_bytes;
                    run /= part.dims[d].count;
                }
                copy_out(spec_.elem.precision, 1, large_, static_cast<char*>(to) + at,
                         static_cast<const char*>(from) + at, static_cast<size_t>(part.elem_bytes));
                member.moved_bytes += 2 * part.elem_bytes;
            });
        }
    }

    void run_region(const Region& region, RunContext& context) {
        const ColumnGroups groups = groups_of(spec_, region, tiling_);
        share(region.outer() * groups.count(), [&](index_t job, Member& member) {
            const index_t group = job % groups.count(), first = groups.begin(group);
            const Lanes lanes{job / groups.count(), first, groups.end(group) - first};
            take(region, lanes, member, context);
            if (spec_.folds(spec_.from)) fold_alone(region, lanes.outer, member, context);
            spec_.rows ? member.lines.transform(*member.fft, lanes.width)
                       : member.fft->execute(member.memory.data(), member.memory.data());
            if (spec_.folds(spec_.to)) fold_alone(region, lanes.outer, member, context);
            if (spec_.filter) convolve(region, lanes, member);
            leave(region, lanes, member, context);
        });
    }

    // Low columns and the high ones that they go with.
    void run_pairs(const Region& low, const Region& high, RunContext& context) {
        const ColumnGroups pairs = pairs_of(low, tiling_);
        share(low.outer() * pairs.count(), [&](index_t job, Member& member) {
            const index_t outer = job / pairs.count(), group = job % pairs.count();
            const index_t first = pairs.begin(group), count = pairs.end(group) - first;
            // The last lane of the high ones goes with the first low one.
            const Lanes lows{outer, first, count}, highs{outer, high.lanes() - first - count, count, count};
            take(low, lows, member, context);
            take(high, highs, member, context);
            if (spec_.folds(spec_.from)) fold_pairs(low, lows, member);
            member.lines.transform(*member.fft, 2 * count);
            if (spec_.folds(spec_.to)) fold_pairs(low, lows, member);
            leave(low, lows, member, context);
            leave(high, highs, member, context);
        });
    }

    // Lanes first, first + 1, ... of a region, where the loops outside them are at `outer`; in the tile from `line` on.
    struct Lanes {
        index_t outer = 0, first = 0, width = 0, line = 0;
    };

    // Lines of a tile that are transformed: times the filter, and back.
    void convolve(const Region& region, const Lanes& lanes, Member& member) const {
        multiply_by_filter(filter_form_, filter_, region.first_lane + lanes.first, lanes.width, member.lines.line(0),
                           tiling_.rows.pitch_bytes);
        member.lines.transform(*member.back, lanes.width);
        member.filtered += lanes.width * spec_.points();
        member.moved_bytes += lanes.width * spec_.points() * elem_bytes_;
    }

    void fold_pairs(const Region& low, const Lanes& lows, Member& member) const {
        const index_t column = low.first_lane + lows.first, last = 2 * lows.width - 1;
        for (index_t i = 0; i < lows.width; ++i)
            fold_.pair(member.factors, column + i, member.lines.line(i), member.lines.line(last - i));
        member.folded += 2 * lows.width * spec_.points();
    }

    void fold_alone(const Region& region, index_t outer, Member& member, RunContext& context) const {
        char* const line = member.lines.line(0);
        if (region.end) {
            const bool out = spec_.folds(spec_.to);
            char* const end = base(*region.end, out ? spec_.to : spec_.from, out ? to_window_ : from_window_, context) +
                              region.end->at_bytes(region.counts, outer, 0);
            fold_.ends(line, end);
            member.moved_bytes += elem_bytes_;
        }
        fold_.alone(region.first_lane, line);
        member.folded += spec_.points();
    }

    void take(const Region& region, const Lanes& lanes, Member& member, RunContext& context) const {
        index_t point = 0, taken = 0;
        for (const Piece1d& piece : region.from) {
            point += piece.skipped;
            const char* const array = base(piece, spec_.from, from_window_, context) +
                                      piece.at_bytes(region.counts, lanes.outer, lanes.first);
            spec_.rows ? take_lines(region, piece, point, lanes, array, member)
                       : move_piece<true>(piece, point, lanes.width, const_cast<char*>(array), member);  // only read
            point += piece.points;
            taken += piece.points;
        }
        if (spec_.from.blocks && point < spec_.points()) {
            for (index_t i = lanes.line; i < lanes.line + lanes.width; ++i)
                std::memset(member.lines.line(i) + point * elem_bytes_, 0,
                            static_cast<size_t>((spec_.points() - point) * elem_bytes_));
        }
        if (spec_.cuts(spec_.from)) spec_.kept().pad(lines_of(member, lanes.width));
        member.moved_bytes += taken * lanes.width * elem_bytes_;
    }

    void leave(const Region& region, const Lanes& lanes, Member& member, RunContext& context) const {
        if (spec_.cuts(spec_.to)) spec_.kept().fold(lines_of(member, lanes.width));
        index_t point = 0, left = 0;
        for (const Piece1d& piece : region.to) {
            point += piece.skipped;
            char* const array =
                base(piece, spec_.to, to_window_, context) + piece.at_bytes(region.counts, lanes.outer, lanes.first);
            spec_.rows ? leave_lines(region, piece, point, lanes, array, member)
                       : move_piece<false>(piece, point, lanes.width, array, member);
            point += piece.points;
            left += piece.points;
        }
        member.moved_bytes += left * lanes.width * elem_bytes_;
    }

    // Side by side in the tile.
    ModeLines lines_of(const Member& member, index_t width) const {
        return {spec_.elem.precision, member.memory.as<char>(), tiling_.pitch_bytes, elem_bytes_, width};
    }

    char* base(const Piece1d& piece, const SharedSide& side, SharedWindow* window, RunContext& context) const {
        if (piece.owner < 0) return static_cast<char*>(context.at(side.slot));
        if (piece.owner == rank_ && side.own) return static_cast<char*>(context.at(*side.own));
        return static_cast<char*>(window->part(piece.owner));
    }

    // Of lines that are rows of the tile: columns of an array, or rows of this rank's own array through factors.
    void take_lines(const Region& region, const Piece1d& piece, index_t point, const Lanes& lanes, const char* array,
                    Member& member) const {
        if (spec_.from.turned)
            member.lines.take_rows(lanes.width, factors(region, lanes, member), array, piece.stride_bytes.back());
        else
            member.lines.fetch({lanes.line, lanes.width, point, piece.points}, array, piece.point_stride_bytes);
    }

    void leave_lines(const Region& region, const Piece1d& piece, index_t point, const Lanes& lanes, char* array,
                     Member& member) const {
        if (spec_.to.turned)
            member.lines.leave_rows(lanes.width, factors(region, lanes, member), array, piece.stride_bytes.back(),
                                    stream_);
        else
            member.lines.put({lanes.line, lanes.width, point, piece.points}, array, piece.point_stride_bytes, stream_);
    }

    LineFactors factors(const Region& region, const Lanes& lanes, Member& member) const {
        if (!spec_.twiddled) return {};
        member.twiddled += lanes.width * spec_.points();
        return {&twiddles_, &member.factors, region.first_lane + lanes.first, spec_.scale};
    }

    // Of lines that lie side by side: into the tile, or out of it (scaled), from its row `point` on.
    template <bool kIn>
    void move_piece(const Piece1d& piece, index_t point, index_t width, char* array, const Member& member) const {
        char* row = member.memory.as<char>() + point * tiling_.pitch_bytes;
        const bool adjacent = piece.stride_bytes.back() == elem_bytes_;
        for (index_t p = 0; p < piece.points; ++p, row += tiling_.pitch_bytes, array += piece.point_stride_bytes) {
            if (adjacent) {
                const auto bytes = static_cast<size_t>(width * elem_bytes_);
                if (kIn) {
                    prefetch(array + kTileAhead * piece.point_stride_bytes, bytes);
                    std::memcpy(row, array, bytes);
                } else
                    copy_out(spec_.elem.precision, spec_.scale, stream_, array, row, bytes);
                continue;
            }
            for (index_t j = 0; j < width; ++j) {
                char* elem = array + j * piece.stride_bytes.back();
                if (kIn)
                    std::memcpy(row + j * elem_bytes_, elem, static_cast<size_t>(elem_bytes_));
                else
                    copy_out(spec_.elem.precision, spec_.scale, false, elem, row + j * elem_bytes_,
                             static_cast<size_t>(elem_bytes_));
            }
        }
    }

    const SharedTransformSpec spec_;
    const int rank_;
    const std::vector<Region> regions_;
    const std::vector<StridedPart> others_take_, others_put_;  // of this rank's own parts
    const index_t elem_bytes_;
    SharedWindow *const from_window_, *const to_window_;
    const bool large_;  // the share has left the cache before it is read again
    // Side by side: out of the window, as the tile's lines were read elsewhere, so the target is not in the cache. Not
    // where lines are folded: pairs of columns leave in runs of half a tile, low or high ones of which begin inside a
    // cache line, and a line that two runs share must stay in the cache between them (2^22 points: half the time).
    const bool stream_;
    const Tiling tiling_;
    std::vector<Member> members_;  // by thread
    Twiddles twiddles_;
    LineFold fold_;
    ChirpFilterForm filter_form_;
    Buffer filter_;
    std::unique_ptr<SharedTeam> team_;
    Counts counts_;
};

class SharedTransformStep final : public Step {
  public:
    SharedTransformStep(SharedTransformSpec spec, std::string engine, double seconds_a_line)
        : spec_(std::move(spec)), engine_(std::move(engine)), seconds_a_line_(seconds_a_line) {}
    const char* type() const override { return "SharedTransform"; }
    // Rows of the tile that are multiplied by factors on the way, or folded, take twice as long as others.
    const char* sort() const override {
        if (!spec_.rows) return type();
        return spec_.folded       ? "SharedTransform:folded"
               : spec_.twiddles() ? "SharedTransform:twiddled"
                                  : "SharedTransform:lines";
    }

    std::string describe() const override {
        const auto side = [](const SharedSide& s) {
            return cat(slot_name(s.slot),
                       s.shared   ? " of all ranks"
                       : s.turned ? " turned"
                                  : "",
                       s.own ? cat(", but the rank's own part in ", slot_name(*s.own), ",") : "", " ",
                       s.layout.describe(), s.blocks ? cat(" in blocks of ", s.blocks->describe()) : std::string());
        };
        return cat(
            kernel_name(spec_.kernel), " axis ", spec_.axis, " by ", engine_,
            spec_.threads > 1 ? cat(" on ", spec_.threads, " threads") : std::string(),
            spec_.twiddles() ? ", twiddled" : "", spec_.modes > 0 ? cat(", ", spec_.modes, " modes kept") : "",
            spec_.folds(spec_.to)     ? ", then folded into the spectrum of real numbers"
            : spec_.folds(spec_.from) ? ", unfolded from the spectrum of real numbers before"
                                      : "",
            spec_.filter ? cat(", times the spectrum of the chirp of ", spec_.filter->n, " points, and back") : "",
            spec_.scale != 1 ? ", scaled" : "", ", lines of ", spec_.share.describe(), ", ", side(spec_.from), " -> ",
            side(spec_.to));
    }

    Counts price(int rank) const override {
        const std::vector<Region> regions = regions_of(spec_, rank);
        const Tiling tiling = tiling_of(spec_, regions);
        const TileWork work = tile_work(spec_, regions, tiling);
        Counts counts = counts_of(spec_, rank, work, tiling);
        const auto lines = static_cast<double>(work.calls * tiling.lines_a_call);
        const index_t filter_bytes = spec_.filter ? spec_.filter_of(rank).kept_bytes() : 0;
        counts.seconds =
            (lines * seconds_a_line_ * (spec_.filter ? 2 : 1) + static_cast<double>(work.runs) * kRunSeconds +
             static_cast<double>(copied_bytes(spec_, rank) + filter_bytes) / 2 / spec_.memory_bytes_per_second) /
                std::max(1, spec_.threads) +
            spec_.meeting_seconds;
        return counts;
    }

    std::vector<Slot> shared_slots() const override {
        std::vector<Slot> slots;
        for (const SharedSide* side : {&spec_.from, &spec_.to}) {
            if (side->shared) slots.push_back(side->slot);
        }
        return slots;
    }

    index_t own_memory_bytes(int rank) const override {
        const Tiling tiling = tiling_of(spec_, regions_of(spec_, rank));
        if (tiling.lanes == 0) return 0;
        if (spec_.filter) return spec_.threads * tiling.bytes + chirp_filter_bytes(spec_.filter_of(rank));
        if (!spec_.twiddles() && !spec_.folded) return spec_.threads * tiling.bytes;
        return spec_.threads * (tiling.bytes + Twiddles::Row::bytes(spec_.points(), spec_.elem.precision)) +
               (spec_.folded ? LineFold::bytes(spec_.share.shape().back(), spec_.points(), spec_.elem.precision)
                             : Twiddles::bytes(turned_length(spec_), spec_.elem.precision));
    }

    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        return SharedTransformTask::make(spec_, binding);
    }

  private:
    SharedTransformSpec spec_;
    std::string engine_;
    double seconds_a_line_;  // by one thread
};

}  // namespace

Result<std::unique_ptr<Step>> make_shared_transform_step(SharedTransformSpec spec, std::vector<std::string>& notes) {
    const index_t points = spec.points();
    const index_t lines = points ? spec.share.local_elems(0) / points : 0;
    std::string engine = "copy";
    double seconds = 0;
    if (lines > 0) {
        const Tiling tiling = tiling_of(spec, regions_of(spec, 0));
        SPANFFT_ASSIGN(const EngineForecast forecast, forecast_local(tiling.call, spec.engine, spec.rates));
        engine = forecast.engine;
        // All lines, as they lie in the array, like those of Columns: the rates of strided transforms have the
        // gathering in them, and what comes from memory.
        index_t apart = 1;
        for (auto after = static_cast<size_t>(spec.axis) + 1; after < spec.share.shape().size(); ++after)
            apart *= spec.share.shape()[after];
        LocalSpec priced = tiling.call;
        priced.transform = {{points, apart, apart}};
        const index_t next = spec.rows ? points * apart : 1;  // rows of a tile do not lie side by side there
        priced.batch = {{lines, next, next}};
        seconds = expected_seconds(spec.rates, engine, priced, tiling.lines_a_call) / static_cast<double>(lines);
        for (const auto& note : forecast.passed_over) {
            if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
        }
    }
    return std::unique_ptr<Step>(new SharedTransformStep(std::move(spec), engine, seconds));
}

}  // namespace spanfft
