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
    ExchangeStrategy row;
    row.name = "replace";
    row.source = "P3 Replace";
    row.how = "one call a pair that sends a buffer and receives into it";
    row.parameter = kPlanesHelp;
    row.bind = [](const ExchangeBinding& binding) {
        return bind_chunked(binding, chunks_of_planes(binding.spec, binding.rank), Carrier::pairs_replace);
    };
    row.predict = [](const ExchangeSpec& spec, int rank) {
        return predict_chunked(spec, rank, chunks_of_planes(spec, rank), Carrier::pairs_replace);
    };
    row.buffer_bytes = [](const ExchangeSpec& spec, int rank) {
        return chunked_buffer_bytes(spec, rank, chunks_of_planes(spec, rank), Carrier::pairs_replace);
    };
    row.check = check_planes;
    row.candidates = planes_candidates;
    row.chunks = count_planes_chunks;
    row.rows = rows_of_planes;
    return row;
}

}  // namespace spanfft
