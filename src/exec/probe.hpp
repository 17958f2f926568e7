// Probe: measures this machine's figures: memory, local engines, each exchange strategy over message sizes, and, where
// a folder is named, its disk (disk_probe.hpp).
//
// Method: an exchange is measured as a plan does it: a c2c transform of axes 0 and 2 of an array divided along axis 0,
// left divided along axis 1, has one exchange between two transforms; what these took is taken off. Sizes double from a
// few elements a message (which gives the latency) to tens of MiB (which give the curve). Inside nodes all nodes
// measure at once, between nodes all ranks of equal place on their node do, so that what is shared is loaded as it will
// be. A time is the slowest rank's, a figure of the median of some runs. Invariant: all ranks return the same figures
// and the same status.
#pragma once

#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "plan/machine.hpp"

namespace spanfft {

struct ProbeOptions {
    double cap_seconds = 120;  // about the most that engines, exchanges and steps take; memory takes a second
    bool quick = false;        // two sizes, few runs, no engines
    std::string disk_folder;   // on the disk that transforms of files will use; empty: disks are not measured
    // On this rank's disks for scratch alone, {rank} and {node} in their names are its numbers; none: not measured. All
    // ranks name some, or none does.
    std::vector<std::string> scratch_folders;
};

// Collective.
Result<Machine> probe(Comm& comm, const ProbeOptions& options);

}  // namespace spanfft
