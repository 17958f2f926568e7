// NumberFormat: how numbers lie in a file that somebody else wrote: integers, halves, the other byte order; and their
// conversion to the numbers that are computed with.
//
// Text, as NumPy's type strings: a byte order ('>' big-endian; '<', '|' or nothing: little-endian), a letter (i signed,
// u unsigned, f floating, c complex) and the bytes of an element: i2, >f4, u1, f2, >c16. f16 is the machine's long
// double of 16 bytes, or that with its bytes turned round.
// Invariant: parse(print(f)) == f. A number is converted as C does it, in one step: what the computed type can't hold
// exactly (integers of more than 24, 53 or 64 bits, a double as a float) becomes the nearest number that it holds.
#pragma once

#include <string>

#include "core/dtype.hpp"
#include "core/status.hpp"

namespace spanfft {

struct NumberFormat {
    enum class Kind : int { signed_whole, unsigned_whole, floating };
    Kind kind = Kind::floating;
    int number_bytes = 8;  // of a real number, or of a part of a complex one
    bool big_endian = false;
    bool complex = false;

    bool operator==(const NumberFormat&) const = default;

    static Result<NumberFormat> parse(const std::string& text);
    std::string print() const;

    index_t bytes() const { return number_bytes * (complex ? 2 : 1); }  // of an element
    bool is(const ElemType& elem) const;                                // whether conversion would change nothing

    // `count` elements as real or complex numbers (as the format is) of a precision. `from` need not be aligned; the
    // two don't overlap.
    void convert(const void* from, index_t count, Precision precision, void* to) const;
};

}  // namespace spanfft
