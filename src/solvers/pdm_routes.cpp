// Jobs, places and steps of P1's methods; see pdm_routes.hpp.
#include "solvers/pdm_routes.hpp"

#include <algorithm>

#include "solvers/disk_sweeps.hpp"

namespace spanfft {

namespace {

Result<PdmOptions> parse_options(const std::string& method, const char* solver, bool on_ranks) {
    PdmOptions options;
    const size_t colon = method.find(':');
    if (method.substr(0, colon) != solver || colon == std::string::npos) return options;
    TextReader words(method.substr(colon + 1));
    for (std::string word; std::getline(words, word, ',');) {
        const size_t equals = word.find('=');
        const std::string key = word.substr(0, equals),
                          value = equals == std::string::npos ? "" : word.substr(equals + 1);
        if (word == "sync" || word == "async") {
            options.mode = word == "sync" ? IoMode::synchronous : IoMode::asynchronous;
        } else if (on_ranks && key == "factoring" && (value == "published" || value == "shorter")) {
            options.factoring = value == "published" ? Factoring::published : Factoring::shorter;
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
                         "' is not understood; use sync, async, block=BYTES, disks=D",
                         on_ranks ? ", factoring=published, factoring=shorter" : "");
        }
    }
    return options;
}

// Input, then two areas of scratch by turns, then output: no sweep overwrites what it reads.
void choose_places(PdmRoute& route) {
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

}  // namespace

Result<PdmJob> examine_pdm(const Problem& problem, const Planner& planner, const char* solver, bool on_ranks) {
    const auto declined = [&](const auto&... why) { return error(Code::unsupported, solver, " ", why...); };
    if (problem.memory_bytes == 0) return declined("is for files; give memory=");
    if (!on_ranks && problem.ranks != 1)
        return declined("works in one process, not on ", problem.ranks,
                        " ranks; memoryload_major_nocomm does on ranks");
    if (!power_of_two(problem.ranks))
        return declined("takes a power of two of ranks, and ", problem.ranks, " is none; run it on ",
                        index_t{1} << log2_of(problem.ranks), ", or leave method= out");
    const index_t points = product(problem.shape);
    if (problem.axes.size() != 1 || problem.shape[static_cast<size_t>(problem.axes[0])] != points)
        return declined("transforms one array of one axis, not ", shape_string(problem.shape), "; leave method= out");
    if (problem.kinds[0] != AxisKind::c2c)
        return declined("knows c2c, not ", axis_kind_name(problem.kinds[0]), "; use two_sweeps");
    if (!power_of_two(points))
        return declined("takes powers of two, and ", points, " is none; use two_sweeps, or a length of ",
                        index_t{1} << (log2_of(points) + 1));
    if (problem.loads_other())
        return declined("reads the file's blocks as they lie, and load=", problem.load->print(),
                        " converts them; use two_sweeps, or leave method= out");
    if (points < 4) return declined("needs at least 4 points: a memoryload of 2 and more than one of them");
    PdmJob job;
    job.problem = problem;
    SPANFFT_ASSIGN(job.options, parse_options(problem.method, solver, on_ranks));
    job.p = log2_of(problem.ranks);
    job.d =
        job.options.d.value_or(job.p + (power_of_two(problem.scratch_disks()) ? log2_of(problem.scratch_disks()) : 0));
    if (job.d < job.p)
        return error(Code::invalid_argument, "method=", problem.method, ": ", problem.ranks, " ranks can't share ",
                     index_t{1} << job.d, " disks, as each needs one of its own; use disks=", problem.ranks,
                     " or more, or leave it out");
    job.n = log2_of(points);
    job.record_bytes = static_cast<index_t>(problem.input_elem().bytes());
    if (const index_t block = job.options.block_bytes;
        block > 0 && (block % job.record_bytes != 0 || !power_of_two(block / job.record_bytes)))
        return error(Code::invalid_argument, "method=", problem.method, ": a block of ", block,
                     " bytes is no power of two of points of ", job.record_bytes, " bytes; use ",
                     job.record_bytes << log2_of(std::max<index_t>(1, block / job.record_bytes)));
    job.threads = problem.threads > 0 ? problem.threads
                  : on_ranks          ? planner.machine().threads_for(problem.ranks)
                                      : planner.machine().cores;
    job.budget_bytes = problem.memory_bytes - disk_reserve_bytes(problem.memory_bytes);
    return job;
}

void complete(PdmRoute& route, const Machine& machine) {
    choose_places(route);
    const auto add = [&](const Step& step) {
        const Counts counts = step.predict(0);  // ranks differ in a few messages at most
        route.seconds += counts.seconds;
        route.parallel_ios += counts.parallel_ios;
    };
    for (size_t i = 0; i < route.permutations.size(); ++i) {
        route.sweeps += static_cast<index_t>(route.permutations[i].factors.size());
        add(*make_permute_step(route.spec, route.permutations[i], route.places[i], "", machine));
    }
    for (const Superlevel& each : route.levels) {
        ++route.sweeps;
        route.own_bytes += superlevel_own_bytes(route.spec, each);
        add(*make_superlevel_step(route.spec, each, machine));
    }
}

bool tries_block(const PdmJob& job, int b, int m) {
    constexpr index_t kSmallest = 4096, kLargest = index_t{256} << 10;
    const index_t bytes = job.record_bytes << b;
    if (job.options.block_bytes > 0) return bytes == job.options.block_bytes;
    const bool most = b + 1 == m || b + 1 + job.d > m;  // small memory: the largest block that it allows
    return bytes <= kLargest && (bytes >= kSmallest || most || b == 0);
}

index_t budget_that_holds(index_t bytes) {
    index_t budget = bytes;
    while (budget - disk_reserve_bytes(budget) < bytes) budget += std::max<index_t>(1, budget / 64);
    return budget;
}

Status too_little_for(const PdmJob& job, const char* solver, index_t needed_bytes) {
    const std::string what = cat(solver, " can't do ", index_t{1} << job.n, " points in ",
                                 bytes_string(static_cast<double>(job.problem.memory_bytes)));
    if (needed_bytes == 0)
        return error(Code::unsupported, what, " with method=", job.problem.method,
                     ": no memoryload below the whole array holds two blocks and one of each disk; use smaller "
                     "blocks or fewer disks");
    return error(Code::out_of_memory, what, "; it needs at least ", bytes_string(static_cast<double>(needed_bytes)),
                 " (", needed_bytes, " bytes)");
}

void add_steps(Plan& plan, PdmRoute route, const Machine& machine) {
    plan.slot_bytes.fix(Slot::work0, route.spec.work_bytes());
    plan.sweeps = static_cast<int>(route.sweeps);
    const index_t scratch_bytes = route.areas * route.spec.array_bytes();  // of a rank
    plan.scratch_bytes = scratch_bytes * route.spec.ranks();
    if (route.spec.ranks() > 1) plan.scratch_of_each_rank_bytes = scratch_bytes;
    for (size_t i = 0; i < route.permutations.size(); ++i) {
        if (!route.permutations[i].factors.empty())
            plan.steps.push_back(make_permute_step(route.spec, std::move(route.permutations[i]),
                                                   std::move(route.places[i]), route.titles[i], machine));
        if (i < route.levels.size()) plan.steps.push_back(make_superlevel_step(route.spec, route.levels[i], machine));
    }
}

std::unique_ptr<Plan> plan_of(const PdmJob& job, const char* solver, PdmRoute route, const Machine& machine) {
    auto plan = std::make_unique<Plan>();
    plan->problem = job.problem;
    plan->problem.threads = job.threads;
    plan->solver = solver;
    plan->input = {swept_layout(job.problem.input_shape(), job.problem.ranks), job.problem.input_elem()};
    plan->output = {swept_layout(job.problem.output_shape(), job.problem.ranks), job.problem.output_elem()};
    plan->output_file_bytes = product(job.problem.shape) * static_cast<index_t>(job.problem.stored_elem().bytes());
    if (job.real_disks()) plan->scratch_block_bytes = route.spec.block_bytes();
    add_steps(*plan, std::move(route), machine);
    return plan;
}

}  // namespace spanfft
