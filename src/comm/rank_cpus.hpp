// The CPUs of a rank: all that it was bound to, or its part of what it shares with other ranks of its node.
#pragma once

#include "comm/comm.hpp"
#include "core/cpus.hpp"

namespace spanfft {

struct RankCpus {
    std::vector<Cpu> own;
    bool divided = false;  // among ranks that may all use the same CPUs, because no launcher bound them
};

// Collective: an allgather of a set of CPUs. nodes: of each rank of comm.
Result<RankCpus> cpus_of_rank(Comm& comm, const std::vector<int>& nodes);

}  // namespace spanfft
