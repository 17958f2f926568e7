// Coding reals in fewer bytes; see lossy.hpp.
#include "exchange/lossy.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace spanfft {

namespace {

constexpr size_t kBlock = static_cast<size_t>(kBlockReals);
constexpr double kTiny = 1e-250, kRaise = 0x1p200, kLower = 0x1p-200;
// Adding it rounds to the nearest integer, which is then in the low bits of the sum.
constexpr double kRounder = 0x1.8p52;

constexpr double steps_of(int bits) { return static_cast<double>((std::int64_t{1} << (bits - 1)) - 2); }

// Integers beyond the steps, which mean what is no finite number.
struct Special {
    std::int32_t nan, up, down;
};
constexpr Special special_of(int bits) {
    const auto most = static_cast<std::int32_t>((std::int64_t{1} << (bits - 1)) - 1);
    return {-most - 1, most, -most};
}

// The scale that is kept: its sign says that the block has special numbers.
struct Scale {
    double most = 0;
    bool special = false;
};

template <class Real>
Scale scale_of(const Real* x) {
    // Eight running maxima, without the order that one would impose. x*0 is NaN for NaNs and infinities.
    double most[8] = {}, odd[8] = {};
    for (size_t i = 0; i < kBlock; i += 8) {
        for (size_t k = 0; k < 8; ++k) {
            const double a = std::fabs(static_cast<double>(x[i + k]));
            most[k] = a > most[k] ? a : most[k];
            odd[k] += a * 0;
        }
    }
    Scale scale;
    double odds = 0;
    for (size_t k = 0; k < 8; ++k) {
        scale.most = std::max(scale.most, most[k]);
        odds += odd[k];
    }
    if (odds == 0) return scale;
    scale = {0, true};
    for (size_t i = 0; i < kBlock; ++i) {
        if (std::isfinite(x[i])) scale.most = std::max(scale.most, std::fabs(static_cast<double>(x[i])));
    }
    return scale;
}

// Integers as they lie in the coded block: 24 bits are planes of 16 and 8.
template <class Int>
char* put(const std::int32_t* q, size_t count, int shift, char* to) {
    Int narrow[kBlock];
    for (size_t i = 0; i < kBlock; ++i) narrow[i] = static_cast<Int>(q[i] >> shift);
    std::memcpy(to, narrow, count * sizeof(Int));
    return to + count * sizeof(Int);
}

char* put_integers(const std::int32_t* q, size_t count, int bits, char* to) {
    if (bits == 8) return put<std::int8_t>(q, count, 0, to);
    if (bits == 16) return put<std::int16_t>(q, count, 0, to);
    if (bits == 32) return put<std::int32_t>(q, count, 0, to);
    return put<std::int8_t>(q, count, 16, put<std::uint16_t>(q, count, 0, to));
}

// Adds what a plane holds, shifted up.
template <class Int>
const char* take(std::int32_t* q, size_t count, int shift, const char* from) {
    Int narrow[kBlock] = {};
    std::memcpy(narrow, from, count * sizeof(Int));
    for (size_t i = 0; i < kBlock; ++i) q[i] += static_cast<std::int32_t>(narrow[i]) * (1 << shift);
    return from + count * sizeof(Int);
}

const char* take_integers(std::int32_t* q, size_t count, int bits, const char* from) {
    if (bits == 8) return take<std::int8_t>(q, count, 0, from);
    if (bits == 16) return take<std::int16_t>(q, count, 0, from);
    if (bits == 32) return take<std::int32_t>(q, count, 0, from);
    return take<std::int8_t>(q, count, 16, take<std::uint16_t>(q, count, 0, from));
}

std::int32_t rounded(double y) { return static_cast<std::int32_t>(std::bit_cast<std::uint64_t>(y + kRounder)); }

// x is a whole block, filled up with zeros; `count` numbers of it are kept.
template <class Real>
char* encode_block(const Real* x, size_t count, int bits, char* to) {
    const Scale scale = scale_of(x);
    const double kept = scale.special ? -scale.most : scale.most;
    std::memcpy(to, &kept, sizeof kept);
    const double raise = scale.most < kTiny ? kRaise : 1.0;
    const double factor = scale.most > 0 ? steps_of(bits) / (scale.most * raise) : 0.0;
    std::int32_t q[kBlock];
    for (size_t i = 0; i < kBlock; ++i) q[i] = rounded(static_cast<double>(x[i]) * raise * factor);
    if (scale.special) {
        const Special special = special_of(bits);
        for (size_t i = 0; i < kBlock; ++i) {
            if (std::isnan(x[i])) q[i] = special.nan;
            if (std::isinf(x[i])) q[i] = x[i] > 0 ? special.up : special.down;
        }
    }
    return put_integers(q, count, bits, to + sizeof kept);
}

template <class Real>
const char* decode_block(const char* from, size_t count, int bits, Real* x) {
    double kept = 0;
    std::memcpy(&kept, from, sizeof kept);
    std::int32_t q[kBlock] = {};
    from = take_integers(q, count, bits, from + sizeof kept);
    const double most = std::fabs(kept);
    const double raise = most < kTiny ? kRaise : 1.0, lower = most < kTiny ? kLower : 1.0;
    const double factor = most * raise / steps_of(bits);
    for (size_t i = 0; i < kBlock; ++i) {
        // Not above the largest: a product that is rounded up there could be infinite.
        const double y = static_cast<double>(q[i]) * factor * lower, low = y < -most ? -most : y;
        x[i] = static_cast<Real>(low > most ? most : low);
    }
    if (!std::signbit(kept)) return from;
    const Special special = special_of(bits);
    constexpr Real infinity = std::numeric_limits<Real>::infinity();
    for (size_t i = 0; i < kBlock; ++i) {
        if (q[i] == special.nan) x[i] = std::numeric_limits<Real>::quiet_NaN();
        if (q[i] == special.up) x[i] = infinity;
        if (q[i] == special.down) x[i] = -infinity;
    }
    return from;
}

template <class Real>
void encode_blocks(int bits, size_t reals, const Real* from, char* coded) {
    size_t at = 0;
    for (; at + kBlock <= reals; at += kBlock) coded = encode_block(from + at, kBlock, bits, coded);
    if (at == reals) return;
    Real rest[kBlock] = {};
    std::copy(from + at, from + reals, rest);
    encode_block(rest, reals - at, bits, coded);
}

template <class Real>
void decode_blocks(int bits, size_t reals, const char* coded, Real* to) {
    size_t at = 0;
    for (; at + kBlock <= reals; at += kBlock) coded = decode_block(coded, kBlock, bits, to + at);
    if (at == reals) return;
    Real rest[kBlock];
    decode_block(coded, reals - at, bits, rest);
    std::copy(rest, rest + (reals - at), to + at);
}

// Through a block of floats, as the coded bytes need no alignment.
template <class Real>
void to_floats(size_t reals, const Real* from, char* coded) {
    float block[kBlock];
    for (size_t at = 0; at < reals; at += kBlock) {
        const size_t count = std::min(kBlock, reals - at);
        for (size_t i = 0; i < count; ++i) block[i] = static_cast<float>(from[at + i]);
        std::memcpy(coded + at * sizeof(float), block, count * sizeof(float));
    }
}

template <class Real>
void from_floats(size_t reals, const char* coded, Real* to) {
    float block[kBlock];
    for (size_t at = 0; at < reals; at += kBlock) {
        const size_t count = std::min(kBlock, reals - at);
        std::memcpy(block, coded + at * sizeof(float), count * sizeof(float));
        for (size_t i = 0; i < count; ++i) to[at + i] = static_cast<Real>(block[i]);
    }
}

template <class Real>
void encode_as(const Coding& coding, index_t reals, const void* from, void* coded) {
    const auto count = static_cast<size_t>(reals);
    if (coding.way == Coding::Way::as_float)
        return to_floats(count, static_cast<const Real*>(from), static_cast<char*>(coded));
    encode_blocks(coding.bits, count, static_cast<const Real*>(from), static_cast<char*>(coded));
}

template <class Real>
void decode_as(const Coding& coding, index_t reals, const void* coded, void* to) {
    const auto count = static_cast<size_t>(reals);
    if (coding.way == Coding::Way::as_float)
        return from_floats(count, static_cast<const char*>(coded), static_cast<Real*>(to));
    decode_blocks(coding.bits, count, static_cast<const char*>(coded), static_cast<Real*>(to));
}

}  // namespace

double coding_bound(const Coding& coding, Precision precision) {
    if (coding.way == Coding::Way::as_float) return 0x1p-24;
    // The product with the scale is rounded, by far less than a step; the result to its own precision.
    const double own_rounding = precision == Precision::single ? 0x1p-24 : 0x1p-52;
    return std::sqrt(static_cast<double>(kBlockReals)) / 2 / steps_of(coding.bits) * (1 + 0x1p-20) + own_rounding;
}

index_t coded_bytes(const Coding& coding, index_t reals) {
    if (coding.way == Coding::Way::as_float) return reals * 4;
    return ceil_div(reals, kBlockReals) * 8 + reals * coding.bits / 8;
}

Result<Coding> coding_for(double bound, Precision precision) {
    if (precision == Precision::extended)
        return error(Code::unsupported, "long double data can't be sent within a bound; use compressed:float");
    double best = 1;
    for (const int bits : {8, 16, 24, 32}) {
        const Coding coding{Coding::Way::bounded, bits};
        const bool saves = coded_bytes(coding, kBlockReals) < kBlockReals * static_cast<index_t>(real_bytes(precision));
        if (!saves) continue;
        best = coding_bound(coding, precision);
        if (best <= bound) return coding;
    }
    return error(Code::unsupported, "a relative error of ", bound, " takes no fewer bytes than ",
                 precision_name(precision), " data has; ask for ", best, " or more, or use an exact exchange");
}

void encode(const Coding& coding, Precision precision, index_t reals, const void* from, void* coded) {
    if (precision == Precision::single) return encode_as<float>(coding, reals, from, coded);
    if (precision == Precision::dbl) return encode_as<double>(coding, reals, from, coded);
    encode_as<long double>(coding, reals, from, coded);
}

void decode(const Coding& coding, Precision precision, index_t reals, const void* coded, void* to) {
    if (precision == Precision::single) return decode_as<float>(coding, reals, coded, to);
    if (precision == Precision::dbl) return decode_as<double>(coding, reals, coded, to);
    decode_as<long double>(coding, reals, coded, to);
}

}  // namespace spanfft
