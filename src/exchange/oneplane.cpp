// Exchange by one blocking collective a plane, or a group of planes (P3 Oneplane).
//
// Method: each chunk is packed where its parts aren't contiguous, moved by MPI_Alltoallv, and unpacked. One plane of a
// slab is contiguous for every peer on both sides, so that nothing is copied at all.
// Cost: N/P calls, small buffers that stay in the cache: those of one chunk.
#include "exchange/oneplane.hpp"

#include "exchange/chunked.hpp"

namespace spanfft {

ExchangeStrategy oneplane_strategy() {
    ExchangeStrategy row;
    row.name = "oneplane";
    row.source = "P3 Oneplane";
    row.how = "a blocking collective for each group of planes";
    row.parameter = kPlanesHelp;
    row.bind = [](const ExchangeBinding& binding) {
        return bind_chunked(binding, chunks_of_planes(binding.spec, binding.rank), Carrier::collective);
    };
    row.predict = [](const ExchangeSpec& spec, int rank) {
        return predict_chunked(spec, rank, chunks_of_planes(spec, rank), Carrier::collective);
    };
    row.buffer_bytes = [](const ExchangeSpec& spec, int rank) {
        return chunked_buffer_bytes(spec, rank, chunks_of_planes(spec, rank), Carrier::collective);
    };
    row.check = check_planes;
    row.candidates = planes_candidates;
    row.chunks = count_planes_chunks;
    row.rows = rows_of_planes;
    return row;
}

}  // namespace spanfft
