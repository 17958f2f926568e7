// Planning P1's methods for several processors and counting what they send; see multiprocessor.hpp.
#include "permute/multiprocessor.hpp"

#include <algorithm>

namespace spanfft {

namespace {

constexpr int kMostProcessorBits = 12;            // each is asked for what it sends
constexpr index_t kMostBytes = index_t{1} << 50;  // so that bytes of thousands of sweeps can be added

bool communicates(MultiprocessorMethod method) {
    return method == MultiprocessorMethod::stripe_major_comm || method == MultiprocessorMethod::memoryload_major_comm;
}

int band_of(MultiprocessorMethod method, const PdmShape& shape) {
    if (method == MultiprocessorMethod::stripe_major_comm) return shape.b + shape.d;
    return method == MultiprocessorMethod::processor_major_nocomm ? shape.n : shape.m;
}

}  // namespace

const char* multiprocessor_method_name(MultiprocessorMethod method) {
    constexpr std::array<const char*, kMultiprocessorMethods> names = {
        "stripe_major_comm", "memoryload_major_comm", "processor_major_nocomm", "memoryload_major_nocomm"};
    return names[static_cast<size_t>(method)];
}

Status MultiprocessorModel::check() const {
    if (p < 0 || p > kMostProcessorBits || p > d)
        return error(Code::invalid_argument, "2^", p, " processors share 2^", d,
                     " disks; each needs one of its own, and there may be up to 2^", kMostProcessorBits,
                     " processors: give as many disks");
    if (n < 1 || n > kMaxBits || record_bytes < 1 || !checked_mul(record_bytes, index_t{1} << n) ||
        record_bytes << n > kMostBytes)
        return error(Code::invalid_argument, "2^", n, " records of ", record_bytes,
                     " bytes are none, or more than 2^50 bytes; use fewer");
    const PdmShape s = shape();
    const int part = 1 << lg_buffers(mode);
    if (memory < lg_buffers(mode) || b < 0 || b + d > s.m)
        return error(Code::out_of_memory, "memory of 2^", memory, " records has memoryloads of 1/", part,
                     " of it, which do not hold a block of 2^", b, " records from each of 2^", d,
                     " disks; give more memory, smaller blocks or fewer disks");
    if (s.m - p < 1)
        return error(Code::out_of_memory, "memory of 2^", memory, " records has memoryloads of 1/", part,
                     " of it, which leave each of 2^", p, " processors less than two records; give more memory");
    if (s.m >= n)
        return error(Code::invalid_argument, "memory of 2^", memory, " records has memoryloads of 1/", part,
                     " of it, which hold all of the 2^", n, " records; the methods are for more than one memoryload");
    return s.check();
}

BitMatrix MultiprocessorPlan::place_of_index() const {
    const int stripe = model.b + model.d;
    return BitMatrix::band_conversion(model.n, model.p, stripe, stripe, band);
}

BitMatrix MultiprocessorPlan::index_of_place() const {
    const int stripe = model.b + model.d;
    return BitMatrix::band_conversion(model.n, model.p, stripe, band, stripe);
}

Result<MultiprocessorPlan> plan_multiprocessor(MultiprocessorMethod method, const MultiprocessorModel& model) {
    SPANFFT_TRY(model.check());
    const PdmShape shape = model.shape();
    MultiprocessorPlan plan;
    plan.model = model;
    plan.band = band_of(method, shape);
    const int n = model.n;
    plan.effective = communicates(method) ? shape.m : shape.m - model.p;
    const BitMatrix in = plan.place_of_index(), out = plan.index_of_place();
    BitMatrix next = BitMatrix::bit_reversal(n);
    for (int done = 0; done < n;) {
        MultiprocessorPlan::Level level{done, std::min(plan.effective, n - done), 0};
        // The processor is bits band-p to band-1 of an index; stages 1 to depth join bits 0 to depth-1.
        level.exchanged_stages = std::clamp(level.depth - (plan.band - model.p), 0, model.p);
        plan.levels.push_back(level);
        plan.permutations.push_back(in * next);
        next = BitMatrix::right_rotation(n, level.depth) * out;
        done += level.depth;
    }
    plan.permutations.push_back(next);
    for (const BitMatrix& each : plan.permutations) {
        auto factors =
            model.factoring == Factoring::published ? published_factor(each, shape) : factor({each, 0}, shape);
        SPANFFT_ASSIGN(std::vector<Factor> sweeps, std::move(factors));
        plan.factors.push_back(std::move(sweeps));
    }
    return plan;
}

Traffic MultiprocessorCounts::total(int p) const {
    return {bmmc.messages + (butterflies.messages << p), bmmc.bytes + (butterflies.bytes << p)};
}

MultiprocessorCounts count_traffic(const MultiprocessorPlan& plan) {
    const MultiprocessorModel& model = plan.model;
    const PdmShape shape = model.shape();
    MultiprocessorCounts counts;
    std::vector<SweepTraffic> sweeps;
    for (const auto& factors : plan.factors) {
        for (const Factor& each : factors) {
            sweeps.emplace_back(each, shape, model.record_bytes);
            counts.bmmc += sweeps.back().total();
            counts.parallel_ios += SweepMap(each, shape).predicted().total();
        }
    }
    for (Word processor = 0; processor < Word{1} << model.p; ++processor) {
        Traffic sent;
        for (const SweepTraffic& each : sweeps) sent += each.sent_by(processor);
        const bool more = sent.bytes != counts.busiest.bytes ? sent.bytes > counts.busiest.bytes
                                                             : sent.messages > counts.busiest.messages;
        if (processor > 0 && sent != counts.busiest) counts.alike = false;
        if (processor == 0 || more) counts.busiest = sent;
    }
    counts.sweeps = static_cast<index_t>(sweeps.size() + plan.levels.size());
    counts.parallel_ios += static_cast<index_t>(plan.levels.size()) * 2 * shape.stripes();
    const index_t load_bytes = model.record_bytes << (shape.m - model.p);
    for (const auto& level : plan.levels) {
        const index_t messages = level.exchanged_stages * shape.memoryloads();
        counts.butterflies += {messages, messages * load_bytes};
    }
    return counts;
}

}  // namespace spanfft
