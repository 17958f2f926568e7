// Whether an engine's results may be believed at a length.
//
// Method: the accuracy rule allows a relative L2 error of 0.6 eps sqrt(log2 N) where no prime factor of N exceeds
// 13 and 1.5 eps sqrt(log2 N) elsewhere. At lengths with larger prime factors an engine is first put to two tests
// against long-double values: three impulses, whose whole response is compared (a fault in a few outputs shows),
// and dense noise, of which a few outputs are summed exactly (a fault in a few inputs shows). Both cost O(n).
// At other lengths up to 2^18 that are no powers of two all outputs are compared with ducc0's in long double; so they
// are at those with larger ones where there are several lines, or strided ones, which libraries do by other code. Why:
// MKL 2026.2 with AVX-512 is wrong by 1e-12 at 7 * 104729 and its like; strided, it misses the rule at 47. Invariant:
// an answer is computed once for each (engine, precision, kernel, length, sort of lines) and kept; thread-safe. No
// check takes more memory than the CheckAllowance of its thread.
#pragma once

#include <string>

#include "engine/engine.hpp"

namespace spanfft {

// The relative L2 error that the rule allows at n points (of the complex transform that carries the kernel).
double accuracy_rule(Precision precision, index_t n);

// Lengths with a larger prime factor than this are checked before an engine is used there.
constexpr index_t kTrustedPrime = 13;
constexpr index_t kSmoothPrime = 2;          // without larger factors noise shows no engine near the rule
constexpr index_t kLongestSmooth = 1 << 18;  // all outputs are compared up to here: 0.1 s a line

// What the check of one length found, in multiples of the rule; <= 1 within it. dense_allowance is what the
// dense test may show without a fault: few numbers are summed, so three standard deviations are granted.
struct TrustCheck {
    double impulse = 0;
    double dense = 0;
    double dense_allowance = 1;
    std::string problem;  // set when the check could not be run: no plan, no memory
    bool passed() const { return problem.empty() && impulse <= 1 && dense <= dense_allowance; }
};

// Runs the check, without the cache: one transform of length n of this kernel, contiguous.
TrustCheck check_length(const Engine& engine, Kernel kernel, Precision precision, index_t n, int threads);

// About what an engine needs beyond its arrays at a length with a prime factor above kTrustedPrime, where it convolves:
// tables and scratch of twice the factor, 8 complex numbers for each unit of it; 0 elsewhere, and below 1 MiB. An
// estimate, within which the peaks of tests/python/test_peak_memory.py stay.
index_t convolution_bytes(Kernel kernel, Precision precision, index_t n);
// The most memory that a check of one length takes.
index_t check_bytes(Kernel kernel, Precision precision, index_t n);

// While one lives, checks on its thread that would take more memory are not made: an engine is passed over there, but
// for ducc0, the reference of all others. For transforms of files, whose budget is the process's, planning included.
// A long line is then planned in sweeps only if its arrays and its own memory fit (long_line.hpp). Lengths above
// `longest` are not checked either, and engines are believed there unless something is known: a plan that nobody will
// run need not take seconds.
class CheckAllowance {
  public:
    explicit CheckAllowance(index_t bytes, index_t longest = INT64_MAX);  // 0 bytes: no limit
    ~CheckAllowance();
    static index_t bytes();  // of this thread; 0: no limit
    CheckAllowance(const CheckAllowance&) = delete;
    CheckAllowance& operator=(const CheckAllowance&) = delete;

  private:
    index_t bytes_before_, longest_before_;
};

// Imagined plans check no longer lines: a check takes a tenth of a second there, and some plans ask for ten.
constexpr index_t kImaginedLongest = 1 << 18;

// What this process has found out so far, one line a check, and what another process on an equal machine has: its lines
// are taken in for engines of the same version and path. Ranks of a node need each check once.
std::string print_trust();
void learn_trust(const std::string& text);
index_t trust_checks_made();  // by this process itself

// Empty when the engine may be used for the spec, else the sentence that says why not. The axes of a transform
// along several are checked one by one; lengths above longest are left unchecked (a forecast must not allocate and
// transform what is only imagined).
std::string distrust(const Engine& engine, const LocalSpec& spec, index_t longest = INT64_MAX);

}  // namespace spanfft
