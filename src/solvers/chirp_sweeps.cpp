// Solver `chirp_sweeps`: one long axis of any length and kind as a convolution with a chirp, in three sweeps of
// scratch.
//
// Method: Bluestein's (steps/chirp.hpp): n inputs and k outputs are a cyclic convolution of m >= n + k - 1
// points, and m can be any length that splits well, m = m1*m2. Sweep 1 reads columns (j2) of the input as m1 rows of
// m2, multiplies by the chirp, transforms them over j1 and multiplies by the twiddles W^(j2 k1); with the first array
// it makes the columns of the filter, which no file holds, just so. Sweep 2 takes rows k1 of both, contiguous,
// transforms them over j2, multiplies, and goes back at once: the spectrum of the convolution never lies in a file, so
// its order does not matter. Sweep 3 transforms columns back and multiplies the outputs that are asked for by the
// chirp.
// Scratch: m complex an array, and m for the filter, which all arrays share. Bytes of one c2c of n: 7n read, 7n
// written, where two_sweeps needs 2n and 2n; so it is for lengths whose prime factors are too long to be factors of
// two_sweeps, and for DCT and DST. r2c and c2r need m >= 3n/2 only.
#include <algorithm>
#include <cmath>
#include <optional>

#include "solvers/disk_sweeps.hpp"
#include "solvers/table.hpp"
#include "steps/transform_step.hpp"

namespace spanfft {

namespace {

struct Route {
    SweepSpec in, rows, out;
    index_t m = 0;
    double seconds = 0;
    index_t own_bytes() const { return in.own_bytes() + rows.own_bytes() + out.own_bytes(); }
    bool fits(index_t bytes) const {
        return std::max({in.panel_bytes(), rows.panel_bytes(), out.panel_bytes()}) + own_bytes() <= bytes;
    }
};

// `points` of a matrix of m2 columns, as far as there are any.
ColumnPanels some_rows(const LongAxis& job, index_t points, index_t m2, index_t elem_bytes) {
    ColumnPanels panels;
    panels.outer = job.outer;
    panels.row_elems = panels.columns = m2;
    panels.rows = ceil_div(points, m2);
    panels.last_row_elems = points - (panels.rows - 1) * m2;
    panels.elem_bytes = elem_bytes;
    return panels;
}

void set_widths(Route& route, index_t columns, index_t slabs) {
    set_panel_width(route.in, columns);
    set_panel_width(route.out, columns);
    set_panel_width(route.rows, slabs * route.rows.points);
}

// The three sweeps for m1*m2, one column and one row a panel.
Route outline(const LongAxis& job, const Chirp& chirp, index_t m1, index_t m2, index_t lanes) {
    Route route;
    route.m = m1 * m2;
    const index_t complex_bytes = job.elem(true), twin = job.outer * route.m;
    route.in = route.rows = route.out = blank_sweep(job, lanes);
    SweepSpec& in = route.in;
    in.source.array = some_rows(job, chirp.inputs, m2, job.elem(job.problem.input_elem().complex));
    in.source.factors = chirp;
    in.work = TileWork{{}, 0, job.problem.scale() / static_cast<long double>(route.m)};
    in.twiddles = {.roots_n = route.m};
    in.target.place = Place::scratch;
    ColumnPanels both = written(some_rows(job, route.m, m2, complex_bytes));
    both.besides = ColumnPanels::Twin{twin, true};
    in.target.array = both;
    in.points = in.out_points = m1;
    in.flops_each = column_flops(m1, false);

    SweepSpec& rows = route.rows;
    rows.source.place = rows.target.place = Place::scratch;
    ColumnPanels lines = some_rows(job, route.m, route.m, complex_bytes);
    rows.target.array = written(lines);
    lines.besides = ColumnPanels::Twin{twin};
    rows.source.array = lines;
    rows.work = ProductWork();
    rows.twiddles = {.roots_n = route.m, .backward = true};
    rows.lanes = 1;
    rows.points = rows.out_points = m2;
    rows.flops_each = 3 * column_flops(m2, false);

    SweepSpec& out = route.out;
    out.source.place = Place::scratch;
    out.source.array = some_rows(job, route.m, m2, complex_bytes);
    out.target.array = written(some_rows(job, chirp.outputs, m2, job.elem(job.problem.output_elem().complex)));
    out.target.factors = chirp;
    out.points = out.out_points = m1;
    out.flops_each = column_flops(m1, false);
    set_widths(route, 1, 1);
    return route;
}

std::optional<Route> fit(const LongAxis& job, Route route, const Machine& machine) {
    if (!route.fits(job.budget_bytes)) return std::nullopt;
    const index_t room = job.budget_bytes - route.own_bytes();
    const index_t m1 = route.in.points, m2 = route.rows.points;
    const index_t width = largest_that(m2, [&](index_t columns) {
        set_widths(route, columns, 1);
        return std::max(route.in.panel_bytes(), route.out.panel_bytes()) <= room;
    });
    constexpr index_t kSlabPanelBytes = index_t{32} << 20;  // more a panel only lengthens the pipeline's ends
    const index_t most_slabs = std::clamp(kSlabPanelBytes / (m2 * job.elem(true)), std::min<index_t>(m1, 1), m1);
    const index_t slabs = largest_that(most_slabs, [&](index_t count) {
        set_widths(route, 1, count);
        return route.rows.panel_bytes() <= room;
    });
    // Equal panels of whole blocks of the file system, where they are that wide.
    const index_t unit = std::max<index_t>(
        1, kDirectBytes / std::min(route.out.target.columns().elem_bytes, route.in.source.columns().elem_bytes));
    const index_t even = ceil_div(m2, ceil_div(m2, width)), whole = round_up(even, unit);
    set_widths(route, whole <= width ? whole : width >= unit ? width - width % unit : even, slabs);
    double unaligned_bytes = 0;
    for (const SweepSpec* sweep : {&route.in, &route.rows, &route.out}) {
        route.seconds += SweepStep(*sweep, machine).predict(0).seconds;
        const ColumnPanels& out = sweep->target.columns();
        const bool aligned =
            out.row_elems * out.elem_bytes % kDirectBytes == 0 && out.panel * out.elem_bytes % kDirectBytes == 0;
        if (!aligned) unaligned_bytes += static_cast<double>(out.payload_bytes());
    }
    route.seconds += unaligned_bytes * machine.disk_unaligned_write_seconds_per_byte;
    if (slabs < std::min<index_t>(m1, 2 * job.threads)) route.seconds *= 1.2;  // threads wait for one another
    return route;
}

// Calls with every m1*m2 of the convolution's length that is not much longer than it needs to be.
template <class Each>
void each_length(const Chirp& chirp, Each each) {
    const index_t least = chirp.convolution();
    const std::vector<index_t> numbers = smooth_numbers(2 * least);
    for (index_t m2 : numbers) {
        if (m2 > least) break;
        const index_t m1 = *std::lower_bound(numbers.begin(), numbers.end(), ceil_div(least, m2));
        if (least < 64 || m1 * m2 - least <= least / 4) each(m1, m2);
    }
}

std::optional<Route> best_route(const LongAxis& job, const Chirp& chirp, const Machine& machine) {
    std::optional<Route> best;
    each_length(chirp, [&](index_t m1, index_t m2) {
        if (best && job.searches) return;
        if (!outline(job, chirp, m1, m2, 1).fits(job.budget_bytes)) return;
        std::optional<Route> route;
        // Narrower tiles only where memory is that tight.
        for (index_t lanes = lanes_for(job, m1); lanes >= 1 && !route; lanes /= 2)
            route = fit(job, outline(job, chirp, m1, m2, lanes), machine);
        if (route && (!best || route->seconds < best->seconds)) best = std::move(route);
    });
    return best;
}

index_t smallest_memory(const LongAxis& job, const Chirp& chirp) {
    return smallest_budget(job.problem.memory_bytes, [&](index_t bytes) {
        bool found = false;
        each_length(chirp,
                    [&](index_t m1, index_t m2) { found = found || outline(job, chirp, m1, m2, 1).fits(bytes); });
        return found;
    });
}

void finish(Route& route, Kernel kernel) {
    const index_t m1 = route.in.points, m2 = route.rows.points;
    route.in.stages = column_stages(route.in, Kernel::c2c_forward, m1);
    route.rows.stages = column_stages(route.rows, Kernel::c2c_forward, m2);
    std::get_if<ProductWork>(&route.rows.work)->back = column_stages(route.rows, Kernel::c2c_backward, m2);
    route.out.stages = column_stages(route.out, Kernel::c2c_backward, m1);
    route.in.title = cat(kernel_name(kernel), " as a convolution of ", route.m, " = ", m1, "*", m2,
                         " points: chirp, c2c over ", m1, ", twiddle; the filter alike");
    route.rows.title = cat("c2c over ", m2, ", times the filter, back");
    route.out.title = cat("back over ", m1, ", chirp");
}

}  // namespace

Result<std::unique_ptr<Plan>> solve_chirp_sweeps(const Problem& problem, const Planner& planner) {
    SPANFFT_TRY(expect_one_axis(problem, "chirp_sweeps"));
    SPANFFT_TRY(expect_one_process(problem, "chirp_sweeps"));
    SPANFFT_ASSIGN(const LongAxis job, examine_long_axis(problem, planner, "chirp_sweeps"));
    if (problem.axes[0] != problem.ndim() - 1)
        return error(Code::unsupported, "chirp_sweeps transforms the last axis, not axis ", problem.axes[0], " of ",
                     problem.ndim());
    if (is_r2r(problem.kinds[0]) && problem.norm == Norm::ortho) {
        return error(Code::unsupported, "chirp_sweeps does not know norm=ortho of ", axis_kind_name(problem.kinds[0]),
                     "; use norm=backward and scale, or more memory");
    }
    if (const index_t logical = problem.logical_length(0); largest_prime_factor(logical) <= kLargestSmoothPrime) {
        return error(Code::unsupported, "chirp_sweeps is for large prime factors, and ", logical, " has none above ",
                     kLargestSmoothPrime, ": the convolution would miss the accuracy rule");
    }
    const Kernel kernel = kernel_of(problem.kinds[0], problem.direction);
    const Chirp chirp = make_chirp(kernel, job.n);
    auto route = best_route(job, chirp, planner.machine());
    if (!route) {
        if (job.searches) return too_little_memory();
        const index_t needed = smallest_memory(job, chirp);
        return error(Code::out_of_memory, "length ", job.n, " can't be convolved with a chirp in ",
                     bytes_string(static_cast<double>(problem.memory_bytes)), "; chirp_sweeps needs at least ",
                     bytes_string(static_cast<double>(needed)), " (", needed, " bytes)");
    }
    finish(*route, kernel);
    const index_t scratch_bytes = (job.outer + 1) * route->m * job.elem(true);
    auto plan = plan_of_sweeps(job, "chirp_sweeps", {route->in, route->rows, route->out}, planner.machine());
    plan->scratch_bytes = scratch_bytes;
    return plan;
}

}  // namespace spanfft
