// Transposition in registers; see turn.hpp.
#include "engine/turn.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace spanfft {

namespace {

constexpr index_t kLine = 64;

// Two rows of a square exchange what lies off its diagonal of blocks of `distance` elements.
template <int bytes, int elem, int distance, int... lane>
SPANFFT_INLINE void exchange(Vector<long long, bytes>& a, Vector<long long, bytes>& b,
                             std::integer_sequence<int, lane...>) {
    constexpr int unit = elem / 8, lanes = bytes / 8, step = distance * unit;
    Vector<long long, bytes> x, y;
    shuffle_vectors<(lane / unit & distance ? lane - step + lanes : lane)...>(a, b, x);
    shuffle_vectors<(lane / unit & distance ? lane + lanes : lane + step)...>(a, b, y);
    a = x;
    b = y;
}

template <int bytes, int elem, int distance, int count>
SPANFFT_INLINE void exchange_all(Vector<long long, bytes> (&rows)[count]) {
    if constexpr (distance < count) {
#pragma GCC unroll 8
        for (int i = 0; i < count; ++i) {
            if ((i & distance) == 0)
                exchange<bytes, elem, distance>(rows[i], rows[i + distance],
                                                std::make_integer_sequence<int, bytes / 8>());
        }
        exchange_all<bytes, elem, 2 * distance>(rows);
    }
}

// One square of as many elements each way as a register has.
template <int bytes, int elem, bool stream>
SPANFFT_INLINE void turn_square(const char* from, index_t from_pitch, char* to, index_t to_pitch) {
    constexpr int count = bytes / elem;
    Vector<long long, bytes> rows[count];
#pragma GCC unroll 8
    for (int i = 0; i < count; ++i) load_vector(rows[i], from + i * from_pitch);
    exchange_all<bytes, elem, 1>(rows);
#pragma GCC unroll 8
    for (int i = 0; i < count; ++i) store_vector<stream>(to + i * to_pitch, rows[i]);
}

template <int elem>
SPANFFT_INLINE void turn_one_by_one(const Turn& t, index_t first_row, index_t end_row, index_t first_column,
                                    index_t end_column) {
    for (index_t r = first_row; r < end_row; ++r) {
        for (index_t c = first_column; c < end_column; ++c) {
            std::memcpy(static_cast<char*>(t.to) + c * t.to_pitch_bytes + r * elem,
                        static_cast<const char*>(t.from) + r * t.from_pitch_bytes + c * elem, elem);
        }
    }
}

template <int bytes, int elem>
SPANFFT_INLINE void turn_in_by(const Turn& t, index_t ahead) {
    constexpr index_t count = bytes / elem;
    const auto* from = static_cast<const char*>(t.from);
    auto* to = static_cast<char*>(t.to);
    const index_t rows = t.rows / count * count, columns = t.columns / count * count;
    const index_t run_bytes = t.columns * elem;
    for (index_t r = 0; r < rows; r += count) {
        const char* row = from + r * t.from_pitch_bytes;
        for (index_t i = 0; i < count && r + ahead + i < t.rows; ++i) {
            const char* next = row + (ahead + i) * t.from_pitch_bytes;
            for (index_t b = 0; b < run_bytes; b += kLine) __builtin_prefetch(next + b);
        }
        for (index_t c = 0; c < columns; c += count) {
            turn_square<bytes, elem, false>(row + c * elem, t.from_pitch_bytes, to + c * t.to_pitch_bytes + r * elem,
                                            t.to_pitch_bytes);
        }
    }
    turn_one_by_one<elem>(t, 0, rows, columns, t.columns);
    turn_one_by_one<elem>(t, rows, t.rows, 0, t.columns);
}

template <int bytes, int elem, bool stream>
SPANFFT_INLINE void turn_out_by(const Turn& t) {
    constexpr index_t count = bytes / elem;
    const auto* from = static_cast<const char*>(t.from);
    auto* to = static_cast<char*>(t.to);
    const index_t rows = t.rows / count * count, columns = t.columns / count * count;
    for (index_t c = 0; c < columns; c += count) {
        for (index_t r = 0; r < rows; r += count) {
            turn_square<bytes, elem, stream>(from + r * t.from_pitch_bytes + c * elem, t.from_pitch_bytes,
                                             to + c * t.to_pitch_bytes + r * elem, t.to_pitch_bytes);
        }
        turn_one_by_one<elem>(t, rows, t.rows, c, c + count);
    }
    turn_one_by_one<elem>(t, 0, t.rows, columns, t.columns);
}

template <int bytes>
SPANFFT_INLINE void turn_in_with(const Turn& t, index_t ahead) {
    if (t.elem_bytes == 16)
        turn_in_by<bytes, 16>(t, ahead);
    else
        turn_in_by<bytes, 8>(t, ahead);
}

template <int bytes>
SPANFFT_INLINE void turn_out_with(const Turn& t, bool stream) {
    const auto at = reinterpret_cast<std::uintptr_t>(t.to) | static_cast<std::uintptr_t>(t.to_pitch_bytes);
    stream = stream && at % kLine == 0;
    if (t.elem_bytes == 16)
        stream ? turn_out_by<bytes, 16, true>(t) : turn_out_by<bytes, 16, false>(t);
    else
        stream ? turn_out_by<bytes, 8, true>(t) : turn_out_by<bytes, 8, false>(t);
}

SPANFFT_FOR_AVX512 void turn_in_64(const Turn& t, index_t ahead) { turn_in_with<64>(t, ahead); }
SPANFFT_FOR_AVX2 void turn_in_32(const Turn& t, index_t ahead) { turn_in_with<32>(t, ahead); }
void turn_in_16(const Turn& t, index_t ahead) { turn_in_with<16>(t, ahead); }
SPANFFT_FOR_AVX512 void turn_out_64(const Turn& t, bool stream) { turn_out_with<64>(t, stream); }
SPANFFT_FOR_AVX2 void turn_out_32(const Turn& t, bool stream) { turn_out_with<32>(t, stream); }
void turn_out_16(const Turn& t, bool stream) { turn_out_with<16>(t, stream); }

}  // namespace

void turn_in(const Turn& turn, index_t ahead, int width_bytes) {
    if (turn.elem_bytes == 32) return turn_one_by_one<32>(turn, 0, turn.rows, 0, turn.columns);
    return width_bytes == 64   ? turn_in_64(turn, ahead)
           : width_bytes == 32 ? turn_in_32(turn, ahead)
                               : turn_in_16(turn, ahead);
}

void turn_out(const Turn& turn, bool stream, int width_bytes) {
    if (turn.elem_bytes == 32) return turn_one_by_one<32>(turn, 0, turn.rows, 0, turn.columns);
    return width_bytes == 64   ? turn_out_64(turn, stream)
           : width_bytes == 32 ? turn_out_32(turn, stream)
                               : turn_out_16(turn, stream);
}

}  // namespace spanfft
