// One long contiguous axis in two sweeps of memory: n = first * second, a matrix of `first` rows.
//
// Method: sweep 1 takes some columns at a time: they become rows of a tile in cache (engine/turn.hpp), the engine
// transforms these, and they leave, multiplied by their twiddle factors (core/twiddles.hpp), as contiguous rows of
// length `first`. Sweep 2 takes some columns of that, `second` points long, turns them into rows, has them transformed,
// and turns them back where they came from: the result is in natural order. So what is between the sweeps lies in the
// output itself, and only a transform in place needs another array for it. Stores pass the cache by where the line does
// not fit it. Threads share the tiles.
// In place, where memory has no room for that array, the line is turned first: seen as side x m x side elements, its
// first and last axes change places, squares at a time. What were columns are then rows, which are transformed where
// they lie, and sweep 2 finds its points in another order. c2r is the reverse, and is turned last.
// Real lines of 2 n points are n pairs of numbers, taken as complex ones. The spectrum of the numbers comes from that
// of the pairs at k and n - k, which lie in columns c and first - c of the output, backwards: so sweep 2 of r2c takes
// both at a time and folds them in the tile. c2r is the reverse, in sweep 1.
// Worked: n = 2^24 is 4096 x 4096; a tile is 16 columns, 4096 runs of 256 bytes, or 16 rows of 64 KiB, 1 MiB in all;
// the array of 256 MiB is read twice and written twice, and the engine only sees lines of 64 KiB.
// Source: the four-step method; D. H. Bailey, FFTs in external or hierarchical memory, 1990.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/engine.hpp"

namespace spanfft {

struct LongLineForm {
    index_t first = 0, second = 0;
    bool stream = false;  // stores pass the cache by
    double seconds = 0;   // expected
    bool turns = false;   // in place without an array between the sweeps; the longer factor is a multiple of the other
    std::string describe() const;
};

// The form in which the engine is expected to be fastest, if any: one contiguous axis, float or double, beyond the
// cache, complex or real of even length, with factors at which the engine is trusted.
std::optional<LongLineForm> long_line_form(const Engine& engine, const LocalSpec& spec, const RateTable& rates);

// Memory that a plan takes beside the arrays: tiles, tables and, in place, the array between the sweeps unless it
// turns.
index_t long_line_bytes(const LocalSpec& spec, const LongLineForm& form);

// Any first * second = n, for real lines n / 2, that turns if the form says so. Code::engine_error when the engine
// declines its lines, Code::out_of_memory.
Result<std::unique_ptr<LocalFft>> plan_long_line(const Engine& engine, const LocalSpec& spec, const LongLineForm& form);

}  // namespace spanfft
