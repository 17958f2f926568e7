// Names of windows and their points; see window.hpp.
#include "plan/window.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/nearest.hpp"

namespace spanfft {

namespace {

struct CosineSum {
    const char* name;
    std::vector<double> coefficients;  // SciPy's, which has point j at j/n - 1/2: every second one changes its sign
};

const std::vector<CosineSum>& cosine_sums() {
    static const std::vector<CosineSum> all = {
        {"hann", {0.5, -0.5}},
        {"hamming", {0.54, -0.46}},
        {"blackman", {0.42, -0.50, 0.08}},
        {"nuttall", {0.3635819, -0.4891775, 0.1365995, -0.0106411}},
        {"blackmanharris", {0.35875, -0.48829, 0.14128, -0.01168}},
        {"flattop", {0.21557895, -0.41663158, 0.277263158, -0.083578947, 0.006947368}}};
    return all;
}

constexpr double kMostBeta = 500;  // I0(500) is 1e215

constexpr long double kTwoPi = 6.283185307179586476925286766559005768L;

// I0(x) from x^2/4: the sum of (x^2/4)^k / (k!)^2, by Horner's rule from the last term on. Terms fall from k = x/2 on;
// behind 1.4 x + 32 of them the rest is below 2^-64 of the sum, generously.
long double bessel_i0(long double quarter_square, double most_x) {
    long double sum = 1;
    for (int k = static_cast<int>(1.4 * most_x) + 32; k >= 1; --k)
        sum = 1 + sum * quarter_square / (static_cast<long double>(k) * static_cast<long double>(k));
    return sum;
}

// Kaiser's window I0(beta sqrt(1-v)) / I0(beta) for v = 0..1 as a sum of a_m T_m(2v-1), interpolated at Chebyshev's
// points. The a_m fall off behind sqrt(23 beta), or like a factorial; what is below rounding is left out.
std::vector<long double> kaiser_series(double beta) {
    const int points = 40 + static_cast<int>(6 * std::sqrt(beta));
    std::vector<long double> cosines(static_cast<size_t>(4 * points)), values(static_cast<size_t>(points));
    for (size_t i = 0; i < cosines.size(); ++i)
        cosines[i] = std::cos(kTwoPi * static_cast<long double>(i) / static_cast<long double>(cosines.size()));
    const long double most = static_cast<long double>(beta) * static_cast<long double>(beta) / 4;
    for (size_t j = 0; j < values.size(); ++j)
        values[j] = bessel_i0(most * (1 - cosines[2 * j + 1]) / 2, beta) / bessel_i0(most, beta);
    std::vector<long double> series;
    for (size_t m = 0; m < values.size(); ++m) {
        long double sum = 0;
        for (size_t j = 0; j < values.size(); ++j) sum += values[j] * cosines[m * (2 * j + 1) % cosines.size()];
        series.push_back(sum * (m == 0 ? 1 : 2) / static_cast<long double>(points));
    }
    while (series.size() > 1 && std::abs(series.back()) < 2e-19L) series.pop_back();
    return series;
}

}  // namespace

Result<Window> Window::parse(const std::string& text) {
    Window window;
    std::string known;
    for (const CosineSum& sum : cosine_sums()) {
        if (text == sum.name) {
            window.cosines_ = sum.coefficients;
            return window;
        }
        known += std::string(sum.name) + ", ";
    }
    constexpr const char* kKaiser = "kaiser:";
    if (text.rfind(kKaiser, 0) == 0) {
        const char *begin = text.data() + std::char_traits<char>::length(kKaiser), *end = text.data() + text.size();
        const auto [stop, failed] = std::from_chars(begin, end, window.beta_);
        if (failed == std::errc() && stop == end && begin != end && window.beta_ >= 0 && window.beta_ <= kMostBeta)
            return window;
        return error(Code::invalid_argument, "window=", text, ": beta must be a number from 0 to ", kMostBeta,
                     ", as in kaiser:8.6");
    }
    return error(Code::invalid_argument, "window=", text, " is not known; use one of ", known, "kaiser:BETA",
                 did_you_mean(text, known + "kaiser"));
}

Window::Turn Window::turn(index_t j) const {
    const long double angle = kTwoPi * (static_cast<long double>(j) / static_cast<long double>(n_));
    return {std::cos(angle), std::sin(angle)};
}

void Window::prepare(index_t n) {
    n_ = n;
    turns_.resize(kRun);
    for (index_t i = 0; i < kRun; ++i) turns_[static_cast<size_t>(i)] = turn(i);
    if (cosines_.empty()) series_ = kaiser_series(beta_);
}

// Clenshaw's rule, all points of a run together.
template <class R>
void Window::fill_cosines(index_t j, index_t count, R* to) const {
    const index_t inside = j % kRun;
    const Turn begin = turn(j - inside);  // runs begin at multiples of 64, wherever a call begins
    const R c = static_cast<R>(begin.cosine), s = static_cast<R>(begin.sine);
    std::array<R, kRun> x{}, above{}, now{};
    for (index_t i = 0; i < count; ++i) {
        const Turn& small = turns_[static_cast<size_t>(inside + i)];
        x[static_cast<size_t>(i)] = c * static_cast<R>(small.cosine) - s * static_cast<R>(small.sine);
    }
    for (size_t m = cosines_.size() - 1; m >= 1; --m) {
        const R coefficient = static_cast<R>(cosines_[m]);
        for (size_t i = 0; i < kRun; ++i) {
            const R next = coefficient + 2 * x[i] * now[i] - above[i];
            above[i] = now[i];
            now[i] = next;
        }
    }
    for (index_t i = 0; i < count; ++i) {
        const auto at = static_cast<size_t>(i);
        to[i] = static_cast<R>(cosines_[0]) + x[at] * now[at] - above[at];
    }
}

// Clenshaw's rule for y = 2v-1 in Reinsch's form, which takes v itself: at v = 0, where the window is largest and
// steepest in v, y would have lost v's last digits. The a_m change their signs there, so nothing cancels.
template <class R>
void Window::fill_kaiser(index_t j, index_t count, R* to) const {
    std::array<R, kRun> v{}, now{}, sum{};
    for (index_t i = 0; i < count; ++i) {
        const R u = static_cast<R>(2 * (j + i) - n_) / static_cast<R>(n_);
        v[static_cast<size_t>(i)] = u * u;
    }
    for (size_t m = series_.size() - 1; m >= 1; --m) {
        const R a = static_cast<R>(series_[m]);
        for (size_t i = 0; i < kRun; ++i) {
            sum[i] = a + 4 * v[i] * now[i] - sum[i];  // of this b and the last one
            now[i] = sum[i] - now[i];
        }
    }
    for (index_t i = 0; i < count; ++i) {
        const auto at = static_cast<size_t>(i);
        to[i] = static_cast<R>(series_[0]) + 2 * v[at] * now[at] - sum[at];
    }
}

template <class R>
void Window::fill(index_t first, index_t count, R* to) const {
    if (n_ == 1) {
        std::fill(to, to + count, R(1));
        return;
    }
    for (index_t i = 0; i < count;) {
        const index_t j = first + i, length = std::min(kRun - j % kRun, count - i);
        cosines_.empty() ? fill_kaiser(j, length, to + i) : fill_cosines(j, length, to + i);
        i += length;
    }
}

template void Window::fill(index_t, index_t, double*) const;
template void Window::fill(index_t, index_t, long double*) const;

}  // namespace spanfft
