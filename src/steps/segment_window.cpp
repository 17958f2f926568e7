// A search over the window's three figures; see segment_window.hpp.
#include "steps/segment_window.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "core/text.hpp"

namespace spanfft {

namespace {

constexpr long double kPi = std::numbers::pi_v<long double>;
constexpr index_t kMostTaps = 256;

double rounding(Precision precision) { return precision_eps(precision) / 2; }

// W(x) where it is small, beyond tau/2: a difference of erf would leave nothing but its rounding.
double tail(const SegmentWindow& w, double x) {
    const double root = std::sqrt(w.sigma);
    return std::sqrt(std::numbers::pi) / (2 * root * w.tau) *
           (std::erfc(root * (x - w.tau / 2)) - std::erfc(root * (x + w.tau / 2)));
}

// A bound of the integral of |w(t)| where |t| > taps/2.
double cut_off(const SegmentWindow& w, double taps) {
    const double gauss = std::erfc(std::numbers::pi * taps / 2 / std::sqrt(w.sigma));
    return std::min(1.0, 2 / (std::numbers::pi * w.tau * taps)) * gauss;
}

// The fewest taps for sigma and tau, or nothing. Of the error a half is for roundings, a quarter for each other part.
std::optional<index_t> fewest_taps(const SegmentWindow& w, double error, double roundings) {
    const double edge = tail(w, 0.5), passed = 0.5 + static_cast<double>(w.over) / static_cast<double>(w.under) - 1;
    if (!(edge > 0) || static_cast<double>(w.spectrum(0)) / edge * roundings > error / 2) return std::nullopt;
    if (2 * tail(w, passed) / edge > error / 4) return std::nullopt;
    index_t low = 1, high = kMostTaps;
    if (cut_off(w, static_cast<double>(high)) / edge > error / 4) return std::nullopt;
    while (high - low > 1) {
        const index_t middle = (low + high) / 2;
        (cut_off(w, static_cast<double>(middle)) / edge <= error / 4 ? high : low) = middle;
    }
    return high;
}

std::optional<SegmentWindow> search(int digits, Precision precision, index_t over, index_t under, index_t n) {
    const double error = std::pow(10.0, -digits);
    const double log_n = std::log2(std::max(2.0, static_cast<double>(n)));
    // Two transforms, a sum of products and two multiplications: about as many roundings as three transforms.
    const double roundings = 3 * 0.6 * rounding(precision) * std::sqrt(log_n);
    SegmentWindow tried, best;
    best.taps = kMostTaps + 1;
    tried.over = over;
    tried.under = under;
    const double widest = 1 + 2 * (static_cast<double>(over) / static_cast<double>(under) - 1);
    for (tried.tau = 0.02; tried.tau < widest; tried.tau += 0.02) {
        for (tried.sigma = 1; tried.sigma < 4000; tried.sigma *= 1.05) {
            const auto taps = fewest_taps(tried, error, roundings);
            if (!taps || *taps >= best.taps) continue;
            best = tried;
            best.taps = *taps;
        }
    }
    return best.taps <= kMostTaps ? std::optional(best) : std::nullopt;
}

}  // namespace

long double SegmentWindow::value(long double t) const {
    if (2 * std::abs(t) > static_cast<long double>(taps)) return 0;
    const long double x = kPi * static_cast<long double>(tau) * t;
    const long double sinc = x == 0 ? 1 : std::sin(x) / x;
    const long double s = static_cast<long double>(sigma);
    return sinc * std::exp(-kPi * kPi * t * t / s) * std::sqrt(kPi / s);
}

long double SegmentWindow::spectrum(long double x) const {
    const long double root = std::sqrt(static_cast<long double>(sigma)), half = static_cast<long double>(tau) / 2;
    return std::sqrt(kPi) / (4 * root * half) * (std::erf(root * (x + half)) - std::erf(root * (x - half)));
}

int most_segment_digits(Precision precision, index_t over, index_t under, index_t n) {
    int digits = 0;
    while (search(digits + 1, precision, over, under, n)) ++digits;
    return digits;
}

Result<SegmentWindow> segment_window(int digits, Precision precision, index_t over, index_t under, index_t n) {
    if (digits >= 1) {
        if (const auto window = search(digits, precision, over, under, n)) return *window;
    }
    return error(Code::invalid_argument, "digits=", digits, " is not among the 1 to ",
                 most_segment_digits(precision, over, under, n), " that ", precision_name(precision),
                 " numbers allow where ", over, "/", under, " as many points are transformed");
}

}  // namespace spanfft
