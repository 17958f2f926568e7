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

// body(T()) for the precision's T; returns what it returns, which may not depend on T.
template <class Body>
decltype(auto) with_real(Precision precision, Body&& body) {
    if (precision == Precision::single) return body(float());
    if (precision == Precision::dbl) return body(double());
    return body(static_cast<long double>(0));
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

// "float32", "float64", "longdouble", "complex64", "complex128", "clongdouble": as numpy has them.
constexpr const char* elem_name(ElemType elem) {
    switch (elem.precision) {
        case Precision::single:
            return elem.complex ? "complex64" : "float32";
        case Precision::dbl:
            return elem.complex ? "complex128" : "float64";
        case Precision::extended:
            return elem.complex ? "clongdouble" : "longdouble";
    }
    return "";
}

// Unit roundoff times two, the eps of the accuracy rule.
double precision_eps(Precision p);

}  // namespace spanfft
