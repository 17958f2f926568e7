// What a thread of a disk sweep takes from a panel (or from blocks) into the columns of its tile, and puts back: as it
// is, times the factors of a real kind, or from and to the stored half of a conjugate-even spectrum.
//
// Method: column j of a tile has points at tile[j * pitch + r]; rows of a panel are where its runs landed (panels.hpp).
// Each returns the bytes of panel or blocks that it read or wrote; a tile is in a cache and its bytes are not counted.
// Invariant: const while a sweep runs, so any number of threads may use one; each tile has one thread.
// Source: half spectra docs/adr/0017, real kinds steps/chirp.hpp.
#pragma once

#include "core/root_of_unity.hpp"
#include "sweeps/sweep_spec.hpp"

namespace spanfft {

struct SweepWhere {                           // of a compute step
    index_t matrix = 0, panel = 0, tile = 0;  // tile: of the matrix, not of the panel
    index_t first = 0, count = 0;             // elements: columns of rows of numbers, or of slabs
    char* read = nullptr;
    char* write = nullptr;
    char* apart = nullptr;  // rows apart
};

template <class T>
class SweepTiles {
  public:
    using C = Pair<T>;
    explicit SweepTiles(const SweepSpec& spec) : spec_(spec) {}  // which must outlive it

    // Columns of numbers first, first+1, ... (count of them) of the matrix, from panel or blocks into the columns of a
    // tile, times the factors of the source.
    index_t gather(const SweepWhere& where, index_t first, index_t count, void* tile) const;
    // The reverse, times the scale, and the factors of the target. Twiddles are multiplied in before, but for blocks,
    // where they are on the way.
    using Twiddles = typename ColumnTwiddles<T>::Thread;
    index_t scatter(const SweepWhere& where, index_t first, index_t count, void* tile, Twiddles& thread) const;
    void twiddle(index_t first, index_t count, C* tile, Twiddles& thread) const;  // in the tile
    // The columns of the filter that go with these, and to where they belong: the target's twin.
    void make_filter(index_t first, index_t count, C* tile) const;
    index_t scatter_filter(const SweepWhere& where, index_t first, index_t count, const C* tile) const;

    // Rows of a group of a panel that was read; of a tile that was taken out of it, as if the others were there too.
    RowMap rows_read(const SweepWhere& where, int which) const;
    RowMap rows_written(const SweepWhere& where) const;
    // Those from which tiles are filled, and into which they are emptied: these, or rows apart.
    RowMap rows_gathered(const SweepWhere& where, int which) const;
    RowMap rows_scattered(const SweepWhere& where) const;
    // As what rows that are written to panels lie in memory: in place as they were read.
    const ColumnPanels& panels_in_memory() const {
        return spec_.target.is_in_place() ? spec_.source.columns() : spec_.target.columns();
    }
    index_t offset_in_memory() const { return spec_.target.is_in_place() ? in_offset : out_offset; }

    ColumnTwiddles<T> twiddles;             // made with the task, as the next ones
    RootTable source_roots, target_roots;   // of both sides' factors
    index_t in_offset = 0, out_offset = 0;  // of the arrays in their stores, set before a run

  private:
    // Columns of numbers of a panel that lie side by side in its memory.
    struct Lot {
        int which = 0;                        // group
        index_t at = 0, from = 0, count = 0;  // numbers into the group, and from the first that was asked for
        index_t slab = 0;                     // of the panel, if it is slabs of columns: `at` counts from there
    };
    class TwoGroups;
    // Which element a column of numbers is in, and which number of it; ++ goes to the next.
    struct Number {
        index_t element = 0, number = 0, numbers = 1;
        void operator++() {
            if (++number == numbers) number = 0, ++element;
        }
    };
    Number number_at(index_t first) const {
        const index_t numbers = spec_.numbers();
        return {first / numbers, first % numbers, numbers};
    }
    Lot lot_of(const SweepWhere& where, index_t first, index_t from, index_t count) const;
    RowMap rows_of(const Lot& lot, const ColumnPanels& panels, const RowMap& panel) const;
    C spectrum_of_input(index_t k, const T& input, index_t& read) const;

    index_t gather_blocks(const SweepWhere& where, index_t first, index_t count, C* tile) const;
    template <class E>  // T or C
    index_t gather_columns(const SweepWhere& where, index_t first, index_t count, E* tile) const;
    template <class E>  // what is stored: T or C
    index_t gather_half_spectrum(const SweepWhere& where, index_t first, index_t count, C* tile) const;
    index_t gather_inputs(const SweepWhere& where, index_t first, index_t count, C* tile) const;
    index_t gather_padded(const SweepWhere& where, index_t first, index_t count, T* tile) const;

    char* tile_data(const SweepWhere& where) const;
    template <class E>
    void scale_tile(index_t count, E* tile) const;
    template <class E>
    index_t scatter_columns(const SweepWhere& where, index_t first, index_t count, E* tile) const;
    index_t scatter_half_spectrum(const SweepWhere& where, index_t first, index_t count, const C* tile) const;
    index_t scatter_reflected(const SweepWhere& where, index_t first, index_t count, const C* tile) const;
    index_t scatter_sections(const SweepWhere& where, index_t first, index_t count, C* tile) const;
    index_t scatter_outputs(const SweepWhere& where, index_t first, index_t count, C* tile) const;
    index_t scatter_blocks(const SweepWhere& where, index_t first, index_t count, C* tile, Twiddles& thread) const;
    index_t scatter_turned(const SweepWhere& where, index_t first, index_t count, C* tile, Twiddles& thread) const;
    template <class To>  // to(column of elements, first point): where the points from there on belong
    index_t scatter_twiddled(index_t first, index_t count, index_t points_together, C* tile, Twiddles& thread,
                             To to) const;

    const SweepSpec& spec_;
};

}  // namespace spanfft
