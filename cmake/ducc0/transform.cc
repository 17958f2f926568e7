// One width and type of ducc_transform.hpp: SPANFFT_WIDTH is its namespace, SPANFFT_REAL the type, and the compiler has
// been told the width.
#include <complex>

#include "ducc0/fft/fftnd_impl.h"
#include "ducc_transform.hpp"

namespace spanfft::ducc::SPANFFT_WIDTH {

namespace {

namespace fft = DUCC0_NAMESPACE;

template <class U>
fft::cfmav<U> source(const Call& call, const void* data) {
    return {static_cast<const U*>(data), call.in_shape, call.in_strides};
}

template <class U>
fft::vfmav<U> target(const Call& call, void* data) {
    return {static_cast<U*>(data), call.out_shape, call.out_strides};
}

}  // namespace

template <class T>
void transform(const Call& call, T scale, const void* in, void* out) {
    using Complex = std::complex<T>;
    switch (call.kind) {
        case Kind::c2c:
            fft::c2c(source<Complex>(call, in), target<Complex>(call, out), call.axes, call.forward, scale,
                     call.threads);
            break;
        case Kind::r2c:
            fft::r2c(source<T>(call, in), target<Complex>(call, out), call.axes, true, scale, call.threads);
            break;
        case Kind::c2r: {
            const fft::vfmav<Complex> mutable_source(static_cast<Complex*>(const_cast<void*>(in)), call.in_shape,
                                                     call.in_strides);
            fft::c2r_mut(mutable_source, target<T>(call, out), call.axes, false, scale, call.threads);
            break;
        }
        case Kind::dct:
            fft::dct(source<T>(call, in), target<T>(call, out), call.axes, call.type, scale, false, call.threads);
            break;
        case Kind::dst:
            fft::dst(source<T>(call, in), target<T>(call, out), call.axes, call.type, scale, false, call.threads);
            break;
    }
}

template void transform(const Call& call, SPANFFT_REAL scale, const void* in, void* out);

}  // namespace spanfft::ducc::SPANFFT_WIDTH
