// Fast transforms in 113 bits; see fast_sum.hpp.
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

using Line = std::vector<WideComplex>;

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
const Line& roots(size_t n) {
    static std::map<size_t, Line> tables;
    Line& table = tables[n];
    for (size_t e = table.size(); e < n; ++e)
        table.push_back(turn(-2 * static_cast<index_t>(e), static_cast<index_t>(n)));
    return table;
}

WideComplex operator+(const WideComplex& a, const WideComplex& b) { return {a.re + b.re, a.im + b.im}; }
WideComplex operator-(const WideComplex& a, const WideComplex& b) { return {a.re - b.re, a.im - b.im}; }

// Forward, of every stride-th point of a line that `root` divides: p transforms of n/p points, then n/p of p.
void decimate(const WideComplex* in, size_t stride, size_t n, const Line& root, WideComplex* out) {
    if (n == 1) {
        out[0] = in[0];
        return;
    }
    const size_t p = smallest_factor(n), rest = n / p, quotient = root.size() / p;
    for (size_t r = 0; r < p; ++r) decimate(in + r * stride, stride * p, rest, root, out + r * rest);
    Line parts(p);
    for (size_t k = 0; k < rest; ++k) {
        parts[0] = out[k];
        for (size_t r = 1; r < p; ++r) parts[r] = k == 0 ? out[r * rest] : out[r * rest + k] * root[r * k * stride];
        for (size_t q = 0; q < p; ++q) {
            WideComplex sum = parts[0];
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
Line transform(Line line, bool forward) {
    Line out(line.size());
    if (!forward)
        for (WideComplex& x : line) x.im = -x.im;
    decimate(line.data(), 1, line.size(), roots(line.size()), out.data());
    if (!forward)
        for (WideComplex& x : out) x.im = -x.im;
    return out;
}

// The factors of one set of angles and lengths. With the angle's product multiplied out and
// 2 j k = j^2 + k^2 - (k - j)^2, in units of pi / (2 denominator):
// 2 (a j + b)(c k + d) = [ac j^2 + 2 ad j] + [ac k^2 + 2 bc k + 2 bd] - ac (k - j)^2.
struct Chirp {
    Line before, after;  // of inputs and outputs
    Line spectrum;       // of the chirp in k - j, with 1/points

    Chirp(const Angles& at, index_t inputs, index_t outputs) {
        const index_t square = at.a * at.c, unit = 2 * at.denominator;
        for (index_t j = 0; j < inputs; ++j) before.push_back(turn(square * j * j + 2 * at.a * at.d * j, unit));
        for (index_t k = 0; k < outputs; ++k)
            after.push_back(turn(square * k * k + 2 * at.b * at.c * k + 2 * at.b * at.d, unit));
        const size_t points = std::bit_ceil(static_cast<size_t>(inputs + outputs - 1));
        spectrum.resize(points);
        for (index_t m = 0; m < std::max(inputs, outputs); ++m) {
            const WideComplex chirp = turn(-square * m * m, unit);
            if (m < outputs) spectrum[static_cast<size_t>(m)] = chirp;
            if (m < inputs && m > 0) spectrum[points - static_cast<size_t>(m)] = chirp;
        }
        spectrum = transform(std::move(spectrum), true);
        for (WideComplex& value : spectrum) {
            value.re /= static_cast<Wide>(points);
            value.im /= static_cast<Wide>(points);
        }
    }
};

Line chirp_sums(const Angles& at, const Line& in, index_t outputs) {
    using Key = std::tuple<index_t, index_t, index_t, index_t, index_t, size_t, index_t>;
    static std::map<Key, Chirp> kept;
    const Key key{at.denominator, at.a, at.b, at.c, at.d, in.size(), outputs};
    auto found = kept.find(key);
    if (found == kept.end()) found = kept.emplace(key, Chirp(at, static_cast<index_t>(in.size()), outputs)).first;
    const Chirp& chirp = found->second;
    Line line(chirp.spectrum.size());
    for (size_t j = 0; j < in.size(); ++j) line[j] = in[j] * chirp.before[j];
    line = transform(std::move(line), true);
    for (size_t i = 0; i < line.size(); ++i) line[i] = line[i] * chirp.spectrum[i];
    line = transform(std::move(line), false);
    line.resize(static_cast<size_t>(outputs));
    for (size_t k = 0; k < line.size(); ++k) line[k] = line[k] * chirp.after[k];
    return line;
}

}  // namespace

std::vector<WideComplex> fast_sums(const Angles& at, const std::vector<WideComplex>& in, index_t outputs) {
    const bool fourier = at.b == 0 && at.d == 0 && std::abs(at.a * at.c) == 2 && at.denominator == std::ssize(in);
    if (!fourier || !has_small_factors(in.size())) return chirp_sums(at, in, outputs);
    Line line = transform(in, at.a * at.c < 0);
    line.resize(static_cast<size_t>(outputs));
    return line;
}

}  // namespace spanfft::test
