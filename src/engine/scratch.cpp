// Scratch arrays for planning; see scratch.hpp.
#include "engine/scratch.hpp"

#include <algorithm>
#include <cstring>

namespace spanfft {

namespace {

// The bytes [low, high) that one side of a spec reaches around its origin.
struct Reach {
    index_t low = 0;
    index_t high = 0;
};

Result<void*> allocate_zeros(Buffer& buffer, const Reach& reach) {
    SPANFFT_ASSIGN(buffer, Buffer::allocate(static_cast<size_t>(reach.high - reach.low)));
    std::memset(buffer.data(), 0, buffer.bytes());
    return static_cast<void*>(buffer.as<char>() - reach.low);
}

}  // namespace

Result<Scratch> make_scratch(const LocalSpec& spec) {
    const Span in_span = input_span(spec);
    const Span out_span = output_span(spec);
    const auto in_bytes = static_cast<index_t>(input_type(spec).bytes());
    const auto out_bytes = static_cast<index_t>(output_type(spec).bytes());
    const Reach in{in_span.low * in_bytes, (in_span.high + 1) * in_bytes};
    const Reach out{out_span.low * out_bytes, (out_span.high + 1) * out_bytes};
    Scratch scratch;
    if (spec.in_place) {
        SPANFFT_ASSIGN(scratch.in,
                       allocate_zeros(scratch.first, {std::min(in.low, out.low), std::max(in.high, out.high)}));
        scratch.out = scratch.in;
        return scratch;
    }
    SPANFFT_ASSIGN(scratch.in, allocate_zeros(scratch.first, in));
    SPANFFT_ASSIGN(scratch.out, allocate_zeros(scratch.second, out));
    return scratch;
}

}  // namespace spanfft
