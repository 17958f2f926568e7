// Tables of roots and the multiplication of rows; see twiddles.hpp.
//
// In registers a complex number x = (a, b) times w = (c, d) is x * (c, c) + (b, a) * (-d, d). So of each of the 64
// neighbours (c, c) and (-d, d) are kept, and the product with a chunk's factor (p, q) is again of that form:
// (c, c) p + (-d, d) (q, -q) and (c, c) (-q, q) + (-d, d) p.
#include "core/twiddles.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace spanfft {

namespace {

constexpr index_t kLine = 64;
constexpr index_t kChunk = Twiddles::kChunk;

// A row's factors in memory: doubled parts and signed parts of the neighbours, then the chunks' factors.
template <class T>
struct Factors {
    T* doubled;
    T* signed_parts;
    Pair<T>* chunks;
    explicit Factors(void* memory)
        : doubled(static_cast<T*>(memory)),
          signed_parts(doubled + 2 * kChunk),
          chunks(reinterpret_cast<Pair<T>*>(signed_parts + 2 * kChunk)) {}
};

// (a, b) -> (b, a) for each complex number of a register.
template <class T, int bytes, int... lane>
SPANFFT_INLINE void swap_parts(const Vector<T, bytes>& x, Vector<T, bytes>& swapped,
                               std::integer_sequence<int, lane...>) {
    shuffle_vectors<(lane ^ 1)...>(x, x, swapped);
}

template <class T, int bytes>
SPANFFT_INLINE void alternate(T value, Vector<T, bytes>& v) {  // (-value, value, ...)
    constexpr int lanes = bytes / static_cast<int>(sizeof(T));
#pragma GCC unroll 16
    for (int i = 0; i < lanes; ++i) v[i] = i % 2 ? value : -value;
}

// Elements [begin, end) of a chunk whose first element is from[0], to[0].
template <class T>
SPANFFT_INLINE void multiply_some(const Factors<T>& f, const Pair<T>& chunk, index_t begin, index_t end,
                                  const Pair<T>* from, Pair<T>* to) {
    for (index_t i = begin; i < end; ++i) {
        const Pair<T> w = multiply(chunk, Pair<T>{f.doubled[2 * i], f.signed_parts[2 * i + 1]});
        to[i] = multiply(from[i], w);
    }
}

template <class T, int bytes, bool stream>
SPANFFT_INLINE void multiply_chunk(const Factors<T>& f, const Pair<T>& chunk, const Pair<T>* from, Pair<T>* to) {
    using V = Vector<T, bytes>;
    constexpr int lanes = bytes / static_cast<int>(sizeof(T));
    V q;
    alternate<T, bytes>(chunk.im, q);
#pragma GCC unroll 4
    for (index_t i = 0; i < 2 * kChunk; i += lanes) {
        V c, d, x, y;
        load_vector(c, f.doubled + i);
        load_vector(d, f.signed_parts + i);
        load_vector(x, reinterpret_cast<const T*>(from) + i);
        swap_parts<T, bytes>(x, y, std::make_integer_sequence<int, lanes>());
        const V doubled = c * chunk.re - d * q, signed_parts = c * q + d * chunk.re;
        const V product = x * doubled + y * signed_parts;
        store_vector<stream>(reinterpret_cast<T*>(to) + i, product);
    }
}

// A row whose first whole chunk begins at element `lead`.
template <class T, int bytes, bool stream>
SPANFFT_INLINE void multiply_chunks(const Factors<T>& f, index_t lead, index_t points, const void* from_row,
                                    void* to_row) {
    const auto* from = static_cast<const Pair<T>*>(from_row);
    auto* to = static_cast<Pair<T>*>(to_row);
    const Pair<T>* chunk = f.chunks;
    if (lead > 0) {
        const index_t behind = lead - kChunk;
        multiply_some(f, *chunk++, -behind, std::min(kChunk, points - behind), from + behind, to + behind);
    }
    index_t k = lead;
    for (; k + kChunk <= points; k += kChunk) multiply_chunk<T, bytes, stream>(f, *chunk++, from + k, to + k);
    if (k < points) multiply_some(f, *chunk, index_t{0}, points - k, from + k, to + k);
}

template <int bytes>
SPANFFT_INLINE void multiply_with(Precision precision, void* factors, index_t lead, index_t points, const void* from,
                                  void* to, bool stream) {
    if (precision == Precision::dbl) {
        const Factors<double> f(factors);
        stream ? multiply_chunks<double, bytes, true>(f, lead, points, from, to)
               : multiply_chunks<double, bytes, false>(f, lead, points, from, to);
    } else {
        const Factors<float> f(factors);
        stream ? multiply_chunks<float, bytes, true>(f, lead, points, from, to)
               : multiply_chunks<float, bytes, false>(f, lead, points, from, to);
    }
}

SPANFFT_FOR_AVX512 void multiply_64(Precision precision, void* factors, index_t lead, index_t points, const void* from,
                                    void* to, bool stream) {
    multiply_with<64>(precision, factors, lead, points, from, to, stream);
}
SPANFFT_FOR_AVX2 void multiply_32(Precision precision, void* factors, index_t lead, index_t points, const void* from,
                                  void* to, bool stream) {
    multiply_with<32>(precision, factors, lead, points, from, to, stream);
}
void multiply_16(Precision precision, void* factors, index_t lead, index_t points, const void* from, void* to,
                 bool stream) {
    multiply_with<16>(precision, factors, lead, points, from, to, stream);
}

// Long doubles, one by one.
void multiply_numbers(void* factors, index_t points, const void* from_row, void* to_row) {
    using T = long double;
    const Factors<T> f(factors);
    const auto* from = static_cast<const Pair<T>*>(from_row);
    auto* to = static_cast<Pair<T>*>(to_row);
    for (index_t k = 0; k < points; k += kChunk)
        multiply_some(f, f.chunks[k / kChunk], index_t{0}, std::min(kChunk, points - k), from + k, to + k);
}

// a and b may be one number.
template <class T>
SPANFFT_INLINE void fold_numbers(T s, const Pair<T>& d, Pair<T>& a, Pair<T>& b) {
    const Pair<T> sum{s * (a.re + b.re), s * (a.im - b.im)};
    const Pair<T> turned = multiply(Pair<T>{a.re - b.re, a.im + b.im}, d);
    b = {sum.re - turned.re, turned.im - sum.im};
    a = {sum.re + turned.re, sum.im + turned.im};
}

// (a, b), (c, d) -> (c, -d), (a, -b): a register of complex numbers backwards, conjugated.
template <class T, int bytes, int... lane>
SPANFFT_INLINE void reverse_conjugate(const Vector<T, bytes>& x, Vector<T, bytes>& reversed,
                                      std::integer_sequence<int, lane...>) {
    constexpr int last = sizeof...(lane) - 2;
    const Vector<T, bytes> signs = {(lane % 2 ? T(-1) : T(1))...};
    Vector<T, bytes> backwards;
    shuffle_vectors<(last - lane / 2 * 2 + lane % 2)...>(x, x, backwards);
    reversed = backwards * signs;
}

template <class T, int bytes>
SPANFFT_INLINE void fold_chunk(const Factors<T>& f, const Pair<T>& chunk, T s, Pair<T>* a, Pair<T>* b) {
    using V = Vector<T, bytes>;
    constexpr int lanes = bytes / static_cast<int>(sizeof(T));
    constexpr std::make_integer_sequence<int, lanes> all;
    V q;
    alternate<T, bytes>(chunk.im, q);
    auto* const forward = reinterpret_cast<T*>(a);
    auto* const backward = reinterpret_cast<T*>(b + 1) - lanes;  // b points to the last number of its chunk
#pragma GCC unroll 2
    for (index_t i = 0; i < 2 * kChunk; i += lanes) {
        V c, d, x, y, swapped, back;
        load_vector(c, f.doubled + i);
        load_vector(d, f.signed_parts + i);
        load_vector(x, forward + i);
        load_vector(back, backward - i);
        reverse_conjugate<T, bytes>(back, y, all);
        const V doubled = c * chunk.re - d * q, signed_parts = c * q + d * chunk.re;
        const V difference = x - y, sum = (x + y) * s;
        swap_parts<T, bytes>(difference, swapped, all);
        const V turned = difference * doubled + swapped * signed_parts;
        const V low = sum + turned, high = sum - turned;
        reverse_conjugate<T, bytes>(high, back, all);
        store_vector<false>(forward + i, low);
        store_vector<false>(backward - i, back);
    }
}

template <class T, int bytes>
SPANFFT_INLINE void fold_chunks(void* factors, double scale, index_t points, void* row_a, void* row_b) {
    const Factors<T> f(factors);
    const auto s = static_cast<T>(scale);
    auto* a = static_cast<Pair<T>*>(row_a);
    auto* b = static_cast<Pair<T>*>(row_b) + points - 1;
    const Pair<T>* chunk = f.chunks;
    index_t k = 0;
    for (; k + kChunk <= points; k += kChunk, ++chunk) fold_chunk<T, bytes>(f, *chunk, s, a + k, b - k);
    for (index_t i = 0; k < points; ++i, ++k) {
        const Pair<T> d = multiply(*chunk, Pair<T>{f.doubled[2 * i], f.signed_parts[2 * i + 1]});
        fold_numbers(s, d, a[k], *(b - k));
    }
}

template <int bytes>
SPANFFT_INLINE void fold_with(Precision precision, void* factors, double s, index_t points, void* a, void* b) {
    if (precision == Precision::dbl)
        fold_chunks<double, bytes>(factors, s, points, a, b);
    else
        fold_chunks<float, bytes>(factors, s, points, a, b);
}

SPANFFT_FOR_AVX512 void fold_64(Precision precision, void* factors, double s, index_t points, void* a, void* b) {
    fold_with<64>(precision, factors, s, points, a, b);
}
SPANFFT_FOR_AVX2 void fold_32(Precision precision, void* factors, double s, index_t points, void* a, void* b) {
    fold_with<32>(precision, factors, s, points, a, b);
}
void fold_16(Precision precision, void* factors, double s, index_t points, void* a, void* b) {
    fold_with<16>(precision, factors, s, points, a, b);
}

}  // namespace

Result<Twiddles> Twiddles::make(index_t n, Precision precision, bool backward, int width_bytes) {
    Twiddles made;
    made.width_bytes_ = width_bytes;
    made.n_ = n;
    made.precision_ = precision;
    made.side_ = RootTable::side(n);
    while (index_t{1} << made.shift_ < made.side_) ++made.shift_;
    SPANFFT_ASSIGN(made.roots_, Buffer::allocate(static_cast<size_t>(bytes(n, precision))));
    precision == Precision::extended ? made.fill_roots<long double>(backward) : made.fill_roots<double>(backward);
    return made;
}

template <class R>
void Twiddles::fill_roots(bool backward) {
    auto* roots = roots_.as<Pair<R>>();
    const long double sign = backward ? 1 : -1;
    for (index_t i = 0; i < side_; ++i) {
        const Pair<long double> low = unit_root(i % n_, n_), high = unit_root(product_mod(i, side_, n_), n_);
        roots[i] = {static_cast<R>(low.re), static_cast<R>(sign * low.im)};
        roots[side_ + i] = {static_cast<R>(high.re), static_cast<R>(sign * high.im)};
    }
}

index_t Twiddles::Row::bytes(index_t points, Precision precision) {
    const auto elem = static_cast<index_t>(ElemType{precision, true}.bytes());
    return (2 * kChunk + ceil_div(points, kChunk) + 2) * elem;
}

Result<Twiddles::Row> Twiddles::Row::make(index_t points, Precision precision) {
    Row row;
    SPANFFT_ASSIGN(row.buffer_, Buffer::allocate(static_cast<size_t>(bytes(points, precision))));
    return row;
}

// The factors of 64 neighbours, and `factor` times those of the chunks that begin at exponents start, start + 64 j, ...
template <class T>
void Twiddles::fill(const Row& row, index_t j, index_t start, index_t chunks, const Pair<Root<T>>& factor) const {
    const Factors<T> f(row.buffer_.data());
    j %= n_;
    const auto step = [&](index_t& e, index_t by) {
        e += by;
        if (e >= n_) e -= n_;
    };
    index_t e = 0;
    for (index_t i = 0; i < kChunk; ++i, step(e, j)) {
        const Pair<Root<T>> w = at<Root<T>>(e);
        f.doubled[2 * i] = f.doubled[2 * i + 1] = static_cast<T>(w.re);
        f.signed_parts[2 * i] = static_cast<T>(-w.im);
        f.signed_parts[2 * i + 1] = static_cast<T>(w.im);
    }
    const index_t chunk_step = product_mod(j, kChunk, n_);
    e = start;
    for (index_t c = 0; c < chunks; ++c, step(e, chunk_step)) {
        const Pair<Root<T>> w = multiply(at<Root<T>>(e), factor);
        f.chunks[c] = {static_cast<T>(w.re), static_cast<T>(w.im)};
    }
}

void Twiddles::multiply_row(const Row& row, index_t j, index_t points, long double factor, const void* from, void* to,
                            bool stream) const {
    const auto elem = static_cast<index_t>(ElemType{precision_, true}.bytes());
    const auto past = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(to) % kLine);
    stream = stream && past % elem == 0 && precision_ != Precision::extended;
    const index_t lead = stream && past ? (kLine - past) / elem : 0;
    const index_t first = lead ? lead - kChunk : 0, chunks = ceil_div(points - first, kChunk);
    j %= n_;
    const index_t start = first < 0 ? product_mod(n_ - j, -first, n_) : product_mod(j, first, n_);
    const auto wide = static_cast<double>(factor);
    if (precision_ == Precision::extended) {
        fill<long double>(row, j, start, chunks, {factor, 0});
        return multiply_numbers(row.buffer_.data(), points, from, to);
    }
    if (precision_ == Precision::dbl)
        fill<double>(row, j, start, chunks, {wide, 0});
    else
        fill<float>(row, j, start, chunks, {wide, 0});
    const auto multiply = width_bytes_ == 64 ? multiply_64 : width_bytes_ == 32 ? multiply_32 : multiply_16;
    multiply(precision_, row.buffer_.data(), lead, points, from, to, stream);
}

void Twiddles::fold_rows(const Row& row, const Fold& fold, index_t points, void* a, void* b) const {
    const index_t chunks = ceil_div(points, kChunk);
    if (precision_ == Precision::dbl)
        fill<double>(row, fold.j, fold.start % n_, chunks, fold.factor);
    else
        fill<float>(row, fold.j, fold.start % n_, chunks, fold.factor);
    const auto folds = width_bytes_ == 64 ? fold_64 : width_bytes_ == 32 ? fold_32 : fold_16;
    folds(precision_, row.buffer_.data(), fold.s, points, a, b);
}

void Twiddles::fold_pair(const Fold& fold, void* a, void* b) const {
    const Pair<double> d = multiply(at(fold.start % n_), fold.factor);
    if (precision_ == Precision::dbl)
        fold_numbers(fold.s, d, *static_cast<Pair<double>*>(a), *static_cast<Pair<double>*>(b));
    else
        fold_numbers(static_cast<float>(fold.s), {static_cast<float>(d.re), static_cast<float>(d.im)},
                     *static_cast<Pair<float>*>(a), *static_cast<Pair<float>*>(b));
}

}  // namespace spanfft
