// Long lines in two sweeps (engine/long_line.hpp) on every engine: against the definition, at places and addresses of
// all sorts; and when they are chosen, with what memory.
//
// plan_long_line is called directly with short lengths, whose definition is quick to sum, and through plan_local with
// long ones, whose spectrum is known: a few impulses, and single outputs of noise.
#include "engine/long_line.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "engine/rates.hpp"
#include "engine/spec.hpp"
#include "engine/trust.hpp"
#include "support/allocations.hpp"
#include "support/direct_sum.hpp"
#include "support/random.hpp"
#include "support/sanitized.hpp"

namespace spanfft {
namespace {

LocalSpec line(index_t n, Kernel kernel = Kernel::c2c_forward, Precision precision = Precision::dbl) {
    LocalSpec spec;
    spec.kernel = kernel;
    spec.precision = precision;
    spec.transform = {{n, 1, 1}};
    spec.sweeps = true;
    spec.caches = Caches();  // whatever this machine has: they decide what is worth two sweeps
    return spec;
}

struct Case {
    const char* name;
    index_t first, second;
    std::vector<LoopDim> batch;
    bool in_place = false;
    bool turns = false;  // for c2r the factors change places
};

std::vector<Case> cases() {
    return {
        {"square", 64, 64, {}},
        {"wide", 16, 128, {}},
        {"tall", 128, 16, {}},
        {"powers_of_3", 27, 81, {}},
        {"odd_factors", 45, 77, {}},
        {"primes", 13, 101, {}},
        {"even_and_odd", 18, 25, {}},
        {"one_row", 1, 96, {}},
        {"one_column", 96, 1, {}},
        {"two_by_two", 2, 2, {}},
        {"one_point", 1, 1, {}},
        {"chunks_of_factors", 130, 70, {}},
        {"batch", 32, 24, {{3, 768, 768}}},
        {"batch_with_gaps", 20, 25, {{3, 501, 502}}},
        {"batch_of_batches", 10, 12, {{2, 1000, 700}, {3, 130, 120}}},
        {"in_place", 48, 50, {}, true},
        {"in_place_batch", 33, 16, {{3, 530, 530}}, true},
        {"turned_square", 48, 48, {}, true, true},
        {"turned_squares_of_bands", 70, 70, {}, true, true},
        {"turned_two_bands_thrice", 66, 198, {}, true, true},
        {"turned_wide", 16, 128, {}, true, true},
        {"turned_odd", 15, 45, {}, true, true},
        {"turned_prime", 13, 13, {}, true, true},
        {"turned_row", 1, 96, {}, true, true},
        {"turned_two_by_two", 2, 2, {}, true, true},
        {"turned_point", 1, 1, {}, true, true},
        {"turned_batch", 18, 36, {{3, 655, 655}}, true, true},
    };
}

// Real lines are twice as long, and lie a complex number further apart: so far that they can be done in place.
LocalSpec spec_of(const Case& c, Kernel kernel, Precision precision, int threads) {
    const bool real = kernel == Kernel::r2c || kernel == Kernel::c2r;
    LocalSpec spec = line(c.first * c.second * (real ? 2 : 1), kernel, precision);
    spec.batch = c.batch;
    for (LoopDim& loop : spec.batch) {
        if (!real) continue;
        loop.in_stride = (loop.in_stride + 1) * (kernel == Kernel::r2c ? 2 : 1);
        loop.out_stride = (loop.out_stride + 1) * (kernel == Kernel::c2r ? 2 : 1);
    }
    spec.in_place = c.in_place;
    spec.threads = threads;
    return spec;
}

void expect_accurate(const Engine& engine, const Case& c, const LocalSpec& spec, bool stream) {
    SCOPED_TRACE(testing::Message() << engine.name() << " " << c.name << " " << kernel_name(spec.kernel) << " "
                                    << precision_name(spec.precision) << (stream ? " streamed" : ""));
    LongLineForm form{c.first, c.second, stream, 0, c.turns};
    if (c.turns && spec.kernel == Kernel::c2r) std::swap(form.first, form.second);
    auto fft = plan_long_line(engine, spec, form);
    ASSERT_TRUE(fft.ok()) << fft.status().message();
    const test::Outcome outcome = test::run(spec, *fft.value());
    EXPECT_LE(outcome.error, test::rule(spec));
    EXPECT_TRUE(outcome.surroundings_kept);
    EXPECT_TRUE(outcome.input_preserved || c.in_place);
}

TEST(EngineLongLine, ResultsMeetTheAccuracyRule) {
    int turn = 0;
    for (const auto& engine : engines()) {
        for (const Case& c : cases()) {
            for (const Kernel kernel : {Kernel::c2c_forward, Kernel::c2c_backward, Kernel::r2c, Kernel::c2r}) {
                for (const Precision precision : {Precision::dbl, Precision::single}) {
                    if (!engine->has_precision(precision)) continue;
                    LocalSpec spec = spec_of(c, kernel, precision, turn % 2 ? 3 : 1);
                    spec.scale = turn % 3 ? 1 : 1 / 3.0L;
                    expect_accurate(*engine, c, spec, turn++ % 5 < 2);
                }
            }
        }
    }
}

// Numbers that lie anywhere: `shift` reals behind an aligned address. Groups of columns then begin in the middle.
TEST(EngineLongLine, AnyAddressGivesTheSame) {
    constexpr index_t kFirst = 40, kSecond = 36, kPoints = kFirst * kSecond;
    for (const bool stream : {false, true}) {
        auto fft = plan_long_line(*engines()[0], line(kPoints), {kFirst, kSecond, stream, 0});
        ASSERT_TRUE(fft.ok()) << fft.status().message();
        std::vector<double> in(2 * kPoints + 8), out(in.size());
        for (const index_t shift_in : {0, 1, 2, 5}) {
            for (const index_t shift_out : {0, 1, 3, 4, 6}) {
                for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<double>((i * 37 + 11) % 101) / 64 - 0.75;
                fft.value()->execute(in.data() + shift_in, out.data() + shift_out);
                std::vector<test::WideComplex> given, got;
                for (index_t p = 0; p < kPoints; ++p) {
                    const auto i = static_cast<size_t>(2 * p + shift_in), o = static_cast<size_t>(2 * p + shift_out);
                    given.push_back({in[i], in[i + 1]});
                    got.push_back({out[o], out[o + 1]});
                }
                const auto expected = test::direct_sum(Kernel::c2c_forward, kPoints, given);
                EXPECT_LE(test::relative_error(got, expected), test::rule(line(kPoints)))
                    << stream << " " << shift_in << " " << shift_out;
            }
        }
    }
}

// A signal of which some outputs are known.
struct Exact {
    std::vector<test::WideComplex> in, out;
    std::vector<index_t> bins;
};

Exact impulses(index_t n) {
    const std::vector<index_t> places{0, 1, n / 3, n - 1};
    const std::vector<test::WideComplex> heights{{0.75, -1}, {0.5, 2}, {-3, 0.25}, {1, 1}};
    Exact exact;
    exact.in.resize(static_cast<size_t>(n));
    for (size_t i = 0; i < places.size(); ++i) exact.in[static_cast<size_t>(places[i])] = heights[i];
    exact.out = test::tones(n, places, heights);
    for (index_t k = 0; k < n; ++k) exact.bins.push_back(k);
    return exact;
}

constexpr int kSampledBins = 48;  // 96 real numbers: their root mean square strays by a fourteenth

Exact noise(index_t n) {
    test::Random random(4711);
    Exact exact;
    for (index_t p = 0; p < n; ++p) {
        const double re = random.noise(), im = random.noise();
        exact.in.push_back({re, im});
    }
    for (int i = 0; i < kSampledBins; ++i) exact.bins.push_back(random.between(0, n - 1));
    exact.out = test::long_outputs(Kernel::c2c_forward, n, exact.in, exact.bins);
    return exact;
}

// The root mean square of the error of the outputs that are known, of that of all outputs (Parseval).
template <class T>
double error_of(const LocalFft& fft, const Exact& exact) {
    std::vector<T> in, out(2 * exact.in.size());
    long double norm = 0, error = 0;
    for (const test::WideComplex& x : exact.in) {
        in.push_back(static_cast<T>(x.re));
        in.push_back(static_cast<T>(x.im));
        norm += static_cast<long double>(x.re * x.re + x.im * x.im);
    }
    fft.execute(in.data(), out.data());
    for (size_t i = 0; i < exact.bins.size(); ++i) {
        const auto k = static_cast<size_t>(2 * exact.bins[i]);
        const auto re = static_cast<long double>(exact.out[i].re) - out[k],
                   im = static_cast<long double>(exact.out[i].im) - out[k + 1];
        error += re * re + im * im;
    }
    return static_cast<double>(std::sqrt(error / static_cast<long double>(exact.bins.size()) / norm));
}

TEST(EngineLongLine, LongLinesMeetTheAccuracyRule) {
    for (const index_t n : {index_t{1} << 20, index_t{3} * 5 * 7 * 11 * 13 * 64}) {
        SCOPED_TRACE(n);
        std::vector<Exact> references{impulses(n)};
        if (test::kPointStep == 1) references.push_back(noise(n));  // whose outputs take most of the time
        LocalSpec spec = line(n);
        spec.threads = 2;
        for (const auto& engine : engines()) {
            const auto form = long_line_form(*engine, spec, prior_rates());
            ASSERT_TRUE(form) << engine->name();
            EXPECT_EQ(form->first * form->second, n);
            auto fft = plan_long_line(*engine, spec, *form);
            ASSERT_TRUE(fft.ok()) << fft.status().message();
            for (const Exact& exact : references)
                EXPECT_LE(error_of<double>(*fft.value(), exact), test::rule(spec)) << engine->name();
        }
    }
}

TEST(EngineLongLine, LongLinesOfFloatsToo) {
    const index_t n = index_t{1} << 19;
    const LocalSpec spec = line(n, Kernel::c2c_forward, Precision::single);
    const auto form = long_line_form(*find_engine("ducc0"), spec, prior_rates());
    ASSERT_TRUE(form);
    auto fft = plan_long_line(*find_engine("ducc0"), spec, *form);
    ASSERT_TRUE(fft.ok()) << fft.status().message();
    EXPECT_LE(error_of<float>(*fft.value(), impulses(n)), test::rule(spec));
    if (test::kPointStep == 1) {
        EXPECT_LE(error_of<float>(*fft.value(), noise(n)), test::rule(spec));
    }
}

// Bins n/2 - k of real lines are those of k, conjugated: a few of noise, and the way back to all of it.
TEST(EngineLongLine, LongRealLinesMeetTheAccuracyRuleAndComeBack) {
    for (const index_t n : {index_t{1} << 20, index_t{2} * 3 * 5 * 7 * 11 * 13 * 32}) {
        SCOPED_TRACE(n);
        LocalSpec forward = line(n, Kernel::r2c), backward = line(n, Kernel::c2r);
        forward.threads = backward.threads = 2;
        backward.scale = 1 / static_cast<long double>(n);
        test::Random random(99);
        std::vector<double> in(static_cast<size_t>(n)), out(static_cast<size_t>(n + 2)), again(in.size());
        for (double& x : in) x = random.noise();
        std::vector<test::WideComplex> given;
        for (const double x : in) given.push_back({x, 0});
        std::vector<index_t> bins{0, n / 2};
        while (bins.size() < kSampledBins) bins.push_back(random.between(1, n / 2 - 1));
        if (test::kPointStep > 1) bins.clear();  // their sums take most of the time
        const auto expected = test::long_outputs(Kernel::c2c_forward, n, given, bins);
        long double norm = 0;
        for (const double x : in) norm += static_cast<long double>(x) * x;
        for (const auto& engine : engines()) {
            SCOPED_TRACE(engine->name());
            const auto form = long_line_form(*engine, forward, prior_rates()),
                       form_back = long_line_form(*engine, backward, prior_rates());
            ASSERT_TRUE(form && form_back);
            EXPECT_EQ(2 * form->first * form->second, n);
            auto fft = plan_long_line(*engine, forward, *form), back = plan_long_line(*engine, backward, *form_back);
            ASSERT_TRUE(fft.ok() && back.ok());
            fft.value()->execute(in.data(), out.data());
            long double error = 0, error_back = 0;
            for (size_t i = 0; i < bins.size(); ++i) {
                const auto k = static_cast<size_t>(2 * bins[i]);
                const auto re = static_cast<long double>(expected[i].re) - out[k],
                           im = static_cast<long double>(expected[i].im) - out[k + 1];
                error += re * re + im * im;
            }
            EXPECT_LE(std::sqrt(error / kSampledBins / norm), test::rule(forward));
            back.value()->execute(out.data(), again.data());
            for (size_t i = 0; i < in.size(); ++i) {
                const long double difference = static_cast<long double>(again[i]) - in[i];
                error_back += difference * difference;
            }
            EXPECT_LE(std::sqrt(error_back / norm),
                      2 * test::rule(forward));  // there and back
        }
    }
}

TEST(EngineLongLine, ExecutingAllocatesNothing) {
    for (const auto& engine : engines()) {
        if (engine->name() == "ducc0") continue;  // allocates in every call, as its library is made
        for (const Kernel kernel : {Kernel::c2c_forward, Kernel::r2c, Kernel::c2r}) {
            LocalSpec spec = line(64 * 64 * (kernel == Kernel::c2c_forward ? 1 : 2), kernel);
            spec.threads = 2;
            auto fft = plan_long_line(*engine, spec, {64, 64, true, 0});
            ASSERT_TRUE(fft.ok()) << fft.status().message();
            std::vector<double> in(2 * 64 * 64 + 2, 0.5), out(in.size());
            test::allocations = {};
            test::allocations.on = true;
            fft.value()->execute(in.data(), out.data());
            test::allocations.on = false;
            EXPECT_EQ(test::allocations.count, 0) << engine->name();
        }
    }
}

// Buffers are whole pages, and huge ones from 4 MiB on.
TEST(EngineLongLine, TakesTheMemoryThatItSays) {
    for (const bool in_place : {false, true}) {
        for (const Kernel kernel : {Kernel::c2c_forward, Kernel::r2c, Kernel::c2r}) {
            LocalSpec spec = line((index_t{1} << 20) * (kernel == Kernel::c2c_forward ? 1 : 2), kernel);
            spec.in_place = in_place;
            spec.threads = 2;
            for (const bool turns : {false, in_place}) {
                const LongLineForm form{1024, 1024, true, 0, turns};
                test::allocations = {};
                test::allocations.on = true;
                auto fft = plan_long_line(*find_engine("ducc0"), spec, form);
                test::allocations.on = false;
                ASSERT_TRUE(fft.ok()) << fft.status().message();
                const auto taken = static_cast<index_t>(test::allocations.aligned_bytes);
                const bool between = in_place && !turns;
                EXPECT_GE(taken, long_line_bytes(spec, form));
                EXPECT_LE(taken, long_line_bytes(spec, form) + 10 * 4096 + (between ? index_t{2} << 20 : 0));
            }
        }
    }
}

// A machine on which short lines are fast and long ones slow, whatever this one is.
RateTable slow_at_long_lines() {
    return {{"ducc0", Precision::dbl, RateShape::line, 1, 1 << 10, 14},
            {"ducc0", Precision::dbl, RateShape::line, 1, 1 << 20, 5}};
}

TEST(EngineLongLine, TakesWhatWasMeasuredOfLinesInTwoSweeps) {
    RateTable rates = slow_at_long_lines();
    for (const auto& [n, gflops] : {std::pair{18, 16.0}, {22, 8.0}})
        rates.push_back({"ducc0", Precision::dbl, RateShape::two_sweeps, 1, std::exp2(n), gflops});
    for (const auto& [n, gflops] : {std::pair{18, 16.0}, {20, std::sqrt(16.0 * 8.0)}, {22, 8.0}, {23, 8.0}}) {
        const LocalSpec spec = line(index_t{1} << n);
        const auto forecast = forecast_local(spec, "ducc0", rates);
        ASSERT_TRUE(forecast.ok());
        ASSERT_NE(forecast.value().form, "");
        EXPECT_NEAR(spec_flops(spec) / forecast.value().seconds / 1e9, gflops, 1e-9) << n;
    }
    rates = slow_at_long_lines();  // and two sweeps slower still
    rates.push_back({"ducc0", Precision::dbl, RateShape::two_sweeps, 1, 1 << 22, 1});
    const auto slow = forecast_local(line(index_t{1} << 22), "ducc0", rates);
    ASSERT_TRUE(slow.ok());
    EXPECT_EQ(slow.value().form, "");
}

TEST(EngineLongLine, WithoutMemoryTheEngineDoesTheWhole) {
    const LocalSpec spec = line(index_t{1} << 20);
    const auto planned = plan_local(spec, "ducc0", slow_at_long_lines());
    ASSERT_TRUE(planned.ok()) << planned.status().message();
    ASSERT_EQ(planned.value().form, "two sweeps of 1024 x 1024");
    test::allocations = {};
    test::allocations.fail_aligned = true;
    const auto line_alone = plan_long_line(*find_engine("ducc0"), spec, {1024, 1024, false, 0});
    const auto choice = plan_local(spec, "ducc0", slow_at_long_lines());
    test::allocations.fail_aligned = false;
    EXPECT_EQ(line_alone.status().code(), Code::out_of_memory);
    ASSERT_TRUE(choice.ok()) << choice.status().message();
    EXPECT_EQ(choice.value().form, "");
}

TEST(EngineLongLine, AnAllowanceThatItDoesNotFitIsTurnedInPlaceOrLeftToTheEngine) {
    for (const bool in_place : {false, true}) {
        LocalSpec spec = line(index_t{1} << 21);
        spec.in_place = in_place;
        const auto free = forecast_local(spec, "ducc0", slow_at_long_lines());
        ASSERT_TRUE(free.ok());
        EXPECT_NE(free.value().form, "");
        const index_t arrays_bytes = (in_place ? 16 : 32) * (index_t{1} << 21);
        const auto form_within = [&](index_t bytes) {
            const CheckAllowance allowance(bytes);
            const auto forecast = forecast_local(spec, "ducc0", slow_at_long_lines());
            const auto choice = plan_local(spec, "ducc0", slow_at_long_lines());
            EXPECT_TRUE(forecast.ok() && choice.ok());
            EXPECT_EQ(forecast.value().form, choice.value().form);
            EXPECT_EQ(forecast.value().own_bytes == 0, forecast.value().form.empty());
            return forecast.value().form;
        };
        EXPECT_EQ(form_within(arrays_bytes + free.value().own_bytes), free.value().form);
        if (in_place) {
            EXPECT_EQ(form_within(arrays_bytes + free.value().own_bytes - 1),
                      "a turn in place and two sweeps of 1024 x 2048");
            const index_t own_bytes = long_line_bytes(spec, {1024, 2048, true, 0, true});
            EXPECT_LE(own_bytes, arrays_bytes / 16);
            EXPECT_EQ(form_within(arrays_bytes + own_bytes), "a turn in place and two sweeps of 1024 x 2048");
            const CheckAllowance too_little(arrays_bytes + own_bytes - 1);
            const auto choice = plan_local(spec, "ducc0", slow_at_long_lines());
            EXPECT_NE(choice.status().message().find("hold a line once more"), std::string::npos);
        } else {
            EXPECT_EQ(form_within(arrays_bytes + free.value().own_bytes - 1), "");
        }
    }
}

TEST(EngineLongLine, IsChosenByExpectedSeconds) {
    const LocalSpec spec = line(index_t{1} << 24);
    for (const auto& engine : engines()) {
        SCOPED_TRACE(engine->name());
        const auto form = long_line_form(*engine, spec, prior_rates());
        ASSERT_TRUE(form);
        const auto forecast = forecast_local(spec, engine->name(), prior_rates());
        ASSERT_TRUE(forecast.ok());
        LocalSpec whole = spec;
        whole.sweeps = false;
        const auto alone = forecast_local(whole, engine->name(), prior_rates());
        ASSERT_TRUE(alone.ok());
        EXPECT_EQ(alone.value().form, "");
        EXPECT_EQ(forecast.value().seconds, std::min(form->seconds, alone.value().seconds));
        EXPECT_EQ(forecast.value().form, form->seconds < alone.value().seconds ? form->describe() : "");
        EXPECT_EQ(form->describe(), "two sweeps of 4096 x 4096");
        EXPECT_TRUE(form->stream);
    }
}

TEST(EngineLongLine, WhatIsNoLongLineIsLeftToTheEngine) {
    const Engine& ducc = *find_engine("ducc0");
    const auto has_form = [&](const LocalSpec& spec) { return long_line_form(ducc, spec, prior_rates()).has_value(); };
    LocalSpec spec = line(index_t{1} << 20);
    EXPECT_TRUE(has_form(spec));
    spec.batch = {{2, index_t{1} << 20, index_t{1} << 20}};
    EXPECT_TRUE(has_form(spec));
    spec.batch = {{0, index_t{1} << 20, index_t{1} << 20}};
    EXPECT_FALSE(has_form(spec));
    EXPECT_FALSE(has_form(line(1 << 15)));
    EXPECT_FALSE(has_form(line(1048583)));      // a prime
    EXPECT_FALSE(has_form(line(2 * 1048583)));  // no divisor near the root
    EXPECT_TRUE(has_form(line(index_t{1} << 20, Kernel::r2c)));
    EXPECT_FALSE(has_form(line(3486784401, Kernel::r2c)));  // 3^20, which is odd
    EXPECT_FALSE(has_form(line(index_t{1} << 20, Kernel::dct2)));
    EXPECT_FALSE(has_form(line(index_t{1} << 20, Kernel::c2c_forward, Precision::extended)));
    spec = line(index_t{1} << 20);
    spec.transform[0].in_stride = 2;
    EXPECT_FALSE(has_form(spec));
    spec = line(1024);
    spec.transform.push_back({1024, 1, 1});
    spec.transform[0] = {1024, 1024, 1024};
    EXPECT_FALSE(has_form(spec));
}

TEST(EngineLongLine, AMeasuredChoiceIsRightToo) {
    LocalSpec spec = line(index_t{1} << 17);
    spec.measure = true;
    const auto choice = plan_local(spec, "ducc0", prior_rates());
    ASSERT_TRUE(choice.ok()) << choice.status().message();
    EXPECT_LE(error_of<double>(*choice.value().fft, impulses(index_t{1} << 17)), test::rule(spec));
}

}  // namespace
}  // namespace spanfft
