// What the solvers that sweep a disk share: the job, the parts of sweeps, and how memory is divided among these.
//
// Method: what lies behind a long axis is a row of numbers, and a row is an element to its sweeps: of the last axis one
// number. A sweep is outlined with panels of one column (slab, section, tile); these are then widened as far as memory
// goes, which all sweeps of a job share in turn, besides the tiles and tables that each has for itself.
#pragma once

#include <numeric>

#include "plan/plan.hpp"
#include "plan/planner.hpp"
#include "sweeps/sweep_step.hpp"

namespace spanfft {

constexpr index_t kDiskTileBytes = index_t{1} << 20;  // what a thread works on: half of a level-2 cache

// Runs that come near the disk's bandwidth: more a panel lengthens the pipeline's ends, which are a panel's read and a
// panel's write, and is taken where that is predicted to take less all the same.
constexpr index_t kLongRunBytes = index_t{256} << 10;

// Runs that are no reason to compute more, or to send anything, for longer ones (2^27 complex floats in a quarter of
// their memory: factors of 128 x 8192 x 128 took 4 % longer than even ones; and on two ranks that read the last sweep's
// panels together, in runs of 256 KiB instead of 128, it took 0.57 s instead of 0.49).
constexpr index_t kEnoughRunBytes = index_t{96} << 10;

// What each process may touch beyond the buffers that are counted: engine tables, thread stacks, page rounding.
index_t disk_reserve_bytes(index_t memory_bytes);

// The refusal of a solver while the planner searches: nobody reads it.
inline Status too_little_memory() { return error(Code::out_of_memory, "too little memory"); }

// A transform of an array on disk, and what there is to do it with.
struct SweepJob {
    Problem problem;
    bool halves = false, forward = true;
    int threads = 1;
    int ranks = 1;               // that sweep the array together, each with so much memory
    index_t budget_bytes = 0;    // less the reserve and what engines take
    index_t engine_bytes = 0;    // at large prime factors: tables for all threads, scratch for each
    bool searches = false;       // Planner::searches
    bool holds_scratch = false;  // in memory
    bool spares_output = false;  // what lies between sweeps is in scratch, and never in the output

    index_t number(bool complex) const { return static_cast<index_t>(ElemType{problem.precision, complex}.bytes()); }
    void set_memory(index_t bytes) { budget_bytes = bytes - disk_reserve_bytes(bytes) - engine_bytes; }
    void add_engine(Kernel kernel, index_t n);  // before the budget is set
};
SweepJob examine_sweeps_of(const Problem& problem, const Planner& planner);

// Of one axis, of n points, of `outer` arrays, with rows of `row` numbers behind each index.
struct LongAxis : SweepJob {
    index_t n = 0, outer = 1, row = 1;
    index_t half() const { return n / 2 + 1; }
    index_t elem(bool complex) const { return row * number(complex); }
    index_t fewest(index_t columns) const {
        return ceil_div(columns, row);
    }  // elements with so many columns of numbers
};

// Of the first of the problem's axes.
Result<LongAxis> examine_long_axis(const Problem& problem, const Planner& planner, const char* solver);
// Declined unless no other axis is transformed.
Status expect_one_axis(const Problem& problem, const char* solver);
// Declined for DCT and DST with norm=ortho, for which ends have factors of their own.
Status expect_no_ortho(const Problem& problem, const char* solver);

// A sweep with what all sweeps of a job have in common.
SweepSpec blank_sweep(const SweepJob& job, index_t lanes);

// `outer` matrices of rows x row_elems, with panels over all columns.
ColumnPanels column_panels(const LongAxis& job, index_t outer, index_t rows, index_t row_elems, bool complex);
// The same array with numbers for elements: panels may then end inside a row.
ColumnPanels of_numbers(ColumnPanels panels);
// The same panels, to be written from where they lie.
inline ColumnPanels written(ColumnPanels panels) {
    panels.use = ColumnPanels::Use::written;
    return panels;
}
// So many elements of a matrix with rows of row_elems, the last of which may be cut off.
ColumnPanels cut_off(ColumnPanels panels, index_t elems);

// Columns of numbers that a thread transforms at once: one or two cache lines of a row, as the cache allows.
index_t lanes_for(const LongAxis& job, index_t longest_points);

// One engine call for the columns of a tile. real_points: of the column in real space.
std::vector<SweepStage> column_stages(const SweepSpec& spec, Kernel kernel, index_t real_points);
// The same for slabs that are one row, from the read side to the written one.
std::vector<SweepStage> row_stages(const SweepSpec& spec, Kernel kernel);
double column_flops(index_t points, bool real);  // 5 n log2 n, or half

// Who has what before and after sweeps: in one process all; ranks sweep panels of their own, and as far as anybody asks
// have blocks of the slowest axis.
Layout swept_layout(const Extents& shape, int ranks);

// The fewest elements that are whole blocks of the file system.
inline index_t block_elems(const ColumnPanels& panels) {
    return kDirectBytes / std::gcd(kDirectBytes, panels.elem_bytes);
}

// Of the side whose panels a sweep walks over.
inline index_t run_bytes(const SweepSpec& sweep) { return sweep.walked().panel * sweep.walked().elem_bytes; }

// Columns (slabs) a panel, of the sides of a sweep that have panels.
void set_panel_width(SweepSpec& sweep, index_t columns);
void set_slabs(SweepSpec& sweep, index_t slabs);

// Panels as wide as fit and as is useful, all equally wide, of whole blocks of the file system if they are that wide;
// in place in two slots instead of three where runs would be short and that is predicted to take less. False: none
// fits.
bool widen_columns(SweepSpec& sweep, index_t room_bytes, const Machine& machine);
// The same in slabs, with a third slot to write from where there is memory, and in sections of a reflection.
bool widen_slabs(SweepSpec& sweep, index_t room_bytes);
bool widen_by_sections(SweepSpec& sweep, index_t room_bytes);

// On ranks: panels that all read together, and in place hand back to be written.
bool widen_together(SweepSpec& sweep, index_t room_bytes);
// The same sweep with such panels, where that is possible and predicted to take less.
void read_together_if_faster(SweepSpec& sweep, index_t room_bytes, const Machine& machine);

// The largest of 1..most for which `fits`; 0: none.
template <class Fits>
index_t largest_that(index_t most, Fits fits) {
    if (!fits(1)) return 0;
    index_t low = 1, high = most + 1;
    while (low + 1 < high) {
        const index_t middle = low + (high - low) / 2;
        (fits(middle) ? low : high) = middle;
    }
    return low;
}

}  // namespace spanfft
