// Between panels or blocks and tiles; see sweep_tiles.hpp.
#include "sweeps/sweep_tiles.hpp"

#include <type_traits>

#include "steps/tile_kernels.hpp"

namespace spanfft {

namespace {

// Rows of the columns of a tile, to rows of a panel from element `at` on.
template <class E>
index_t put_rows(const E* tile, index_t pitch, index_t count, const RowMap& rows, index_t row_count, index_t at) {
    index_t written_bytes = 0;
    for (index_t r = 0; r < row_count; ++r)
        written_bytes += from_tile(tile, pitch, r, count, reinterpret_cast<E*>(rows.row(r)) + at);
    return written_bytes;
}

// Rows of a panel lie far apart, so no processor knows which line of memory is next: they are asked for ahead.
constexpr index_t kRowsAhead = 16;
template <class E>
void fetch(const E* row, index_t count) {
    const auto* const begin = reinterpret_cast<const char*>(row);
    const auto* const end = reinterpret_cast<const char*>(row + count);
    for (const char* line = begin; line < end; line += 64) __builtin_prefetch(line);
}

}  // namespace

// Elements of a panel of two groups, each in the one that has its column.
template <class T>
class SweepTiles<T>::TwoGroups {
  public:
    TwoGroups(const ColumnPanels& panels, index_t panel, const RowMap& own, const RowMap& besides)
        : rows_{own, besides}, groups_{panels.group(panel, 0), panels.group(panel, 1)}, numbers_(panels.numbers) {}
    template <class E>
    E& at(index_t row, index_t column, index_t number = 0) const {
        const index_t in_first = column - groups_[0].first;
        const int which = in_first >= 0 && in_first < groups_[0].width ? 0 : 1;
        return reinterpret_cast<E*>(rows_[which].row(row))[(column - groups_[which].first) * numbers_ + number];
    }

  private:
    RowMap rows_[2];
    ColumnPanels::Group groups_[2];
    index_t numbers_;
};

template <class T>
RowMap SweepTiles<T>::rows_read(const SweepWhere& where, int which) const {
    const ColumnPanels& in = spec_.source.columns();
    if (!spec_.takes_ahead()) return in.map(where.panel, which, in_offset, where.read);
    // The tile alone, group after group.
    const ColumnPanels::Group own{where.first, where.count}, tile = which == 0 ? own : in.images(own);
    RowMap rows;
    rows.base = where.read + which * in.rows * spec_.tile_width() * in.elem_bytes -
                (tile.first - in.group(where.panel, which).first) * in.elem_bytes;
    rows.pitch_bytes = tile.width * in.elem_bytes;
    return rows;
}

template <class T>
RowMap SweepTiles<T>::rows_gathered(const SweepWhere& where, int which) const {
    const ColumnPanels* const apart = spec_.apart(false);
    return apart ? apart->map(where.panel, which, 0, where.apart) : rows_read(where, which);
}

template <class T>
RowMap SweepTiles<T>::rows_written(const SweepWhere& where) const {
    return panels_in_memory().map(where.panel, 0, offset_in_memory(), where.write);
}

template <class T>
RowMap SweepTiles<T>::rows_scattered(const SweepWhere& where) const {
    const ColumnPanels* const apart = spec_.apart(true);
    return apart ? apart->map(where.panel, 0, 0, where.apart) : rows_written(where);
}

template <class T>
index_t SweepTiles<T>::gather(const SweepWhere& where, index_t first, index_t count, void* tile) const {
    const SweepSource& source = spec_.source;
    T* const reals = static_cast<T*>(tile);
    C* const numbers = static_cast<C*>(tile);
    if (source.is_blocks()) return gather_blocks(where, first, count, numbers);
    const bool factors = source.factors.length > 0;  // a real kind as a Fourier transform, or a convolution
    if (!source.complex)
        return factors ? gather_padded(where, first, count, reals) : gather_columns(where, first, count, reals);
    if (source.columns().mirrored())
        return factors ? gather_half_spectrum<T>(where, first, count, numbers)
                       : gather_half_spectrum<C>(where, first, count, numbers);
    return factors ? gather_inputs(where, first, count, numbers) : gather_columns(where, first, count, numbers);
}

template <class T>
index_t SweepTiles<T>::scatter(const SweepWhere& where, index_t first, index_t count, void* tile,
                               Twiddles& thread) const {
    const SweepTarget& target = spec_.target;
    C* const numbers = static_cast<C*>(tile);
    if (target.section_columns > 0) return scatter_sections(where, first, count, numbers);
    if (target.is_blocks()) return scatter_blocks(where, first, count, numbers, thread);
    if (target.turned()) return scatter_turned(where, first, count, numbers, thread);
    if (std::holds_alternative<Reflection>(target.array)) return scatter_reflected(where, first, count, numbers);
    if (!target.complex) return scatter_columns(where, first, count, static_cast<T*>(tile));
    if (spec_.target.columns().mirrored()) return scatter_half_spectrum(where, first, count, numbers);
    if (target.factors.length > 0) return scatter_outputs(where, first, count, numbers);
    return scatter_columns(where, first, count, numbers);
}

template <class T>
void SweepTiles<T>::twiddle(index_t first, index_t count, C* tile, Twiddles& thread) const {
    const index_t chunk = spec_.twiddle_form().chunk();
    const C* factors = nullptr;
    for (index_t j = 0, made = -1; j < count; ++j) {  // a section has one set of twiddles
        const index_t r = spec_.twiddles.index((first + j) / spec_.numbers());
        if (r != made) factors = twiddles.of_column(r, thread);
        made = r;
        twiddle_rows_in_place(factors, 0, spec_.out_points, tile + j * spec_.target_pitch(), chunk);
    }
}

template <class T>
index_t SweepTiles<T>::gather_blocks(const SweepWhere& where, index_t first, index_t count, C* tile) const {
    const BlockGrid& blocks = spec_.source.blocks();
    const index_t pitch = spec_.source_pitch(), height = blocks.rows_in(where.tile) * spec_.numbers();
    const index_t row = first - where.first * spec_.numbers();
    index_t read_bytes = 0;
    for (index_t t = 0, point = 0; t < blocks.column_tiles(); ++t) {
        const auto* block = static_cast<const C*>(blocks.read_run(where.matrix, where.tile, t, where.read).data);
        for (index_t c = 0; c < blocks.columns_in(t); ++c, ++point)
            read_bytes += into_tile(block + c * height + row, count, tile, pitch, point);
    }
    return read_bytes;
}

template <class T>
template <class E>
index_t SweepTiles<T>::gather_columns(const SweepWhere& where, index_t first, index_t count, E* tile) const {
    const ColumnPanels& in = spec_.source.columns();
    const index_t pitch = spec_.source_pitch();
    index_t read_bytes = 0;
    for (Lot lot; lot.from + lot.count < count;) {
        lot = lot_of(where, first, lot.from + lot.count, count);
        const RowMap rows = rows_of(lot, in, rows_gathered(where, lot.which));
        const index_t row_count = in.rows * (spec_.slab_columns() > 0 ? spec_.points : 1);
        const auto row = [&](index_t r) { return reinterpret_cast<const E*>(rows.row(r)) + lot.at; };
        for (index_t r = 0; r < row_count; ++r) {
            if (r + kRowsAhead < row_count) fetch(row(r + kRowsAhead), lot.count);
            read_bytes += into_tile(row(r), lot.count, tile + lot.from * pitch, pitch, r);
        }
    }
    return read_bytes;
}

template <class T>
typename SweepTiles<T>::Lot SweepTiles<T>::lot_of(const SweepWhere& where, index_t first, index_t from,
                                                  index_t count) const {
    const index_t numbers = spec_.numbers(), left = count - from;
    const index_t at = first + from - spec_.columns_of(spec_.walked().first_column(where.panel)) * numbers;
    if (const index_t wide = spec_.slab_columns() * numbers; wide > 0)
        return {0, at % wide, from, std::min(left, wide - at % wide), at / wide};
    if (spec_.source.is_blocks() || !spec_.source.columns().reflected()) return {0, at, from, left};
    const index_t own = spec_.source.columns().group(where.panel, 0).width * numbers;
    if (at >= own) return {1, at - own, from, left};
    return {0, at, from, std::min(left, own - at)};
}

// The rows of a slab, if a panel is slabs, in which they follow one another.
template <class T>
RowMap SweepTiles<T>::rows_of(const Lot& lot, const ColumnPanels& panels, const RowMap& panel) const {
    if (spec_.slab_columns() == 0) return panel;
    RowMap rows;
    rows.pitch_bytes = spec_.slab_columns() * panels.elem_bytes;
    rows.base = panel.row(0) + lot.slab * spec_.points * rows.pitch_bytes;
    return rows;
}

// What is stored of a real kind's input as the half spectrum whose c2r is that kind: x e(ak/D); the rest is 0, and not
// added to what was `read`. Real data in the first place, so weights of 2 are the conjugate halves.
template <class T>
Pair<T> SweepTiles<T>::spectrum_of_input(index_t k, const T& input, index_t& read) const {
    if (k >= spec_.source.factors.inputs) return {0, 0};
    ++read;
    const T x = input;
    const Pair<long double> root = linear_root(spec_.source.factors, source_roots, spec_.source.factors.a, 0, k);
    return {x * static_cast<T>(root.re), x * static_cast<T>(root.im)};
}

// Column k1 of X[k1 + n1*k2], k2 = 0..n2-1, from the half that is stored: k = k1 + n1*k2 > n/2 is conj(X[n-k]), and
// n-k = (n1-k1) + n1*(n2-1-k2), or n1*(n2-k2) in column 0. Worked: n = 12 = 4*3, column 1 is X1, X5, conj(X3).
template <class T>
template <class E>
index_t SweepTiles<T>::gather_half_spectrum(const SweepWhere& where, index_t first, index_t count, C* tile) const {
    const ColumnPanels& in = spec_.source.columns();
    const index_t row_elems = in.row_elems, n2 = spec_.points, half = spec_.twiddles.roots_n / 2;
    const index_t pitch = spec_.source_pitch();
    const TwoGroups panel(in, where.panel, rows_read(where, 0), rows_read(where, 1));
    index_t read = 0;
    const auto number_of = [&](index_t k, const E& stored) {
        if constexpr (std::is_same_v<E, C>)
            return ++read, stored;
        else
            return spectrum_of_input(k, stored, read);
    };
    for (index_t j = 0, together; j < count; j += together) {
        const Number begin = number_at(first + j);
        const index_t c0 = in.column_of(begin.element);
        together = std::min(count - j, in.mirrored_together(begin.element) * begin.numbers - begin.number);
        for (index_t k2 = 0; k2 < n2; ++k2) {
            const index_t k0 = c0 + row_elems * k2, upto = k0 + (begin.number + together - 1) / begin.numbers;
            const E* const own = k0 <= half ? &panel.template at<const E>(k2, c0) : nullptr;
            const index_t row = c0 == 0 ? n2 - k2 : n2 - 1 - k2;
            const E* const image =
                upto > half ? &panel.template at<const E>(row, c0 == 0 ? 0 : row_elems - c0) : nullptr;
            C* to = tile + j * pitch + k2;
            Number n = begin;
            for (index_t i = 0; i < together; ++i, ++n, to += pitch) {
                const index_t further = n.element - begin.element, k = k0 + further;
                if (k <= half) {
                    *to = number_of(k, own[further * n.numbers + n.number]);
                } else {
                    const C from = number_of(row_elems * n2 - k, image[n.number - further * n.numbers]);
                    *to = {from.re, -from.im};
                }
            }
        }
    }
    return read * in.number_bytes();
}

// Columns of the input times its factors, with zeros behind it.
template <class T>
index_t SweepTiles<T>::gather_inputs(const SweepWhere& where, index_t first, index_t count, C* tile) const {
    const ColumnPanels& in = spec_.source.columns();
    const index_t pitch = spec_.source_pitch();
    index_t read_bytes = 0;
    if (in.number_bytes() == static_cast<index_t>(sizeof(C))) {
        read_bytes = gather_columns(where, first, count, tile);
    } else {
        const RowMap rows = rows_read(where, 0);
        const index_t at = first - in.first_column(where.panel) * spec_.numbers();
        for (index_t r = 0; r < in.rows; ++r) {
            const T* reals = reinterpret_cast<const T*>(rows.row(r)) + at;
            for (index_t j = 0; j < count; ++j) tile[j * pitch + r] = {reals[j], 0};
            read_bytes += count * static_cast<index_t>(sizeof(T));
        }
    }
    Number n = number_at(first);
    for (index_t j = 0; j < count; ++j, ++n)
        chirp_inputs(spec_.source.factors, source_roots, n.element, in.row_elems, spec_.points, tile + j * pitch);
    return read_bytes;
}

// The same where the factors are weights alone and the tile is real.
template <class T>
index_t SweepTiles<T>::gather_padded(const SweepWhere& where, index_t first, index_t count, T* tile) const {
    const index_t read_bytes = gather_columns(where, first, count, tile);
    const Chirp& chirp = spec_.source.factors;
    Number n = number_at(first);
    for (index_t j = 0; j < count; ++j, ++n) {
        T* const column = tile + j * spec_.source_pitch();
        for (index_t r = 0, i = n.element; r < spec_.points; ++r, i += spec_.source.columns().row_elems) {
            if (i >= chirp.inputs)
                column[r] = 0;
            else
                column[r] *= static_cast<T>(chirp.weight_of(i));
        }
    }
    return read_bytes;
}

template <class T>
template <class E>
void SweepTiles<T>::scale_tile(index_t count, E* tile) const {
    if (spec_.scale == 1) return;
    const T scale = static_cast<T>(spec_.scale);
    for (index_t j = 0; j < count; ++j) {
        T* column = reinterpret_cast<T*>(tile + j * spec_.target_pitch());
        const index_t reals = spec_.out_points * static_cast<index_t>(sizeof(E) / sizeof(T));
        for (index_t i = 0; i < reals; ++i) column[i] *= scale;
    }
}

template <class T>
template <class E>
index_t SweepTiles<T>::scatter_columns(const SweepWhere& where, index_t first, index_t count, E* tile) const {
    scale_tile(count, tile);
    const ColumnPanels& out = spec_.target.columns();
    const RowMap panel = rows_scattered(where);
    const index_t row_count = out.rows * (spec_.slab_columns() > 0 ? spec_.out_points : 1);
    index_t written_bytes = 0;
    for (Lot lot; lot.from + lot.count < count;) {
        lot = lot_of(where, first, lot.from + lot.count, count);
        written_bytes += put_rows(tile + lot.from * spec_.target_pitch(), spec_.target_pitch(), lot.count,
                                  rows_of(lot, out, panel), row_count, lot.at);
    }
    return written_bytes;
}

// The reverse of gather_half_spectrum: what row k1 of the second sweep gives of X[0..n/2], each element once. Columns
// 0 and n1/2 are their own mirror images; their upper part is not needed.
template <class T>
index_t SweepTiles<T>::scatter_half_spectrum(const SweepWhere& where, index_t first, index_t count,
                                             const C* tile) const {
    const ColumnPanels& out = spec_.target.columns();
    const index_t row_elems = out.row_elems, n2 = spec_.points, half = out.matrix_elems() - 1;
    const index_t section = out.section_pitch();
    index_t written = 0;
    const auto put = [&](index_t k, const C& value, char* row, index_t column) {
        ++written;
        if (spec_.target.factors.length == 0)
            reinterpret_cast<C*>(row)[column] = value;
        else
            reinterpret_cast<T*>(row)[column] = real_output(spec_.target.factors, target_roots, k, value);
    };
    const RowMap rows = out.map(where.panel, 0, out_offset, where.write);
    const RowMap mirror_rows = out.map(where.panel, 1, out_offset, where.write);
    const index_t at = out.group(where.panel, 0).first, mirror_at = out.group(where.panel, 1).first;
    const index_t walked_from = spec_.walked().first_column(where.panel), d_at = at % section;
    const index_t pitch = spec_.target_pitch();
    for (index_t k2 = 0; k2 < n2; ++k2) {
        char *const row = rows.row(k2), *const mirror_row = mirror_rows.row(n2 - 1 - k2);
        const C* from = tile + k2;
        Number n = number_at(first);
        for (index_t j = 0; j < count; ++j, ++n, from += pitch) {  // a panel is of one section
            const index_t further = n.element - walked_from, k = at + further + row_elems * k2, d = d_at + further;
            if (k <= half) {
                put(k, *from, row, further * n.numbers + n.number);
            } else if (d > 0 && 2 * d != section) {
                put(row_elems * n2 - k, {from->re, -from->im}, mirror_row,
                    (row_elems - at - further - mirror_at) * n.numbers + n.number);
            }
        }
    }
    return written * out.number_bytes();
}

// From the columns of whole sections of a half spectrum and of those that mirror them: each column gives of X[0..n/2]
// what is its own and what is its mirror image's, row_elems - k1, in the other group.
template <class T>
index_t SweepTiles<T>::scatter_reflected(const SweepWhere& where, index_t first, index_t count, const C* tile) const {
    const ColumnPanels &in = spec_.source.columns(), &out = spec_.target.columns();
    const index_t row_elems = out.row_elems, n2 = spec_.points, half = out.matrix_elems() - 1;
    const index_t section = std::get_if<Reflection>(&spec_.target.array)->columns, stored = section / 2 + 1;
    const index_t pitch = spec_.target_pitch();
    const auto rows = [&](int which) { return out.map(where.panel, which, out_offset, where.write); };
    const TwoGroups panel(out, where.panel, rows(0), rows(1));
    index_t written = 0;
    for (Lot lot; lot.from + lot.count < count;) {
        lot = lot_of(where, first, lot.from + lot.count, count);
        const index_t lot_first = in.group(where.panel, lot.which).first * spec_.numbers() + lot.at;
        for (index_t j = 0, together; j < lot.count; j += together) {  // of one section
            const Number begin = number_at(lot_first + j);
            const index_t d0 = begin.element % stored, c0 = begin.element / stored * section + d0;
            together = std::min(lot.count - j, (stored - d0) * begin.numbers - begin.number);
            const index_t alone = d0 == 0 ? 1 : 0;  // the section's first column has no image
            for (index_t k2 = 0; k2 < n2; ++k2) {
                const index_t k0 = c0 + row_elems * k2, upto = k0 + (begin.number + together - 1) / begin.numbers;
                C* const own = k0 <= half ? &panel.template at<C>(k2, c0) : nullptr;
                C* const image = upto > half ? &panel.template at<C>(n2 - 1 - k2, row_elems - c0 - alone) : nullptr;
                const C* from = tile + (lot.from + j) * pitch + k2;
                Number n = begin;
                for (index_t i = 0; i < together; ++i, ++n, from += pitch) {
                    const index_t further = n.element - begin.element, d = d0 + further;
                    if (k0 + further <= half) {
                        own[further * n.numbers + n.number] = *from;
                    } else if (d > 0 && 2 * d != section) {
                        image[n.number - (further - alone) * n.numbers] = {from->re, -from->im};
                    } else {
                        continue;
                    }
                    ++written;
                }
            }
        }
    }
    return written * static_cast<index_t>(sizeof(C));
}

// Column d of section s of the tile, row r, is element (s * out_points + r) * section + d of it; here d counts numbers.
template <class T>
index_t SweepTiles<T>::scatter_sections(const SweepWhere& where, index_t first, index_t count, C* tile) const {
    const index_t wide = spec_.target.section_columns * spec_.numbers(), pitch = spec_.target_pitch();
    scale_tile(count, tile);
    C* const to = reinterpret_cast<C*>(tile_data(where));
    const index_t tile_first = where.first * spec_.numbers();
    index_t written_bytes = 0;
    for (index_t j = 0; j < count;) {
        const index_t section = (first + j - tile_first) / wide, d = (first + j) % wide;
        const index_t side_by_side = std::min(count - j, wide - d);
        C* const begin = to + section * spec_.out_points * wide + d;
        for (index_t r = 0; r < spec_.out_points; ++r)
            written_bytes += from_tile(tile + j * pitch, pitch, r, side_by_side, begin + r * wide);
        j += side_by_side;
    }
    return written_bytes;
}

// Columns times the factors of the outputs, as many as there are; of real results the real part.
template <class T>
index_t SweepTiles<T>::scatter_outputs(const SweepWhere& where, index_t first, index_t count, C* tile) const {
    const ColumnPanels& out = spec_.target.columns();
    const index_t pitch = spec_.target_pitch();
    Number n = number_at(first);
    for (index_t j = 0; j < count; ++j, ++n) {
        chirp_outputs(spec_.target.factors, target_roots, n.element, out.row_elems, out.rows, tile + j * pitch);
    }
    const RowMap rows = out.map(where.panel, 0, out_offset, where.write);
    const index_t at = first - spec_.walked().first_column(where.panel) * spec_.numbers();
    if (out.number_bytes() == static_cast<index_t>(sizeof(C))) return put_rows(tile, pitch, count, rows, out.rows, at);
    for (index_t r = 0; r < out.rows; ++r) {
        T* reals = reinterpret_cast<T*>(rows.row(r)) + at;
        for (index_t j = 0; j < count; ++j) reals[j] = tile[j * pitch + r].re;
    }
    return out.rows * count * static_cast<index_t>(sizeof(T));
}

// Where a tile of blocks begins in memory: what is exchanged is packed.
template <class T>
char* SweepTiles<T>::tile_data(const SweepWhere& where) const {
    if (spec_.exchanges()) return where.write;
    return spec_.target.blocks().write_data(where.matrix, where.first, out_offset, where.write);
}

// A column of elements is numbers side by side, all twiddled alike.
template <class T>
template <class To>
index_t SweepTiles<T>::scatter_twiddled(index_t first, index_t count, index_t points_together, C* tile,
                                        Twiddles& thread, To place_of) const {
    const index_t numbers = spec_.numbers(), pitch = spec_.target_pitch(), points = spec_.out_points;
    const index_t chunk = spec_.twiddle_form().chunk();
    index_t written_bytes = 0;
    for (index_t j = 0; j < count;) {
        const Number n = number_at(first + j);
        const index_t side_by_side = std::min(count - j, numbers - n.number);
        const C* const factors = twiddles.of_column(spec_.twiddles.index(n.element), thread);
        for (index_t i = j; numbers > 1 && i < j + side_by_side; ++i)
            twiddle_rows_in_place(factors, 0, points, tile + i * pitch, chunk);
        for (index_t begin = 0; begin < points; begin += points_together) {
            const index_t end = std::min(begin + points_together, points);
            C* to = place_of(n.element, begin) + n.number;
            if (numbers == 1) {
                written_bytes += twiddle_rows(tile + j * pitch + begin, factors, begin, end, to, chunk);
                continue;
            }
            for (index_t r = begin; r < end; ++r, to += numbers)
                written_bytes += from_tile(tile + j * pitch, pitch, r, side_by_side, to);
        }
        j += side_by_side;
    }
    return written_bytes;
}

template <class T>
index_t SweepTiles<T>::scatter_blocks(const SweepWhere& where, index_t first, index_t count, C* tile,
                                      Twiddles& thread) const {
    const BlockGrid& blocks = spec_.target.blocks();
    C* const data = reinterpret_cast<C*>(tile_data(where));
    return scatter_twiddled(first, count, blocks.tile_rows, tile, thread, [&](index_t column, index_t point) {
        const index_t t = point / blocks.tile_rows, before = blocks.block_elems_before(where.tile, t);
        return data + (before + (column - where.first) * blocks.rows_in(t)) * spec_.numbers();
    });
}

template <class T>
index_t SweepTiles<T>::scatter_turned(const SweepWhere& where, index_t first, index_t count, C* tile,
                                      Twiddles& thread) const {
    const TurnedRows& turned = *spec_.target.turned();
    char* const slot = turned.first_row(where.tile, where.write);
    const RowMap rows = turned.panels.map(where.panel, 0, out_offset, slot);
    const index_t wide = turned.panels.rows, panel_first = spec_.walked().first_column(where.panel);
    return scatter_twiddled(first, count, spec_.out_points, tile, thread, [&](index_t column, index_t /*point*/) {
        const index_t at = (column - panel_first) / wide * spec_.out_points;
        return reinterpret_cast<C*>(rows.row(column % wide)) + at * spec_.numbers();
    });
}

template <class T>
void SweepTiles<T>::make_filter(index_t first, index_t count, C* tile) const {
    const long double scale = *std::get_if<TileWork>(&spec_.work)->filter_scale;
    Number n = number_at(first);
    for (index_t j = 0; j < count; ++j, ++n) {
        chirp_filter(spec_.source.factors, source_roots, spec_.twiddles.roots_n, scale, n.element,
                     spec_.source.columns().row_elems, spec_.points, tile + j * spec_.target_pitch());
    }
}

template <class T>
index_t SweepTiles<T>::scatter_filter(const SweepWhere& where, index_t first, index_t count, const C* tile) const {
    const ColumnPanels& out = spec_.target.columns();
    const RowMap rows = out.map(where.panel, 1, out_offset, where.write);
    const index_t at = first - spec_.walked().first_column(where.panel) * spec_.numbers();
    return put_rows(tile, spec_.target_pitch(), count, rows, out.rows, at);
}

template class SweepTiles<float>;
template class SweepTiles<double>;
template class SweepTiles<long double>;

}  // namespace spanfft
