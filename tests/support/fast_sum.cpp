// Fast transforms in 113 or 64 bits; see fast_sum.hpp.
#include "support/fast_sum.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

namespace spanfft::test {

namespace {

template <class Real>
struct Complex {
    Real re = 0;
    Real im = 0;
};

template <class Real>
using Line = std::vector<Complex<Real>>;

template <class Real>
Complex<Real> turn_as(index_t numerator, index_t denominator) {
    const WideComplex exact = turn(numerator, denominator);
    return {static_cast<Real>(exact.re), static_cast<Real>(exact.im)};
}

size_t smallest_factor(size_t n) {
    size_t p = 2;
    while (n % p) ++p;
    return p;
}

bool has_small_factors(size_t n) {
    while (n > 1) {
        const size_t p = smallest_factor(n);
        if (p > 13) return false;
        n /= p;
    }
    return true;
}

// e^(-2 pi i e / n) for e < n.
template <class Real>
const Line<Real>& roots(size_t n) {
    static std::map<size_t, Line<Real>> tables;
    Line<Real>& table = tables[n];
    for (size_t e = table.size(); e < n; ++e)
        table.push_back(turn_as<Real>(-2 * static_cast<index_t>(e), static_cast<index_t>(n)));
    return table;
}

template <class Real>
Complex<Real> operator+(const Complex<Real>& a, const Complex<Real>& b) {
    return {a.re + b.re, a.im + b.im};
}
template <class Real>
Complex<Real> operator-(const Complex<Real>& a, const Complex<Real>& b) {
    return {a.re - b.re, a.im - b.im};
}
template <class Real>
Complex<Real> operator*(const Complex<Real>& a, const Complex<Real>& b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// Forward, of every stride-th point of a line that `root` divides: p transforms of n/p points, then n/p of p.
template <class Real>
void decimate(const Complex<Real>* in, size_t stride, size_t n, const Line<Real>& root, Complex<Real>* out) {
    if (n == 1) {
        out[0] = in[0];
        return;
    }
    const size_t p = smallest_factor(n), rest = n / p, quotient = root.size() / p;
    for (size_t r = 0; r < p; ++r) decimate(in + r * stride, stride * p, rest, root, out + r * rest);
    Line<Real> parts(p);
    for (size_t k = 0; k < rest; ++k) {
        parts[0] = out[k];
        for (size_t r = 1; r < p; ++r) parts[r] = k == 0 ? out[r * rest] : out[r * rest + k] * root[r * k * stride];
        for (size_t q = 0; q < p; ++q) {
            Complex<Real> sum = parts[0];
            for (size_t r = 1; r < p; ++r) {
                if (q == 0) {
                    sum = sum + parts[r];
                } else {
                    sum = p == 2 ? sum - parts[r] : sum + parts[r] * root[q * r % p * quotient];
                }
            }
            out[q * rest + k] = sum;
        }
    }
}

// Backward is forward of the conjugate, conjugated. No factor either way.
template <class Real>
Line<Real> transform(Line<Real> line, bool forward) {
    Line<Real> out(line.size());
    if (!forward)
        for (auto& x : line) x.im = -x.im;
    decimate(line.data(), 1, line.size(), roots<Real>(line.size()), out.data());
    if (!forward)
        for (auto& x : out) x.im = -x.im;
    return out;
}

// The factors of one set of angles and lengths. With the angle's product multiplied out and
// 2 j k = j^2 + k^2 - (k - j)^2, in units of pi / (2 denominator):
// 2 (a j + b)(c k + d) = [ac j^2 + 2 ad j] + [ac k^2 + 2 bc k + 2 bd] - ac (k - j)^2.
template <class Real>
struct Chirp {
    Line<Real> before, after;  // of inputs and outputs
    Line<Real> spectrum;       // of the chirp in k - j, with 1/points

    Chirp(const Angles& at, index_t inputs, index_t outputs) {
        const index_t square = at.a * at.c, unit = 2 * at.denominator;
        for (index_t j = 0; j < inputs; ++j)
            before.push_back(turn_as<Real>(square * j * j + 2 * at.a * at.d * j, unit));
        for (index_t k = 0; k < outputs; ++k)
            after.push_back(turn_as<Real>(square * k * k + 2 * at.b * at.c * k + 2 * at.b * at.d, unit));
        const size_t points = std::bit_ceil(static_cast<size_t>(inputs + outputs - 1));
        spectrum.resize(points);
        for (index_t m = 0; m < std::max(inputs, outputs); ++m) {
            const auto chirp = turn_as<Real>(-square * m * m, unit);
            if (m < outputs) spectrum[static_cast<size_t>(m)] = chirp;
            if (m < inputs && m > 0) spectrum[points - static_cast<size_t>(m)] = chirp;
        }
        spectrum = transform(std::move(spectrum), true);
        for (auto& value : spectrum) {
            value.re /= static_cast<Real>(points);
            value.im /= static_cast<Real>(points);
        }
    }
};

template <class Real>
Line<Real> chirp_sums(const Angles& at, const Line<Real>& in, index_t outputs) {
    using Key = std::tuple<index_t, index_t, index_t, index_t, index_t, size_t, index_t>;
    static std::map<Key, Chirp<Real>> kept;
    const Key key{at.denominator, at.a, at.b, at.c, at.d, in.size(), outputs};
    auto found = kept.find(key);
    if (found == kept.end()) found = kept.emplace(key, Chirp<Real>(at, static_cast<index_t>(in.size()), outputs)).first;
    const Chirp<Real>& chirp = found->second;
    Line<Real> line(chirp.spectrum.size());
    for (size_t j = 0; j < in.size(); ++j) line[j] = in[j] * chirp.before[j];
    line = transform(std::move(line), true);
    for (size_t i = 0; i < line.size(); ++i) line[i] = line[i] * chirp.spectrum[i];
    line = transform(std::move(line), false);
    line.resize(static_cast<size_t>(outputs));
    for (size_t k = 0; k < line.size(); ++k) line[k] = line[k] * chirp.after[k];
    return line;
}

template <class Real>
std::vector<WideComplex> sums_in(const Angles& at, const std::vector<WideComplex>& in, index_t outputs) {
    Line<Real> line;
    for (const WideComplex& x : in) line.push_back({static_cast<Real>(x.re), static_cast<Real>(x.im)});
    const bool fourier = at.b == 0 && at.d == 0 && std::abs(at.a * at.c) == 2 && at.denominator == std::ssize(in);
    if (fourier && has_small_factors(in.size())) {
        line = transform(std::move(line), at.a * at.c < 0);
    } else {
        line = chirp_sums(at, line, outputs);
    }
    std::vector<WideComplex> out;
    for (size_t k = 0; k < static_cast<size_t>(outputs); ++k)
        out.push_back({static_cast<Wide>(line[k].re), static_cast<Wide>(line[k].im)});
    return out;
}

}  // namespace

std::vector<WideComplex> fast_sums(const Angles& at, const std::vector<WideComplex>& in, index_t outputs,
                                   Precision tested) {
    return tested == Precision::extended ? sums_in<Wide>(at, in, outputs) : sums_in<long double>(at, in, outputs);
}

}  // namespace spanfft::test
