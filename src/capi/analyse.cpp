// The analysis of P1's methods for several processors through the C interface; see include/spanfft/spanfft.h.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "capi/handles.hpp"
#include "permute/multiprocessor.hpp"

using namespace spanfft;

namespace {

Result<int> power_of(index_t count, const char* what) {
    if (count < 1) return error(Code::invalid_argument, what, " is ", count, "; use a power of two from 1 on");
    const int power = 63 - __builtin_clzll(static_cast<Word>(count));
    if (count != index_t{1} << power)
        return error(Code::invalid_argument, what, " is ", count, ", and P1's methods take powers of two; use ",
                     index_t{1} << power);
    return power;
}

Result<MultiprocessorModel> model_from_c(const spanfft_processors* given) {
    if (!given) return error(Code::invalid_argument, "the processors are NULL; fill a spanfft_processors");
    if (given->size < sizeof(spanfft_processors))
        return error(Code::invalid_argument, "the processors' size field is ", given->size,
                     "; set it to sizeof(spanfft_processors)");
    MultiprocessorModel model;
    SPANFFT_ASSIGN(model.n, power_of(given->records, "the number of records"));
    SPANFFT_ASSIGN(model.p, power_of(given->processors, "the number of processors"));
    SPANFFT_ASSIGN(model.b, power_of(given->block_records, "a block, in records,"));
    SPANFFT_ASSIGN(model.d, power_of(given->disks, "the number of disks"));
    SPANFFT_ASSIGN(model.memory, power_of(given->memory_records, "memory, in records of all processors,"));
    model.record_bytes = given->record_bytes;
    model.mode = given->synchronous ? IoMode::synchronous : IoMode::asynchronous;
    model.factoring = given->shorter ? Factoring::shorter : Factoring::published;
    return model;
}

Result<MultiprocessorMethod> method_named(const char* name) {
    std::string all;
    for (int i = 0; i < kMultiprocessorMethods; ++i) {
        const auto method = static_cast<MultiprocessorMethod>(i);
        if (name && std::strcmp(name, multiprocessor_method_name(method)) == 0) return method;
        all += cat(i ? ", " : "", multiprocessor_method_name(method));
    }
    return error(Code::invalid_argument, "the method is ", name ? cat("'", name, "'") : "NULL", "; use one of ", all);
}

}  // namespace

int spanfft_analyse(const char* method_name, const spanfft_processors* processors, spanfft_traffic* traffic) {
    return report([&]() -> Status {
        SPANFFT_ASSIGN(const MultiprocessorMethod method, method_named(method_name));
        SPANFFT_ASSIGN(const MultiprocessorModel model, model_from_c(processors));
        if (!traffic || traffic->size < sizeof(spanfft_traffic))
            return error(Code::invalid_argument, "the traffic ", traffic ? "has a size field of " : "is NULL",
                         traffic ? cat(traffic->size) : "", "; give a spanfft_traffic of its sizeof");
        SPANFFT_ASSIGN(const MultiprocessorPlan plan, plan_multiprocessor(method, model));
        const MultiprocessorCounts counts = count_traffic(plan);
        const Traffic total = counts.total(model.p);
        spanfft_traffic full{};
        full.size = traffic->size;
        full.memoryload_records = model.shape().memory_records();
        full.effective_records = index_t{1} << plan.effective;
        full.band_records = index_t{1} << plan.band;
        full.superlevels = static_cast<int32_t>(plan.levels.size());
        full.sweeps = static_cast<int32_t>(counts.sweeps);
        full.parallel_ios = counts.parallel_ios;
        full.butterfly_messages = counts.butterflies.messages;
        full.butterfly_bytes = counts.butterflies.bytes;
        full.bmmc_messages = counts.busiest.messages;
        full.bmmc_bytes = counts.busiest.bytes;
        full.total_messages = total.messages;
        full.total_bytes = total.bytes;
        full.alike = counts.alike ? 1 : 0;
        std::memcpy(traffic, &full, sizeof full);
        return Status();
    });
}
