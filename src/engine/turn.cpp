// Transposition in registers; see turn.hpp.
#include "engine/turn.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
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

// Rows [first, last) and so many columns in squares; what is left over of whole ones in smaller squares, unstreamed.
template <int bytes, int elem, bool stream>
SPANFFT_INLINE void turn_block(const Turn& t, index_t first, index_t last, index_t first_column, index_t last_column) {
    constexpr index_t count = bytes / elem;
    if constexpr (count <= 1) {
        turn_one_by_one<elem>(t, first, last, first_column, last_column);
    } else {
        const auto* from = static_cast<const char*>(t.from);
        auto* to = static_cast<char*>(t.to);
        const index_t end = first + (last - first) / count * count;
        const index_t end_column = first_column + (last_column - first_column) / count * count;
        for (index_t r = first; r < end; r += count) {
            for (index_t c = first_column; c < end_column; c += count) {
                turn_square<bytes, elem, stream>(from + r * t.from_pitch_bytes + c * elem, t.from_pitch_bytes,
                                                 to + c * t.to_pitch_bytes + r * elem, t.to_pitch_bytes);
            }
        }
        if (end_column < last_column) turn_block<bytes / 2, elem, false>(t, first, end, end_column, last_column);
        if (end < last) turn_block<bytes / 2, elem, false>(t, end, last, first_column, last_column);
    }
}

template <int bytes, int elem>
SPANFFT_INLINE void turn_in_by(const Turn& t, index_t ahead) {
    constexpr index_t count = bytes / elem;
    const index_t run_bytes = t.columns * elem;
    for (index_t r = 0; r < t.rows; r += count) {
        const char* row = static_cast<const char*>(t.from) + r * t.from_pitch_bytes;
        for (index_t i = 0; i < count && r + ahead + i < t.rows; ++i) {
            const char* next = row + (ahead + i) * t.from_pitch_bytes;
            for (index_t b = 0; b < run_bytes; b += kLine) __builtin_prefetch(next + b);
        }
        turn_block<bytes, elem, false>(t, r, std::min(r + count, t.rows), 0, t.columns);
    }
}

template <int bytes, int elem, bool stream>
SPANFFT_INLINE void turn_out_by(const Turn& t) {
    constexpr index_t count = bytes / elem;
    for (index_t c = 0; c < t.columns; c += count)
        turn_block<bytes, elem, stream>(t, 0, t.rows, c, std::min(c + count, t.columns));
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

namespace {

constexpr index_t kSquaresAhead = 6;  // rows of a square that are fetched ahead

// Rows lie on different sets of the cache.
index_t square_pitch_bytes(const SquareTurn& turn) { return (turn.band_rows() * turn.elem_bytes) + kLine; }

}  // namespace

index_t SquareTurn::buffer_bytes() const { return band_rows() * square_pitch_bytes(*this); }

// A band of rows of one matrix with the columns that it changes places with, from the diagonal on.
void SquareTurn::run(index_t job, void* buffer) const {
    const index_t band = band_rows(), first = job / between * band, pitch = between * side * elem_bytes;
    const index_t buffer_pitch = square_pitch_bytes(*this), rows = std::min(band, side - first);
    auto* const matrix = static_cast<char*>(array) + job % between * side * elem_bytes;
    for (index_t second = first; second < side; second += band) {
        const index_t columns = std::min(band, side - second);
        char* const upper = matrix + first * pitch + second * elem_bytes;
        char* const lower = matrix + second * pitch + first * elem_bytes;
        turn_in({upper, pitch, buffer, buffer_pitch, rows, columns, elem_bytes}, kSquaresAhead);
        if (upper != lower) turn_in({lower, pitch, upper, pitch, columns, rows, elem_bytes}, kSquaresAhead);
        for (index_t i = 0; i < columns; ++i)
            std::memcpy(lower + i * pitch, static_cast<char*>(buffer) + i * buffer_pitch,
                        static_cast<size_t>(rows * elem_bytes));
    }
}

}  // namespace spanfft
