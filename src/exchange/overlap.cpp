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
    ExchangeStrategy row;
    row.name = "overlap";
    row.source = "P3 Overlap, P5";
    row.how = "non-blocking pairs for each group of planes";
    row.parameter = kPlanesHelp;
    row.bind = [](const ExchangeBinding& binding) {
        return bind_chunked(binding, chunks_of_planes(binding.spec, binding.rank), Carrier::pairs_later);
    };
    row.predict = [](const ExchangeSpec& spec, int rank) {
        return predict_chunked(spec, rank, chunks_of_planes(spec, rank), Carrier::pairs_later);
    };
    row.buffer_bytes = [](const ExchangeSpec& spec, int rank) {
        return chunked_buffer_bytes(spec, rank, chunks_of_planes(spec, rank), Carrier::pairs_later);
    };
    row.check = check_planes;
    row.candidates = planes_candidates;
    row.chunks = count_planes_chunks;
    row.rows = rows_of_planes;
    row.overlaps = true;
    return row;
}

}  // namespace spanfft
