// Counts: what a step costs, in things that can be counted. The same struct carries the prediction and the
// measurement, so that explain can print one beside the other and a test can hold them equal.
//
// Invariant: everything but seconds is exact: predicted == counted, for each rank (flops but for their last digits, as
// a sum of floating-point numbers).
#pragma once

#include "core/extents.hpp"

namespace spanfft {

struct Counts {
    double flops = 0;             // 5 n log2 n an axis of complex data, half that for real
    index_t memory_bytes = 0;     // read from and written to memory by sweeps over the local array
    index_t messages = 0;         // non-empty messages sent to other ranks
    index_t sent_bytes = 0;       // in them
    index_t calls = 0;            // that this rank made to move data between ranks: a collective is one
    index_t disk_read_bytes = 0;  // payload: without what alignment adds
    index_t disk_written_bytes = 0;
    index_t disk_reads = 0;  // requests to the Store
    index_t disk_writes = 0;
    index_t parallel_ios = 0;  // of the Parallel Disk Model: up to a block of each disk at once
    double seconds = 0;

    Counts& operator+=(const Counts& other) {
        flops += other.flops;
        memory_bytes += other.memory_bytes;
        messages += other.messages;
        sent_bytes += other.sent_bytes;
        calls += other.calls;
        disk_read_bytes += other.disk_read_bytes;
        disk_written_bytes += other.disk_written_bytes;
        disk_reads += other.disk_reads;
        disk_writes += other.disk_writes;
        parallel_ios += other.parallel_ios;
        seconds += other.seconds;
        return *this;
    }
};

}  // namespace spanfft
