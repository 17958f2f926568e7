// StepLimit: which resource bounds a step of a plan from below, and for how long.
//
// Method: each resource by itself at the best rate that the machine's figures know: flops at the fastest transform of
// any engine and length, bytes through memory as fast as they are copied, bytes to other ranks at the best time a byte
// of any strategy, messages at their latency, and a disk's bytes and requests. The longest of these times is the limit;
// its share of the predicted or measured time says how much of the limit the step reaches (the roofline model:
// Williams, Waterman, Patterson, CACM 52(4), 2009). Data that stays in a cache can exceed the limit of memory.
// Invariant: every rate is above 0; the figures are those of one rank.
#pragma once

#include "core/counts.hpp"
#include "core/dtype.hpp"
#include "plan/machine.hpp"

namespace spanfft {

// What one rank of a plan can have at best.
struct Peaks {
    double flops_per_second = 1, memory_bytes_per_second = 1;  // of memory: read plus written
    double wire_seconds_a_byte = 0, message_seconds = 0;
    double disk_read_bytes_per_second = 1, disk_write_bytes_per_second = 1, disk_request_seconds = 0;
};

// For so many ranks, which share the disks, with so many threads each.
Peaks peaks_of(const Machine& machine, Precision precision, int ranks, int threads, int disks);

struct StepLimit {
    const char* name = "";  // "flops", "memory", "wire", "latency" or "disk"; "" where nothing is counted
    double seconds = 0;     // that it takes alone
};

StepLimit limit_of(const Counts& counts, const Peaks& peaks);

}  // namespace spanfft
