// Layout: which part of a global array lies on which rank. A pure value: no communicator, no buffers.
//
// Method: ranks form a process grid (row-major, last grid dimension fastest). Each grid dimension divides at most
// one axis of the array, in balanced blocks (P4, eq. 9: the first n mod m parts hold one more) of indices, or of rows
// of so many indices, or cyclically;
// an axis that no grid dimension divides is whole everywhere. Instead of a grid, a layout may list one
// arbitrary box a rank, which its copies share: a route of 10,000 ranks copies layouts by the hundred. A rank's part is
// a Patch: one arithmetic progression of indices an axis.
// Invariant: the patches of all ranks tile the array: each element has exactly one owner. Layouts made by
// the factories hold it by construction; from_boxes checks it.
// Worked numbers: 10 indices over 4 ranks in blocks are 0-2, 3-5, 6-7, 8-9; in blocks of rows of 4 they are 0-3, 4-7,
// 8-9 and none; cyclically rank 1 owns 1, 5, 9.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/extents.hpp"
#include "core/status.hpp"

namespace spanfft {

// The indices start, start + step, ... (count of them). A box has step 1 along every axis.
struct AxisRange {
    index_t start = 0;
    index_t count = 0;
    index_t step = 1;
    index_t at(index_t i) const { return start + i * step; }
    bool operator==(const AxisRange&) const = default;
};

// Indices that both progressions hold, again a progression (Chinese remainder theorem); count 0 if none.
AxisRange intersect(const AxisRange& a, const AxisRange& b);

using Patch = std::vector<AxisRange>;  // one range an axis

Patch intersect(const Patch& a, const Patch& b);
index_t patch_elems(const Patch& patch);
Extents patch_shape(const Patch& patch);
std::string patch_string(const Patch& patch);  // "0:4x8:16", "0:9:2x0:4" with a step

// Part `part` of n indices in `parts` balanced blocks.
AxisRange block_range(index_t n, index_t parts, index_t part);
// The part of n indices in `parts` balanced blocks that holds index i: 10 in 4 are 3 3 2 2, so 5 is in 1 and 6 in 2.
index_t block_part(index_t n, index_t parts, index_t i);
AxisRange cyclic_range(index_t n, index_t parts, index_t part);

enum class Division { block, cyclic };

// What one dimension of the process grid does: divides `axis`, or (axis < 0) nothing: it must then have extent 1.
struct GridDim {
    index_t parts = 1;
    int axis = -1;
    Division division = Division::block;
    index_t row = 1;  // blocks are of whole rows of so many indices, of which the last may be shorter

    // What a coordinate has of n indices; and in blocks, which one has index i.
    AxisRange range(index_t n, index_t coord) const;
    index_t part(index_t n, index_t i) const { return block_part(ceil_div(n, row), parts, i / row); }
    bool operator==(const GridDim&) const = default;
};

// Boxes, by where they begin along the axis along which they differ most.
struct BoxOrder {
    size_t axis = 0;
    std::vector<int> ranks;  // whose boxes hold anything
    index_t longest = 0;     // of their boxes, along that axis
};

class Layout {
  public:
    Layout() = default;
    // Two grid dimensions may not divide the same axis; the product of parts is the number of ranks.
    Layout(Extents shape, std::vector<GridDim> grid);
    static Result<Layout> from_boxes(Extents shape, std::vector<Patch> boxes);

    const Extents& shape() const { return shape_; }
    int ndim() const { return static_cast<int>(shape_.size()); }
    int nranks() const;
    bool has_grid() const { return !boxes_; }
    const std::vector<GridDim>& grid() const { return grid_; }
    Extents grid_coords(int rank) const;

    Patch patch(int rank) const;
    AxisRange range(int rank, int axis) const;  // of the patch; allocates nothing
    index_t local_elems(int rank) const;
    index_t max_local_elems() const;
    bool is_whole(int axis) const;                      // every rank that owns anything holds all of the axis
    std::vector<index_t> counts_along(int axis) const;  // the different numbers of indices that ranks have, rising
    // The ranks that hold something of a patch, in rising order. It looks at those only that may, so a million are none
    // too many where few do.
    std::vector<int> holders(const Patch& patch) const;

    // Same ownership, with `axis` of another length (an r2c axis n becomes n/2+1), or one more whole axis in front.
    Layout with_extent(int axis, index_t n) const;
    Layout with_leading_axis(index_t n) const;
    // Grid dimension `dim` divides `axis` instead of its present one, index by index.
    Layout with_division(int dim, int axis) const;

    std::string describe() const;  // "[64/2, 64, 33]": axis 0 in 2 blocks; "[64/2 by 4]": of rows of 4
    bool operator==(const Layout& other) const;

  private:
    struct Boxes {
        std::vector<Patch> of;  // one a rank
        BoxOrder order;
        std::vector<std::vector<index_t>> counts;  // along each axis: counts_along
    };
    std::vector<int> candidates(const Patch& patch) const;  // to be holders

    Extents shape_;
    std::vector<GridDim> grid_;
    std::shared_ptr<const Boxes> boxes_;  // if there, instead of the grid
};

// Checks that boxes tile the array: inside it, no overlap, nothing missing. Names the first rank and box at fault.
Status check_tiling(const Extents& shape, const std::vector<Patch>& boxes);

// Ranks by what they hold: the ranks of a class have parts of equal shape in every one of some layouts. Where all are
// divisions of one process grid a dimension's coordinates fall into a few runs (10 indices in 4 parts: coordinates 0, 1
// and 2, 3), so thousands of ranks are a few classes. Otherwise each rank is a class of its own.
class RankClasses {
  public:
    explicit RankClasses(const std::vector<const Layout*>& layouts);
    const std::vector<int>& representatives() const { return representatives_; }  // a rank of each class
    size_t class_of(int rank) const;

  private:
    std::vector<index_t> parts_;                // of the common grid; empty: there is none
    std::vector<std::vector<index_t>> begins_;  // of the runs of coordinates, for each grid dimension
    std::vector<int> representatives_;
};

// All ways to write `ranks` as an ordered product of `dims` factors.
std::vector<Extents> factorings(index_t ranks, int dims);

}  // namespace spanfft
