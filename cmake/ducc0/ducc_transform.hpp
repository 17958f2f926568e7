// ducc0's transforms, compiled once for each width of vector registers; what src/engine/ducc_engine.cpp calls.
//
// Method: transform.cc is compiled for each width and type with DUCC0_NAMESPACE as below, so that no function of one
// width has the name of another's: a function that two objects define is linked once, from either of them.
// Invariant: nothing that is compiled for a width runs before it is called (tests: no_instruction_beyond_the_baseline).
#pragma once

#include <cstddef>
#include <vector>

namespace spanfft::ducc {

enum class Kind { c2c, r2c, c2r, dct, dst };

// One call of ducc0: strided views of any number of axes, and the axes to transform. r2c goes forward, c2r back; DCT
// and DST are FFTW's and scipy.fft's unnormalised kinds. Strides are in elements.
struct Call {
    Kind kind = Kind::c2c;
    bool forward = true;  // c2c
    int type = 0;         // DCT, DST: 1 to 4
    size_t threads = 1;
    std::vector<size_t> in_shape, out_shape, axes;
    std::vector<ptrdiff_t> in_strides, out_strides;
};

// c2r overwrites its input.
template <class T>
using Transform = void(const Call& call, T scale, const void* in, void* out);

namespace baseline {  // any processor of the architecture; float, double, long double
template <class T>
void transform(const Call& call, T scale, const void* in, void* out);
}
#if defined(__x86_64__)
namespace avx2 {  // with FMA; float and double
template <class T>
void transform(const Call& call, T scale, const void* in, void* out);
}
namespace avx512 {  // F, DQ, VL and BW; float and double
template <class T>
void transform(const Call& call, T scale, const void* in, void* out);
}
#endif

}  // namespace spanfft::ducc
