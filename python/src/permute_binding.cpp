// BMMC permutations of files: their matrices, plans and runs; and what P1's methods of several processors send.
#include <nanobind/stl/vector.h>

#include "binding.hpp"

namespace spanfft::python {

namespace {

std::vector<uint64_t> bit_matrix(const std::string& kind, int bits) {
    std::vector<uint64_t> columns(64);
    check(spanfft_bit_matrix(kind.c_str(), bits, columns.data()));
    columns.resize(static_cast<size_t>(bits));
    return columns;
}

nb::dict permute_dict(const spanfft_permute_report& report) {
    nb::dict d;
    d["sweeps"] = report.sweeps;
    d["rank_phi"] = report.rank_phi;
    d["memoryload_records"] = report.memoryload_records;
    d["block_records"] = report.block_records;
    d["disks"] = report.disks;
    d["predicted_parallel_ios"] = report.predicted_parallel_ios;
    d["bound"] = report.bound;
    d["memory_bytes"] = report.memory_bytes;
    d["scratch_bytes"] = report.scratch_bytes;
    return d;
}

spanfft_permutation make_permutation(const std::vector<uint64_t>& columns, uint64_t complement, int64_t record_bytes,
                                     int64_t memory_bytes, int64_t block_bytes, bool synchronous, int threads) {
    spanfft_permutation p{};
    p.size = sizeof p;
    p.bits = static_cast<int32_t>(columns.size());
    p.columns = columns.data();
    p.complement = complement;
    p.record_bytes = record_bytes;
    p.memory_bytes = memory_bytes;
    p.block_bytes = block_bytes;
    p.synchronous = synchronous ? 1 : 0;
    p.threads = threads;
    return p;
}

nb::dict permute_plan(const std::vector<uint64_t>& columns, uint64_t complement, int64_t record_bytes,
                      int64_t memory_bytes, int64_t block_bytes, int disks, bool synchronous, int threads) {
    spanfft_permutation permutation =
        make_permutation(columns, complement, record_bytes, memory_bytes, block_bytes, synchronous, threads);
    permutation.disks = disks;
    spanfft_permute_report report{};
    report.size = sizeof report;
    char* text = nullptr;
    check(spanfft_permute_plan(&permutation, &report, &text));
    nb::dict d = permute_dict(report);
    d["plan"] = take(text);
    return d;
}

nb::object plan_permutation(const std::vector<uint64_t>& columns, uint64_t complement, int64_t record_bytes,
                            int64_t memory_bytes, int64_t block_bytes, int disks, bool synchronous, int threads) {
    spanfft_permutation permutation =
        make_permutation(columns, complement, record_bytes, memory_bytes, block_bytes, synchronous, threads);
    permutation.disks = disks;
    spanfft_plan* plan = nullptr;
    {
        nb::gil_scoped_release no_gil;
        check(spanfft_plan_permutation(&permutation, &plan));
    }
    return plan_object(plan);
}

nb::dict analyse(const std::string& method, int64_t records, int64_t record_bytes, int64_t memory_records,
                 int64_t block_records, int64_t disks, int64_t processors, bool synchronous, bool shorter) {
    spanfft_processors given{};
    given.size = sizeof given;
    given.records = records;
    given.record_bytes = record_bytes;
    given.memory_records = memory_records;
    given.block_records = block_records;
    given.disks = disks;
    given.processors = processors;
    given.synchronous = synchronous ? 1 : 0;
    given.shorter = shorter ? 1 : 0;
    spanfft_traffic traffic{};
    traffic.size = sizeof traffic;
    check(spanfft_analyse(method.c_str(), &given, &traffic));
    nb::dict d;
    d["memoryload_records"] = traffic.memoryload_records;
    d["effective_records"] = traffic.effective_records;
    d["band_records"] = traffic.band_records;
    d["superlevels"] = traffic.superlevels;
    d["sweeps"] = traffic.sweeps;
    d["parallel_ios"] = traffic.parallel_ios;
    d["butterfly_messages"] = traffic.butterfly_messages;
    d["butterfly_bytes"] = traffic.butterfly_bytes;
    d["bmmc_messages"] = traffic.bmmc_messages;
    d["bmmc_bytes"] = traffic.bmmc_bytes;
    d["total_messages"] = traffic.total_messages;
    d["total_bytes"] = traffic.total_bytes;
    d["alike"] = traffic.alike != 0;
    return d;
}

}  // namespace

void bind_permute(nb::module_& m) {
    m.def("bit_matrix", &bit_matrix, "kind"_a, "bits"_a);
    m.def("permute_plan", &permute_plan, "columns"_a, nb::kw_only(), "complement"_a, "record_bytes"_a, "memory_bytes"_a,
          "block_bytes"_a, "disks"_a, "synchronous"_a, "threads"_a);
    m.def("plan_permutation", &plan_permutation, "columns"_a, nb::kw_only(), "complement"_a, "record_bytes"_a,
          "memory_bytes"_a, "block_bytes"_a, "disks"_a, "synchronous"_a, "threads"_a);
    m.def("analyse", &analyse, "method"_a, nb::kw_only(), "records"_a, "record_bytes"_a, "memory_records"_a,
          "block_records"_a, "disks"_a, "processors"_a, "synchronous"_a, "shorter"_a);
}

}  // namespace spanfft::python
