// Non-temporal stores; see stream_copy.hpp.
#include "core/stream_copy.hpp"

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace spanfft {

void stream_copy(void* target, const void* source, size_t bytes) {
#if defined(__SSE2__)
    constexpr size_t kLine = 64;
    auto* to = static_cast<char*>(target);
    const auto* from = static_cast<const char*>(source);
    const size_t ahead = (kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine;
    if (bytes >= ahead + kLine) {
        std::memcpy(to, from, ahead);
        to += ahead, from += ahead, bytes -= ahead;
        for (; bytes >= kLine; to += kLine, from += kLine, bytes -= kLine) {
            const auto* s = reinterpret_cast<const __m128i*>(from);
            auto* t = reinterpret_cast<__m128i*>(to);
            const __m128i a = _mm_loadu_si128(s), b = _mm_loadu_si128(s + 1), c = _mm_loadu_si128(s + 2),
                          d = _mm_loadu_si128(s + 3);
            _mm_stream_si128(t, a);
            _mm_stream_si128(t + 1, b);
            _mm_stream_si128(t + 2, c);
            _mm_stream_si128(t + 3, d);
        }
    }
    std::memcpy(to, from, bytes);
#else
    std::memcpy(target, source, bytes);
#endif
}

void stream_fence() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

}  // namespace spanfft
