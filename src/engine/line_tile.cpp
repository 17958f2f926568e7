// Forms and moves of tiles; see line_tile.hpp.
#include "engine/line_tile.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/stream_copy.hpp"
#include "engine/tile.hpp"
#include "engine/turn.hpp"

namespace spanfft {

namespace {

constexpr index_t kLine = 64;
constexpr index_t kMostRunBytes = 512;
constexpr index_t kCallBytes = index_t{256} << 10;  // of lines that one call of the engine transforms
constexpr index_t kAhead = 6;                       // rows that are fetched ahead while columns become rows
constexpr double kSweepCopies = 3.8;                // a sweep takes so many copies, turns and twiddles included

index_t budget_bytes(const Caches& caches) { return caches.l2_bytes / 2; }

}  // namespace

LineTileForm line_tile_form(const Caches& caches, index_t points, index_t elem_bytes, index_t available) {
    LineTileForm form;
    form.points = points;
    form.elem_bytes = elem_bytes;
    const index_t line_bytes = points * elem_bytes, unit = kLine / elem_bytes;
    const index_t fit = budget_bytes(caches) / line_bytes / unit * unit;
    form.lines = std::min(std::clamp(fit, unit, kMostRunBytes / elem_bytes), available);
    while (form.lines_a_call * 2 * line_bytes <= kCallBytes && form.lines % (form.lines_a_call * 2) == 0)
        form.lines_a_call *= 2;
    form.pitch_bytes = row_pitch_bytes(line_bytes);
    return form;
}

bool stays_in_cache(const Caches& caches, const LineTileForm& form) { return form.bytes() <= 2 * budget_bytes(caches); }

double share_of_cache(const Caches& caches, const LineTileForm& form) {
    return static_cast<double>(form.lines * form.points * form.elem_bytes) /
           static_cast<double>(2 * budget_bytes(caches));
}

LocalSpec line_tile_call(const LineTileForm& form, Kernel kernel, Precision precision, bool measure) {
    const index_t pitch = form.pitch_bytes / form.elem_bytes;
    LocalSpec call;
    call.kernel = kernel;
    call.precision = precision;
    call.transform = {{form.points, 1, 1}};
    if (form.lines_a_call > 1) call.batch = {{form.lines_a_call, pitch, pitch}};
    call.in_place = true;
    call.measure = measure;
    return call;
}

double line_tile_seconds(const LineTileForm& form, index_t lines, index_t run_lines, double bytes_per_second) {
    const auto bytes = static_cast<double>(form.points * lines * form.elem_bytes);
    // Each run of a tile's columns costs about a cache line more than it has.
    const double runs = 1 + static_cast<double>(kLine) / static_cast<double>(run_lines * form.elem_bytes);
    return kSweepCopies * bytes * runs / bytes_per_second;
}

index_t elems_before_line(index_t past_bytes, index_t elem_bytes) {
    const index_t past = past_bytes % kLine;
    return past % elem_bytes ? 0 : (kLine - past) % kLine / elem_bytes;
}

void LineTile::fetch(const TilePart& part, const void* columns, index_t pitch_bytes) const {
    turn_in({columns, pitch_bytes, line(part.line) + part.point * form_.elem_bytes, form_.pitch_bytes, part.points,
             part.lines, form_.elem_bytes},
            kAhead);
}

// Streamed, whole cache lines of the array apart from the ends; where there are none, all together as they lie.
void LineTile::put(const TilePart& part, void* columns, index_t pitch_bytes, bool stream) const {
    const index_t elem = form_.elem_bytes, unit = kLine / elem;
    auto* const to = static_cast<char*>(columns);
    const auto address = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(to) % kLine);
    index_t whole = std::min(part.lines, elems_before_line(address, elem));
    index_t rest = whole + (part.lines - whole) / unit * unit;
    if (!stream || rest == whole) whole = rest = 0;
    for (const auto& [first, last] : {std::pair{index_t{0}, whole}, {whole, rest}, {rest, part.lines}}) {
        if (first == last) continue;
        turn_out({line(part.line + first) + part.point * elem, form_.pitch_bytes, to + first * elem, pitch_bytes,
                  last - first, part.points, elem},
                 stream);
    }
}

void LineTile::take_rows(index_t lines, const LineFactors& factors, const void* rows, index_t pitch_bytes,
                         index_t first_line) const {
    const auto* from = static_cast<const char*>(rows);
    for (index_t i = 0; i < lines; ++i, from += pitch_bytes) {
        char* const to = line(first_line + i);
        if (factors.twiddles)
            factors.twiddles->multiply_row(*factors.memory, factors.row + i, form_.points, factors.factor, from, to,
                                           false);
        else
            std::memcpy(to, from, static_cast<size_t>(form_.points * form_.elem_bytes));
    }
}

void LineTile::leave_rows(index_t lines, const LineFactors& factors, void* rows, index_t pitch_bytes, bool stream,
                          index_t first_line) const {
    auto* to = static_cast<char*>(rows);
    const auto bytes = static_cast<size_t>(form_.points * form_.elem_bytes);
    for (index_t i = 0; i < lines; ++i, to += pitch_bytes) {
        const char* const from = line(first_line + i);
        if (factors.twiddles)
            factors.twiddles->multiply_row(*factors.memory, factors.row + i, form_.points, factors.factor, from, to,
                                           stream);
        else if (stream)
            stream_copy(to, from, bytes);
        else
            std::memcpy(to, from, bytes);
    }
}

void LineTile::transform(const LocalFft& fft, index_t lines) const {
    for (index_t i = 0; i < lines; i += form_.lines_a_call) fft.execute(line(i), line(i));
}

}  // namespace spanfft
