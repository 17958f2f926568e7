// P1's [7]'s own factoring of a BMMC permutation into sweeps, beside ours (factor.hpp), for what P1 counted with it.
//
// Method: H times a trailer T (columns of memory added to columns outside, until the lower right part is nonsingular)
// times a reducer R (columns of memory added to each other, until as many of phi are not zero as its rank) leaves
// memoryloads together, so it costs nothing. Then rounds: a swapper S brings up to m-b columns of phi that are not zero
// to places b to m-1, an eraser E adds columns from outside of memory to them until they are. What is left, F, keeps
// memoryloads together: H = F E_g S_g' ... E_1 S_1' (TR)' with ' for inverses. A sweep is E_i S_i', the first with
// (TR)' before it, and the last one is F: always ceil(rank phi / lg(M/B)) + 1 sweeps, where factor() may find fewer.
// [7] leaves open which of several columns is taken; here it is the lowest one everywhere.
// Source: P1's [7], Cormen, Sundquist, Wisniewski, the section on factoring of the upper bound.
#pragma once

#include "permute/factor.hpp"

namespace spanfft {

// As of factor().
Result<std::vector<Factor>> published_factor(const BitMatrix& matrix, const PdmShape& shape);

}  // namespace spanfft
