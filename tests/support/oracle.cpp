// Expected results and the bench; see oracle.hpp.
#include "support/oracle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "comm/counted_comm.hpp"
#include "exec/executor.hpp"
#include "exec/explain.hpp"
#include "plan/planner.hpp"
#include "support/expect_counted.hpp"
#include "support/oracle_on_machine.hpp"
#include "support/sanitized.hpp"
#include "support/thread_comm.hpp"

namespace spanfft::test {

namespace {

index_t logical(AxisKind kind, index_t n) {
    if (kind == AxisKind::c2c || kind == AxisKind::r2c) return n;
    if (kind == AxisKind::dct1) return 2 * (n - 1);
    if (kind == AxisKind::dst1) return 2 * (n + 1);
    return 2 * n;
}

Kernel kernel_for(AxisKind kind, bool forward) {
    switch (kind) {
        case AxisKind::c2c:
            return forward ? Kernel::c2c_forward : Kernel::c2c_backward;
        case AxisKind::r2c:
            return forward ? Kernel::r2c : Kernel::c2r;
        case AxisKind::dct1:
            return Kernel::dct1;
        case AxisKind::dct2:
            return forward ? Kernel::dct2 : Kernel::dct3;
        case AxisKind::dct3:
            return forward ? Kernel::dct3 : Kernel::dct2;
        case AxisKind::dct4:
            return Kernel::dct4;
        case AxisKind::dst1:
            return Kernel::dst1;
        case AxisKind::dst2:
            return forward ? Kernel::dst2 : Kernel::dst3;
        case AxisKind::dst3:
            return forward ? Kernel::dst3 : Kernel::dst2;
        case AxisKind::dst4:
            return Kernel::dst4;
    }
    return Kernel::c2c_forward;
}

// sqrt in Wide: the double root and two Newton steps.
Wide wide_sqrt(Wide x) {
    Wide root = static_cast<Wide>(std::sqrt(static_cast<long double>(x)));
    for (int i = 0; i < 2; ++i) root = (root + x / root) / 2;
    return root;
}

// The orthonormal forms (scipy.fft with norm="ortho"), entry by entry relative to the unnormalised sum divided by
// sqrt(logical length): an end that the sum counts once instead of twice, or whose row is longer, is evened out.
// dct1: sum takes ends once, rows 0 and n-1 are sqrt(2) long; dct2: row 0; dct3: column 0; dst2, dst3: the last.
void orthonormal_ends(Kernel kernel, Wides& line, bool before) {
    const Wide root = wide_sqrt(2);
    const auto times = [&](WideComplex& x, Wide f) { x = {x.re * f, x.im * f}; };
    if (kernel == Kernel::dct1) {
        times(line.front(), before ? root : 1 / root);
        times(line.back(), before ? root : 1 / root);
    }
    if (kernel == Kernel::dct2 && !before) times(line.front(), 1 / root);
    if (kernel == Kernel::dct3 && before) times(line.front(), root);
    if (kernel == Kernel::dst2 && !before) times(line.back(), 1 / root);
    if (kernel == Kernel::dst3 && before) times(line.back(), root);
}

Wides transform_line(Kernel kernel, index_t n, Wides line, bool orthonormal, Precision tested) {
    if (orthonormal) orthonormal_ends(kernel, line, true);
    Wides result;
    if (kernel >= Kernel::dct1) {  // of complex data: real and imaginary parts
        Wides re, im;
        bool complex = false;
        for (const auto& x : line) {
            re.push_back({x.re, 0});
            im.push_back({x.im, 0});
            complex = complex || x.im != 0;
        }
        result = direct_sum(kernel, n, re, tested);
        if (complex) {
            const Wides imaginary = direct_sum(kernel, n, im, tested);
            for (size_t i = 0; i < result.size(); ++i) result[i].im = imaginary[i].re;
        }
    } else {
        result = direct_sum(kernel, n, line, tested);
    }
    if (orthonormal) orthonormal_ends(kernel, result, false);
    return result;
}

}  // namespace

Wides random_input(Random& random, const Problem& problem) {
    const index_t elems = product(problem.input_shape()) * problem.batch;
    const bool complex = problem.input_elem().complex;
    Wides input(static_cast<size_t>(elems));
    for (auto& x : input) {
        x.re = static_cast<Wide>(random.noise());
        if (complex) x.im = static_cast<Wide>(random.noise());
    }
    return input;
}

namespace {

Wides transformed(const Problem& problem, const Wides& input) {
    Extents shape = problem.input_shape();
    shape.insert(shape.begin(), problem.batch);
    Wides data = input;
    // c2r last, since it drops imaginary parts; all else commutes.
    std::vector<size_t> order;
    for (size_t i = 0; i < problem.axes.size(); ++i) order.push_back(i);
    std::stable_partition(order.begin(), order.end(),
                          [&](size_t i) { return problem.forward() == (problem.kinds[i] == AxisKind::r2c); });
    Wide points = 1;
    for (size_t i : order) {
        const auto axis = static_cast<size_t>(problem.axes[i]) + 1;
        const index_t n = problem.shape[axis - 1];
        const Kernel kernel = kernel_for(problem.kinds[i], problem.forward());
        points *= static_cast<Wide>(logical(problem.kinds[i], n));
        const index_t before = product(shape, 0, static_cast<int>(axis));
        const index_t after = product(shape, static_cast<int>(axis) + 1, static_cast<int>(shape.size()));
        const index_t from = shape[axis], to = kernel == Kernel::r2c ? n / 2 + 1 : n;
        Wides next(static_cast<size_t>(before * to * after));
        for (index_t b = 0; b < before; ++b) {
            for (index_t a = 0; a < after; ++a) {
                Wides line;
                for (index_t j = 0; j < from; ++j)
                    line.push_back(data[static_cast<size_t>((b * from + j) * after + a)]);
                line = transform_line(kernel, n, std::move(line), problem.norm == Norm::ortho, problem.precision);
                for (index_t k = 0; k < to; ++k)
                    next[static_cast<size_t>((b * to + k) * after + a)] = line[static_cast<size_t>(k)];
            }
        }
        data = std::move(next);
        shape[axis] = to;
    }
    Wide factor = 1;
    if (problem.norm == Norm::ortho) factor = 1 / wide_sqrt(points);
    if (problem.norm == Norm::backward && !problem.forward()) factor = 1 / points;
    if (problem.norm == Norm::forward && problem.forward()) factor = 1 / points;
    for (auto& x : data) x = {x.re * factor, x.im * factor};
    return data;
}

bool same(const Wides& a, const Wides& b) {
    const auto equal = [](const WideComplex& x, const WideComplex& y) { return x.re == y.re && x.im == y.im; };
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), equal);
}

struct Answer {
    Wides input, output;
};

constexpr size_t kKeptPoints = size_t{1} << 18;  // of inputs: 16 MiB with their outputs

}  // namespace

// Tests run one transform in many ways (ranks, exchanges, precisions, in place), both directions by turns: answers are
// kept, until there are too many.
Wides expected(const Problem& problem, const Wides& input) {
    using Question = std::tuple<Extents, std::vector<int>, std::vector<AxisKind>, Direction, Norm, index_t, bool>;
    static std::map<Question, std::vector<Answer>> kept;
    static size_t points = 0;
    const Question asked{problem.shape,
                         problem.axes,
                         problem.kinds,
                         problem.direction,
                         problem.norm,
                         problem.batch,
                         problem.precision == Precision::extended};
    for (const Answer& answer : kept[asked])
        if (same(answer.input, input)) return answer.output;
    if (points + input.size() > kKeptPoints) {
        kept.clear();
        points = 0;
    }
    points += input.size();
    return kept[asked].emplace_back(Answer{input, transformed(problem, input)}).output;
}

double tolerance(const Problem& problem) {
    double points = 1;
    index_t largest = 1;
    for (size_t i = 0; i < problem.axes.size(); ++i) {
        const index_t n = logical(problem.kinds[i], problem.shape[static_cast<size_t>(problem.axes[i])]);
        points *= static_cast<double>(n);
        largest = std::max(largest, largest_prime_factor(n));
    }
    const double eps = precision_eps(problem.precision);
    const double rule = (largest <= 13 ? 0.6 : 1.5) * eps * std::sqrt(std::log2(std::max(points, 2.0)));
    // A DCT or DST of one or two points is little more than a multiplication by a constant, and what that was rounded
    // by, at most eps/2, is the same in every draw (docs/accuracy.md).
    double room = 0;
    for (size_t i = 0; i < problem.axes.size(); ++i) {
        const bool tiny = problem.shape[static_cast<size_t>(problem.axes[i])] <= 2;
        if (problem.kinds[i] >= AxisKind::dct1 && tiny) room += eps / 2;
    }
    return rule + room;
}

namespace {
constexpr size_t kGuard = 64;
constexpr unsigned char kGuardByte = 0xA5, kFilling = 0x5A;
}  // namespace

// Memory begins at a multiple of 16 (new's promise): a shift of one real number breaks every wider alignment but, for
// long double, 16 itself.
LocalArray::LocalArray(index_t bytes, size_t real_bytes)
    : bytes_(bytes), shift_(kGuard + real_bytes), memory_(shift_ + static_cast<size_t>(bytes) + kGuard, kFilling) {
    std::fill_n(memory_.begin(), shift_, kGuardByte);
    std::fill_n(memory_.end() - kGuard, kGuard, kGuardByte);
}

void* LocalArray::data() { return bytes_ ? memory_.data() + shift_ : nullptr; }

bool LocalArray::guards_intact() const {
    const auto is_guard = [](unsigned char c) { return c == kGuardByte; };
    return std::all_of(memory_.begin(), memory_.begin() + static_cast<std::ptrdiff_t>(shift_), is_guard) &&
           std::all_of(memory_.end() - kGuard, memory_.end(), is_guard);
}

void for_each_index(const Extents& shape, const Patch& patch, const std::function<void(index_t global)>& visit) {
    const Extents strides = row_major_strides(shape);
    const std::function<void(size_t, index_t)> walk = [&](size_t axis, index_t base) {
        if (axis == patch.size()) return visit(base);
        for (index_t i = 0; i < patch[axis].count; ++i) walk(axis + 1, base + patch[axis].at(i) * strides[axis]);
    };
    walk(0, 0);
}

namespace {

template <class Real>
void scatter_as(const Wides& global, const ArrayState& state, int rank, void* local) {
    char* to = static_cast<char*>(local);
    const size_t step = sizeof(Real);
    for_each_index(state.layout.shape(), state.layout.patch(rank), [&](index_t i) {
        const WideComplex& x = global[static_cast<size_t>(i)];
        const Real re = static_cast<Real>(x.re), im = static_cast<Real>(x.im);
        std::memcpy(to, &re, step);
        if (state.elem.complex) std::memcpy(to + step, &im, step);
        to += state.elem.complex ? 2 * step : step;
    });
}

template <class Real>
void gather_as(const void* local, const ArrayState& state, int rank, Wides& global) {
    const char* from = static_cast<const char*>(local);
    const size_t step = sizeof(Real);
    for_each_index(state.layout.shape(), state.layout.patch(rank), [&](index_t i) {
        Real re = 0, im = 0;
        std::memcpy(&re, from, step);
        if (state.elem.complex) std::memcpy(&im, from + step, step);
        from += state.elem.complex ? 2 * step : step;
        global[static_cast<size_t>(i)] = {static_cast<Wide>(re), static_cast<Wide>(im)};
    });
}

}  // namespace

void scatter(const Wides& global, const ArrayState& state, int rank, void* local) {
    switch (state.elem.precision) {
        case Precision::single:
            return scatter_as<float>(global, state, rank, local);
        case Precision::dbl:
            return scatter_as<double>(global, state, rank, local);
        case Precision::extended:
            return scatter_as<long double>(global, state, rank, local);
    }
}

void gather(const void* local, const ArrayState& state, int rank, Wides& global) {
    switch (state.elem.precision) {
        case Precision::single:
            return gather_as<float>(local, state, rank, global);
        case Precision::dbl:
            return gather_as<double>(local, state, rank, global);
        case Precision::extended:
            return gather_as<long double>(local, state, rank, global);
    }
}

namespace {

// One rank of a run; what it found goes into `run` under the mutex.
struct RankBody {
    const Plan& plan;
    const Wides& input;
    int times;
    const std::vector<Wides>& others;
    PlanRun& run;
    std::mutex& mutex;

    void note(Status status) {
        const std::lock_guard lock(mutex);
        if (!reported_first) run.status = status;
        run.statuses_agree =
            run.statuses_agree && status.code() == run.status.code() && status.message() == run.status.message();
        reported_first = true;
    }

    void operator()(int rank, Executor& executor) {
        const size_t real = real_bytes(plan.problem.precision);
        const index_t in_bytes = plan.input.local_bytes(rank), out_bytes = plan.output.local_bytes(rank);
        const bool in_place = plan.problem.in_place;
        LocalArray in(in_place ? std::max(in_bytes, out_bytes) : in_bytes, real);
        LocalArray separate(in_place ? 0 : out_bytes, real);
        LocalArray& out = in_place ? in : separate;
        Status status;
        bool preserved = true;
        const auto execute = [&](const Wides& from, Wides& to) {
            if (in_bytes) scatter(from, plan.input, rank, in.data());
            const bool own_input = plan.problem.own_input, own = plan.problem.own_output;
            void* const source = own_input ? executor.own_input() : in.data();
            if (own_input && in_bytes) std::memcpy(source, in.data(), static_cast<size_t>(in_bytes));
            LocalArray before = in;
            status = executor.execute(source, own ? executor.own_output() : out.data());
            if (own && status.ok() && out_bytes)
                std::memcpy(out.data(), executor.own_output(), static_cast<size_t>(out_bytes));
            preserved = preserved && (in_place || in_bytes == 0 ||
                                      std::memcmp(before.data(), source, static_cast<size_t>(in_bytes)) == 0);
            const std::lock_guard lock(mutex);
            if (status.ok() && out_bytes) gather(out.data(), plan.output, rank, to);
        };
        for (int time = 0; time < times && status.ok(); ++time) execute(input, run.output);
        for (size_t i = 0; i < others.size() && status.ok(); ++i) execute(others[i], run.other_outputs[i]);
        note(status);
        const std::lock_guard lock(mutex);
        run.input_preserved = run.input_preserved && preserved;
        run.guards_intact = run.guards_intact && in.guards_intact() && out.guards_intact();
        if (!status.ok()) return;
        for (size_t i = 0; i < plan.steps.size(); ++i) {
            for (const std::string& wrong : unmet(plan.steps[i]->predict(rank), (*executor.counted())[i])) {
                run.wrong_counts.push_back(
                    cat("rank ", rank, " step ", i, " (", plan.steps[i]->describe(), "): ", wrong));
            }
        }
        if (rank == 0) run.explained = explain(plan, 0, executor.counted());
    }

    bool reported_first = false;
};

}  // namespace

namespace {

Machine machine_with(int ranks_per_node) {
    Machine machine = this_machine();
    machine.topology.ranks_per_node = ranks_per_node;
    return machine;
}

}  // namespace

PlanRun run_on_threads(const Problem& problem, const Wides& input, int times, int ranks_per_node,
                       const std::vector<Wides>& others) {
    return run_on_machine(problem, machine_with(ranks_per_node), input, times, others);
}

PlanRun run_on_machine(const Problem& problem, const Machine& machine, const Wides& input, int times,
                       const std::vector<Wides>& others) {
    PlanRun run;
    auto planned = Planner(machine).plan(problem);
    if (!planned.ok()) {
        run.status = planned.status();
        return run;
    }
    const std::shared_ptr<const Plan> plan = std::move(planned).value();
    run.output.resize(static_cast<size_t>(product(problem.output_shape()) * problem.batch), {NAN, NAN});
    run.other_outputs.assign(others.size(), run.output);
    ThreadWorld world(problem.ranks);
    world.ranks_per_node = machine.topology.ranks_per_node;
    std::mutex mutex;
    RankBody body{*plan, input, times, others, run, mutex};
    world.run([&](int rank, Comm& comm) {
        auto own = comm.duplicate();
        if (!own.ok()) return body.note(own.status());
        auto executor = Executor::make(plan, std::move(own).value());
        if (!executor.ok()) return body.note(executor.status());
        body(rank, *executor.value());
    });
    for (int rank = 0; run.status.ok() && rank < problem.ranks; ++rank) {
        const Counts predicted = plan->predict(rank);
        const Delivered sent = world.sent_by(rank);
        const index_t runs = times + static_cast<index_t>(others.size());
        if (sent.messages != runs * predicted.messages || sent.bytes != runs * predicted.sent_bytes) {
            run.wrong_counts.push_back(cat("rank ", rank, ": ", sent.messages, " messages with ", sent.bytes,
                                           " bytes were delivered, ", runs * predicted.messages, " with ",
                                           runs * predicted.sent_bytes, " were predicted"));
        }
    }
    EXPECT_EQ(world.open_comms(), 0) << "communicators are left over";
    return run;
}

namespace {

// The rule speaks of the root mean square. One draw of a few numbers strays from it (24 points: 0.48 units in the mean,
// 0.79 at most), so it is held over as many draws as give enough numbers: always, whatever the first one shows.
size_t draws_of(const Problem& problem) {
    constexpr index_t kFewOutputs = 256;  // below this the error of one draw may stray from its mean by a quarter
    const index_t outputs = product(problem.output_shape()) * problem.batch;
    return outputs > 0 && outputs < kFewOutputs ? static_cast<size_t>(1 + kFewOutputs / outputs) : 1;
}

}  // namespace

namespace {

void check(const Problem& problem, uint64_t seed, const Machine& machine) {
    SCOPED_TRACE(cat("problem '", problem.print(), "', seed ", seed));
    Random random(seed);
    const Wides input = random_input(random, problem);
    std::vector<Wides> others(draws_of(problem) - 1);
    for (Wides& other : others) other = random_input(random, problem);
    const PlanRun run = run_on_machine(problem, machine, input, 2, others);
    ASSERT_TRUE(run.status.ok()) << run.status.message();
    EXPECT_TRUE(run.statuses_agree);
    double squares = std::pow(relative_error(run.output, expected(problem, input)), 2);
    for (size_t i = 0; i < others.size(); ++i)
        squares += std::pow(relative_error(run.other_outputs[i], expected(problem, others[i])), 2);
    const double error = std::sqrt(squares / static_cast<double>(others.size() + 1));
    EXPECT_LE(error, tolerance(problem)) << run.explained;
    EXPECT_TRUE(run.input_preserved) << run.explained;
    EXPECT_TRUE(run.guards_intact) << run.explained;
    EXPECT_TRUE(run.wrong_counts.empty()) << run.wrong_counts.front();
}

}  // namespace

void check_plan(const Problem& problem, uint64_t seed, int ranks_per_node) {
    check(problem, seed, machine_with(ranks_per_node));
}

void check_plan_on(const Machine& machine, const std::string& problem_text) {
    if (!sanitized_build_takes(problem_text)) return;
    const auto problem = Problem::parse(problem_text);
    ASSERT_TRUE(problem.ok()) << problem.status().message();
    check(problem.value(), 20260101, machine);
}

void check_plan(const std::string& problem_text) { check_plan_on(this_machine(), problem_text); }

}  // namespace spanfft::test
