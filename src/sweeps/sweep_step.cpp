// Predicting and describing a sweep of a disk; see sweep_step.hpp. Running it: sweep_task.cpp.
#include "sweeps/sweep_step.hpp"

#include <algorithm>

#include "engine/spec.hpp"
#include "sweeps/exchange_geometry.hpp"
#include "sweeps/rounds.hpp"

namespace spanfft {

namespace {

constexpr double kHeldRequestSeconds = 2e-6;  // of scratch in memory: about what a call of a thread costs

}  // namespace

std::string SweepStep::describe() const {
    const SweepSource& source = spec_.source;
    const SweepTarget& target = spec_.target;
    const bool together = spec_.sharing.reads_together;
    std::string shared, read, written;
    if (spec_.ranks() > 1) {
        shared = spec_.exchanges() ? cat(", exchanged among ", spec_.ranks(), " ranks")
                                   : cat(", on each of ", spec_.ranks(), " ranks");
    }
    if (source.is_blocks()) {
        read = describe_blocks(source.blocks());
    } else {
        read = describe_panels(together ? ExchangeGeometry(spec_).together(0) : source.columns());
    }
    if (target.is_blocks()) {
        written = describe_blocks(target.blocks());
    } else {
        const bool exchanged = spec_.exchanges() && ExchangeGeometry(spec_).of_columns();
        written = spec_.gives_back()
                      ? read
                      : describe_panels(exchanged ? ExchangeGeometry(spec_).kept_columns(0) : spec_.target.columns());
    }
    return cat(spec_.title, shared, ": reads ", source.name(), " (", read, together ? " of all ranks together" : "",
               "), writes ", target.name(), " (", written, ")");
}

namespace {

// The panels of all ranks of a file that all see, one rank's after the other's.
std::optional<Partition> by_all(Partition partition) {
    const ColumnPanels& panels = partition.panels;
    const bool columns = partition.kind == Partition::Kind::columns;
    if ((!columns && partition.kind != Partition::Kind::column_tiles) || panels.own_file() || panels.twin() ||
        panels.part.own > 0)
        return std::nullopt;
    partition.first_of_all = panels.rank * panels.panels();
    return partition;
}

Partition rows_by_all(const SweepSpec& sweep) {
    const ExchangeGeometry geometry(sweep);
    Partition together{Partition::Kind::columns, geometry.all_together(), {}};
    together.first_of_all = sweep.rank() * together.panels.panels();
    together.shared_rows = {sweep.ranks(), geometry.rows_of(0)};
    return together;
}

std::optional<Partition> written_by_all(const SweepSpec& sweep) {
    if (sweep.ranks() == 1 || sweep.sharing.own_part || sweep.exchanges()) return std::nullopt;
    return sweep.gives_back() ? rows_by_all(sweep) : by_all(sweep.written_partition());
}

std::optional<Partition> read_by_all(const SweepSpec& sweep) {
    if (sweep.ranks() == 1 || sweep.sharing.own_part || sweep.sharing.own_rows > 0) return std::nullopt;
    return sweep.sharing.reads_together ? rows_by_all(sweep) : by_all(sweep.read_partition());
}

}  // namespace

std::vector<SweepOutline> SweepStep::sweep_outlines(int rank) const {
    const SweepSpec sweep = spec_.of_rank(rank);
    const bool to_own_part = sweep.sharing.own_part && sweep.target.place == Place::scratch;
    const bool keeps_own =
        sweep.exchanges() || to_own_part || (!sweep.target.is_blocks() && sweep.target.columns().own_file());
    return {{sweep.source, sweep.target, sweep.walked().panels(), sweep.written_partition(), sweep.read_partition(),
             sweep.threads, sweep.has_rounds(), keeps_own, written_by_all(sweep), read_by_all(sweep)}};
}

std::vector<int> SweepStep::group(int /*rank*/) const {
    return spec_.has_rounds() ? Rounds::everyone(spec_.ranks()) : std::vector<int>();
}

namespace {

const TileWork* filter_of(const SweepSpec& spec) {
    const auto* tiles = std::get_if<TileWork>(&spec.work);
    return tiles && tiles->filter_scale ? tiles : nullptr;
}

// Columns of numbers (or slabs) that are transformed in a whole sweep, but for a filter's.
index_t total_columns(const SweepSpec& spec) {
    if (spec.source.is_blocks()) return spec.source.blocks().outer * spec.source.blocks().rows * spec.numbers();
    const ColumnPanels& in = spec.source.columns();
    if (!spec.tiled()) return in.outer * (in.own_columns() / spec.points);
    return in.outer * spec.columns_of(in.own_computed()) * spec.numbers();
}

// Columns (or slabs) that engines are given: tiles are whole, with unused lanes too.
index_t transformed_columns(const SweepSpec& spec) {
    if (!spec.tiled()) return total_columns(spec);
    const bool blocks = spec.source.is_blocks() || spec.target.is_blocks();
    const index_t outer = spec.walked().outer;
    const auto groups_of = [&](index_t columns) { return ceil_div(columns * spec.numbers(), spec.lanes); };
    const index_t groups = spec.walked().over_tiles(blocks ? spec.tile_width() : 0, [&](index_t width) {
        const TurnedRows* const turned = spec.target.turned();
        if (!turned) return groups_of(spec.columns_of(width));
        const index_t last = spec.tile_steps() - 1;
        return width / turned->panels.rows * (last * groups_of(turned->tile_rows) + groups_of(turned->rows_in(last)));
    });
    return spec.lanes * (filter_of(spec) ? groups / outer * (outer + 1) : groups);
}

index_t row_runs(const SweepSpec& spec) {
    if (!spec.rows() || spec.rows()->stages.empty()) return 0;
    const ColumnPanels& panels = spec.row_panels();
    return panels.payload_bytes() / panels.elem_bytes;
}

// Of arrays that lie in memory, from one side of a stage to the other, or in place on one.
index_t staged_bytes(const std::vector<SweepStage>& stages, index_t source_bytes, index_t target_bytes) {
    index_t bytes = 0;
    for (const SweepStage& stage : stages)
        bytes += (stage.on == SweepStage::On::target ? target_bytes : source_bytes) +
                 (stage.on == SweepStage::On::source ? source_bytes : target_bytes);
    return bytes;
}

// What tiles take from panels or blocks, and put into them.
index_t gathered_bytes(const SweepSpec& spec, index_t columns) {
    if (spec.source.is_blocks()) return columns * spec.points * spec.source_elem_bytes();
    const ColumnPanels& in = spec.source.columns();
    if (!in.mirrored())
        return columns * (spec.slab_columns() > 0 ? spec.points : in.rows) * spec.gathered().number_bytes();
    // DCT-III as c2r has one input less than the half spectrum has numbers.
    const Chirp& factors = spec.source.factors;
    index_t zeros = 0;
    for (index_t k = factors.inputs; factors.length > 0 && k <= spec.twiddles.roots_n / 2; ++k)
        zeros += in.owns(k % in.row_elems) ? in.outer : 0;
    return (columns * spec.points - zeros * spec.numbers()) * in.number_bytes();
}

index_t scattered_bytes(const SweepSpec& spec, index_t columns) {
    if (spec.target.in_tiles() || spec.slab_columns() > 0) return columns * spec.out_points * spec.target_elem_bytes();
    const ColumnPanels& out = spec.target.columns();
    // Each number of a half spectrum once.
    const bool once = out.mirrored() || std::holds_alternative<Reflection>(spec.target.array);
    return once ? out.payload_bytes() : columns * out.rows * spec.scattered().number_bytes();
}

// Of a slab that is transformed, and scaled, where it lies.
index_t slab_bytes(const SweepSpec& spec) {
    const index_t in = spec.points * spec.source_elem_bytes(), out = spec.out_points * spec.target_elem_bytes();
    return (spec.scale != 1 ? 2 * out : 0) + staged_bytes(spec.stages, in, out);
}

// What a whole sweep reads and writes in memory, reads and writes of the disk and tiles apart.
index_t swept_bytes(const SweepSpec& spec) {
    const index_t columns = total_columns(spec);
    if (std::holds_alternative<SlabWork>(spec.work)) return columns * slab_bytes(spec);
    // Three engine calls and the twiddles, each in place, and a product of two rows.
    if (std::holds_alternative<ProductWork>(spec.work))
        return columns * spec.points * spec.numbers() * spec.source_elem_bytes() * (4 * 2 + 3);
    index_t bytes = gathered_bytes(spec, columns) + scattered_bytes(spec, columns);
    if (const index_t runs = row_runs(spec); runs > 0)
        bytes += runs * staged_bytes(spec.rows()->stages, spec.row_bytes()[0], spec.row_bytes()[1]);
    if (filter_of(spec))  // which is not read but made
        bytes += spec.source.columns().own_columns() * spec.points * spec.numbers() * spec.target_elem_bytes();
    if (spec.exchanges() && ExchangeGeometry(spec).of_columns()) bytes += 2 * ExchangeGeometry(spec).payload_bytes();
    return bytes;
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

// Of the disk, as if it had all numbers as they are computed.
Counts count_panels(const SweepSpec& spec) {
    Counts counts;
    counts.disk_read_bytes = spec.source.payload_bytes();
    counts.disk_reads = spec.source.total_requests();
    const ExchangeGeometry geometry(spec);
    if (spec.sharing.reads_together) {
        const ColumnPanels read = geometry.together(spec.rank());
        counts.disk_read_bytes = read.payload_bytes();
        counts.disk_reads = read.total_requests();
    }
    counts.disk_written_bytes = spec.exchanges() ? geometry.payload_bytes() : spec.target.payload_bytes(spec.walked());
    counts.disk_writes = spec.exchanges() ? geometry.total_requests() : spec.target.total_requests(spec.walked());
    if (spec.gives_back()) {
        counts.disk_written_bytes = counts.disk_read_bytes;
        counts.disk_writes = counts.disk_reads;
    }
    return counts;
}

// Of the disk, whatever is stored of an element.
Counts count_disk(const SweepSpec& spec) {
    Counts counts = count_panels(spec);
    const SweepSource& source = spec.source;
    const SweepTarget& target = spec.target;
    if (source.loads_other())
        counts.disk_read_bytes = counts.disk_read_bytes / source.columns().number_bytes() * source.file_number_bytes;
    if (target.file_number_bytes > 0)
        counts.disk_written_bytes =
            counts.disk_written_bytes / target.columns().number_bytes() * target.file_number_bytes;
    if (source.place == Place::memory) counts.disk_reads = counts.disk_read_bytes = 0;
    if (target.place == Place::memory) counts.disk_writes = counts.disk_written_bytes = 0;
    return counts;
}

// The same of scratch in memory.
Counts count_held(const SweepSpec& spec) {
    Counts counts = count_panels(spec);
    if (spec.source.place != Place::memory) counts.disk_reads = counts.disk_read_bytes = 0;
    if (spec.target.place != Place::memory) counts.disk_writes = counts.disk_written_bytes = 0;
    return counts;
}

index_t moved_bytes(const Counts& counts) { return counts.disk_read_bytes + counts.disk_written_bytes; }

// Of scratch in memory: what is copied by the threads that read and write, and what is used there for the first time.
double held_seconds(const Counts& held, int threads, const Machine& machine) {
    return 2 * static_cast<double>(moved_bytes(held)) / machine.threads_bytes_per_second(threads) +
           static_cast<double>(held.disk_reads + held.disk_writes) * kHeldRequestSeconds +
           static_cast<double>(held.disk_written_bytes) * machine.memory_touch_seconds_per_byte;
}

// What all threads take for it besides transforms: tiles that are filled and emptied, and their twiddle factors; of
// slabs, and where nobody measured tiles, two copies.
double tile_seconds(const SweepSpec& spec, const Counts& counts, const Counts& held, const Machine& machine) {
    const auto panel_bytes = static_cast<double>(moved_bytes(counts) + moved_bytes(held));
    const double copied = 2 * panel_bytes / machine.threads_bytes_per_second(spec.threads);
    if (!spec.tiled() || machine.tile_bytes_per_second <= 0) return copied;
    const double factors = spec.twiddles.roots_n > 0 ? static_cast<double>(total_columns(spec) * spec.out_points) : 0;
    return (static_cast<double>(counts.memory_bytes) / machine.tile_bytes_per_second +
            factors * machine.twiddle_seconds) /
           spec.threads;
}

// Whether runs that are read, and then written there, are too short for direct I/O.
bool goes_through_cache(const SweepSpec& spec) {
    return spec.target.is_in_place() && !spec.sharing.reads_together && spec.source.columns().lean();
}

}  // namespace

Counts predict_sweep(const SweepSpec& sweep, const Machine& machine, int rank) {
    const SweepSpec spec = sweep.of_rank(rank);
    Counts counts = count_disk(spec);
    const Counts held = count_held(spec);
    counts.memory_bytes = swept_bytes(spec);
    const RowTransforms* const rows = spec.rows();
    const double column_flops = spec.flops_each * static_cast<double>(transformed_columns(spec));
    const double row_flops = rows ? rows->flops * static_cast<double>(row_runs(spec)) : 0;
    counts.flops = column_flops + row_flops;
    double wire = 0;
    bool near = true;
    if (spec.has_rounds()) {
        const Counts rounds = ExchangeGeometry(spec).count();
        counts.messages = rounds.messages;
        counts.sent_bytes = rounds.sent_bytes;
        counts.calls = rounds.calls;
        near = machine.topology.nodes(spec.ranks()) == 1;
        const ExchangeFigures figures = machine.exchange("alltoallv");
        wire = (near ? figures.near : figures.far)
                   .seconds(static_cast<double>(rounds.messages), static_cast<double>(rounds.sent_bytes));
    }
    const auto use = [&](Place place, index_t requests, index_t bytes) {
        return machine.disk_use(requests, bytes, place == Place::scratch ? spec.scratch_disks : 0, spec.ranks());
    };
    const bool in_place = spec.target.is_in_place();
    DiskUse reads = use(spec.source.place, counts.disk_reads, counts.disk_read_bytes);
    DiskUse writes = use(spec.target.place, counts.disk_writes, counts.disk_written_bytes);
    reads.cached = writes.cached = goes_through_cache(spec);
    writes.rewritten = in_place && spec.source.place == spec.target.place;
    const auto panels = static_cast<double>(spec.walked().panels());
    const double reading = machine.disk_seconds(reads, DiskUse(), panels);
    const double disk = machine.disk_seconds(reads, writes, panels);
    const double compute = engine_seconds(spec, spec.stages, column_flops, machine.engine_rates) +
                           (rows ? engine_seconds(spec, rows->stages, row_flops, machine.engine_rates) : 0) +
                           tile_seconds(spec, counts, held, machine) + held_seconds(held, spec.threads, machine) + wire;
    // In two slots nothing is computed while one is written.
    const auto overlap = [&](double io) { return machine.overlapped_seconds(io, compute, panels); };
    const bool two_slots = in_place && std::get_if<InPlace>(&spec.target.array)->slots == 2;
    counts.seconds = two_slots ? disk - reading + overlap(reading) : overlap(disk);
    // What is read while parts of a panel are taken is not counted as saved: ranks then wait for the slowest of them.
    // Nor is it where messages need cores: they took 1.6 times as long as alone (four hosts on two cores, by TCP).
    if (spec.sharing.reads_together && !(spec.takes_ahead() && near) && !in_place) counts.seconds += wire;
    if (spec.source.place == Place::input) counts.seconds += machine.sweep_start_seconds(spec.panel_bytes());
    return counts;
}

index_t SweepStep::progress_bytes(int rank) const { return moved_bytes(count_panels(spec_.of_rank(rank))); }

}  // namespace spanfft
