// How far this rank's clock is from rank 0's, so that the events of all ranks lie on one axis of time.
//
// Method: Cristian's, with bounds. In each round every rank reads its clock (t0), all meet in a barrier, rank 0 reads
// its own (T) and broadcasts it, every rank reads its clock again (t1). The barrier puts T after t0, the broadcast puts
// it before t1, whatever the network does; so the offset T - (time here) lies in [T - t1, T - t0], and in the
// intersection of these over all rounds. Its middle is taken; half its width is the accuracy, a bound and no guess.
// Ranks that share a clock (one kernel, one time namespace: one boot id) need no rounds and are exact.
// Limits: clocks drift apart by up to some microseconds a second after the estimate; a trace of minutes on many
// hosts should be started anew now and then.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "comm/comm.hpp"

namespace spanfft {

struct ClockSource {
    std::string identity;  // ranks whose identity is rank 0's read the same clock; "": nobody else does
    std::function<int64_t()> now_ns;
};
ClockSource this_clock();

struct ClockAlignment {
    int64_t offset_ns = 0;    // to be added to times here to have rank 0's
    int64_t accuracy_ns = 0;  // at most this much wrong, when it was estimated
};

// Collective.
Result<ClockAlignment> align_clocks(Comm& comm, const ClockSource& clock);

}  // namespace spanfft
