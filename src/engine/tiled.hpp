// Strided axes through cache-sized tiles, for engines that are slow on strides.
//
// Method: a strided axis is gathered, several neighbouring lines at a time, into a tile in which each line is
// contiguous; the engine transforms the tile; it is scattered to where the result belongs. Of several axes the
// contiguous one is done in place by the engine, then the others by tiles, one block of the outermost batch loop after
// another, so that a plane that fits the cache stays there between its axes. Why: FFTW's estimated plans take 4 to 20
// times as long on an axis of far strides as on a contiguous one, and its measured ones still 1.3 to 1.7 times (256^3
// double, one thread: 0.30 s, 0.029 s; by tiles 0.02 s). In an array that stays in the cache the same happens where
// points lie so that few sets of the cache have them all (256 x 64 double on an EPYC of family 26: 227 us, by tiles
// 47).
#pragma once

#include <memory>

#include "engine/engine.hpp"

namespace spanfft {

// Whether tiles can do this spec and are expected to gain: c2c, r2c or c2r with lines side by side and a far stride, or
// one that crowds the first cache, if the engine minds that.
bool worth_tiling(const LocalSpec& spec, bool minds_crowds);

// Code::engine_error when the engine declines one of the contiguous parts.
Result<std::unique_ptr<LocalFft>> plan_tiled(const Engine& engine, const LocalSpec& spec);

}  // namespace spanfft
