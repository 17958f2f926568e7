// What every engine needs to know about a LocalSpec: whether it is valid, its canonical form, its size.
//
// Method: canonical() drops loops of one point and merges batch loops that address one contiguous run, so that
// an engine sees the fewest loops; equal work then looks equal. Nothing here knows a library.
// Invariant: canonical(spec) touches the same elements and computes the same values as spec.
#pragma once

#include <memory>

#include "engine/engine.hpp"

namespace spanfft {

constexpr bool is_c2c(Kernel k) { return k == Kernel::c2c_forward || k == Kernel::c2c_backward; }
constexpr bool complex_input(Kernel k) { return is_c2c(k) || k == Kernel::c2r; }
constexpr bool complex_output(Kernel k) { return is_c2c(k) || k == Kernel::r2c; }

ElemType input_type(const LocalSpec& spec);
ElemType output_type(const LocalSpec& spec);

// Points of the input and of the output on transform axis i: they differ on the halved axis of r2c and c2r.
index_t input_points(const LocalSpec& spec, size_t axis);
index_t output_points(const LocalSpec& spec, size_t axis);

// Code::invalid_argument with a sentence when no engine could ever do this spec.
Status check_spec(const LocalSpec& spec);

LocalSpec canonical(const LocalSpec& spec);

// The length of the complex transform that carries an n-point transform of this kernel: 2(n-1) for dct1,
// 2(n+1) for dst1, 2n for the other r2r kinds, else n. Its prime factors decide speed and accuracy.
index_t logical_length(Kernel kernel, index_t n);

bool is_empty(const LocalSpec& spec);  // some batch loop has no points
index_t batch_count(const LocalSpec& spec);
double spec_flops(const LocalSpec& spec);   // 5 n log2 n an axis of complex data, half that for real
index_t spec_elems(const LocalSpec& spec);  // logical points times batch: what a sweep over the data touches

// Of an engine that transforms so many lines at once: lines with those spare ones (LocalSpec::spare_lines) that it
// takes too, to fill a register of which more than half is taken.
index_t filled_lines(index_t lines, index_t at_once, index_t spare);

// Lowest and highest offset that execute() touches, in elements of that side.
struct Span {
    index_t low = 0;
    index_t high = 0;
    index_t elems() const { return high - low + 1; }
};
Span input_span(const LocalSpec& spec);
Span output_span(const LocalSpec& spec);

// A LocalFft that only copies (no transform axis), or does nothing (an empty batch, or a copy in place).
std::unique_ptr<LocalFft> make_copy(const LocalSpec& spec);

}  // namespace spanfft
