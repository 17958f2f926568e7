// Regions, tiles, barriers; see shared_transform_step.hpp.
//
// The lines of a share are cut into regions, boxes across the axis within which every line has its pieces at the same
// owners: one region for slabs and pencils, more where the share crosses owners' boundaries along other axes.
#include "steps/shared_transform_step.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>

#include "core/stream_copy.hpp"
#include "core/threads.hpp"
#include "engine/tile.hpp"
#include "steps/pass_kernels.hpp"
#include "steps/transform_step.hpp"

namespace spanfft {

namespace {

bool turns(const SharedTransformSpec& spec) { return spec.from.turned || spec.to.turned; }
bool twiddles(const SharedTransformSpec& spec) { return turns(spec) && spec.twiddled; }

// The length whose transform this is one half of.
index_t turned_length(const SharedTransformSpec& spec) {
    const Extents& shape = spec.share.shape();
    return shape[static_cast<size_t>(spec.axis)] * shape.back();
}

// Where a run of points along the axis lies, for all lines of a region.
struct Piece1d {
    index_t points = 0;
    int owner = -1;                     // whose window, or -1: this rank's slot memory
    index_t offset_bytes = 0;           // of the region's first line, from the owner's first byte
    index_t point_stride_bytes = 0;     // along the axis
    std::vector<index_t> stride_bytes;  // along each loop of the region
};

struct Region {
    std::vector<index_t> counts;  // of loops over lines, the lanes (neighbouring lines) last
    index_t first_lane = 0;       // index of the first one in its axis
    std::vector<Piece1d> from, to;
    index_t lines() const {
        index_t n = 1;
        for (index_t c : counts) n *= c;
        return n;
    }
};

// The region `box` (global, whole along the axis) as pieces of the local array that holds `patch` of it.
Piece1d piece_in(const Patch& box, const Patch& patch, int axis, int owner, index_t elem_bytes,
                 const std::vector<int>& loops, bool turned = false) {
    Extents local = patch_shape(patch);
    const auto turn = [&](Extents& extents) {
        if (turned) std::swap(extents[static_cast<size_t>(axis)], extents[static_cast<size_t>(axis) + 1]);
    };
    turn(local);
    Extents strides = row_major_strides(local);
    turn(strides);
    const Patch common = intersect(box, patch);
    Piece1d piece;
    piece.owner = owner;
    piece.points = common[static_cast<size_t>(axis)].count;
    for (size_t a = 0; a < common.size(); ++a)
        piece.offset_bytes += (common[a].start - patch[a].start) * strides[a] * elem_bytes;
    piece.point_stride_bytes = strides[static_cast<size_t>(axis)] * elem_bytes;
    for (int loop : loops) piece.stride_bytes.push_back(strides[static_cast<size_t>(loop)] * elem_bytes);
    return piece;
}

// Pieces along the axis in rising order, all of `box`; for a private side one piece.
std::vector<Piece1d> pieces_of(const SharedSide& side, const Patch& box, const Patch& share, int axis,
                               index_t elem_bytes, const std::vector<int>& loops) {
    if (!side.shared) return {piece_in(box, share, axis, -1, elem_bytes, loops, side.turned)};
    std::vector<std::pair<index_t, Piece1d>> found;
    for (int owner = 0; owner < side.layout.nranks(); ++owner) {
        const Patch patch = side.layout.patch(owner), common = intersect(box, patch);
        if (patch_elems(common) == 0) continue;
        found.emplace_back(common[static_cast<size_t>(axis)].start,
                           piece_in(box, patch, axis, owner, elem_bytes, loops));
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Piece1d> pieces;
    for (auto& [start, piece] : found) pieces.push_back(std::move(piece));
    return pieces;
}

// Where owners' boxes begin or end inside [range), along one axis.
void add_cuts(const SharedSide& side, int axis, const AxisRange& range, std::vector<index_t>& cuts) {
    if (!side.shared) return;
    for (int owner = 0; owner < side.layout.nranks(); ++owner) {
        const AxisRange r = side.layout.patch(owner)[static_cast<size_t>(axis)];
        for (const index_t at : {r.start, r.start + r.count}) {
            if (r.count && at > range.start && at < range.start + range.count) cuts.push_back(at);
        }
    }
}

std::vector<AxisRange> cut_axis(const SharedTransformSpec& spec, int axis, const AxisRange& range) {
    if (axis == spec.axis) return {range};
    std::vector<index_t> cuts{range.start, range.start + range.count};
    add_cuts(spec.from, axis, range, cuts);
    add_cuts(spec.to, axis, range, cuts);
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::vector<AxisRange> ranges;
    for (size_t i = 0; i + 1 < cuts.size(); ++i) ranges.push_back({cuts[i], cuts[i + 1] - cuts[i], 1});
    return ranges;
}

// Joins the two innermost loops while every piece's lines lie one after the other in both: longer runs, fuller tiles.
void merge_loops(Region& region) {
    const auto joinable = [&](const Piece1d& piece) {
        const size_t last = region.counts.size() - 1;
        return piece.stride_bytes[last - 1] == region.counts[last] * piece.stride_bytes[last];
    };
    while (region.counts.size() > 1 && std::all_of(region.from.begin(), region.from.end(), joinable) &&
           std::all_of(region.to.begin(), region.to.end(), joinable)) {
        const index_t inner = region.counts.back();
        region.counts.pop_back();
        region.counts.back() *= inner;
        for (auto* side : {&region.from, &region.to}) {
            for (Piece1d& piece : *side) piece.stride_bytes.erase(piece.stride_bytes.end() - 2);
        }
    }
}

// The planes of each block, the same for all ranks of a group; one block without an axis where nothing goes beside.
struct Block {
    int axis = -1;
    AxisRange planes;
};

std::vector<Block> blocks_of(const SharedTransformSpec& spec, int rank) {
    if (!spec.beside) return {Block{}};
    const AxisRange all = spec.share.patch(rank)[static_cast<size_t>(spec.beside->axis)];
    std::vector<Block> blocks;
    for (index_t first = 0; first < all.count; first += spec.beside->planes)
        blocks.push_back({spec.beside->axis, {all.start + first, std::min(spec.beside->planes, all.count - first), 1}});
    return blocks;
}

std::vector<Region> regions_of(const SharedTransformSpec& spec, int rank, const Block& block) {
    const Patch share = spec.share.patch(rank);
    if (patch_elems(share) == 0) return {};
    std::vector<Patch> boxes{share};
    if (block.axis >= 0) boxes[0][static_cast<size_t>(block.axis)] = block.planes;
    std::vector<int> loops;  // all axes but this one; the last is the lanes' (contiguous unless the axis itself is)
    for (int axis = 0; axis < spec.share.ndim(); ++axis) {
        std::vector<Patch> next;
        for (const Patch& box : boxes) {
            for (const AxisRange& range : cut_axis(spec, axis, box[static_cast<size_t>(axis)])) {
                next.push_back(box);
                next.back()[static_cast<size_t>(axis)] = range;
            }
        }
        boxes = std::move(next);
        if (axis != spec.axis) loops.push_back(axis);
    }
    const auto elem_bytes = static_cast<index_t>(spec.elem.bytes());
    std::vector<Region> regions;
    for (const Patch& box : boxes) {
        Region region;
        for (int loop : loops) region.counts.push_back(box[static_cast<size_t>(loop)].count);
        if (!loops.empty()) region.first_lane = box[static_cast<size_t>(loops.back())].start;
        region.from = pieces_of(spec.from, box, share, spec.axis, elem_bytes, loops);
        region.to = pieces_of(spec.to, box, share, spec.axis, elem_bytes, loops);
        if (loops.empty()) {  // a 1-D array: one line
            region.counts = {1};
            for (auto* side : {&region.from, &region.to})
                for (Piece1d& piece : *side) piece.stride_bytes = {elem_bytes};
        }
        if (!turns(spec)) merge_loops(region);  // a turned side asks which lanes they are
        regions.push_back(std::move(region));
    }
    return regions;
}

std::vector<Region> regions_of(const SharedTransformSpec& spec, int rank) {
    std::vector<Region> regions;
    for (const Block& block : blocks_of(spec, rank)) {
        for (Region& region : regions_of(spec, rank, block)) regions.push_back(std::move(region));
    }
    return regions;
}

// The ranks that have, or take, pieces of the same lines: those that differ only where the grid divides these.
std::vector<int> sharers(const SharedTransformSpec& spec, int rank) {
    const Layout& parts = (spec.beside->before ? spec.from : spec.to).layout;
    const Extents mine = parts.grid_coords(rank);
    std::vector<int> ranks;
    for (int other = 0; other < parts.nranks(); ++other) {
        const Extents coords = parts.grid_coords(other);
        bool shares = true;
        for (size_t dim = 0; dim < mine.size(); ++dim)
            shares = shares && (coords[dim] == mine[dim] || parts.grid()[dim].axis == spec.axis);
        if (shares) ranks.push_back(other);
    }
    return ranks;
}

// The array between the lines and what goes beside them; it stays in the cache.
index_t kept_bytes(const BesideTransform& beside, int rank) {
    return (beside.before ? beside.transform.to : beside.transform.from).local_bytes(rank);
}

// The lines of a rank's regions, side by side in tiles.
TileSpec tile_of(const SharedTransformSpec& spec, const std::vector<Region>& regions) {
    index_t most_lanes = 0;
    for (const Region& region : regions) most_lanes = std::max(most_lanes, region.counts.back());
    TileSpec tile;
    tile.kernel = spec.kernel;
    tile.elem = spec.elem;
    tile.measure = spec.measure;
    tile.points = spec.share.shape()[static_cast<size_t>(spec.axis)];
    tile.lanes =
        most_lanes ? tile_lanes(spec.caches, tile.points, static_cast<index_t>(spec.elem.bytes()), most_lanes) : 0;
    return tile;
}

// What transforming a rank's lines costs, in time aside: the engine is given whole tiles, the unused lanes of a last
// one too; only lines that there are go through memory.
Counts predicted_counts(const SharedTransformSpec& spec, int rank) {
    const std::vector<Region> regions = regions_of(spec, rank);
    const TileSpec tile = tile_of(spec, regions);
    Counts counts;
    index_t lines = 0, tiles = 0;
    for (const Region& region : regions) {
        if (region.lines() == 0) continue;
        lines += region.lines();
        tiles += region.lines() / region.counts.back() * ceil_div(region.counts.back(), tile.lanes);
    }
    if (lines == 0) return counts;
    counts.flops = static_cast<double>(tiles) * transform_flops(tile_lines(tile));
    if (twiddles(spec)) counts.flops += 6 * static_cast<double>(lines * tile.points);
    counts.memory_bytes = lines * tile.points * static_cast<index_t>(spec.elem.bytes());
    if (!spec.beside) counts.memory_bytes *= 2;
    return counts;
}

index_t factor_bytes(const SharedTransformSpec& spec, const TileSpec& tile) {
    return tile.lanes * twiddle_elems(tile.points) * static_cast<index_t>(spec.elem.bytes());
}

class SharedTransformTask final : public Task {
  public:
    static Result<std::unique_ptr<Task>> make(const SharedTransformSpec& spec, Binding& binding) {
        auto task = std::unique_ptr<SharedTransformTask>(new SharedTransformTask(spec, binding));
        task->tile_ = tile_of(spec, regions_of(spec, binding.comm.rank()));
        if (spec.beside) SPANFFT_TRY(task->bind_beside(binding));
        if (task->tile_.lanes == 0) return std::unique_ptr<Task>(std::move(task));
        task->pitch_bytes_ = tile_pitch_bytes(task->tile_);
        if (spec.threads > 1) task->team_ = std::make_unique<ThreadTeam>(spec.threads);
        for (int i = 0; i < (task->team_ ? task->team_->size() : 1); ++i) {
            Tile tile;
            SPANFFT_ASSIGN(tile.memory, tile_memory(task->tile_));
            SPANFFT_ASSIGN(EngineChoice choice, plan_local(tile_lines(task->tile_), spec.engine, spec.rates));
            binding.engine_ran(choice.engine);
            task->members_.push_back({choice.fft.get(), 0, 0});
            tile.fft = std::move(choice.fft);
            task->tiles_.push_back(std::move(tile));
            if (!twiddles(spec)) continue;
            SPANFFT_ASSIGN(Buffer factors, Buffer::allocate(static_cast<size_t>(factor_bytes(spec, task->tile_))));
            task->factors_.push_back(std::move(factors));
        }
        if (twiddles(spec)) {
            SPANFFT_ASSIGN(task->roots_, RootTable::make(turned_length(spec)));
        }
        return std::unique_ptr<Task>(std::move(task));
    }

    Status run(RunContext& context) override {
        counts_ = Counts();
        Status first = barrier();  // after a failure too: the others come to the next ones
        const Counts before = done();
        Counts beside;
        for (const BoundBlock& block : blocks_) {
            if (spec_.beside && spec_.beside->before) {
                beside += run_beside(block, context);
                keep_first(first, group_->barrier());
            }
            {
                const TraceScope scope(context.trace, "transform", TraceCategory::compute);
                for (const Region& region : block.regions) run_region(region, context);
            }
            if (spec_.beside && !spec_.beside->before) {
                keep_first(first, group_->barrier());
                beside += run_beside(block, context);
            }
        }
        counts_ = done();
        counts_.flops -= before.flops;
        counts_.memory_bytes -= before.memory_bytes;
        // Of each line that is read and written once, one of the two is between the transforms, and in the cache.
        if (spec_.beside) counts_.memory_bytes /= 2;
        counts_ += beside;
        counts_.memory_bytes -= kept_bytes_;
        keep_first(first, barrier());
        return first;
    }
    Counts counted() const override { return counts_; }

  private:
    // What is done between two waits.
    struct BoundBlock {
        std::vector<Region> regions;
        const RowsTransform* beside = nullptr;
        index_t first_plane = 0;
    };

    SharedTransformTask(const SharedTransformSpec& spec, Binding& binding)
        : spec_(spec),
          elem_bytes_(static_cast<index_t>(spec.elem.bytes())),
          from_window_(spec.from.shared ? binding.window(spec.from.slot) : nullptr),
          to_window_(spec.to.shared ? binding.window(spec.to.slot) : nullptr),
          stream_(!spec.to.shared) {
        for (const Block& block : blocks_of(spec, binding.comm.rank()))
            blocks_.push_back({regions_of(spec, binding.comm.rank(), block)});
    }

    Status bind_beside(Binding& binding) {
        const int rank = binding.comm.rank();
        SPANFFT_ASSIGN(const GroupComm group, binding.group(sharers(spec_, rank)));
        SPANFFT_TRY(agree(*group.comm, plan_beside(rank, binding)));
        SPANFFT_ASSIGN(group_, group.comm->make_window(0));
        return {};
    }

    Status plan_beside(int rank, Binding& binding) {
        const BesideTransform& beside = *spec_.beside;
        const index_t all = spec_.share.patch(rank)[static_cast<size_t>(beside.axis)].count;
        index_t first = 0;
        for (BoundBlock& block : blocks_) {
            const index_t planes = std::min(beside.planes, all - first);
            if (besides_.count(planes) == 0) {
                SPANFFT_ASSIGN(auto made, RowsTransform::make(beside.transform, rank, {beside.axis, planes}));
                if (!made.engine().empty()) binding.engine_ran(made.engine());
                besides_.emplace(planes, std::move(made));
            }
            block.beside = &besides_.at(planes);
            block.first_plane = first;
            first += planes;
        }
        kept_bytes_ = kept_bytes(beside, rank);
        return {};
    }

    Counts run_beside(const BoundBlock& block, RunContext& context) const {
        const TransformSpec& transform = spec_.beside->transform;
        return block.beside->run(context.at(transform.source), context.at(transform.target), block.first_plane,
                                 context.trace);
    }

    // By all threads, in all runs.
    Counts done() const {
        Counts counts;
        for (const Member& member : members_) {
            counts.flops += member.fft->done().flops + 6 * static_cast<double>(member.twiddled);
            counts.memory_bytes += member.moved_bytes;
        }
        return counts;
    }

    Status barrier() { return (from_window_ ? from_window_ : to_window_)->barrier(); }

    void run_region(const Region& region, RunContext& context) {
        const index_t lane_blocks = ceil_div(region.counts.back(), tile_.lanes);
        const index_t blocks = region.lines() / region.counts.back() * lane_blocks;
        if (team_) {
            std::atomic<index_t> next{0};
            team_->run([&](int member) {
                for (index_t b = next++; b < blocks; b = next++) run_block(region, b, lane_blocks, member, context);
            });
        } else {
            for (index_t b = 0; b < blocks; ++b) run_block(region, b, lane_blocks, 0, context);
        }
    }

    // Block b: lanes first of the innermost loop, then the outer loops.
    void run_block(const Region& region, index_t b, index_t lane_blocks, int member, RunContext& context) {
        const index_t first = b % lane_blocks * tile_.lanes;
        const index_t width = std::min(tile_.lanes, region.counts.back() - first);
        const Tile& tile = tiles_[static_cast<size_t>(member)];
        index_t& moved_bytes = members_[static_cast<size_t>(member)].moved_bytes;
        char* row = tile.rows();
        for (const Piece1d& piece : region.from) {
            char* const array = base(piece, from_window_, spec_.from.slot, context) +
                                offset_bytes(region, piece, b / lane_blocks, first);
            if (spec_.from.turned)
                turn_lines<true>(region, piece, first, width, member, array);
            else
                row = move_piece<true>(piece, width, row, array);
            moved_bytes += piece.points * width * elem_bytes_;
        }
        tile.transform();
        row = tile.rows();
        for (const Piece1d& piece : region.to) {
            char* const array =
                base(piece, to_window_, spec_.to.slot, context) + offset_bytes(region, piece, b / lane_blocks, first);
            if (spec_.to.turned)
                turn_lines<false>(region, piece, first, width, member, array);
            else
                row = move_piece<false>(piece, width, row, array);
            moved_bytes += piece.points * width * elem_bytes_;
        }
        if (stream_) stream_fence();
    }

    static char* base(const Piece1d& piece, SharedWindow* window, Slot slot, RunContext& context) {
        return static_cast<char*>(piece.owner >= 0 ? window->part(piece.owner) : context.at(slot));
    }

    // Of lane `first` in an array, where the loops outside the lanes are at `outer`.
    static index_t offset_bytes(const Region& region, const Piece1d& piece, index_t outer, index_t first) {
        index_t bytes = piece.offset_bytes + first * piece.stride_bytes.back();
        for (size_t l = region.counts.size() - 1; l-- > 0;) {
            bytes += outer % region.counts[l] * piece.stride_bytes[l];
            outer /= region.counts[l];
        }
        return bytes;
    }

    // Into the tile, or out of it (scaled); returns the tile's row after the last.
    template <bool kIn>
    char* move_piece(const Piece1d& piece, index_t width, char* row, char* array) const {
        const bool adjacent = piece.stride_bytes.back() == elem_bytes_;
        for (index_t p = 0; p < piece.points; ++p, row += pitch_bytes_, array += piece.point_stride_bytes) {
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
        return row;
    }

    // Between rows of this rank's own array and the tile's columns, through twiddles.
    template <bool kIn>
    void turn_lines(const Region& region, const Piece1d& piece, index_t first, index_t width, int member, char* array) {
        switch (spec_.elem.precision) {
            case Precision::single:
                return turn_lines_of<kIn, float>(region, piece, first, width, member, array);
            case Precision::dbl:
                return turn_lines_of<kIn, double>(region, piece, first, width, member, array);
            case Precision::extended:
                return turn_lines_of<kIn, long double>(region, piece, first, width, member, array);
        }
    }

    // A chunk of points of all lanes at a time, so that the tile's rows stay in the first-level cache for all of them.
    template <bool kIn, class T>
    void turn_lines_of(const Region& region, const Piece1d& piece, index_t first, index_t width, int member,
                       char* array) {
        const auto who = static_cast<size_t>(member);
        const bool twiddled = spec_.twiddled;
        const index_t elems = twiddled ? twiddle_elems(tile_.points) : 0;
        auto* factors = twiddled ? factors_[who].as<Pair<T>>() : nullptr;
        for (index_t j = 0; twiddled && j < width; ++j) {
            make_twiddles(roots_, region.first_lane + first + j, tile_.points, spec_.kernel == Kernel::c2c_backward,
                          kIn ? 1 : spec_.scale, factors + j * elems);
        }
        char* rows = tiles_[who].rows();
        for (index_t begin = 0; begin < tile_.points; begin += kTwiddleChunk, rows += kTwiddleChunk * pitch_bytes_) {
            const index_t count = std::min(kTwiddleChunk, tile_.points - begin);
            for (index_t j = 0; j < width; ++j) {
                auto* line = reinterpret_cast<Pair<T>*>(array + j * piece.stride_bytes.back()) + begin;
                turn_chunk<kIn>(line, factors + j * elems, begin, count, rows + j * elem_bytes_);
            }
        }
        if (twiddled) members_[who].twiddled += width * tile_.points;
    }

    template <bool kIn, class T>
    void turn_chunk(Pair<T>* line, const Pair<T>* factors, index_t begin, index_t count, char* column) const {
        alignas(64) Pair<T> chunk[kTwiddleChunk], turned[kTwiddleChunk];
        if (kIn) {
            if (factors) twiddle_rows(line, factors, begin, begin + count, chunk);
            const Pair<T>* const points = factors ? chunk : line;
            for (index_t i = 0; i < count; ++i) std::memcpy(column + i * pitch_bytes_, &points[i], sizeof(Pair<T>));
            return;
        }
        for (index_t i = 0; i < count; ++i) std::memcpy(&chunk[i], column + i * pitch_bytes_, sizeof(Pair<T>));
        if (factors) twiddle_rows(chunk, factors, begin, begin + count, turned);
        stream_copy(line, factors ? turned : chunk, static_cast<size_t>(count) * sizeof(Pair<T>));
    }

    struct alignas(64) Member {  // what one thread did: its lines in cache lines of their own
        const CountedFft* fft = nullptr;
        index_t moved_bytes = 0;
        index_t twiddled = 0;  // elements
    };
    SharedTransformSpec spec_;
    std::vector<BoundBlock> blocks_;
    std::map<index_t, RowsTransform> besides_;  // by number of planes
    std::unique_ptr<SharedWindow> group_;       // where those wait that share this rank's lines
    index_t kept_bytes_ = 0;
    index_t elem_bytes_ = 0, pitch_bytes_ = 0;
    SharedWindow *from_window_, *to_window_;
    // Out of the window: the tile's lines were read elsewhere, so the target is not in the cache.
    bool stream_;
    TileSpec tile_;
    std::vector<Tile> tiles_;
    std::vector<Member> members_;  // by thread, as tiles_
    std::vector<Buffer> factors_;  // likewise, of each lane; empty where no side is turned
    RootTable roots_;
    std::unique_ptr<ThreadTeam> team_;
    Counts counts_;
};

class SharedTransformStep final : public Step {
  public:
    SharedTransformStep(SharedTransformSpec spec, std::string engine, double seconds_of_rank0,
                        std::unique_ptr<Step> beside)
        : spec_(std::move(spec)),
          engine_(std::move(engine)),
          seconds_of_rank0_(seconds_of_rank0),
          beside_(std::move(beside)) {}
    const char* type() const override { return "SharedTransform"; }

    std::string describe() const override {
        const auto side = [](const SharedSide& s) {
            return cat(slot_name(s.slot),
                       s.shared   ? " of all ranks"
                       : s.turned ? " turned"
                                  : "",
                       " ", s.layout.describe());
        };
        return cat(kernel_name(spec_.kernel), " axis ", spec_.axis, " by ", engine_,
                   spec_.threads > 1 ? cat(" on ", spec_.threads, " threads") : std::string(),
                   twiddles(spec_) ? ", twiddled" : "", spec_.scale != 1 ? ", scaled" : "", ", lines of ",
                   spec_.share.describe(), ", ", side(spec_.from), " -> ", side(spec_.to), blocks_text());
    }

    Counts predict(int rank) const override {
        Counts counts = predict_lines(rank);
        if (!beside_) return counts;
        counts += beside_->predict(rank);
        counts.memory_bytes -= kept_bytes(*spec_.beside, rank);
        return counts;
    }

    std::vector<const Step*> children() const override {
        return beside_ ? std::vector<const Step*>{beside_.get()} : std::vector<const Step*>{};
    }
    std::vector<int> group(int rank) const override { return beside_ ? sharers(spec_, rank) : std::vector<int>{}; }

    std::vector<Slot> shared_slots() const override {
        std::vector<Slot> slots;
        for (const SharedSide* side : {&spec_.from, &spec_.to}) {
            if (side->shared) slots.push_back(side->slot);
        }
        return slots;
    }

    index_t own_memory_bytes(int rank) const override {
        const index_t lines = spec_.threads * spec_.share.shape()[static_cast<size_t>(spec_.axis)] * 1088;  // at most
        const index_t tiles = lines + (beside_ ? beside_->own_memory_bytes(rank) : 0);
        if (!twiddles(spec_)) return tiles;
        return tiles + spec_.threads * factor_bytes(spec_, tile_of(spec_, regions_of(spec_, rank))) +
               RootTable::bytes(turned_length(spec_));
    }

    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        return SharedTransformTask::make(spec_, binding);
    }

  private:
    Counts predict_lines(int rank) const {
        const index_t points = spec_.share.shape()[static_cast<size_t>(spec_.axis)];
        const index_t lines = points ? spec_.share.local_elems(rank) / points : 0;
        if (lines == 0) return Counts();
        Counts counts = predicted_counts(spec_, rank);
        const index_t most = spec_.share.local_elems(0);
        counts.seconds = most ? seconds_of_rank0_ * static_cast<double>(lines * points) / static_cast<double>(most) : 0;
        return counts;
    }

    std::string blocks_text() const {
        if (!beside_) return "";
        const BesideTransform& beside = *spec_.beside;
        return cat(", in blocks of ", beside.planes, " planes across axis ", beside.axis, ", each ",
                   beside.before ? "behind" : "before", " the other step of the same sweep");
    }

    SharedTransformSpec spec_;
    std::string engine_;
    double seconds_of_rank0_;
    std::unique_ptr<Step> beside_;
};

// The dimensions that divide `axis` in `parts` divide another one in `share`, and all others are the same.
bool differ_along(const Layout& parts, const Layout& share, int axis) {
    if (!parts.has_grid() || !share.has_grid() || parts.grid().size() != share.grid().size()) return false;
    for (size_t dim = 0; dim < parts.grid().size(); ++dim) {
        const GridDim &a = parts.grid()[dim], &b = share.grid()[dim];
        if (a.parts != b.parts || (a.axis == axis) != (b.axis != a.axis)) return false;
    }
    return true;
}

constexpr index_t kBlockCaches = 2;  // second-level caches that a rank's part of a block has, if the third has room

}  // namespace

std::optional<BesideTransform> beside_lines(const SharedTransformSpec& lines, const TransformSpec& transform,
                                            bool before) {
    const SharedSide &side = before ? lines.from : lines.to, &end = before ? lines.to : lines.from;
    const ArrayState& between = before ? transform.to : transform.from;
    if (lines.beside || turns(lines) || !side.shared || (end.shared && !(end.layout == side.layout))) return {};
    if ((before ? transform.target : transform.source) != side.slot || !(between.layout == side.layout)) return {};
    // What one block leaves must not lie where another block is read.
    const Slot other = before ? transform.source : transform.target;
    if (other == end.slot && other != side.slot) return {};
    if (!differ_along(side.layout, lines.share, lines.axis)) return {};
    const index_t room_bytes = std::min(lines.caches.l3_bytes / 2, kBlockCaches * lines.caches.l2_bytes);
    // Not across the last axis, along which lines lie side by side.
    for (int axis = 0; axis + 1 < side.layout.ndim(); ++axis) {
        const auto divides = [&](const GridDim& dim) { return dim.axis == axis; };
        const auto in_parts = std::find_if(side.layout.grid().begin(), side.layout.grid().end(), divides);
        const auto in_share = std::find_if(lines.share.grid().begin(), lines.share.grid().end(), divides);
        const bool alike = (in_parts == side.layout.grid().end()) == (in_share == lines.share.grid().end());
        const bool used = std::find(transform.axes.begin(), transform.axes.end(), axis) != transform.axes.end();
        const index_t count = side.layout.patch(0)[static_cast<size_t>(axis)].count;
        if (axis == lines.axis || used || !alike || count < 2) continue;
        const index_t planes = room_bytes / std::max<index_t>(1, between.local_bytes(0) / count);
        if (planes < 1 || planes >= count) continue;
        BesideTransform beside{transform, before, axis, ceil_div(count, ceil_div(count, planes))};
        beside.transform.in_chunks = true;
        return beside;
    }
    return {};
}

Result<std::unique_ptr<Step>> make_shared_transform_step(SharedTransformSpec spec, const Machine& machine,
                                                         std::vector<std::string>& notes) {
    const index_t points = spec.share.shape()[static_cast<size_t>(spec.axis)];
    const auto elem_bytes = static_cast<index_t>(spec.elem.bytes());
    const index_t lines = points ? spec.share.local_elems(0) / points : 0;
    std::string engine = "copy";
    double seconds = 0;
    if (lines > 0) {
        const index_t lanes = tile_lanes(spec.caches, points, elem_bytes, lines);
        const LocalSpec tile = tile_lines({spec.kernel, spec.elem, points, lanes, spec.measure});
        SPANFFT_ASSIGN(const EngineForecast forecast, forecast_local(tile, spec.engine, spec.rates));
        engine = forecast.engine;
        seconds =
            forecast.seconds * static_cast<double>(lines) / static_cast<double>(lanes) / std::max(1, spec.threads);
        for (const auto& note : forecast.passed_over) {
            if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
        }
    }
    std::unique_ptr<Step> beside;
    if (spec.beside) {
        SPANFFT_ASSIGN(beside, make_transform_step(spec.beside->transform, machine, notes));
    }
    // The rates of strided transforms have the gathering in them; what is measured is a sweep that also transforms.
    return std::unique_ptr<Step>(new SharedTransformStep(std::move(spec), engine, seconds, std::move(beside)));
}

}  // namespace spanfft
