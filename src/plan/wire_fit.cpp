// Isotonic fit of messages; see wire_fit.hpp.
#include "plan/wire_fit.hpp"

#include <algorithm>
#include <cmath>

namespace spanfft {

namespace {

double messages_of(const WireSample& s) { return std::max(s.messages, 1.0); }
double message_bytes(const WireSample& s) { return s.bytes / messages_of(s); }

}  // namespace

std::vector<double> never_falling(const std::vector<double>& values) {
    struct Pool {
        double log_sum;
        size_t count;
        double mean() const { return log_sum / static_cast<double>(count); }
    };
    std::vector<Pool> pools;
    for (const double value : values) {
        pools.push_back({std::log(value), 1});
        while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
            pools[pools.size() - 2].log_sum += pools.back().log_sum;
            pools[pools.size() - 2].count += pools.back().count;
            pools.pop_back();
        }
    }
    std::vector<double> fitted;
    for (const Pool& pool : pools) fitted.insert(fitted.end(), pool.count, std::exp(pool.mean()));
    return fitted;
}

WireFigures fit_wire(std::vector<WireSample> samples, double least_seconds_per_byte) {
    WireFigures wire;
    if (samples.empty()) return wire;
    std::stable_sort(samples.begin(), samples.end(),
                     [](const WireSample& a, const WireSample& b) { return message_bytes(a) < message_bytes(b); });
    // Samples of one size are one point: their geometric mean.
    std::vector<double> sizes, times, logs;
    for (size_t i = 0; i < samples.size(); ++i) {
        logs.push_back(std::log(samples[i].seconds / messages_of(samples[i])));
        if (i + 1 < samples.size() && message_bytes(samples[i + 1]) == message_bytes(samples[i])) continue;
        double sum = 0;
        for (const double each : logs) sum += each;
        sizes.push_back(message_bytes(samples[i]));
        times.push_back(std::exp(sum / static_cast<double>(logs.size())));
        logs.clear();
    }
    times = never_falling(times);
    wire.latency_seconds = times.front();
    for (size_t i = 0; i < sizes.size(); ++i)
        wire.curve.push_back(
            {sizes[i], std::max((times[i] - wire.latency_seconds) / sizes[i], least_seconds_per_byte)});
    wire.seconds_per_byte = wire.curve.back().seconds_per_byte;
    return wire;
}

}  // namespace spanfft
