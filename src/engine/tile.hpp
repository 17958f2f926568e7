// Tile: some lines of an array side by side in cache, transformed together.
//
// Method: a transform along a distant axis reads one point of a line from every page or plane. A tile takes `lanes`
// neighbouring lines at once: of each point a contiguous run is copied in (by whoever knows where it lies), the engine
// transforms the lines where they are (stride between points, lanes adjacent: its vectors run across the lanes), and
// the runs are copied out again. Compared with turning the lines into rows on the way in, that takes two thirds of the
// time: 99 against 156 ms for axis 0 of 256^3 double on two cores (both in one run, on a busy machine).
// Worked numbers: 256 points of 16 bytes with 32 lanes are 256 runs of 512 B; rows lie 576 B apart, because at a
// power of two all would fall on the same few cache sets; together 144 KiB of a 1 MiB cache.
#pragma once

#include "core/buffer.hpp"
#include "core/caches.hpp"
#include "engine/engine.hpp"

namespace spanfft {

struct TileSpec {
    Kernel kernel = Kernel::c2c_forward;  // c2c, or DCT/DST of real data or of both parts of complex data
    ElemType elem;
    index_t points = 1;  // of a line
    index_t lanes = 1;
    bool measure = false;
};

// Points that are fetched ahead (core/stream_copy.hpp) while a tile is filled: 512 lines of 256 points, 5 % of the
// time.
constexpr index_t kTileAhead = 16;

// From one row to the next of what is transformed across its rows: an odd number of cache lines, so that a column's
// points fall on all sets of the cache (256 points 512 bytes apart, by FFTW: 5 GF/s; 448 or 576 bytes apart: 26).
index_t row_pitch_bytes(index_t row_bytes);

// Lanes that suit the second-level cache, of `available` neighbouring ones.
index_t tile_lanes(const Caches& caches, index_t points, index_t elem_bytes, index_t available);
index_t tile_pitch_bytes(const TileSpec& spec);  // from a point's run to the next one's
LocalSpec tile_lines(const TileSpec& spec);      // what the engine is asked for: in place

// Memory for the lines and the engine's plan for them; one for each thread.
struct Tile {
    Buffer memory;
    std::unique_ptr<LocalFft> fft;
    char* rows() const { return static_cast<char*>(memory.data()); }
    void transform() const { fft->execute(memory.data(), memory.data()); }
};
index_t tile_bytes(const TileSpec& spec);
// Zeroed: the last tile may be part empty, and no NaN is to stray into what the engine does there.
Result<Buffer> tile_memory(index_t bytes);

}  // namespace spanfft
