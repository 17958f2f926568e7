// Planning and running a permutation of a file; see permute_file.hpp.
#include "exec/permute_file.hpp"

#include <algorithm>
#include <optional>

#include "core/buffer.hpp"
#include "core/limits.hpp"
#include "disk/output_file.hpp"
#include "exec/in_place.hpp"
#include "plan/problem.hpp"
#include "solvers/disk_sweeps.hpp"
#include "sweeps/sweep_team.hpp"

namespace spanfft {

namespace {

int log2_of(index_t n) { return 63 - __builtin_clzll(static_cast<Word>(n)); }
bool power_of_two(index_t n) { return n > 0 && (n & (n - 1)) == 0; }

Status check_request(const PermuteRequest& r) {
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
    return {};
}

std::optional<BmmcPlan> best_plan(const PermuteRequest& r, int m, int n, int d) {
    constexpr index_t kSmallestBlock = 4096, kLargestBlock = index_t{256} << 10;
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

}  // namespace

std::string PermutePlan::describe() const {
    const PdmShape& s = bmmc.shape;
    return cat("N=2^", s.n, ", M=2^", s.m, ", B=2^", s.b, ", D=2^", s.d, ", ",
               mode == IoMode::asynchronous ? "asynchronous" : "synchronous", ": ", bmmc.describe(), "; ",
               bmmc.predicted().total(), " parallel I/Os, at most ", bound);
}

Result<PermutePlan> plan_permute(const PermuteRequest& r) {
    SPANFFT_TRY(check_request(r));
    PermutePlan plan;
    plan.record_bytes = r.record_bytes;
    plan.mode = r.mode;
    if (r.threads < 0 || r.threads > kMostThreads)
        return error(Code::invalid_argument, "threads is ", r.threads, "; use 1 to ", kMostThreads,
                     ", or 0 for all cores");
    plan.threads = r.threads > 0 ? r.threads : available_cores();
    const int n = r.map.matrix.size(), d = log2_of(r.disks);
    const index_t one = sweep_buffers(false, r.mode) * r.record_bytes;  // memory for each record of a memoryload
    const index_t room = (r.memory_bytes - disk_reserve_bytes(r.memory_bytes)) / one;
    std::optional<BmmcPlan> best;
    if (room > 0) best = best_plan(r, std::min(n, log2_of(room)), n, d);
    if (!best) {
        const index_t block = std::max(r.block_bytes, r.record_bytes), records = (block / r.record_bytes)
                                                                                 << std::max(d, 1);
        index_t needed = std::min(records, index_t{1} << n) * one;
        needed += needed / 15 + 1;
        if (records > index_t{1} << n)
            return error(Code::invalid_argument, index_t{1} << n, " records are fewer than ", r.disks, " blocks of ",
                         block, " bytes; use smaller blocks or fewer disks");
        return error(Code::out_of_memory, "memory of ", r.memory_bytes, " bytes is too small for blocks of ", block,
                     " bytes on ", r.disks, r.disks == 1 ? " disk" : " disks", "; give at least ", needed, " bytes (",
                     bytes_string(static_cast<double>(needed)), ")");
    }
    plan.bmmc = std::move(*best);
    plan.bound = plan.bmmc.bound;
    if (plan.bmmc.factors.empty()) plan.bmmc.factors.push_back({r.map, SweepKind::rearrange});
    const auto between = static_cast<index_t>(plan.bmmc.factors.size()) - 1;
    plan.scratch_bytes = std::min<index_t>(2, between) * (r.record_bytes << n);
    return plan;
}

namespace {

struct Scratch {
    std::vector<std::unique_ptr<FileStore>> files;
    // Area 0 or 1, on the disks.
    ParallelDisks area(const PermutePlan& plan, index_t index) const {
        const PdmShape& s = plan.bmmc.shape;
        const index_t block_bytes = s.block_records() * plan.record_bytes, blocks = index_t{1} << (s.n - s.b);
        const index_t bytes = blocks * block_bytes;
        if (files.size() == 1)
            return ParallelDisks(*files[0], static_cast<int>(s.disks()), index * bytes, blocks, block_bytes);
        std::vector<Store*> stores;
        for (const auto& file : files) stores.push_back(file.get());
        return ParallelDisks(std::move(stores), index * (bytes >> s.d), blocks, block_bytes);
    }
};

Result<Scratch> make_scratch(const PermutePlan& plan, const PermuteFiles& files) {
    std::vector<std::string> folders = files.scratch_folders;
    if (folders.empty()) folders.push_back(folder_of(files.output_path));
    if (folders.size() > 1 && static_cast<index_t>(folders.size()) != plan.bmmc.shape.disks())
        return error(Code::invalid_argument, folders.size(), " scratch folders are given for ", plan.bmmc.shape.disks(),
                     " disks; plan for as many");
    Scratch scratch;
    if (plan.scratch_bytes == 0) return scratch;
    for (const std::string& folder : folders) {
        SPANFFT_ASSIGN(auto file,
                       make_scratch_file(folder, "permute", plan.scratch_bytes / static_cast<index_t>(folders.size())));
        scratch.files.push_back(std::move(file));
    }
    return scratch;
}

Status check_input(const FileStore& input, const PermuteFiles& files, index_t bytes) {
    if (files.input_offset_bytes >= 0 && input.size_bytes() - files.input_offset_bytes >= bytes) return {};
    return error(Code::corrupt_data, files.input_path, " has ", input.size_bytes(), " bytes, but the records need ",
                 bytes, " from byte ", files.input_offset_bytes,
                 "; the file is truncated or its shape or type is not what was said");
}

}  // namespace

Result<PdmCounts> permute_file(const PermutePlan& plan, const PermuteFiles& files) {
    const PdmShape& s = plan.bmmc.shape;
    const index_t block_bytes = s.block_records() * plan.record_bytes, blocks = index_t{1} << (s.n - s.b);
    const index_t bytes = blocks * block_bytes;
    SPANFFT_TRY(check_not_half_overwritten(files.input_path));
    SPANFFT_ASSIGN(const auto input, FileStore::open_input(files.input_path));
    SPANFFT_TRY(check_input(*input, files, bytes));
    OutputRequest wanted;
    SPANFFT_ASSIGN(wanted.path, behind_links(files.output_path));
    wanted.input_path = files.input_path;
    wanted.header = files.header;
    wanted.payload_bytes = bytes;
    SPANFFT_ASSIGN(const auto output, OutputFile::create(wanted));
    SPANFFT_ASSIGN(const Scratch scratch, make_scratch(plan, files));
    SPANFFT_ASSIGN(const Buffer memory, Buffer::allocate(static_cast<size_t>(plan.memory_bytes())));
    SPANFFT_ASSIGN(const auto team, make_sweep_team(plan.threads, ""));
    SPANFFT_TRY(team->pipeline.started());

    const size_t sweeps = plan.bmmc.factors.size();
    const auto place = [&](size_t i) {  // before sweep i
        const int disks = static_cast<int>(s.disks());
        if (i == 0) return ParallelDisks(*input, disks, files.input_offset_bytes, blocks, block_bytes);
        if (i == sweeps)
            return ParallelDisks(output->store(), disks, output->payload_offset_bytes(), blocks, block_bytes);
        return scratch.area(plan, static_cast<index_t>((i - 1) % 2));
    };
    PdmCounts counted;
    index_t done = 0;
    for (size_t i = 0; i < sweeps; ++i) {
        ParallelDisks source = place(i), target = place(i + 1);
        const BmmcSweep sweep(plan.bmmc.factors[i], s, plan.record_bytes);
        BmmcSweep::Means means;
        means.pipeline = &team->pipeline;
        means.team = &team->compute;
        means.memory = memory.as<char>();
        means.mode = plan.mode;
        if (files.progress) {
            means.progress = [&](index_t more) {
                return files.progress(done += more, 2 * bytes * static_cast<index_t>(sweeps));
            };
        }
        SPANFFT_TRY(sweep.run(source, target, means));
        counted += source.parallel_ios();
        counted += target.parallel_ios();
    }
    SPANFFT_TRY(output->publish());
    return counted;
}

}  // namespace spanfft
