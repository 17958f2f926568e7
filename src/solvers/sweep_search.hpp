// The one search of the solvers that sweep a disk: over groupings of axes and factors, for the sweeps that are
// predicted to take least, and for the smallest memory that does.
//
// Method: a grouping says what each sweep transforms: neighbouring axes (axis_sweeps), a factor of one axis
// (two_sweeps, many_sweeps), or a factor of a convolution (chirp_sweeps). A method lists its groupings, those that it
// prefers first, outlines the sweeps of each, and widens their panels within a budget (disk_sweeps.hpp). Of those that
// fit the search takes the cheapest; where none does it asks the same list, with more memory, for the least that some
// grouping fits. Invariant: a plan exists for a budget if and only if it is at least the one that the refusal names.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "solvers/disk_sweeps.hpp"

namespace spanfft {

// The sweeps of a grouping, and the scratch between them.
struct SweepRoute {
    std::vector<SweepSpec> sweeps;
    index_t scratch_bytes = 0, scratch_of_each_rank_bytes = 0;
    index_t held_scratch_bytes = 0;  // in memory instead, besides all that the sweeps need
    index_t output_extra_bytes = 0;  // behind the output, for what is there in between
    index_t engine_bytes = 0;        // of a part's own engines, if more than the job's
    bool leaves_exchanged = false;
    std::string note;    // that the plan gets
    double seconds = 0;  // for the choice

    index_t own_bytes() const;    // of tiles and tables, which each sweep has for itself
    index_t panel_bytes() const;  // of slots, which they share
    // For panels.
    index_t room(const SweepJob& job) const {
        const index_t engines = std::max<index_t>(0, engine_bytes - job.engine_bytes);
        return job.budget_bytes - engines - own_bytes() - held_scratch_bytes;
    }
    bool fits(const SweepJob& job) const { return panel_bytes() <= room(job); }
    bool goes_by_way_of_output() const;  // between sweeps
};

class SweepSearch {
  public:
    // `any`: the first that fits will do.
    SweepSearch(const SweepJob& job, const Planner& planner, bool any) : job_(job), planner_(planner), any_(any) {}
    const Planner& planner() const { return planner_; }
    const Machine& machine() const { return planner_.machine(); }
    // Sweeps that fit; `route` may be nothing. Returns whether it is something.
    bool offer(std::optional<SweepRoute> route);
    bool any() const { return any_; }
    bool found() const { return best_.has_value(); }
    bool ended() const { return any_ && found(); }
    const std::optional<SweepRoute>& best() const { return best_; }
    void take_if_worth_scratch(const SweepSearch& other);

  private:
    const SweepJob& job_;
    const Planner& planner_;
    bool any_;
    std::optional<SweepRoute> best_;
};

// Why no grouping fits: "WHY in 64 KiB; METHOD needs at least 80 KiB (81920 bytes)REMEDY".
struct SweepRefusal {
    std::string why, remedy;
    Code code = Code::out_of_memory;
};

// How one method takes part in the search, for a job of its own kind.
template <class Job>
struct SweepMethod {
    const char* name;
    // Offers the groupings of a job within its budget, and may stop where the search has ended.
    void (*offer)(const Job& job, SweepSearch& search);
    // Gives the sweeps of the one that was chosen their engine calls and titles; nullptr: all that are offered have
    // them.
    void (*finish)(const Job& job, SweepRoute& route);
    SweepRefusal (*refusal)(const Job& job);
};

// The smallest memory= for which `fits` says yes, to the byte.
index_t smallest_memory(index_t enough_bytes, const std::function<bool(index_t memory_bytes)>& fits);
Status refuse(const SweepJob& job, const char* solver, const SweepRefusal& refusal, index_t needed_bytes);
std::unique_ptr<Plan> plan_of_route(const SweepJob& job, const char* solver, SweepRoute route, const Machine& machine);

// A problem of one axis as part of a plan, in memory that `own_bytes` of the other sweeps leave of the whole's; nothing
// where the solver declines or nothing fits.
std::optional<SweepRoute> two_sweeps_as_part(const Problem& problem, const SweepJob& whole, index_t own_bytes,
                                             const SweepSearch& search);
std::optional<SweepRoute> many_sweeps_as_part(const Problem& problem, const SweepJob& whole, index_t own_bytes,
                                              const SweepSearch& search);
std::optional<SweepRoute> chirp_sweeps_as_part(const Problem& problem, const SweepJob& whole, index_t own_bytes,
                                               const SweepSearch& search);

// The cheapest of two sweeps that hold in memory what one hands to the other (scratch_in_memory.cpp).
Result<std::unique_ptr<Plan>> hold_axis_sweeps(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> hold_two_sweeps(const Problem& problem, const Planner& planner);

// All groupings; and where scratch has disks of its own, and the best grouping has something in the output between
// sweeps, all that have it in scratch: so the disk of input and output moves each byte twice only.
template <class Job>
void offer_all(const Job& job, const SweepMethod<Job>& method, SweepSearch& search) {
    method.offer(job, search);
    if (job.problem.disks == 0 || search.ended()) return;
    if (search.found() && !search.best()->goes_by_way_of_output()) return;
    Job sparing = job;
    sparing.spares_output = true;
    SweepSearch others(sparing, search.planner(), search.any());
    method.offer(sparing, others);
    search.take_if_worth_scratch(others);
}

// The best grouping of a method for part of a plan (two_sweeps_as_part), by the search of the whole.
template <class Job>
std::optional<SweepRoute> part_of_plan(const Result<Job>& examined, const SweepMethod<Job>& method,
                                       const SweepJob& whole, index_t own_bytes, const SweepSearch& search) {
    if (!examined.ok()) return std::nullopt;
    Job job = examined.value();
    SweepRoute route;
    route.engine_bytes = job.engine_bytes;
    job.budget_bytes = route.room(whole) - own_bytes;
    SweepSearch part(job, search.planner(), search.any());
    method.offer(job, part);
    if (!part.found()) return std::nullopt;
    route = *part.best();
    route.engine_bytes = job.engine_bytes;
    if (method.finish) method.finish(job, route);
    return route;
}

template <class Job>
Result<std::unique_ptr<Plan>> plan_sweeps(Job job, const Planner& planner, const SweepMethod<Job>& method) {
    SweepSearch search(job, planner, job.searches);
    offer_all(job, method, search);
    if (!search.found()) {
        if (job.searches || job.holds_scratch) return too_little_memory();
        const SweepRefusal refusal = method.refusal(job);
        job.searches = true;
        const index_t needed = smallest_memory(job.problem.memory_bytes, [&](index_t bytes) {
            job.set_memory(bytes);
            SweepSearch any(job, planner, true);
            offer_all(job, method, any);
            return any.found();
        });
        return refuse(job, method.name, refusal, needed);
    }
    SweepRoute route = *search.best();
    if (method.finish) method.finish(job, route);
    return plan_of_route(job, method.name, std::move(route), planner.machine());
}

}  // namespace spanfft
