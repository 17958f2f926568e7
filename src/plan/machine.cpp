// What the library knows of this machine without measuring, and how figures are read; see machine.hpp.
#include "plan/machine.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <thread>

#include "core/status.hpp"

namespace spanfft {

namespace {

// Of points of rising x: between two of them in the logarithm of both, so that a message's time rises wherever it does
// from one to the other; level beyond.
template <class Point>
double interpolated(const std::vector<Point>& points, double Point::* x, double Point::* y, double at) {
    if (at <= points.front().*x) return points.front().*y;
    if (at >= points.back().*x) return points.back().*y;
    size_t above = 1;
    while (points[above].*x < at) ++above;
    const Point &a = points[above - 1], &b = points[above];
    const double t = std::log(at / (a.*x)) / std::log(b.*x / (a.*x));
    if (a.*y > 0 && b.*y > 0) return a.*y * std::pow(b.*y / (a.*y), t);
    return a.*y + t * (b.*y - a.*y);
}

}  // namespace

double WireFigures::seconds_per_byte_at(double message_bytes) const {
    if (curve.empty()) return seconds_per_byte;
    return interpolated(curve, &RatePoint::message_bytes, &RatePoint::seconds_per_byte, message_bytes);
}

double WireFigures::seconds(double messages, double bytes) const {
    if (bytes <= 0) return 0;
    const double count = std::max(messages, 1.0);
    return count * latency_seconds + bytes * seconds_per_byte_at(bytes / count);
}

bool WireFigures::operator==(const WireFigures& other) const {
    return latency_seconds == other.latency_seconds && seconds_per_byte == other.seconds_per_byte &&
           std::equal(curve.begin(), curve.end(), other.curve.begin(), other.curve.end(),
                      [](const RatePoint& a, const RatePoint& b) {
                          return a.message_bytes == b.message_bytes && a.seconds_per_byte == b.seconds_per_byte;
                      });
}

DiskUse Machine::disk_use(index_t requests, index_t bytes, int scratch_disks, int ranks) const {
    const bool apart = scratch_disks > 0 && scratch_read_bytes_per_second > 0 && scratch_write_bytes_per_second > 0;
    const int together = apart ? 1 : ranks;
    return {together * requests, together * bytes, std::max(1, scratch_disks), false, false, apart};
}

double Machine::disk_seconds(const DiskUse& reads, const DiskUse& writes, double batches) const {
    const auto requests = static_cast<double>(reads.requests + writes.requests);
    const double in_this_one = disk_alone_seconds / std::max(1.0, requests / std::max(1.0, batches));
    const auto side = [&](const DiskUse& use, double bytes_per_second, double apart_bytes_per_second, double seconds,
                          double cached_seconds_per_byte) {
        const auto bytes = static_cast<double>(use.bytes), count = static_cast<double>(use.requests);
        const bool cached = use.cached && bytes <= page_cache_bytes;
        const double each =
            cached ? disk_cached_seconds : std::max(seconds / disk_queue_depth / use.disks, in_this_one);
        const bool known = cached && cached_seconds_per_byte > 0;
        const double a_second = use.apart ? apart_bytes_per_second : bytes_per_second * use.disks;
        return bytes * (known ? cached_seconds_per_byte : 1 / a_second) + count * each;
    };
    const bool together = reads.apart == writes.apart;
    const double read = !together && disk_read_alone_bytes_per_second > 0 ? disk_read_alone_bytes_per_second
                                                                          : disk_read_bytes_per_second;
    const double rewrite =
        disk_rewrite_bytes_per_second > 0 ? disk_rewrite_bytes_per_second : disk_write_bytes_per_second;
    double write = writes.rewritten ? rewrite : disk_write_bytes_per_second;
    if (!together && disk_write_alone_bytes_per_second > 0) {
        const double of_new_blocks = std::max(0.0, 1 / write - 1 / rewrite);
        write = 1 / (1 / disk_write_alone_bytes_per_second + of_new_blocks);
    }
    const double reading =
        side(reads, read, scratch_read_bytes_per_second, disk_request_seconds, disk_cached_seconds_per_byte);
    const double writing = side(writes, write, scratch_write_bytes_per_second,
                                disk_write_request_seconds > 0 ? disk_write_request_seconds : disk_request_seconds, 0);
    return together ? reading + writing : std::max(reading, writing);
}

double Machine::slowness(const std::string& sort, index_t bytes) const {
    auto row = step_slowness.find(sort);
    if (row == step_slowness.end()) row = step_slowness.find("any");
    if (row == step_slowness.end() || row->second.empty()) return 1;
    return interpolated(row->second, &SlownessPoint::bytes, &SlownessPoint::ratio, static_cast<double>(bytes));
}

double Machine::threads_bytes_per_second(int threads) const {
    const double apart = threads * memory_bytes_per_second;
    return all_threads_bytes_per_second > 0
               ? std::min(apart, std::max(all_threads_bytes_per_second, memory_bytes_per_second))
               : apart;
}

double Machine::overlapped_seconds(double disk_seconds, double compute_seconds, double panels) const {
    const double hidden = disk_compute_share * (1 - 1 / panels);
    return disk_seconds + compute_seconds - hidden * std::min(disk_seconds, compute_seconds);
}

int Machine::threads_for(int ranks) const {
    return std::max(1, cores / std::max(1, topology.most_ranks_on_a_node(ranks)));
}

std::string Machine::figures_note() const {
    if (measured.empty()) return "figures: built in (spanfft probe measures this machine's)";
    return cat("figures: measured by probe on ", measured, " with ", measured_ranks,
               measured_ranks == 1 ? " rank" : " ranks");
}

Machine this_machine() {
    Machine machine;
    // Cores that this process may use: under a launcher that pins ranks, fewer than the machine has.
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        machine.cores = CPU_COUNT(&allowed);
    } else {
        machine.cores = static_cast<int>(std::thread::hardware_concurrency());
    }
    machine.cores = std::max(machine.cores, 1);
    return machine;
}

namespace {

std::string read_identity() {
    // x86 has "model name"; ARM kernels give numbers of implementer and part instead.
    std::ifstream file("/proc/cpuinfo");
    std::string model, implementer, part;
    for (std::string line; std::getline(file, line) && model.empty();) {
        const auto colon = line.find(": ");
        if (colon == std::string::npos) continue;
        const std::string value = line.substr(colon + 2);
        if (line.rfind("model name", 0) == 0) model = value;
        if (line.rfind("CPU implementer", 0) == 0) implementer = value;
        if (line.rfind("CPU part", 0) == 0) part = value;
    }
    if (model.empty()) model = implementer.empty() ? "unknown processor" : cat("processor ", implementer, " ", part);
    const unsigned cores = std::thread::hardware_concurrency();
    return cat(model, ", ", std::max(cores, 1u), cores == 1 ? " core" : " cores");
}

}  // namespace

std::string machine_identity() {
    static const std::string identity = read_identity();
    return identity;
}

}  // namespace spanfft
