// Precision and element types. Templates inside src/ are instantiated for float, double and long double;
// at the C edge there is only this enum.
#pragma once

#include <cstddef>

#include "core/extents.hpp"

namespace spanfft {

enum class Precision : int { single = 0, dbl = 1, extended = 2 };  // float, double, long double

constexpr size_t real_bytes(Precision p) {
    return p == Precision::single ? sizeof(float) : p == Precision::dbl ? sizeof(double) : sizeof(long double);
}

// An element is a real number or a (re, im) pair of them.
struct ElemType {
    Precision precision = Precision::dbl;
    bool complex = true;
    size_t bytes() const { return real_bytes(precision) * (complex ? 2 : 1); }
    bool operator==(const ElemType&) const = default;
};

constexpr const char* precision_name(Precision p) {
    return p == Precision::single ? "float" : p == Precision::dbl ? "double" : "longdouble";
}

// Unit roundoff times two, the eps of the accuracy rule.
double precision_eps(Precision p);

}  // namespace spanfft
