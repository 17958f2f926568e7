// What bounds a step; see step_limit.hpp.
#include "plan/step_limit.hpp"

#include <algorithm>
#include <limits>

#include "engine/rates.hpp"

namespace spanfft {

Peaks peaks_of(const Machine& machine, Precision precision, int ranks, int threads, int disks) {
    Peaks peaks;
    peaks.flops_per_second = peak_gflops(machine.engine_rates, precision, threads) * 1e9;
    peaks.memory_bytes_per_second = 2 * machine.copy_bytes_per_second(ranks) * threads;
    const bool near = machine.topology.nodes(ranks) == 1;
    peaks.wire_seconds_a_byte = peaks.message_seconds = std::numeric_limits<double>::infinity();
    for (const auto& [strategy, figures] : machine.exchanges) {
        const WireFigures& wire = near ? figures.near : figures.far;
        peaks.message_seconds = std::min(peaks.message_seconds, wire.latency_seconds);
        if (wire.curve.empty()) peaks.wire_seconds_a_byte = std::min(peaks.wire_seconds_a_byte, wire.seconds_per_byte);
        for (const RatePoint& point : wire.curve)
            peaks.wire_seconds_a_byte = std::min(peaks.wire_seconds_a_byte, point.seconds_per_byte);
    }
    if (machine.exchanges.empty()) peaks.wire_seconds_a_byte = peaks.message_seconds = 0;
    const double share = static_cast<double>(disks) / ranks;
    peaks.disk_read_bytes_per_second = machine.disk_read_bytes_per_second * share;
    peaks.disk_write_bytes_per_second =
        std::max(machine.disk_write_bytes_per_second, machine.disk_rewrite_bytes_per_second) * share;
    double request = machine.disk_request_seconds / machine.disk_queue_depth;
    if (machine.disk_write_request_seconds > 0)
        request = std::min(request, machine.disk_write_request_seconds / machine.disk_queue_depth);
    if (machine.page_cache_bytes > 0) request = std::min(request, machine.disk_cached_seconds);
    peaks.disk_request_seconds = request / share;
    return peaks;
}

StepLimit limit_of(const Counts& counts, const Peaks& peaks) {
    const StepLimit limits[] = {
        {"flops", counts.flops / peaks.flops_per_second},
        {"memory", static_cast<double>(counts.memory_bytes) / peaks.memory_bytes_per_second},
        {"wire", static_cast<double>(counts.sent_bytes) * peaks.wire_seconds_a_byte},
        {"latency", static_cast<double>(counts.messages) * peaks.message_seconds},
        {"disk", static_cast<double>(counts.disk_read_bytes) / peaks.disk_read_bytes_per_second +
                     static_cast<double>(counts.disk_written_bytes) / peaks.disk_write_bytes_per_second +
                     static_cast<double>(counts.disk_reads + counts.disk_writes) * peaks.disk_request_seconds},
    };
    const StepLimit longest = *std::max_element(std::begin(limits), std::end(limits),
                                                [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
    return longest.seconds > 0 ? longest : StepLimit();
}

}  // namespace spanfft
