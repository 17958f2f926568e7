// Solver `superlevels`: P1's uniprocessor FFT on parallel disks, as published: a bit reversal, then superlevels of
// mini-butterflies of depth lg F and (lg F)-bit right rotations; the last superlevel is lg N mod lg F deep.
//
// Method: F = M, a memoryload (section 5). Every permutation is a BMMC in at most 2N/(BD) (ceil(rank phi / lg(M/B)) +
// 1) parallel I/Os, every superlevel takes 2N/(BD). Mini-butterflies are plain transforms by an engine
// (sweeps/pdm_step.hpp), which takes its points in natural order; P1's radix-2 stages take them bit-reversed. So
// each permutation is composed with the reversal of the low bits of the superlevel after it, as P1 (section 6) composes
// its with band conversions: that permutes inside memoryloads, changes no rank of phi and no bound, and saves a
// permutation in memory. Worked: N = 2^20, M = 2^8: reversal, 8 deep, rotation by 8, 8 deep, rotation by 8, 4 deep,
// rotation by 4.
// Memory: synchronous: M is half of it (the BMMC permutes from one buffer to another), asynchronous: a quarter; as much
// as one memoryload more is left to the engine. The block size is the best of 4 KiB to 256 KiB; `method=superlevels:`
// takes sync, async, block=BYTES and disks=D.
// On disk: input and output are ordinary files, seen as D disks; between them the array lies in scratch, twice. Where
// the problem says that scratch is on D disks, block q of it really is on disk q mod D.
#include <algorithm>
#include <optional>

#include "solvers/disk_sweeps.hpp"
#include "solvers/pdm_routes.hpp"
#include "solvers/table.hpp"

namespace spanfft {

namespace {

// P1's Analysis: the bit reversal and for each superlevel one sweep and one rotation, by the bounds of their ranks.
index_t published_bound(const PdmShape& s) {
    const int f = s.m, levels = static_cast<int>(ceil_div(s.n, f)), per_sweep = s.m - s.b;
    const auto sweeps = [&](int rank) { return ceil_div(rank, per_sweep) + 1; };
    const int reversal = std::min(s.m, s.n - s.m), rotation = std::min({f, s.n - f, s.m, s.n - s.m});
    return 2 * s.stripes() * (sweeps(reversal) + levels * (1 + sweeps(rotation)));
}

Result<PdmRoute> make_route(const PdmJob& job, const PdmShape& shape, const Machine& machine) {
    PdmRoute route;
    route.spec = {shape, job.record_bytes, job.options.mode, job.threads, job.problem.disks, 0};
    if (job.problem.stores_other()) route.spec.stored_bytes = static_cast<index_t>(job.problem.stored_elem().bytes());
    const int n = shape.n;
    BitMatrix before = BitMatrix::bit_reversal(n);
    std::string title = "bit reversal";
    for (int done = 0; done < n;) {
        Superlevel level;
        level.precision = job.problem.precision;
        level.done = done;
        level.depth = std::min(shape.m, n - done);
        level.backward = !job.problem.forward();
        level.scale = job.problem.scale();
        level.engine = job.problem.engine;
        SPANFFT_ASSIGN(BmmcPlan permutation, plan_bmmc({BitMatrix::bit_reversal(n, level.depth) * before, 0}, shape));
        route.permutations.push_back(std::move(permutation));
        route.titles.push_back(cat(title, ", then reversal of the low ", level.depth));
        before = BitMatrix::right_rotation(n, level.depth);
        title = cat("right rotation by ", level.depth, level.depth == 1 ? " bit" : " bits");
        done += level.depth;
        route.levels.push_back(std::move(level));
    }
    SPANFFT_ASSIGN(BmmcPlan last, plan_bmmc({before, 0}, shape));
    route.permutations.push_back(std::move(last));
    route.titles.push_back(title);
    complete(route, machine);
    return route;
}

// The fewest predicted seconds among the block sizes, for the largest memoryload that fits.
std::optional<PdmRoute> best_route(const PdmJob& job, const Machine& machine) {
    const index_t room = job.budget_bytes / ((sweep_buffers(false, job.options.mode) + 1) * job.record_bytes);
    for (int m = std::min(job.n - 1, room > 0 ? log2_of(room) : 0); m >= 1; --m) {
        std::optional<PdmRoute> best;
        for (int b = 0; b < m && b + job.d <= m; ++b) {
            if (!tries_block(job, b, m)) continue;
            auto route = make_route(job, {job.n, m, b, job.d}, machine);
            if (!route.ok() || route.value().needed_bytes() > job.budget_bytes) continue;
            if (!best || route.value().seconds < best->seconds) best = std::move(route).value();
        }
        if (best) return best;
    }
    return std::nullopt;
}

// The budget from which on some route fits; 0: none does. Small memoryloads have many levels, each with its tables.
index_t smallest_memory(const PdmJob& job, const Machine& machine) {
    index_t smallest = 0;
    for (int m = 1; m < job.n; ++m) {
        const int b = job.options.block_bytes > 0 ? log2_of(job.options.block_bytes / job.record_bytes) : 0;
        const auto route = make_route(job, {job.n, m, b, job.d}, machine);
        if (!route.ok()) continue;
        const index_t needed = route.value().needed_bytes();
        if (smallest == 0 || needed < smallest) smallest = needed;
    }
    return smallest == 0 ? 0 : budget_that_holds(smallest);
}

std::string shape_note(const PdmRoute& route) {
    const PdmShape& s = route.spec.shape;
    return cat("parallel disks: N=2^", s.n, ", M=F=2^", s.m, ", B=2^", s.b, ", D=2^", s.d, ", ",
               route.spec.mode == IoMode::asynchronous ? "asynchronous" : "synchronous", "; ", route.parallel_ios,
               " parallel I/Os predicted, at most ", published_bound(s), " by P1's analysis");
}

}  // namespace

Result<std::unique_ptr<Plan>> solve_superlevels(const Problem& problem, const Planner& planner) {
    SPANFFT_ASSIGN(const PdmJob job, examine_pdm(problem, planner, "superlevels", false));
    auto route = best_route(job, planner.machine());
    if (!route) {
        if (planner.searches()) return too_little_memory();
        return too_little_for(job, "superlevels", smallest_memory(job, planner.machine()));
    }
    const std::string note = shape_note(*route);
    auto plan = plan_of(job, "superlevels", std::move(*route), planner.machine());
    plan->notes.push_back(note);
    return plan;
}

}  // namespace spanfft
