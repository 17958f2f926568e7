// What is asked for, the best shape of the model, and the plan; see permutation.hpp.
#include "solvers/permutation.hpp"

#include <algorithm>
#include <optional>

#include "core/limits.hpp"
#include "core/text.hpp"
#include "solvers/disk_sweeps.hpp"
#include "solvers/pdm_routes.hpp"

namespace spanfft {

namespace {

Status check_request(const PermutationRequest& r) {
    if (r.record_bytes < 1)
        return error(Code::invalid_argument, "a record has ", r.record_bytes, " bytes; use 1 or more");
    if (!power_of_two(r.disks))
        return error(Code::invalid_argument, r.disks, " disks are no power of two, which P1's layout takes; use ",
                     index_t{1} << log2_of(std::max(1, r.disks)), " or ", index_t{2} << log2_of(std::max(1, r.disks)));
    if (r.block_bytes < 0 ||
        (r.block_bytes > 0 && (r.block_bytes % r.record_bytes != 0 || !power_of_two(r.block_bytes / r.record_bytes))))
        return error(Code::invalid_argument, "a block of ", r.block_bytes,
                     " bytes does not hold a power of two of records of ", r.record_bytes, " bytes; use ",
                     r.record_bytes << log2_of(std::max<index_t>(1, r.block_bytes / r.record_bytes)));
    if (r.map.complement >> r.map.matrix.size())
        return error(Code::invalid_argument, "complement ", r.map.complement, " has more than the ",
                     r.map.matrix.size(), " bits of an index; use 0 to ", low_bits(r.map.matrix.size()));
    if (r.map.matrix.rank() < r.map.matrix.size()) return factor(r.map, {r.map.matrix.size(), 1, 0, 0}).status();
    if (r.threads < 0 || r.threads > kMostThreads)
        return error(Code::invalid_argument, "threads is ", r.threads, "; use 1 to ", kMostThreads,
                     ", or 0 for all cores");
    return {};
}

// Memory for each record of a memoryload.
index_t record_memory(const PermutationRequest& r) { return sweep_buffers(false, r.mode) * r.record_bytes; }

std::optional<BmmcPlan> best_plan(const PermutationRequest& r) {
    constexpr index_t kSmallestBlock = 4096, kLargestBlock = index_t{256} << 10;
    const index_t room = (r.memory_bytes - disk_reserve_bytes(r.memory_bytes)) / record_memory(r);
    if (room <= 0) return std::nullopt;
    const int n = r.map.matrix.size(), d = log2_of(r.disks), m = std::min(n, log2_of(room));
    std::optional<BmmcPlan> best;
    for (int b = 0; b + d <= m; ++b) {
        const index_t bytes = r.record_bytes << b;
        const bool next_fits = b + 1 + d <= m;
        if (r.block_bytes > 0 ? bytes != r.block_bytes
                              : (bytes > kLargestBlock && b > 0) || (bytes < kSmallestBlock && next_fits && b + 1 < m))
            continue;
        auto plan = plan_bmmc(r.map, {n, m, b, d});
        if (plan.ok() && (!best || plan.value().factors.size() <= best->factors.size())) best = std::move(plan).value();
    }
    return best;
}

Status too_little_memory_for(const PermutationRequest& r) {
    const int n = r.map.matrix.size();
    const index_t block = std::max(r.block_bytes, r.record_bytes);
    const index_t records = (block / r.record_bytes) << std::max(log2_of(r.disks), 1);
    if (records > index_t{1} << n)
        return error(Code::invalid_argument, index_t{1} << n, " records are fewer than ", r.disks, " blocks of ", block,
                     " bytes; use smaller blocks or fewer disks");
    index_t needed = records * record_memory(r);
    needed += needed / 15 + 1;
    return error(Code::out_of_memory, "memory of ", r.memory_bytes, " bytes is too small for blocks of ", block,
                 " bytes on ", r.disks, r.disks == 1 ? " disk" : " disks", "; give at least ", needed, " bytes (",
                 bytes_string(static_cast<double>(needed)), ")");
}

// The line that stands for a problem string: a run goes on only with the same one.
std::string in_a_line(const PermutationRequest& r, int threads) {
    const int n = r.map.matrix.size();
    TextWriter out;
    out << "permute " << (index_t{1} << n) << " record=" << r.record_bytes << std::hex << " columns=";
    for (int j = 0; j < n; ++j) out << (j > 0 ? "," : "") << r.map.matrix.column(j);
    if (r.map.complement != 0) out << " complement=" << r.map.complement;
    out << std::dec;
    if (r.block_bytes > 0) out << " block=" << r.block_bytes;
    if (r.disks > 1) out << " disks=" << r.disks;
    if (r.mode == IoMode::synchronous) out << " sync";
    out << " threads=" << threads << " memory=" << r.memory_bytes;
    return out.str();
}

std::string model_note(const PermutationRequest& r, const BmmcPlan& bmmc) {
    const PdmShape& s = bmmc.shape;
    return cat("N=2^", s.n, ", M=2^", s.m, ", B=2^", s.b, ", D=2^", s.d, ", ",
               r.mode == IoMode::asynchronous ? "asynchronous" : "synchronous", ": ", bmmc.describe(), "; ",
               bmmc.predicted().total(), " parallel I/Os, at most ", bmmc.bound);
}

}  // namespace

Result<PlannedPermutation> plan_permutation(const PermutationRequest& r, const Machine& machine) {
    SPANFFT_TRY(check_request(r));
    std::optional<BmmcPlan> bmmc = best_plan(r);
    if (!bmmc) return too_little_memory_for(r);
    const std::string describe = model_note(r, *bmmc);
    if (bmmc->factors.empty()) bmmc->factors.push_back({r.map, SweepKind::rearrange});
    auto plan = std::make_unique<Plan>();
    Problem& problem = plan->problem;
    problem.shape = {bmmc->shape.records()};
    problem.memory_bytes = r.memory_bytes;
    problem.disks = r.disks;
    problem.threads = r.threads > 0 ? r.threads : machine.cores;
    plan->permutation = in_a_line(r, problem.threads);
    plan->solver = "permutation";
    plan->input = plan->output = {swept_layout(problem.shape, 1), {}, r.record_bytes};
    plan->peaks = peaks_of(machine, Precision::dbl, 1, problem.threads, r.disks);
    PdmRoute route;
    route.spec = {bmmc->shape, r.record_bytes, r.mode, problem.threads, r.disks, 0};
    route.permutations = {*bmmc};
    route.titles = {"permutation"};
    complete(route, machine);
    plan->output_file_bytes = route.spec.array_bytes();
    if (r.disks > 1) plan->scratch_block_bytes = route.spec.block_bytes();
    add_steps(*plan, std::move(route), machine);
    plan->notes.push_back("parallel disks: " + describe);
    note_journal(*plan);
    return PlannedPermutation{std::move(plan), std::move(*bmmc), describe};
}

}  // namespace spanfft
