// Non-temporal stores; see stream_copy.hpp.
#include "core/stream_copy.hpp"

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace spanfft {

namespace {

constexpr size_t kLine = 64;

// Bytes before the first whole cache line of the target.
size_t bytes_ahead(const void* target) { return (kLine - reinterpret_cast<std::uintptr_t>(target) % kLine) % kLine; }

#if defined(__SSE2__)
void stream_line(char* target, const void* source) {
    const auto* s = static_cast<const __m128i*>(source);
    auto* t = reinterpret_cast<__m128i*>(target);
    const __m128i a = _mm_loadu_si128(s), b = _mm_loadu_si128(s + 1), c = _mm_loadu_si128(s + 2),
                  d = _mm_loadu_si128(s + 3);
    _mm_stream_si128(t, a);
    _mm_stream_si128(t + 1, b);
    _mm_stream_si128(t + 2, c);
    _mm_stream_si128(t + 3, d);
}
#else
void stream_line(char* target, const void* source) { std::memcpy(target, source, kLine); }
#endif

template <class Real>
void multiply(Real* target, const Real* source, size_t count, Real factor) {
    for (size_t i = 0; i < count; ++i) target[i] = source[i] * factor;
}

template <class Real>
void copy_out(Real factor, bool stream, Real* to, const Real* from, size_t count) {
    constexpr size_t kLineReals = kLine / sizeof(Real);
    const size_t ahead = bytes_ahead(to) / sizeof(Real);
    if (stream && bytes_ahead(to) % sizeof(Real) == 0 && count >= ahead + kLineReals) {
        multiply(to, from, ahead, factor);
        to += ahead, from += ahead, count -= ahead;
        for (; count >= kLineReals; to += kLineReals, from += kLineReals, count -= kLineReals) {
            alignas(kLine) Real line[kLineReals];
            multiply(line, from, kLineReals, factor);
            stream_line(reinterpret_cast<char*>(to), line);
        }
    }
    multiply(to, from, count, factor);
}

template <class Real>
void copy_out(long double factor, bool stream, void* target, const void* source, size_t bytes) {
    copy_out(static_cast<Real>(factor), stream, static_cast<Real*>(target), static_cast<const Real*>(source),
             bytes / sizeof(Real));
}

}  // namespace

void copy_out(Precision precision, long double factor, bool stream, void* target, const void* source, size_t bytes) {
    if (factor == 1) {
        if (stream)
            stream_copy(target, source, bytes);
        else if (target != source)
            std::memcpy(target, source, bytes);
        return;
    }
    with_real(precision, [&](auto real) { copy_out<decltype(real)>(factor, stream, target, source, bytes); });
}

void stream_copy(void* target, const void* source, size_t bytes) {
    auto* to = static_cast<char*>(target);
    const auto* from = static_cast<const char*>(source);
    const size_t ahead = bytes_ahead(to);
    if (bytes >= ahead + kLine) {
        std::memcpy(to, from, ahead);
        to += ahead, from += ahead, bytes -= ahead;
        for (; bytes >= kLine; to += kLine, from += kLine, bytes -= kLine) stream_line(to, from);
    }
    std::memcpy(to, from, bytes);
}

void stream_fence() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

}  // namespace spanfft
