// Turns: columns of an array become rows of a tile in cache, and rows of a tile become columns again.
//
// Method: the array is read (or written) a few rows at a time, in runs of some cache lines, and small squares of
// elements are transposed in vector registers: 4 x 4 complex doubles or 8 x 8 complex floats with 64-byte registers,
// less with shorter ones; long doubles one by one. Every line of the cache is then loaded and stored whole. On the way
// in, rows further down are fetched ahead, since they lie pages apart, where the processor does not look; on the way
// out, whole lines may pass the cache by. Which registers there are is asked once, when the program runs: the library
// is compiled for any x86-64. Worked numbers: 16 columns of a 4096 x 4096 array of 16-byte elements are 4096 runs of
// 256 bytes, which become 16 rows of 64 KiB.
#pragma once

#include "core/extents.hpp"
#include "core/vector_width.hpp"

namespace spanfft {

struct Turn {
    const void* from = nullptr;  // rows x columns elements
    index_t from_pitch_bytes = 0;
    void* to = nullptr;  // columns x rows elements; does not overlap `from`
    index_t to_pitch_bytes = 0;
    index_t rows = 0, columns = 0;
    index_t elem_bytes = 16;  // 8 or 16; or 32, one by one
};

// Few columns of many rows into a tile; `ahead` rows are fetched ahead.
void turn_in(const Turn& turn, index_t ahead, int width_bytes = vector_bytes());
// Few rows of many columns out of a tile. Streamed stores need `to` and its pitch to be multiples of 64 bytes; where
// they are not, and in what is left over of whole squares, the stores are usual ones. The caller fences. `width_bytes`,
// of registers, is at most what this processor has.
void turn_out(const Turn& turn, bool stream, int width_bytes = vector_bytes());

// An array of `side` x `between` x `side` elements, contiguous, whose first and last axes change places where it lies:
// pairs of small squares do, by way of a buffer. Worked: 2^25 complex floats are 4096 x 2 x 4096, 64 bands of 64 rows.
struct SquareTurn {
    void* array = nullptr;
    index_t side = 0, between = 1;
    index_t elem_bytes = 16;
    index_t band_rows() const { return 512 / elem_bytes; }
    index_t bands() const { return ceil_div(side, band_rows()); }
    index_t jobs() const { return bands() * between; }  // threads may share them out; the first ones are the longest
    index_t buffer_bytes() const;
    void run(index_t job, void* buffer) const;
};

}  // namespace spanfft
