// Solver `row_passes`: an N-D array of which memory holds few rows of the first transformed axis, in two sweeps with
// runs of whole rows.
//
// Method: two_pass with rows (all that lies behind the axis, R elements) for elements. The axis has n = n1*n2 rows, j =
// j1*n2 + j2, k = k1 + n1*k2: the first sweep reads the n1 rows j2, j2 + n2, ... (or those of some neighbouring j2),
// transforms each row over the other axes, then the n1-point columns, multiplies by W^(j2 k1) and writes all in one
// run, rows k1 of j2 after j2; the second transforms the columns of n2 x (n1 R) in place. Worked: 16384 x 16384 complex
// floats in 512 MiB: axis_passes has columns of 16384 points, so runs of 8 KiB; here 128 rows of 128 KiB are 16 MiB.
// Memory: n1 R elements four times, so R sqrt(n) at least. Only c2c: half a spectrum does not fit where it was read.
#include <algorithm>
#include <optional>

#include "solvers/disk_passes.hpp"
#include "solvers/table.hpp"
#include "steps/transform_step.hpp"

namespace spanfft {

namespace {

struct Job : LongAxis {       // n: of the first transformed axis; outer: what lies before it
    index_t row = 1;          // elements behind it
    std::vector<int> others;  // transformed axes behind it, rising
    double row_flops = 0;     // of a row
    bool by_scratch() const { return problem.stores_other(); }
};

struct Split {
    PassSpec first, second;
    double seconds = 0;
};

Split outline(const Job& job, index_t n1) {
    const index_t n2 = job.n / n1;
    Split split;
    PassSpec &first = split.first, &second = split.second;
    first = second = blank_pass(job, lanes_for(job, std::max(n1, n2)));
    first.shape = second.shape = PassSpec::Shape::columns;
    first.source = Place::input;
    first.target = second.source = job.by_scratch() ? Place::scratch : Place::output;
    second.target = Place::output;
    first.scale = job.problem.scale();
    first.points = first.out_points = n1;
    first.in = column_panels(job, job.outer, n1, n2 * job.row, true);
    first.out = written(column_panels(job, job.outer, 1, job.n * job.row, true));
    first.whole_section = first.twiddle_section = job.row;
    first.roots_n = job.n;
    first.flops_each = column_flops(n1, false);
    first.row_flops = job.row_flops;
    second.points = second.out_points = n2;
    second.in_place = !job.by_scratch();
    second.in = column_panels(job, job.outer, n2, n1 * job.row, true);
    second.out = written(second.in);
    if (second.in_place) second.in = second.out;
    second.flops_each = column_flops(n2, false);
    return split;
}

std::optional<Split> best_split(const Job& job, const Machine& machine) {
    std::optional<Split> best;
    for (index_t n1 : first_factors(job.n)) {
        Split split = outline(job, n1);
        const index_t room = job.budget_bytes - split.first.own_bytes() - split.second.own_bytes();
        if (!widen_by_sections(split.first, room) || !widen_columns(split.second, room, machine)) continue;
        split.seconds = seconds_of_choice({&split.first, &split.second}, machine);
        if (!best || split.seconds < best->seconds) best = std::move(split);
        if (job.searches) break;
    }
    return best;
}

void finish(const Job& job, Split& split) {
    const Kernel kernel = job.forward ? Kernel::c2c_forward : Kernel::c2c_backward;
    for (PassSpec* pass : {&split.first, &split.second}) pass->stages = column_stages(*pass, kernel, pass->points);
    std::string rows;
    if (!job.others.empty()) {
        const int first = *std::min_element(job.problem.axes.begin(), job.problem.axes.end());
        StageRequest request;
        request.shape = Extents(job.problem.shape.begin() + first + 1, job.problem.shape.end());
        for (int other : job.others) {
            request.axes.push_back(other - first - 1);
            request.kernels.push_back(kernel);
            rows += cat(rows.empty() ? " axis " : ", ", other);
        }
        request.precision = job.problem.precision;
        request.across = false;
        split.first.row_stages = make_stages(request);
        rows += ", then";
    }
    split.first.title = cat(kernel_name(kernel), rows, " over ", split.first.points, " of ", job.n, " = ",
                            split.first.points, "*", split.second.points, " rows, twiddle");
    split.second.title = cat(kernel_name(kernel), " over ", split.second.points, " rows");
}

Result<Job> examine(const Problem& problem, const Planner& planner) {
    if (problem.memory_bytes == 0) return error(Code::unsupported, "row_passes is for files; give memory=");
    if (problem.ranks != 1)
        return error(Code::unsupported, "row_passes works in one process so far, not on ", problem.ranks, " ranks");
    for (AxisKind kind : problem.kinds) {
        if (kind != AxisKind::c2c) return error(Code::unsupported, "row_passes knows c2c, not ", axis_kind_name(kind));
    }
    std::vector<int> axes = problem.axes;
    std::sort(axes.begin(), axes.end());
    Job job;
    job.problem = problem;
    job.forward = problem.forward();
    job.n = problem.shape[static_cast<size_t>(axes[0])];
    job.outer = product(problem.shape, 0, axes[0]);
    job.row = product(problem.shape, axes[0] + 1, problem.ndim());
    job.others.assign(axes.begin() + 1, axes.end());
    for (int other : job.others) {
        const index_t length = problem.shape[static_cast<size_t>(other)];
        job.row_flops += column_flops(length, false) * static_cast<double>(job.row / length);
    }
    job.threads = problem.threads > 0 ? problem.threads : planner.machine().cores;
    job.budget_bytes = problem.memory_bytes - disk_reserve_bytes(problem.memory_bytes);
    job.searches = planner.searches();
    if (job.row == 1)
        return error(Code::unsupported, "row_passes has rows for elements, and axis ", axes[0], " is the last one");
    if (prime_factors(job.n).size() < 2) {
        return error(Code::unsupported, "row_passes splits axis ", axes[0], " in two factors, and ", job.n,
                     job.n == 1 ? " is 1" : " is prime");
    }
    return job;
}

Status decline(Job job) {
    if (job.searches) return too_little_memory();
    job.searches = true;  // any split will do
    const index_t needed = smallest_budget(job.problem.memory_bytes, [&](index_t bytes) {
        job.budget_bytes = bytes;
        return best_split(job, Machine()).has_value();
    });
    return error(Code::out_of_memory, "row_passes needs some rows of ",
                 bytes_string(static_cast<double>(job.row * job.elem(true))), " in memory, and ",
                 bytes_string(static_cast<double>(job.problem.memory_bytes)), " is too little; it needs at least ",
                 bytes_string(static_cast<double>(needed)), " (", needed, " bytes)");
}

}  // namespace

Result<std::unique_ptr<Plan>> solve_row_passes(const Problem& problem, const Planner& planner) {
    SPANFFT_ASSIGN(const Job job, examine(problem, planner));
    auto split = best_split(job, planner.machine());
    if (!split) return decline(job);
    finish(job, *split);
    const index_t scratch_bytes = job.by_scratch() ? split->first.out.payload_bytes() : 0;
    auto plan =
        plan_of_passes(job, "row_passes", {std::move(split->first), std::move(split->second)}, planner.machine());
    plan->scratch_bytes = scratch_bytes;
    return plan;
}

}  // namespace spanfft
