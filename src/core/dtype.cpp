// Machine epsilon by precision; see dtype.hpp.
#include "core/dtype.hpp"

#include <limits>

namespace spanfft {

double precision_eps(Precision p) {
    return with_real(p, [](auto real) { return static_cast<double>(std::numeric_limits<decltype(real)>::epsilon()); });
}

}  // namespace spanfft
