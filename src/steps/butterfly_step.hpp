// Butterfly: twiddle factors and the short transform beside them, in one sweep of memory.
//
// Method: as in twiddle_step.hpp an axis of n = p m points is held as two axes of the array, `part` (p, whole here) and
// `rest` (any progression of k < m). Forward, each element is multiplied by w_n^(s k), and the p of them that differ in
// s are transformed; backward the reverse, with conjugates. Elements of one s lie side by side over (k, the axes
// behind): a tile of 16 of them for each s is read, worked on in the cache and written, so the array moves through
// memory once. The transform of length p is the direct sum with x_s +- x_(p-s) taken together, p/2 multiply-adds a
// number; that holds up to kLongest points. Beyond, use Twiddle and Transform.
//
// A factor is the product of two numbers that were each rounded once from long double: one for 64 values of k, with the
// scale, and one for k among them. Tables take p (64 + m/64) numbers.
//
// Worked numbers: n = 12, p = 2, k = 0 2 4, so 2 x 3 here: out[0, k] = in[0, k] + w_12^k in[1, k], and out[1, k] is
// their difference.
#pragma once

#include "steps/twiddle_step.hpp"

namespace spanfft {

struct ButterflySpec {
    static constexpr index_t kLongest = 16;
    ArrayState state;  // complex
    TwiddlePair pair;
    Direction direction = Direction::forward;
    long double scale = 1;
    Slot source = Slot::output, target = Slot::output;  // may be the same
    int threads = 1;
};

std::unique_ptr<Step> make_butterfly_step(ButterflySpec spec, const Machine& machine);

}  // namespace spanfft
