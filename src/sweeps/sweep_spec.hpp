// SweepSpec: what one sweep of a disk does, as a value made of parts.
//
// Method: a source side, what is done in between, and a target side (sweep_sides.hpp). In between, columns are taken
// into tiles (TileWork), slabs are transformed as they lie (SlabWork), or slabs of an array are multiplied by those of
// a filter in frequency space (ProductWork). On several ranks each does panels of its own, and may exchange what comes
// of them before it is written (Sharing; exchange_geometry.hpp). Blocks are on one side at most:
//   columns to blocks     the first sweep of a long 1-D transform: columns -> transform, twiddle -> blocks of scratch
//   blocks to columns     its second sweep: blocks -> transform -> columns, in natural order
//   columns to columns    a group of axes with something faster behind it, of another number of rows where an axis is
//                         halved; the last of many sweeps of a long 1-D transform; either end of a convolution
//   columns to sections   one of many sweeps of a long 1-D transform: natural blocks, each section in another order
//   columns to rows       the first of three sweeps, of which the others work where their panels lie (TurnedRows)
//   slabs to slabs        a group of axes up to the last one; the product of a convolution; the second of three sweeps
// Columns and slabs may be transformed in the slot into which they were read.
// Invariant: predicted counts follow from the parts alone.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "steps/column_twiddles.hpp"
#include "sweeps/sweep_sides.hpp"
#include "sweeps/sweep_stages.hpp"

namespace spanfft {

// The factors W^(rk) that point k of a column is multiplied by, W the roots of n1*n2.
struct SweepTwiddles {
    index_t roots_n = 0;  // n1*n2; 0: there are none
    bool backward = false;
    // Sections of the columns that are twiddled alike, and of those indices `kept` of every `whole` that are stored.
    index_t section = 1, kept = 1, whole = 1;
    index_t sections = 0;                  // > 0: after so many they begin anew
    index_t index(index_t column) const {  // r, of a column of elements
        const index_t r = sections > 0 ? column / section % sections : column / section;
        return r / kept * whole + r % kept;
    }
};

// Each element of a panel, a row of numbers, is transformed itself: first, where it was read, or last.
struct RowTransforms {
    std::vector<SweepStage> stages;
    double flops = 0;  // of such a row
    bool last = false;
    // Rows that have other numbers once they are transformed (half spectra of real ones) lie in one slot more, between
    // tiles and where they were read, or where they will be written: as these panels do, as wide as those.
    std::optional<ColumnPanels> apart;
};

// Columns go through tiles: factors of the source, rows, stages, twiddles, factors of the target. They are those of
// panels, or of each slab.
struct TileWork {
    RowTransforms rows;
    // With the first array go the columns of the filter of a convolution, which no file holds, times this, into the
    // target's twin.
    std::optional<long double> filter_scale;
    index_t slab_columns = 0;  // > 0: panels are slabs of one row, of which each is so many columns
};

// Slabs are transformed where they lie, or from where they were read to where they are written.
struct SlabWork {
    std::vector<SweepStage> last_stages;  // on one slab, when lanes > 1; else empty
};

// Rows of an array and of its twin, a filter: both transformed, multiplied, transformed back and twiddled.
struct ProductWork {
    std::vector<SweepStage> back;
};

// What ranks hand to one another while they sweep an array together.
struct Sharing {
    // Of the columns (or their blocks) of all ranks each keeps so many rows in scratch of its own; of blocks with a
    // shared_section it keeps so many columns of each of these.
    struct Rows {
        index_t a_rank = 0;
    };
    // Of every section each keeps the columns of its panels here, which are those of the next sweep.
    struct Columns {
        ColumnPanels keepers;
    };
    std::variant<std::monostate, Rows, Columns> kept;  // monostate: each writes what it computes
    // Of columns of a file that all see: each reads of the panels of all, side by side, rows of its own, in runs that
    // are as many panels wide; then all hand one another the rows of their own panels, and in place hand them back to
    // be written where they were read.
    bool reads_together = false;
    // > 0: what they read together is scratch, where each has so many rows of its own.
    index_t own_rows = 0;
    // Of an index that no sweep transforms any more each rank has so many of `all` to itself since an earlier sweep
    // handed them on: what is in its scratch is an array of its own. They are among the columns of the panels, or
    // among the matrices (outer).
    struct OwnPart {
        int ranks = 1;
        index_t all = 1, a_rank = 1;
        bool of_columns = false;
        index_t of(int rank) const { return std::clamp<index_t>(all - rank * a_rank, 0, a_rank); }
        index_t scaled(index_t of_rank_0, int rank) const { return of_rank_0 / a_rank * of(rank); }
    };
    std::optional<OwnPart> own_part;
};

struct SweepSpec {
    SweepSource source;
    SweepTarget target;
    std::variant<TileWork, SlabWork, ProductWork> work;
    SweepTwiddles twiddles;
    Sharing sharing;

    Precision precision = Precision::dbl;
    index_t points = 1;              // of a column, or elements of a slab, as read
    index_t out_points = 1;          // as written
    index_t lanes = 1;               // columns of numbers a tile; slabs a call
    std::vector<SweepStage> stages;  // on `lanes` columns or slabs
    double flops_each = 0;           // of a column of numbers, or slab
    long double scale = 1;
    int threads = 1;
    int scratch_disks = 0;         // that scratch is striped over; 0: it lies with the output
    index_t slab_write_slots = 2;  // where slabs are not in place; 3 where there is memory (widen_slabs)
    std::string engine;
    std::string title;  // what is transformed, for describe()

    bool tiled() const { return std::holds_alternative<TileWork>(work); }
    index_t slab_columns() const { return tiled() ? std::get_if<TileWork>(&work)->slab_columns : 0; }
    // Elements of a slab, as read or written.
    index_t slab_elems(index_t points_of_a_column) const {
        return points_of_a_column * std::max<index_t>(1, slab_columns());
    }
    // Columns that tiles take from so many of a panel's, which of slabs are elements.
    index_t columns_of(index_t width) const { return slab_columns() > 0 ? width / points : width; }
    // Whose panels are the compute steps.
    const ColumnPanels& walked() const { return source.is_blocks() ? target.columns() : source.columns(); }
    int ranks() const { return sharing.own_part ? sharing.own_part->ranks : walked().ranks; }
    // Several ranks sweep the same array, each its panels of it. A spec is rank 0's until it is asked for another's.
    int rank() const { return walked().rank; }
    SweepSpec of_rank(int rank) const;
    const RowTransforms* rows() const { return tiled() ? &std::get_if<TileWork>(&work)->rows : nullptr; }
    // Whose rows these are, and the bytes of one before it is transformed, and after.
    const ColumnPanels& row_panels() const { return rows()->last ? target.columns() : source.columns(); }
    std::array<index_t, 2> row_bytes() const {
        const index_t in_file = row_panels().elem_bytes, other = apart() ? apart()->elem_bytes : in_file;
        return rows()->last ? std::array{other, in_file} : std::array{in_file, other};
    }
    const ColumnPanels* apart() const { return rows() && rows()->apart ? &*rows()->apart : nullptr; }
    const ColumnPanels* apart(bool last) const { return apart() && rows()->last == last ? apart() : nullptr; }
    // Rows go apart as soon as they were read: while columns are computed, what they lay in is read into again.
    bool takes_rows() const { return apart(false) && !sharing.reads_together; }
    index_t apart_bytes() const { return apart() ? apart()->slot_bytes() : 0; }
    // From what tiles are filled, and to what they are emptied, where that is panels.
    const ColumnPanels& gathered() const { return apart(false) ? *apart(false) : source.columns(); }
    const ColumnPanels& scattered() const { return apart(true) ? *apart(true) : target.columns(); }
    // An element of a tiled sweep may be a row of numbers, each of which has a column of its own.
    index_t numbers() const { return apart() ? apart()->numbers : walked().numbers; }
    bool exchanges() const { return !std::holds_alternative<std::monostate>(sharing.kept); }
    static constexpr index_t kSmallTiles = 4;  // a panel
    // While ranks hand on or take a tile, each computes another, for which there is memory if tiles are small.
    bool in_small_tiles() const { return target.is_blocks() && tile_steps() >= kSmallTiles; }
    bool hands_on_ahead() const { return exchanges() && in_small_tiles(); }
    bool takes_ahead() const {  // of halved sections no tile is columns that lie together
        return sharing.reads_together && in_small_tiles() && source.columns().halved() == 0;
    }
    bool has_rounds() const { return exchanges() || sharing.reads_together; }
    bool gives_back() const { return sharing.reads_together && target.is_in_place(); }
    index_t panels_a_run() const { return gives_back() ? ranks() : 1; }  // side by side, of what is written

    index_t source_elem_bytes() const { return static_cast<index_t>(ElemType{precision, source.complex}.bytes()); }
    index_t target_elem_bytes() const { return static_cast<index_t>(ElemType{precision, target.complex}.bytes()); }
    index_t tile_width() const;  // elements a compute step: columns of a tile of blocks, or all of a panel
    index_t tile_steps() const;  // compute steps a panel
    // For reading, transforming and writing at the same time; where all is one panel, more would never be touched, but
    // registered.
    index_t read_slots() const;
    index_t write_slots() const;
    index_t read_slot_bytes() const;
    index_t write_slot_bytes() const;
    index_t exchange_bytes() const;  // of work0: what is sent, of columns what came, and the panel that was taken
    index_t panel_bytes() const;     // of work0: slots, rows apart, and these
    index_t own_bytes() const;       // tiles and tables
    index_t twiddle_bytes() const;   // the factors of a column, for each thread
    // The scale rides on factors that are multiplied by on the way.
    TwiddleForm twiddle_form() const {
        return {twiddles.roots_n, out_points, twiddles.backward, target.twiddles_on_the_way() ? scale : 1};
    }
    bool shared_slab() const;      // one slab at a time, by all threads
    index_t source_pitch() const;  // tile column pitch in elements
    index_t target_pitch() const;
    Partition read_partition() const;
    Partition written_partition() const;
};

}  // namespace spanfft
