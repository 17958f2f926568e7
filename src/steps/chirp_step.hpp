// Chirp: the steps by which a line of any length becomes a cyclic convolution of a good one (L. Bluestein, 1970).
//
// Method (steps/chirp.hpp): `in` multiplies each input by its factor; the convolution of m points is a transform,
// a product with the filter's spectrum (`filter`), and a transform back; `out` multiplies each output by its factor.
// `pad` lengthens each array of a rank by zeros, or cuts it. On the side of the line each rank has a run of its
// points; on the other side the line is a matrix of which each rank has whole rows, the last of them filled up with
// zeros, or once more the same run of points, which the next step takes for such a matrix. The filter's spectrum is
// made when the step is bound, by each rank for itself and without a message: m1 x m2 points of which it keeps rows k1,
// X[k1 + m1 k2]. That takes the time of half a transform of all m points, and memory for a rank's part of them. Worked
// numbers: n = 5, m = 12 = 3 x 4 on 2 ranks: two rows of four hold the line; rank 0 has x[0..3], rank 1 x[4] and three
// zeros. Padded to three rows, the columns 0 1 are rank 0's.
#pragma once

#include "engine/engine.hpp"
#include "plan/machine.hpp"
#include "plan/problem.hpp"
#include "plan/step.hpp"

namespace spanfft {

enum class Chirping { in, pad, filter, out };
constexpr Chirping inverse(Chirping chirping) {
    if (chirping == Chirping::in) return Chirping::out;
    return chirping == Chirping::out ? Chirping::in : chirping;
}

struct ChirpSpec {
    Chirping chirping = Chirping::in;
    Kernel kernel = Kernel::c2c_forward;  // of the line
    index_t n = 1;                        // its points in real space
    index_t batch = 1;                    // arrays, one after the other on either side
    ArrayState from, to;                  // filter: the same
    long double scale = 1;                // of out
    Slot source = Slot::input, target = Slot::work0;
    std::string engine;  // of the filter's transforms; "": the fastest
    RateTable rates;     // of the machine that is planned for, by which the engine is chosen
    int threads = 1;     // that share an array's points out
};

std::unique_ptr<Step> make_chirp_step(ChirpSpec spec, const Machine& machine);

}  // namespace spanfft
