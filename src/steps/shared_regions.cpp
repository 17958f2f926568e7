// Regions, pieces and what is left of a part; see shared_regions.hpp.
#include "steps/shared_regions.hpp"

#include <algorithm>

#include "comm/strided_copy.hpp"
#include "engine/line_fold.hpp"

namespace spanfft {

index_t Piece1d::at_bytes(const std::vector<index_t>& counts, index_t outer, index_t first) const {
    index_t bytes = offset_bytes + first * stride_bytes.back();
    for (size_t l = counts.size() - 1; l-- > 0;) {
        bytes += outer % counts[l] * stride_bytes[l];
        outer /= counts[l];
    }
    return bytes;
}

index_t Region::outer() const {
    index_t n = 1;
    for (size_t l = 0; l + 1 < counts.size(); ++l) n *= counts[l];
    return n;
}

index_t Region::past_line_bytes() const {
    constexpr index_t kLine = 64;
    for (const auto* side : {&from, &to}) {
        const Piece1d& piece = side->front();
        if (piece.point_stride_bytes > piece.stride_bytes.back()) return piece.offset_bytes % kLine;
    }
    return 0;
}

namespace {

index_t row_length(const SharedTransformSpec& spec) { return spec.share.shape().back(); }

// Of a side in blocks: what an owner has of the rows, shown as one axis.
AxisRange block_of(const SharedSide& side, int owner) { return side.blocks->patch(owner).back(); }

// Columns at which an owner's block begins or ends, within [begin, end): on either side of one the lines have their
// points at the owners in another way. Of a folded share also those at which the columns that these go with do.
void add_block_cuts(const SharedTransformSpec& spec, const SharedSide& side, const AxisRange& range,
                    std::vector<index_t>& cuts) {
    if (!side.blocks) return;
    const index_t length = row_length(spec);
    const auto add = [&](index_t at) {
        if (at > range.start && at < range.start + range.count) cuts.push_back(at);
    };
    for (int owner = 0; owner < side.blocks->nranks(); ++owner) {
        const AxisRange block = block_of(side, owner);
        for (const index_t at : {block.start, block.start + block.count}) {
            if (block.count == 0) continue;
            add(at % length);
            if (spec.folded) add(length - at % length + 1);
        }
    }
}

// The columns that a rank takes of a folded share.
struct FoldedColumns {
    AxisRange low, high;
    std::vector<index_t> alone;  // rising
    FoldedColumns(const SharedTransformSpec& spec, int rank) {
        const index_t columns = spec.share.shape().back();
        const int ranks = spec.share.nranks();
        const AxisRange pairs = block_range(ColumnPairs::of(columns), ranks, rank);
        low = {1 + pairs.start, pairs.count, 1};
        high = {columns - pairs.start - pairs.count, pairs.count, 1};
        if (rank == 0) alone.push_back(0);
        if (rank == ranks - 1 && columns % 2 == 0) alone.push_back(columns / 2);
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

// What an owner's block has of columns from `column` on, up to the next cut: of each the same points.
std::optional<Piece1d> piece_in_block(const SharedTransformSpec& spec, const SharedSide& side, index_t column,
                                      int owner, const std::vector<int>& loops) {
    const AxisRange block = block_of(side, owner);
    const index_t length = row_length(spec);
    const auto elem_bytes = static_cast<index_t>(spec.elem.bytes());
    const auto rows_before = [&](index_t at) {
        return std::clamp<index_t>(ceil_div(std::max<index_t>(at - column, 0), length), 0, spec.points());
    };
    const index_t first = rows_before(block.start), end = rows_before(block.start + block.count);
    if (block.count == 0 || end <= first) return std::nullopt;
    const Extents strides = row_major_strides(patch_shape(side.blocks->patch(owner)));  // of a batch, and the blocks
    Piece1d piece;
    piece.owner = owner;
    piece.points = end - first;
    piece.offset_bytes = (column + first * length - block.start) * elem_bytes;
    piece.point_stride_bytes = length * elem_bytes;
    for (const int loop : loops)
        piece.stride_bytes.push_back(loop < spec.axis ? strides[static_cast<size_t>(loop)] * elem_bytes : elem_bytes);
    return piece;
}

// Where not all modes are kept, the high ones lie at the end of the tile's line: a piece that has low and high ones is
// two. 6 kept of 9 points in pieces of 4 and 2 modes: 3 low, then, behind a gap of 3, 1 and 2 high.
std::vector<Piece1d> around_gap(const SharedTransformSpec& spec, const SharedSide& side, std::vector<Piece1d> pieces) {
    if (!spec.cuts(side)) return pieces;
    const KeptModes kept = spec.kept();
    std::vector<Piece1d> cut;
    index_t mode = 0;
    for (const Piece1d& piece : pieces) {
        const index_t low = std::clamp<index_t>(kept.low() - mode, 0, piece.points);
        if (low > 0) {
            cut.push_back(piece);
            cut.back().points = low;
        }
        if (low < piece.points) {
            cut.push_back(piece);
            cut.back().points = piece.points - low;
            cut.back().offset_bytes += low * piece.point_stride_bytes;
            if (mode + low == kept.low()) cut.back().skipped = kept.gap();
        }
        mode += piece.points;
    }
    return cut;
}

// Pieces along the axis in rising order, all of `box`; for a private side one piece, or two around a gap.
std::vector<Piece1d> pieces_of(const SharedTransformSpec& spec, const SharedSide& side, const Patch& box,
                               const Patch& share, const std::vector<int>& loops) {
    const int axis = spec.axis;
    const auto elem_bytes = static_cast<index_t>(spec.elem.bytes());
    if (!side.shared) {
        Patch own = share;
        own[static_cast<size_t>(axis)].count = spec.points_at(side);
        return around_gap(spec, side, {piece_in(box, own, axis, -1, elem_bytes, loops, side.turned)});
    }
    std::vector<std::pair<index_t, Piece1d>> found;
    for (int owner = 0; owner < side.layout.nranks(); ++owner) {
        if (side.blocks) {
            const index_t column = box.back().start;
            auto piece = piece_in_block(spec, side, column, owner, loops);
            if (piece) found.emplace_back(block_of(side, owner).start, std::move(*piece));
            continue;
        }
        const Patch patch = side.layout.patch(owner), common = intersect(box, patch);
        if (patch_elems(common) == 0) continue;
        found.emplace_back(common[static_cast<size_t>(axis)].start,
                           piece_in(box, patch, axis, owner, elem_bytes, loops));
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Piece1d> pieces;
    for (auto& [start, piece] : found) pieces.push_back(std::move(piece));
    return around_gap(spec, side, std::move(pieces));
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
    if (axis + 1 == spec.share.ndim()) {
        add_block_cuts(spec, spec.from, range, cuts);
        add_block_cuts(spec, spec.to, range, cuts);
    }
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

std::vector<Region> regions_in(const SharedTransformSpec& spec, const Patch& share) {
    if (patch_elems(share) == 0) return {};
    std::vector<Patch> boxes{share};
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
    std::vector<Region> regions;
    for (const Patch& box : boxes) {
        Region region;
        for (int loop : loops) region.counts.push_back(box[static_cast<size_t>(loop)].count);
        if (!loops.empty()) region.first_lane = box[static_cast<size_t>(loops.back())].start;
        region.from = pieces_of(spec, spec.from, box, share, loops);
        region.to = pieces_of(spec, spec.to, box, share, loops);
        if (loops.empty()) {  // a 1-D array: one line
            region.counts = {1};
            for (auto* side : {&region.from, &region.to})
                for (Piece1d& piece : *side) piece.stride_bytes = {static_cast<index_t>(spec.elem.bytes())};
        }
        // A turned, folded or filtered one asks which lanes they are.
        if (!spec.turns() && !spec.folded && !spec.filter && !spec.from.blocks && !spec.to.blocks) merge_loops(region);
        regions.push_back(std::move(region));
    }
    return regions;
}

// Where X[m] lies, in each array of a batch.
Piece1d end_of(const SharedTransformSpec& spec, const SharedSide& side) {
    const auto elem_bytes = static_cast<index_t>(spec.elem.bytes());
    const index_t at = spec.points() * row_length(spec);
    Piece1d end;
    end.points = 1;
    for (int owner = 0; owner < side.blocks->nranks(); ++owner) {
        const AxisRange block = block_of(side, owner);
        if (at < block.start || at >= block.start + block.count) continue;
        end.owner = owner;
        end.offset_bytes = (at - block.start) * elem_bytes;
        const Extents strides = row_major_strides(patch_shape(side.blocks->patch(owner)));
        for (int loop = 0; loop < spec.axis; ++loop)
            end.stride_bytes.push_back(strides[static_cast<size_t>(loop)] * elem_bytes);
    }
    end.stride_bytes.push_back(elem_bytes);
    return end;
}

// The columns [begin, end) in the pieces into which blocks cut them.
std::vector<AxisRange> cut_columns(const SharedTransformSpec& spec, const AxisRange& range) {
    return range.count > 0 ? cut_axis(spec, spec.share.ndim() - 1, range) : std::vector<AxisRange>();
}

}  // namespace

std::vector<Region> regions_of(const SharedTransformSpec& spec, int rank) {
    if (!spec.folded) return regions_in(spec, spec.share.patch(rank));
    const FoldedColumns columns(spec, rank);
    std::vector<Region> regions;
    const auto add = [&](const AxisRange& range, Region::Columns which) {
        Patch box = spec.share.patch(rank);
        box.back() = range;
        for (Region& region : regions_in(spec, box)) {
            region.columns = which;
            regions.push_back(std::move(region));
        }
    };
    for (const AxisRange& low : cut_columns(spec, columns.low)) {
        add(low, Region::Columns::low);
        add({row_length(spec) - low.start - low.count + 1, low.count, 1}, Region::Columns::high);
    }
    for (const index_t column : columns.alone) {
        add({column, 1, 1}, Region::Columns::alone);
        if (column == 0) regions.back().end = end_of(spec, spec.folds(spec.to) ? spec.to : spec.from);
    }
    return regions;
}

namespace {

// The columns that a rank does not take, in rising order.
std::vector<AxisRange> others_columns(const SharedTransformSpec& spec, int rank) {
    std::vector<AxisRange> taken;
    if (spec.folded) {
        const FoldedColumns columns(spec, rank);
        taken = {columns.low, columns.high};
        for (const index_t column : columns.alone) taken.push_back({column, 1, 1});
    } else if (patch_elems(spec.share.patch(rank)) > 0) {
        taken = {spec.share.patch(rank).back()};
    }
    std::sort(taken.begin(), taken.end(), [](const AxisRange& a, const AxisRange& b) { return a.start < b.start; });
    taken.push_back({row_length(spec), 0, 1});
    std::vector<AxisRange> others;
    index_t begin = 0;
    for (const AxisRange& range : taken) {
        if (range.start > begin) others.push_back({begin, range.start - begin, 1});
        begin = std::max(begin, range.start + range.count);
    }
    return others;
}

// Of a side in blocks.
std::vector<StridedPart> others_in_block(const SharedTransformSpec& spec, const SharedSide& side, int rank) {
    const auto elem_bytes = static_cast<index_t>(spec.elem.bytes());
    std::vector<int> loops;
    for (int axis = 0; axis < spec.axis; ++axis) loops.push_back(axis);
    std::vector<StridedPart> others;
    const auto add = [&](const Piece1d& piece, index_t columns) {
        StridedPart run{piece.offset_bytes, {}, elem_bytes};
        for (const int loop : loops)
            run.dims.push_back({side.blocks->patch(rank)[static_cast<size_t>(loop)].count,
                                piece.stride_bytes[static_cast<size_t>(loop)]});
        run.dims.push_back({piece.points, piece.point_stride_bytes});
        run.dims.push_back({columns, elem_bytes});
        others.push_back(merged(run));
    };
    for (const AxisRange& range : others_columns(spec, rank)) {
        for (const AxisRange& columns : cut_columns(spec, range)) {
            if (const auto piece = piece_in_block(spec, side, columns.start, rank, loops)) add(*piece, columns.count);
        }
    }
    if (!spec.folds(side) || rank == 0) return others;  // rank 0 has column 0, and X[m] with it
    Piece1d end = end_of(spec, side);
    end.point_stride_bytes = elem_bytes;
    if (end.owner == rank) add(end, 1);
    return others;
}

}  // namespace

std::vector<StridedPart> others_parts(const SharedTransformSpec& spec, const SharedSide& side, int rank) {
    if (!side.own) return {};
    if (side.blocks) return others_in_block(spec, side, rank);
    const Patch part = side.layout.patch(rank), own = intersect(part, spec.share.patch(rank));
    const auto elem_bytes = static_cast<index_t>(spec.elem.bytes());
    const Extents strides = row_major_strides(patch_shape(part));
    std::vector<StridedPart> others;
    const auto add = [&](const Patch& box) {
        if (patch_elems(box) == 0) return;
        StridedPart run{0, {}, elem_bytes};
        for (size_t a = 0; a < box.size(); ++a) {
            run.offset_bytes += (box[a].start - part[a].start) * strides[a] * elem_bytes;
            run.dims.push_back({box[a].count, strides[a] * elem_bytes});
        }
        others.push_back(merged(run));
    };
    if (spec.folded) {
        Patch box = part;
        for (const AxisRange& range : others_columns(spec, rank)) {
            box.back() = range;
            add(box);
        }
        return others;
    }
    if (patch_elems(own) == 0) {
        add(part);
        return others;
    }
    // Before and behind the own range of one axis, for what is within the own ranges of those before it.
    Patch box = part;
    for (size_t a = 0; a < part.size(); ++a) {
        const index_t begin = part[a].start, end = begin + part[a].count;
        const index_t own_begin = own[a].start, own_end = own_begin + own[a].count;
        box[a] = {begin, own_begin - begin, 1};
        add(box);
        box[a] = {own_end, end - own_end, 1};
        add(box);
        box[a] = own[a];
    }
    return others;
}

}  // namespace spanfft
