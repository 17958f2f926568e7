// Solver `superlevels`: P1's uniprocessor FFT on parallel disks, as published: a bit reversal, then superlevels of
// mini-butterflies of depth lg F and (lg F)-bit right rotations; the last superlevel is lg N mod lg F deep.
//
// Method: F = M, a memoryload (section 5). Every permutation is a BMMC in at most 2N/(BD) (ceil(rank phi / lg(M/B)) +
// 1) parallel I/Os, every superlevel takes 2N/(BD). Mini-butterflies are plain transforms by an engine
// (sweeps/pdm_step.hpp), which takes its points in natural order; P1's radix-2 stages take them bit-reversed. So
// each permutation is composed with the reversal of the low bits of the superlevel after it, as P1 (section 6) composes
// its with band conversions: that permutes inside memoryloads, changes no rank of phi and no bound, and saves a
// permutation in memory. Worked: N = 2^20, M = 2^8: reversal, 8 deep, rotation by 8, 8 deep, rotation by 8, 4 deep,
// rotation by 4.
// Memory: synchronous: M is half of it (the BMMC permutes from one buffer to another), asynchronous: a quarter; as much
// as one memoryload more is left to the engine. The block size is the best of 4 KiB to 256 KiB; `method=superlevels:`
// takes sync, async, block=BYTES and disks=D.
// On disk: input and output are ordinary files, seen as D disks; between them the array lies in scratch, twice. Where
// the problem says that scratch is on D disks, block q of it really is on disk q mod D.
#include <algorithm>
#include <optional>

#include "solvers/disk_passes.hpp"
#include "solvers/table.hpp"
#include "sweeps/pdm_step.hpp"

namespace spanfft {

namespace {

struct Options {
    IoMode mode = IoMode::asynchronous;
    index_t block_bytes = 0;  // 0: chosen
    std::optional<int> d;     // not said: those of the scratch, if P1's layout takes so many
};

int log2_of(index_t n) { return 63 - __builtin_clzll(static_cast<Word>(n)); }
bool power_of_two(index_t n) { return n > 0 && (n & (n - 1)) == 0; }

Result<Options> parse_options(const std::string& method) {
    Options options;
    const size_t colon = method.find(':');
    if (method.substr(0, colon) != "superlevels" || colon == std::string::npos) return options;
    TextReader words(method.substr(colon + 1));
    for (std::string word; std::getline(words, word, ',');) {
        const size_t equals = word.find('=');
        const std::string key = word.substr(0, equals),
                          value = equals == std::string::npos ? "" : word.substr(equals + 1);
        if (word == "sync" || word == "async") {
            options.mode = word == "sync" ? IoMode::synchronous : IoMode::asynchronous;
        } else if (key == "block") {
            SPANFFT_ASSIGN(options.block_bytes, parse_bytes(value));
        } else if (key == "disks") {
            const auto disks = parse_bytes(value);  // a whole number of something
            if (!disks.ok() || !power_of_two(disks.value()) || disks.value() > 1024)
                return error(Code::invalid_argument, "method=", method, ": disks=", value,
                             "; P1's layout takes a power of two up to 1024");
            options.d = log2_of(disks.value());
        } else {
            return error(Code::invalid_argument, "method=", method, ": '", word,
                         "' is not understood; use sync, async, block=BYTES, disks=D");
        }
    }
    return options;
}

struct Job {
    Problem problem;
    Options options;
    int n = 0;
    index_t record_bytes = 16;
    int threads = 1;
    index_t budget_bytes = 0;
    int d = 0;
    bool real_disks() const { return problem.disks > 1 && problem.disks == 1 << d; }
};

Result<Job> examine(const Problem& problem, const Planner& planner) {
    const auto declined = [&](const auto&... why) { return error(Code::unsupported, "superlevels ", why...); };
    if (problem.memory_bytes == 0) return declined("is for files; give memory=");
    if (problem.ranks != 1) return declined("works in one process so far, not on ", problem.ranks, " ranks");
    const index_t points = product(problem.shape);
    if (problem.axes.size() != 1 || problem.shape[static_cast<size_t>(problem.axes[0])] != points)
        return declined("transforms one array of one axis, not ", shape_string(problem.shape), "; leave method= out");
    if (problem.kinds[0] != AxisKind::c2c)
        return declined("knows c2c, not ", axis_kind_name(problem.kinds[0]), "; use two_pass");
    if (!power_of_two(points))
        return declined("takes powers of two, and ", points, " is none; use two_pass, or a length of ",
                        index_t{1} << (log2_of(points) + 1));
    if (problem.loads_other())
        return declined("reads the file's blocks as they lie, and load=", problem.load->print(),
                        " converts them; use two_pass, or leave method= out");
    if (points < 4) return declined("needs at least 4 points: a memoryload of 2 and more than one of them");
    Job job;
    job.problem = problem;
    SPANFFT_ASSIGN(job.options, parse_options(problem.method));
    job.d = job.options.d.value_or(power_of_two(problem.disks) ? log2_of(problem.disks) : 0);
    job.n = log2_of(points);
    job.record_bytes = static_cast<index_t>(problem.input_elem().bytes());
    if (const index_t block = job.options.block_bytes;
        block > 0 && (block % job.record_bytes != 0 || !power_of_two(block / job.record_bytes)))
        return error(Code::invalid_argument, "method=", problem.method, ": a block of ", block,
                     " bytes is no power of two of points of ", job.record_bytes, " bytes; use ",
                     job.record_bytes << log2_of(std::max<index_t>(1, block / job.record_bytes)));
    job.threads = problem.threads > 0 ? problem.threads : planner.machine().cores;
    job.budget_bytes = problem.memory_bytes - disk_reserve_bytes(problem.memory_bytes);
    return job;
}

// The plan for one shape of the model.
struct Route {
    PdmSpec spec;
    std::vector<Superlevel> levels;
    std::vector<BmmcPlan> permutations;         // one before each level, one after the last
    std::vector<std::vector<PdmPlace>> places;  // of the array before the first sweep of each and after all of them
    std::vector<std::string> titles;
    index_t parallel_ios = 0, bound = 0, sweeps = 0, own_bytes = 0, areas = 0;
    double seconds = 0;
};

// P1's Analysis: the bit reversal and for each superlevel one sweep and one rotation, by the bounds of their ranks.
index_t published_bound(const PdmShape& s) {
    const int f = s.m, levels = static_cast<int>(ceil_div(s.n, f)), per_sweep = s.m - s.b;
    const auto sweeps = [&](int rank) { return ceil_div(rank, per_sweep) + 1; };
    const int reversal = std::min(s.m, s.n - s.m), rotation = std::min({f, s.n - f, s.m, s.n - s.m});
    return 2 * s.stripes() * (sweeps(reversal) + levels * (1 + sweeps(rotation)));
}

// Input, then two areas of scratch by turns, then output: no sweep overwrites what it reads.
void choose_places(Route& route) {
    size_t total = route.levels.size(), done = 0;
    for (const BmmcPlan& each : route.permutations) total += each.factors.size();
    const auto place = [&](size_t sweep) {
        if (sweep == 0) return PdmPlace{Place::input, 0};
        if (sweep == total) return PdmPlace{Place::output, 0};
        const auto area = static_cast<index_t>((sweep - 1) % 2);
        route.areas = std::max(route.areas, area + 1);
        return PdmPlace{Place::scratch, area};
    };
    for (size_t i = 0; i < route.permutations.size(); ++i) {
        std::vector<PdmPlace>& places = route.places.emplace_back();
        for (size_t k = 0; k <= route.permutations[i].factors.size(); ++k) places.push_back(place(done + k));
        done += route.permutations[i].factors.size();
        if (i == route.levels.size()) continue;
        route.levels[i].from = place(done);
        route.levels[i].to = place(++done);
    }
}

Result<Route> make_route(const Job& job, const PdmShape& shape, const Machine& machine) {
    Route route;
    route.spec = {shape, job.problem.precision, job.options.mode, job.threads, job.problem.disks};
    if (job.problem.stores_other()) route.spec.stored_bytes = static_cast<index_t>(job.problem.stored_elem().bytes());
    const int n = shape.n;
    BitMatrix before = BitMatrix::bit_reversal(n);
    std::string title = "bit reversal";
    for (int done = 0; done < n;) {
        Superlevel level;
        level.done = done;
        level.depth = std::min(shape.m, n - done);
        level.backward = !job.problem.forward();
        level.scale = job.problem.scale();
        level.engine = job.problem.engine;
        SPANFFT_ASSIGN(BmmcPlan permutation, plan_bmmc({BitMatrix::bit_reversal(n, level.depth) * before, 0}, shape));
        route.permutations.push_back(std::move(permutation));
        route.titles.push_back(cat(title, ", then reversal of the low ", level.depth));
        before = BitMatrix::right_rotation(n, level.depth);
        title = cat("right rotation by ", level.depth, level.depth == 1 ? " bit" : " bits");
        route.own_bytes += superlevel_own_bytes(route.spec, level);
        done += level.depth;
        route.levels.push_back(std::move(level));
    }
    SPANFFT_ASSIGN(BmmcPlan last, plan_bmmc({before, 0}, shape));
    route.permutations.push_back(std::move(last));
    route.titles.push_back(title);
    choose_places(route);
    for (size_t i = 0; i < route.permutations.size(); ++i) {
        const BmmcPlan& each = route.permutations[i];
        route.parallel_ios += each.predicted().total();
        route.sweeps += static_cast<index_t>(each.factors.size());
        route.seconds += make_permute_step(route.spec, each, route.places[i], "", machine)->predict(0).seconds;
    }
    for (const Superlevel& each : route.levels) {
        const Counts counts = make_superlevel_step(route.spec, each, machine)->predict(0);
        route.parallel_ios += counts.parallel_ios;
        route.seconds += counts.seconds;
        ++route.sweeps;
    }
    route.bound = published_bound(shape);
    return route;
}

index_t needed_bytes(const Route& route) {
    return route.spec.work_bytes() + route.spec.load_bytes() + route.own_bytes;  // the engine's own: a memoryload
}

// The fewest predicted seconds among the block sizes, for the largest memoryload that fits.
std::optional<Route> best_route(const Job& job, const Machine& machine) {
    const index_t room = job.budget_bytes / ((sweep_buffers(false, job.options.mode) + 1) * job.record_bytes);
    for (int m = std::min(job.n - 1, room > 0 ? log2_of(room) : 0); m >= 1; --m) {
        std::optional<Route> best;
        constexpr index_t kSmallestBlock = 4096, kLargestBlock = index_t{256} << 10;
        for (int b = 0; b < m && b + job.d <= m; ++b) {
            const index_t bytes = job.record_bytes << b;
            const bool most = b + 1 == m || b + 1 + job.d > m;  // small memory: the largest block that it allows
            if (job.options.block_bytes > 0 ? bytes != job.options.block_bytes
                                            : bytes > kLargestBlock || (bytes < kSmallestBlock && !most && b > 0))
                continue;
            auto route = make_route(job, {job.n, m, b, job.d}, machine);
            if (!route.ok() || needed_bytes(route.value()) > job.budget_bytes) continue;
            if (!best || route.value().seconds < best->seconds) best = std::move(route).value();
        }
        if (best) return best;
    }
    return std::nullopt;
}

// The budget from which on some route fits; 0: none does. Small memoryloads have many levels, each with its tables.
index_t smallest_memory(const Job& job, const Machine& machine) {
    index_t smallest = 0;
    for (int m = 1; m < job.n; ++m) {
        const int b = job.options.block_bytes > 0 ? log2_of(job.options.block_bytes / job.record_bytes) : 0;
        const auto route = make_route(job, {job.n, m, b, job.d}, machine);
        if (!route.ok()) continue;
        const index_t needed = needed_bytes(route.value());
        if (smallest == 0 || needed < smallest) smallest = needed;
    }
    index_t budget = smallest;
    while (budget - disk_reserve_bytes(budget) < smallest) budget += std::max<index_t>(1, budget / 64);
    return budget;
}

void add_steps(Plan& plan, Route& route, const Machine& machine) {
    for (size_t i = 0; i < route.permutations.size(); ++i) {
        plan.steps.push_back(make_permute_step(route.spec, std::move(route.permutations[i]), std::move(route.places[i]),
                                               route.titles[i], machine));
        if (i < route.levels.size()) plan.steps.push_back(make_superlevel_step(route.spec, route.levels[i], machine));
    }
    plan.scratch_bytes = route.areas * route.spec.array_bytes();
}

std::string shape_note(const Route& route) {
    const PdmShape& s = route.spec.shape;
    return cat("parallel disks: N=2^", s.n, ", M=F=2^", s.m, ", B=2^", s.b, ", D=2^", s.d, ", ",
               route.spec.mode == IoMode::asynchronous ? "asynchronous" : "synchronous", "; ", route.parallel_ios,
               " parallel I/Os predicted, at most ", route.bound, " by P1's analysis");
}

}  // namespace

Result<std::unique_ptr<Plan>> solve_superlevels(const Problem& problem, const Planner& planner) {
    SPANFFT_ASSIGN(const Job job, examine(problem, planner));
    auto route = best_route(job, planner.machine());
    if (!route) {
        if (planner.searches()) return too_little_memory();
        const index_t needed = smallest_memory(job, planner.machine());
        const std::string what = cat("superlevels can't do ", index_t{1} << job.n, " points in ",
                                     bytes_string(static_cast<double>(problem.memory_bytes)));
        if (needed == 0)
            return error(Code::unsupported, what, " with method=", problem.method,
                         ": no memoryload below the whole array holds two blocks and one of each disk; use smaller "
                         "blocks or fewer disks");
        return error(Code::out_of_memory, what, "; it needs at least ", bytes_string(static_cast<double>(needed)), " (",
                     needed, " bytes)");
    }
    auto plan = std::make_unique<Plan>();
    plan->problem = problem;
    plan->problem.threads = job.threads;
    plan->solver = "superlevels";
    plan->input = {Layout(problem.input_shape(), {}), problem.input_elem()};
    plan->output = {Layout(problem.output_shape(), {}), problem.output_elem()};
    plan->slot_bytes.fix(Slot::work0, route->spec.work_bytes());
    plan->output_file_bytes = product(problem.shape) * static_cast<index_t>(problem.stored_elem().bytes());
    plan->sweeps = static_cast<int>(route->sweeps);
    if (job.real_disks()) plan->scratch_block_bytes = route->spec.block_bytes();
    plan->notes.push_back(shape_note(*route));
    add_steps(*plan, *route, planner.machine());
    return plan;
}

}  // namespace spanfft
