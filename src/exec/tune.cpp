// Timing candidates; see tune.hpp.
#include "exec/tune.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/median.hpp"
#include "engine/engine.hpp"
#include "plan/user_files.hpp"

namespace spanfft {

namespace {

constexpr int kMostRuns = 7;            // of a candidate, besides the first
constexpr size_t kMostCandidates = 24;  // of grids and strategies
constexpr double kHopeless = 4;         // candidates that are predicted to take this many times the best are not timed

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Candidate {
    std::string name;
    Problem problem;
};

class Tuner {
  public:
    Tuner(const Problem& problem, const Knowledge& knowledge, Comm& comm)
        : problem_(problem), knowledge_(knowledge), comm_(comm), start_(Clock::now()) {
        cap_seconds_ = problem.measure_seconds > 0 ? problem.measure_seconds : kDefaultMeasureSeconds;
        open_ = problem;
        open_.effort = Effort::estimate;
        open_.measure_seconds = 0;
    }

    Result<Tuning> run() {
        auto planned = plan_knowing({knowledge_.machine, knowledge_.key, std::nullopt, ""}, open_);
        SPANFFT_TRY(agree(comm_, planned.status()));
        const std::unique_ptr<Plan> estimated = std::move(planned).value();
        for (const Candidate& candidate : candidates(*estimated)) SPANFFT_TRY(try_one(candidate, 0.75));
        if (!best_) return nothing_worked();
        // Rank 0's: a rank with nothing to transform runs no engine, and engines may be installed on some nodes only.
        std::string ran = best_->engines(), names = engine_names();
        SPANFFT_TRY(broadcast_text(comm_, ran));
        SPANFFT_TRY(broadcast_text(comm_, names));
        for (const Candidate& candidate : variants(best_->plan().problem, ran, names))
            SPANFFT_TRY(try_one(candidate, 1.0));
        return finish();
    }

  private:
    // Grids and strategies, in the order in which they are worth a trial.
    std::vector<Candidate> candidates(const Plan& estimated) const {
        std::vector<Candidate> list;
        if (estimated.alternatives.size() == 1) return {{"the estimated plan", open_}};
        std::vector<const Alternative*> first, rest;
        std::vector<std::string> strategies;
        for (const Alternative& a : estimated.alternatives) {
            const std::string strategy = a.exchange.substr(0, a.exchange.find(':'));
            const bool seen = std::find(strategies.begin(), strategies.end(), strategy) != strategies.end();
            if (seen && a.seconds > kHopeless * estimated.alternatives[0].seconds) continue;
            if (!seen) strategies.push_back(strategy);
            (seen ? rest : first).push_back(&a);
        }
        first.insert(first.end(), rest.begin(), rest.end());
        for (const Alternative* a : first) {
            Problem problem = a->apply(open_);
            const bool twice =
                std::any_of(list.begin(), list.end(), [&](const Candidate& c) { return c.problem == problem; });
            if (!twice && list.size() < kMostCandidates) list.push_back({a->name_beside(*a), std::move(problem)});
        }
        return list;
    }

    // Of the best so far: the engine's own measured plans, other engines, and one thread where it has several.
    std::vector<Candidate> variants(const Problem& best, const std::string& ran, const std::string& names) const {
        std::vector<Candidate> list;
        Problem base = best;
        base.measure_seconds = 0;
        base.effort = Effort::measure;  // the engines may look for their best plans too
        list.push_back({"engine plans measured", base});
        if (problem_.engine.empty()) {
            TextReader words(names);
            for (std::string name; std::getline(words >> std::ws, name, ',');) {
                if (name == ran) continue;
                list.push_back({"engine " + name, base});
                list.back().problem.engine = name;
            }
        }
        if (problem_.threads == 0 && base.threads > 1) {
            list.push_back({"one thread", base});
            list.back().problem.threads = 1;
        }
        return list;
    }

    // Collective. Whether rank 0 has time left, within `share` of the cap.
    Result<bool> time_is_left(double share) {
        int left = since(start_) < share * cap_seconds_;
        SPANFFT_TRY(comm_.broadcast(&left, sizeof left, 0));
        return left != 0;
    }

    // One execution: seconds of the slowest rank, on all ranks.
    Result<double> time_once(Executor& executor, const void* in, void* out) {
        SPANFFT_TRY(comm_.barrier());
        const auto start = Clock::now();
        SPANFFT_TRY(agree(comm_, executor.execute(in, out)));
        const double mine = since(start);
        std::vector<double> all(static_cast<size_t>(comm_.size()));
        SPANFFT_TRY(comm_.allgather(&mine, sizeof mine, all.data()));
        return *std::max_element(all.begin(), all.end());
    }

    // Arrays as the user would pass them, touched.
    Status make_arrays(const Plan& plan, Buffer& in, Buffer& out) {
        const index_t in_bytes = plan.input.local_bytes(comm_.rank()),
                      out_bytes = plan.output.local_bytes(comm_.rank());
        const bool in_place = plan.problem.in_place;
        if (!plan.problem.own_input) {
            const index_t bytes = in_place ? std::max(in_bytes, out_bytes) : in_bytes;
            SPANFFT_ASSIGN(in, Buffer::allocate(static_cast<size_t>(bytes)));
            if (in.data()) std::memset(in.data(), 0, static_cast<size_t>(in_bytes));
        }
        if (in_place || plan.problem.own_output) return Status();
        SPANFFT_ASSIGN(out, Buffer::allocate(static_cast<size_t>(out_bytes)));
        if (out.data()) std::memset(out.data(), 0, static_cast<size_t>(out_bytes));
        return Status();
    }

    // The median seconds of a bound candidate, and how many runs it is of.
    Status time(Executor& executor, double share, Trial& trial) {
        Buffer in, out;
        SPANFFT_TRY(agree(comm_, make_arrays(executor.plan(), in, out)));
        const Problem& problem = executor.plan().problem;
        const void* const source = problem.own_input ? executor.own_input() : in.data();
        void* const target = problem.in_place ? in.data() : problem.own_output ? executor.own_output() : out.data();
        SPANFFT_ASSIGN(const double first, time_once(executor, source, target));
        std::vector<double> seconds;
        for (int run = 0; run < kMostRuns; ++run) {
            SPANFFT_ASSIGN(const bool left, time_is_left(share));
            if (!left && (run > 0 || !trials_.empty())) break;
            SPANFFT_ASSIGN(const double once, time_once(executor, source, target));
            seconds.push_back(once);
            if (best_ && once > 2 * best_seconds_) break;
        }
        if (seconds.empty()) seconds.push_back(first);  // no time was left for a second run
        trial.seconds = median(seconds);
        trial.runs = static_cast<int>(seconds.size());
        return Status();
    }

    // Fails only where ranks can't go on together; a candidate's own failure drops it.
    Status try_one(const Candidate& candidate, double share) {
        SPANFFT_ASSIGN(const bool left, time_is_left(share));
        if (!left && best_) {
            ++skipped_;
            return Status();
        }
        Trial trial{candidate.name, 0, 0, ""};
        auto planned = Planner(knowledge_.machine).plan(candidate.problem);
        Status status = agree(comm_, planned.status());
        std::unique_ptr<Executor> executor;
        std::shared_ptr<Plan> plan;
        if (status.ok()) {
            plan = std::move(planned).value();
            plan->problem.effort = problem_.effort;
            plan->problem.measure_seconds = problem_.measure_seconds;
            SPANFFT_ASSIGN(auto copy, comm_.duplicate());
            auto made = Executor::make(plan, std::move(copy));
            status = made.status();
            if (status.ok()) executor = std::move(made).value();
        }
        if (status.ok()) status = time(*executor, share, trial);
        if (!status.ok()) {
            trial.dropped = status.message();
            if (first_failure_.ok()) first_failure_ = status;
        } else if (!best_ || trial.seconds < best_seconds_) {
            best_ = std::move(executor);
            best_plan_ = plan;
            best_seconds_ = trial.seconds;
            best_name_ = trial.name;
            best_forced_ = candidate.problem;
        }
        trials_.push_back(trial);
        return Status();
    }

    Status nothing_worked() const {
        return first_failure_.ok() ? error(Code::internal, "nothing was there to measure") : first_failure_;
    }

    Tuning finish() {
        Tuning result;
        for (const Trial& trial : trials_) best_plan_->notes.push_back(sentence(trial));
        if (skipped_ > 0) {
            best_plan_->notes.push_back(cat(skipped_, " more candidates were not measured within ", cap_seconds_,
                                            " s; measure_seconds= sets the cap"));
        }
        result.record.key = knowledge_.key;
        result.record.problem = tuning_twin(problem_).print();
        result.record.grid = best_plan_->problem.grid;
        result.record.exchange = best_plan_->problem.exchange;
        result.record.engine = best_forced_.engine;
        result.record.threads = best_plan_->problem.threads;
        result.record.seconds = best_seconds_;
        result.record.date = utc_now();
        result.trials = std::move(trials_);
        result.plan = std::move(best_plan_);
        result.executor = std::move(best_);
        return result;
    }

    std::string sentence(const Trial& trial) const {
        if (!trial.dropped.empty()) return cat("dropped: ", trial.name, ": ", trial.dropped);
        return cat(trial.name == best_name_ ? "measured, chosen: " : "measured, not chosen: ", trial.name, ": ",
                   milliseconds_text(trial.seconds), " (median of ", trial.runs, ")");
    }

    const Problem& problem_;
    const Knowledge& knowledge_;
    Comm& comm_;
    Clock::time_point start_;
    double cap_seconds_;
    Problem open_;  // the problem without the wish to be measured

    std::vector<Trial> trials_;
    int skipped_ = 0;
    Status first_failure_;
    std::unique_ptr<Executor> best_;
    std::shared_ptr<Plan> best_plan_;
    Problem best_forced_;
    std::string best_name_;
    double best_seconds_ = 0;
};

}  // namespace

Result<Tuning> tune(const Problem& problem, const Knowledge& knowledge, Comm& comm) {
    return Tuner(problem, knowledge, comm).run();
}

}  // namespace spanfft
