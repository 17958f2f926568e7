// Measuring this machine; see probe.hpp.
#include "exec/probe.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <span>

#include "core/median.hpp"
#include "core/threads.hpp"
#include "exchange/exchange.hpp"
#include "exec/disk_probe.hpp"
#include "exec/engine_probe.hpp"
#include "exec/executor.hpp"
#include "exec/handover_probe.hpp"
#include "exec/run_stores.hpp"
#include "exec/step_probe.hpp"
#include "exec/tile_probe.hpp"
#include "lower/lower.hpp"
#include "plan/machine_file.hpp"
#include "plan/planner.hpp"
#include "plan/topology.hpp"
#include "plan/user_files.hpp"
#include "plan/wire_fit.hpp"
#include "solvers/pencil.hpp"

namespace spanfft {

namespace {

constexpr index_t kMostLocalBytes = index_t{128} << 20;  // of an array in an exchange's measurement
constexpr int kMostRuns = 40;
constexpr int kMostCallsASample = 500;
constexpr int kCallTurns = 21;
constexpr double kCallSampleSeconds = 2e-3;
constexpr double kEnginesShare = 0.4;  // of the time, where exchanges are measured too
constexpr double kEnginesShareAlone = 0.8;
constexpr double kExchangesShare = 0.3;    // the rest is for steps
constexpr double kLeastShareOfCopy = 0.1;  // a byte on the way is never cheaper than this share of a copied one

using Way = WireFigures ExchangeFigures::*;  // near or far
constexpr double Machine::* kDiskFigures[] = {&Machine::disk_read_bytes_per_second,
                                              &Machine::disk_write_bytes_per_second,
                                              &Machine::disk_rewrite_bytes_per_second,
                                              &Machine::disk_read_alone_bytes_per_second,
                                              &Machine::disk_write_alone_bytes_per_second,
                                              &Machine::disk_request_seconds,
                                              &Machine::disk_write_request_seconds,
                                              &Machine::disk_alone_seconds,
                                              &Machine::disk_cached_seconds,
                                              &Machine::disk_cached_seconds_per_byte,
                                              &Machine::page_cache_bytes,
                                              &Machine::disk_short_read_seconds,
                                              &Machine::disk_short_write_seconds,
                                              &Machine::disk_unaligned_write_seconds_per_byte,
                                              &Machine::disk_compute_share,
                                              &Machine::disk_start_seconds,
                                              &Machine::memory_touch_seconds_per_byte};
constexpr double Machine::* kScratchFigures[] = {&Machine::scratch_read_bytes_per_second,
                                                 &Machine::scratch_write_bytes_per_second};
using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Seconds of a copy.
double median_of_five(const std::function<void()>& copy) {
    std::vector<double> seconds;
    for (int run = 0; run < 5; ++run) {
        const auto start = Clock::now();
        copy();
        seconds.push_back(since(start));
    }
    return median(std::move(seconds));
}

class Probe {
  public:
    Probe(Comm& comm, const ProbeOptions& options) : comm_(comm), options_(options) {}

    Result<Machine> run() {
        machine_ = this_machine();
        SPANFFT_TRY(find_topology(comm_, machine_));
        machine_.name = machine_identity();
        machine_.library = comm_.library();
        machine_.measured_ranks = comm_.size();
        SPANFFT_TRY(measure_memory());
        SPANFFT_TRY(measure_tiles());
        SPANFFT_TRY(measure_call());
        SPANFFT_ASSIGN(machine_.handover_seconds, probe_handover(comm_));
        // What comes next shares the cap. On a busy machine memory took all of a cap of a second, and engines had none.
        start_ = Clock::now();
        if (!options_.quick) SPANFFT_TRY(measure_engines());
        if (comm_.size() > 1) SPANFFT_TRY(measure_exchanges());
        if (!options_.quick && comm_.size() > 1) SPANFFT_TRY(measure_steps());
        SPANFFT_TRY(measure_disk());
        SPANFFT_TRY(measure_scratch());
        machine_.measured = utc_now();
        // Rank 0's clock is as good as any other, but it must be one.
        machine_.measured.resize(20);
        SPANFFT_TRY(comm_.broadcast(machine_.measured.data(), 20, 0));
        SPANFFT_TRY(broadcast_text(comm_, machine_.name));
        return machine_;
    }

  private:
    Result<double> slowest(double mine) {
        std::vector<double> all(static_cast<size_t>(comm_.size()));
        SPANFFT_TRY(comm_.allgather(&mine, sizeof mine, all.data()));
        return *std::max_element(all.begin(), all.end());
    }

    Result<bool> time_is_left(double until_seconds) {
        int left = since(start_) < until_seconds;
        SPANFFT_TRY(comm_.broadcast(&left, sizeof left, 0));
        return left != 0;
    }

    // --- memory ---------------------------------------------------------------------------------------------------

    Status measure_memory() {
        const size_t bytes = size_t{options_.quick ? 16u : 64u} << 20;
        Buffer from, to;
        const auto allocate = [&]() -> Status {
            SPANFFT_ASSIGN(from, Buffer::allocate(bytes));
            SPANFFT_ASSIGN(to, Buffer::allocate(bytes));
            std::memset(from.data(), 1, bytes);
            std::memset(to.data(), 2, bytes);
            return Status();
        };
        SPANFFT_TRY(agree(comm_, allocate()));
        const auto copy_seconds = [&] { return median_of_five([&] { std::memcpy(to.data(), from.data(), bytes); }); };
        // First rank 0 while the others wait, then all together.
        double alone = comm_.rank() == 0 ? copy_seconds() : 0;
        SPANFFT_TRY(comm_.broadcast(&alone, sizeof alone, 0));
        SPANFFT_TRY(comm_.barrier());
        SPANFFT_ASSIGN(const double together, slowest(copy_seconds()));
        machine_.memory_bytes_per_second = static_cast<double>(bytes) / alone;
        machine_.shared_memory_bytes_per_second = static_cast<double>(bytes) / together;
        // Then rank 0 on all cores.
        double by_all = comm_.rank() == 0 ? shared_copy_seconds(from, to) : 0;
        SPANFFT_TRY(comm_.broadcast(&by_all, sizeof by_all, 0));
        machine_.all_threads_bytes_per_second = static_cast<double>(bytes) / by_all;
        return Status();
    }

    // Of one array to the other, of which each thread copies its part.
    double shared_copy_seconds(const Buffer& from, const Buffer& to) const {
        ThreadTeam team(machine_.cores);
        const size_t each = from.bytes() / static_cast<size_t>(team.size());
        return median_of_five([&] {
            team.run([&](int thread) {
                const size_t at = static_cast<size_t>(thread) * each;
                std::memcpy(to.as<char>() + at, from.as<char>() + at, each);
            });
        });
    }

    // Of sweeps, by all ranks at once.
    Status measure_tiles() {
        const auto mine = probe_tiles(options_.quick);
        SPANFFT_TRY(agree(comm_, mine.status()));
        SPANFFT_ASSIGN(const double byte, slowest(1 / mine.value().bytes_per_second));
        machine_.tile_bytes_per_second = 1 / byte;
        SPANFFT_ASSIGN(machine_.twiddle_seconds, slowest(mine.value().seconds_per_factor));
        return Status();
    }

    // Two points a rank are next to nothing to do and to exchange. What is left is the call, and the agreement of all
    // ranks that each execution begins with. By turns with the same and a step that reads what the other ranks have,
    // where their memory can be read: one after the other, a slow moment of the machine had made the call take longer
    // than both, and such a step nothing.
    Status measure_call() {
        SPANFFT_ASSIGN(const auto call, small_plan("x2 axes=1"));
        const auto found = comm_.size() > 1 ? small_plan(cat("x", comm_.size(), " exchange=shared"))
                                            : Result<std::unique_ptr<SmallPlan>>(nullptr);
        SmallPlan* shared = found.ok() && found.value() && found.value()->shared_steps > 0 ? &*found.value() : nullptr;
        std::vector<double> alone, more;
        for (int turn = 0; turn < kCallTurns; ++turn) {
            SPANFFT_ASSIGN(const double seconds, sample(*call));
            alone.push_back(seconds);
            if (!shared) continue;
            SPANFFT_ASSIGN(const double both, sample(*shared));
            more.push_back((both - seconds) / shared->shared_steps);
        }
        machine_.call_seconds = median(std::move(alone));
        if (shared) machine_.shared_step_seconds = std::max(0.0, median(std::move(more)));
        return Status();
    }

    struct SmallPlan {
        std::unique_ptr<Executor> executor;
        std::vector<std::complex<double>> in, out;
        int shared_steps = 0, runs = 1;  // runs: a sample
    };

    // A c2c plan of all ranks with next to nothing to do: an array of as many rows. The same everywhere, errors too.
    Result<std::unique_ptr<SmallPlan>> small_plan(const std::string& rest) {
        auto small = std::make_unique<SmallPlan>();
        const auto make = [&]() -> Status {
            const std::string text = cat("c2c ", comm_.size(), rest, " threads=1 ranks=", comm_.size());
            SPANFFT_ASSIGN(const Problem problem, Problem::parse(text));
            SPANFFT_ASSIGN(auto planned, Planner(machine_).plan(problem));
            for (const auto& step : planned->steps) small->shared_steps += step->shared_slots().empty() ? 0 : 1;
            SPANFFT_ASSIGN(auto copy, comm_.duplicate());
            SPANFFT_ASSIGN(small->executor, Executor::make(std::move(planned), std::move(copy)));
            small->in.resize(2 * static_cast<size_t>(comm_.size()));
            small->out.resize(small->in.size());
            return {};
        };
        SPANFFT_TRY(agree(comm_, make()));
        small->runs = kMostCallsASample / 50;
        SPANFFT_TRY(sample(*small).status());  // warms up
        SPANFFT_ASSIGN(const double once, sample(*small));
        small->runs = static_cast<int>(std::clamp(kCallSampleSeconds / once, 1.0, double{kMostCallsASample}));
        return small;
    }

    // Seconds of a run, of the slowest rank.
    Result<double> sample(SmallPlan& small) {
        const auto runs = [&]() -> Status {
            for (int run = 0; run < small.runs; ++run)
                SPANFFT_TRY(small.executor->execute(small.in.data(), small.out.data()));
            return {};
        };
        SPANFFT_TRY(comm_.barrier());
        const auto start = Clock::now();
        const Status status = runs();
        const double seconds = since(start) / small.runs;
        SPANFFT_TRY(agree(comm_, status));
        return slowest(seconds);
    }

    // By rank 0, for all.
    Status measure_disk() {
        if (options_.disk_folder.empty()) return keep(kDiskFigures);
        SPANFFT_TRY(
            agree(comm_, comm_.rank() == 0 ? probe_disk(options_.disk_folder, options_.quick, machine_) : Status()));
        return share(kDiskFigures);
    }

    // What an earlier probe measured is kept where this one is not asked to.
    Status keep(std::span<double Machine::* const> figures) {
        if (comm_.rank() == 0) {
            const auto known = parse_machine(stored_machine_text(comm_.library(), comm_.size()), machine_);
            for (const auto figure : figures)
                if (known.ok()) machine_.*figure = known.value().*figure;
        }
        return share(figures);
    }

    // Rank 0's, on all.
    Status share(std::span<double Machine::* const> figures) {
        for (const auto figure : figures) SPANFFT_TRY(comm_.broadcast(&(machine_.*figure), sizeof(double), 0));
        return {};
    }

    // By all ranks at once, each on its own disks. The slowest rank's figures count, for whom the others wait.
    Status measure_scratch() {
        int32_t mine = options_.scratch_folders.empty() ? 0 : 1;
        std::vector<int32_t> have(static_cast<size_t>(comm_.size()));
        SPANFFT_TRY(comm_.allgather(&mine, sizeof mine, have.data()));
        if (std::find(have.begin(), have.end(), 1) == have.end()) return keep(kScratchFigures);
        if (const auto none = std::find(have.begin(), have.end(), 0); none != have.end())
            return error(Code::invalid_argument, "rank ", none - have.begin(),
                         " names no scratch folder to measure, and others do; name one on every rank ({rank} and "
                         "{node} in a name are their numbers)");
        std::vector<std::string> folders = options_.scratch_folders;
        for (std::string& folder : folders)
            folder = scratch_name(std::move(folder), comm_.rank(), machine_.topology.node_of(comm_.rank()));
        auto files = ScratchProbe::make(folders, options_.quick);
        SPANFFT_TRY(agree(comm_, files.status()));
        const auto rate = [&](Result<double> (ScratchProbe::*way)(), double Machine::* figure) -> Status {
            SPANFFT_TRY(comm_.barrier());
            const Result<double> byte = ((*files.value()).*way)();
            SPANFFT_TRY(agree(comm_, byte.status()));
            SPANFFT_ASSIGN(const double longest, slowest(byte.value()));
            machine_.*figure = 1 / longest;
            return {};
        };
        SPANFFT_TRY(rate(&ScratchProbe::write, &Machine::scratch_write_bytes_per_second));
        return rate(&ScratchProbe::read, &Machine::scratch_read_bytes_per_second);
    }

    Status measure_engines() {
        const double share = comm_.size() > 1 ? kEnginesShare : kEnginesShareAlone;
        const auto left = [&] { return time_is_left(share * options_.cap_seconds); };
        const int threads = std::min(2, machine_.threads_for(comm_.size()));
        SPANFFT_ASSIGN(machine_.engine_rates, probe_engines(comm_, machine_.caches_of(comm_.size()), threads, left));
        return Status();
    }

    // Of one process steps are what the engines were measured at.
    Status measure_steps() {
        const auto left = [&] { return time_is_left(options_.cap_seconds); };
        SPANFFT_ASSIGN(machine_.step_slowness, probe_steps(comm_, machine_, left));
        return Status();
    }

    // --- exchanges ------------------------------------------------------------------------------------------------

    std::vector<index_t> message_sizes() const {
        if (options_.quick) return {256, 65536};
        return {256, 4096, 65536, 524288, 4194304, 33554432};
    }

    Status measure_exchanges() {
        const int nodes = machine_.topology.nodes(comm_.size());
        const int mine = machine_.topology.node_of(comm_.rank());
        int place = 0;  // on this rank's node
        for (int rank = 0; rank < comm_.rank(); ++rank) place += machine_.topology.node_of(rank) == mine;
        const bool near = machine_.topology.most_ranks_on_a_node(comm_.size()) > 1, far = nodes > 1;
        ways_ = near + far;
        machine_.exchanges.clear();
        if (near) {
            SPANFFT_ASSIGN(auto group, comm_.split(mine, comm_.rank()));
            SPANFFT_TRY(measure_way(*group, &ExchangeFigures::near));
        }
        if (far) {
            SPANFFT_ASSIGN(auto group, comm_.split(place, comm_.rank()));
            SPANFFT_TRY(measure_way(*group, &ExchangeFigures::far));
        }
        return Status();
    }

    // Each strategy as it is by default, and those that send by planes with all planes at once too: their curve then
    // has short messages, of which an exchange has many, and long ones, of which it has few.
    static std::vector<std::string> exchanges_measured() {
        std::vector<std::string> texts;
        for (const auto& strategy : exchange_table()) {
            texts.emplace_back(strategy.name);
            ExchangeSpec spec;
            spec.parameter = "all";
            if (strategy.rows && strategy.check(spec).ok()) texts.push_back(exchange_text(strategy, spec.parameter));
        }
        return texts;
    }

    // On all groups at once; groups may differ in size, so everything that decides is shared by all ranks. A message
    // size is measured for all strategies or for none: where links are slow (at 100 Mb/s 32 MiB to each of 3 peers take
    // 8 s), figures of one strategy at a size that the others were not given would not compare. The shortest messages
    // are measured however late it is: without them an exchange has no price.
    Status measure_way(Comm& group, Way way) {
        std::map<std::string, std::vector<WireSample>> found;
        double last_seconds = 0;  // of all strategies together, a run each, at the size before
        index_t last_bytes = 0;
        // A quick probe leaves nothing for steps, which it does not measure.
        const double until = (options_.quick ? 1 : kEnginesShare + kExchangesShare) * options_.cap_seconds;
        for (const index_t bytes : message_sizes()) {
            const double growth = last_bytes > 0 ? static_cast<double>(bytes) / static_cast<double>(last_bytes) : 0;
            // One run warms up and one is measured. Small messages take as long as smaller ones, so this errs upwards.
            SPANFFT_ASSIGN(const bool left, time_is_left(until - 2 * growth * last_seconds));
            if (!left && last_bytes > 0) break;
            last_seconds = 0;
            last_bytes = bytes;
            for (const std::string& exchange : exchanges_measured()) {
                WireSample sample;
                const Status status = agree(comm_, measure_exchange(group, exchange, bytes, way, sample));
                if (!status.ok()) continue;  // the strategy does not work here, or memory is short
                SPANFFT_ASSIGN(sample.seconds, slowest(sample.seconds));
                last_seconds += sample.seconds;
                if (sample.bytes > 0) found[find_exchange(exchange).strategy->name].push_back(sample);
            }
        }
        for (const auto& strategy : exchange_table()) {
            std::vector<WireSample> samples = found[strategy.name];
            // All ranks fit the samples of rank 0's group.
            auto count = static_cast<index_t>(samples.size());
            SPANFFT_TRY(comm_.broadcast(&count, sizeof count, 0));
            samples.resize(static_cast<size_t>(count));
            SPANFFT_TRY(comm_.broadcast(samples.data(), samples.size() * sizeof(WireSample), 0));
            if (samples.empty()) continue;
            ExchangeFigures& figures = machine_.exchanges[strategy.name];
            figures.includes_copies = true;
            figures.*way = fit_wire(samples, kLeastShareOfCopy / machine_.shared_memory_bytes_per_second);
        }
        return Status();
    }

    // Messages of 16 k bytes between ranks of a group: an array of P a x P b x c elements with a b c == k.
    static Problem exchange_problem(int ranks, const std::string& exchange, index_t message_bytes) {
        int bits = 0;
        while ((index_t{32} << bits) <= message_bytes) ++bits;
        const int a = bits / 3, b = (bits - a) / 2, c = bits - a - b;
        Problem problem;
        problem.shape = {ranks * (index_t{1} << a), ranks * (index_t{1} << b), index_t{1} << c};
        // A transform comes first, as it mostly does; but not where it would become one step with the exchange
        // (TransformExchange), whose seconds can't be told apart.
        problem.axes = {0, 2};
        if (find_exchange(exchange).strategy->rows) problem.axes = {0};
        problem.kinds.assign(problem.axes.size(), AxisKind::c2c);
        problem.ranks = ranks;
        problem.grid = {ranks};
        problem.output = SpectrumOrder::exchanged;
        problem.exchange = exchange;
        problem.threads = 1;
        return problem;
    }

    // A transform of the whole axes and a move, each a step of its own: what other ways to solve the problem would be
    // faster does not matter.
    Result<std::unique_ptr<Plan>> plan_exchange(const Problem& problem) const {
        const RouteFamily& family = pencil_family();
        SPANFFT_ASSIGN(Route route, family.route(problem, problem.grid));
        return lower(problem, std::move(route), problem.exchange, Planner(machine_), family.solver);
    }

    // In memory disturbances come from outside and only ever add: of many runs the fast quarter tells what the machine
    // can do. On a network they are the strategy's own (blocking pairs take now 130 ms, now 230): a quarter is left out
    // as the slowest, the others count as they are.
    static double typical(std::vector<double> seconds, Way way) {
        if (way == &ExchangeFigures::near) return lower_quartile(std::move(seconds));
        std::sort(seconds.begin(), seconds.end());
        seconds.resize(std::max<size_t>(1, seconds.size() * 3 / 4));
        return std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
    }

    Status measure_exchange(Comm& group, const std::string& exchange, index_t message_bytes, Way way,
                            WireSample& sample) {
        sample = WireSample();
        if (group.size() == 1 || message_bytes * group.size() > kMostLocalBytes) return Status();
        const Problem problem = exchange_problem(group.size(), exchange, message_bytes);
        auto planned = plan_exchange(problem);
        SPANFFT_TRY(agree(group, planned.status()));
        const std::shared_ptr<const Plan> plan = std::move(planned).value();
        SPANFFT_ASSIGN(auto copy, group.duplicate());
        SPANFFT_ASSIGN(const auto executor, Executor::make(plan, std::move(copy)));
        const auto in_bytes = static_cast<size_t>(plan->input.local_bytes(group.rank()));
        const auto out_bytes = static_cast<size_t>(plan->output.local_bytes(group.rank()));
        auto in = Buffer::allocate(in_bytes), out = Buffer::allocate(out_bytes);
        SPANFFT_TRY(agree(group, in.ok() ? out.status() : in.status()));
        std::memset(in.value().data(), 0, in_bytes);
        std::memset(out.value().data(), 0, out_bytes);
        const auto began = Clock::now();
        const double share = kExchangesShare * options_.cap_seconds /
                             static_cast<double>(exchanges_measured().size() * message_sizes().size() * ways_);
        std::vector<double> seconds;
        for (int run = -1; run < (options_.quick ? 3 : kMostRuns); ++run) {
            SPANFFT_ASSIGN(const double once, run_once(group, *executor, in.value(), out.value()));
            if (run >= 0) seconds.push_back(once);  // the first one warms up
            int enough = run >= 0 && since(began) > share;
            SPANFFT_TRY(group.broadcast(&enough, sizeof enough, 0));
            if (enough) break;
        }
        sample.seconds = typical(std::move(seconds), way);
        for (const auto& step : plan->steps) {
            const Counts counts = step->predict(0);
            sample.messages += static_cast<double>(counts.messages);
        }
        const index_t local = plan->input.local_bytes(0);
        sample.bytes = static_cast<double>(local) * (group.size() - 1) / group.size();
        return Status();
    }

    // Seconds of what was not a transform, of this group's slowest rank.
    Result<double> run_once(Comm& group, Executor& executor, const Buffer& in, const Buffer& out) {
        SPANFFT_TRY(group.barrier());
        const auto start = Clock::now();
        SPANFFT_TRY(agree(group, executor.execute(in.data(), out.data())));
        double mine = since(start);
        const auto& steps = executor.plan().steps;
        for (size_t i = 0; i < steps.size(); ++i) {
            if (std::string(steps[i]->type()) == "Transform") mine -= (*executor.counted())[i].seconds;
        }
        std::vector<double> all(static_cast<size_t>(group.size()));
        SPANFFT_TRY(group.allgather(&mine, sizeof mine, all.data()));
        return std::max(*std::max_element(all.begin(), all.end()), 1e-9);
    }

    Comm& comm_;
    ProbeOptions options_;
    Clock::time_point start_;  // of what shares the cap
    Machine machine_;
    size_t ways_ = 1;
};

}  // namespace

Result<Machine> probe(Comm& comm, const ProbeOptions& options) { return Probe(comm, options).run(); }

}  // namespace spanfft
