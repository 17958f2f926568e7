// Copying between a chunked array and a file, box by box; see staging.hpp.
#include "sweeps/staging.hpp"

#include <algorithm>
#include <limits>

#include "disk/panels.hpp"
#include "plan/machine.hpp"
#include "steps/box_io_step.hpp"
#include "sweeps/sweep_hooks.hpp"

namespace spanfft {

namespace {

constexpr index_t kMostBoxBytes = index_t{64} << 20;  // larger ones only lengthen the pipeline's ends

enum class Way { in, out };

struct StageSpec {
    Way way = Way::in;
    ArrayBoxes boxes;              // as they pass through memory, and as the file has them
    index_t array_elem_bytes = 1;  // of the chunked array, where that stores other elements than were computed
    index_t slots = 3;             // panels in memory: 3, or 2 of large chunks
    int threads = 1;
    int ranks = 1;
    bool one_writer = false;  // rank 0 has all boxes
    index_t slot_bytes() const {
        return round_up(boxes.most_bytes() + 2 * run_alignment(boxes.most_bytes()), kDirectBytes);
    }
    AxisRange boxes_of(int rank) const {
        if (one_writer) return {0, rank == 0 ? boxes.count() : 0, 1};
        return block_range(boxes.count(), ranks, rank);
    }
    index_t bytes_of(int rank) const {
        const AxisRange mine = boxes_of(rank);
        index_t bytes = 0;
        for (index_t i = 0; i < mine.count; ++i) bytes += boxes.at(mine.at(i)).bytes;
        return bytes;
    }
};

Extents clipped(const Extents& shape, Extents chunk) {
    for (size_t axis = 0; axis < shape.size(); ++axis) chunk[axis] = std::min(chunk[axis], shape[axis]);
    return chunk;
}

// As many chunks side by side, from the last axis on, as room_bytes hold; at least one.
Extents grown(const Extents& shape, Extents box, index_t elem_bytes, index_t room_bytes) {
    for (size_t axis = shape.size(); axis-- > 0;) {
        const index_t most = ceil_div(shape[axis], box[axis]);
        const index_t times = std::clamp<index_t>(room_bytes / (product(box) * elem_bytes), 1, most);
        box[axis] = std::min(shape[axis], box[axis] * times);
        if (times < most) break;
    }
    return box;
}

// The flat side of a box. A box that is one run lies in memory as far past a boundary as in the file, so that
// it can go past the page cache; one of many runs is packed.
struct FlatBox {
    ArrayBoxes::Box box;
    index_t run_bytes = 0, runs = 0, pieces = 0, first_offset_bytes = 0;

    FlatBox(const ArrayBoxes& boxes, index_t index, index_t file_offset_bytes)
        : box(boxes.at(index)),
          run_bytes(boxes.flat_run_bytes(box)),
          runs(boxes.flat_runs(box)),
          pieces(pieces_of(run_bytes)),
          first_offset_bytes(file_offset_bytes + boxes.flat_offset_bytes(box, 0)) {}
    index_t requests() const { return runs * pieces; }
    char* memory(char* slot) const { return slot + (runs == 1 ? first_offset_bytes % run_alignment(run_bytes) : 0); }
    Run request(const ArrayBoxes& boxes, index_t i, index_t file_offset_bytes, char* slot, bool reading) const {
        const index_t run = i / pieces;
        const Run whole{file_offset_bytes + boxes.flat_offset_bytes(box, run), memory(slot) + run * run_bytes,
                        run_bytes, reading && requests() == 1};
        return piece_of(whole, pieces, i % pieces);
    }
};

class StageTask final : public Task {
  public:
    StageTask(const StageSpec& spec, int rank, std::shared_ptr<SweepTeam> team)
        : spec_(spec), mine_(spec.boxes_of(rank)), team_(std::move(team)) {}
    Counts counted() const override { return counts_; }

    Status run(RunContext& context) override {
        const RunningSweep& sweep = *context.sweep;
        counts_ = Counts();
        if (sweep.done()) return {};
        const bool in = spec_.way == Way::in;
        const index_t file_offset = (in ? sweep.target : sweep.source).offset_bytes;
        char* const memory = static_cast<char*>(context.at(Slot::work0));
        const auto slot_at = [=, this](index_t slot) { return memory + slot * spec_.slot_bytes(); };
        const auto box_of = [=, this](index_t group) { return FlatBox(spec_.boxes, mine_.at(group), file_offset); };
        const auto flat_count = [=](index_t group) { return box_of(group).requests(); };
        const auto flat_run = [=, this](index_t group, index_t slot, index_t i) {
            return box_of(group).request(spec_.boxes, i, file_offset, slot_at(slot), !in);
        };
        const auto one = [](index_t) { return index_t{1}; };
        const auto box_run = [=](index_t group, index_t slot, index_t) {
            const FlatBox flat = box_of(group);
            return Run{flat.box.offset_bytes, flat.memory(slot_at(slot)), flat.box.bytes, false};
        };
        PipelineSpec pipeline;
        pipeline.steps = mine_.count;
        pipeline.read_slots = spec_.slots;
        pipeline.write_slots = 0;
        pipeline.in_place = true;
        pipeline.read_count = in ? std::function<index_t(index_t)>(one) : flat_count;
        pipeline.write_count = in ? std::function<index_t(index_t)>(flat_count) : one;
        pipeline.read_run = in ? std::function<Run(index_t, index_t, index_t)>(box_run) : flat_run;
        pipeline.write_run = in ? std::function<Run(index_t, index_t, index_t)>(flat_run) : box_run;
        pipeline.compute = [](index_t, index_t, index_t) { return Status(); };
        pipeline.memory = memory;
        pipeline.memory_bytes = spec_.slots * spec_.slot_bytes();
        SPANFFT_ASSIGN(counts_, run_panels(pipeline, 1, context, *team_));
        return {};
    }

  private:
    const StageSpec spec_;
    const AxisRange mine_;
    std::shared_ptr<SweepTeam> team_;
    Counts counts_;
};

class StageStep final : public Step {
  public:
    StageStep(StageSpec spec, const Machine& machine) : spec_(std::move(spec)), machine_(machine) {}
    const char* type() const override { return "Stage"; }
    std::string describe() const override {
        const std::string shared = spec_.ranks == 1   ? ""
                                   : spec_.one_writer ? ", all by rank 0"
                                                      : cat(", shared out among ", spec_.ranks, " ranks");
        const std::string boxes = cat(spec_.boxes.count(), " boxes of ", shape_string(spec_.boxes.box), shared);
        return spec_.way == Way::in
                   ? cat("the chunked input into a file, each chunk read once: ", boxes, ", whole chunks")
                   : cat("a file into the chunked output, each chunk written once: ", boxes, ", whole chunks");
    }
    Counts price(int rank) const override {
        const AxisRange mine = spec_.boxes_of(rank);
        const bool in = spec_.way == Way::in;
        index_t flat = 0;
        for (index_t i = 0; i < mine.count; ++i) flat += FlatBox(spec_.boxes, mine.at(i), 0).requests();
        const index_t flat_bytes = spec_.bytes_of(rank);
        const index_t array_bytes = flat_bytes / spec_.boxes.elem_bytes * spec_.array_elem_bytes;
        Counts counts;
        counts.disk_reads = in ? mine.count : flat;
        counts.disk_writes = in ? flat : mine.count;
        counts.disk_read_bytes = in ? array_bytes : flat_bytes;
        counts.disk_written_bytes = in ? flat_bytes : array_bytes;
        // Ranks share the disk, as far as the plan knows.
        const double sharers = spec_.one_writer ? 1 : spec_.ranks;
        counts.seconds =
            sharers * (static_cast<double>(counts.disk_read_bytes) / machine_.disk_read_bytes_per_second +
                       static_cast<double>(counts.disk_written_bytes) / machine_.disk_write_bytes_per_second +
                       static_cast<double>(flat) * machine_.disk_request_seconds / machine_.disk_queue_depth);
        return counts;
    }
    index_t progress_bytes(int rank) const override { return 2 * spec_.bytes_of(rank); }
    std::vector<SweepOutline> sweep_outlines(int rank) const override {
        SweepOutline outline;
        const bool in = spec_.way == Way::in;
        outline.source.place = in ? Place::array : Place::output;
        outline.target.place = in ? Place::input : Place::array;
        outline.panels = spec_.boxes_of(rank).count;
        outline.written = outline.read = Partition::of_boxes(spec_.boxes);
        if (spec_.ranks > 1) outline.written_by_all = outline.read_by_all = boxes_of_all(rank);
        outline.threads = spec_.threads;
        return {outline};
    }
    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        SPANFFT_ASSIGN(auto team, team_of(binding, spec_.threads));
        return std::unique_ptr<Task>(std::make_unique<StageTask>(spec_, binding.comm.rank(), std::move(team)));
    }

  private:
    Partition boxes_of_all(int rank) const {
        const index_t most = spec_.boxes_of(0).count;
        Partition all = Partition::of_boxes(spec_.boxes);
        all.panels.outer = most;
        all.panels.ranks = spec_.ranks;
        all.first_of_all = rank * most;
        all.load_of = [spec = spec_, most](index_t box) {
            const index_t owner = spec.one_writer ? 0 : block_part(spec.boxes.count(), spec.ranks, box);
            return owner * most + box - spec.boxes_of(static_cast<int>(owner)).start;
        };
        return all;
    }

    StageSpec spec_;
    Machine machine_;
};

index_t chunk_bytes(const Extents& shape, const Extents& chunk, const ElemType& elem) {
    return chunk.empty() ? 0 : product(clipped(shape, chunk)) * static_cast<index_t>(elem.bytes());
}

// What panels of a sweep may take on every rank: what work0 has there, or what the budget has left beside the rest.
index_t room_on_each(const Plan& plan) {
    const index_t budget = plan.problem.memory_bytes - callback_bytes(plan.problem);
    index_t least = std::numeric_limits<index_t>::max();
    for (int rank = 0; rank < plan.problem.ranks; ++rank) {
        const index_t work = plan.slot_bytes[static_cast<size_t>(rank)][static_cast<size_t>(Slot::work0)];
        least = std::min(least, std::max(work, budget - plan.peak_memory_bytes(rank) + work));
    }
    return least;
}

}  // namespace

index_t callback_bytes(const Problem& problem) {
    return 2 * std::max(chunk_bytes(problem.input_shape(), problem.input_chunk, problem.input_elem()),
                        chunk_bytes(problem.output_shape(), problem.output_chunk, problem.stored_elem()));
}

std::string chunks_too_large(const Problem& problem) {
    return cat(
        "a chunk has ", bytes_string(static_cast<double>(callback_bytes(problem)) / 2),
        ", of which four must fit the budget beside the sweeps: two that are copied and two for whoever encodes ",
        "and decodes them; give more memory=, or make the chunks smaller");
}

Extents planes_box(const Extents& shape, const Extents& chunk, const ElemType& elem) {
    if (chunk.empty()) return {};
    Extents box = shape;
    box[0] = std::min(chunk[0], shape[0]);
    return grown(shape, box, static_cast<index_t>(elem.bytes()), kBoxRequestBytes);
}

Status stage_chunks(Plan& plan, const Machine& machine) {
    const Problem& problem = plan.problem;
    struct Side {
        Way way;
        Extents shape, chunk;
        ElemType elem, array_elem;
        Extents& box;
        index_t& staged_bytes;
    };
    Side sides[] = {{Way::in, problem.input_shape(), problem.input_chunk, problem.input_elem(), problem.input_elem(),
                     plan.input_box, plan.staged_input_bytes},
                    {Way::out, problem.output_shape(), problem.output_chunk, problem.output_elem(),
                     problem.stored_elem(), plan.output_box, plan.staged_output_bytes}};
    for (Side& side : sides) {
        if (side.chunk.empty() || !side.box.empty()) continue;
        StageSpec spec;
        spec.way = side.way;
        spec.threads = problem.threads > 0 ? problem.threads : machine.threads_for(problem.ranks);
        spec.ranks = problem.ranks;
        spec.one_writer = side.way == Way::out && problem.one_writer;
        spec.boxes = {side.shape, clipped(side.shape, side.chunk), static_cast<index_t>(side.elem.bytes())};
        spec.array_elem_bytes = static_cast<index_t>(side.array_elem.bytes());
        const index_t work = plan.slot_bytes[0][static_cast<size_t>(Slot::work0)], most = room_on_each(plan);
        const index_t needed = 2 * spec.slot_bytes();
        if (needed > most) return error(Code::out_of_memory, chunks_too_large(problem));
        spec.slots = 3 * spec.slot_bytes() <= most ? 3 : 2;
        const index_t room = std::max(work, spec.slots * spec.slot_bytes()) / spec.slots -
                             2 * run_alignment(std::max(work, needed)) - kDirectBytes;
        const index_t each = ceil_div(spec.boxes.bytes(), spec.one_writer ? 1 : spec.ranks);  // so that all have some
        const index_t useful = std::max(std::min(kMostBoxBytes, each), spec.boxes.most_bytes());
        spec.boxes.box = grown(side.shape, spec.boxes.box, spec.boxes.elem_bytes, std::min(room, useful));
        plan.slot_bytes.fix(Slot::work0, spec.slots * spec.slot_bytes());
        side.box = spec.boxes.box;
        side.staged_bytes = spec.boxes.bytes();
        auto step = std::make_unique<StageStep>(std::move(spec), machine);
        plan.steps.insert(side.way == Way::in ? plan.steps.begin() : plan.steps.end(), std::move(step));
        ++plan.sweeps;
    }
    return {};
}

}  // namespace spanfft
