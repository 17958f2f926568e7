// Partitions, displacements and views of the sweeps of a plan; see sweep_run.hpp.
#include "sweeps/sweep_run.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "disk/checksum.hpp"

namespace spanfft {

namespace {

// 8 bytes a cell: a 128th of memory at most, and 256 KiB.
index_t max_cells(const Plan& plan) {
    return std::clamp<index_t>(plan.problem.memory_bytes / 1024, 64, index_t{1} << 15);
}

Partition placed(Partition partition, index_t offset_bytes) {
    // Memoryloads are summed up as blocks of their disks, wherever those begin.
    if (partition.kind != Partition::Kind::blocks_of_loads) partition.offset_bytes = offset_bytes;
    return partition;
}

// Whether what is read is one array of equal rows, of which ranks take panels by turns or have a file each, and what is
// written the same.
bool plain_array(const SweepOutline& sweep) {
    if (sweep.read.kind != Partition::Kind::columns || sweep.written.kind != Partition::Kind::columns) return false;
    const ColumnPanels &in = sweep.read.panels, &out = sweep.written.panels;
    return in.section() == 0 && !in.mirrored() && !out.mirrored() && !out.twin() && in.last_row_elems == in.row_elems &&
           (in.ranks == 1 || in.share != ColumnPanels::Share::in_blocks) && in.columns == in.row_elems &&
           in.outer == out.outer && in.rows == out.rows && in.row_elems == out.row_elems &&
           in.last_row_elems == out.last_row_elems && in.panel == out.panel && in.elem_bytes == out.elem_bytes;
}

// How what a sweep hands to the next one is cut among the panels of either: by the rank that wrote it and reads it
// again, or by all, if these have no more panels than there may be cells: each rank sums, and writes into its journal,
// for all of them.
struct HandedOn {
    Partition written, read;
};
std::optional<HandedOn> handed_on(const SweepOutline& before, const SweepOutline& after, const Plan& plan) {
    if (plan.problem.ranks == 1 || before.keeps_own) return HandedOn{before.written, after.read};
    if (!before.written_by_all || !after.read_by_all || after.read_by_all->ids() > max_cells(plan)) return std::nullopt;
    return HandedOn{*before.written_by_all, *after.read_by_all};
}

bool whole_matrices(const ColumnPanels& panels) { return panels.outer >= 8; }

// So many panels of `panels` are between what is written and what it overwrites: a flush is waited for only where the
// one before has not ended while an eighth of the panels were done.
index_t panels_between(index_t panels) { return std::min(panels, ceil_div(panels, 8) + 1); }

// Where ranks share panels out by turns, rows are shifted by whole turns, so that a panel overwrites those of its rank.
Displacement displacement_of(const ColumnPanels& in) {
    const index_t row = in.row_elems * in.elem_bytes, matrix = in.matrix_elems() * in.elem_bytes;
    Displacement displacement;
    displacement.total_bytes = in.array_bytes();
    if (in.rows > 1 && whole_matrices(in)) {
        displacement.row_bytes = displacement.total_bytes;
        displacement.shift_bytes = panels_between(in.outer) * matrix;
        return displacement;
    }
    const bool one_row = in.rows == 1 && in.ranks == 1;
    displacement.row_bytes = one_row ? displacement.total_bytes : row;
    // Whole blocks of the file system keep direct I/O direct, where they don't add much.
    const index_t turn = in.ranks * in.panel * in.elem_bytes;
    const index_t least = panels_between(one_row ? in.panels() : in.panels_per_matrix()) * turn;
    const index_t whole = round_up(least, in.ranks == 1 ? kDirectBytes : std::lcm(turn, kDirectBytes));
    displacement.shift_bytes =
        std::min(displacement.row_bytes, whole - least <= displacement.row_bytes / 8 ? whole : least);
    return displacement;
}

// What lies behind a displaced array in its place begins so much later.
index_t room_behind(const Displacement& displacement) { return round_up(displacement.extra_bytes(), kDirectBytes); }

// Panels that must be on the disk before panel p overwrites what they were made of: those that begin less than the
// shift behind the end of p. Worked: panels of 4 columns, shift 8, p = 5: columns 20 to 23 overwrite 12 to 15, which
// are panel 3's, so panels 0 to 3 must be done: (24 - 8) / 4 = 4 of them.
index_t panels_needed(const ColumnPanels& in, const Displacement& displacement, index_t panel) {
    const ColumnPanels::Group group = in.group(panel, 0);
    if (group.width == 0) return 0;
    const index_t each = in.panels_per_matrix(), matrix = panel / each, end = group.first + group.width;
    const index_t shift = displacement.shift_bytes / in.elem_bytes;
    if (in.rows > 1 && whole_matrices(in)) {
        const index_t matrices = displacement.shift_bytes / (in.matrix_elems() * in.elem_bytes);
        return std::max<index_t>(0, panel + 1 - matrices * each);
    }
    if (in.rows == 1 && in.ranks == 1) {
        const index_t row_elems = in.stored_row_elems(), lost = matrix * row_elems + end - shift;
        return lost <= 0 ? 0 : lost / row_elems * each + ceil_div(lost % row_elems, in.panel);
    }
    return end <= shift ? 0 : matrix * each + panel % each + 1 - shift / (in.ranks * in.panel);
}

std::string why_no_sweeps(const Plan& plan) {
    if (plan.sweeps == 1) return cat(plan.solver, " reads the array once and writes it once, with no panel in between");
    return cat(plan.solver, " has no journal");
}

}  // namespace

PlannedSweeps examine_sweeps(const Plan& plan, bool in_place, int rank) {
    PlannedSweeps planned;
    planned.rank = rank;
    for (const auto& step : plan.steps) {
        planned.first_sweep.push_back(planned.sweeps.size());
        std::vector<SweepOutline> own = step->sweep_outlines(rank);
        if (own.empty()) planned.why_not = why_no_sweeps(plan);
        std::move(own.begin(), own.end(), std::back_inserter(planned.sweeps));
    }
    planned.first_sweep.push_back(planned.sweeps.size());
    planned.displaced.resize(planned.sweeps.size());
    if (plan.held_scratch_bytes > 0) planned.why_not = cat(plan.solver, " keeps in memory what its sweeps hand on");
    if (!planned.why_not.empty()) return planned;
    if (in_place && planned.sweeps.size() > 1) {
        planned.overwrites_input = true;
        planned.needs_output = false;
        for (size_t i = 1; i < planned.sweeps.size(); ++i)
            planned.needs_output = planned.needs_output || planned.sweeps[i].source.place == Place::output;
    }
    for (size_t i = 0; i < planned.sweeps.size(); ++i) {
        const SweepOutline& sweep = planned.sweeps[i];
        if (i > 0) {
            const auto handed = handed_on(planned.sweeps[i - 1], sweep, plan);
            if (handed) {
                planned.memory_bytes += PanelSums::bytes(handed->written, handed->read, max_cells(plan), sweep.threads);
            } else {
                planned.unsummed = true;
            }
        }
        const bool last = i + 1 == planned.sweeps.size();
        if (sweep.source != sweep.target || (last && planned.overwrites_input)) continue;
        if (!plain_array(sweep)) {
            planned.why_not = cat("sweep ", i + 1, " overwrites what it reads, in another shape");
            continue;
        }
        const ColumnPanels kept = sweep.read.panels.kept_alone();
        if (kept.columns == 0 || kept.outer == 0) continue;  // a rank that has nothing of it
        const Displacement displacement = displacement_of(kept);
        planned.displaced[i] = displacement;
        (sweep.target.place == Place::output ? planned.output_extra_bytes : planned.scratch_extra_bytes) +=
            room_behind(displacement);
    }
    return planned;
}

namespace {

StoredArray array_in(const RunArrays& arrays, Place place) {
    switch (place) {
        case Place::input:
            return arrays.input;
        case Place::scratch:
            return arrays.scratch;
        case Place::output:
            return arrays.output;
        case Place::array:
            return arrays.chunked_input;
        case Place::memory:
            return arrays.memory;
    }
    return {};
}

// With a journal, arrays that lie in one place one behind the other make way for what those in front of them are
// displaced by.
PlacedArray made_way(const PlannedSweeps& planned, PlacedArray array) {
    const index_t planned_begin = array.begin_bytes;
    for (size_t i = 0; i < planned.sweeps.size(); ++i) {
        const PlacedArray& other = planned.sweeps[i].source;
        if (planned.displaced[i] && other.place == array.place && other.begin_bytes < planned_begin)
            array.begin_bytes += room_behind(*planned.displaced[i]);
    }
    return array;
}

StoredArray read_at(const RunArrays& arrays, const PlacedArray& array) {
    StoredArray stored = array_in(arrays, array.place);
    stored.offset_bytes += array.begin_bytes;
    return stored;
}

// `last`: by the plan's last sweep.
StoredArray written_at(const RunArrays& arrays, const PlacedArray& array, bool last) {
    if (array.place == Place::array) return arrays.chunked_output;
    return array.place == Place::output && last ? arrays.as_it_stays() : read_at(arrays, array);
}

}  // namespace

SweepRun::SweepRun(const Plan& plan, PlannedSweeps planned, const RunArrays& arrays, bool checksums, LineSink* sink)
    : planned_(std::move(planned)) {
    const bool alone = plan.problem.ranks == 1;
    const size_t count = planned_.sweeps.size();
    if (sink) log_ = std::make_unique<SweepLog>(*sink);
    sweeps_.resize(count);
    sums_.resize(count);
    for (size_t i = count; i-- > 0;) {
        const SweepOutline& outline = planned_.sweeps[i];
        RunningSweep& sweep = sweeps_[i];
        const bool last = i + 1 == count;
        const auto placed_at = [&](const PlacedArray& array) { return sink ? made_way(planned_, array) : array; };
        sweep.source = read_at(arrays, placed_at(outline.source));
        sweep.target = written_at(arrays, placed_at(outline.target), last);
        if (!last &&
            outline.target.place == planned_.sweeps[i + 1].source.place)  // else a step without sweeps is between
            sweep.target.store = sweeps_[i + 1].source.store;
        sweep.log = outline.target.place == Place::array ? nullptr : log_.get();
        sweep.number = static_cast<int>(i);
        sweep.panels = outline.panels;
        if (sink && planned_.displaced[i]) {
            Displacement displacement = *planned_.displaced[i];
            displacement.begin_bytes = sweep.source.offset_bytes;
            // What is written with work on it is read as it lies.
            Store& below = last ? *sweep.source.store : *sweep.target.store;
            views_.push_back(std::make_unique<DisplacedStore>(below, displacement));
            sweep.source.store = views_.back().get();
            sweep.needs = [in = outline.read.panels.kept_alone(), displacement](index_t panel) {
                return panels_needed(in, displacement, panel);
            };
        }
        const auto handed = i > 0 ? handed_on(planned_.sweeps[i - 1], outline, plan) : std::nullopt;
        if (checksums && plan.checksum_bytes > 0 && handed) {
            const index_t offset_bytes = sweep.source.offset_bytes;  // where the sweep before writes, too
            sums_[i - 1] =
                std::make_unique<PanelSums>(placed(handed->written, offset_bytes), placed(handed->read, offset_bytes),
                                            max_cells(plan), outline.threads);
            sweep.read_sums = sums_[i - 1].get();
        }
        if (sink && checksums && alone && i == 0 && outline.source.place == Place::input &&
            ReadSum::can_sum(sweep.source.offset_bytes, plan.read_bytes())) {
            input_sum_ = std::make_unique<ReadSum>(placed(outline.read, sweep.source.offset_bytes), outline.threads);
            sweep.input_sum = input_sum_.get();
        }
        sweep.sums = sums_[i].get();
        sweep.written_store = sweep.target.store;
    }
    for (size_t step = 0; step < plan.steps.size(); ++step) {
        for (size_t i = planned_.first_sweep[step]; i < planned_.first_sweep[step + 1]; ++i)
            sweeps_[i].panel_bytes = bytes_per_panel(plan, step) / 2;
    }
}

index_t SweepRun::bytes_per_panel(const Plan& plan, size_t step) const {
    const size_t first = planned_.first_sweep[step], end = planned_.first_sweep[step + 1];
    return plan.steps[step]->progress_bytes(planned_.rank) / static_cast<index_t>(end - first) /
           std::max<index_t>(1, planned_.sweeps[first].panels);
}

Status SweepRun::resume(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
        TextReader in(line);
        std::string word, read, sums;
        size_t sweep = 0;
        index_t done = 0;
        if (!(in >> word) || (word != "panels" && word != "restored")) continue;
        if (word == "restored" && in >> sweep && sweep < sweeps_.size()) {  // what this sweep had written is gone
            resumed_panels_ -= sweeps_[sweep].first_panel;
            sweeps_[sweep].first_panel = 0;
            continue;
        }
        in >> sweep >> done >> read;
        if (!in || sweep >= sweeps_.size() || done < sweeps_[sweep].first_panel || done > sweeps_[sweep].panels ||
            (sweep > 0 && sweeps_[sweep - 1].first_panel < sweeps_[sweep - 1].panels)) {
            return error(Code::corrupt_data, "the journal has a line that does not fit its plan: ", line.substr(0, 60),
                         "; begin anew with restart");
        }
        std::getline(in, sums);
        if (uint64_t sum = 0; sweeps_[sweep].input_sum && parse_hex(read, sum)) {
            sweeps_[sweep].input_sum->restore(sum);
        } else if (done > 0) {  // these panels were read without checksums
            sweeps_[sweep].input_sum = nullptr;
        }
        resumed_panels_ += done - sweeps_[sweep].first_panel;
        sweeps_[sweep].first_panel = done;
        if (sums_[sweep] && sums.compare(0, 5, " 0 0 ") == 0) {  // these panels were written without checksums
            drop_sums(sweep);
        }
        if (sums_[sweep]) SPANFFT_TRY(sums_[sweep]->restore(sums));
    }
    for (RunningSweep& sweep : sweeps_) sweep.begins_at = sweep.first_panel;
    return {};
}

Status SweepRun::align(Comm& comm) {
    std::vector<index_t> all(static_cast<size_t>(comm.size()));
    for (size_t i = 0; i < sweeps_.size(); ++i) {
        if (planned_.sweeps[i].exchanges) {
            SPANFFT_TRY(comm.allgather(&sweeps_[i].first_panel, sizeof(index_t), all.data()));
            sweeps_[i].begins_at = *std::min_element(all.begin(), all.end());
        }
        // Of sums that all ranks make, none is without.
        const index_t summed = sums_[i] ? 1 : 0;
        SPANFFT_TRY(comm.allgather(&summed, sizeof summed, all.data()));
        if (summed == 1 && sums_[i]->of_all_ranks() && *std::min_element(all.begin(), all.end()) == 0) drop_sums(i);
    }
    return {};
}

Status SweepRun::share_sums(size_t step, Comm& comm) const {
    const RunningSweep* const running = sweep(step);
    if (!running || !running->read_sums || !running->read_sums->of_all_ranks()) return {};
    const auto allgather = [&](const void* mine, size_t bytes, void* all) { return comm.allgather(mine, bytes, all); };
    return agree(comm, running->read_sums->share(comm.size(), comm.rank(), allgather));
}

void SweepRun::drop_sums(size_t sweep) {
    sums_[sweep].reset();
    sweeps_[sweep].sums = sweeps_[sweep + 1].read_sums = nullptr;
}

Result<bool> SweepRun::input_is_as_read(RunContext& context, index_t input_bytes, char* memory, index_t memory_bytes) {
    const RunningSweep& first = sweeps_.front();
    if (first.first_panel == 0) return true;  // nothing that is kept is made of it
    if (!first.input_sum) return false;
    SPANFFT_ASSIGN(const uint64_t now, first.input_sum->sum_again(*first.source.store, first.source.offset_bytes,
                                                                  input_bytes, first.first_panel, memory, memory_bytes,
                                                                  [&] { return context.advance(0); }));
    return now == first.input_sum->sum();
}

index_t SweepRun::skipped_bytes(const Plan& plan) const {
    index_t bytes = 0;
    for (size_t step = 0; step < plan.steps.size(); ++step) {
        for (size_t i = planned_.first_sweep[step]; i < planned_.first_sweep[step + 1]; ++i)
            bytes += bytes_per_panel(plan, step) * sweeps_[i].first_panel;
    }
    return bytes;
}

}  // namespace spanfft
