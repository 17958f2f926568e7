// Transforms by definition; see direct_sum.hpp.
#include "support/direct_sum.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "engine/spec.hpp"
#include "support/fast_sum.hpp"

namespace spanfft::test {

namespace {

// All the turns of one denominator, once.
const std::vector<WideComplex>& turns(index_t denominator) {
    static std::map<index_t, std::vector<WideComplex>> tables;
    auto& table = tables[denominator];
    if (table.empty()) {
        for (index_t i = 0; i < 2 * denominator; ++i) table.push_back(turn(i, denominator));
    }
    return table;
}

// sum over j of in[j] e^(sign i pi a j/...): the numerators come from a function of j.
template <class Numerator>
WideComplex sum_of(const std::vector<WideComplex>& in, index_t denominator, Numerator numerator) {
    const auto& table = turns(denominator);
    WideComplex total;
    for (size_t j = 0; j < in.size(); ++j) {
        index_t at = numerator(static_cast<index_t>(j)) % (2 * denominator);
        if (at < 0) at += 2 * denominator;
        const WideComplex& w = table[static_cast<size_t>(at)];
        total.re += in[j].re * w.re - in[j].im * w.im;
        total.im += in[j].re * w.im + in[j].im * w.re;
    }
    return total;
}

// The whole line of a Hermitian spectrum.
std::vector<WideComplex> unfolded(index_t n, const std::vector<WideComplex>& half) {
    std::vector<WideComplex> full(static_cast<size_t>(n));
    for (index_t j = 0; j < n; ++j) {
        const bool mirrored = j > n / 2;
        WideComplex value = half[static_cast<size_t>(mirrored ? n - j : j)];
        if (j == 0 || 2 * j == n) value.im = 0;
        if (mirrored) value.im = -value.im;
        full[static_cast<size_t>(j)] = value;
    }
    return full;
}

// Output k of a real transform, from its sum of in[j] e^(i angle): ends that it counts once are taken off.
WideComplex real_output(Kernel kernel, const std::vector<WideComplex>& in, index_t k, const WideComplex& sum) {
    const Wide sign = k % 2 ? -1 : 1;
    Wide value = 2 * (kernel >= Kernel::dst1 ? sum.im : sum.re);
    if (kernel == Kernel::dct1) value -= in.front().re + sign * in.back().re;
    if (kernel == Kernel::dct3) value -= in.front().re;
    if (kernel == Kernel::dst3) value -= sign * in.back().re;
    return {value, 0};
}

WideComplex real_sum(Kernel kernel, index_t n, const std::vector<WideComplex>& in, index_t k) {
    switch (kernel) {
        case Kernel::dct1:
            return sum_of(in, n - 1, [=](index_t j) { return j * k; });
        case Kernel::dct2:
            return sum_of(in, 2 * n, [=](index_t j) { return (2 * j + 1) * k; });
        case Kernel::dct3:
            return sum_of(in, 2 * n, [=](index_t j) { return j * (2 * k + 1); });
        case Kernel::dct4:
            return sum_of(in, 4 * n, [=](index_t j) { return (2 * j + 1) * (2 * k + 1); });
        case Kernel::dst1:
            return sum_of(in, n + 1, [=](index_t j) { return (j + 1) * (k + 1); });
        case Kernel::dst2:
            return sum_of(in, 2 * n, [=](index_t j) { return (2 * j + 1) * (k + 1); });
        case Kernel::dst3:
            return sum_of(in, 2 * n, [=](index_t j) { return (j + 1) * (2 * k + 1); });
        default:
            return sum_of(in, 4 * n, [=](index_t j) { return (2 * j + 1) * (2 * k + 1); });
    }
}

// The same angles as factors, for all outputs at once.
Angles angles_of(Kernel kernel, index_t n) {
    switch (kernel) {
        case Kernel::c2c_forward:
        case Kernel::r2c:
            return {n, -2, 0, 1, 0};
        case Kernel::c2c_backward:
        case Kernel::c2r:
            return {n, 2, 0, 1, 0};
        case Kernel::dct1:
            return {n - 1, 1, 0, 1, 0};
        case Kernel::dct2:
            return {2 * n, 2, 1, 1, 0};
        case Kernel::dct3:
            return {2 * n, 1, 0, 2, 1};
        case Kernel::dst1:
            return {n + 1, 1, 1, 1, 1};
        case Kernel::dst2:
            return {2 * n, 2, 1, 1, 1};
        case Kernel::dst3:
            return {2 * n, 1, 1, 2, 1};
        default:
            return {4 * n, 2, 1, 2, 1};
    }
}

__extension__ typedef __int128 Wide128;

// e^(i pi (a j + b)(c k + d) / denominator), the product reduced in integers.
WideComplex exact_factor(const Angles& at, index_t j, index_t k) {
    const index_t whole = 2 * at.denominator;
    return turn(static_cast<index_t>(static_cast<Wide128>(at.a * j + at.b) * (at.c * k + at.d) % whole),
                at.denominator);
}

struct LongComplex {
    long double re, im;
};

WideComplex long_sum(const Angles& at, const std::vector<LongComplex>& in, index_t k) {
    constexpr index_t kAnchored = 64;  // the rounding of the step adds up: 64 * 5e-20
    const auto step = exact_factor({at.denominator, at.a, 0, at.c, at.d}, 1, k);
    const auto step_re = static_cast<long double>(step.re), step_im = static_cast<long double>(step.im);
    WideComplex total;
    for (index_t first = 0; first < std::ssize(in); first += kAnchored) {
        const WideComplex anchor = exact_factor(at, first, k);
        auto re = static_cast<long double>(anchor.re), im = static_cast<long double>(anchor.im);
        long double sum_re = 0, sum_im = 0;
        for (index_t j = first; j < std::min(first + kAnchored, static_cast<index_t>(std::ssize(in))); ++j) {
            const LongComplex& x = in[static_cast<size_t>(j)];
            sum_re += x.re * re - x.im * im;
            sum_im += x.re * im + x.im * re;
            const long double next = re * step_re - im * step_im;
            im = re * step_im + im * step_re;
            re = next;
        }
        total.re += static_cast<Wide>(sum_re);
        total.im += static_cast<Wide>(sum_im);
    }
    return total;
}

// to[k] += height e^(-2 pi i place k / n)
void add_tone(index_t n, index_t place, const WideComplex& height, std::vector<WideComplex>& to) {
    constexpr index_t kAnchored = 64;
    const Angles at{n, -2, 0, 1, 0};
    const WideComplex step = exact_factor(at, place, 1);
    const auto step_re = static_cast<long double>(step.re), step_im = static_cast<long double>(step.im);
    for (index_t first = 0; first < n; first += kAnchored) {
        const WideComplex anchor = height * exact_factor(at, place, first);
        auto re = static_cast<long double>(anchor.re), im = static_cast<long double>(anchor.im);
        for (index_t k = first; k < std::min(first + kAnchored, n); ++k) {
            to[static_cast<size_t>(k)].re += static_cast<Wide>(re);
            to[static_cast<size_t>(k)].im += static_cast<Wide>(im);
            const long double next = re * step_re - im * step_im;
            im = re * step_im + im * step_re;
            re = next;
        }
    }
}

std::vector<WideComplex> all_outputs(Kernel kernel, index_t n, const std::vector<WideComplex>& in, Precision tested) {
    const index_t outputs = kernel == Kernel::r2c ? n / 2 + 1 : n;
    std::vector<WideComplex> out;
    if (n <= kShort) {
        for (index_t k = 0; k < outputs; ++k) out.push_back(direct_output(kernel, n, in, k));
        return out;
    }
    out = fast_sums(angles_of(kernel, n), kernel == Kernel::c2r ? unfolded(n, in) : in, outputs, tested);
    for (index_t k = 0; k < outputs; ++k) {
        WideComplex& value = out[static_cast<size_t>(k)];
        if (kernel == Kernel::c2r) value.im = 0;
        if (is_r2r(kernel)) value = real_output(kernel, in, k, value);
    }
    return out;
}

bool takes_complex(Kernel k) { return k <= Kernel::c2c_backward || k == Kernel::c2r; }
bool gives_complex(Kernel k) { return k <= Kernel::r2c; }

// The transform of one axis of a C-order array: before x points x after.
std::vector<WideComplex> along_axis(Kernel kernel, index_t n, index_t before, index_t after,
                                    const std::vector<WideComplex>& in, Precision tested) {
    const index_t in_points = kernel == Kernel::c2r ? n / 2 + 1 : n;
    const index_t out_points = kernel == Kernel::r2c ? n / 2 + 1 : n;
    std::vector<WideComplex> out(static_cast<size_t>(before * out_points * after));
    std::vector<WideComplex> line(static_cast<size_t>(in_points));
    for (index_t b = 0; b < before; ++b) {
        for (index_t a = 0; a < after; ++a) {
            for (index_t j = 0; j < in_points; ++j) {
                line[static_cast<size_t>(j)] = in[static_cast<size_t>((b * in_points + j) * after + a)];
            }
            const auto result = direct_sum(kernel, n, line, tested);
            for (index_t k = 0; k < out_points; ++k) {
                out[static_cast<size_t>((b * out_points + k) * after + a)] = result[static_cast<size_t>(k)];
            }
        }
    }
    return out;
}

}  // namespace

WideComplex direct_output(Kernel kernel, index_t n, const std::vector<WideComplex>& in, index_t k) {
    switch (kernel) {
        case Kernel::c2c_forward:
        case Kernel::r2c:
            return sum_of(in, n, [=](index_t j) { return -2 * j * k; });
        case Kernel::c2c_backward:
            return sum_of(in, n, [=](index_t j) { return 2 * j * k; });
        case Kernel::c2r:
            return {sum_of(unfolded(n, in), n, [=](index_t j) { return 2 * j * k; }).re, 0};
        default:
            return real_output(kernel, in, k, real_sum(kernel, n, in, k));
    }
}

std::vector<WideComplex> long_outputs(Kernel kernel, index_t n, const std::vector<WideComplex>& in,
                                      const std::vector<index_t>& bins) {
    const Angles angles = angles_of(kernel, n);
    std::vector<LongComplex> line;
    for (const WideComplex& x : kernel == Kernel::c2r ? unfolded(n, in) : in)
        line.push_back({static_cast<long double>(x.re), static_cast<long double>(x.im)});
    std::vector<WideComplex> out;
    for (const index_t k : bins) {
        WideComplex value = long_sum(angles, line, k);
        if (kernel == Kernel::c2r) value.im = 0;
        if (is_r2r(kernel)) value = real_output(kernel, in, k, value);
        out.push_back(value);
    }
    return out;
}

std::vector<WideComplex> tones(index_t n, const std::vector<index_t>& places, const std::vector<WideComplex>& heights) {
    std::vector<WideComplex> out(static_cast<size_t>(n));
    for (size_t i = 0; i < places.size(); ++i) add_tone(n, places[i], heights[i], out);
    return out;
}

std::vector<WideComplex> direct_sum(Kernel kernel, index_t n, const std::vector<WideComplex>& in, Precision tested) {
    // The same noise is transformed by every engine, so the last answer of a length is kept.
    using Key = std::tuple<Kernel, index_t, bool>;
    static std::map<Key, std::pair<std::vector<WideComplex>, std::vector<WideComplex>>> last;
    auto& [kept_in, kept_out] = last[{kernel, n, tested == Precision::extended}];
    auto equal = [](const WideComplex& a, const WideComplex& b) { return a.re == b.re && a.im == b.im; };
    if (kept_in.size() == in.size() && std::equal(in.begin(), in.end(), kept_in.begin(), equal)) return kept_out;
    std::vector<WideComplex> out = all_outputs(kernel, n, in, tested);
    kept_in = in;
    kept_out = out;
    return out;
}

std::vector<WideComplex> direct_sum_nd(Kernel kernel, const std::vector<index_t>& shape,
                                       const std::vector<WideComplex>& in, Precision tested) {
    const size_t last = shape.size() - 1;
    const Kernel others = kernel == Kernel::r2c   ? Kernel::c2c_forward
                          : kernel == Kernel::c2r ? Kernel::c2c_backward
                                                  : kernel;
    std::vector<index_t> extents = shape;  // of the array as it is now
    if (kernel == Kernel::c2r) extents[last] = shape[last] / 2 + 1;
    std::vector<WideComplex> data = in;
    auto transform_axis = [&](size_t axis, Kernel k) {
        index_t before = 1, after = 1;
        for (size_t i = 0; i < axis; ++i) before *= extents[i];
        for (size_t i = axis + 1; i < extents.size(); ++i) after *= extents[i];
        data = along_axis(k, shape[axis], before, after, data, tested);
        extents[axis] = k == Kernel::r2c ? shape[axis] / 2 + 1 : shape[axis];
    };
    if (kernel != Kernel::c2r) transform_axis(last, kernel);
    for (size_t axis = 0; axis < last; ++axis) transform_axis(axis, others);
    if (kernel == Kernel::c2r) transform_axis(last, kernel);
    return data;
}

double relative_error(const std::vector<WideComplex>& a, const std::vector<WideComplex>& b) {
    Wide error = 0, norm = 0;
    for (size_t i = 0; i < b.size(); ++i) {
        const Wide re = a[i].re - b[i].re;
        const Wide im = a[i].im - b[i].im;
        error += re * re + im * im;
        norm += b[i].re * b[i].re + b[i].im * b[i].im;
    }
    if (norm == 0) return error == 0 ? 0 : INFINITY;
    return std::sqrt(static_cast<double>(error / norm));
}

double rule(const LocalSpec& spec) {
    index_t points = 1;
    index_t largest = 1;
    for (const LoopDim& axis : spec.transform) {
        index_t n = axis.n;
        if (spec.kernel == Kernel::dct1) {
            n = 2 * (n - 1);
        } else if (spec.kernel == Kernel::dst1) {
            n = 2 * (n + 1);
        } else if (spec.kernel > Kernel::c2r) {
            n = 2 * n;
        }
        points *= n;
        for (index_t p = 2; n > 1; ++p) {
            for (; n % p == 0; n /= p) largest = std::max(largest, p);
        }
    }
    return (largest <= 13 ? 0.6 : 1.5) * precision_eps(spec.precision) *
           std::sqrt(std::log2(static_cast<double>(std::max<index_t>(points, 2))));
}

namespace {

// A strided array with its filling, as numbers of type T.
template <class T>
struct Side {
    bool complex = true;
    index_t low = 0;  // lowest offset, in elements
    std::vector<T> numbers;
    std::vector<bool> used;  // by element

    index_t width() const { return complex ? 2 : 1; }
    T* origin() { return numbers.data() - low * width(); }
    WideComplex get(index_t offset) const {
        const auto at = static_cast<size_t>((offset - low) * width());
        return {static_cast<Wide>(numbers[at]), complex ? static_cast<Wide>(numbers[at + 1]) : Wide(0)};
    }
};

struct Walk {
    std::vector<index_t> points;
    std::vector<index_t> strides;
    // Offsets of every point in C order.
    std::vector<index_t> offsets() const {
        std::vector<index_t> result{0};
        for (size_t i = 0; i < points.size(); ++i) {
            std::vector<index_t> next;
            for (index_t base : result) {
                for (index_t p = 0; p < points[i]; ++p) next.push_back(base + p * strides[i]);
            }
            result = std::move(next);
        }
        return result;
    }
};

Walk batch_walk(const LocalSpec& spec, index_t LoopDim::* stride) {
    Walk walk;
    for (const LoopDim& loop : spec.batch) {
        walk.points.push_back(loop.n);
        walk.strides.push_back(loop.*stride);
    }
    return walk;
}

Walk transform_walk(const LocalSpec& spec, index_t LoopDim::* stride, bool halved) {
    Walk walk;
    for (size_t i = 0; i < spec.transform.size(); ++i) {
        const index_t n = spec.transform[i].n;
        walk.points.push_back(halved && i + 1 == spec.transform.size() ? n / 2 + 1 : n);
        walk.strides.push_back(spec.transform[i].*stride);
    }
    return walk;
}

struct Noise {
    uint64_t state = 88172645463325252ULL;
    double next() {  // xorshift64; on a grid of 2^-20 in [-1, 1)
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return static_cast<double>(state >> 43) * 0x1p-20 - 1.0;
    }
};

template <class T>
Side<T> make_side(bool complex, const std::vector<index_t>& batch, const std::vector<index_t>& transform, T filling) {
    Side<T> side;
    side.complex = complex;
    if (batch.empty() || transform.empty()) return side;
    const auto b = std::minmax_element(batch.begin(), batch.end());
    const auto t = std::minmax_element(transform.begin(), transform.end());
    side.low = *b.first + *t.first;
    const index_t elems = *b.second + *t.second - side.low + 1;
    side.numbers.assign(static_cast<size_t>(elems * side.width()), filling);
    side.used.assign(static_cast<size_t>(elems), false);
    for (index_t x : batch) {
        for (index_t y : transform) side.used[static_cast<size_t>(x + y - side.low)] = true;
    }
    return side;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

template <class T>
Outcome run_typed(const LocalSpec& spec, const LocalFft& fft) {
    const T filling = T(-77.25);
    const bool c2r = spec.kernel == Kernel::c2r;
    const auto in_batch = batch_walk(spec, &LoopDim::in_stride).offsets();
    const auto out_batch = batch_walk(spec, &LoopDim::out_stride).offsets();
    const auto in_points = transform_walk(spec, &LoopDim::in_stride, c2r).offsets();
    const auto out_points = transform_walk(spec, &LoopDim::out_stride, spec.kernel == Kernel::r2c).offsets();
    Side<T> in = make_side<T>(takes_complex(spec.kernel), in_batch, in_points, filling);
    Side<T> out = make_side<T>(gives_complex(spec.kernel), out_batch, out_points, filling);
    Noise noise;
    for (size_t i = 0; i < in.numbers.size(); ++i) {
        if (in.used[i / static_cast<size_t>(in.width())]) in.numbers[i] = static_cast<T>(noise.next());
    }
    const Side<T> before = in;
    Outcome outcome;
    if (spec.in_place) {
        // Both sides begin at the lowest offset, and lie over each other.
        std::vector<T> shared(std::max(in.numbers.size(), out.numbers.size()), filling);
        std::copy(in.numbers.begin(), in.numbers.end(), shared.begin());
        T* origin = shared.data() - in.low * in.width();
        fft.execute(origin, origin);
        std::copy_n(shared.begin(), out.numbers.size(), out.numbers.begin());
    } else {
        fft.execute(in.origin(), out.origin());
        outcome.input_preserved = same_bits(in.numbers, before.numbers);
        for (size_t i = 0; i < out.numbers.size(); ++i) {
            if (!out.used[i / static_cast<size_t>(out.width())] && out.numbers[i] != filling) {
                outcome.surroundings_kept = false;
            }
        }
    }
    std::vector<index_t> shape;
    for (const LoopDim& axis : spec.transform) shape.push_back(axis.n);
    std::vector<WideComplex> all_got, all_expected;
    for (size_t b = 0; b < in_batch.size(); ++b) {
        std::vector<WideComplex> given, got;
        for (index_t p : in_points) given.push_back(before.get(in_batch[b] + p));
        for (index_t p : out_points) got.push_back(out.get(out_batch[b] + p));
        auto expected = shape.empty() ? given : direct_sum_nd(spec.kernel, shape, given, spec.precision);
        for (WideComplex& value : expected) value.re *= spec.scale, value.im *= spec.scale;
        outcome.worst_error = std::max(outcome.worst_error, relative_error(got, expected));
        all_got.insert(all_got.end(), got.begin(), got.end());
        all_expected.insert(all_expected.end(), expected.begin(), expected.end());
    }
    outcome.error = relative_error(all_got, all_expected);
    return outcome;
}

}  // namespace

Outcome run(const LocalSpec& spec, const LocalFft& fft) {
    switch (spec.precision) {
        case Precision::single:
            return run_typed<float>(spec, fft);
        case Precision::dbl:
            return run_typed<double>(spec, fft);
        case Precision::extended:
            break;
    }
    return run_typed<long double>(spec, fft);
}

constexpr index_t kManyPoints = 1 << 12;

namespace {

// In parts of the rule; 0 for engines that are never passed over.
double part_of_rule(const Engine& engine, const LocalSpec& spec) {
    // Of short lines many, as one draw of few numbers strays from the mean.
    LocalSpec many = spec;
    const index_t n = spec.transform[0].n;
    if (spec.transform.size() == 1 && spec.batch.empty() && n < kManyPoints)
        many.batch = {{ceil_div(kManyPoints, n), input_points(spec, 0), output_points(spec, 0)}};
    const auto fft = engine.plan(many);
    return engine.name() == "mkl" && fft.ok() ? run(many, *fft.value()).error / rule(spec) : 0;
}

}  // namespace

bool misses_rule(const Engine& engine, const LocalSpec& spec) { return part_of_rule(engine, spec) > 1; }

bool comes_near_rule(const Engine& engine, const LocalSpec& spec) { return part_of_rule(engine, spec) > 0.85; }

}  // namespace spanfft::test
