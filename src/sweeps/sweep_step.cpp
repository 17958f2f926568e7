// Predicting and describing a sweep of a disk, and its engine calls; see sweep_step.hpp. Running it: sweep_task.cpp.
#include "sweeps/sweep_step.hpp"

#include <algorithm>

#include "engine/spec.hpp"
#include "plan/problem.hpp"
#include "steps/tile_kernels.hpp"
#include "sweeps/block_exchange.hpp"

namespace spanfft {

Result<std::shared_ptr<SweepTeam>> make_sweep_team(int threads, const std::string& io) {
    IoChoice choice;
    SPANFFT_ASSIGN(choice.backend, choose_io_backend(io));
    return std::make_shared<SweepTeam>(threads, choice);
}

std::string describe_io(const SweepTeam& team) {
    const std::string reads = team.pipeline.describe_reads(), writes = team.pipeline.describe_writes();
    if (reads.empty() || reads == writes) return reads;
    return "reads " + reads + "; writes " + writes;
}

Result<std::string> describe_machine_io(const std::string& io) {
    IoChoice choice;
    SPANFFT_ASSIGN(choice.backend, choose_io_backend(io));
    return describe_disk_io(choice, kSweepIoThreads);
}

namespace {

using Shape = SweepSpec::Shape;

// A column's pitch in a tile: whole cache lines, and not a multiple of a page, or columns would fight for cache sets.
index_t tile_pitch(index_t points, index_t bytes) {
    const index_t line_elems = std::max<index_t>(1, 64 / bytes);
    return round_up(points, line_elems) + line_elems;
}

// Bytes of twiddles and chirps: tables that all threads share, and the factors of a column for each.
index_t table_bytes(const SweepSpec& spec) {
    index_t bytes = spec.roots_n > 0 ? RootTable::bytes(spec.roots_n) : 0;
    if (spec.chirp.length > 0) bytes += RootTable::bytes(spec.chirp.order());
    return bytes;
}

}  // namespace

index_t SweepSpec::twiddle_bytes() const {
    return roots_n > 0
               ? round_up(twiddle_elems(out_points) * static_cast<index_t>(ElemType{precision, true}.bytes()), 4096)
               : 0;
}

index_t SweepSpec::tile_steps() const {
    if (shape == Shape::columns_to_blocks) return ceil_div(in.panel, blocks.tile_columns);
    if (shape == Shape::blocks_to_columns) return ceil_div(out.panel, blocks.tile_rows);
    return 1;
}

index_t SweepSpec::read_slots() const {
    const index_t reads = walked().panels() * (reads_blocks() ? tile_steps() : 1);
    return std::min<index_t>(in_place ? in_place_slots : reads_together ? 1 : 2, reads);
}

index_t SweepSpec::write_slots() const {
    if (in_place) return 0;
    return std::min<index_t>(2, walked().panels() * (writes_blocks() ? tile_steps() : 1));
}

index_t SweepSpec::read_slot_bytes() const {
    if (reads_together) return round_up(together(0).slot_bytes(), 4096);  // which reads the most
    return round_up(reads_blocks() ? blocks.read_slot_bytes() : in.slot_bytes(), 4096);
}

SweepSpec SweepSpec::of_rank(int rank) const {
    SweepSpec mine = *this;
    mine.in.rank = mine.out.rank = rank;
    if (reads_blocks()) mine.blocks = kept_blocks(rank);
    if (exchanges() && !writes_blocks()) mine.out.packed = true;
    if (exchanges_sections()) mine.keepers.rank = rank;
    if (reads_together) mine.in.packed = true;
    return mine;
}

ColumnPanels SweepSpec::together(int rank) const {
    ColumnPanels all = in;
    all.packed = false;
    all.ranks = 1;
    all.rank = 0;
    all.rows = rows_of(rank);
    all.panel = in.ranks * in.panel;
    return all;
}

BlockGrid SweepSpec::kept_blocks(int rank) const {
    BlockGrid grid = blocks;
    if (exchanges_sections()) {  // sections take the place of columns, and what is kept of them that of rows
        const ColumnPanels mine = keepers_of(rank);
        grid.outer = in.outer;
        grid.columns = mine.rows;
        grid.rows = grid.tile_rows = mine.stored_row_elems();
        grid.tile_columns = sections_a_panel();
        grid.elem_bytes = out.elem_bytes;
        grid.natural = true;
        grid.shared_section = grid.section = mine.rows;
        return grid;
    }
    if (exchanges() && blocks.shared_section > 0) {
        grid.skipped = kept_before(rank);
        grid.section = kept_by(rank);
        grid.columns = blocks.columns / blocks.shared_section * grid.section;
        return grid;
    }
    const index_t each = reads_blocks() ? out.panels_per_matrix() * out.panel : kept_a_rank;
    if (walked().ranks > 1 && each > 0) grid.rows = std::clamp<index_t>(blocks.rows - rank * each, 0, each);
    return grid;
}

ColumnPanels SweepSpec::kept_columns(int rank) const {
    ColumnPanels mine = out;
    mine.packed = false;
    mine.ranks = 1;
    mine.rank = 0;
    mine.rows = kept_by(rank);
    mine.panel = out.ranks * out.panel;
    return mine;
}

index_t SweepSpec::write_slot_bytes() const {
    if (exchanges_columns()) return round_up(kept_columns(in.rank).slot_bytes(), 4096);
    if (exchanges()) return round_up(place_bytes(in.ranks), 4096);
    return round_up(writes_blocks() ? blocks.write_slot_bytes() : out.slot_bytes(), 4096);
}

index_t SweepSpec::place_bytes(int rank) const {
    if (exchanges_sections()) return rank * round_up(kept_blocks(in.rank).column_tile_pitch_bytes(), kDirectBytes);
    if (exchanges_columns()) return rank * kept_by(in.rank) * out.panel * out.elem_bytes;
    if (blocks.shared_section == 0) return rank * kept_blocks(in.rank).column_tile_pitch_bytes();
    return rank * round_up(std::min(blocks.tile_columns, kept_a_rank) * blocks.rows * blocks.elem_bytes, kDirectBytes);
}

index_t SweepSpec::exchange_bytes() const {
    return taken_bytes() +
           (exchanges() ? round_up(exchanged_tile_bytes(), 4096) + round_up(received_bytes(), 4096) : 0);
}

index_t SweepSpec::panel_bytes() const {
    return read_slots() * read_slot_bytes() + write_slots() * write_slot_bytes() + exchange_bytes();
}

bool SweepSpec::shared_slab() const { return shape == Shape::slabs && in.panel / points < 2 * threads; }
index_t SweepSpec::source_pitch() const { return tile_pitch(points, source_elem_bytes()); }
index_t SweepSpec::target_pitch() const { return tile_pitch(out_points, target_elem_bytes()); }

// For each thread: a tile on the source side, one on the target side if that is another, and twiddles.
index_t SweepSpec::own_bytes() const {
    if (!tiled()) return table_bytes(*this) + threads * twiddle_bytes();
    const index_t source_bytes = lanes * source_pitch() * source_elem_bytes();
    const index_t target_bytes = lanes * target_pitch() * target_elem_bytes();
    index_t bytes = threads * round_up(source_bytes, 4096);
    if (source_complex != target_complex) bytes += threads * round_up(target_bytes, 4096);
    return bytes + table_bytes(*this) + threads * twiddle_bytes();
}

std::vector<SweepStage> make_stages(const StageRequest& request) {
    const auto strides_of = [&](bool complex_side, bool source_side) {
        // The halved axis is shorter on its complex side.
        Extents shape = request.shape;
        for (size_t i = 0; i < request.axes.size(); ++i) {
            const bool halved = request.kernels[i] == (source_side ? Kernel::c2r : Kernel::r2c);
            if (halved && complex_side) {
                auto& n = shape[static_cast<size_t>(request.axes[i])];
                n = n / 2 + 1;
            }
        }
        return std::pair{shape, row_major_strides(shape)};
    };
    const auto [source_shape, source_strides] = strides_of(request.source_complex, true);
    const auto [target_shape, target_strides] = strides_of(request.target_complex, false);

    std::vector<SweepStage> stages;
    const auto blank = [&](Kernel kernel) {
        SweepStage stage;
        stage.spec.kernel = kernel;
        stage.spec.precision = request.precision;
        stage.spec.threads = request.threads;
        return stage;
    };
    // All complex and halved axes go into one call; every real-to-real axis gets its own.
    SweepStage joint = blank(Kernel::c2c_forward);
    std::vector<bool> in_joint(request.shape.size(), false);
    const auto halved = [](Kernel kernel) { return kernel == Kernel::r2c || kernel == Kernel::c2r; };
    for (const bool halved_ones : {false, true}) {  // the engine wants the halved axis last
        for (size_t i = 0; i < request.axes.size(); ++i) {
            if (is_r2r(request.kernels[i]) || halved(request.kernels[i]) != halved_ones) continue;
            const auto axis = static_cast<size_t>(request.axes[i]);
            joint.spec.transform.push_back({request.shape[axis], source_strides[axis], target_strides[axis]});
            joint.spec.kernel = request.kernels[i];
            in_joint[axis] = true;
        }
    }
    const bool halves = request.source_complex != request.target_complex;
    const auto add_batch = [&](SweepStage& stage, const std::vector<bool>& transformed, const Extents& shape) {
        const bool on_source = stage.on == SweepStage::On::source, on_target = stage.on == SweepStage::On::target;
        for (size_t axis = 0; axis < shape.size(); ++axis) {
            if (transformed[axis] || shape[axis] == 1) continue;
            stage.spec.batch.push_back({shape[axis], on_target ? target_strides[axis] : source_strides[axis],
                                        on_source ? source_strides[axis] : target_strides[axis]});
        }
        if (request.lanes > 1) {
            stage.spec.batch.insert(stage.spec.batch.begin(),
                                    {request.lanes, on_target ? request.target_pitch : request.source_pitch,
                                     on_source ? request.source_pitch : request.target_pitch});
        }
        stage.spec.in_place = stage.on != SweepStage::On::across || !request.across;
    };
    const auto add_joint = [&] {
        if (joint.spec.transform.empty()) return;
        const bool first = stages.empty() || halves;
        joint.on = first && request.across ? SweepStage::On::across : SweepStage::On::target;
        if (joint.on == SweepStage::On::target) {
            for (LoopDim& dim : joint.spec.transform) dim.in_stride = dim.out_stride;
        }
        add_batch(joint, in_joint, request.source_complex ? source_shape : target_shape);
        stages.push_back(joint);
    };
    const auto add_real = [&](SweepStage::On side) {
        for (size_t i = 0; i < request.axes.size(); ++i) {
            if (!is_r2r(request.kernels[i])) continue;
            const auto axis = static_cast<size_t>(request.axes[i]);
            SweepStage stage = blank(request.kernels[i]);
            stage.on =
                side == SweepStage::On::target && stages.empty() && request.across ? SweepStage::On::across : side;
            const bool on_source = side == SweepStage::On::source;
            const Extents& shape = on_source ? source_shape : target_shape;
            const index_t stride = on_source ? source_strides[axis] : target_strides[axis];
            stage.spec.transform.push_back({shape[axis], stride, stride});
            std::vector<bool> transformed(shape.size(), false);
            transformed[axis] = true;
            add_batch(stage, transformed, shape);
            if (on_source ? request.source_complex : request.target_complex) {
                // Real and imaginary parts are transformed alike: strides in real numbers, twice as many transforms.
                for (auto* dims : {&stage.spec.transform, &stage.spec.batch}) {
                    for (LoopDim& dim : *dims) dim.in_stride *= 2, dim.out_stride *= 2;
                }
                stage.spec.batch.push_back({2, 1, 1});
            }
            stages.push_back(stage);
        }
    };
    if (halves && request.source_complex) {
        add_real(SweepStage::On::source);
        add_joint();
    } else {
        add_joint();
        add_real(SweepStage::On::target);
    }
    return stages;
}

std::string SweepStep::describe() const {
    const auto place_name = [](Place place) {
        return place == Place::input ? "input" : place == Place::scratch ? "scratch" : "output";
    };
    const auto side = [&](const ColumnPanels& panels) {
        const double run = static_cast<double>(panels.panel * panels.elem_bytes);
        return cat(panels.panels(), panels.panels() == 1 ? " panel" : " panels", " in runs of ", bytes_string(run));
    };
    const auto blocks = [&] {
        if (spec_.blocks.natural) return cat(spec_.blocks.tile_columns, " columns at a time");
        return cat("blocks of ", spec_.blocks.tile_columns, "x", spec_.blocks.tile_rows);
    };
    const std::string shared = spec_.exchanges()          ? cat(", exchanged among ", spec_.in.ranks, " ranks")
                               : spec_.walked().ranks > 1 ? cat(", on each of ", spec_.walked().ranks, " ranks")
                                                          : std::string();
    return cat(spec_.title, shared, ": reads ", place_name(spec_.source), " (",
               spec_.reads_blocks() ? blocks() : side(spec_.reads_together ? spec_.together(0) : spec_.in),
               spec_.reads_together ? " of all ranks together" : "", "), writes ", place_name(spec_.target), " (",
               spec_.writes_blocks()       ? blocks()
               : spec_.exchanges_columns() ? side(spec_.kept_columns(0))
                                           : side(spec_.out),
               ")");
}

namespace {

// Columns of numbers (or slabs) that are transformed in a whole sweep.
index_t total_columns(const SweepSpec& spec) {
    switch (spec.shape) {
        case Shape::columns_to_blocks:
            return spec.in.outer * spec.in.own_columns() * spec.numbers();
        case Shape::blocks_to_columns:
            return spec.blocks.outer * spec.blocks.rows * spec.numbers();
        case Shape::chirp_in:  // and the filter's
            return (spec.in.outer + 1) * spec.in.columns;
        case Shape::columns:
        case Shape::chirp_out:
            return spec.in.outer * (spec.in.own_columns() + spec.in.own_images()) * spec.numbers();
        case Shape::slabs:
        case Shape::chirp_rows:
            return spec.in.outer * (spec.in.own_columns() / spec.points);
    }
    return 0;
}

// Columns (or slabs) that engines are given: tiles are whole, with unused lanes too.
index_t transformed_columns(const SweepSpec& spec) {
    if (!spec.tiled()) return total_columns(spec);
    const index_t step = spec.writes_blocks()  ? spec.blocks.tile_columns
                         : spec.reads_blocks() ? spec.blocks.tile_rows
                                               : 0;
    const index_t groups = spec.walked().total_groups(step, spec.lanes);
    return spec.lanes * (spec.shape == Shape::chirp_in ? groups / spec.in.outer * (spec.in.outer + 1) : groups);
}

index_t row_runs(const SweepSpec& spec) {
    return spec.row_stages.empty() ? 0 : spec.in.outer * spec.in.rows * spec.in.own_columns();
}

// What tiles take from panels or blocks, and put into them.
index_t gathered_bytes(const SweepSpec& spec, index_t columns) {
    if (spec.reads_blocks()) return columns * spec.points * spec.source_elem_bytes();
    if (!spec.in.mirrored) return columns * spec.in.rows * spec.in.number_bytes();
    // DCT-III as c2r has one input less than the half spectrum has numbers.
    index_t zeros = 0;
    for (index_t k = spec.chirp.inputs; spec.chirp.length > 0 && k <= spec.roots_n / 2; ++k)
        zeros += spec.in.owns(k % spec.in.row_elems) ? spec.in.outer : 0;
    return (columns * spec.points - zeros * spec.numbers()) * spec.in.number_bytes();
}

index_t scattered_bytes(const SweepSpec& spec, index_t columns) {
    if (spec.writes_blocks() || spec.whole_section > 0) return columns * spec.out_points * spec.target_elem_bytes();
    const bool once = spec.half_section > 0 || spec.out.mirrored;  // each number of a half spectrum
    if (once) return spec.out.payload_bytes();
    return columns * spec.out.rows * spec.out.number_bytes();
}

// Requests for the column tiles of this rank's panels.
index_t own_block_writes(const SweepSpec& spec) {
    if (spec.in.ranks == 1) return spec.blocks.total_writes();
    const index_t panels = spec.in.panels_per_matrix(), tiles = spec.tile_steps();
    const auto of_panel = [&](index_t panel) {
        index_t writes = 0;
        for (index_t t = 0; t < tiles; ++t) {
            const RoundTile tile = round_tile(spec, panel * tiles + t, spec.in.rank);
            if (tile.columns > 0) writes += spec.blocks.write_requests(tile.tile);
        }
        return writes;
    };
    return spec.in.outer * ((panels - 1) * (panels > 1 ? of_panel(0) : 0) + of_panel(panels - 1));
}

// Of a slab that is transformed, and scaled, where it lies.
index_t slab_bytes(const SweepSpec& spec) {
    const index_t in = spec.points * spec.source_elem_bytes(), out = spec.out_points * spec.target_elem_bytes();
    index_t bytes = spec.scale != 1 ? 2 * out : 0;
    for (const SweepStage& stage : spec.stages)
        bytes += (stage.on == SweepStage::On::target ? out : in) + (stage.on == SweepStage::On::source ? in : out);
    return bytes;
}

// What a whole sweep reads and writes in memory, reads and writes of the disk and tiles apart.
index_t swept_bytes(const SweepSpec& spec) {
    const index_t columns = total_columns(spec);
    switch (spec.shape) {
        case Shape::slabs:
            return columns * slab_bytes(spec);
        case Shape::chirp_rows:  // three engine calls and the twiddles, each in place, and a product of two rows
            return columns * spec.points * spec.source_elem_bytes() * (4 * 2 + 3);
        case Shape::chirp_in:  // the filter is not read but made
            return gathered_bytes(spec, columns - spec.in.columns) + columns * spec.points * spec.target_elem_bytes();
        default:
            break;
    }
    const auto rows_bytes = row_runs(spec) * 2 * spec.in.elem_bytes;
    index_t bytes = gathered_bytes(spec, columns) + scattered_bytes(spec, columns);
    if (spec.exchanges_columns()) bytes += 2 * spec.kept_columns(spec.in.rank).payload_bytes();
    return bytes + rows_bytes * std::ssize(spec.row_stages);
}

// Seconds that engines take for so many flops in these stages, by the machine's rates for such lengths: one call after
// the other on each thread, or each call by all threads. While solvers compare, a sweep has no stages yet: then one for
// its columns stands for them.
double engine_seconds(const SweepSpec& spec, const std::vector<SweepStage>& stages, double flops,
                      const RateTable& rates) {
    if (flops <= 0) return 0;
    const bool together = spec.shared_slab();
    double seconds = 0, stage_flops = 0;
    const auto add = [&](LocalSpec local) {
        local.threads = together ? spec.threads : 1;
        seconds += outline_local(local, spec.engine, rates);
        stage_flops += spec_flops(local);
    };
    for (const SweepStage& stage : stages) add(stage.spec);
    if (stage_flops <= 0) {
        LocalSpec columns;
        columns.precision = spec.precision;
        columns.transform = {{std::max<index_t>(spec.points, 2), 1, 1}};
        columns.batch = {{spec.lanes, columns.transform[0].n, columns.transform[0].n}};
        add(columns);
    }
    return seconds / stage_flops * flops / (together ? 1 : spec.threads);
}

}  // namespace

std::vector<int> SweepStep::group(int /*rank*/) const {
    std::vector<int> everyone;
    for (int rank = 0; spec_.has_rounds() && rank < spec_.in.ranks; ++rank) everyone.push_back(rank);
    return everyone;
}

namespace {

// Of the disk, whatever is stored of an element.
void count_disk(const SweepSpec& spec, Counts& counts) {
    if (spec.reads_blocks()) {
        counts.disk_read_bytes = spec.blocks.payload_bytes();
        counts.disk_reads = spec.blocks.total_reads();
    } else {
        const ColumnPanels read = spec.reads_together ? spec.together(spec.in.rank) : spec.in;
        counts.disk_read_bytes = read.payload_bytes();
        counts.disk_reads = read.total_requests();
    }
    if (spec.exchanges_columns()) {
        const ColumnPanels kept = spec.kept_columns(spec.in.rank);
        counts.disk_written_bytes = kept.payload_bytes();
        counts.disk_writes = kept.total_requests();
    } else if (spec.exchanges()) {
        const BlockGrid kept = spec.kept_blocks(spec.in.rank);
        counts.disk_written_bytes = kept.payload_bytes();
        counts.disk_writes = kept.payload_bytes() > 0 ? kept.total_writes() : 0;
    } else if (spec.writes_blocks()) {
        counts.disk_written_bytes = spec.in.outer * spec.in.own_columns() * spec.blocks.rows * spec.blocks.elem_bytes;
        counts.disk_writes = own_block_writes(spec);
    } else {
        counts.disk_written_bytes = spec.out.payload_bytes();
        counts.disk_writes = spec.out.total_requests();
    }
    if (spec.loads_other())
        counts.disk_read_bytes = counts.disk_read_bytes / spec.in.number_bytes() * spec.loaded_bytes;
    if (spec.stored_bytes > 0)
        counts.disk_written_bytes = counts.disk_written_bytes / spec.out.number_bytes() * spec.stored_bytes;
}

}  // namespace

Counts SweepStep::predict(int rank) const {
    const SweepSpec spec = spec_.of_rank(rank);
    Counts counts;
    count_disk(spec, counts);
    counts.memory_bytes = swept_bytes(spec);
    const double column_flops = spec.flops_each * static_cast<double>(transformed_columns(spec));
    const double row_flops = spec.row_flops * static_cast<double>(row_runs(spec));
    counts.flops = column_flops + row_flops;
    double wire = 0;
    if (spec.has_rounds()) {
        const Counts rounds = count_rounds(spec);
        counts.messages = rounds.messages;
        counts.sent_bytes = rounds.sent_bytes;
        counts.calls = rounds.calls;
        const bool near = machine_.topology.nodes(spec.in.ranks) == 1;
        const ExchangeFigures figures = machine_.exchange("alltoallv");
        wire = (near ? figures.near : figures.far)
                   .seconds(static_cast<double>(rounds.messages), static_cast<double>(rounds.sent_bytes));
    }
    const auto disks = [&](Place place) { return place == Place::scratch ? spec.scratch_disks : 1; };
    // Ranks share the disks, as far as the plan knows.
    Counts reads, both;
    reads.disk_reads = both.disk_reads = spec.walked().ranks * counts.disk_reads;
    reads.disk_read_bytes = both.disk_read_bytes = spec.walked().ranks * counts.disk_read_bytes;
    both.disk_writes = spec.walked().ranks * counts.disk_writes;
    both.disk_written_bytes = spec.walked().ranks * counts.disk_written_bytes;
    const double reading = machine_.disk_seconds(reads, disks(spec.source), disks(spec.target));
    const double disk = machine_.disk_seconds(both, disks(spec.source), disks(spec.target));
    const auto disk_bytes = static_cast<double>(counts.disk_read_bytes + counts.disk_written_bytes);
    const double compute = engine_seconds(spec, spec.stages, column_flops, machine_.engine_rates) +
                           engine_seconds(spec, spec.row_stages, row_flops, machine_.engine_rates) +
                           2 * disk_bytes / machine_.memory_bytes_per_second / spec.threads + wire;
    // Panels overlap but for the first one and the last; in two slots nothing is computed while one is written.
    const auto panels = static_cast<double>(spec.walked().panels());
    const auto overlap = [&](double io) { return std::max(io, compute) + std::min(io, compute) / panels; };
    counts.seconds = spec.in_place && spec.in_place_slots == 2 ? disk - reading + overlap(reading) : overlap(disk);
    if (spec.reads_together) counts.seconds += wire;  // in one slot nothing is read meanwhile
    return counts;
}

}  // namespace spanfft
