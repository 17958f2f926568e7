// Window: what samples are multiplied by before a transform, so that a tone leaks less into its neighbours.
//
// Method: windows are periodic, as scipy.signal.get_window gives them: point j of n is the function at t = j/n of a
// period. Sums of cosines are polynomials in cos(2 pi t), which runs of 64 points get from one exact angle each and a
// table of 64 turns, so a window of 2^32 points is never held anywhere and costs a few nanoseconds a point. Kaiser's
// is a Chebyshev series in (2t-1)^2, made from the power series of I0.
// Invariant: a point's factor does not depend on how the points are cut into calls, and is right to 4 eps of the
// largest (in long double Kaiser's to 8 + beta).
// Source: F. J. Harris (1978); coefficients as in SciPy.
#pragma once

#include <string>
#include <vector>

#include "core/extents.hpp"
#include "core/status.hpp"

namespace spanfft {

class Window {
  public:
    // "hann", "hamming", "blackman", "nuttall", "blackmanharris", "flattop", "kaiser:BETA".
    static Result<Window> parse(const std::string& text);

    // For windows of n points; before fill().
    void prepare(index_t n);
    // Factors of points first, first+1, ... first+count-1, which lie in 0..n-1.
    template <class R>
    void fill(index_t first, index_t count, R* to) const;

  private:
    static constexpr index_t kRun = 64;
    struct Turn {
        long double cosine = 1, sine = 0;
    };
    Turn turn(index_t j) const;  // by j of n
    template <class R>
    void fill_cosines(index_t j, index_t count, R* to) const;  // inside a run
    template <class R>
    void fill_kaiser(index_t j, index_t count, R* to) const;

    std::vector<double> cosines_;  // of cos(2 pi k t), k = 0, 1, ...; empty: Kaiser's
    double beta_ = 0;
    index_t n_ = 1;
    std::vector<long double> series_;  // Kaiser's: of Chebyshev's polynomials
    std::vector<Turn> turns_;
};

}  // namespace spanfft
