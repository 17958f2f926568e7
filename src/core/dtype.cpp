// Machine epsilon by precision; see dtype.hpp.
#include "core/dtype.hpp"

#include <limits>

namespace spanfft {

double precision_eps(Precision p) {
    switch (p) {
        case Precision::single:
            return static_cast<double>(std::numeric_limits<float>::epsilon());
        case Precision::dbl:
            return std::numeric_limits<double>::epsilon();
        case Precision::extended:
            return static_cast<double>(std::numeric_limits<long double>::epsilon());
    }
    return 0;
}

}  // namespace spanfft
