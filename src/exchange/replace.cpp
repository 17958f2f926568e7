// Exchange by MPI_Sendrecv_replace between pairs of ranks (P3 Replace).
//
// Method: the rounds of `standard`, but a pair exchanges one buffer: what comes takes the place of what was sent.
// Where the two are of different size, both send the larger number of bytes, padding included, and the prediction
// counts those. Everything goes through the buffer: the arrays themselves can't be replaced in.
// Cost: P-1 calls a chunk, one buffer of a chunk, every byte packed and unpacked (and copied once more inside MPI).
#include "exchange/replace.hpp"

#include "exchange/chunked.hpp"

namespace spanfft {

ExchangeStrategy replace_strategy() {
    return strategy_by_planes<Carrier::pairs_replace>("replace", "P3 Replace",
                                                      "one call a pair that sends a buffer and receives into it");
}

}  // namespace spanfft
