// Partitions, displacements and views of the passes of a plan; see pass_run.hpp.
#include "sweeps/pass_run.hpp"

#include <algorithm>

#include "disk/checksum.hpp"

namespace spanfft {

namespace {

using Kind = Partition::Kind;

// 8 bytes a cell: a 128th of memory at most, and 256 KiB.
index_t max_cells(const Plan& plan) {
    return std::clamp<index_t>(plan.problem.memory_bytes / 1024, 64, index_t{1} << 15);
}

Partition written_by(const PassSpec& pass) {
    if (pass.exchanges_sections()) {  // as far as rounds are concerned, a panel is so many sections
        ColumnPanels sections = pass.in;
        sections.row_elems = sections.last_row_elems = sections.columns = pass.keepers.rows;
        sections.panel = pass.sections_a_panel();
        sections.kept = false;
        return {Kind::column_tiles, sections, pass.kept_blocks(pass.in.rank)};
    }
    if (pass.exchanges_columns()) return {Kind::columns, pass.kept_columns(pass.in.rank), {}};
    if (pass.exchanges()) return {Kind::column_tiles, pass.in, pass.kept_blocks(pass.in.rank)};
    if (pass.writes_blocks()) return {Kind::column_tiles, pass.in, pass.blocks};
    return {Kind::columns, pass.out, {}};
}

Partition read_by(const PassSpec& pass) {
    if (pass.reads_blocks()) return {Kind::row_tiles, pass.out, pass.blocks};
    return {Kind::columns, pass.in, {}};
}

SweepShape shape_of(const PassSpec& of_all, int rank) {
    const PassSpec pass = of_all.of_rank(rank);
    return {&of_all,
            pass.source,
            pass.target,
            pass.source_scratch_bytes,
            pass.target_scratch_bytes,
            pass.walked().panels(),
            written_by(pass),
            read_by(pass),
            pass.threads,
            pass.has_rounds(),
            pass.exchanges()};
}

Partition placed(Partition partition, index_t offset_bytes) {
    // Memoryloads are summed up as blocks of their disks, wherever those begin.
    if (partition.kind != Kind::blocks_of_loads) partition.offset_bytes = offset_bytes;
    return partition;
}

bool overwrites_itself(const SweepShape& sweep) {
    return sweep.source == sweep.target &&
           (sweep.source != Place::scratch || sweep.source_scratch_bytes == sweep.target_scratch_bytes);
}

// Whether what is read is one array of equal rows, and what is written the same.
bool plain_array(const PassSpec& pass) {
    const ColumnPanels &in = pass.in, &out = pass.out;
    return !pass.reads_blocks() && !pass.writes_blocks() && in.section == 0 && !in.mirrored && !out.mirrored &&
           out.twin_elems == 0 && in.last_row_elems == in.row_elems && in.columns == in.row_elems &&
           in.outer == out.outer && in.rows == out.rows && in.row_elems == out.row_elems &&
           in.last_row_elems == out.last_row_elems && in.panel == out.panel && in.elem_bytes == out.elem_bytes;
}

// Whether what a sweep writes is read again by the rank that wrote it.
bool reads_its_own(const SweepShape& before, bool alone) { return alone || before.keeps_own; }

bool whole_matrices(const ColumnPanels& panels) { return panels.outer >= 8; }

// So many panels of `panels` are between what is written and what it overwrites: a flush is waited for only where the
// one before has not ended while an eighth of the panels were done.
index_t panels_between(index_t panels) { return std::min(panels, ceil_div(panels, 8) + 1); }

Displacement displacement_of(const ColumnPanels& in) {
    const index_t row = in.row_elems * in.elem_bytes, matrix = in.matrix_elems() * in.elem_bytes;
    Displacement displacement;
    displacement.total_bytes = in.outer * matrix;
    // Whole blocks of the file system keep direct I/O direct, where they don't add much.
    const auto shift_of = [&](index_t panels, index_t most) {
        const index_t least = panels_between(panels) * in.panel * in.elem_bytes;
        const index_t whole = round_up(least, kDirectBytes);
        return std::min(most, whole - least <= most / 8 ? whole : least);
    };
    if (in.rows == 1) {
        displacement.row_bytes = displacement.total_bytes;
        displacement.shift_bytes = shift_of(in.panels(), displacement.row_bytes);
    } else if (whole_matrices(in)) {
        displacement.row_bytes = displacement.total_bytes;
        displacement.shift_bytes = panels_between(in.outer) * matrix;
    } else {
        displacement.row_bytes = row;
        displacement.shift_bytes = shift_of(in.panels_per_matrix(), row);
    }
    return displacement;
}

// Panels that must be on the disk before panel p overwrites what they were made of: those that begin less than the
// shift behind the end of p. Worked: panels of 4 columns, shift 8, p = 5: columns 20 to 23 overwrite 12 to 15, which
// are panel 3's, so panels 0 to 3 must be done: (24 - 8) / 4 = 4 of them.
index_t panels_needed(const ColumnPanels& in, const Displacement& displacement, index_t panel) {
    const index_t matrix = panel / in.panels_per_matrix(), end = in.group(panel, 0).first + in.group(panel, 0).width;
    const index_t shift = displacement.shift_bytes / in.elem_bytes;
    if (in.rows > 1 && whole_matrices(in)) {
        const index_t matrices = displacement.shift_bytes / (in.matrix_elems() * in.elem_bytes);
        return std::max<index_t>(0, panel + 1 - matrices * in.panels_per_matrix());
    }
    if (in.rows == 1) {
        const index_t lost = matrix * in.row_elems + end - shift;
        if (lost <= 0) return 0;
        return lost / in.row_elems * in.panels_per_matrix() + ceil_div(lost % in.row_elems, in.panel);
    }
    return end <= shift ? 0 : matrix * in.panels_per_matrix() + ceil_div(end - shift, in.panel);
}

}  // namespace

namespace {

std::string why_no_passes(const Plan& plan) {
    if (plan.sweeps == 1) return cat(plan.solver, " reads the array once and writes it once, with no panel in between");
    return cat(plan.solver, " has no journal");
}

}  // namespace

PassLayout examine_passes(const Plan& plan, bool in_place, int rank) {
    PassLayout layout;
    const bool alone = plan.problem.ranks == 1;
    for (const auto& step : plan.steps) {
        layout.first_sweep.push_back(layout.sweeps.size());
        if (const auto* pass = dynamic_cast<const PassStep*>(step.get())) {
            layout.sweeps.push_back(shape_of(pass->spec(), rank));
        } else if (const auto* swept = dynamic_cast<const SweptStep*>(step.get())) {
            for (SweepShape& sweep : swept->sweep_shapes(rank)) layout.sweeps.push_back(std::move(sweep));
        } else {
            layout.sweeps.clear();
            layout.why_not = why_no_passes(plan);
            return layout;
        }
    }
    layout.first_sweep.push_back(layout.sweeps.size());
    layout.displaced.resize(layout.sweeps.size());
    if (in_place && layout.sweeps.size() > 1) {
        layout.overwrites_input = true;
        layout.needs_output = false;
        for (size_t i = 1; i < layout.sweeps.size(); ++i)
            layout.needs_output = layout.needs_output || layout.sweeps[i].source == Place::output;
    }
    for (size_t i = 0; i < layout.sweeps.size(); ++i) {
        const SweepShape& sweep = layout.sweeps[i];
        if (i > 0 && reads_its_own(layout.sweeps[i - 1], alone)) {
            layout.memory_bytes +=
                PanelSums::bytes(layout.sweeps[i - 1].written, sweep.read, max_cells(plan), sweep.threads);
        }
        const bool last = i + 1 == layout.sweeps.size();
        if (!overwrites_itself(sweep) || (last && layout.overwrites_input)) continue;
        if (!alone) {
            layout.why_not = cat("sweep ", i + 1, " overwrites what it reads, which other ranks may have written");
            continue;
        }
        if (!sweep.pass || !plain_array(*sweep.pass)) {
            layout.why_not = cat("sweep ", i + 1, " overwrites what it reads, in another shape");
            continue;
        }
        const Displacement displacement = displacement_of(sweep.pass->in);
        layout.displaced[i] = displacement;
        (sweep.target == Place::output ? layout.output_extra_bytes : layout.scratch_extra_bytes) +=
            displacement.extra_bytes();
    }
    return layout;
}

PassRun::PassRun(const Plan& plan, const RunContext& context, bool checksums, LineSink* sink, int rank)
    : rank_(rank), layout_(examine_passes(plan, context.finished_offset_bytes.has_value(), rank)) {
    const bool alone = plan.problem.ranks == 1;
    const size_t count = layout_.sweeps.size();
    const auto store = [&](Place place) {
        return place == Place::input     ? context.input_store
               : place == Place::scratch ? context.scratch_store
               : place == Place::output  ? context.output_store
                                         : context.staged_output_store;
    };
    const auto offset = [&](Place place, index_t in_scratch) {
        return place == Place::scratch ? in_scratch
               : place == Place::input ? context.input_offset_bytes
                                       : context.output_offset_bytes;
    };
    if (sink) log_ = std::make_unique<SweepLog>(*sink);
    sweeps_.resize(count);
    sums_.resize(count);
    for (size_t i = count; i-- > 0;) {
        const SweepShape& shape = layout_.sweeps[i];
        PassSweep& sweep = sweeps_[i];
        Store* const last = context.finished_store && shape.target == Place::output ? context.finished_store : nullptr;
        sweep.target = i + 1 < count ? sweeps_[i + 1].source : last ? last : store(shape.target);
        sweep.source = shape.source == Place::array ? context.staged_input_store : store(shape.source);
        sweep.log = shape.target == Place::array ? nullptr : log_.get();
        sweep.logged.pass = static_cast<int>(i);
        sweep.logged.panels = shape.panels;
        if (sink && layout_.displaced[i]) {
            Displacement displacement = *layout_.displaced[i];
            displacement.begin_bytes = offset(shape.source, shape.source_scratch_bytes);
            // What is written with work on it is read as it lies.
            Store& below = i + 1 == count && last ? *context.output_store : *sweep.target;
            views_.push_back(std::make_unique<DisplacedStore>(below, displacement));
            sweep.source = views_.back().get();
            sweep.logged.needs = [in = shape.pass->in, displacement](index_t panel) {
                return panels_needed(in, displacement, panel);
            };
        }
        if (checksums && plan.checksum_bytes > 0 && i > 0 && reads_its_own(layout_.sweeps[i - 1], alone)) {
            const SweepShape& before = layout_.sweeps[i - 1];
            sums_[i - 1] = std::make_unique<PanelSums>(
                placed(before.written, offset(before.target, before.target_scratch_bytes)),
                placed(shape.read, offset(shape.source, shape.source_scratch_bytes)), max_cells(plan), shape.threads);
            sweep.read_sums = sums_[i - 1].get();
        }
        if (sink && checksums && alone && i == 0 && shape.source == Place::input &&
            ReadSum::can_sum(context.input_offset_bytes, static_cast<index_t>(plan.problem.input_elem().bytes()))) {
            input_sum_ = std::make_unique<ReadSum>(placed(shape.read, context.input_offset_bytes), shape.threads);
            sweep.input_sum = input_sum_.get();
            sweep.logged.read = input_sum_.get();
        }
        sweep.written_sums = sums_[i].get();
        sweep.logged.target = sweep.target;
        sweep.logged.sums = sweep.written_sums;
    }
    for (size_t step = 0; step < plan.steps.size(); ++step) {
        for (size_t i = layout_.first_sweep[step]; i < layout_.first_sweep[step + 1]; ++i)
            sweeps_[i].logged.panel_bytes = bytes_per_panel(plan, step) / 2;
    }
}

index_t PassRun::bytes_per_panel(const Plan& plan, size_t step) const {
    const size_t first = layout_.first_sweep[step], end = layout_.first_sweep[step + 1];
    const Counts counts = plan.steps[step]->predict(rank_);
    return (counts.disk_read_bytes + counts.disk_written_bytes) / static_cast<index_t>(end - first) /
           std::max<index_t>(1, layout_.sweeps[first].panels);
}

Status PassRun::resume(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
        TextReader in(line);
        std::string word, read, sums;
        size_t pass = 0;
        index_t done = 0;
        if (!(in >> word) || (word != "panels" && word != "restored")) continue;
        if (word == "restored" && in >> pass && pass < sweeps_.size()) {  // what this sweep had written is gone
            resumed_panels_ -= sweeps_[pass].logged.first_panel;
            sweeps_[pass].logged.first_panel = 0;
            continue;
        }
        in >> pass >> done >> read;
        if (!in || pass >= sweeps_.size() || done < sweeps_[pass].logged.first_panel ||
            done > sweeps_[pass].logged.panels ||
            (pass > 0 && sweeps_[pass - 1].logged.first_panel < sweeps_[pass - 1].logged.panels)) {
            return error(Code::corrupt_data, "the journal has a line that does not fit its plan: ", line.substr(0, 60),
                         "; begin anew with restart");
        }
        std::getline(in, sums);
        if (uint64_t sum = 0; sweeps_[pass].input_sum && parse_hex(read, sum)) {
            sweeps_[pass].input_sum->restore(sum);
        } else if (done > 0) {  // these panels were read without checksums
            sweeps_[pass].input_sum = nullptr;
            sweeps_[pass].logged.read = nullptr;
        }
        resumed_panels_ += done - sweeps_[pass].logged.first_panel;
        sweeps_[pass].logged.first_panel = done;
        if (sums_[pass] && sums.compare(0, 5, " 0 0 ") == 0) {  // these panels were written without checksums
            sums_[pass].reset();
            sweeps_[pass].written_sums = sweeps_[pass].logged.sums = sweeps_[pass + 1].read_sums = nullptr;
        }
        if (sums_[pass]) SPANFFT_TRY(sums_[pass]->restore(sums));
    }
    for (PassSweep& sweep : sweeps_) sweep.begins_at = sweep.logged.first_panel;
    return {};
}

Status PassRun::align(Comm& comm) {
    std::vector<index_t> all(static_cast<size_t>(comm.size()));
    for (size_t i = 0; i < sweeps_.size(); ++i) {
        if (!layout_.sweeps[i].exchanges) continue;
        SPANFFT_TRY(comm.allgather(&sweeps_[i].logged.first_panel, sizeof(index_t), all.data()));
        sweeps_[i].begins_at = *std::min_element(all.begin(), all.end());
    }
    return {};
}

Result<bool> PassRun::input_is_as_read(RunContext& context, index_t input_bytes, char* memory, index_t memory_bytes) {
    const PassSweep& first = sweeps_.front();
    if (first.logged.first_panel == 0) return true;  // nothing that is kept is made of it
    if (!first.input_sum) return false;
    SPANFFT_ASSIGN(const uint64_t now, first.input_sum->sum_again(*first.source, context.input_offset_bytes,
                                                                  input_bytes, first.logged.first_panel, memory,
                                                                  memory_bytes, [&] { return context.advance(0); }));
    return now == first.input_sum->sum();
}

index_t PassRun::skipped_bytes(const Plan& plan) const {
    index_t bytes = 0;
    for (size_t step = 0; step < plan.steps.size(); ++step) {
        for (size_t i = layout_.first_sweep[step]; i < layout_.first_sweep[step + 1]; ++i)
            bytes += bytes_per_panel(plan, step) * sweeps_[i].logged.first_panel;
    }
    return bytes;
}

}  // namespace spanfft
