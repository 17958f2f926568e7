// SweepStage: one engine call that a sweep makes for each tile or slab; and which calls transform a group of axes.
#pragma once

#include <vector>

#include "engine/engine.hpp"

namespace spanfft {

// From the source side to the target side, or in place on one of them.
struct SweepStage {
    enum class On { source, across, target };
    LocalSpec spec;  // batch: what is done in one call; pointers are to the first element of tile or slab
    On on = On::target;
};

// The engine calls that transform `axes` (their positions in `shape`, rising, with their kinds) of `lanes` arrays of
// that shape. shape is in real space; a c2r or r2c axis, if any, is among axes. Pitches are from array to array.
struct StageRequest {
    Extents shape;
    std::vector<int> axes;
    std::vector<Kernel> kernels;  // one for each axis, as the engine knows them
    Precision precision = Precision::dbl;
    bool source_complex = true, target_complex = true;
    index_t lanes = 1, source_pitch = 0, target_pitch = 0;
    bool across = true;  // source and target differ
    int threads = 1;
};
std::vector<SweepStage> make_stages(const StageRequest& request);

}  // namespace spanfft
