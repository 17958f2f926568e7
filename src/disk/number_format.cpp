// Reading type strings, and the loops that convert; see number_format.hpp.
#include "disk/number_format.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "core/nearest.hpp"

namespace spanfft {

namespace {

constexpr const char* kKnown =
    "i1, i2, i4, i8, u1, u2, u4, u8, f2, f4, f8, f16, c8, c16, c32, or one of them behind a '>'";

struct Half {
    std::uint16_t bits;
};

// Without instructions or flags of the processor: normal numbers by their bits, the others by an exact product.
float value_of(Half half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half.bits & 0x8000U) << 16;
    const std::uint32_t exponent = half.bits >> 10 & 0x1fU, fraction = half.bits & 0x3ffU;
    const auto small = std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24F);
    const std::uint32_t normal = ((exponent + (exponent == 31 ? 255 - 31 : 112)) << 23) | fraction << 13;
    return std::bit_cast<float>(sign | (exponent == 0 ? small : normal));
}
template <class Number>
Number value_of(Number number) {
    return number;
}

// By the bytes of a number: compilers make one instruction of it.
template <class Number, bool kTurned>
Number take(const char* from) {
    std::array<char, sizeof(Number)> bytes;
    std::memcpy(bytes.data(), from, sizeof bytes);
    if constexpr (kTurned) std::reverse(bytes.begin(), bytes.end());
    Number number;
    std::memcpy(&number, bytes.data(), sizeof number);
    return number;
}

template <class Number, bool kTurned, class Real>
void convert_numbers(const char* from, index_t numbers, Real* to) {
    for (index_t i = 0; i < numbers; ++i) {
        to[i] = static_cast<Real>(value_of(take<Number, kTurned>(from + i * static_cast<index_t>(sizeof(Number)))));
    }
}

// body(Number()) for the type in memory that a format's numbers have.
template <class Body>
void with_number(const NumberFormat& format, Body&& body) {
    using Kind = NumberFormat::Kind;
    const int bytes = format.number_bytes;
    if (format.kind == Kind::signed_whole) {
        if (bytes == 1) return body(std::int8_t());
        if (bytes == 2) return body(std::int16_t());
        if (bytes == 4) return body(std::int32_t());
        return body(std::int64_t());
    }
    if (format.kind == Kind::unsigned_whole) {
        if (bytes == 1) return body(std::uint8_t());
        if (bytes == 2) return body(std::uint16_t());
        if (bytes == 4) return body(std::uint32_t());
        return body(std::uint64_t());
    }
    if (bytes == 2) return body(Half());
    if (bytes == 4) return body(float());
    if (bytes == 8) return body(double());
    return body(static_cast<long double>(0));
}

bool exists(NumberFormat::Kind kind, int bytes) {
    if (kind == NumberFormat::Kind::floating) {
        return bytes == 2 || bytes == 4 || bytes == 8 || (bytes == 16 && sizeof(long double) == 16);
    }
    return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

}  // namespace

Result<NumberFormat> NumberFormat::parse(const std::string& text) {
    const auto unknown = [&] {
        return error(Code::invalid_argument, "load=", text, " is not known; use one of ", kKnown,
                     did_you_mean(text, kKnown));
    };
    NumberFormat format;
    size_t at = 0;
    if (!text.empty() && std::string("<>|=").find(text[0]) != std::string::npos) {
        format.big_endian = text[at++] == '>';
        if (text[0] == '=') format.big_endian = std::endian::native == std::endian::big;
    }
    if (at >= text.size()) return unknown();
    const char letter = text[at++];
    format.complex = letter == 'c';
    if (letter == 'i') {
        format.kind = Kind::signed_whole;
    } else if (letter == 'u') {
        format.kind = Kind::unsigned_whole;
    } else if (letter != 'f' && letter != 'c') {
        return unknown();
    }
    int bytes = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, failed] = std::from_chars(text.data() + at, end, bytes);
    if (failed != std::errc() || stop != end || bytes < 1 || text[at] == '0') return unknown();
    if (format.complex && (bytes % 2 != 0 || bytes < 8)) return unknown();
    format.number_bytes = format.complex ? bytes / 2 : bytes;
    if (!exists(format.kind, format.number_bytes)) return unknown();
    if (format.number_bytes == 1) format.big_endian = false;  // a byte has no order
    return format;
}

std::string NumberFormat::print() const {
    const char* const letter = complex ? "c" : kind == Kind::floating ? "f" : kind == Kind::unsigned_whole ? "u" : "i";
    return cat(big_endian ? ">" : "", letter, bytes());
}

bool NumberFormat::is(const ElemType& elem) const {
    return kind == Kind::floating && number_bytes == static_cast<int>(real_bytes(elem.precision)) &&
           complex == elem.complex && big_endian == (std::endian::native == std::endian::big);
}

void NumberFormat::convert(const void* from, index_t count, Precision precision, void* to) const {
    const index_t numbers = count * (complex ? 2 : 1);
    const bool turned = big_endian != (std::endian::native == std::endian::big);
    with_real(precision, [&](auto real) {
        using Real = decltype(real);
        with_number(*this, [&](auto number) {
            using Number = decltype(number);
            if (turned)
                convert_numbers<Number, true>(static_cast<const char*>(from), numbers, static_cast<Real*>(to));
            else
                convert_numbers<Number, false>(static_cast<const char*>(from), numbers, static_cast<Real*>(to));
        });
    });
}

}  // namespace spanfft
