// Exchange by one blocking collective a plane, or a group of planes (P3 Oneplane).
//
// Method: each chunk is packed where its parts aren't contiguous, moved by MPI_Alltoallv, and unpacked. One plane of a
// slab is contiguous for every peer on both sides, so that nothing is copied at all.
// Cost: N/P calls, small buffers that stay in the cache: those of one chunk.
#include "exchange/oneplane.hpp"

#include "exchange/chunked.hpp"

namespace spanfft {

ExchangeStrategy oneplane_strategy() {
    return strategy_by_planes<Carrier::collective>("oneplane", "P3 Oneplane",
                                                   "a blocking collective for each group of planes");
}

}  // namespace spanfft
