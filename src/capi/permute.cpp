// Permutations of files through the C interface; see include/spanfft/spanfft.h.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "capi/handles.hpp"
#include "capi/problem.hpp"
#include "plan/knowledge.hpp"
#include "solvers/permutation.hpp"

using namespace spanfft;

namespace {

constexpr int kMostBits = 57;  // 2^57 records of 64 bytes fit 63 bits

Result<PlannedPermutation> plan_from_c(const spanfft_permutation* given, int folders) {
    if (!given) return error(Code::invalid_argument, "the permutation is NULL; fill a spanfft_permutation");
    if (given->size < offsetof(spanfft_permutation, block_bytes))
        return error(Code::invalid_argument, "the permutation's size field is ", given->size,
                     "; set it to sizeof(spanfft_permutation)");
    spanfft_permutation c{};
    std::memcpy(&c, given, std::min(given->size, sizeof c));
    if (c.bits < 1 || c.bits > kMostBits || !c.columns)
        return error(Code::invalid_argument, "indices of ", c.bits, " bits", c.columns ? "" : " without columns",
                     "; use 1 to ", kMostBits, " bits and as many columns");
    if (c.record_bytes < 1 || !checked_mul(c.record_bytes, index_t{4} << c.bits))
        return error(Code::invalid_argument, "2^", c.bits, " records of ", c.record_bytes,
                     " bytes are more than 63 bits can count, or none");
    if (c.disks < 0 || folders < 0 || (c.disks > 0 && folders > 1 && c.disks != folders))
        return error(Code::invalid_argument, c.disks, " disks are asked for and ", folders,
                     " scratch folders are given; leave disks 0, or give as many folders");
    PermutationRequest request;
    request.map.matrix = BitMatrix(c.bits);
    for (int j = 0; j < c.bits; ++j) {
        if (c.columns[j] >> c.bits)
            return error(Code::invalid_argument, "column ", j, " of the matrix has more than ", c.bits, " rows");
        request.map.matrix.set_column(j, c.columns[j]);
    }
    request.map.complement = c.complement;
    request.record_bytes = c.record_bytes;
    request.memory_bytes = c.memory_bytes;
    request.block_bytes = c.block_bytes;
    request.disks = c.disks > 0 ? c.disks : std::max(1, folders);
    request.mode = c.synchronous ? IoMode::synchronous : IoMode::asynchronous;
    request.threads = c.threads;
    return plan_permutation(request, known_machine());
}

Status give_report(const PlannedPermutation& planned, index_t counted, spanfft_permute_report* report) {
    if (!report) return {};
    if (report->size < offsetof(spanfft_permute_report, predicted_parallel_ios))
        return error(Code::invalid_argument, "the report's size field is ", report->size,
                     "; set it to sizeof(spanfft_permute_report)");
    const PdmShape& s = planned.bmmc.shape;
    spanfft_permute_report full{};
    full.sweeps = planned.plan->sweeps;
    full.rank_phi = planned.bmmc.rank;
    full.memoryload_records = s.memory_records();
    full.block_records = s.block_records();
    full.disks = s.disks();
    full.predicted_parallel_ios = planned.plan->predict(0).parallel_ios;
    full.counted_parallel_ios = counted;
    full.bound = planned.bmmc.bound;
    full.memory_bytes = planned.plan->peak_memory_bytes(0);
    full.scratch_bytes = planned.plan->scratch_bytes;
    return give(full, report);
}

}  // namespace

int spanfft_bit_matrix(const char* kind, int bits, uint64_t* columns) {
    return report([&]() -> Status {
        if (!kind || !columns) return error(Code::invalid_argument, "kind or columns is NULL");
        if (bits < 1 || bits > kMostBits)
            return error(Code::invalid_argument, "indices of ", bits, " bits; use 1 to ", kMostBits);
        SPANFFT_ASSIGN(const BitMatrix matrix, BitMatrix::named(kind, bits));
        for (int j = 0; j < bits; ++j) columns[j] = matrix.column(j);
        return Status();
    });
}

int spanfft_permute_plan(const spanfft_permutation* permutation, spanfft_permute_report* report_c, char** text) {
    return report([&]() -> Status {
        SPANFFT_ASSIGN(const PlannedPermutation planned, plan_from_c(permutation, 0));
        SPANFFT_TRY(give_report(planned, 0, report_c));
        if (text) *text = copy_text(planned.describe);
        return Status();
    });
}

int spanfft_plan_permutation(const spanfft_permutation* permutation, spanfft_plan** plan) {
    return report([&]() -> Status {
        if (!plan) return error(Code::invalid_argument, "plan is NULL; pass where the plan shall go");
        SPANFFT_ASSIGN(const PlannedPermutation planned, plan_from_c(permutation, 0));
        SPANFFT_ASSIGN(auto executor, Executor::make(planned.plan, make_self_comm()));
        *plan = new_handle(planned.plan, std::move(executor));
        return Status();
    });
}

int spanfft_permute_file(const spanfft_permutation* permutation, const char* input_path, int64_t input_offset_bytes,
                         const char* output_path, const void* header, int64_t header_bytes, int folders,
                         const char* const* scratch_folders, spanfft_progress progress, void* user,
                         spanfft_permute_report* report_c) {
    return report([&]() -> Status {
        SPANFFT_ASSIGN(const PlannedPermutation planned, plan_from_c(permutation, folders));
        SPANFFT_TRY(give_report(planned, 0, report_c));  // one that can't be filled shows before anything is touched
        FileRequest request;
        request.input_path = input_path ? input_path : "";
        request.input_offset_bytes = input_offset_bytes;
        request.output_path = output_path ? output_path : "";
        if (header && header_bytes > 0)
            request.header.assign(static_cast<const char*>(header), static_cast<size_t>(header_bytes));
        SPANFFT_ASSIGN(request.scratch_folders, folder_names(folders, scratch_folders));
        if (progress) request.progress = [=](index_t done, index_t total) { return progress(done, total, user) != 0; };
        SPANFFT_ASSIGN(const auto executor, Executor::make(planned.plan, make_self_comm()));
        SPANFFT_TRY(executor->transform_file(request));
        return give_report(planned, executor->counted()->front().parallel_ios, report_c);
    });
}
