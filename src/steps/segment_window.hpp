// Window of the segments of interest: how n points become the spectrum's segments by one all-to-all (P. T. P. Tang,
// J. Park, D. Kim, V. Petrov, "A framework for low-communication 1-D FFT", SC 2012; here SOI).
//
// Method: the spectrum of n points is cut into S segments of m = n/S. Segment s is x times w_S^(-l s), of which only
// the lowest m frequencies are wanted: it is convolved with a window that lets those through and little beyond, and
// sampled m' = m over/under times. Its transform of m' points is, up to the window's own spectrum, the segment. In
// units of S points the window is w(t) = sinc(tau t) exp(-pi^2 t^2/sigma) e^(i pi t), cut off where |t| > taps/2; its
// spectrum at frequency f m is W(f - 1/2), W(x) = (sqrt(pi/sigma)/(2 tau)) (erf(sqrt(sigma) (x + tau/2)) -
// erf(sqrt(sigma) (x - tau/2))).
// Error, of the result's L2 norm, at most: what passes beyond m' - m/2 from the middle, 2 W(1/2 + over/under - 1); what
// is cut off, the integral of |w| there; both over W(1/2), the least by which is divided; and the roundings of a
// transform times W(0)/W(1/2).
// Worked numbers: over/under = 5/4 and 14 digits want 74 taps (the paper: 72 for 14.5); 6 digits want 24.
#pragma once

#include "core/dtype.hpp"
#include "core/extents.hpp"
#include "core/status.hpp"

namespace spanfft {

struct SegmentWindow {
    index_t over = 5, under = 4;  // m' = m over/under
    index_t taps = 2;             // in units of S points
    double sigma = 1, tau = 1;

    // w(t) without e^(i pi t).
    long double value(long double t) const;
    // W(x), for -1/2 <= x <= 1/2.
    long double spectrum(long double x) const;
    bool operator==(const SegmentWindow&) const = default;
};

// With the fewest taps for an error of 10^-digits in the result's norm; Code::invalid_argument, with what is possible,
// where the precision does not have so many.
Result<SegmentWindow> segment_window(int digits, Precision precision, index_t over, index_t under, index_t n);

// The most digits that segment_window has.
int most_segment_digits(Precision precision, index_t over, index_t under, index_t n);

}  // namespace spanfft
