// Solvers `stripe_major_comm`, `memoryload_major_comm`, `processor_major_nocomm` and `memoryload_major_nocomm`: P1's
// four FFTs on parallel disks by several processors, as published, on ranks.
//
// Method: the sweeps are those that the analysis lists (permute/multiprocessor.hpp): band size and effective memory
// make a method, and its permutations are composed with the conversions of the band size. So what a run sends, reads
// and writes is what `spanfft analyse` says, of the same records, memory, blocks, disks and ranks. Each rank has D/P
// disks, in scratch of its own; input and output are files that all see, laid out as if they were the D disks. Memory:
// a memoryload is as the analysis has it, a quarter of what all ranks may use, an eighth asynchronously. A run takes
// two (asynchronously four) of these parts, as what is packed goes back to where it was read; the engine may have one
// more; tables and the reserve must fit what is left, or the next smaller power of two is taken. The block size is the
// best of 4 KiB to 256 KiB by predicted seconds; `method=NAME:` takes sync, async, block=BYTES, disks=D and
// factoring=published or shorter. Source: P1, section 6.
#include <algorithm>
#include <optional>

#include "solvers/disk_sweeps.hpp"
#include "solvers/pdm_routes.hpp"
#include "solvers/table.hpp"

namespace spanfft {

namespace {

Result<PdmRoute> make_route(const PdmJob& job, MultiprocessorMethod method, const MultiprocessorModel& model,
                            const Machine& machine) {
    SPANFFT_ASSIGN(const MultiprocessorPlan plan, plan_multiprocessor(method, model));
    PdmRoute route;
    route.spec = {model.shape(), job.record_bytes, job.options.mode, job.threads, job.problem.disks, 0};
    if (job.problem.stores_other()) route.spec.stored_bytes = static_cast<index_t>(job.problem.stored_elem().bytes());
    std::string title = "bit reversal";
    for (size_t i = 0; i < plan.permutations.size(); ++i) {
        const Bmmc map{plan.permutations[i], 0};
        route.permutations.push_back({map, model.shape(), plan.factors[i], rank_phi(map.matrix, model.shape()),
                                      parallel_io_bound(map.matrix, model.shape()).value_or(0)});
        const bool last = i == plan.levels.size();
        const index_t band = index_t{1} << plan.band;
        route.titles.push_back(cat(i > 0 ? cat("from bands of ", band, ", ") : std::string(), title,
                                   last ? std::string() : cat(", to bands of ", band)));
        if (last) break;
        Superlevel level;
        level.precision = job.problem.precision;
        level.done = plan.levels[i].done;
        level.depth = plan.levels[i].depth;
        level.backward = !job.problem.forward();
        level.scale = job.problem.scale();
        level.engine = job.problem.engine;
        level.band = plan.band;
        level.reversed = true;
        title = cat("right rotation by ", level.depth, level.depth == 1 ? " bit" : " bits");
        route.levels.push_back(std::move(level));
    }
    // The step that stores another type is a permutation.
    if (job.problem.stores_other() && route.permutations.back().factors.empty())
        return error(Code::unsupported, "the last permutation is none, and a superlevel stores what it computes");
    complete(route, machine);
    return route;
}

struct Choice {
    MultiprocessorModel model;
    PdmRoute route;
};

MultiprocessorModel model_of(const PdmJob& job, int memory, int b) {
    return {job.n, memory, b, job.d, job.p, job.record_bytes, job.options.mode, job.options.factoring};
}

// What the ranks may use, in records, of which the model makes memoryloads.
index_t model_bytes(const PdmJob& job, int memory) { return job.record_bytes << memory >> job.p; }

// The fewest predicted seconds among the block sizes, for the largest memory that fits.
std::optional<Choice> best_choice(const PdmJob& job, MultiprocessorMethod method, const Machine& machine, bool any) {
    const int buffers = MultiprocessorModel::lg_buffers(job.options.mode);
    const index_t records = job.problem.memory_bytes / job.record_bytes;
    if (records == 0) return std::nullopt;
    for (int memory = std::min(log2_of(records) + job.p, job.n - 1 + buffers); memory > buffers; --memory) {
        std::optional<Choice> best;
        const int m = memory - buffers;
        for (int b = 0; b < m && b + job.d <= m; ++b) {
            if (!tries_block(job, b, m)) continue;
            const MultiprocessorModel model = model_of(job, memory, b);
            auto route = make_route(job, method, model, machine);
            if (!route.ok() || route.value().needed_bytes() > job.budget_bytes) continue;
            if (!best || route.value().seconds < best->route.seconds) best = {model, std::move(route).value()};
            if (any) break;
        }
        if (best) return best;
    }
    return std::nullopt;
}

index_t smallest_memory(const PdmJob& job, MultiprocessorMethod method, const Machine& machine) {
    const int buffers = MultiprocessorModel::lg_buffers(job.options.mode);
    const int b = job.options.block_bytes > 0 ? log2_of(job.options.block_bytes / job.record_bytes) : 0;
    index_t smallest = 0;
    for (int m = std::max(job.p, job.d + b) + 1; m < job.n; ++m) {
        const auto route = make_route(job, method, model_of(job, m + buffers, b), machine);
        if (!route.ok()) continue;
        const index_t needed = std::max(model_bytes(job, m + buffers), budget_that_holds(route.value().needed_bytes()));
        if (smallest == 0 || needed < smallest) smallest = needed;
    }
    return smallest;
}

// As a command whose figures are those of the run.
std::string analysis_note(const PdmJob& job, const MultiprocessorModel& model) {
    const bool wide = job.record_bytes != 16;
    return cat("spanfft analyse 2^", model.n, " --memory ", model_bytes(job, model.memory), " --processors ",
               index_t{1} << model.p, " --disks ", index_t{1} << model.d, " --block-bytes ",
               model.record_bytes << model.b, wide ? cat(" --record-bytes ", job.record_bytes) : std::string(),
               model.mode == IoMode::synchronous ? " --sync" : "",
               model.factoring == Factoring::shorter ? " --factoring shorter" : "");
}

std::string shape_note(const PdmJob& job, const MultiprocessorPlan& plan) {
    const MultiprocessorModel& model = plan.model;
    const MultiprocessorCounts counts = count_traffic(plan);
    return cat("parallel disks: N=2^", model.n, ", M=2^", model.shape().m, " and P=2^", model.p, ", F=2^",
               plan.effective, ", beta=2^", plan.band, ", B=2^", model.b, ", D=2^", model.d, ", ",
               model.mode == IoMode::asynchronous ? "asynchronous" : "synchronous", "; ", counts.parallel_ios,
               " parallel I/Os; a rank sends ", counts.butterflies.messages, " messages, ", counts.butterflies.bytes,
               " bytes in mini-butterflies, ", counts.alike ? "" : "at most ", counts.busiest.messages, ", ",
               counts.busiest.bytes, " in permutations, as `", analysis_note(job, model), "` says");
}

Result<std::unique_ptr<Plan>> finish(const PdmJob& job, MultiprocessorMethod method, Choice choice,
                                     const Machine& machine) {
    SPANFFT_ASSIGN(const MultiprocessorPlan analysed, plan_multiprocessor(method, choice.model));
    auto plan = plan_of(job, multiprocessor_method_name(method), std::move(choice.route), machine);
    plan->notes.push_back(shape_note(job, analysed));
    return plan;
}

Result<std::unique_ptr<Plan>> solve(MultiprocessorMethod method, const Problem& problem, const Planner& planner) {
    const char* const name = multiprocessor_method_name(method);
    SPANFFT_ASSIGN(const PdmJob job, examine_pdm(problem, planner, name, true));
    auto choice = best_choice(job, method, planner.machine(), planner.searches());
    if (choice) return finish(job, method, std::move(*choice), planner.machine());
    if (planner.searches()) return too_little_memory();
    return too_little_for(job, name, smallest_memory(job, method, planner.machine()));
}

}  // namespace

Result<std::unique_ptr<Plan>> plan_of_model(const Problem& problem, const Planner& planner, MultiprocessorMethod method,
                                            const MultiprocessorModel& model) {
    SPANFFT_ASSIGN(const PdmJob job, examine_pdm(problem, planner, multiprocessor_method_name(method), true));
    SPANFFT_ASSIGN(PdmRoute route, make_route(job, method, model, planner.machine()));
    return finish(job, method, {model, std::move(route)}, planner.machine());
}

Result<std::unique_ptr<Plan>> solve_stripe_major_comm(const Problem& problem, const Planner& planner) {
    return solve(MultiprocessorMethod::stripe_major_comm, problem, planner);
}
Result<std::unique_ptr<Plan>> solve_memoryload_major_comm(const Problem& problem, const Planner& planner) {
    return solve(MultiprocessorMethod::memoryload_major_comm, problem, planner);
}
Result<std::unique_ptr<Plan>> solve_processor_major_nocomm(const Problem& problem, const Planner& planner) {
    return solve(MultiprocessorMethod::processor_major_nocomm, problem, planner);
}
Result<std::unique_ptr<Plan>> solve_memoryload_major_nocomm(const Problem& problem, const Planner& planner) {
    return solve(MultiprocessorMethod::memoryload_major_nocomm, problem, planner);
}

}  // namespace spanfft
