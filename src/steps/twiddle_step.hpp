// Twiddle: the roots of unity between the two halves of a transform of length n = n1 * n2, as a plan step.
//
// Method: an axis of length n is held as two axes of the array, `part` (n1, index s) and, behind it, `rest` (n2, index
// k); a rank has any progression of either. Every element is multiplied, in place and in one sweep, by the product over
// such pairs of w_n^(s k), w_n = exp(-2 pi i/n) forward and its conjugate backward, and by the normalisation.
// A factor is the product of two numbers that were each rounded once from long double: one for a chunk of 64 values of
// k, in which the factors of all slower axes and the scale are merged, and one for k in the chunk. So its error is that
// of two roundings and a product whatever n and the number of axes are. Tables take O(sqrt n) memory an axis.
// Worked numbers: n = 12 on 2 parts: part 1 holds 6 elements, k = 0..5, and multiplies them by w_12^0 ... w_12^5;
// part 0 multiplies by 1, and so does nothing.
#pragma once

#include "plan/machine.hpp"
#include "plan/problem.hpp"
#include "plan/step.hpp"

namespace spanfft {

struct TwiddlePair {
    int part = 0, rest = 0;  // axes of the layout; part comes before rest
};

struct TwiddleSpec {
    ArrayState state;  // complex
    std::vector<TwiddlePair> pairs;
    Direction direction = Direction::forward;
    long double scale = 1;
    Slot slot = Slot::output;
};

std::unique_ptr<Step> make_twiddle_step(TwiddleSpec spec, const Machine& machine);

}  // namespace spanfft
