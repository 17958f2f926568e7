// Turns of arrays in blocks of registers (engine/turn.hpp), for each width of registers that this processor has,
// against the definition: element (r, c) becomes element (c, r), and nothing else is written.
#include "engine/turn.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/stream_copy.hpp"

namespace spanfft {
namespace {

constexpr unsigned char kFilling = 0xA5;

struct Shape {
    index_t rows, columns;
};

// Arrays whose rows are `gap_bytes` further apart than they are long, at `shift_bytes` from an aligned address.
void expect_turned(const Shape& shape, index_t elem, index_t gap_bytes, index_t shift_bytes, bool out, bool stream,
                   int width) {
    SCOPED_TRACE(testing::Message() << shape.rows << " x " << shape.columns << " of " << elem << ", gap " << gap_bytes
                                    << ", shift " << shift_bytes << (out ? " out" : " in")
                                    << (stream ? " streamed" : "") << ", width " << width);
    const index_t from_pitch = shape.columns * elem + gap_bytes, to_pitch = shape.rows * elem + gap_bytes;
    std::vector<unsigned char> from(static_cast<size_t>(shape.rows * from_pitch + 192));
    std::vector<unsigned char> to(static_cast<size_t>(shape.columns * to_pitch + 192), kFilling);
    const auto aligned = [&](std::vector<unsigned char>& memory) {
        const auto past = reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
        return memory.data() + (past ? 64 - past : 0) + shift_bytes;
    };
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 2654435761u >> 13);
    std::vector<unsigned char> expected = to;
    unsigned char *const source = aligned(from), *const target = aligned(to);
    const auto origin = target - to.data();
    for (index_t r = 0; r < shape.rows; ++r) {
        for (index_t c = 0; c < shape.columns; ++c) {
            for (index_t b = 0; b < elem; ++b)
                expected[static_cast<size_t>(origin + c * to_pitch + r * elem + b)] =
                    source[r * from_pitch + c * elem + b];
        }
    }
    const Turn turn{source, from_pitch, target, to_pitch, shape.rows, shape.columns, elem};
    if (out)
        turn_out(turn, stream, width);
    else
        turn_in(turn, 3, width);
    stream_fence();
    EXPECT_EQ(to, expected);
}

TEST(Turn, RowsBecomeColumnsAtEveryWidthOfRegisters) {
    for (int width = 16; width <= vector_bytes(); width *= 2) {
        for (const Shape& shape : {Shape{1, 1}, {1, 9}, {9, 1}, {4, 4}, {8, 8}, {3, 17}, {17, 3}, {16, 24}, {37, 29}}) {
            for (const index_t elem : {8, 16, 32}) {
                for (const index_t gap : {0, 8, 64}) {
                    for (const index_t shift : {0, 8, 16}) {
                        expect_turned(shape, elem, gap, shift, false, false, width);
                        expect_turned(shape, elem, gap, shift, true, false, width);
                        expect_turned(shape, elem, gap, shift, true, true, width);
                    }
                }
            }
        }
    }
}

TEST(Turn, FirstAndLastAxisChangePlacesWhereTheyLie) {
    for (const index_t side : {1, 2, 31, 32, 33, 64, 100}) {
        for (const index_t between : {1, 2, 3}) {
            for (const index_t elem : {8, 16}) {
                SCOPED_TRACE(testing::Message() << side << " x " << between << " x " << side << " of " << elem);
                const auto bytes = static_cast<size_t>(side * between * side * elem);
                std::vector<unsigned char> array(bytes + 64, kFilling), expected = array;
                for (size_t i = 0; i < bytes; ++i) array[i] = static_cast<unsigned char>(i * 2654435761u >> 13);
                for (index_t i = 0; i < side; ++i) {
                    for (index_t q = 0; q < between; ++q) {
                        for (index_t k = 0; k < side; ++k) {
                            const index_t from = ((i * between + q) * side + k) * elem,
                                          to = ((k * between + q) * side + i) * elem;
                            std::copy_n(array.begin() + from, elem, expected.begin() + to);
                        }
                    }
                }
                const SquareTurn turn{array.data(), side, between, elem};
                std::vector<unsigned char> buffer(static_cast<size_t>(turn.buffer_bytes()));
                for (index_t job = 0; job < turn.jobs(); ++job) turn.run(job, buffer.data());
                EXPECT_EQ(array, expected);
            }
        }
    }
}

TEST(Turn, NothingToTurnWritesNothing) {
    for (const Shape& shape : {Shape{0, 5}, {5, 0}}) {
        expect_turned(shape, 16, 64, 0, false, false, vector_bytes());
        expect_turned(shape, 16, 64, 0, true, true, vector_bytes());
    }
}

}  // namespace
}  // namespace spanfft
