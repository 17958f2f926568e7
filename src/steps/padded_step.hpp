// Padded: a transform along one axis of whose spectrum only some modes are kept (kept_modes.hpp), in one sweep of
// memory: no padded copy of the array is made.
//
// Method: some lines at a time are transformed in a tile in cache. Forward, all their points are read and only the kept
// modes are written; backward, only those are read and all points are written. So where several axes are padded each
// makes the array smaller (forward) before the next is transformed or moved. Lines along the last axis are rows, which
// the engine itself reads from or writes to the array; lines along others lie side by side in the tile, of each mode a
// run (engine/tile.hpp). The normalisation multiplies the modes while they are copied.
// Invariant: each element of either side is read or written once. Source: spanfft; mpi4py-fft and shenfun copy to and
// from a padded array.
// Worked numbers: 192 x 192 x 97 -> 192 x 128 x 97 double complex, along axis 1: 57 MB are read and 38 MB are written.
#pragma once

#include "engine/engine.hpp"
#include "plan/step.hpp"
#include "steps/kept_modes.hpp"

namespace spanfft {

struct PaddedSpec {
    ArrayState from, to;  // alike but for the axis, which is whole in both
    int axis = 0;
    Kernel kernel = Kernel::c2c_forward;  // c2c, r2c or c2r
    index_t modes = 1;                    // fewer than points; r2c: of the real line
    long double scale = 1;
    Slot source = Slot::input, target = Slot::output;
    std::string engine;                     // forced, or ""
    RateTable rates;                        // of the machine that is planned for
    Caches caches;                          // of it, a rank's share
    double memory_bytes_per_second = 19e9;  // of it, copied by a thread
    int threads = 1;
    bool measure = false;

    bool forward() const { return kernel == Kernel::c2c_forward || kernel == Kernel::r2c; }
    const ArrayState& real_space() const { return forward() ? from : to; }
    const ArrayState& spectrum() const { return forward() ? to : from; }
    KeptModes kept() const {
        return {real_space().layout.shape()[static_cast<size_t>(axis)], modes, !real_space().elem.complex};
    }
};

Result<std::unique_ptr<Step>> make_padded_step(PaddedSpec spec, std::vector<std::string>& notes);

}  // namespace spanfft
