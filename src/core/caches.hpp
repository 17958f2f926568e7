// Caches: how much of a processor's caches one rank has.
//
// Method: Linux lists the caches of each CPU in sysfs, with their sizes and the CPUs that share each. Of a level that
// is not listed, or listed in a way that no processor is built, the defaults stand, which suit the machines that the
// project measured on. Sizes are of the first CPU: processors with two kinds of cores are taken as one kind.
// A virtual machine may be told the host's whole cache where it has few of its cores: 260 MiB of level 3 for two. What
// the neighbours leave of it is not known, so a level of more than 64 MiB a CPU, which no processor has, is not
// believed. Worked numbers: 32 MiB of level 3 that eight CPUs share, 16 CPUs on line, so two such caches; 16 ranks on
// the node are eight for each, and a rank's share is 4 MiB. One rank has 32 MiB, whatever its threads: what they share
// lies in one. Invariant: every size is positive.
#pragma once

#include <string>

#include "core/extents.hpp"

namespace spanfft {

struct Caches {
    index_t l1_bytes = index_t{32} << 10;  // data, of one core
    index_t l2_bytes = index_t{1} << 20;   // of one core
    index_t l3_bytes = index_t{16} << 20;  // of all cores that share it; where there are two levels, the second
    int l3_count = 1;                      // such caches of the node
    bool operator==(const Caches&) const = default;

    // What each of so many ranks of a node has: the third level is divided, the others are a core's own.
    Caches shared_by(int ranks) const;
    // An array so large that what is written of it has left the caches before it is read.
    index_t stream_worth_bytes() const { return l3_bytes > l2_bytes ? l3_bytes : l2_bytes; }
};

// Of this machine; read once.
const Caches& cache_sizes();

// What is read below a folder like /sys/devices/system/cpu.
Caches read_caches(const std::string& cpu_folder);

}  // namespace spanfft
