// Tile probe: what a sweep of a disk computes besides its transforms, by the loops that do it (sweeps/sweep_tiles.hpp).
//
// Method: a panel of columns that no cache holds, as it has just been read, is taken into tiles and put back, column
// group by column group, as the widths of cache lines ask; then the tiles alone are twiddled. What gathering and
// scattering takes for a byte is more than a copy does, as a row of a tile is a line or two of a panel's; a twiddle
// factor is made of two entries of a table, for each point.
// Invariant: it measures this thread alone.
#pragma once

#include "core/status.hpp"

namespace spanfft {

struct TileRates {
    double bytes_per_second = 0;    // of a panel, gathered and scattered
    double seconds_per_factor = 0;  // a twiddle factor, made and multiplied with
};

// Some 0.2 s; quick: 0.05 s. 32 MiB, quick: 8 MiB.
Result<TileRates> probe_tiles(bool quick);

}  // namespace spanfft
