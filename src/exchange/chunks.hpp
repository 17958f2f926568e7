// Chunks: an exchange cut along one axis of the source, so that parts of it can travel while others are computed.
//
// Method: the axis is the one that the exchange makes whole: it is divided in the source, so no transform that comes
// before runs along it, and every chunk holds something for every peer (P3's planes; P2's blocks of vectors). Whoever
// knows of another axis of which that holds names it (ExchangeSpec::rows_axis). A chunk
// is a range of this rank's rows along the axis; chunk i of all ranks of a group travels together. Ranks with fewer
// rows have empty last chunks. Worked numbers: 7 planes over 2 ranks are 4 and 3; with 2 planes a chunk that is 2
// chunks on both: rank 0 has rows 0-1 and 2-3, rank 1 rows 0-1 and 2-2.
#pragma once

#include "exchange/exchange.hpp"

namespace spanfft {

// The axis of the source that chunks divide.
int chunk_axis(const ExchangeSpec& spec);

// How rows become chunks: so many rows each, or so many chunks, balanced.
struct Chunking {
    int axis = 0;
    index_t rows_each = 0;  // > 0: this many rows a chunk
    int chunks = 1;         // the same on all ranks of the group
};
Chunking chunks_of_rows(const ExchangeSpec& spec, index_t rows_each);  // rows_each 0: all at once
Chunking chunks_in_all(const ExchangeSpec& spec, int chunks);          // at most as many as rows

// The rows of a chunk, of those of a rank that has `rows` in all: start and count, step 1.
AxisRange rows_in_chunk(const Chunking& chunking, index_t rows, int chunk);
AxisRange chunk_rows(const Chunking& chunking, const ExchangeSpec& spec, int rank, int chunk);

// What this rank sends with a chunk, in global indices.
Patch chunk_patch(const Chunking& chunking, const ExchangeSpec& spec, int rank, int chunk);

// A parameter that is a positive number, or `otherwise` when it is empty; an error names `what`.
Result<index_t> positive_parameter(const ExchangeSpec& spec, const char* what, index_t otherwise);

}  // namespace spanfft
