// Machine: the figures that turn counts into seconds, measured or imagined.
//
// The defaults are the medians that the project measured on a two-core Sapphire Rapids class machine (see
// docs/cost-model.md); they rank alternatives and do not promise times. `spanfft probe` will replace them.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace spanfft {

struct ExchangeFigures {
    double latency_seconds = 5e-6;        // a message
    double seconds_per_byte = 1.0 / 5e9;  // sent by one rank; copies of our own (packing) are counted as memory sweeps
};

struct Machine {
    std::string name = "built-in figures";
    int cores = 1;
    std::vector<int> nodes;                 // the node of each rank that is planned for; empty: all on one
    bool persistent_collectives = true;     // whether the ranks' library has them (MPI-4)
    double memory_bytes_per_second = 19e9;  // copied by one thread, reads plus writes counted once
    std::map<std::string, ExchangeFigures> exchanges{{"alltoallw", {8e-6, 1.0 / 2.0e9}},
                                                     {"alltoallv", {5e-6, 1.0 / 5.0e9}}};
    // Of the strategy's own row, or defaults where none was measured.
    ExchangeFigures exchange(const std::string& strategy) const {
        const auto row = exchanges.find(strategy);
        return row == exchanges.end() ? ExchangeFigures() : row->second;
    }
    // Of the time that computing and a non-blocking exchange could save by going on at once, the share that they do. 0:
    // ranks on one node, where the core that computes is the one that copies (P3 found as much); 1: P2's formula.
    double overlap_share = 0;
    double disk_read_bytes_per_second = 1.2e9;
    double disk_write_bytes_per_second = 1.5e9;
    double disk_request_seconds = 20e-6;  // one request, before queueing hides it
    int disk_queue_depth = 16;
};

// This machine, as far as the library knows it without measuring: built-in figures, number of cores.
Machine this_machine();

}  // namespace spanfft
