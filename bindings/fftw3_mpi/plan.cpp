// See plan.hpp.
#include "plan.hpp"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "report.hpp"
#include "spanfft/spanfft_mpi.h"

namespace fftw3_mpi {
namespace {

// Plans live in it; the mutex lets any number of threads look a plan up at once.
struct Registry {
    std::unordered_map<const void*, std::unique_ptr<Plan>> plans;
    std::shared_mutex mutex;
};

// Never destroyed: at the end of a program it is too late to free plans, which is collective.
Registry& registry() {
    static auto* one = new Registry;
    return *one;
}

// Whether the spectrum's part is what both directions of a scrambled pair rely on; the same on all ranks.
bool every_frequency_mod_ranks(const spanfft_plan* plan, bool backward, int rank, int ranks) {
    spanfft_part part{};
    part.size = sizeof(part);
    const int code = backward ? spanfft_plan_input_part(plan, &part) : spanfft_plan_output_part(plan, &part);
    return code == SPANFFT_OK && part.step[0] == ranks && part.start[0] == rank;
}

// Whether one side of the plan is this box.
bool has_part(int (*part_of)(const spanfft_plan*, spanfft_part*), const spanfft_plan* plan, const spanfft_box& box,
              int ndim) {
    spanfft_part part{};
    part.size = sizeof(part);
    bool same = part_of(plan, &part) == SPANFFT_OK, empty = false;
    for (int i = 0; i < ndim; ++i) {
        empty = empty || box.count[i] == 0;
        same = same && part.count[i] == box.count[i] && part.step[i] == 1;
    }
    for (int i = 0; i < ndim && !empty; ++i) same = same && part.start[i] == box.start[i];
    return same;
}

// Collective: whether all ranks are willing, and share a node.
bool all_on_one_node(bool willing, MPI_Comm comm) {
    int all = willing;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm);
    if (!all) return false;
    MPI_Comm node = MPI_COMM_NULL;
    int node_ranks = 0, ranks = 0;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &node_ranks);
    MPI_Comm_free(&node);
    MPI_Comm_size(comm, &ranks);
    all = node_ranks == ranks;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm);
    return all;
}

}  // namespace

bool Plan::plan(const spanfft_problem& problem, MPI_Comm mpi, std::string& reason) {
    spanfft_comm* comm = nullptr;
    int code = spanfft_comm_from_mpi(mpi, &comm);
    if (code == SPANFFT_OK) code = spanfft_plan_create(&problem, comm, &plan_);
    if (code != SPANFFT_OK) reason = spanfft_last_error();
    spanfft_comm_free(comm);
    return code == SPANFFT_OK;
}

void Plan::give_up() {
    spanfft_plan_free(plan_);
    plan_ = nullptr;
}

// Collective: a plan that divides the arrays by itself, as solvers for shared memory want it, into the client's blocks.
bool Plan::plan_blocks(const spanfft_problem& problem, const Translation& wanted, MPI_Comm mpi) {
    std::string reason;
    if (!plan(problem, mpi, reason)) return false;
    int same = has_part(&spanfft_plan_input_part, plan_, wanted.input.box, problem.ndim) &&
               has_part(&spanfft_plan_output_part, plan_, wanted.output.box, problem.ndim);
    MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, mpi);
    if (!same) give_up();
    return same;
}

// Collective: such a plan whose output is the client's memory, if that can be so on all ranks. Where it can't, the
// spanfft plan's output would be memory of one rank, and the copy out of it one copy more.
bool Plan::plan_in_client(spanfft_problem problem, void* out, const Translation& wanted, MPI_Comm mpi) {
    const std::size_t bytes = wanted.output.bytes();
    auto array = bytes > 0 ? allocation_at(out) : nullptr;
    const bool mine = array && !array->taken.exchange(true);
    problem.own_output = 1;
    if (all_on_one_node(mine || bytes == 0, mpi) && plan_blocks(problem, wanted, mpi)) {
        int adopted = bytes == 0 || array->adopt(spanfft_plan_output_array(plan_), bytes);
        MPI_Allreduce(MPI_IN_PLACE, &adopted, 1, MPI_INT, MPI_MIN, mpi);
        if (adopted) {
            owns_output_ = true;
            shared_out_ = std::move(array);
            report_shared_output();
            return true;
        }
        give_up();
    }
    if (mine) array->taken = false;
    return false;
}

bool Plan::create(const Request& request, void* out, std::string& reason) {
    int rank = 0, ranks = 1;
    MPI_Comm_rank(request.comm, &rank);
    MPI_Comm_size(request.comm, &ranks);
    auto translation = translate(request, rank, ranks, reason);
    if (!translation) return false;
    auto& [problem, input, output] = *translation;
    const bool backward = problem.direction == SPANFFT_BACKWARD;
    const Side &real = backward ? output : input, &spectrum = backward ? input : output;
    // A rank that has nothing to copy, or whose block is usual, must plan as the others do.
    int uneven[4] = {request.in_place, !input.in_c_order, !output.in_c_order, !(real.balanced && spectrum.balanced)};
    MPI_Allreduce(MPI_IN_PLACE, uneven, 4, MPI_INT, MPI_MAX, request.comm);
    copies_in_ = uneven[1] != 0;
    owns_output_ = uneven[2] != 0;
    problem.in_place = uneven[0] && !copies_in_ && !owns_output_;
    problem.own_input = copies_in_;
    problem.own_output = owns_output_;
    problem.threads = request.threads;
    to_spanfft_ = input.to_spanfft();
    to_client_ = output.to_client();

    const bool exchanged = problem.output == SPANFFT_OUTPUT_EXCHANGED;  // of equal blocks, which spanfft knows itself
    if (!exchanged) {
        if (ranks > 1 && !uneven[3] && real.divided == 0 && spectrum.divided <= 1) {
            spanfft_problem blocks = problem;
            blocks.ngrid = blocks.ndim;
            std::fill_n(blocks.grid, blocks.ndim, 1);
            blocks.grid[0] = ranks;
            if (spectrum.divided == 1) blocks.output = SPANFFT_OUTPUT_EXCHANGED;
            const bool may_share = !uneven[0] && !owns_output_;
            if (may_share && plan_in_client(blocks, out, *translation, request.comm)) return true;
            if (plan_blocks(blocks, *translation, request.comm)) return true;
        }
        problem.real_box = &real.box;
        problem.spectrum_box = &spectrum.box;
    }
    if (!plan(problem, request.comm, reason)) return false;
    if (exchanged && !every_frequency_mod_ranks(plan_, backward, rank, ranks)) {
        reason = "the exchanged order is another than expected";
        return false;
    }
    return true;
}

std::unique_ptr<Plan> Plan::make(const Request& request, const void* in, void* out, std::string& reason) {
    std::unique_ptr<Plan> plan(new Plan);
    if (!plan->create(request, out, reason)) return nullptr;
    plan->in_ = in;
    plan->out_ = out;
    return plan;
}

Plan::~Plan() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!finalized) spanfft_plan_free(plan_);
    if (shared_out_) shared_out_->taken = false;
}

// From now on the output is copied to the client, as it may be for another array, of which no other rank needs to know.
void Plan::leave_client() {
    if (!shared_out_->leave()) report_failure("no memory to keep the array for which its plan was made");
    shared_out_->taken = false;
    shared_out_.reset();
}

void Plan::execute(const void* in, void* out) {
    if (shared_out_ && shared_out_->start != out) leave_client();
    void* const source = copies_in_ ? spanfft_plan_input_array(plan_) : const_cast<void*>(in);
    void* const target = owns_output_ ? spanfft_plan_output_array(plan_) : out;
    if (copies_in_) to_spanfft_(in, source);
    if (spanfft_execute(plan_, source, target) != SPANFFT_OK) return report_failure(spanfft_last_error());
    if (owns_output_ && !shared_out_) to_client_(target, out);
}

std::string Plan::explain() const {
    char* text = nullptr;
    std::string words = spanfft_plan_explain(plan_, &text) == SPANFFT_OK ? text : spanfft_last_error();
    spanfft_free(text);
    return words;
}

double Plan::predicted_flops() const {
    spanfft_counts counts{};
    counts.size = sizeof(counts);
    return spanfft_plan_predicted(plan_, -1, -1, &counts) == SPANFFT_OK ? counts.flops : 0;
}

double Plan::predicted_seconds() const {
    spanfft_counts counts{};
    counts.size = sizeof(counts);
    return spanfft_plan_predicted(plan_, -1, -1, &counts) == SPANFFT_OK ? counts.seconds : 0;
}

Plan* find_plan(const void* handle) {
    auto& [plans, mutex] = registry();
    const std::shared_lock lock(mutex);
    const auto found = plans.find(handle);
    return found == plans.end() ? nullptr : found->second.get();
}

PlanPointer register_plan(std::unique_ptr<Plan> plan) {
    auto& [plans, mutex] = registry();
    const std::unique_lock lock(mutex);
    Plan* const handle = plan.get();
    plans.emplace(handle, std::move(plan));
    return handle;
}

std::unique_ptr<Plan> unregister_plan(const void* handle) {
    auto& [plans, mutex] = registry();
    const std::unique_lock lock(mutex);
    auto node = plans.extract(handle);
    return node ? std::move(node.mapped()) : nullptr;
}

}  // namespace fftw3_mpi
