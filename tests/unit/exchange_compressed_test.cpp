// Lossy coding and the exchange made of it: errors are measured and held to the bounds that are stated, on data of all
// scales; what is no number stays none; sizes depend on counts only.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "exchange/exchange.hpp"
#include "exchange/lossy.hpp"
#include "plan/planner.hpp"
#include "support/oracle.hpp"
#include "support/random.hpp"
#include "support/thread_comm.hpp"

namespace spanfft::test {
namespace {

template <class Real>
constexpr Precision precision_of() {
    return std::is_same_v<Real, float>    ? Precision::single
           : std::is_same_v<Real, double> ? Precision::dbl
                                          : Precision::extended;
}

template <class Real>
std::vector<Real> there_and_back(const Coding& coding, const std::vector<Real>& x) {
    const auto count = static_cast<index_t>(x.size());
    std::vector<unsigned char> coded(static_cast<size_t>(coded_bytes(coding, count)) + 1, 0xA5);
    encode(coding, precision_of<Real>(), count, x.data(), coded.data());
    EXPECT_EQ(coded.back(), 0xA5) << "written past the coded bytes";
    std::vector<Real> back(x.size());
    decode(coding, precision_of<Real>(), count, coded.data(), back.data());
    return back;
}

// Kinds of data: one scale, many scales in a block, a spike among small numbers, mostly zeros, whole blocks of
// different scales.
template <class Real>
std::vector<Real> random_data(Random& random, size_t count, int kind) {
    const int range = std::is_same_v<Real, float> ? 30 : 250;
    std::vector<Real> x(count);
    const double scale = std::pow(10.0, static_cast<double>(random.between(-range, range)));
    for (size_t i = 0; i < count; ++i) {
        double v = random.noise() * scale;
        if (kind == 1) v = random.noise() * std::pow(10.0, static_cast<double>(random.between(-range, range)));
        if (kind == 2 && i % 61 != 7) v *= 1e-5;
        if (kind == 3 && random.chance(0.9)) v = 0;
        if (kind == 4) v = random.noise() * std::pow(10.0, static_cast<double>(static_cast<int>(i / 64) % range));
        x[i] = static_cast<Real>(v);
    }
    return x;
}

template <class Real>
void expect_bound_kept(const Coding& coding, const std::vector<Real>& x) {
    const auto y = there_and_back(coding, x);
    const double bound = coding_bound(coding, precision_of<Real>());
    const long double smallest = std::numeric_limits<Real>::denorm_min();
    for (size_t first = 0; first < x.size(); first += 64) {
        const size_t last = std::min(x.size(), first + 64);
        long double most = 0, error = 0, norm = 0;
        for (size_t i = first; i < last; ++i) most = std::max(most, std::fabs(static_cast<long double>(x[i])));
        if (most == 0) most = 1;
        for (size_t i = first; i < last; ++i) {
            const long double d = static_cast<long double>(x[i]) - y[i];
            // Of a single number: an eighth of the bound, that is m/(2Q), of the largest one of its block.
            ASSERT_LE(std::fabs(d),
                      bound / 8 * most * 1.001L + smallest + 0x1p-24L * std::fabs(y[i]) * (sizeof(Real) == 4))
                << "number " << i << " is " << x[i] << ", was made " << y[i] << ", the largest is " << most;
            error += d / most * (d / most);
            norm += static_cast<long double>(x[i]) / most * (static_cast<long double>(x[i]) / most);
        }
        ASSERT_LE(std::sqrt(error), bound * std::sqrt(norm) + 8 * smallest / most) << "block at " << first;
    }
}

template <class Real>
void expect_bounds_kept(const std::vector<int>& bits) {
    Random random(51);
    SCOPED_TRACE(cat("seed ", random.seed()));
    for (const int b : bits) {
        for (int i = 0; i < 300; ++i) {
            const auto count = static_cast<size_t>(random.between(0, 300));
            expect_bound_kept({Coding::Way::bounded, b}, random_data<Real>(random, count, i % 5));
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

TEST(LossyCoding, KeepsItsBoundOnAnyDoubles) { expect_bounds_kept<double>({8, 16, 24, 32}); }
TEST(LossyCoding, KeepsItsBoundOnAnyFloats) { expect_bounds_kept<float>({8, 16, 24}); }

TEST(LossyCoding, KeepsItsBoundAtTheEndsOfTheRange) {
    constexpr double most = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::denorm_min();
    constexpr double normal = std::numeric_limits<double>::min();
    for (const int bits : {8, 16, 24, 32}) {
        const Coding coding{Coding::Way::bounded, bits};
        expect_bound_kept<double>(coding, {most, -most, most / 2, most / 3, 1, least});
        expect_bound_kept<double>(coding, {least, -least, 0, 3 * least, 17 * least});
        expect_bound_kept<double>(coding, {normal, normal / 3, -normal / 7, least, 1e-300, 1e-251, 1e-310});
        expect_bound_kept<double>(coding, {1e-249, 1e-250, 1e-260, -3e-251});
        expect_bound_kept<double>(coding, std::vector<double>(130, 0.0));
        expect_bound_kept<double>(coding, std::vector<double>(64, -1.0));
    }
    // What the bits can hold at all comes back as it was.
    const std::vector<double> exact{least, 0, -least};
    EXPECT_EQ(there_and_back(Coding{Coding::Way::bounded, 16}, exact), exact);
}

TEST(LossyCoding, HidesNothingThatIsNoNumber) {
    Random random(52);
    SCOPED_TRACE(cat("seed ", random.seed()));
    constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
    for (const int bits : {8, 16, 24, 32}) {
        const Coding coding{Coding::Way::bounded, bits};
        for (int i = 0; i < 100; ++i) {
            auto x = random_data<double>(random, static_cast<size_t>(random.between(1, 200)), i % 5);
            for (double& v : x) {
                if (random.chance(0.1)) v = random.pick(std::vector<double>{nan, infinity, -infinity});
            }
            if (i == 0) std::fill(x.begin(), x.end(), nan);
            const auto y = there_and_back(coding, x);
            double most = 0;
            for (double v : x) most = std::isfinite(v) ? std::max(most, std::fabs(v)) : most;
            for (size_t k = 0; k < x.size(); ++k) {
                if (std::isnan(x[k])) {
                    ASSERT_TRUE(std::isnan(y[k]));
                } else if (std::isinf(x[k])) {
                    ASSERT_EQ(x[k], y[k]);
                } else {
                    ASSERT_LE(std::fabs(x[k] - y[k]), coding_bound(coding, Precision::dbl) * most);
                }
            }
        }
    }
    const auto y = there_and_back(Coding(), std::vector<double>{nan, infinity, -infinity, 1.5, 1e300});
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_EQ((std::vector<double>(y.begin() + 1, y.end())),
              (std::vector<double>{infinity, -infinity, 1.5, infinity}));  // 1e300 is no float
}

TEST(LossyCoding, FloatsKeepHalfTheLastBitOfAFloat) {
    Random random(53);
    std::vector<long double> x(1000);
    for (auto& v : x) v = random.noise() * 1e5L + 1e-9L;
    const auto y = there_and_back(Coding(), x);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_LE(std::fabs(x[i] - y[i]), 0x1p-24L * std::fabs(x[i]));
}

TEST(LossyCoding, TakesTheFewestBitsThatKeepABound) {
    EXPECT_EQ(coding_for(0.04, Precision::dbl).value().bits, 8);
    EXPECT_EQ(coding_for(1e-3, Precision::dbl).value().bits, 16);
    EXPECT_EQ(coding_for(1e-6, Precision::dbl).value().bits, 24);
    EXPECT_EQ(coding_for(1e-8, Precision::dbl).value().bits, 32);
    EXPECT_EQ(coding_for(1e-6, Precision::single).value().bits, 24);
    EXPECT_EQ(coding_for(1e-10, Precision::dbl).status().code(), Code::unsupported);
    EXPECT_EQ(coding_for(1e-7, Precision::single).status().code(), Code::unsupported);
    EXPECT_EQ(coding_for(1e-3, Precision::extended).status().code(), Code::unsupported);
    // 64 doubles in 16 bits: 8 bytes of scale and 128.
    EXPECT_EQ(coded_bytes({Coding::Way::bounded, 16}, 64), 136);
    EXPECT_EQ(coded_bytes({Coding::Way::bounded, 24}, 65), 2 * 8 + 65 * 3);
    EXPECT_EQ(coded_bytes({Coding::Way::bounded, 8}, 0), 0);
    EXPECT_EQ(coded_bytes(Coding(), 10), 40);
}

ExchangeSpec slab(const std::string& parameter, Precision precision = Precision::dbl) {
    const Layout from({8, 8}, {{4, 0, Division::block}});
    ExchangeSpec spec{from, from.with_division(0, 1), static_cast<index_t>(2 * real_bytes(precision))};
    spec.precision = precision;
    spec.parameter = parameter;
    return spec;
}

TEST(CompressedExchange, SaysWhatIsWrongWithItsParameter) {
    const auto* compressed = find_exchange("compressed").strategy;
    for (const std::string bad : {"double", "0", "-1e-3", "1", "nan", "1e-6x", "inf"}) {
        const Status status = compressed->check(slab(bad));
        EXPECT_EQ(status.code(), Code::invalid_argument) << bad;
        EXPECT_NE(status.message().find("'" + bad + "'"), std::string::npos) << status.message();
        EXPECT_NE(status.message().find("compressed:1e-6"), std::string::npos) << status.message();
    }
    for (const std::string good : {"", "float", "1e-6", "0.01"})
        EXPECT_TRUE(compressed->check(slab(good)).ok()) << good;
    EXPECT_EQ(compressed->check(slab("float", Precision::single)).code(), Code::unsupported);
    EXPECT_NE(compressed->check(slab("", Precision::single)).message().find("already"), std::string::npos);
    EXPECT_TRUE(compressed->check(slab("1e-3", Precision::single)).ok());
    EXPECT_TRUE(compressed->check(slab("float", Precision::extended)).ok());
    EXPECT_EQ(compressed->check(slab("1e-12")).code(), Code::unsupported);
}

TEST(CompressedExchange, PredictsTheBytesOfItsCoding) {
    // 2x8 elements a rank, 2x2 to each of 3 others: 8 doubles each.
    const auto* compressed = find_exchange("compressed").strategy;
    EXPECT_EQ(compressed->predict(slab("float"), 1).sent_bytes, 3 * 8 * 4);
    EXPECT_EQ(compressed->predict(slab("1e-3"), 1).sent_bytes, 3 * (8 + 8 * 2));
    EXPECT_EQ(compressed->predict(slab("1e-3"), 1).messages, 3);
    EXPECT_EQ(compressed->predict(slab("1e-3"), 1).memory_bytes, 2 * (3 * 64 + 3 * 24) + 2 * 64);
}

// Large enough parts, of long and of short runs, that they are gathered in many slabs with rests in between.
TEST(CompressedExchange, KeepsItsBoundOverManySlabs) {
    for (const Extents& shape : std::vector<Extents>{{3, 150, 301}, {301, 5, 90}, {2, 9000, 7}, {90, 100, 31}}) {
        for (const std::string parameter : {"float", "1e-6", "1e-3"}) {
            const Layout from(shape, {{3, 0, Division::block}});
            ExchangeSpec spec{from, from.with_division(0, shape[2] % 2 ? 2 : 1), 16};
            spec.parameter = parameter;
            const double bound = parameter == "float" ? 0x1p-24 : std::stod(parameter);
            const auto value = [](index_t g, int k) { return std::sin(static_cast<double>(g * 2 + k)); };
            ThreadWorld world(3);
            std::mutex mutex;
            world.run([&](int rank, Comm& comm) {
                auto exchange = find_exchange("compressed").strategy->bind({comm, spec, rank, nullptr});
                std::vector<double> source, target(static_cast<size_t>(spec.to.local_elems(rank) * 2), 9);
                for_each_index(shape, spec.from.patch(rank), [&](index_t g) {
                    source.push_back(value(g, 0));
                    source.push_back(value(g, 1));
                });
                const Status status = exchange.value()->run(source.data(), target.data());
                double error = 0, norm = 0;
                size_t at = 0;
                for_each_index(shape, spec.to.patch(rank), [&](index_t g) {
                    for (int k = 0; k < 2; ++k, ++at) {
                        error += std::pow(target[at] - value(g, k), 2);
                        norm += std::pow(value(g, k), 2);
                    }
                });
                const std::lock_guard lock(mutex);
                EXPECT_TRUE(status.ok()) << status.message();
                EXPECT_LE(std::sqrt(error), bound * std::sqrt(norm)) << shape_string(shape) << " " << parameter;
                EXPECT_GT(error, 0);
            });
        }
    }
}

// Relative L2 error of a whole transform: c2c is unitary but for its scale, so that the errors of its exchanges add.
TEST(CompressedPlan, TransformsHaveAtMostTheErrorsOfTheirExchanges) {
    for (const int ranks : {2, 3, 4, 7}) {
        for (const std::string output : {"natural", "exchanged"}) {
            for (const std::string parameter : {"float", "1e-2", "1e-3", "1e-6"}) {
                for (const std::string direction : {"forward", "backward"}) {
                    const auto problem = Problem::parse(cat("c2c 12x10x9 threads=1 ranks=", ranks, " output=", output,
                                                            " ", direction, " exchange=compressed:", parameter))
                                             .value();
                    SCOPED_TRACE(problem.print());
                    Random random(54);
                    const Wides input = random_input(random, problem);
                    const PlanRun run = run_on_threads(problem, input, 2);
                    ASSERT_TRUE(run.status.ok()) << run.status.message();
                    EXPECT_TRUE(run.wrong_counts.empty()) << run.wrong_counts.front();
                    EXPECT_TRUE(run.input_preserved);
                    const auto plan = Planner(this_machine()).plan(problem);
                    int exchanges = 0;
                    for (const auto& step : plan.value()->steps) exchanges += step->type() == std::string("Exchange");
                    const double bound = parameter == "float" ? 0x1p-24 : std::stod(parameter);
                    const double error = relative_error(run.output, expected(problem, input));
                    EXPECT_LE(error, exchanges * bound + 1e-14);
                    // Rounding errors have either sign: even the sum stays below the bound of one.
                    EXPECT_LE(error, bound + 1e-14);
                    EXPECT_GT(error, 0);
                }
            }
        }
    }
}

TEST(CompressedPlan, IsNeverChosenUnasked) {
    Machine machine = this_machine();
    machine.exchanges["compressed"] = {{0, 0, {}}, {0, 0, {}}, false};
    const Problem problem = Problem::parse("c2c 64x64x64 ranks=4 threads=1").value();
    EXPECT_EQ(Planner(machine).plan(problem).value()->problem.exchange.find("compressed"), std::string::npos);
}

TEST(CompressedPlan, OfFloatsIsRefusedWhereItSavesNothing) {
    const Problem problem = Problem::parse("c2c 8x8 float ranks=2 threads=1 exchange=compressed").value();
    const auto plan = Planner(this_machine()).plan(problem);
    EXPECT_EQ(plan.status().code(), Code::unsupported);
    EXPECT_NE(plan.status().message().find("float already"), std::string::npos) << plan.status().message();
}

}  // namespace
}  // namespace spanfft::test
