// Machine: the figures that turn counts into seconds, measured (spanfft probe) or imagined, and where the ranks are.
//
// Method: an exchange costs a latency a message and a time a byte that depends on the bytes a message, read off a
// measured curve (wire_fit.hpp), interpolated in the logarithm of both; messages inside a node and between nodes have
// curves of their own.
// The defaults are the medians that the project measured on a two-core Sapphire Rapids class machine, and for a disk a
// fit to whole transforms on another (see docs/cost-model.md); they rank alternatives and do not promise times. Its
// text form is in machine_file.hpp.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/caches.hpp"
#include "core/counts.hpp"
#include "core/extents.hpp"
#include "core/nodes.hpp"
#include "engine/rate_table.hpp"
#include "plan/data_sheet.hpp"

namespace spanfft {

struct RatePoint {
    double message_bytes = 0;
    double seconds_per_byte = 0;
};

// One strategy's messages along one way: inside a node, or between nodes.
struct WireFigures {
    double latency_seconds = 5e-6;        // a message
    double seconds_per_byte = 1.0 / 5e9;  // sent by one rank, where there is no curve
    std::vector<RatePoint> curve;         // rising in message_bytes; beyond its ends it stays level
    double seconds_per_byte_at(double message_bytes) const;
    double seconds(double messages, double bytes) const;
    bool operator==(const WireFigures&) const;
};

struct ExchangeFigures {
    WireFigures near;                       // between ranks of a node
    WireFigures far{20e-6, 1.0 / 1e9, {}};  // between nodes
    bool includes_copies = false;           // measured as a whole: the strategy's own packing is in the curve
    bool operator==(const ExchangeFigures&) const = default;
};

// One side of a sweep.
struct DiskUse {
    index_t requests = 0, bytes = 0;
    int disks = 1;           // that it is striped over
    bool cached = false;     // in runs that are too short for direct I/O
    bool rewritten = false;  // where it was read
    bool apart = false;      // scratch disks of one rank, while others use theirs; else a disk that all ranks share
};

// What steps of a size take, in parts of what the rates of engines, memory and wires say.
struct SlownessPoint {
    double bytes = 0;  // of a rank's part of the array
    double ratio = 1;
    bool operator==(const SlownessPoint&) const = default;
};

struct Machine {
    std::string name = "built-in figures";  // of the processor, once probed
    std::string library;                    // MPI, once probed
    std::string measured;                   // when, as 2026-11-21T12:34:56Z; empty: never
    int measured_ranks = 0;                 // that took part in the probe

    int cores = 1;                                 // of a node that its ranks may use together
    Topology topology;                             // of the ranks that are planned for
    Extents torus;                                 // that all ranks fill, in row-major order; empty: none
    bool shared_windows = true;                    // whether the ranks of a node had room for what was tried
    bool persistent_collectives = true;            // whether the ranks' library has them (MPI-4)
    Caches caches = cache_sizes();                 // of a node
    double memory_bytes_per_second = 19e9;         // copied by one thread, reads plus writes counted once
    double shared_memory_bytes_per_second = 17e9;  // the same while every rank of the node copies
    double all_threads_bytes_per_second = 0;       // copied by one process on all cores together; 0: not measured

    // Of the sweeps of disks, by one thread: what tiles take from panels and put back, and a twiddle factor, made and
    // multiplied with. 0: not known, as on an imagined machine, where these are priced as copies. Built in: medians of
    // twelve probes on a Xeon of 2023 (2.1 to 10.4 GB/s, 2.9 to 11 ns).
    double tile_bytes_per_second = 4e9, twiddle_seconds = 5e-9;

    double call_seconds = 0;  // that a call to a plan in memory takes beside its steps; 0: not measured
    // That the ranks of a node take to meet before a step that reads what another one has just written, and to get
    // hold of that; 0: not measured.
    double shared_step_seconds = 0;
    // That one processor takes to see what another one wrote, and that to see the answer; 0: not measured. No step is
    // priced by it (exec/handover_probe.hpp).
    double handover_seconds = 0;

    // Of each sort of step in memory of several ranks (Step::sort), rising in bytes; measured with whole plans
    // (exec/step_probe.hpp). A sort that was not seen is as slow as "any"; without rows steps take what the other
    // figures say.
    std::map<std::string, std::vector<SlownessPoint>> step_slowness;
    // Between the sizes that were measured in the logarithm of both; level beyond.
    double slowness(const std::string& sort, index_t bytes) const;

    std::map<std::string, ExchangeFigures> exchanges{
        {"alltoallw", {{8e-6, 1.0 / 2.0e9, {}}, {25e-6, 1.0 / 1e9, {}}, false}},
        {"alltoallv", {{5e-6, 1.0 / 5.0e9, {}}, {20e-6, 1.0 / 1e9, {}}, false}}};
    // Of the strategy's own row, or defaults where none was measured.
    ExchangeFigures exchange(const std::string& strategy) const {
        const auto row = exchanges.find(strategy);
        return row == exchanges.end() ? ExchangeFigures() : row->second;
    }
    // Of the time that computing and a non-blocking exchange could save by going on at once, the share that they do. 0:
    // ranks on one node, where the core that computes is the one that copies (P3 found as much); 1: P2's formula. No
    // probe measures it; a machine file may give it.
    double overlap_share = 0;
    DataSheet sheet;         // of an imagined machine: what the network model asks (network.hpp); else none is given
    RateTable engine_rates;  // measured by the probe; what it lacks is filled from the priors of engine/rates

    double disk_read_bytes_per_second = 1.8e9;
    double disk_write_bytes_per_second = 1.8e9;
    double disk_request_seconds = 400e-6;  // one request beyond its bytes, before queueing hides it
    int disk_queue_depth = 16;
    double disk_alone_seconds = 0;  // one request beyond its bytes with no other under way; 0: not measured
    // Where a sweep writes what it read, the file system has the blocks already; 0: not measured, as new ones.
    double disk_rewrite_bytes_per_second = 0;
    // Where a sweep only reads from the disk or only writes to it, as scratch has disks of its own: a disk that does
    // both at once as fast as either is no faster then. 0: not measured, as where it does both.
    double disk_read_alone_bytes_per_second = 0, disk_write_alone_bytes_per_second = 0;
    double disk_write_request_seconds = 0;  // as disk_request_seconds, of writes; 0: not measured, the same
    // A request that is too short for direct I/O, where a sweep writes what it read, in a file that the system can keep
    // in memory, which has so many bytes: what it takes of pages that are there, and besides what a byte takes until it
    // is there, once. 0: not measured; requests are priced as direct ones, bytes as the disk's.
    double disk_cached_seconds = 0, disk_cached_seconds_per_byte = 0, page_cache_bytes = 0;
    double disk_start_seconds = 0;  // until the threads of a plan that read and write have started; 0: not measured
    double memory_touch_seconds_per_byte = 0;  // of memory that is used for the first time; 0: not measured
    // What the disks that a rank has for scratch alone move, all of them, while those of all ranks do; 0: not measured,
    // as the disk above.
    double scratch_read_bytes_per_second = 0, scratch_write_bytes_per_second = 0;
    // What short runs are compared by, of panels that are read and written while many requests are under way: on a
    // virtual disk, in runs of 8 to 64 KiB. Only the ratio matters.
    double disk_short_read_seconds = 4e-6, disk_short_write_seconds = 2e-6;  // a run beyond its bytes
    // Runs that are no whole blocks go through the page cache: 7.6 s for 2 GiB in runs of 11.5 KiB where direct ones
    // would take 1.3 (one run, busy machine).
    double disk_unaligned_write_seconds_per_byte = 3e-9;

    // While a disk reads and writes as fast as it can, the share of what is computed beside that costs no time. Where
    // the disk's requests take processors, or memory has no bandwidth left, it is less than 1. Built-in figures of a
    // disk are fitted to whole transforms, which have this in them.
    double disk_compute_share = 1;

    // Where each of so many ranks does so much at once: to scratch on so many disks that it has for scratch alone, or,
    // of 0 disks, to a file on the disk that all share. What that has to do is the sum; so it is of scratch disks that
    // nobody measured.
    DiskUse disk_use(index_t requests, index_t bytes, int scratch_disks, int ranks) const;
    // Of requests that come in so many batches, each of which is under way at once: where they are few, each takes its
    // share of what one alone takes, however deep the disk's queue is. Each side may be striped over disks like this
    // one. Scratch disks that were measured work while another disk does.
    double disk_seconds(const DiskUse& reads, const DiskUse& writes, double batches) const;
    // Before a plan's first sweep, which has so much memory: the disk reads into it while it is touched.
    double sweep_start_seconds(index_t memory_bytes) const {
        const double beyond_reading = memory_touch_seconds_per_byte - 1 / disk_read_bytes_per_second;
        return disk_start_seconds + static_cast<double>(memory_bytes) * std::max(0.0, beyond_reading);
    }

    // Threads that each of so many ranks may have, so that no node's cores are shared out twice; at least 1.
    int threads_for(int ranks) const;
    // What one of so many ranks has of the caches of its node.
    Caches caches_of(int ranks) const { return caches.shared_by(topology.most_ranks_on_a_node(ranks)); }
    double copy_bytes_per_second(int ranks) const {
        return ranks > 1 ? shared_memory_bytes_per_second : memory_bytes_per_second;
    }
    // Of so many threads of one process together.
    double threads_bytes_per_second(int threads) const;
    // Of a sweep that reads and writes a disk for so long while it computes for so long, in so many panels: they go on
    // at once but for the first panel and the last, as far as the machine lets them.
    double overlapped_seconds(double disk_seconds, double compute_seconds, double panels) const;
    std::string figures_note() const;  // "figures: measured by probe on ..." or "figures: built in"
};

// This machine, as far as the library knows it without measuring: built-in figures, number of cores.
Machine this_machine();

// Processor and cores: what stored figures and tuning results belong to. Without a host's name, so that the nodes of a
// cluster, and what is made anew of one image, are one machine.
std::string machine_identity();

}  // namespace spanfft
