// What a plan and the library say of themselves; see include/spanfft/spanfft.h.
#include <algorithm>
#include <cstring>

#include "capi/handles.hpp"
#include "capi/problem.hpp"
#include "comm/node_window.hpp"
#include "engine/engine.hpp"
#include "sweeps/sweep_team.hpp"

using namespace spanfft;

spanfft_counts spanfft::counts_to_c(const Counts& counts) {
    return {sizeof(spanfft_counts),
            counts.flops,
            counts.memory_bytes,
            counts.messages,
            counts.sent_bytes,
            counts.disk_read_bytes,
            counts.disk_written_bytes,
            counts.disk_reads,
            counts.disk_writes,
            counts.seconds,
            counts.calls,
            counts.parallel_ios};
}

namespace {

// The part of this rank without the leading batch axis.
Patch part_of(const spanfft_plan& plan, const ArrayState& state) {
    Patch patch = state.layout.patch(plan.rank);
    if (plan.plan->problem.batch > 1) patch.erase(patch.begin());
    return patch;
}

Status give_box(const spanfft_plan* plan, const ArrayState& state, spanfft_box* box) {
    if (!plan || !box) return error(Code::invalid_argument, "the plan or the box is NULL");
    const auto& grid = state.layout.grid();
    if (std::any_of(grid.begin(), grid.end(),
                    [](const GridDim& dim) { return dim.division == Division::cyclic && dim.parts > 1; }))
        return error(Code::unsupported,
                     "the parts of a cyclic layout are no boxes; ask spanfft_plan_input_part or _output_part");
    patch_to_c(part_of(*plan, state), box);
    return Status();
}

Status give_part(const spanfft_plan* plan, const ArrayState& state, spanfft_part* part) {
    if (!plan) return error(Code::invalid_argument, "the plan is NULL");
    spanfft_part value{};
    value.size = sizeof value;
    const Patch patch = part_of(*plan, state);
    for (size_t i = 0; i < patch.size(); ++i) {
        value.start[i] = patch[i].start;
        value.count[i] = patch[i].count;
        value.step[i] = patch[i].step;
    }
    return give(value, part);
}

Status check_line(const spanfft_plan* plan, int index) {
    if (!plan) return error(Code::invalid_argument, "the plan is NULL");
    if (index < -1 || index >= static_cast<int>(plan->lines.size())) {
        return error(Code::invalid_argument, "line ", index, " does not exist; the plan has ", plan->lines.size());
    }
    return Status();
}

// -1: this one.
Result<int> rank_of(const spanfft_plan& plan, int rank) {
    const int ranks = plan.plan->problem.ranks;
    if (rank < -1 || rank >= ranks) return error(Code::invalid_argument, "rank ", rank, " is outside 0 to ", ranks - 1);
    return rank == -1 ? plan.rank : rank;
}

Result<const Trace*> trace_of(const spanfft_plan* plan) {
    if (!plan) return error(Code::invalid_argument, "the plan is NULL");
    if (!plan->executor || !plan->executor->trace())
        return error(Code::invalid_argument, "nothing is traced; call spanfft_plan_trace_start before execution");
    return plan->executor->trace();
}

int copy_shape(const Extents& extents, int64_t* shape) {
    if (shape) std::copy(extents.begin(), extents.end(), shape);
    return static_cast<int>(extents.size());
}

}  // namespace

int spanfft_plan_input_box(const spanfft_plan* plan, spanfft_box* box) {
    return report([&] { return give_box(plan, plan ? plan->plan->input : ArrayState(), box); });
}
int spanfft_plan_output_box(const spanfft_plan* plan, spanfft_box* box) {
    return report([&] { return give_box(plan, plan ? plan->plan->output : ArrayState(), box); });
}
int spanfft_plan_input_part(const spanfft_plan* plan, spanfft_part* part) {
    return report([&] { return give_part(plan, plan ? plan->plan->input : ArrayState(), part); });
}
int spanfft_plan_output_part(const spanfft_plan* plan, spanfft_part* part) {
    return report([&] { return give_part(plan, plan ? plan->plan->output : ArrayState(), part); });
}
int64_t spanfft_plan_input_bytes(const spanfft_plan* plan) {
    return plan ? plan->plan->input.local_bytes(plan->rank) : 0;
}
int64_t spanfft_plan_output_bytes(const spanfft_plan* plan) {
    return plan ? plan->plan->output.local_bytes(plan->rank) : 0;
}
void* spanfft_plan_output_array(const spanfft_plan* plan) {
    return plan && plan->executor ? plan->executor->own_output() : nullptr;
}
void* spanfft_plan_input_array(const spanfft_plan* plan) {
    return plan && plan->executor ? plan->executor->own_input() : nullptr;
}
int spanfft_plan_input_shape(const spanfft_plan* plan, int64_t* shape) {
    return plan ? copy_shape(plan->plan->problem.input_shape(), shape) : 0;
}
int spanfft_plan_output_shape(const spanfft_plan* plan, int64_t* shape) {
    return plan ? copy_shape(plan->plan->problem.output_shape(), shape) : 0;
}

int spanfft_plan_explain(const spanfft_plan* plan, char** text) {
    return report([&]() -> Status {
        if (!plan || !text) return error(Code::invalid_argument, "the plan or the text is NULL");
        const Executor* ran = plan->executor.get();
        *text = copy_text(explain(*plan->plan, plan->rank, ran ? ran->counted() : std::nullopt,
                                  ran ? ran->describe_io() : std::string(),
                                  ran ? ran->run_notes() : std::vector<std::string>()));
        return Status();
    });
}

int spanfft_plan_problem(const spanfft_plan* plan, char** text) {
    return report([&]() -> Status {
        if (!plan || !text) return error(Code::invalid_argument, "the plan or the text is NULL");
        *text = copy_text(plan->plan->task());
        return Status();
    });
}

const char* spanfft_plan_solver(const spanfft_plan* plan) { return plan ? plan->plan->solver.c_str() : ""; }
int spanfft_plan_rank(const spanfft_plan* plan) { return plan ? plan->rank : 0; }
int spanfft_plan_ranks(const spanfft_plan* plan) { return plan ? plan->plan->problem.ranks : 0; }
int spanfft_plan_steps(const spanfft_plan* plan) { return plan ? static_cast<int>(plan->lines.size()) : 0; }

int spanfft_plan_step(const spanfft_plan* plan, int index, spanfft_step* step) {
    return report([&]() -> Status {
        SPANFFT_TRY(check_line(plan, index));
        if (index < 0)
            return error(Code::invalid_argument, "line -1 is the whole plan, which has no description; use 0 and up");
        const auto i = static_cast<size_t>(index);
        return give(spanfft_step{sizeof(spanfft_step), plan->lines[i].depth, plan->lines[i].step->type(),
                                 plan->descriptions[i].c_str()},
                    step);
    });
}

int spanfft_plan_predicted(const spanfft_plan* plan, int index, int rank, spanfft_counts* counts) {
    return report([&]() -> Status {
        SPANFFT_TRY(check_line(plan, index));
        SPANFFT_ASSIGN(const int r, rank_of(*plan, rank));
        return give(
            counts_to_c(index < 0 ? plan->plan->predict(r) : plan->lines[static_cast<size_t>(index)].step->predict(r)),
            counts);
    });
}

int spanfft_plan_limit(const spanfft_plan* plan, int index, int rank, spanfft_limit* limit) {
    return report([&]() -> Status {
        SPANFFT_TRY(check_line(plan, index));
        if (index < 0)
            return error(Code::invalid_argument, "line -1 is the whole plan, whose steps have limits; use 0 and up");
        SPANFFT_ASSIGN(const int r, rank_of(*plan, rank));
        const Step& step = *plan->lines[static_cast<size_t>(index)].step;
        const StepLimit found = limit_of(step.predict(r), plan->plan->peaks);
        return give(spanfft_limit{sizeof(spanfft_limit), found.name, found.seconds}, limit);
    });
}

int spanfft_plan_counted(const spanfft_plan* plan, int index, spanfft_counts* counts) {
    return report([&]() -> Status {
        SPANFFT_TRY(check_line(plan, index));
        if (!plan->executor || !plan->executor->counted())
            return error(Code::invalid_argument, "nothing is counted yet; execute the plan first");
        const auto& counted = *plan->executor->counted();
        Counts total;
        if (index < 0) {
            for (const auto& c : counted) total += c;
        } else {
            const int i = plan->lines[static_cast<size_t>(index)].index;
            if (i < 0)
                return error(Code::invalid_argument, "line ", index,
                             " is inside another, which is counted as a whole; ask for a line of depth 0");
            total = counted[static_cast<size_t>(i)];
        }
        return give(counts_to_c(total), counts);
    });
}

int spanfft_plan_trace_info(const spanfft_plan* plan, spanfft_trace_info* info) {
    return report([&]() -> Status {
        SPANFFT_ASSIGN(const Trace* trace, trace_of(plan));
        const ClockAlignment& clock = plan->executor->clock();
        return give(spanfft_trace_info{sizeof(spanfft_trace_info), trace->size(), trace->dropped(), clock.offset_ns,
                                       clock.accuracy_ns},
                    info);
    });
}

int spanfft_plan_trace_event(const spanfft_plan* plan, int64_t index, spanfft_trace_event* event) {
    return report([&]() -> Status {
        SPANFFT_ASSIGN(const Trace* trace, trace_of(plan));
        if (index < 0 || index >= trace->size())
            return error(Code::invalid_argument, "event ", index, " does not exist; the trace has ", trace->size());
        const TraceEvent& e = trace->at(index);
        const int64_t offset = plan->executor->clock().offset_ns;
        return give(spanfft_trace_event{sizeof(spanfft_trace_event), e.name, static_cast<int32_t>(e.category),
                                        static_cast<int32_t>(e.track), e.step, e.start_ns + offset, e.end_ns + offset,
                                        e.moved_bytes, e.chunk},
                    event);
    });
}

int64_t spanfft_plan_peak_memory_bytes(const spanfft_plan* plan, int rank) {
    if (!plan || rank >= plan->plan->problem.ranks) return 0;
    return plan->plan->peak_memory_bytes(rank < 0 ? plan->rank : rank);
}
int spanfft_plan_sweeps(const spanfft_plan* plan) { return plan ? plan->plan->sweeps : 0; }
int64_t spanfft_plan_scratch_bytes(const spanfft_plan* plan) { return plan ? plan->plan->intermediate_bytes() : 0; }
const char* spanfft_plan_engines(const spanfft_plan* plan) {
    return plan && plan->executor ? plan->executor->engines().c_str() : "";
}
int spanfft_plan_notes(const spanfft_plan* plan) {
    if (!plan) return 0;
    const size_t of_run = plan->executor ? plan->executor->run_notes().size() : 0;
    return static_cast<int>(plan->plan->notes.size() + of_run);
}
const char* spanfft_plan_note(const spanfft_plan* plan, int index) {
    if (index < 0 || index >= spanfft_plan_notes(plan)) return "";
    const auto& notes = plan->plan->notes;
    const auto at = static_cast<size_t>(index);
    return at < notes.size() ? notes[at].c_str() : plan->executor->run_notes()[at - notes.size()].c_str();
}

int spanfft_engine_count(void) { return static_cast<int>(engines().size()); }

int spanfft_plan_io(const spanfft_plan* plan, char** text) {
    return report([&]() -> Status {
        if (!plan || !text) return error(Code::invalid_argument, "the plan or the text is NULL");
        *text = copy_text(plan->executor ? plan->executor->describe_io() : std::string());
        return *text ? Status() : error(Code::out_of_memory, "no memory for a text");
    });
}

int spanfft_disk_io(const char* io, char** text) {
    return report([&]() -> Status {
        if (!text) return error(Code::invalid_argument, "the text is NULL");
        SPANFFT_ASSIGN(const std::string described, describe_machine_io(io ? io : ""));
        *text = copy_text(described);
        return *text ? Status() : error(Code::out_of_memory, "no memory for a text");
    });
}

int spanfft_windows(char** text) {
    return report([&]() -> Status {
        if (!text) return error(Code::invalid_argument, "the text is NULL");
        *text = copy_text(describe_windows());
        return *text ? Status() : error(Code::out_of_memory, "no memory for a text");
    });
}

int spanfft_engine_info(int index, spanfft_engine* info) {
    return report([&]() -> Status {
        if (index < 0 || index >= spanfft_engine_count()) {
            return error(Code::invalid_argument, "engine ", index, " does not exist; ", spanfft_engine_count(),
                         " were found");
        }
        struct Texts {
            std::string name, version, path;
        };
        static const std::vector<Texts> texts = [] {
            std::vector<Texts> all;
            for (const auto& engine : engines()) all.push_back({engine->name(), engine->version(), engine->path()});
            return all;
        }();
        const auto i = static_cast<size_t>(index);
        int32_t precisions = 0;
        for (Precision p : {Precision::single, Precision::dbl, Precision::extended}) {
            if (engines()[i]->has_precision(p)) precisions |= 1 << static_cast<int>(p);
        }
        return give(spanfft_engine{sizeof(spanfft_engine), texts[i].name.c_str(), texts[i].version.c_str(),
                                   texts[i].path.c_str(), precisions},
                    info);
    });
}

int spanfft_engine_search(const char* folder) {
    return report([&]() -> Status {
        if (!folder || !*folder) return error(Code::invalid_argument, "the folder is empty; name one");
        add_engine_search_path(folder);
        return Status();
    });
}
