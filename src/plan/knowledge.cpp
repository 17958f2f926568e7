// Reading, sharing and using what is known; see knowledge.hpp.
#include "plan/knowledge.hpp"

#include <mutex>
#include <optional>

#include "plan/kept_wisdom.hpp"
#include "plan/machine_file.hpp"
#include "plan/topology.hpp"

namespace spanfft {

namespace {

constexpr int kImaginedRanksPerNode = 128;  // of a machine that is not there

// What rank 0 tells the others: the record's line (or nothing), then the machine's text (or nothing).
std::string known_here(const TuningKey& key, const Problem& problem) {
    const auto read = read_tuning();
    const TuningStore store = read.ok() ? read.value() : gained_here();
    const Tuned* tuned = store.find(key, problem);
    return (tuned ? tuned->print() : "") + "\n" + stored_machine_text(key.library, key.ranks);
}

// What a text says, and what is built in beside it. Kept, for every planning asks for the same hundreds of lines.
std::optional<Machine> machine_of(const std::string& text) {
    static std::mutex mutex;
    static std::string last_text;
    static std::optional<Machine> last;
    const std::lock_guard lock(mutex);
    if (text == last_text) return last;
    auto machine = parse_machine(text, Machine());
    last_text = text;
    last = machine.ok() ? std::optional(std::move(machine).value()) : std::nullopt;
    return last;
}

// Figures are the probe's; where the ranks are and what they may use is today's.
void take_figures(Machine& here, const std::string& text) {
    auto machine = machine_of(text);
    if (!machine) return;  // none is stored
    machine->cores = here.cores;
    machine->caches = here.caches;
    machine->topology = here.topology;
    machine->shared_windows = here.shared_windows;
    machine->persistent_collectives = here.persistent_collectives;
    here = std::move(*machine);
}

void take_in(Knowledge& knowledge, const std::string& text) {
    const size_t end = text.find('\n');
    knowledge.tuned = Tuned::parse(text.substr(0, end));
    take_figures(knowledge.machine, text.substr(end + 1));
}

// Collective. Every rank's engines learn what rank 0 found; the answer is rank 0's note.
Result<std::string> share_wisdom(Comm& comm) {
    StoredWisdom stored;
    if (comm.rank() == 0) stored = read_wisdom();
    SPANFFT_TRY(broadcast_text(comm, stored.text));
    const std::string refused = learn_wisdom(stored.text);
    if (stored.note.empty()) stored.note = refused;
    SPANFFT_TRY(broadcast_text(comm, stored.note));
    return stored.note;
}

// Whether ranks that wait for one another should leave the cores to others, as some node has fewer of them than ranks,
// or messages are carried by a system that needs cores for it.
bool cores_are_few(const Machine& machine, int ranks) {
    const Topology& nodes = machine.topology;
    return nodes.nodes(ranks) > 1 || nodes.most_ranks_on_a_node(ranks) > machine.cores;
}

}  // namespace

Machine known_machine() {
    Machine machine = this_machine();
    take_figures(machine, stored_machine_text(make_self_comm()->library(), 1));
    return machine;
}

Result<Knowledge> gather_knowledge(Comm& comm, const Problem& problem) {
    Knowledge knowledge;
    knowledge.machine = this_machine();
    if (comm.size() > 1) {
        SPANFFT_TRY(find_topology(comm, knowledge.machine));
        if (problem.memory_bytes > 0 && cores_are_few(knowledge.machine, comm.size())) comm.be_patient();
    }
    knowledge.machine.persistent_collectives = comm.persistent_collectives();
    knowledge.key = {machine_identity(), comm.library(), comm.size(), knowledge.machine.topology.nodes(comm.size())};
    std::string text = comm.rank() == 0 ? known_here(knowledge.key, problem) : "";
    SPANFFT_TRY(broadcast_text(comm, text));
    take_in(knowledge, text);
    if (problem.effort != Effort::estimate) {
        SPANFFT_ASSIGN(knowledge.note, share_wisdom(comm));
    }
    return knowledge;
}

Knowledge imagined_knowledge(const Problem& problem, int ranks_per_node) {
    Knowledge knowledge;
    knowledge.machine = this_machine();
    knowledge.machine.topology.ranks_per_node = ranks_per_node > 0 ? ranks_per_node : kImaginedRanksPerNode;
    knowledge.key = {machine_identity(), "", problem.ranks, knowledge.machine.topology.nodes(problem.ranks)};
    take_in(knowledge, known_here(knowledge.key, problem));
    return knowledge;
}

std::string nodes_note(const Topology& topology, int ranks) {
    const int nodes = topology.nodes(ranks), each = topology.most_ranks_on_a_node(ranks);
    return cat("nodes imagined: ", nodes, nodes == 1 ? " node of " : " nodes of up to ", each,
               " ranks; --ranks-per-node says otherwise");
}

Result<std::unique_ptr<Plan>> plan_knowing(const Knowledge& knowledge, const Problem& problem) {
    const Planner planner(knowledge.machine);
    std::string lost;
    if (knowledge.tuned) {
        const Tuned& tuned = *knowledge.tuned;
        auto plan = planner.plan(tuned.apply(problem));
        if (plan.ok()) {
            plan.value()->notes.insert(plan.value()->notes.begin(),
                                       cat("tuned: ", tuned.choice(), " took ", milliseconds_text(tuned.seconds),
                                           " when it was measured on ", tuned.date));
            plan.value()->notes.push_back(knowledge.machine.figures_note());
            return plan;
        }
        lost = cat("the tuned choice ", tuned.choice(), " can't be used: ", plan.status().message());
    }
    SPANFFT_ASSIGN(auto plan, planner.plan(problem));
    if (!lost.empty()) plan->notes.push_back(lost);
    plan->notes.push_back(knowledge.machine.figures_note());
    return plan;
}

}  // namespace spanfft
