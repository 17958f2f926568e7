// Exchange by blocking sends and receives between pairs of ranks (P3 Standard).
//
// Method: in round r rank i meets rank (r - i) mod P, which meets it: in each round everyone has one partner at most.
// The lower rank of a pair sends first, so no pair waits for itself, whatever MPI buffers (P3's kernels could).
// Cost: 2(P-1) calls a chunk; a rank waits in each round for the slowest before it.
#include "exchange/standard.hpp"

#include "exchange/chunked.hpp"

namespace spanfft {

ExchangeStrategy standard_strategy() {
    return strategy_by_planes<Carrier::pairs>("standard", "P3 Standard",
                                              "blocking send and receive in pairs, some planes at a time");
}

}  // namespace spanfft
