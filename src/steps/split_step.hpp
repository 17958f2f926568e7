// Split: what makes a complex transform of n/2 pairs one of n real numbers along a divided axis, as a plan step.
//
// Method: z[j] = x[2j] + i x[2j+1] has the spectrum Z of m = n/2 points, and with w = exp(-2 pi i/n)
//     split  X[k] = (Z[k] + Z*[m-k]) / 2 - i w^k (Z[k] - Z*[m-k]) / 2 for 0 <= k <= m, where Z[m] is Z[0];
//     join   Z[k] = X[k] + X*[m-k] + i w^(-k) (X[k] - X*[m-k]) for 0 <= k < m, which gives n x[j] backward.
// Both need k and m-k together. Where exchanges go through a window and the source lies in one, the mirrored half, m-k
// for each k of this rank, is read where it is. Elsewhere it is moved into a buffer of the step's own, by the strategy
// that the plan's exchanges have: each rank's block lies on one or two others, so these are few messages of up to all
// that a rank has. Then one sweep of memory. The imaginary parts of X[0] and X[m] are left out.
// Worked numbers: n = 12, m = 6 on 2 ranks: rank 0 has Z[0..2] and wants Z[4..5] for k = 2 and 1; rank 1 has Z[3..5],
// makes X[3..6] and wants Z[3], Z[2], Z[1] and Z[0].
#pragma once

#include "plan/machine.hpp"
#include "plan/step.hpp"
#include "steps/exchange_step.hpp"
#include "steps/halve_step.hpp"

namespace spanfft {

struct SplitSpec {
    Halving halving = Halving::split;  // or join
    ArrayState from, to;               // complex, divided along the last axis, in boxes, and alike but for X[m]
    Slot source = Slot::input, target = Slot::work0;
    bool owned = false;  // whether the source is the plan's, so that it may lie in a window
};

// What each rank needs of the mirrored half.
Result<Layout> mirrored_half(const SplitSpec& spec);

Result<std::unique_ptr<Step>> make_split_step(SplitSpec spec, const ExchangeChoice& choice, const Machine& machine);

}  // namespace spanfft
