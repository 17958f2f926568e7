// What the strategies share that cut an exchange into chunks and send each by itself: `oneplane`, `overlap`,
// `standard`, `replace`, `blockvector`.
//
// Method: each chunk (chunks.hpp) is packed where its parts aren't contiguous, carried, and unpacked. Where the call
// that carries it returns when all is done, one chunk's buffers serve all chunks, and start() does everything; where it
// returns at once, each chunk has its own, so that any number of them may be under way, and finish() waits and unpacks.
// Predictions look at one chunk of each kind (full ones, last ones), so that a thousand planes cost no more than two.
// Invariant: every rank of a group makes and starts the same chunks in the same order, empty ones included, and goes on
// to the last one even when one has failed: nobody is left waiting for a rank that gave up.
#pragma once

#include "exchange/chunks.hpp"

namespace spanfft {

// What carries a chunk. The _later ones return at once; `by_thread` is a blocking collective in a thread of its own.
enum class Carrier { collective, collective_later, collective_by_thread, pairs, pairs_replace, pairs_later };

Result<std::unique_ptr<Exchange>> bind_chunked(const ExchangeBinding& binding, const Chunking& chunking,
                                               Carrier carrier);
Counts predict_chunked(const ExchangeSpec& spec, int rank, const Chunking& chunking, Carrier carrier);
index_t chunked_buffer_bytes(const ExchangeSpec& spec, int rank, const Chunking& chunking, Carrier carrier);

// The parameter of strategies that send so many planes at a time: "", a number or "all" (0).
Result<index_t> planes_parameter(const ExchangeSpec& spec);
Status check_planes(const ExchangeSpec& spec);
Chunking chunks_of_planes(const ExchangeSpec& spec);  // after check_planes
int count_planes_chunks(const ExchangeSpec& spec, int rank);
AxisRange rows_of_planes(const ExchangeSpec& spec, int rank, int chunk);
std::vector<std::string> planes_candidates(const ExchangeSpec& spec);  // one of few planes, an eighth, a quarter, all
extern const char* const kPlanesHelp;

// A row of the table for a strategy that sends so many planes at a time and differs from the others in what carries
// them.
template <Carrier kCarrier>
ExchangeStrategy strategy_by_planes(const char* name, const char* source, const char* how) {
    ExchangeStrategy row;
    row.name = name;
    row.source = source;
    row.how = how;
    row.parameter = kPlanesHelp;
    row.bind = [](const ExchangeBinding& binding) {
        return bind_chunked(binding, chunks_of_planes(binding.spec), kCarrier);
    };
    row.predict = [](const ExchangeSpec& spec, int rank) {
        return predict_chunked(spec, rank, chunks_of_planes(spec), kCarrier);
    };
    row.buffer_bytes = [](const ExchangeSpec& spec, int rank) {
        return chunked_buffer_bytes(spec, rank, chunks_of_planes(spec), kCarrier);
    };
    row.check = check_planes;
    row.candidates = planes_candidates;
    row.chunks = count_planes_chunks;
    row.rows = rows_of_planes;
    row.overlaps = kCarrier == Carrier::pairs_later;
    return row;
}

// Peers in the order in which pairs meet: in each round everyone has one partner, whoever is its own has none.
// Worked numbers: 4 ranks; rank 0 meets (round - 0) mod 4 = 0, 1, 2, 3 and rank 1 meets 3, 0, 1, 2: each other in
// round 1.
std::vector<int> pair_rounds(int me, int ranks);

}  // namespace spanfft
