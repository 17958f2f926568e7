// Exchange by non-blocking sends and receives, some planes at a time (P3 Overlap; P5).
//
// Method: for each chunk of planes, a receive and a send for every peer are posted and waited for when the chunk is
// finished; the caller may transform the next planes in between. One plane a message is the papers' form; P5 asks
// whether several are better, so the number can be chosen, up to all.
// Cost: 2(P-1) calls a chunk, buffers for all chunks where parts aren't contiguous. Whether anything travels while the
// caller computes is up to the MPI library: P3 found that on two machines it did not pay.
#include "exchange/overlap.hpp"

#include "exchange/chunked.hpp"

namespace spanfft {

ExchangeStrategy overlap_strategy() {
    return strategy_by_planes<Carrier::pairs_later>("overlap", "P3 Overlap, P5",
                                                    "non-blocking pairs for each group of planes");
}

}  // namespace spanfft
