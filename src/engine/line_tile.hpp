// LineTile: some lines of an array as rows of a tile in cache, which the engine transforms a few at a time.
//
// Method: lines that lie across memory, as columns of arrays, are turned into rows on the way in and back on the way
// out (engine/turn.hpp); a column may lie in several arrays, a piece of its points in each. Lines that lie along
// memory are copied, times their twiddle factors (core/twiddles.hpp). Engines are fastest at contiguous lines: turning
// pays for lines that are long and few at a time (compare engine/tile.hpp, whose lines lie side by side).
// Both sorts of two sweeps are made of it: those of one process (engine/long_line.hpp) and those of the ranks of a node
// (steps/shared_transform_step.hpp).
// Worked: lines of 4096 complex doubles: a tile of 16 is 1 MiB, half of a second cache of 2 MiB; on the way in it is
// 4096 runs of 256 bytes; a call of the engine takes four lines of 64 KiB.
#pragma once

#include "core/buffer.hpp"
#include "core/caches.hpp"
#include "core/twiddles.hpp"
#include "engine/engine.hpp"

namespace spanfft {

// How lines of one length lie in a tile.
struct LineTileForm {
    index_t points = 0, lines = 0, lines_a_call = 1, pitch_bytes = 0, elem_bytes = 0;
    index_t bytes() const { return lines * pitch_bytes; }
    index_t calls(index_t count) const { return ceil_div(count, lines_a_call); }  // for so many lines
};

// Of complex numbers; `available` lines are there to be taken.
LineTileForm line_tile_form(const Caches& caches, index_t points, index_t elem_bytes, index_t available = INT64_MAX);
// Whether it stays in the second cache; lines too long for that are better cut otherwise.
bool stays_in_cache(const Caches& caches, const LineTileForm& form);
double share_of_cache(const Caches& caches, const LineTileForm& form);  // that its lines fill: 1 is all of the second
// What the engine is asked for in one call: a c2c, in place.
LocalSpec line_tile_call(const LineTileForm& form, Kernel kernel, Precision precision, bool measure);
// Of moving `lines` lines in and out, turns and twiddles included, in runs of `run_lines` neighbours, on a machine
// that copies so many bytes a second.
double line_tile_seconds(const LineTileForm& form, index_t lines, index_t run_lines, double bytes_per_second);

// Elements before the first one that begins a cache line, at so many bytes behind one; 0 where none does.
index_t elems_before_line(index_t past_bytes, index_t elem_bytes);

// The columns of a matrix in groups of tiles. The first group ends where a cache line of the array begins, so that the
// runs of the others are whole lines.
struct ColumnGroups {
    index_t columns = 0, lead = 0, width = 1;
    ColumnGroups(index_t all, index_t lead_columns, index_t most)
        : columns(all), lead(lead_columns < all ? lead_columns : all), width(most) {}
    index_t count() const { return (lead > 0 ? 1 : 0) + ceil_div(columns - lead, width); }
    index_t begin(index_t group) const {
        if (lead == 0) return group * width;
        return group == 0 ? 0 : lead + (group - 1) * width;
    }
    index_t end(index_t group) const { return group + 1 == count() ? columns : begin(group + 1); }
    // The sum of `of(columns of a group)` over all groups. All but the first and the last are equally wide, so it takes
    // no longer for more of them: a plan is made in no time however large the array.
    template <class Of>
    index_t sum(Of of) const {
        const index_t groups = count();
        if (groups == 0) return 0;
        if (groups == 1) return of(columns);
        return of(end(0)) + (groups - 2) * of(width) + of(columns - begin(groups - 1));
    }
};

// Elements [point, point + points) of `lines` lines of a tile, from `line` on.
struct TilePart {
    index_t line = 0, lines = 0;
    index_t point = 0, points = 0;
};

// Twiddle factors of whole lines: line i of a part is row `row` + i of the array, and is multiplied by `factor` too.
struct LineFactors {
    const Twiddles* twiddles = nullptr;  // none: lines are copied, and factor is 1
    const Twiddles::Row* memory = nullptr;
    index_t row = 0;
    long double factor = 1;
};

// Memory of one thread's tile, in a form; several forms may share it, one at a time.
class LineTile {
  public:
    LineTile() = default;
    LineTile(const Buffer& memory, const LineTileForm& form) : memory_(memory.as<char>()), form_(form) {}
    char* line(index_t i) const { return memory_ + i * form_.pitch_bytes; }
    TilePart all(index_t lines, index_t line = 0) const { return {line, lines, 0, form_.points}; }

    // Columns of an array, whose rows lie pitch_bytes apart, and the part: the first one of each is given.
    void fetch(const TilePart& part, const void* columns, index_t pitch_bytes) const;
    void put(const TilePart& part, void* columns, index_t pitch_bytes, bool stream) const;
    // Rows of memory, pitch_bytes apart, and whole lines.
    void take_rows(index_t lines, const LineFactors& factors, const void* rows, index_t pitch_bytes,
                   index_t line = 0) const;
    void leave_rows(index_t lines, const LineFactors& factors, void* rows, index_t pitch_bytes, bool stream,
                    index_t line = 0) const;

    // By calls of the engine, which may take lines behind them too.
    void transform(const LocalFft& fft, index_t lines) const;

  private:
    char* memory_ = nullptr;
    LineTileForm form_;
};

}  // namespace spanfft
