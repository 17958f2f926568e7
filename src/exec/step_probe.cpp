// Plans of many sizes beside their predictions; see step_probe.hpp.
#include "exec/step_probe.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "core/buffer.hpp"
#include "core/median.hpp"
#include "exec/executor.hpp"
#include "plan/planner.hpp"

namespace spanfft {

namespace {

using Clock = std::chrono::steady_clock;

// Of a rank's part of an array.
constexpr index_t kSizes[] = {2 << 10, 8 << 10, 32 << 10, 128 << 10, 512 << 10, 2 << 20, 8 << 20, 32 << 20};
constexpr double kSampleSeconds = 2e-3;
constexpr size_t kFewestSamples = 3;  // one alone may come of a slow second
constexpr int kMostRounds = 15;       // through all plans, as a machine that others use is slow for seconds at a time
constexpr int kMostRuns = 200;        // a sample

struct Kind {
    const char* name;
    int elem_bytes;  // of the input
    double axes_of;  // the edges of its boxes are to one another as this to 1, and an axis of one is this much shorter
};
constexpr Kind kKinds[] = {
    {"c2c double", 16, 1.0}, {"c2c float", 8, 0.7}, {"r2c double", 8, 0.85}, {"r2c float", 4, 0.6}};

// The nearest even product of 2, 3, 5 and 7 that is not above.
index_t smooth_length(double most) {
    auto n = std::max<index_t>(2, static_cast<index_t>(most) / 2 * 2);
    while (n > 2 && largest_prime_factor(n) > 7) n -= 2;
    return n;
}

std::string shape_of(double points, int axes, double edge) {
    if (axes == 1) return std::to_string(smooth_length(points * edge));
    std::string text;
    for (int axis = 0; axis < axes; ++axis) {
        const double even = std::pow(points, 1.0 / axes);
        const index_t n = smooth_length(axis == 0 ? even * edge : axis == 1 ? even / edge : even);
        text += cat(axis > 0 ? "x" : "", n);
    }
    return text;
}

struct Timed {
    std::string sort;
    double predicted = 0, measured = 0;
};

// The steps of one plan: the mean of the ranks, each of which waits in one step for what another did before.
class StepTimes {
  public:
    StepTimes(Comm& comm, const Machine& machine) : comm_(comm), machine_(machine) {}

    // Collective; nothing where there is no such plan, or no memory for it.
    Result<std::vector<Timed>> of(const std::string& text) {
        if (!agree(comm_, plan(text)).ok()) return std::vector<Timed>();
        if (!agree(comm_, bind()).ok()) return std::vector<Timed>();
        std::vector<Timed> times;
        SPANFFT_TRY(run(1).status());
        SPANFFT_ASSIGN(std::vector<double> seconds, run(1));
        const double once = std::accumulate(seconds.begin(), seconds.end(), 0.0);
        auto runs = static_cast<int>(std::clamp(kSampleSeconds / std::max(once, 1e-9), 1.0, double{kMostRuns}));
        SPANFFT_TRY(comm_.broadcast(&runs, sizeof runs, 0));
        SPANFFT_ASSIGN(seconds, run(runs));
        for (size_t i = 0; i < seconds.size(); ++i) {
            const Step& step = *executor_->plan().steps[i];
            SPANFFT_ASSIGN(const double measured, mean(seconds[i]));
            SPANFFT_ASSIGN(const double predicted, mean(step.predict(comm_.rank()).seconds / step.slowness()));
            times.push_back({step.sort(), predicted, measured});
        }
        return times;
    }

  private:
    Status plan(const std::string& text) {
        SPANFFT_ASSIGN(const Problem problem, Problem::parse(text));
        SPANFFT_ASSIGN(planned_, Planner(machine_).plan(problem));
        const auto in_bytes = static_cast<size_t>(planned_->input.local_bytes(comm_.rank())),
                   out_bytes = static_cast<size_t>(planned_->output.local_bytes(comm_.rank()));
        SPANFFT_ASSIGN(in_, Buffer::allocate(in_bytes));
        SPANFFT_ASSIGN(out_, Buffer::allocate(out_bytes));
        std::memset(in_.data(), 0, in_bytes);
        std::memset(out_.data(), 0, out_bytes);
        return {};
    }

    // Collective: only where all ranks have a plan, and memory for its arrays.
    Status bind() {
        SPANFFT_ASSIGN(auto copy, comm_.duplicate());
        SPANFFT_ASSIGN(executor_, Executor::make(std::move(planned_), std::move(copy)));
        return {};
    }

    // Seconds of each step, the mean of so many runs.
    Result<std::vector<double>> run(int runs) {
        std::vector<double> seconds(executor_->plan().steps.size());
        SPANFFT_TRY(comm_.barrier());
        for (int i = 0; i < runs; ++i) {
            SPANFFT_TRY(executor_->execute(in_.data(), out_.data()));
            for (size_t step = 0; step < seconds.size(); ++step)
                seconds[step] += (*executor_->counted())[step].seconds / runs;
        }
        return seconds;
    }

    Result<double> mean(double mine) {
        std::vector<double> all(static_cast<size_t>(comm_.size()));
        SPANFFT_TRY(comm_.allgather(&mine, sizeof mine, all.data()));
        double sum = 0;
        for (const double each : all) sum += each;
        return sum / static_cast<double>(all.size());
    }

    Comm& comm_;
    const Machine& machine_;
    std::unique_ptr<Plan> planned_;
    Buffer in_, out_;
    std::unique_ptr<Executor> executor_;
};

struct PlanOfRound {
    std::string problem;
    index_t bytes = 0;  // of a rank's part
};

// The plans of a round. Each size comes again and again until the round ends: two processors of a virtual machine are
// near to one another or far apart for seconds at a time, and the same plan of two ranks takes 16 us or 32.
std::vector<PlanOfRound> plans_of_a_round(int ranks) {
    std::vector<PlanOfRound> plans;
    int box_axes = 2;
    for (const Kind& kind : kKinds) {
        box_axes = 5 - box_axes;
        const std::string_view name = kind.name;
        for (const int axes : {1, box_axes}) {
            for (const index_t bytes : kSizes) {
                const auto points = static_cast<double>(bytes * ranks / kind.elem_bytes);
                plans.push_back({cat(name.substr(0, 3), " ", shape_of(points, axes, kind.axes_of), " forward",
                                     name.substr(3), " ranks=", ranks),
                                 bytes});
            }
        }
    }
    return plans;
}

// Measured beside predicted, by sort of step and bytes of a rank's part; of one step of one plan, in all rounds.
using StepOfPlan = std::pair<size_t, size_t>;
using Ratios = std::map<std::pair<std::string, index_t>, std::map<StepOfPlan, std::vector<double>>>;

// Of a step the lower quartile of its rounds, as whoever else uses the machine only makes it slower; of a sort the
// median of its steps.
Slowness slowness_of(const Ratios& ratios) {
    Slowness found;
    for (const auto& [of, steps] : ratios) {
        size_t samples = 0;
        std::vector<double> typical;
        for (const auto& [step, rounds] : steps) {
            samples += rounds.size();
            typical.push_back(lower_quartile(rounds));
        }
        if (samples < kFewestSamples) continue;
        found[of.first].push_back({static_cast<double>(of.second), median(std::move(typical))});
    }
    return found;
}

}  // namespace

Result<Slowness> probe_steps(Comm& comm, Machine machine, const std::function<Result<bool>()>& time_is_left) {
    machine.step_slowness.clear();
    Ratios ratios;
    const std::vector<PlanOfRound> plans = plans_of_a_round(comm.size());
    // From the second round on with the plans that are chosen when the first ones' steps are known.
    for (int round = 0; round < kMostRounds; ++round) {
        for (size_t w = 0; w < plans.size(); ++w) {
            SPANFFT_ASSIGN(const bool left, time_is_left());
            if (!left) return slowness_of(ratios);
            SPANFFT_ASSIGN(const std::vector<Timed> times, StepTimes(comm, machine).of(plans[w].problem));
            for (size_t i = 0; i < times.size(); ++i) {
                const Timed& step = times[i];
                if (!(step.predicted > 0) || !(step.measured > 0)) continue;
                for (const std::string& sort : {step.sort, std::string("any")})
                    ratios[{sort, plans[w].bytes}][{w, i}].push_back(step.measured / step.predicted);
            }
        }
        machine.step_slowness = slowness_of(ratios);
    }
    return machine.step_slowness;
}

}  // namespace spanfft
