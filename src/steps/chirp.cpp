// The sums that each kind of transform is, as a chirp knows them; see chirp.hpp. Definitions: engine/engine.hpp.
#include "steps/chirp.hpp"

#include <algorithm>

namespace spanfft {

Chirp make_chirp(Kernel kernel, index_t n) {
    Chirp chirp;
    chirp.length = n;
    chirp.inputs = chirp.outputs = n;
    chirp.backward = kernel == Kernel::c2c_backward || kernel == Kernel::c2r;
    if (kernel == Kernel::r2c) chirp.outputs = n / 2 + 1;
    if (kernel == Kernel::c2r) {
        // X[n-k] = conj X[k]: all but X[0] and, for even n, X[n/2] count twice in the real part.
        chirp.inputs = n / 2 + 1;
        chirp.weight = 2;
        chirp.last_weight = n % 2 == 0 ? 1 : 2;
    }
    if (!is_r2r(kernel)) return chirp;
    chirp.length = kernel == Kernel::dct1 ? 2 * (n - 1) : kernel == Kernel::dst1 ? 2 * (n + 1) : 2 * n;
    chirp.first_weight = chirp.weight = chirp.last_weight = 2;
    const index_t i_unit = 3 * chirp.length;  // -Im(z) = Re(iz), and i = e(-3/4)
    switch (kernel) {
        case Kernel::dct1:  // jk/N
            chirp.first_weight = chirp.last_weight = 1;
            break;
        case Kernel::dct2:  // (2j+1)k / 2N
            chirp.b = 2;
            break;
        case Kernel::dct3:  // j(2k+1) / 2N
            chirp.first_weight = 1;
            chirp.a = 2;
            break;
        case Kernel::dct4:  // (2j+1)(2k+1) / 4N
            chirp.a = chirp.b = 2;
            chirp.c = 1;
            break;
        case Kernel::dst1:  // (j+1)(k+1) / N
            chirp.a = chirp.b = 4;
            chirp.c = 4 + i_unit;
            break;
        case Kernel::dst2:  // (2j+1)(k+1) / 2N
            chirp.a = 4;
            chirp.b = 2;
            chirp.c = 2 + i_unit;
            break;
        case Kernel::dst3:  // (j+1)(2k+1) / 2N
            chirp.last_weight = 1;
            if (n == 1) chirp.first_weight = 1;
            chirp.a = 2;
            chirp.b = 4;
            chirp.c = 2 + i_unit;
            break;
        default:  // dst4
            chirp.a = chirp.b = 2;
            chirp.c = 1 + i_unit;
            break;
    }
    return chirp;
}

std::vector<index_t> smooth_numbers(index_t most) {
    std::vector<index_t> numbers{1};
    for (index_t p : {2, 3, 5, 7}) {
        for (size_t i = 0; i < numbers.size(); ++i) {
            if (numbers[i] <= most / p) numbers.push_back(numbers[i] * p);
        }
    }
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

}  // namespace spanfft
