// DataSheet: a machine as its data sheet describes it, so that a transform can be foreseen where it can't be run.
//
// Method: lines of a machine file (machine_file.hpp), `name value  # source`, in the units that a data sheet gives
// (Gflop/s, GB/s, microseconds); inside they are SI. "# estimate: ..." marks a figure that no source gives.
// Figures of the planner (Machine) that a file with a data sheet leaves out are derived from it, so that one file
// serves `spanfft plan` and `spanfft predict`. A file with a data sheet is read strictly: a line that can't be
// understood would be a figure that is silently missing. Invariant: a sheet that was accepted has all figures that the
// network model divides by, and they are above 0.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/extents.hpp"
#include "core/status.hpp"

namespace spanfft {

struct Machine;

enum class NetworkKind { one_switch, torus, fat_tree, dragonfly };

// P3, section 5: seconds of one part of a forward and an inverse transform on np processors, a0 + a1/(a2 + np), fitted
// for a cube of so many points an axis in slabs.
struct PublishedFit {
    std::string part;  // "communication" or "computation"
    index_t extent = 0;
    double a0_seconds = 0, a1_seconds = 0, a2 = 0;
    int least_ranks = 1, most_ranks = 1;  // that were measured
    double seconds(int ranks) const { return a0_seconds + a1_seconds / (a2 + ranks); }
    bool operator==(const PublishedFit&) const = default;
};

struct DataSheet {
    double nodes = 0;  // 0: the machine file has no data sheet
    double sockets_per_node = 1;
    double cores_per_node = 1;  // that transforms may use; one rank each unless ranks_per_node says otherwise
    double core_fft_flops_per_second = 0;
    double node_memory_bytes = 0;             // 0: not told
    double node_memory_bytes_per_second = 0;  // read and written, all cores together

    NetworkKind network = NetworkKind::one_switch;
    Extents torus;                          // of the whole machine
    double leaf_nodes = 0, taper = 1;       // fat tree: a leaf's uplinks carry 1/taper of its nodes' links
    double group_nodes = 0;                 // dragonfly
    double group_bytes_per_second = 0;      // of all global links of a group, each way
    double switch_bytes_per_second = 0;     // one switch: its backplane, all ports together; 0: no limit
    double link_bytes_per_second = 0;       // each way
    double injection_bytes_per_second = 0;  // of a node, each way; 0: that of its links
    double latency_seconds = 0;             // of a message between nodes, software included
    double message_seconds = 0;             // that a rank's processor spends on each message, sent and received
    // MPI copies shorter messages into buffers of its own and out of them, one copy at each end; 0: no message.
    double buffered_bytes = 0;
    // That a rank has under way at once in a collective of MPI; 0: all of them. Partners are met in the order of their
    // numbers, from a rank's own on; as pairs, rank xor 1, rank xor 2, ..., where a group has 2^n ranks.
    double collective_messages = 0;
    bool collective_pairs = false;
    double node_messages_per_second = 0;  // message rate of a node's adapter; 0: no limit
    double barrier_seconds = 0;           // of all ranks; 0: one latency a doubling of ranks
    double packet_payload_bytes = 0;      // at most; 0: packets cost nothing
    double packet_overhead_bytes = 0;     // header, trailer, acknowledgement: for each packet
    // Of the peak of links and injection, what an all-to-all reaches that is not phased, and one that is
    // (exchange/phased.cpp).
    double alltoall_share = 1, phased_share = 1;

    double disks_per_node = 0;         // 0: none, or not told
    double disk_bytes_per_second = 0;  // of one
    double disk_request_seconds = 0;   // seek and rotation, or a solid one's latency

    std::vector<PublishedFit> fits;
    std::map<std::string, std::string> sources;  // by the name of the line; "estimate: ..." where there is none

    bool given() const { return nodes > 0; }
    double injection() const;  // bytes a second of a node, each way
    bool operator==(const DataSheet&) const = default;
};

// Whether a line of a machine file belongs to a data sheet.
bool is_sheet_line(const std::string& name);
// Reads such a line; the error says which value is wrong, and what may stand there.
Status read_sheet_line(const std::string& line, DataSheet& sheet);
// Of a whole sheet: what is missing, and what contradicts what.
Status check_sheet(const DataSheet& sheet);
// The lines, with their sources.
std::string print_sheet(const DataSheet& sheet);
// Every name of a line, for messages.
std::string sheet_line_names();

// The planner's figures that follow from a sheet.
void derive_figures(const DataSheet& sheet, Machine& machine);

}  // namespace spanfft
