// Exchange by blocking sends and receives between pairs of ranks (P3 Standard).
//
// Method: in round r rank i meets rank (r - i) mod P, which meets it: in each round everyone has one partner at most.
// The lower rank of a pair sends first, so no pair waits for itself, whatever MPI buffers (P3's kernels could).
// Cost: 2(P-1) calls a chunk; a rank waits in each round for the slowest before it.
#include "exchange/standard.hpp"

#include "exchange/chunked.hpp"

namespace spanfft {

ExchangeStrategy standard_strategy() {
    ExchangeStrategy row;
    row.name = "standard";
    row.source = "P3 Standard";
    row.how = "blocking send and receive in pairs, some planes at a time";
    row.parameter = kPlanesHelp;
    row.bind = [](const ExchangeBinding& binding) {
        return bind_chunked(binding, chunks_of_planes(binding.spec, binding.rank), Carrier::pairs);
    };
    row.predict = [](const ExchangeSpec& spec, int rank) {
        return predict_chunked(spec, rank, chunks_of_planes(spec, rank), Carrier::pairs);
    };
    row.buffer_bytes = [](const ExchangeSpec& spec, int rank) {
        return chunked_buffer_bytes(spec, rank, chunks_of_planes(spec, rank), Carrier::pairs);
    };
    row.check = check_planes;
    row.candidates = planes_candidates;
    row.chunks = count_planes_chunks;
    row.rows = rows_of_planes;
    return row;
}

}  // namespace spanfft
