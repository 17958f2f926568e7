// What the solvers for one long axis on disk share: the job, panel widths, tiles, engine calls on columns.
//
// Method: what lies behind the axis is a row of numbers, and a row is an element to them: of the last axis one number.
#pragma once

#include <functional>
#include <numeric>

#include "plan/plan.hpp"
#include "plan/planner.hpp"
#include "sweeps/sweep_step.hpp"

namespace spanfft {

constexpr index_t kDiskTileBytes = index_t{1} << 20;  // what a thread works on: half of a level-2 cache

// Runs that reach the disk's bandwidth: more a panel only lengthens the pipeline's ends, which are a panel's read and a
// panel's write.
constexpr index_t kLongRunBytes = index_t{256} << 10;

// Runs below this cost a disk more for the request than for the bytes (45 KiB, by the built-in figures), so that longer
// ones are worth a slot.
constexpr index_t kShortRunBytes = index_t{64} << 10;

// A transform of one axis, of n points, of `outer` arrays, with rows of `row` numbers behind each index.
struct LongAxis {
    index_t n = 0, outer = 1, row = 1;
    bool halves = false, forward = true;
    Problem problem;
    int threads = 1;
    index_t budget_bytes = 0;  // less the reserve
    bool searches = false;     // Planner::searches
    int ranks = 1;             // that sweep the array together, each with so much memory
    index_t half() const { return n / 2 + 1; }
    index_t number(bool complex) const { return static_cast<index_t>(ElemType{problem.precision, complex}.bytes()); }
    index_t elem(bool complex) const { return row * number(complex); }
    index_t fewest(index_t columns) const {
        return ceil_div(columns, row);
    }  // elements with so many columns of numbers
};

// Of one transformed axis, the first of the problem's.
Result<LongAxis> examine_long_axis(const Problem& problem, const Planner& planner, const char* solver);
// Declined on more than one rank.
Status expect_one_process(const Problem& problem, const char* solver);
// Declined unless no other axis is transformed.
Status expect_one_axis(const Problem& problem, const char* solver);

// What each process may touch beyond the buffers that are counted: engine tables, thread stacks, page rounding.
index_t disk_reserve_bytes(index_t memory_bytes);

// Columns of numbers that a thread transforms at once: one or two cache lines of a row, as the cache allows.
index_t lanes_for(const LongAxis& job, index_t longest_points);

// One engine call for the columns of a tile. real_points: of the column in real space.
std::vector<SweepStage> column_stages(const SweepSpec& spec, Kernel kernel, index_t real_points);

// The same for slabs that are one row, from the read side to the written one.
std::vector<SweepStage> row_stages(const SweepSpec& spec, Kernel kernel);

double column_flops(index_t points, bool real);  // 5 n log2 n, or half

// Columns a panel, so that panels of at most `most` columns are equally wide, and as many for each rank.
index_t even_width(index_t columns, index_t most, int ranks);

// Who has what before and after sweeps: in one process all; ranks sweep panels of their own, and as far as anybody asks
// have blocks of the slowest axis.
Layout swept_layout(const Extents& shape, int ranks);

// Panels as wide as `bytes` of slots allow, in multiples of `unit` columns; then all equally wide. False: none fits.
bool widen(ColumnPanels& panels, index_t unit, index_t slots, index_t bytes);

// `outer` matrices of rows x row_elems, with panels over all columns.
ColumnPanels column_panels(const LongAxis& job, index_t outer, index_t rows, index_t row_elems, bool complex);

// The fewest elements that are whole blocks of the file system.
inline index_t block_elems(const ColumnPanels& panels) {
    return kDirectBytes / std::gcd(kDirectBytes, panels.elem_bytes);
}

// The same array with numbers for elements: panels may then end inside a row.
ColumnPanels of_numbers(ColumnPanels panels);

// The same panels, to be written from where they lie.
inline ColumnPanels written(ColumnPanels panels) {
    panels.use = ColumnPanels::Use::written;
    return panels;
}

// Of the sides of a sweep that have panels.
void set_panel_width(SweepSpec& sweep, index_t columns);
// Of a sweep of whole or half sections: so many a panel.
void set_sections(SweepSpec& sweep, index_t sections);

// Panels as wide as fit, all equally wide, of whole blocks of the file system if they are that wide; in place in two
// slots instead of three where runs would be short and that is predicted to take less. False: none fits.
bool widen_columns(SweepSpec& sweep, index_t room_bytes, const Machine& machine);
// The same in sections.
bool widen_by_sections(SweepSpec& sweep, index_t room_bytes);

// On ranks: the same sweep with panels that all read together, where that is possible and predicted to take less.
void read_together_if_faster(SweepSpec& sweep, index_t room_bytes, const Machine& machine);

// Predicted seconds of a job's sweeps, for a choice among its ways to do it: besides what each predicts, the memory for
// panels is touched for the first time, and the first panel is read before anything is computed.
double seconds_of_choice(const std::vector<const SweepSpec*>& sweeps, const Machine& machine);

// A sweep with what all sweeps of a job have in common.
SweepSpec blank_sweep(const LongAxis& job, index_t lanes);

// Tells the sweep that writes the output what is stored there, if that is not what it computes.
void note_stored(const Problem& problem, SweepSpec& last);

// A plan of these sweeps over one long axis; scratch and output sizes are the caller's.
std::unique_ptr<Plan> plan_of_sweeps(const LongAxis& job, const char* solver, std::vector<SweepSpec> sweeps,
                                     const Machine& machine);

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

// The refusal of a solver while the planner searches: nobody reads it.
inline Status too_little_memory() { return error(Code::out_of_memory, "too little memory"); }

// The smallest memory= with which `fits` (given the budget less the reserve) says yes, to the byte.
index_t smallest_budget(index_t enough_bytes, const std::function<bool(index_t budget_bytes)>& fits);

// Proper divisors of n, rising, as first factors of n = n1*n2: all of them, or of very many those around the root and
// some of the others, so that what is tried for each stays within a second.
std::vector<index_t> first_factors(index_t n);

}  // namespace spanfft
