// Plans on simulated stores and a reference by the definition; see store_run.hpp.
#include "support/store_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <tuple>
#include <utility>

#include "core/buffer.hpp"
#include "disk/striped_store.hpp"
#include "steps/transform_step.hpp"
#include "support/expect_counted.hpp"
#include "sweeps/fused_stores.hpp"
#include "sweeps/sweep_run.hpp"
#include "sweeps/sweep_step.hpp"
#include "sweeps/sweep_team.hpp"

namespace spanfft::test {

namespace {

template <class T>
void put(std::string& bytes, const Values& values, bool complex) {
    for (const auto& v : values) {
        const T parts[2] = {static_cast<T>(v.re), static_cast<T>(v.im)};
        bytes.append(reinterpret_cast<const char*>(parts), sizeof(T) * (complex ? 2 : 1));
    }
}

template <class T>
void get(const std::string& bytes, Values& values, bool complex) {
    const size_t step = sizeof(T) * (complex ? 2 : 1);
    for (size_t at = 0; at + step <= bytes.size(); at += step) {
        T parts[2] = {0, 0};
        std::memcpy(parts, bytes.data() + at, step);
        values.push_back({static_cast<Wide>(parts[0]), static_cast<Wide>(parts[1])});
    }
}

void transform_axis(Values& values, Extents& shape, size_t axis, Kernel kernel, index_t n, Precision tested) {
    const index_t before = product(shape, 0, static_cast<int>(axis));
    const index_t after = product(shape, static_cast<int>(axis) + 1, static_cast<int>(shape.size()));
    const index_t length = shape[axis];
    const index_t out_length = kernel == Kernel::r2c ? n / 2 + 1 : n;
    Values out(static_cast<size_t>(before * out_length * after));
    for (index_t b = 0; b < before; ++b) {
        for (index_t a = 0; a < after; ++a) {
            Values line;
            for (index_t i = 0; i < length; ++i)
                line.push_back(values[static_cast<size_t>((b * length + i) * after + a)]);
            if (is_r2r(kernel)) {  // real and imaginary parts alike
                Values imaginary = line;
                for (size_t i = 0; i < line.size(); ++i) imaginary[i] = {line[i].im, 0}, line[i].im = 0;
                imaginary = direct_sum(kernel, n, imaginary, tested);
                line = direct_sum(kernel, n, line, tested);
                for (size_t i = 0; i < line.size(); ++i) line[i].im = imaginary[i].re;
            } else {
                line = direct_sum(kernel, n, line, tested);
            }
            for (index_t i = 0; i < out_length; ++i)
                out[static_cast<size_t>((b * out_length + i) * after + a)] = line[static_cast<size_t>(i)];
        }
    }
    shape[axis] = out_length;
    values = std::move(out);
}

}  // namespace

std::string to_bytes(const Values& values, ElemType elem) {
    std::string bytes;
    switch (elem.precision) {
        case Precision::single:
            put<float>(bytes, values, elem.complex);
            break;
        case Precision::dbl:
            put<double>(bytes, values, elem.complex);
            break;
        case Precision::extended:
            put<long double>(bytes, values, elem.complex);
            break;
    }
    return bytes;
}

Values from_bytes(const std::string& bytes, ElemType elem) {
    Values values;
    switch (elem.precision) {
        case Precision::single:
            get<float>(bytes, values, elem.complex);
            break;
        case Precision::dbl:
            get<double>(bytes, values, elem.complex);
            break;
        case Precision::extended:
            get<long double>(bytes, values, elem.complex);
            break;
    }
    return values;
}

Values random_input(const Problem& problem, unsigned seed) {
    std::mt19937_64 generator(seed);
    std::normal_distribution<double> normal;
    Values values(static_cast<size_t>(problem.batch * product(problem.input_shape())));
    for (auto& v : values)
        v = {static_cast<Wide>(normal(generator)),
             static_cast<Wide>(problem.input_elem().complex ? normal(generator) : 0.0)};
    return from_bytes(to_bytes(values, problem.input_elem()), problem.input_elem());  // rounded as the file has them
}

namespace {

// Outputs of a long transform that are summed by the definition: the ends, the middle, and some in between.
constexpr int kSampledBins = 16;

// Holds what an engine answered in long double against the definition, so that no transform is its own reference. The
// bins are other ones for each length and kind. A sixteenth of double's eps: what is compared with it is a rounding
// of double or float, of 2 eps and more.
void expect_by_definition(const Problem& problem, Kernel kernel, const Values& input, const Values& result) {
    const index_t n = problem.shape[0], outputs = std::ssize(result);
    std::mt19937_64 generator(static_cast<uint64_t>(n) * 16 + static_cast<uint64_t>(kernel));
    std::vector<index_t> bins{0, 1, outputs / 2, outputs - 1};
    while (std::ssize(bins) < kSampledBins)
        bins.push_back(static_cast<index_t>(generator() % static_cast<uint64_t>(outputs)));
    const Values wanted = long_outputs(kernel, n, input, bins);
    const auto norm = [](const WideComplex& x) { return static_cast<double>(x.re * x.re + x.im * x.im); };
    double squares = 0, errors = 0;
    for (const WideComplex& x : result) squares += norm(x);
    for (size_t i = 0; i < bins.size(); ++i) {
        const WideComplex& got = result[static_cast<size_t>(bins[i])];
        errors += norm({got.re - wanted[i].re, got.im - wanted[i].im});
    }
    const double typical = std::sqrt(squares / static_cast<double>(outputs));
    EXPECT_LE(std::sqrt(errors / static_cast<double>(bins.size())), precision_eps(Precision::dbl) / 16 * typical)
        << "the engine's long double strays from the definition: " << problem.print();
}

// A long 1-D transform: by an engine in long double, held against the definition at some outputs.
Values engine_transform(const Problem& problem, const Values& input) {
    const index_t n = problem.shape[0];
    LocalSpec spec;
    spec.kernel = kernel_of(problem.kinds[0], problem.direction);
    spec.precision = Precision::extended;
    spec.transform = {{n, 1, 1}};
    auto engine = plan_local(spec, "", {});
    if (!engine.ok()) return {};
    const ElemType elem{Precision::extended, problem.input_elem().complex};
    const std::string in = to_bytes(input, elem);
    const size_t reals = problem.output_elem().complex ? 2 : 1;
    std::vector<long double> out(reals * static_cast<size_t>(product(problem.output_shape())));
    std::vector<long double> copy(in.size() / sizeof(long double));
    std::memcpy(copy.data(), in.data(), in.size());
    engine.value().fft->execute(copy.data(), out.data());
    const ElemType made{Precision::extended, problem.output_elem().complex};
    expect_by_definition(
        problem, spec.kernel, input,
        from_bytes(std::string(reinterpret_cast<const char*>(out.data()), out.size() * sizeof(long double)), made));
    for (auto& x : out) x *= problem.scale();
    return from_bytes(std::string(reinterpret_cast<const char*>(out.data()), out.size() * sizeof(long double)), made);
}

}  // namespace

Values direct_transform(const Problem& problem, const Values& input) {
    if (problem.ndim() == 1 && problem.shape[0] > 8000) return engine_transform(problem, input);
    Extents shape = problem.input_shape();
    shape.insert(shape.begin(), problem.batch);
    Values values = input;
    const int halved = problem.halved_axis();
    const auto apply = [&](size_t i) {
        const int axis = problem.axes[i];
        transform_axis(values, shape, static_cast<size_t>(axis) + 1, kernel_of(problem.kinds[i], problem.direction),
                       problem.shape[static_cast<size_t>(axis)], problem.precision);
    };
    for (size_t i = 0; i < problem.axes.size(); ++i) {
        if (problem.forward() && problem.axes[i] == halved) apply(i);
    }
    for (size_t i = 0; i < problem.axes.size(); ++i) {
        if (problem.axes[i] != halved) apply(i);
    }
    for (size_t i = 0; i < problem.axes.size(); ++i) {
        if (!problem.forward() && problem.axes[i] == halved) apply(i);
    }
    const auto scale = static_cast<Wide>(problem.scale());
    for (auto& v : values) v = {v.re * scale, v.im * scale};
    return values;
}

double error_in_units(const Problem& problem, const Values& result, const Values& reference) {
    if (result.size() != reference.size()) return INFINITY;
    double points = 1;
    for (size_t i = 0; i < problem.axes.size(); ++i) points *= static_cast<double>(problem.logical_length(i));
    return relative_error(result, reference) /
           (precision_eps(problem.precision) * std::sqrt(std::max(1.0, std::log2(points))));
}

double allowed_error(const Problem& problem) {
    for (size_t i = 0; i < problem.axes.size(); ++i) {
        if (largest_prime_factor(problem.logical_length(i)) > 13) return 1.5;
    }
    return 0.6;
}

namespace {

// Sweeps that write the output file; plans of other steps do so once.
int sweeps_over_output(const Plan& plan) {
    int sweeps = 0;
    for (const auto& step : plan.steps) {
        const auto* sweep = dynamic_cast<const SweepStep*>(step.get());
        if (sweep && sweep->spec().target.place == Place::output) ++sweeps;
    }
    return std::max(sweeps, 1);
}

}  // namespace

Result<std::shared_ptr<Plan>> plan_on_two_cores(const std::string& text, SolverFunction solve, bool slow_messages,
                                                bool fast_scratch) {
    static std::tuple<std::string, SolverFunction, bool, bool> last_asked;
    static std::shared_ptr<Plan> last;
    const std::tuple asked(text, solve, slow_messages, fast_scratch);
    if (last && asked == last_asked) return last;
    SPANFFT_ASSIGN(const Problem problem, Problem::parse(text));
    Machine machine;
    machine.cores = 2;
    if (slow_messages) machine.exchanges["alltoallv"].near.latency_seconds = 1;
    if (fast_scratch) {
        machine.disk_read_bytes_per_second = machine.disk_write_bytes_per_second = 1e5;
        machine.scratch_read_bytes_per_second = machine.scratch_write_bytes_per_second = 1e12;
    }
    SPANFFT_ASSIGN(last, solve(problem, Planner(machine)));
    last_asked = asked;
    return last;
}

std::shared_ptr<SweepTeam> team_of_rank(int rank, int threads) {
    static std::mutex mutex;
    static std::map<std::pair<int, int>, std::shared_ptr<SweepTeam>> teams;
    std::lock_guard lock(mutex);
    auto& team = teams[{rank, threads}];
    if (!team)
        team = make_sweep_team(threads, "threads").value();  // no store here is a file, for which a ring would be
    return team;
}

StoreRun run_on_stores(const std::string& text, SolverFunction solve, index_t input_offset, index_t output_offset,
                       FaultPlan* faults, int stop_after, int scratch_disks, const BlockCallbacks& callbacks) {
    StoreRun run;
    auto plan = plan_on_two_cores(text, solve);
    run.status = plan.status();
    if (!run.status.ok()) return run;
    run.plan = std::move(plan).value();
    const Problem& p = run.plan->problem;
    run.input = random_input(p, 7);
    const std::string bytes = to_bytes(run.input, p.input_elem());
    MemoryStore input(input_offset + static_cast<index_t>(bytes.size()));
    std::memcpy(input.data() + input_offset, bytes.data(), bytes.size());
    MemoryStore output(output_offset + run.plan->output_file_bytes), scratch(run.plan->scratch_bytes);
    FaultPlan none;
    FaultPlan& plan_of_faults = faults ? *faults : none;
    FaultyStore faulty_input(input, plan_of_faults), faulty_output(output, plan_of_faults),
        faulty_scratch(scratch, plan_of_faults);
    StripeGeometry stripes{scratch_disks, 1000};
    if (const index_t block = run.plan->scratch_block_bytes; block > 0) stripes = {scratch_disks, block, false};
    std::vector<std::unique_ptr<MemoryStore>> disks;
    std::vector<std::unique_ptr<Store>> faulty_disks;
    for (int i = 0; i < scratch_disks; ++i) {
        disks.push_back(std::make_unique<MemoryStore>(stripes.bytes_on(i, run.plan->scratch_bytes)));
        faulty_disks.push_back(std::make_unique<FaultyStore>(*disks.back(), plan_of_faults));
    }
    std::unique_ptr<StripedStore> striped;
    if (scratch_disks > 0) {
        striped = std::make_unique<StripedStore>(std::move(faulty_disks), stripes.block_bytes, run.plan->scratch_bytes,
                                                 stripes.turns);
    }

    RunContext context;
    std::vector<Buffer> slots(kSlots);
    for (size_t i = 0; i < slots.size(); ++i) {
        auto buffer = Buffer::allocate(static_cast<size_t>(run.plan->slot_bytes[0][i]));
        run.status = buffer.status();
        if (!run.status.ok()) return run;
        slots[i] = std::move(buffer).value();
        context.slots[i] = slots[i].data();
    }
    context.arrays.input = {&faulty_input, input_offset};
    context.arrays.output = {&faulty_output, output_offset};
    if (run.plan->scratch_bytes > 0)
        context.arrays.scratch.store = striped ? static_cast<Store*>(striped.get()) : &faulty_scratch;
    auto work = BlockWork::make(p, callbacks);
    run.status = work.status();
    if (!run.status.ok()) return run;
    FusedReads reads(faulty_input, input_offset, *work.value());
    FusedWrites writes(faulty_output, output_offset, product(p.output_shape()), *work.value());
    if (work.value()->on_way_in()) context.arrays.input.store = &reads;
    if (work.value()->on_way_out()) context.arrays.result = {&writes, output_offset};
    const Counts all = run.plan->predict(0);
    const index_t unstored_bytes =
        product(p.output_shape()) * (work.value()->computed_bytes() - work.value()->stored_bytes());
    context.total_bytes = all.disk_read_bytes + all.disk_written_bytes + unstored_bytes;
    int calls = 0;
    context.progress = [&](index_t done, index_t total) {
        run.progress_bytes = done;
        run.progress_total = total;
        return stop_after < 0 || calls++ < stop_after;
    };
    auto comm = make_self_comm();
    Binding binding(*comm);
    binding.sweep_team = team_of_rank(0, p.threads);
    std::vector<std::unique_ptr<Task>> tasks;
    for (const auto& step : run.plan->steps) {
        auto task = step->bind(binding);
        run.status = task.status();
        if (!run.status.ok()) return run;
        tasks.push_back(std::move(task).value());
        run.predicted.push_back(step->predict(0));
    }
    const SweepRun sweeps(*run.plan, examine_sweeps(*run.plan), context.arrays, false, nullptr);
    for (size_t i = 0; i < tasks.size(); ++i) {
        context.sweep = sweeps.sweep(i);
        run.status = tasks[i]->run(context);
        if (!run.status.ok()) break;
        run.counted.push_back(tasks[i]->counted());
    }
    for (const auto& disk : disks) {
        const StoreCounts moved = disk->counts();
        run.scratch_disk_bytes.push_back(moved.read_bytes + moved.written_bytes);
    }
    run.input_untouched = std::memcmp(input.data() + input_offset, bytes.data(), bytes.size()) == 0;
    for (index_t i = 0; i < output.size_bytes(); ++i) {
        const int expected = i < output_offset ? 0 : sweeps_over_output(*run.plan);
        run.each_byte_once = run.each_byte_once && output.writes_of(i) == expected;
    }
    run.output = from_bytes(std::string(reinterpret_cast<char*>(output.data()) + output_offset,
                                        static_cast<size_t>(run.plan->output_file_bytes)),
                            p.stored_elem());
    return run;
}

void expect_as_predicted(const StoreRun& run) {
    EXPECT_TRUE(run.each_byte_once);
    EXPECT_TRUE(run.input_untouched);
    EXPECT_LE(run.plan->peak_memory_bytes(0), run.plan->problem.memory_bytes);
    EXPECT_EQ(run.progress_bytes, run.progress_total);
    expect_counted(run.predicted, run.counted);
}

double norm_of(const Values& values) {
    double sum = 0;
    for (const auto& v : values) sum += static_cast<double>(v.re * v.re + v.im * v.im);
    return std::sqrt(sum);
}

double distance(const Values& a, const Values& b) {
    Values difference = a;
    for (size_t i = 0; i < a.size(); ++i) difference[i] = {a[i].re - b[i].re, a[i].im - b[i].im};
    return norm_of(difference);
}

namespace {

double largest_of(const Values& values) {
    double most = 0;
    for (const auto& v : values) most = std::max(most, static_cast<double>(v.re * v.re + v.im * v.im));
    return std::sqrt(most);
}

}  // namespace

// The rule bounds ||X' - X||; from there ||P' - P|| <= 2 max|X| ||X' - X|| for P = |X|^2 (second order aside), and
// rounding to what is stored adds its eps/2 of each element. A window's points are right to 4 eps.
void expect_stored(const Problem& problem, const Values& output, const Values& exact) {
    ASSERT_EQ(output.size(), exact.size());
    double points = 1;
    for (size_t i = 0; i < problem.axes.size(); ++i) points *= static_cast<double>(problem.logical_length(i));
    double error = allowed_error(problem) * std::sqrt(std::max(1.0, std::log2(points)));
    if (!problem.window.empty()) error += 4;
    error *= precision_eps(problem.precision) * norm_of(exact);
    Values expected = exact;
    if (problem.power) {
        for (auto& v : expected) v = {v.re * v.re + v.im * v.im, 0};
        error *= 2.1 * largest_of(exact);
    }
    error += precision_eps(problem.stored_elem().precision) * norm_of(expected);
    EXPECT_LT(distance(output, expected), error);
}

}  // namespace spanfft::test
