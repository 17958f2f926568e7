// The two steps of SOI's own (segment_window.hpp): Convolve, with the neighbours' edges, and Demodulate.
//
// Method: n points are m rows of S, m' rows of S come out: row j of these is, for each of the S columns by itself, a
// sum of `taps` rows near row j under/over, times the window. The ranks share the rows, so each needs some rows before
// its own and some behind, which its neighbours send: one message each way (between two ranks, one with both).
// After transforms along the rows, an exchange, and transforms along the columns, column s holds segment s, modulated:
// Demodulate keeps m of its m' points and divides by the window's spectrum.
// Backward is each of them transposed: a row of the m is a sum of rows of the m'; m points are multiplied and filled up
// with zeros. The weights repeat every `over` rows of m' (`under` of m), so that a rank keeps few of them.
// Worked numbers: n = 2^20 in 2 segments, 5/4, 74 taps: rows of 2 points, 76 rows of weights for each of 5 places, 39
// rows from each neighbour: 1,248 bytes of complex doubles.
// Invariant: layouts (batch, rows, S) whose rows, or for Demodulate columns, are shared out evenly.
#pragma once

#include "plan/machine.hpp"
#include "plan/problem.hpp"
#include "plan/step.hpp"
#include "steps/segment_window.hpp"

namespace spanfft {

struct ConvolveSpec {
    SegmentWindow window;
    ArrayState from, to;  // forward from m rows to m', backward the other way
    Direction direction = Direction::forward;
    Slot source = Slot::input, target = Slot::work0;
    int threads = 1;
};

struct DemodulateSpec {
    SegmentWindow window;
    ArrayState from, to;  // forward from m' rows to m, backward the other way
    long double scale = 1;
    Slot source = Slot::input, target = Slot::work0;
};

// Rows that a rank needs before its own and behind, when it convolves in this direction.
index_t convolution_reach_rows(const SegmentWindow& window, Direction direction);

std::unique_ptr<Step> make_convolve_step(ConvolveSpec spec, const Machine& machine);
std::unique_ptr<Step> make_demodulate_step(DemodulateSpec spec, const Machine& machine);

}  // namespace spanfft
