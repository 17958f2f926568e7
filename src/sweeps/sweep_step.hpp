// SweepStep: one sweep of a disk. It reads panels, transforms, and writes panels, all three at the same time.
//
// Method: a SweepSpec is a value that says which panels are read and written (disk/panels.hpp) and what happens to
// each in between. Four shapes cover all sweeps so far:
//   columns_to_blocks  first sweep of a long 1-D transform: strided columns -> transform, twiddle -> blocks of scratch
//   blocks_to_columns  its second sweep: blocks -> transform -> strided columns, in natural order
//   columns            a group of axes with something faster behind it: strided columns -> transform -> the same, of
//                      another number of rows where an axis is halved; or one of many sweeps of a long 1-D transform,
//                      which writes them in another order
//   slabs              a group of axes up to the last one: contiguous slabs -> transform -> slabs
//   chirp_in, chirp_rows, chirp_out  the three of a convolution with a chirp (steps/chirp.hpp,
//   solvers/chirp_sweeps.cpp)
// On several ranks each does panels of its own; between columns and blocks they exchange (block_exchange.hpp).
// Panels lie in the executor's work0, which all sweeps of a plan share; tiles, tables and engines are the task's.
// Invariant: predict() is computed from the geometry alone; counted() comes from the Stores and the loops themselves.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/threads.hpp"
#include "disk/panels.hpp"
#include "disk/pipeline.hpp"
#include "engine/engine.hpp"
#include "plan/machine.hpp"
#include "plan/step.hpp"
#include "steps/chirp.hpp"

namespace spanfft {

enum class Place : int { input, scratch, output, array };  // array: a chunked one (staging.hpp)

// One engine call on a tile or slab: from the source side to the target side, or in place on one of them.
struct SweepStage {
    enum class On { source, across, target };
    LocalSpec spec;  // batch: what is done in one call; pointers are to the first element of tile or slab
    On on = On::target;
};

struct SweepSpec {
    enum class Shape { columns_to_blocks, blocks_to_columns, columns, slabs, chirp_in, chirp_rows, chirp_out };
    Shape shape = Shape::slabs;
    Place source = Place::input, target = Place::output;
    Precision precision = Precision::dbl;
    bool source_complex = true, target_complex = true;
    bool backward = false;
    long double scale = 1;
    int threads = 1;
    int scratch_disks = 1;  // that scratch is striped over
    std::string engine;
    std::string title;  // what is transformed, for describe()

    ColumnPanels in, out;   // slabs: rows == 1, panel = elements of the slabs of a panel
    BlockGrid blocks;       // the scratch side of the first two shapes
    bool in_place = false;  // columns: read, transformed and written in the same slot
    // Of these: with 3 a panel is read, one transformed and one written; with 2, which can be half as wide again, the
    // panel before is written first.
    index_t in_place_slots = 3;
    // columns, > 0: panels are whole sections of so many columns; a section is written as out_points x columns, one
    // after the other, so a panel is one long run.
    index_t whole_section = 0;
    // columns, > 0: of every so many columns of a half spectrum the first half and one are transformed, and panels hold
    // with these sections those that mirror them (reflected): what is written is whole again.
    index_t half_section = 0;
    // columns_to_blocks: each element, a row of numbers, is transformed itself first, where it was read.
    std::vector<SweepStage> row_stages;

    // On several ranks, > 0: of the columns (or their blocks) of all ranks each keeps so many rows, or of blocks with a
    // shared_section so many columns of each of these, in scratch of its own (block_exchange.hpp).
    index_t kept_a_rank = 0;
    // columns in whole sections, of several ranks: each keeps of every section the columns of its panels here, which
    // are those of the next sweep. Of one rank: nothing is exchanged.
    ColumnPanels keepers;

    // columns of the input, of several ranks: each reads of the panels of all, side by side, rows of its own, in runs
    // that are as many panels wide; then all hand one another the rows of their own panels.
    bool reads_together = false;

    index_t stored_bytes = 0;  // of an output element in the file, where it is not stored as computed; else 0
    index_t loaded_bytes = 0;  // of an input element in the file, likewise; of sweeps that read the input

    index_t points = 1;      // of a column, or elements of a slab, as read
    index_t out_points = 1;  // as written
    index_t roots_n = 0;     // the length n whose roots the twiddles are; n1*n2
    // Sections of the columns that are twiddled alike, and of those indices `kept` of every `whole` that are stored.
    index_t twiddle_section = 1, kept = 1, whole = 1;
    index_t source_scratch_bytes = 0, target_scratch_bytes = 0;  // where in scratch the array begins
    index_t lanes = 1;                                           // columns of numbers a tile; slabs a call
    std::vector<SweepStage> stages;                              // on `lanes` columns or slabs
    std::vector<SweepStage> last_stages;  // slabs: on one slab, when lanes > 1; chirp_rows: the way back; else empty
    double flops_each = 0;                // of a column of numbers, or slab
    double row_flops = 0;                 // of a row of row_stages
    Chirp chirp;  // of the chirp_ shapes, and of the first two for DCT and DST, which are sums of N = n1*n2 roots

    bool reads_blocks() const { return shape == Shape::blocks_to_columns; }
    bool writes_blocks() const { return shape == Shape::columns_to_blocks; }
    bool exchanges_sections() const { return keepers.ranks > 1; }
    bool exchanges_columns() const { return kept_a_rank > 0 && !writes_blocks(); }
    bool exchanges() const { return kept_a_rank > 0 || exchanges_sections(); }
    bool has_rounds() const { return exchanges() || reads_together; }
    index_t rows_before(int rank) const { return std::min(rank * ceil_div(in.rows, in.ranks), in.rows); }
    index_t rows_of(int rank) const { return rows_before(rank + 1) - rows_before(rank); }
    ColumnPanels together(int rank) const;  // what that rank reads of all panels, from its first row on
    index_t taken_bytes() const {           // a panel of this rank's columns
        return reads_together ? round_up(in.rows * in.panel * in.elem_bytes, 4096) : 0;
    }
    ColumnPanels keepers_of(int rank) const {
        ColumnPanels panels = keepers;
        panels.rank = rank;
        return panels;
    }
    // Several ranks sweep the same array, each its panels of it. A spec is rank 0's until it is asked for another's.
    SweepSpec of_rank(int rank) const;
    BlockGrid kept_blocks(int rank) const;  // in that rank's scratch
    ColumnPanels kept_columns(
        int rank) const;  // the same of columns: rows of its own, of as many panels as there are ranks
    index_t exchanged_rows() const { return writes_blocks() ? blocks.rows : out.rows; }
    // Of what ranks share out, rows or columns of a section, what one keeps and what those before it do.
    index_t shared_out() const { return blocks.shared_section > 0 ? blocks.shared_section : exchanged_rows(); }
    index_t kept_before(int rank) const { return std::min(rank * kept_a_rank, shared_out()); }
    index_t kept_by(int rank) const { return kept_before(rank + 1) - kept_before(rank); }
    index_t exchanged_elem_bytes() const { return writes_blocks() ? blocks.elem_bytes : out.elem_bytes; }
    index_t exchanged_tile_bytes() const {
        if (exchanges_sections()) return out.panel * out.elem_bytes;
        return (writes_blocks() ? blocks.tile_columns : out.panel) * exchanged_rows() * exchanged_elem_bytes();
    }
    index_t sections_a_panel() const { return in.panel / whole_section; }
    index_t place_bytes(int rank) const;  // where what came of that rank's tile begins
    index_t received_bytes() const {      // of columns, before they are put where they are written from
        return exchanges_columns() ? in.ranks * kept_by(in.rank) * out.panel * out.elem_bytes : 0;
    }
    bool loads_other() const { return loaded_bytes > 0 && source == Place::input; }
    bool tiled() const { return shape != Shape::slabs && shape != Shape::chirp_rows; }
    const ColumnPanels& walked() const { return reads_blocks() ? out : in; }  // whose panels are the compute steps
    // An element of a tiled sweep may be a row of numbers, each of which has a column of its own.
    index_t numbers() const { return walked().numbers; }
    index_t source_elem_bytes() const { return static_cast<index_t>(ElemType{precision, source_complex}.bytes()); }
    index_t target_elem_bytes() const { return static_cast<index_t>(ElemType{precision, target_complex}.bytes()); }
    index_t tile_steps() const;  // compute steps a panel
    // For reading, transforming and writing at the same time; where all is one panel, more would never be touched, but
    // registered.
    index_t read_slots() const;
    index_t write_slots() const;
    index_t read_slot_bytes() const;
    index_t write_slot_bytes() const;
    index_t exchange_bytes() const;  // of these: what is sent, of columns what came, and the panel that was taken
    index_t panel_bytes() const;     // of work0
    index_t own_bytes() const;       // tiles and tables
    index_t twiddle_bytes() const;   // the factors of a column, for each thread
    bool shared_slab() const;        // one slab at a time, by all threads
    index_t twiddle_index(index_t column) const {  // r of the twiddles W^(rk) behind a column of elements
        const index_t r = column / twiddle_section;
        return r / kept * whole + r % kept;
    }
    index_t source_pitch() const;  // tile column pitch in elements
    index_t target_pitch() const;
};

constexpr int kSweepIoThreads = 16;  // for reads, and as many for writes

class SweepStep : public Step {
  public:
    SweepStep(SweepSpec spec, Machine machine) : spec_(std::move(spec)), machine_(std::move(machine)) {}
    const char* type() const override { return "Sweep"; }
    std::string describe() const override;
    Counts predict(int rank) const override;
    index_t own_memory_bytes(int) const override { return spec_.own_bytes(); }
    std::vector<int> group(int rank) const override;
    Result<std::unique_ptr<Task>> bind(Binding& binding) const override;
    const SweepSpec& spec() const { return spec_; }

  private:
    SweepSpec spec_;
    Machine machine_;
};

// The engine calls that transform `axes` (their positions in `shape`, rising, with their kinds) of `lanes` arrays of
// that shape. shape is in real space; a c2r or r2c axis, if any, is among axes. Pitches are from array to array.
struct StageRequest {
    Extents shape;
    std::vector<int> axes;
    std::vector<Kernel> kernels;  // one for each axis, as the engine knows them
    Precision precision = Precision::dbl;
    bool source_complex = true, target_complex = true;
    index_t lanes = 1, source_pitch = 0, target_pitch = 0;
    bool across = true;  // source and target differ
    int threads = 1;
};
std::vector<SweepStage> make_stages(const StageRequest& request);

// What the tasks of one executor share: compute threads and I/O threads. Made by the first sweep that is bound.
class SweepTeam {
  public:
    SweepTeam(int threads, const IoChoice& io) : compute(threads), pipeline(kSweepIoThreads, io) {}
    ThreadTeam compute;
    Pipeline pipeline;
};
Result<std::shared_ptr<SweepTeam>> make_sweep_team(int threads, const std::string& io);
std::string describe_io(const SweepTeam& team);  // who did the reads and writes so far; "" before the first
// What sweeps would do on this machine, asked for `io` (Problem::io).
Result<std::string> describe_machine_io(const std::string& io);

}  // namespace spanfft
