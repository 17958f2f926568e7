// See plan.hpp.
#include "plan.hpp"

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

}  // namespace

bool Plan::create(const Request& request, std::string& reason) {
    int rank = 0, ranks = 1;
    MPI_Comm_rank(request.comm, &rank);
    MPI_Comm_size(request.comm, &ranks);
    auto translation = translate(request, rank, ranks, reason);
    if (!translation) return false;
    auto& [problem, input, output] = *translation;
    // A rank that has nothing to copy must plan as the others do.
    int uneven[3] = {request.in_place, !input.in_c_order, !output.in_c_order};
    MPI_Allreduce(MPI_IN_PLACE, uneven, 3, MPI_INT, MPI_MAX, request.comm);
    copies_in_ = uneven[1] != 0;
    copies_out_ = uneven[2] != 0;
    problem.in_place = uneven[0] && !copies_in_ && !copies_out_;
    problem.own_input = copies_in_;
    problem.own_output = copies_out_;
    problem.threads = request.threads;
    const bool backward = problem.direction == SPANFFT_BACKWARD;
    const bool exchanged = problem.output == SPANFFT_OUTPUT_EXCHANGED;  // of equal blocks, which spanfft knows itself
    if (!exchanged) {
        problem.real_box = backward ? &output.box : &input.box;
        problem.spectrum_box = backward ? &input.box : &output.box;
    }

    spanfft_comm* comm = nullptr;
    int code = spanfft_comm_from_mpi(request.comm, &comm);
    if (code == SPANFFT_OK) code = spanfft_plan_create(&problem, comm, &plan_);
    if (code != SPANFFT_OK) reason = spanfft_last_error();
    spanfft_comm_free(comm);
    if (code != SPANFFT_OK) return false;
    if (exchanged && !every_frequency_mod_ranks(plan_, backward, rank, ranks)) {
        reason = "the exchanged order is another than expected";
        return false;
    }
    to_spanfft_ = input.to_spanfft();
    to_client_ = output.to_client();
    return true;
}

std::unique_ptr<Plan> Plan::make(const Request& request, const void* in, void* out, std::string& reason) {
    std::unique_ptr<Plan> plan(new Plan);
    if (!plan->create(request, reason)) return nullptr;
    plan->in_ = in;
    plan->out_ = out;
    return plan;
}

Plan::~Plan() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!finalized) spanfft_plan_free(plan_);
}

void Plan::execute(const void* in, void* out) const {
    void* const source = copies_in_ ? spanfft_plan_input_array(plan_) : const_cast<void*>(in);
    void* const target = copies_out_ ? spanfft_plan_output_array(plan_) : out;
    if (copies_in_) to_spanfft_(in, source);
    if (spanfft_execute(plan_, source, target) != SPANFFT_OK) return report_failure(spanfft_last_error());
    if (copies_out_) to_client_(target, out);
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
