// Code for the vector registers that the processor has, in a library that is compiled for any x86-64.
//
// Method: the body of a loop is a template over the bytes of a register, always inlined, written with the compiler's
// vectors. A function marked SPANFFT_FOR_AVX512 inlines it for 64 bytes, one marked SPANFFT_FOR_AVX2 for 32, one that
// is not marked for 16; the caller takes the widest that this processor has (vector_bytes).
// Invariant: vectors are passed by reference only, so that no function's calling convention depends on its registers.
#pragma once

#include <cstddef>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace spanfft {

#define SPANFFT_INLINE __attribute__((always_inline)) inline
#if defined(__x86_64__)
#define SPANFFT_FOR_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")))
#define SPANFFT_FOR_AVX2 __attribute__((target("avx2,fma")))
#else
#define SPANFFT_FOR_AVX512
#define SPANFFT_FOR_AVX2
#endif

template <class Lane, int bytes>
struct VectorOf;
#define SPANFFT_VECTOR(lane, bytes)                            \
    template <>                                                \
    struct VectorOf<lane, bytes> {                             \
        typedef lane type __attribute__((vector_size(bytes))); \
    }
SPANFFT_VECTOR(double, 64);
SPANFFT_VECTOR(double, 32);
SPANFFT_VECTOR(double, 16);
SPANFFT_VECTOR(float, 64);
SPANFFT_VECTOR(float, 32);
SPANFFT_VECTOR(float, 16);
SPANFFT_VECTOR(long long, 64);
SPANFFT_VECTOR(long long, 32);
SPANFFT_VECTOR(long long, 16);
#undef SPANFFT_VECTOR
template <class Lane, int bytes>
using Vector = typename VectorOf<Lane, bytes>::type;

// Lanes of a (0, 1, ...) and b (from the number of lanes on) in the order of `index`. clang has another name for it.
template <int... index, class V>
SPANFFT_INLINE void shuffle_vectors(const V& a, const V& b, V& shuffled) {
#if defined(__clang__)
    shuffled = __builtin_shufflevector(a, b, index...);
#else
    const decltype(a < b) mask = {index...};
    shuffled = __builtin_shuffle(a, b, mask);
#endif
}

template <class V>
SPANFFT_INLINE void load_vector(V& v, const void* from) {
    std::memcpy(&v, from, sizeof v);
}
template <bool stream, class V>
SPANFFT_INLINE void store_vector(void* to, const V& v) {
#if defined(__SSE2__)
    if constexpr (stream) {
        __m128i parts[sizeof(V) / 16];
        std::memcpy(parts, &v, sizeof v);
        for (size_t i = 0; i < sizeof(V) / 16; ++i) _mm_stream_si128(static_cast<__m128i*>(to) + i, parts[i]);
        return;
    }
#endif
    std::memcpy(to, &v, sizeof v);
}

// The widest registers of this processor: 64, 32 or 16 bytes.
inline int vector_bytes() {
#if defined(__x86_64__)
    static const int bytes = [] {
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
            return 64;
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 32 : 16;
    }();
    return bytes;
#else
    return 16;
#endif
}

}  // namespace spanfft
