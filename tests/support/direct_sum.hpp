// The transforms by their definitions: the oracle that every engine and path is held against.
//
// Method: sums with 113-bit arithmetic where the compiler has it (__float128), whose twiddles are summed as Taylor
// series of an exactly reduced angle (wide.hpp), so the oracle is far below the rounding of long double too. Inputs are
// noise on a grid of 2^-20, which float, double and long double hold alike: one reference serves all three.
// Invariant: shares no code with src/ beyond the names in engine.hpp; what it checks can't hide in it.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.hpp"
#include "support/wide.hpp"

namespace spanfft::test {

// One transform of n points. Real inputs have im == 0; real outputs too. c2r takes the n/2+1 first values of a
// Hermitian spectrum and ignores the imaginary parts of those that must be real. direct_output is the definition;
// direct_sum gives all outputs, beyond kShort points by fast_sum.hpp, whose arithmetic is wider than what is tested.
constexpr index_t kShort = 16;
std::vector<WideComplex> direct_sum(Kernel kernel, index_t n, const std::vector<WideComplex>& in,
                                    Precision tested = Precision::extended);
WideComplex direct_output(Kernel kernel, index_t n, const std::vector<WideComplex>& in, index_t k);

// Some outputs of a long transform, by the definition in long double: the factors of 64 terms after each other are
// powers of one, from an exact one on, which is off by a few 1e-18 of the norm (a table of exact factors would take 64
// bytes a point).
std::vector<WideComplex> long_outputs(Kernel kernel, index_t n, const std::vector<WideComplex>& in,
                                      const std::vector<index_t>& bins);

// All outputs of a forward c2c of n points that are 0 but for `heights` at `places`, in the same way: a bin after the
// other instead of a term.
std::vector<WideComplex> tones(index_t n, const std::vector<index_t>& places, const std::vector<WideComplex>& heights);

// Several axes in C order, shape[i] points each (the real length on the halved axis, which is the last).
std::vector<WideComplex> direct_sum_nd(Kernel kernel, const std::vector<index_t>& shape,
                                       const std::vector<WideComplex>& in, Precision tested = Precision::extended);

// sqrt(sum |a-b|^2 / sum |b|^2)
double relative_error(const std::vector<WideComplex>& a, const std::vector<WideComplex>& b);

// The accuracy rule, written again from its text: 0.6 eps sqrt(log2 N), 1.5 where a prime factor exceeds 13.
// For r2r, N is the length of the complex transform that carries it: 2(n-1), 2(n+1) or 2n.
double rule(const LocalSpec& spec);

// Runs a plan on noise laid out as the spec says and compares every output, the input and what lies around.
struct Outcome {
    double error = 0;        // relative L2 error of the whole batch
    double worst_error = 0;  // of the worst transform in it
    bool input_preserved = true;
    bool surroundings_kept = true;  // elements of the output array that are no outputs still hold their filling
};
Outcome run(const LocalSpec& spec, const LocalFft& fft);

// Whether an engine, planned without its check, misses the rule, as none that is taken may. Only MKL, on
// processors with AVX-512, is known to (at 34 = 2 * 17 by 4.6, at 129 = 3 * 43 by 13: MKL 2026.2).
bool misses_rule(const Engine& engine, const LocalSpec& spec);
// Whether its mean error is so near the rule that a single draw of 256 numbers (which strays by 4 %) may exceed it.
bool comes_near_rule(const Engine& engine, const LocalSpec& spec);

}  // namespace spanfft::test
