// Where the lines of a SharedTransform lie: pieces of each at its owners, for many lines alike.
//
// Method: the lines of a share are cut into regions, boxes across the axis within which every line has its pieces at
// the same owners: one region for slabs and pencils, more where the share crosses owners' boundaries along other axes.
// Worked numbers: a share of columns 0-127 of 256 x 256 x 256 whose rows 0-127 one rank owns and 128-255 another is one
// region of 32768 lines, which have two pieces of 128 points each.
#pragma once

#include <optional>

#include "comm/comm.hpp"
#include "steps/shared_transform_step.hpp"

namespace spanfft {

// Where a run of points along the axis lies, for all lines of a region.
struct Piece1d {
    index_t points = 0;
    index_t skipped = 0;                // of the tile's points, before it: modes that are not kept
    int owner = -1;                     // whose window, or -1: this rank's slot memory
    index_t offset_bytes = 0;           // of the region's first line, from the owner's first byte
    index_t point_stride_bytes = 0;     // along the axis
    std::vector<index_t> stride_bytes;  // along each loop of the region
    // Of lane `first`, where the loops outside the lanes, of so many turns, are at `outer` of all.
    index_t at_bytes(const std::vector<index_t>& counts, index_t outer, index_t first) const;
};

struct Region {
    std::vector<index_t> counts;  // of loops over lines, the lanes (neighbouring lines) last
    index_t first_lane = 0;       // index of the first one in its axis
    std::vector<Piece1d> from, to;
    // Of a folded share: low columns, the high ones that they go with (the next region), or one that goes alone.
    enum class Columns { any, low, high, alone };
    Columns columns = Columns::any;
    std::optional<Piece1d> end;  // of column 0: where X[m] lies
    index_t lanes() const { return counts.back(); }
    index_t outer() const;  // turns of the loops outside the lanes
    // How many bytes the first lane lies behind a cache line of the arrays in which lines are columns.
    index_t past_line_bytes() const;
};

// Those of a folded share are pairs of low and high columns, where there are any, and then what goes alone.
std::vector<Region> regions_of(const SharedTransformSpec& spec, int rank);

// What of the rank's own part (`side`) other ranks take or put: runs of bytes of it. Empty where the side has no array
// of its own.
std::vector<StridedPart> others_parts(const SharedTransformSpec& spec, const SharedSide& side, int rank);

}  // namespace spanfft
