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

// The last rank that has any numbers, behind whose last one X[m] lies on the side that folds.
int last_owner(const SharedSide& side) {
    int rank = side.layout.nranks() - 1;
    while (rank > 0 && patch_elems(side.layout.patch(rank)) == 0) --rank;
    return rank;
}

// Of a rank's part: X[m] makes each array of a batch one number longer.
Extents part_strides(const SharedTransformSpec& spec, const SharedSide& side, int owner) {
    Extents strides = row_major_strides(patch_shape(side.layout.patch(owner)));
    if (spec.folds(side) && owner == last_owner(side))
        for (int axis = 0; axis < spec.axis; ++axis) ++strides[static_cast<size_t>(axis)];
    return strides;
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

// Pieces along the axis in rising order, all of `box`; for a private side one piece.
std::vector<Piece1d> pieces_of(const SharedTransformSpec& spec, const SharedSide& side, const Patch& box,
                               const Patch& share, const std::vector<int>& loops) {
    const int axis = spec.axis;
    const auto elem_bytes = static_cast<index_t>(spec.elem.bytes());
    if (!side.shared) return {piece_in(box, share, axis, -1, elem_bytes, loops, side.turned)};
    std::vector<std::pair<index_t, Piece1d>> found;
    for (int owner = 0; owner < side.layout.nranks(); ++owner) {
        const Patch patch = side.layout.patch(owner), common = intersect(box, patch);
        if (patch_elems(common) == 0) continue;
        Piece1d piece = piece_in(box, patch, axis, owner, elem_bytes, loops);
        const Extents strides = part_strides(spec, side, owner);
        for (size_t l = 0; l < loops.size(); ++l)
            piece.stride_bytes[l] = strides[static_cast<size_t>(loops[l])] * elem_bytes;
        found.emplace_back(common[static_cast<size_t>(axis)].start, std::move(piece));
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
        if (!spec.turns() && !spec.folded) merge_loops(region);  // these ask which lanes they are
        regions.push_back(std::move(region));
    }
    return regions;
}

// Where X[m] lies: the number behind the last one, in each array of a batch.
Piece1d end_of(const SharedTransformSpec& spec, const SharedSide& side) {
    const auto elem_bytes = static_cast<index_t>(spec.elem.bytes());
    Piece1d end;
    end.owner = last_owner(side);
    end.points = 1;
    const Patch patch = side.layout.patch(end.owner);
    const Extents strides = part_strides(spec, side, end.owner);
    const auto axis = static_cast<size_t>(spec.axis);
    end.offset_bytes = patch[axis].count * strides[axis] * elem_bytes;
    for (size_t a = 0; a < strides.size(); ++a) {
        if (a != axis) end.stride_bytes.push_back(strides[a] * elem_bytes);
    }
    return end;
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
    add(columns.low, Region::Columns::low);
    add(columns.high, Region::Columns::high);
    for (const index_t column : columns.alone) {
        add({column, 1, 1}, Region::Columns::alone);
        if (column == 0 && !regions.empty())
            regions.back().end = end_of(spec, spec.folds(spec.to) ? spec.to : spec.from);
    }
    return regions;
}

std::vector<StridedPart> others_parts(const SharedTransformSpec& spec, const SharedSide& side, int rank) {
    if (!side.own) return {};
    const Patch part = side.layout.patch(rank), own = intersect(part, spec.share.patch(rank));
    const auto elem_bytes = static_cast<index_t>(spec.elem.bytes());
    const Extents strides = part_strides(spec, side, rank);
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
        const FoldedColumns columns(spec, rank);
        std::vector<AxisRange> taken{columns.low, columns.high};
        for (const index_t column : columns.alone) taken.push_back({column, 1, 1});
        std::sort(taken.begin(), taken.end(), [](const AxisRange& a, const AxisRange& b) { return a.start < b.start; });
        taken.push_back({part.back().count, 0, 1});
        Patch box = part;
        index_t begin = 0;
        for (const AxisRange& range : taken) {
            box.back() = {begin, range.start - begin, 1};
            add(box);
            begin = range.start + range.count;
        }
        if (spec.folds(side) && rank == last_owner(side) && rank != 0) {  // rank 0 has column 0, and X[m] with it
            const Piece1d end = end_of(spec, side);
            StridedPart run{end.offset_bytes, {}, elem_bytes};
            for (size_t a = 0; a < static_cast<size_t>(spec.axis); ++a)
                run.dims.push_back({part[a].count, strides[a] * elem_bytes});
            others.push_back(run);
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
