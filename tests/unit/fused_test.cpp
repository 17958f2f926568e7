// Work that is fused into transforms of files: windows, power, stored types and callbacks, with every disk solver.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <thread>

#include "plan/window.hpp"
#include "solvers/table.hpp"
#include "support/store_run.hpp"

namespace spanfft::test {
namespace {

constexpr double kPi = 3.14159265358979323846;

// From the definitions (Harris 1978, periodic), without the library's shortcuts.
long double window_by_definition(const std::string& name, index_t j, index_t n) {
    if (n == 1) return 1;
    const long double t = static_cast<long double>(j) / static_cast<long double>(n);
    const auto cosines = [&](std::initializer_list<double> a) {
        long double sum = 0, sign = 1;
        int k = 0;
        for (double each : a) sum += sign * each * std::cos(2 * std::acos(-1.0L) * k++ * t), sign = -sign;
        return sum;
    };
    if (name == "hann") return cosines({0.5, 0.5});
    if (name == "hamming") return cosines({0.54, 0.46});
    if (name == "blackman") return cosines({0.42, 0.5, 0.08});
    if (name == "nuttall") return cosines({0.3635819, 0.4891775, 0.1365995, 0.0106411});
    if (name == "blackmanharris") return cosines({0.35875, 0.48829, 0.14128, 0.01168});
    if (name == "flattop") return cosines({0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368});
    const long double beta = std::stod(name.substr(name.find(':') + 1));
    const long double u = 2 * t - 1;
    return std::cyl_bessel_il(0, beta * std::sqrt(1 - u * u)) / std::cyl_bessel_il(0, beta);
}

struct FusedCase {
    const char* solver;
    const char* problem;  // without memory=
    const char* memory;
    index_t input_offset = 0, output_offset = 0;
};

void PrintTo(const FusedCase& c, std::ostream* out) { *out << c.solver << ": " << c.problem << " memory=" << c.memory; }

SolverFunction solver_named(const std::string& name) {
    if (name == "two_sweeps") return solve_two_sweeps;
    if (name == "many_sweeps") return solve_many_sweeps;
    if (name == "chirp_sweeps") return solve_chirp_sweeps;
    if (name == "superlevels") return solve_superlevels;
    if (name == "axis_sweeps") return solve_axis_sweeps;
    return solve_file_in_memory;
}

StoreRun run_case(const FusedCase& c, const std::string& keys, const BlockCallbacks& callbacks = {}) {
    return run_on_stores(std::string(c.problem) + " memory=" + c.memory + " " + keys, solver_named(c.solver),
                         c.input_offset, c.output_offset, nullptr, -1, 0, callbacks);
}

Values windowed(const Problem& problem, const Values& input) {
    if (problem.window.empty()) return input;
    const Extents shape = problem.input_shape();
    const index_t n = shape[static_cast<size_t>(problem.axes.back())];
    const index_t inner = product(shape, problem.axes.back() + 1, problem.ndim());
    Values result = input;
    for (size_t i = 0; i < input.size(); ++i) {
        const auto j = static_cast<index_t>(i) / inner % n;
        const auto factor = static_cast<Wide>(window_by_definition(problem.window, j, n));
        result[i] = {input[i].re * factor, input[i].im * factor};
    }
    return result;
}

void expect_counts(const StoreRun& run) {
    expect_as_predicted(run);
    const Problem& problem = run.plan->problem;
    const index_t stored = product(problem.output_shape()) * static_cast<index_t>(problem.stored_elem().bytes());
    EXPECT_EQ(run.plan->output_file_bytes, stored);
    if (problem.stores_other() && run.plan->solver != "superlevels") {  // whose last step is several sweeps
        EXPECT_EQ(run.predicted.back().disk_written_bytes, stored);
    }
}

class Fused : public testing::TestWithParam<FusedCase> {
  protected:
    bool computes_complex() const {
        return Problem::parse(std::string(GetParam().problem)).value().output_elem().complex;
    }
    std::string narrow_type() const {  // of a smaller precision
        const Problem p = Problem::parse(std::string(GetParam().problem)).value();
        const auto less = p.precision == Precision::extended ? Precision::dbl : Precision::single;
        return elem_name({less, p.output_elem().complex});
    }
    void expect_right(const std::string& keys) {
        const StoreRun run = run_case(GetParam(), keys);
        ASSERT_TRUE(run.status.ok()) << keys << ": " << run.status.message();
        expect_stored(run.plan->problem, run.output,
                      direct_transform(run.plan->problem, windowed(run.plan->problem, run.input)));
        expect_counts(run);
    }
    // A type that holds more than what is computed.
    void expect_refused(const ElemType& type) {
        const auto parsed = Problem::parse(cat(GetParam().problem, " memory=1MiB store=", elem_name(type)));
        ASSERT_EQ(parsed.status().code(), Code::invalid_argument);
        EXPECT_NE(parsed.status().message().find("holds more than"), std::string::npos) << parsed.status().message();
    }
};

TEST_P(Fused, PowerIsTheSquareOfTheMagnitude) { expect_right("power"); }

TEST_P(Fused, PowerInASmallerTypeOfAScaledOutput) {
    const Problem p = Problem::parse(std::string(GetParam().problem)).value();
    const auto less = p.precision == Precision::extended ? Precision::dbl : Precision::single;
    expect_right(cat("power scale=0.125 store=", elem_name({less, false})));
}

TEST_P(Fused, ASmallerTypeIsTheRoundedOutput) {
    const Problem p = Problem::parse(std::string(GetParam().problem)).value();
    if (p.precision == Precision::single) return expect_refused({Precision::dbl, computes_complex()});
    expect_right("store=" + narrow_type());
}

TEST_P(Fused, AWindowIsOnTheWayIn) {
    const Problem p = Problem::parse(std::string(GetParam().problem)).value();
    if (p.halves() && !p.forward()) {
        const auto refused = Problem::parse(std::string(GetParam().problem) + " memory=1MiB window=hann");
        ASSERT_EQ(refused.status().code(), Code::unsupported);
        EXPECT_NE(refused.status().message().find("half of a spectrum"), std::string::npos);
        return;
    }
    expect_right("window=hann");
    expect_right("window=kaiser:6.5 power");
}

// Visits of each element, whoever calls.
struct Visits {
    explicit Visits(index_t elems) : of(static_cast<size_t>(elems)) {}
    std::vector<std::atomic<int>> of;
    void add(const Block& block) {
        for (index_t i = 0; i < block.count; ++i) of.at(static_cast<size_t>(block.first + i)).fetch_add(1);
    }
    bool each_once() const {
        for (const auto& n : of) {
            if (n != 1) return false;
        }
        return true;
    }
};

template <class T>
void scale_by_place(const Block& block, int parts) {  // times 1 + first digit of the place
    T* const data = static_cast<T*>(block.data);
    for (index_t i = 0; i < block.count * parts; ++i) data[i] *= static_cast<T>(1 + (block.first + i / parts) % 7);
}

void scale_block(const Block& block, ElemType elem) {
    const int parts = elem.complex ? 2 : 1;
    if (elem.precision == Precision::single) scale_by_place<float>(block, parts);
    if (elem.precision == Precision::dbl) scale_by_place<double>(block, parts);
    if (elem.precision == Precision::extended) scale_by_place<long double>(block, parts);
}

Values scaled_by_place(Values values) {
    for (size_t i = 0; i < values.size(); ++i) {
        const auto factor = static_cast<Wide>(1 + i % 7);
        values[i] = {values[i].re * factor, values[i].im * factor};
    }
    return values;
}

TEST_P(Fused, CallbacksHaveEachElementOnceEachWay) {
    const Problem p = Problem::parse(std::string(GetParam().problem)).value().as_one_array();
    for (const bool concurrent : {false, true}) {
        Visits in(product(p.input_shape())), out(product(p.output_shape()));
        std::atomic<int> inside{0}, most{0};
        const auto counted = [&](Visits& visits, ElemType elem) {
            return [&visits, &inside, &most, elem](Block& block) {
                const int now = ++inside;
                for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
                }
                visits.add(block);
                scale_block(block, elem);
                --inside;
                return Status();
            };
        };
        BlockCallbacks callbacks{counted(in, p.input_elem()), counted(out, p.output_elem()), concurrent};
        const StoreRun run = run_case(GetParam(), "", callbacks);
        ASSERT_TRUE(run.status.ok()) << run.status.message();
        EXPECT_EQ(in.each_once(), !run.plan->reads_twice);
        EXPECT_TRUE(out.each_once());
        if (!concurrent) {
            EXPECT_EQ(most, 1);
        }
        const Values exact = direct_transform(run.plan->problem, scaled_by_place(run.input));
        const Values expected = scaled_by_place(exact);
        // Outputs grow by up to 7, and so may their errors.
        EXPECT_LT(test::distance(run.output, expected),
                  7 * allowed_error(p) * precision_eps(p.precision) * 5 * norm_of(exact));
        expect_counts(run);
    }
}

TEST_P(Fused, ACallbackFillsWhatIsStored) {
    const Problem p = Problem::parse(std::string(GetParam().problem)).value();
    if (!computes_complex()) return expect_refused({p.precision, true});
    const std::string keys = cat("store=", elem_name({p.precision, false}));
    const auto real_parts = [&](Block& block) {
        const auto copy = [&](auto zero) {
            using T = decltype(zero);
            for (index_t i = 0; i < block.count; ++i)
                static_cast<T*>(block.stored)[i] = static_cast<const T*>(block.data)[2 * i];
        };
        if (p.precision == Precision::single) copy(float());
        if (p.precision == Precision::dbl) copy(double());
        if (p.precision == Precision::extended) copy(static_cast<long double>(0));
        block.filled = true;
        return Status();
    };
    for (const bool concurrent : {false, true}) {
        const StoreRun run = run_case(GetParam(), keys, {{}, real_parts, concurrent});
        ASSERT_TRUE(run.status.ok()) << run.status.message();
        Values exact = direct_transform(run.plan->problem, run.input);
        const double limit = norm_of(exact);
        for (auto& v : exact) v.im = 0;
        EXPECT_LT(test::distance(run.output, exact), 8 * allowed_error(p) * precision_eps(p.precision) * limit);
        expect_counts(run);
    }
    const StoreRun silent = run_case(GetParam(), keys, {{}, [](Block&) { return Status(); }, false});
    EXPECT_EQ(silent.status.code(), Code::callback_failed);
    EXPECT_NE(silent.status.message().find("must fill"), std::string::npos) << silent.status.message();
    const StoreRun none = run_case(GetParam(), keys);
    EXPECT_EQ(none.status.code(), Code::invalid_argument);
    EXPECT_NE(none.status.message().find("power"), std::string::npos) << none.status.message();
}

TEST_P(Fused, AFailingCallbackEndsTheRunWithItsSentence) {
    for (const bool on_input : {true, false}) {
        std::atomic<int> calls{0};
        const auto fails = [&](Block& block) -> Status {
            ++calls;
            if (block.first == 0) return error(Code::callback_failed, "element ", block.first, " is not wanted");
            return Status();
        };
        BlockCallbacks callbacks;
        (on_input ? callbacks.on_input : callbacks.on_output) = fails;
        const StoreRun run = run_case(GetParam(), "", callbacks);
        EXPECT_EQ(run.status.code(), Code::callback_failed);
        EXPECT_EQ(run.status.message(), "element 0 is not wanted");
        EXPECT_GE(calls, 1);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Solvers, Fused,
    testing::Values(FusedCase{"file_in_memory", "c2c 9x10x11 forward double", "1MiB", 128, 4096},
                    FusedCase{"file_in_memory", "r2c 7x15 forward float", "1MiB"},
                    FusedCase{"file_in_memory", "c2r 31 backward longdouble", "1MiB"},
                    FusedCase{"file_in_memory", "dct2,dst1 6x9 forward double axes=0,1", "1MiB", 8},
                    FusedCase{"two_sweeps", "c2c 1155 forward double", "88KiB", 128, 4096},
                    FusedCase{"two_sweeps", "c2c 1024 backward float norm=ortho", "88KiB", 128},
                    FusedCase{"two_sweeps", "c2c 16384 forward double", "400KiB", 128, 4096},
                    FusedCase{"two_sweeps", "r2c 1155 forward double", "88KiB", 80},
                    FusedCase{"two_sweeps", "r2c 1530 forward float norm=forward", "88KiB", 0, 4096},
                    FusedCase{"two_sweeps", "r2c 3x2x105 forward longdouble axes=2", "88KiB", 16},
                    FusedCase{"two_sweeps", "c2r 1155 backward double", "88KiB", 80, 4096},
                    FusedCase{"two_sweeps", "c2r 2x3x210 backward float axes=2", "88KiB", 8},
                    FusedCase{"two_sweeps", "dct1 501 forward double", "88KiB", 8, 4096},
                    FusedCase{"two_sweeps", "dct2 525 forward float", "88KiB"},
                    FusedCase{"two_sweeps", "dct3 525 forward double", "128KiB"},
                    FusedCase{"two_sweeps", "dst4 2x3x64 forward double axes=2", "88KiB"},
                    FusedCase{"many_sweeps", "c2c 1155 forward double", "72KiB", 128, 4096},
                    FusedCase{"many_sweeps", "c2c 1024 backward double", "88KiB", 0, 128},
                    FusedCase{"many_sweeps", "c2c 3x2x480 forward float axes=2", "72KiB"},
                    FusedCase{"many_sweeps", "r2c 1155 forward double", "88KiB"},
                    FusedCase{"many_sweeps", "r2c 1024 forward float", "88KiB", 128, 4096},
                    FusedCase{"many_sweeps", "c2r 1155 backward double", "88KiB"},
                    FusedCase{"chirp_sweeps", "c2c 521 forward double", "128KiB", 128, 4096},
                    FusedCase{"chirp_sweeps", "r2c 2x523 forward float axes=1", "128KiB"},
                    FusedCase{"chirp_sweeps", "c2r 521 backward double", "128KiB"},
                    FusedCase{"chirp_sweeps", "dct2 521 forward double", "128KiB", 8},
                    FusedCase{"superlevels", "c2c 1024 forward double", "24KiB", 128, 4096},
                    FusedCase{"superlevels", "c2c 1024 backward float", "16KiB"},
                    FusedCase{"axis_sweeps", "c2c 17x19x23 forward double", "80KiB", 128, 4096},
                    FusedCase{"axis_sweeps", "c2c 64x48 forward float axes=0", "60KiB"},
                    FusedCase{"axis_sweeps", "r2c 24x25x26 forward double", "120KiB", 0, 128},
                    FusedCase{"axis_sweeps", "c2r 24x25x26 backward float", "120KiB", 64, 4096},
                    FusedCase{"axis_sweeps", "r2c 40x48 forward double axes=1,0 threads=1", "28KiB", 128, 4096},
                    FusedCase{"axis_sweeps", "c2r 24x25x26 backward float axes=2,0,1", "60KiB", 64, 4096},
                    FusedCase{"axis_sweeps", "dct2,c2c 32x33 forward double axes=0,1", "60KiB"},
                    FusedCase{"axis_sweeps", "c2c 40x31 forward double axes=1", "60KiB", 8, 0}));

// A raw file may hold its array at any byte: pieces of long runs must not cut an element.
TEST(FusedOffsets, RunsOfManyMegabytesAreCutBetweenElements) {
    const FusedCase odd{"axis_sweeps", "c2c 3x300000 forward float axes=0", "64MiB", 4, 0};
    Visits visits(900000);
    const auto adds = [&](Block& block) {
        visits.add(block);
        return Status();
    };
    const StoreRun run = run_case(odd, "power", {adds, {}, true});
    ASSERT_TRUE(run.status.ok()) << run.status.message();
    EXPECT_TRUE(visits.each_once());
    expect_stored(run.plan->problem, run.output, direct_transform(run.plan->problem, run.input));
    expect_counts(run);
}

TEST(FusedThreads, OneThreadMakesAllCallsUnlessTheyAreDeclaredFitForMore) {
    std::set<std::thread::id> callers;  // no lock: that is what is promised
    const auto notes = [&](Block&) {
        callers.insert(std::this_thread::get_id());
        return Status();
    };
    const FusedCase c{"two_sweeps", "c2c 16384 forward double", "400KiB"};
    const StoreRun run = run_case(c, "", {notes, notes, false});
    ASSERT_TRUE(run.status.ok()) << run.status.message();
    EXPECT_EQ(callers.size(), 1U);
    EXPECT_EQ(callers.count(std::this_thread::get_id()), 0U);
}

// To a few units of rounding. In long double Kaiser's has as many more as beta is, by which I0 enlarges those of its
// argument, here and in the reference.
TEST(WindowTest, PointsAreThoseOfTheDefinition) {
    for (const char* name : {"hann", "hamming", "blackman", "nuttall", "blackmanharris", "flattop", "kaiser:0",
                             "kaiser:8.6", "kaiser:14", "kaiser:40", "kaiser:500"}) {
        auto window = Window::parse(name);
        ASSERT_TRUE(window.ok()) << window.status().message();
        const char* colon = std::strchr(name, ':');
        const double units = 4, wide_units = 8 + (colon ? std::stod(colon + 1) : 0);
        for (const index_t n : {1, 2, 3, 64, 65, 1000}) {
            window.value().prepare(n);
            std::vector<double> points(static_cast<size_t>(n));
            std::vector<long double> wide(static_cast<size_t>(n));
            window.value().fill(0, n, points.data());
            window.value().fill(0, n, wide.data());
            for (index_t j = 0; j < n; ++j) {
                const long double exact = window_by_definition(name, j, n);
                const auto i = static_cast<size_t>(j);
                EXPECT_LE(std::abs(points[i] - static_cast<double>(exact)), units * precision_eps(Precision::dbl))
                    << name << " " << j;
                EXPECT_LE(static_cast<double>(std::abs(wide[i] - exact)),
                          wide_units * precision_eps(Precision::extended))
                    << name << " " << j;
            }
        }
    }
}

TEST(WindowTest, PointsDoNotDependOnTheCallsCuts) {
    auto window = Window::parse("blackman").value();
    const index_t n = (index_t{1} << 33) + 7, first = n / 3;
    window.prepare(n);
    std::vector<double> whole(500), cut(500);
    window.fill(first, 500, whole.data());
    for (index_t at = 0; at < 500;) {
        const index_t count = std::min<index_t>(1 + at % 37, 500 - at);
        window.fill(first + at, count, cut.data() + at);
        at += count;
    }
    EXPECT_EQ(whole, cut);
    const double t = static_cast<double>(first) / static_cast<double>(n);
    EXPECT_NEAR(whole[0], 0.42 - 0.5 * std::cos(2 * kPi * t) + 0.08 * std::cos(4 * kPi * t), 1e-15);
}

TEST(FusedProblem, BadValuesAreNamedWithTheChoices) {
    const auto message = [](const std::string& keys) {
        const auto parsed = Problem::parse("c2c 64 float memory=1MiB " + keys);
        return parsed.ok() ? std::string("accepted") : parsed.status().message();
    };
    EXPECT_EQ(message("window=foo"),
              "window=foo is not known; use one of hann, hamming, blackman, nuttall, blackmanharris, flattop, "
              "kaiser:BETA");
    EXPECT_NE(message("window=kaiser:x").find("beta must be a number"), std::string::npos);
    EXPECT_NE(message("window=kaiser:").find("beta must be a number"), std::string::npos);
    EXPECT_NE(message("store=int8").find("float32, float64, longdouble, complex64"), std::string::npos);
    EXPECT_NE(message("store=complex128").find("holds more than the complex64"), std::string::npos);
    EXPECT_NE(message("store=complex64 power").find("use float32"), std::string::npos);
    EXPECT_NE(message("scale=0").find("scale is 0"), std::string::npos);
    EXPECT_NE(message("scale=x").find("not a number (scale)"), std::string::npos);
    const auto in_memory = Problem::parse("c2c 64 power");
    EXPECT_NE(in_memory.status().message().find("give memory="), std::string::npos);
    for (const char* text : {"c2c 64 forward float memory=1048576 window=kaiser:8.5 scale=0.1 store=float64 power",
                             "r2c 64 forward double memory=1048576 store=complex64"}) {
        const auto parsed = Problem::parse(text);
        ASSERT_TRUE(parsed.ok()) << parsed.status().message();
        EXPECT_EQ(parsed.value().print(), text);
    }
}

// A float's square may not fit a float; a double holds it.
TEST(FusedProblem, PowerOfFloatsFitsADouble) {
    const StoreRun run =
        run_on_stores("c2c 64 forward float memory=1MiB scale=1e25 power store=float64", solve_file_in_memory);
    ASSERT_TRUE(run.status.ok()) << run.status.message();
    expect_stored(run.plan->problem, run.output, direct_transform(run.plan->problem, run.input));
}

}  // namespace
}  // namespace spanfft::test
