// Making, running and freeing plans; see include/spanfft/spanfft.h.
//
// Method: every collective entry agrees on each rank's own status before it does anything that others must join, so a
// rank with a bad argument takes the others back with it instead of leaving them in a collective.
#include <cstdlib>
#include <cstring>

#include "capi/handles.hpp"
#include "capi/problem.hpp"
#include "engine/trust.hpp"
#include "exec/run_stores.hpp"
#include "exec/tune.hpp"
#include "exec/unfinished_run.hpp"
#include "plan/kept_wisdom.hpp"
#include "plan/knowledge.hpp"
#include "plan/machine_file.hpp"

using namespace spanfft;

namespace {

thread_local std::string last_error;

// The boxes of all ranks, from each rank's own. Collective.
Status gather_boxes(Comm& comm, const spanfft_box* mine, int ndim, const char* what, std::vector<Patch>& boxes) {
    const char given = mine != nullptr;
    std::vector<char> all_given(static_cast<size_t>(comm.size()));
    SPANFFT_TRY(comm.allgather(&given, 1, all_given.data()));
    int count = 0;
    for (char g : all_given) count += g;
    if (count == 0) return Status();
    if (count != comm.size()) {
        return error(Code::invalid_argument, count, " of ", comm.size(), " ranks gave a ", what,
                     "; give one on every rank or on none");
    }
    std::vector<spanfft_box> all(static_cast<size_t>(comm.size()));
    SPANFFT_TRY(comm.allgather(mine, sizeof *mine, all.data()));
    for (const auto& box : all) boxes.push_back(patch_from_c(box, ndim));
    return Status();
}

void note_windows(Plan& plan, const Executor& executor) {
    if (const std::string note = executor.window_note(); !note.empty()) plan.notes.push_back(note);
}

// Whether engines are put to the test for this problem (engine/trust.hpp): elsewhere than at powers of two.
bool asks_for_trust(const Problem& problem) {
    for (size_t i = 0; i < problem.axes.size(); ++i) {
        if (largest_prime_factor(problem.logical_length(i)) > kSmoothPrime) return true;
    }
    return false;
}

// Collective. The first rank of each node plans first and hands on what it found out about engines; else each of a
// node's ranks would make the same checks.
Result<std::unique_ptr<Plan>> plan_by_node(const Problem& problem, const Knowledge& knowledge, Comm& comm) {
    if (comm.size() == 1 || !asks_for_trust(problem)) return plan_knowing(knowledge, problem);
    const Topology& topology = knowledge.machine.topology;
    std::vector<int> ranks;
    for (int rank = 0; rank < comm.size(); ++rank) {
        if (topology.node_of(rank) == topology.node_of(comm.rank())) ranks.push_back(rank);
    }
    auto node = comm.group(ranks);
    SPANFFT_TRY(agree(comm, node.status()));
    if (ranks.size() == 1) return plan_knowing(knowledge, problem);
    if (comm.rank() != ranks.front()) {
        std::string known;
        SPANFFT_TRY(broadcast_text(*node.value(), known));
        learn_trust(known);
        return plan_knowing(knowledge, problem);
    }
    auto planned = plan_knowing(knowledge, problem);
    std::string known = print_trust();
    SPANFFT_TRY(broadcast_text(*node.value(), known));
    return planned;
}

// Collective. Ranks plan alone, from the same figures; this finds the machine whose ranks did not come to the same
// plan.
Result<std::shared_ptr<Plan>> plan_alike(const Problem& problem, const Knowledge& knowledge, Comm& comm) {
    auto planned = plan_by_node(problem, knowledge, comm);
    SPANFFT_TRY(agree(comm, planned.status()));
    std::shared_ptr<Plan> plan = std::move(planned).value();
    SPANFFT_TRY(agree_on_text(comm, "plan", plan->problem.print()));
    return plan;
}

// What engines measured for the plan goes to the user's file, once for all ranks; a plan that could not use the file,
// or add to it, says so.
void keep_measured(Plan& plan, const Knowledge& knowledge, int rank) {
    if (!knowledge.note.empty()) plan.notes.push_back(knowledge.note);
    if (plan.problem.effort == Effort::estimate || rank != 0) return;
    const Status kept = keep_wisdom();
    if (!kept.ok()) plan.notes.push_back("wisdom is not stored for later processes: " + kept.message());
}

// Collective. A plan of ours whose windows found no room (`refusal`) gives way to one without any; a choice of the
// user's doesn't.
Status create_without_windows(const Problem& problem, Knowledge knowledge, const Status& refusal,
                              std::unique_ptr<Comm> comm, const Executor* undone, spanfft_plan** out) {
    knowledge.machine.shared_windows = false;
    knowledge.tuned.reset();
    SPANFFT_ASSIGN(std::shared_ptr<Plan> plan, plan_alike(problem, knowledge, *comm));
    SPANFFT_ASSIGN(auto executor, Executor::make(plan, std::move(comm), undone));
    plan->notes.push_back(cat("planned without shared memory: ", refusal.message()));
    keep_measured(*plan, knowledge, executor->rank());
    *out = new_handle(std::move(plan), std::move(executor));
    return Status();
}

// Collective. Times candidates, stores the winner (rank 0 does), and keeps it as the plan.
Status create_tuned(const Problem& problem, const Knowledge& knowledge, Comm& comm, spanfft_plan** out) {
    SPANFFT_ASSIGN(Tuning tuning, tune(problem, knowledge, comm));
    TuningStore gained;
    gained.add(tuning.record);
    std::shared_ptr<Plan> plan = tuning.plan;
    note_windows(*plan, *tuning.executor);
    keep_measured(*plan, knowledge, comm.rank());
    if (comm.rank() == 0) {
        const auto stored = gain_tuning(gained);
        if (!stored.ok()) plan->notes.push_back("not stored for later processes: " + stored.status().message());
    }
    *out = new_handle(std::move(plan), std::move(tuning.executor));
    return Status();
}

// Collective. From this rank's view of the problem (or the reason why it has none) to a bound plan. `undone` may be
// NULL.
Status create(Result<Problem> parsed, const spanfft_box* real_box, const spanfft_box* spectrum_box, Comm* given,
              const spanfft_plan* undone, spanfft_plan** out) {
    std::unique_ptr<Comm> comm = make_self_comm();
    if (given) {
        SPANFFT_ASSIGN(comm, given->duplicate());
    }
    if (parsed.ok() && !out) parsed = error(Code::invalid_argument, "plan is NULL; pass where the plan shall go");
    SPANFFT_TRY(agree(*comm, parsed.status()));
    Problem problem = std::move(parsed).value();
    Status status;
    if (problem.ranks != comm->size()) {
        const char* plural = problem.ranks == 1 ? " rank" : " ranks";
        status = error(Code::invalid_argument, "the problem is for ", problem.ranks, plural,
                       " but the communicator has ", comm->size(), "; leave ranks= out to take all of them");
    }
    SPANFFT_TRY(agree(*comm, status));
    const std::string undoes = undone ? " undoing " + undone->plan->task() : "";
    SPANFFT_TRY(agree_on_text(*comm, "problem", problem.print() + undoes));
    SPANFFT_TRY(gather_boxes(*comm, real_box, problem.ndim(), "real_box", problem.real_boxes));
    SPANFFT_TRY(gather_boxes(*comm, spectrum_box, problem.ndim(), "spectrum_box", problem.spectrum_boxes));
    SPANFFT_ASSIGN(const Knowledge knowledge, gather_knowledge(*comm, problem));
    const bool known = problem.effort == Effort::measure && knowledge.tuned;
    if (problem.effort != Effort::estimate && problem.memory_bytes == 0 && !known)
        return create_tuned(problem, knowledge, *comm, out);
    SPANFFT_ASSIGN(std::shared_ptr<Plan> plan, plan_alike(problem, knowledge, *comm));
    const Executor* const beside = undone ? undone->executor.get() : nullptr;
    auto executor = Executor::make(plan, std::move(comm), beside);
    if (executor.status().code() == Code::unsupported && given && given->size() > 1 && problem.exchange.empty()) {
        SPANFFT_ASSIGN(comm, given->duplicate());
        return create_without_windows(problem, knowledge, executor.status(), std::move(comm), beside, out);
    }
    SPANFFT_TRY(executor.status());
    note_windows(*plan, *executor.value());
    keep_measured(*plan, knowledge, executor.value()->rank());
    *out = new_handle(std::move(plan), std::move(executor).value());
    return Status();
}

Result<Problem> parse(const char* text, int ranks_if_unsaid) {
    if (!text) return error(Code::invalid_argument, "the problem string is NULL");
    return Problem::parse(text, ranks_if_unsaid);
}

// machine may be NULL: this one, as far as it is known. ranks_per_node 0: as the machine has them.
Status imagine(const char* text, const char* machine, int ranks_per_node, spanfft_plan** out) {
    if (!out) return error(Code::invalid_argument, "plan is NULL; pass where the plan shall go");
    SPANFFT_ASSIGN(const Problem problem, parse(text, 1));
    if (ranks_per_node < 0)
        return error(Code::invalid_argument, "ranks per node are ", ranks_per_node,
                     "; give at least 1, or 0 for those "
                     "of the machine");
    Knowledge knowledge;
    if (machine) {
        SPANFFT_ASSIGN(knowledge.machine, parse_machine(machine, this_machine()));
        if (ranks_per_node > 0) knowledge.machine.topology.ranks_per_node = ranks_per_node;
    } else {
        knowledge = imagined_knowledge(problem, ranks_per_node);
    }
    const CheckAllowance checks(0, kImaginedLongest);
    SPANFFT_ASSIGN(auto planned, plan_knowing(knowledge, problem));
    if (problem.ranks > 1) planned->notes.push_back(nodes_note(knowledge.machine.topology, problem.ranks));
    *out = new_handle(std::move(planned), nullptr);
    return Status();
}

int size_of(const spanfft_comm* comm) { return comm ? comm->comm->size() : 1; }

}  // namespace

namespace spanfft {

int report_status(const Status& status) {
    last_error = status.message();
    return static_cast<int>(status.code());
}

Status check_runs(const spanfft_plan* plan) {
    if (!plan || !plan->executor)
        return error(Code::invalid_argument, "the plan is NULL or only imagined; make it with spanfft_plan_create");
    if (plan->left_behind()) {
        return error(Code::unsupported, "the plan was made in process ", plan->made_by, ", whose ",
                     plan->plan->problem.ranks > 1 ? "MPI" : "threads", " did not come along to process ", getpid(),
                     " (fork); make a plan in this process, use threads=1, or start processes without fork "
                     "(multiprocessing's \"spawn\")");
    }
    return Status();
}

spanfft_plan* new_handle(std::shared_ptr<const Plan> plan, std::unique_ptr<Executor> executor) {
    auto handle = std::make_unique<spanfft_plan>();
    handle->rank = executor ? executor->rank() : 0;
    handle->plan = std::move(plan);
    handle->executor = std::move(executor);
    handle->lines = plan_lines(*handle->plan);
    for (const auto& line : handle->lines) handle->descriptions.push_back(line.step->describe());
    return handle.release();
}

Result<std::vector<std::string>> folder_names(int count, const char* const* folders) {
    if (count < 0) return error(Code::invalid_argument, "there are ", count, " scratch folders; give 0 or more");
    if (count > 0 && !folders) return error(Code::invalid_argument, "the list of ", count, " scratch folders is NULL");
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) names.emplace_back(folders[i] ? folders[i] : "");
    return names;
}

spanfft_comm* wrap_comm(std::unique_ptr<Comm> comm) { return new spanfft_comm{std::move(comm)}; }

}  // namespace spanfft

const char* spanfft_last_error(void) { return last_error.c_str(); }
const char* spanfft_version(void) { return SPANFFT_VERSION; }
void spanfft_free(void* memory) { std::free(memory); }
void spanfft_comm_free(spanfft_comm* comm) { delete comm; }
// In a child of fork a plan that has threads is left to the end of the process: they are not there to be joined.
void spanfft_plan_free(spanfft_plan* plan) {
    if (plan && !plan->left_behind()) delete plan;
}

int spanfft_plan_create(const spanfft_problem* problem, spanfft_comm* comm, spanfft_plan** plan) {
    return report([&] {
        auto parsed = problem_from_c(problem);
        const bool readable = parsed.ok();  // else the struct may be shorter than we think
        if (readable) parsed.value().ranks = size_of(comm);
        const spanfft_box* real_box = readable ? problem->real_box : nullptr;
        const spanfft_box* spectrum_box = readable ? problem->spectrum_box : nullptr;
        return create(std::move(parsed), real_box, spectrum_box, comm ? comm->comm.get() : nullptr, nullptr, plan);
    });
}

int spanfft_plan_parse(const char* text, spanfft_comm* comm, spanfft_plan** plan) {
    return spanfft_plan_parse_boxes(text, nullptr, nullptr, comm, plan);
}

int spanfft_plan_parse_boxes(const char* text, const spanfft_box* real_box, const spanfft_box* spectrum_box,
                             spanfft_comm* comm, spanfft_plan** plan) {
    return spanfft_plan_parse_undoing(text, real_box, spectrum_box, comm, nullptr, plan);
}

int spanfft_plan_parse_undoing(const char* text, const spanfft_box* real_box, const spanfft_box* spectrum_box,
                               spanfft_comm* comm, const spanfft_plan* undone, spanfft_plan** plan) {
    return report([&] {
        auto parsed = parse(text, size_of(comm));
        const bool twice = parsed.ok() && ((real_box && !parsed.value().real_boxes.empty()) ||
                                           (spectrum_box && !parsed.value().spectrum_boxes.empty()));
        if (twice)
            parsed = error(Code::invalid_argument, "boxes are given twice, in '", text, "' and by this rank; ",
                           "give them once");
        return create(std::move(parsed), real_box, spectrum_box, comm ? comm->comm.get() : nullptr, undone, plan);
    });
}

int spanfft_plan_imagine(const char* text, spanfft_plan** plan) {
    return spanfft_plan_imagine_nodes(text, nullptr, 0, plan);
}

int spanfft_plan_imagine_on(const char* text, const char* machine, spanfft_plan** plan) {
    return report([&]() -> Status {
        if (!machine) return error(Code::invalid_argument, "the machine's text or the plan is NULL");
        return imagine(text, machine, 0, plan);
    });
}

int spanfft_plan_imagine_nodes(const char* text, const char* machine, int ranks_per_node, spanfft_plan** plan) {
    return report([&] { return imagine(text, machine, ranks_per_node, plan); });
}

int spanfft_execute(spanfft_plan* plan, const void* in, void* out) {
    return spanfft_execute_unless(plan, in, out, SPANFFT_OK, nullptr);
}

int spanfft_execute_unless(spanfft_plan* plan, const void* in, void* out, int code, const char* sentence) {
    return report([&]() -> Status {
        SPANFFT_TRY(check_runs(plan));
        Status ready;
        if (code < SPANFFT_OK) {
            ready = error(Code::invalid_argument, "the code is ", code,
                          "; use a SPANFFT_ code, or one of your own from ", SPANFFT_OWN_CODES);
        } else if (code != SPANFFT_OK) {
            ready = Status(static_cast<Code>(code), sentence ? sentence : "the caller could not take part");
        }
        return plan->executor->execute(in, out, ready);
    });
}

int spanfft_plan_trace_start(spanfft_plan* plan, int64_t max_events) {
    return report([&]() -> Status {
        SPANFFT_TRY(check_runs(plan));
        return plan->executor->start_trace(max_events);
    });
}

int spanfft_plan_trace_stop(spanfft_plan* plan) {
    return report([&]() -> Status {
        if (!plan) return error(Code::invalid_argument, "the plan is NULL");
        if (plan->executor) plan->executor->stop_trace();
        return Status();
    });
}

int spanfft_plan_set_scratch(spanfft_plan* plan, int count, const char* const* folders) {
    return report([&]() -> Status {
        if (!plan) return error(Code::invalid_argument, "the plan is NULL");
        SPANFFT_ASSIGN(plan->scratch_folders, folder_names(count, folders));
        return Status();
    });
}

int spanfft_plan_set_journal(spanfft_plan* plan, int mode, int checksums) {
    return report([&]() -> Status {
        if (!plan) return error(Code::invalid_argument, "the plan is NULL");
        if (mode < SPANFFT_JOURNAL_OFF || mode > SPANFFT_JOURNAL_RESTART) {
            return error(Code::invalid_argument, "the journal's mode is ", mode,
                         "; it can be one of SPANFFT_JOURNAL_OFF (", SPANFFT_JOURNAL_OFF,
                         ") to SPANFFT_JOURNAL_RESTART (", SPANFFT_JOURNAL_RESTART, ")");
        }
        plan->journal = static_cast<JournalMode>(mode);
        plan->checksums = checksums != 0;
        return Status();
    });
}

int spanfft_unfinished_run(const char* input_path, int64_t input_offset_bytes, const char* output_path, int count,
                           const char* const* folders, char** problem) {
    return report([&]() -> Status {
        if (!input_path || !output_path || !problem)
            return error(Code::invalid_argument, "the input, the output or where the problem shall go is NULL");
        SPANFFT_ASSIGN(const std::vector<std::string> names, folder_names(count, folders));
        std::vector<std::string> scratch;  // of the one process whose runs are looked for
        for (const std::string& name : names) scratch.push_back(scratch_name(name, 0, 0));
        SPANFFT_ASSIGN(const UnfinishedRun run, find_unfinished(input_path, input_offset_bytes, output_path, scratch));
        *problem = strdup(run.problem.c_str());
        return *problem ? Status() : error(Code::out_of_memory, "no memory for the text of a problem");
    });
}

int64_t spanfft_plan_resumed_bytes(const spanfft_plan* plan) {
    return plan && plan->executor ? plan->executor->resumed_bytes() : 0;
}

void spanfft_set_error(const char* sentence) { last_error = sentence ? sentence : ""; }
