// Halve: what makes a complex transform along a divided axis one of real numbers, as plan steps.
//
// Method: forward, real numbers are widened to complex ones, and of the spectrum the first n/2+1 points are kept.
// Backward, those are extended to n points: all but the first (and, for even n, the last) are doubled and the others
// are zero. The complex transform of that is the real array, with an imaginary part (its Hilbert transform) that is
// left out: x[j] = Re(X[0] + 2 sum_(0<k<n/2) X[k] w^(-jk) + X[n/2] (-1)^j) / n. Unlike the extension by conjugates it
// needs no numbers from other ranks. Each step is one sweep of memory; source and target are not the same. Worked
// numbers: n = 6 on 2 ranks: of X[0..3], rank 0 has X[0] 2X[1] 2X[2] and rank 1 has X[3] 0 0.
#pragma once

#include "plan/machine.hpp"
#include "plan/step.hpp"

namespace spanfft {

// widen, narrow: from.layout is to.layout, and the one side is real. cut, extend: the last axis has n points on the one
// side and n/2+1 on the other, of which each rank holds those of its n, in a box or cyclically.
// split, join: the last axis has n/2 pairs on the one side and n/2+1 points on the other (split_step.hpp).
enum class Halving { widen, narrow, cut, extend, split, join };
constexpr Halving inverse(Halving halving) {
    switch (halving) {
        case Halving::widen:
            return Halving::narrow;
        case Halving::narrow:
            return Halving::widen;
        case Halving::cut:
            return Halving::extend;
        case Halving::extend:
            return Halving::cut;
        case Halving::split:
            return Halving::join;
        default:
            return Halving::split;
    }
}

struct HalveSpec {
    Halving halving = Halving::widen;
    ArrayState from, to;
    Slot source = Slot::input, target = Slot::work0;
};

std::unique_ptr<Step> make_halve_step(HalveSpec spec, const Machine& machine);

}  // namespace spanfft
