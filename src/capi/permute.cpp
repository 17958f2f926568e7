// Permutations of files through the C interface; see include/spanfft/spanfft.h.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "capi/handles.hpp"
#include "capi/problem.hpp"
#include "exec/permute_file.hpp"

using namespace spanfft;

namespace {

constexpr int kMostBits = 57;  // 2^57 records of 64 bytes fit 63 bits

Result<PermutePlan> plan_from_c(const spanfft_permutation* given, int folders) {
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
    PermuteRequest request;
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
    return plan_permute(request);
}

Status give(const PermutePlan& plan, index_t counted, spanfft_permute_report* report) {
    if (!report) return {};
    const size_t size = report->size;
    if (size < offsetof(spanfft_permute_report, predicted_parallel_ios))
        return error(Code::invalid_argument, "the report's size field is ", size,
                     "; set it to sizeof(spanfft_permute_report)");
    const PdmShape& s = plan.bmmc.shape;
    spanfft_permute_report full{};
    full.sweeps = static_cast<int32_t>(plan.bmmc.factors.size());
    full.rank_phi = plan.bmmc.rank;
    full.memoryload_records = s.memory_records();
    full.block_records = s.block_records();
    full.disks = s.disks();
    full.predicted_parallel_ios = plan.bmmc.predicted().total();
    full.counted_parallel_ios = counted;
    full.bound = plan.bound;
    full.memory_bytes = plan.memory_bytes();
    full.scratch_bytes = plan.scratch_bytes;
    full.size = size;
    std::memcpy(report, &full, std::min(size, sizeof full));
    return {};
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
        SPANFFT_ASSIGN(const PermutePlan plan, plan_from_c(permutation, 0));
        SPANFFT_TRY(give(plan, 0, report_c));
        if (text) *text = copy_text(plan.describe());
        return Status();
    });
}

int spanfft_permute_file(const spanfft_permutation* permutation, const char* input_path, int64_t input_offset_bytes,
                         const char* output_path, const void* header, int64_t header_bytes, int folders,
                         const char* const* scratch_folders, spanfft_progress progress, void* user,
                         spanfft_permute_report* report_c) {
    return report([&]() -> Status {
        SPANFFT_ASSIGN(const PermutePlan plan, plan_from_c(permutation, folders));
        SPANFFT_TRY(give(plan, 0, report_c));  // a report that can't be filled shows before anything is touched
        PermuteFiles files;
        files.input_path = input_path ? input_path : "";
        files.input_offset_bytes = input_offset_bytes;
        files.output_path = output_path ? output_path : "";
        if (header && header_bytes > 0)
            files.header.assign(static_cast<const char*>(header), static_cast<size_t>(header_bytes));
        if (folders > 0 && !scratch_folders)
            return error(Code::invalid_argument, "the list of ", folders, " scratch folders is NULL");
        for (int i = 0; i < folders; ++i)
            files.scratch_folders.emplace_back(scratch_folders[i] ? scratch_folders[i] : "");
        if (progress) files.progress = [=](index_t done, index_t total) { return progress(done, total, user) != 0; };
        SPANFFT_ASSIGN(const PdmCounts counted, permute_file(plan, files));
        return give(plan, counted.total(), report_c);
    });
}
