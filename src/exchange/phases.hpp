// Phases: in which order the ranks of an all-to-all meet, so that no link of a torus carries more than another (P2,
// section 4.3).
//
// Method: with h = (p_x/2, p_y/2, ...), the offsets o, -o, h-o and o-h make one phase: what o leaves of the way round
// the ring, h-o fills. So in a phase each link of dimension x carries p_x/2 messages each way: |o_x| + (p_x/2 - |o_x|),
// whatever o is; where o_x is 0, the two messages of p_x/2 hops go half this way, half that way.
// The paper prints p/4-i for the ring and p_x/2-i in 3-D. Only the second covers all pairs: on a ring of 8, i = 1 with
// p/2-i = 3 gives the partners 1, 7, 3, 5; with p/4-i = 1 it would give 1, 7, 1, 7, and 3 and 5 never.
// Offsets with 2o = 0 or 2o = h have only two different partners ({0, 4} and {2, 6} on the ring of 8; 0 is the rank
// itself) and half the load. Two of them make a phase: partners 2, 6 and 4, which is the paper's phase 0, of the same
// load p/2 = 4 as the others (2 + 4/2). Where some p_x is no multiple of 4 there is no o with 2o = h; then a ring is
// left with one half phase (p = 6: {1, 5, 2, 4} with load 3, and {3} with 1.5); with more dimensions halves are even.
// Invariant: over all phases each offset but 0 comes once, and with o its negative in the same phase, so partners name
// one another.
#pragma once

#include <vector>

#include "core/extents.hpp"

namespace spanfft {

using Partners = std::vector<int>;  // of one rank in one phase

// The offsets of each phase; every extent is even.
std::vector<std::vector<Extents>> torus_phases(const Extents& torus);
// The same as ranks, for the rank at `place`; places are numbered in row-major order.
std::vector<Partners> torus_partners(const Extents& torus, int place);

// Any number of ranks: in round r the ranks whose sum is r modulo `size` meet, so each pair meets once. With 5 ranks,
// rank 1 meets 4, 0, nobody (1+1 = 2), 2, 3.
std::vector<Partners> pairwise_partners(int size, int place);

}  // namespace spanfft
