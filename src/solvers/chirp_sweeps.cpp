// Solver `chirp_sweeps`: one long axis of any length and kind as a convolution with a chirp, in three sweeps of
// scratch.
//
// Method: Bluestein's (steps/chirp.hpp): n inputs and k outputs are a cyclic convolution of m >= n + k - 1
// points, and m can be any length that splits well, m = m1*m2. Sweep 1 reads columns (j2) of the input as m1 rows of
// m2, multiplies by the chirp, transforms them over j1 and multiplies by the twiddles W^(j2 k1); with the first array
// it makes the columns of the filter, which no file holds, just so. Sweep 2 takes rows k1 of both, contiguous,
// transforms them over j2, multiplies, and goes back at once: the spectrum of the convolution never lies in a file, so
// its order does not matter. Sweep 3 transforms columns back and multiplies the outputs that are asked for by the
// chirp. What lies behind an axis that is not the last one makes rows, which take the place of elements: then
// sweep 2 transforms columns where they lie, and the filter has as many columns, all alike.
// Scratch: m complex an array, and m for the filter, which all arrays share. Bytes of one c2c of n: 7n read, 7n
// written, where two_sweeps needs 2n and 2n; so it is for lengths whose prime factors are too long to be factors of
// two_sweeps, and for DCT and DST. r2c and c2r need m >= 3n/2 only.
// On several ranks each keeps rows k1 of its own, of the array and of the filter, in scratch of its own: it gets them
// of the columns of all in the rounds of sweep 1, which sends them to and fro; sweep 2 sends nothing; in sweep 3 all
// read panels together, each its own rows of them, and hand one another the rows of their own panels. So (P-1)/P of the
// array is sent twice, and that of the filter once.
#include <algorithm>

#include "solvers/sweep_search.hpp"
#include "solvers/table.hpp"
#include "steps/transform_step.hpp"

namespace spanfft {

namespace {

struct ChirpedAxis : LongAxis {
    Chirp chirp;
};

// The three sweeps for m1*m2, one column and one row a panel.
SweepRoute outline(const ChirpedAxis& job, index_t m1, index_t m2, index_t lanes) {
    const index_t m = m1 * m2, twin = job.outer * m;  // in elements
    const Chirp& chirp = job.chirp;
    SweepRoute route;
    route.sweeps.assign(3, blank_sweep(job, lanes));
    route.scratch_bytes = (job.outer + 1) * m * job.elem(true);
    SweepSpec &in = route.sweeps[0], &rows = route.sweeps[1], &out = route.sweeps[2];
    const auto matrix = [&](index_t points, index_t row_elems, bool complex) {
        return cut_off(column_panels(job, job.outer, 1, row_elems, complex), points);
    };
    in.source.array = matrix(chirp.inputs, m2, job.problem.input_elem().complex);
    in.source.factors = chirp;
    in.work = TileWork{{}, job.problem.scale() / static_cast<long double>(m)};
    in.twiddles = {.roots_n = m};
    ColumnPanels both = written(matrix(m, m2, true));
    both.besides = ColumnPanels::Twin{twin, true};
    in.target.array = both;
    in.points = in.out_points = m1;
    in.flops_each = column_flops(m1, false);

    ColumnPanels lines = matrix(m, m, true);
    if (job.ranks > 1) lines.share = ColumnPanels::Share::own_file;
    rows.target.array = written(lines);
    lines.besides = ColumnPanels::Twin{twin};
    rows.source.array = lines;
    rows.work = ProductWork();
    rows.twiddles = {.roots_n = m, .backward = true};
    rows.lanes = 1;
    rows.points = rows.out_points = m2;
    rows.flops_each = 3 * column_flops(m2, false) * static_cast<double>(job.row);

    out.source.array = matrix(m, m2, true);
    out.target.array = written(matrix(chirp.outputs, m2, job.problem.output_elem().complex));
    out.target.factors = chirp;
    out.points = out.out_points = m1;
    out.flops_each = column_flops(m1, false);
    in.target.place = rows.source.place = rows.target.place = out.source.place = Place::scratch;
    return route;
}

std::optional<SweepRoute> fit(const ChirpedAxis& job, SweepRoute route, const Machine& machine) {
    SweepSpec &in = route.sweeps[0], &rows = route.sweeps[1], &out = route.sweeps[2];
    const index_t room = route.room(job);
    if (!widen_slabs(rows, room)) return std::nullopt;
    if (job.ranks > 1) {
        const ColumnPanels& lines = rows.source.columns();
        const index_t own = std::min(lines.panels_per_matrix() * (lines.panel / rows.points), in.points);
        in.sharing.kept = Sharing::Rows{own};
        out.sharing.own_rows = own;
        route.scratch_of_each_rank_bytes = (job.outer + 1) * own * rows.points * job.elem(true);
    }
    if (!widen_columns(in, room, machine)) return std::nullopt;
    if (!(job.ranks > 1 ? widen_together(out, room) : widen_columns(out, room, machine))) return std::nullopt;
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

void offer_lengths(const ChirpedAxis& job, SweepSearch& search) {
    each_length(job.chirp, [&](index_t m1, index_t m2) {
        // A panel holds a column of elements at least, and a row: of a million lengths this leaves the few that may
        // fit.
        if (search.ended() || std::max(m1, m2) * job.elem(true) > job.budget_bytes) return;
        // Narrower tiles only where memory is that tight; where anything that fits will do, the narrowest.
        bool fits = false;
        for (index_t lanes = search.any() ? 1 : lanes_for(job, m1); lanes >= 1 && !fits; lanes /= 2)
            fits = search.offer(fit(job, outline(job, m1, m2, lanes), search.machine()));
    });
}

SweepRefusal refusal(const ChirpedAxis& job) { return {cat("length ", job.n, " can't be convolved with a chirp"), ""}; }

// On m2 elements, which lie one after the other.
std::vector<SweepStage> stages_of_row(const ChirpedAxis& job, index_t m2, Kernel kernel) {
    StageRequest request;
    request.shape = {m2, job.row};
    request.axes = {0};
    request.kernels = {kernel};
    request.precision = job.problem.precision;
    request.across = false;
    return make_stages(request);
}

void finish(const ChirpedAxis& job, SweepRoute& route) {
    SweepSpec &in = route.sweeps[0], &rows = route.sweeps[1], &out = route.sweeps[2];
    const index_t m1 = in.points, m2 = rows.points;
    in.stages = column_stages(in, Kernel::c2c_forward, m1);
    rows.stages = stages_of_row(job, m2, Kernel::c2c_forward);
    rows.work = ProductWork{stages_of_row(job, m2, Kernel::c2c_backward)};
    out.stages = column_stages(out, Kernel::c2c_backward, m1);
    in.title = cat(kernel_name(kernel_of(job.problem.kinds[0], job.problem.direction)), " as a convolution of ",
                   m1 * m2, " = ", m1, "*", m2, job.row > 1 ? " rows" : " points", ": chirp, c2c over ", m1,
                   ", twiddle; the filter alike");
    rows.title = cat("c2c over ", m2, ", times the filter, back");
    out.title = cat("back over ", m1, ", chirp");
}

Result<ChirpedAxis> examine(const Problem& problem, const Planner& planner) {
    SPANFFT_TRY(expect_one_axis(problem, "chirp_sweeps"));
    SPANFFT_ASSIGN(const LongAxis line, examine_long_axis(problem, planner, "chirp_sweeps"));
    SPANFFT_TRY(expect_no_ortho(problem, "chirp_sweeps"));
    if (const index_t logical = problem.logical_length(0); largest_prime_factor(logical) <= kLargestSmoothPrime) {
        return error(Code::unsupported, "chirp_sweeps is for large prime factors, and ", logical, " has none above ",
                     kLargestSmoothPrime, ": the convolution would miss the accuracy rule");
    }
    ChirpedAxis job;
    static_cast<LongAxis&>(job) = line;
    job.chirp = make_chirp(kernel_of(problem.kinds[0], problem.direction), job.n);
    return job;
}

constexpr SweepMethod<ChirpedAxis> kChirpSweeps{"chirp_sweeps", offer_lengths, finish, refusal};

}  // namespace

std::optional<SweepRoute> chirp_sweeps_as_part(const Problem& problem, const SweepJob& whole, index_t own_bytes,
                                               const SweepSearch& search) {
    return part_of_plan<ChirpedAxis>(examine(problem, search.planner()), kChirpSweeps, whole, own_bytes, search);
}

Result<std::unique_ptr<Plan>> solve_chirp_sweeps(const Problem& problem, const Planner& planner) {
    SPANFFT_ASSIGN(const ChirpedAxis job, examine(problem, planner));
    return plan_sweeps<ChirpedAxis>(job, planner, kChirpSweeps);
}

}  // namespace spanfft
