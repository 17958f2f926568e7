// Handover probe: how long one processor waits until it sees what another one wrote.
//
// Method: two of them write a counter by turns, each when it sees the other's value; a turn there and back is a
// handover. Between ranks of a node the counter lies in a window that they share; a process alone uses two threads. On
// a virtual machine it changes while programs run: 110 ns where its processors share a cache, 550 after they were moved
// apart, and 2 ranks take 16 and 28 us for r2c of 150 x 80 doubles (EPYC of family 26). No step is priced by it; it
// tells a check of predictions whether the machine is what it was when it was probed.
// Invariant: nobody waits where two can't run at once; the figure is 0 there.
#pragma once

#include "comm/comm.hpp"

namespace spanfft {

// Collective. Seconds, the median of some samples, the same on all ranks; 0: there are no two, or not on one node.
Result<double> probe_handover(Comm& comm);

}  // namespace spanfft
