// Which ranks share a node, and how many cores the ranks of a node have together.
//
// Method: nodes are what the communicator says (ranks that can share memory); one allgather tells the cores that each
// rank may use. Ranks of a node add up their cores as a set: ranks that a launcher pinned to cores of their own have
// them all, ranks that may run anywhere share.
#pragma once

#include "comm/comm.hpp"
#include "plan/machine.hpp"

namespace spanfft {

// Collective. Sets the topology and the cores (of the poorest node), alike on all ranks.
Status find_topology(Comm& comm, Machine& machine);

}  // namespace spanfft
