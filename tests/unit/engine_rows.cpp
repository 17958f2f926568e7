// Lists of contiguous lines in groups (engine/rows.hpp) on every engine: against the definition, and that results don't
// depend on how the lists lie, on threads or on addresses.
//
// plan_rows is called directly, so that short lists, whose definition is quick to sum, and the engines which do not ask
// for it are tested through it as well.
#include "engine/rows.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "engine/spec.hpp"
#include "support/allocations.hpp"
#include "support/direct_sum.hpp"

namespace spanfft {
namespace {

struct Case {
    const char* name;
    Kernel kernel;
    LoopDim line;
    std::vector<LoopDim> batch;
    bool in_place = false;
};

std::vector<Case> cases() {
    using K = Kernel;
    return {
        {"a_line_a_group", K::c2c_forward, {256, 1, 1}, {{16, 256, 256}}},
        {"groups_and_a_rest", K::c2c_forward, {37, 1, 1}, {{131, 37, 37}}},
        {"in_place", K::c2c_backward, {37, 1, 1}, {{131, 37, 37}}, true},
        {"prime_lengths_and_counts", K::c2c_backward, {97, 1, 1}, {{61, 97, 97}}},
        {"gaps_in", K::c2c_forward, {30, 1, 1}, {{151, 41, 30}}},
        {"gaps_out", K::c2c_forward, {30, 1, 1}, {{151, 30, 33}}},
        {"gaps_in_place", K::c2c_forward, {30, 1, 1}, {{151, 33, 33}}, true},
        {"lines_longer_than_a_group", K::c2c_forward, {260, 1, 1}, {{17, 260, 261}}},
        {"lists_of_lists", K::c2c_forward, {15, 1, 1}, {{3, 11000, 9200}, {2, 5200, 4600}, {301, 17, 15}}},
        {"lists_in_another_order", K::c2c_forward, {15, 1, 1}, {{301, 17, 60}, {3, 5200, 15}}},
        {"r2c", K::r2c, {96, 1, 1}, {{97, 96, 49}}},
        {"r2c_odd", K::r2c, {45, 1, 1}, {{191, 45, 23}}},
        {"r2c_gaps", K::r2c, {45, 1, 1}, {{191, 47, 25}}},
        {"r2c_in_place", K::r2c, {96, 1, 1}, {{97, 98, 49}}, true},
        {"c2r", K::c2r, {96, 1, 1}, {{97, 49, 96}}},
        {"c2r_odd", K::c2r, {45, 1, 1}, {{191, 23, 45}}},
        {"c2r_lists", K::c2r, {45, 1, 1}, {{2, 5000, 9100}, {191, 25, 47}}},
        {"c2r_in_place", K::c2r, {45, 1, 1}, {{191, 23, 46}}, true},
    };
}

LocalSpec spec_of(const Case& c, Precision precision, int threads) {
    LocalSpec spec;
    spec.kernel = c.kernel;
    spec.precision = precision;
    spec.transform = {c.line};
    spec.batch = c.batch;
    spec.in_place = c.in_place;
    spec.threads = threads;
    spec.caches = Caches();  // whatever this machine has: they decide what is worth groups of lines
    return spec;
}

void expect_accurate(const Engine& engine, const Case& c, Precision precision, int threads) {
    SCOPED_TRACE(engine.name() + " " + c.name + " " + precision_name(precision));
    const LocalSpec spec = spec_of(c, precision, threads);
    auto fft = plan_rows(engine, spec);
    ASSERT_TRUE(fft.ok()) << fft.status().message();
    const test::Outcome outcome = test::run(spec, *fft.value());
    EXPECT_LE(outcome.error, test::rule(spec));
    EXPECT_TRUE(outcome.surroundings_kept);
    EXPECT_TRUE(outcome.input_preserved || c.in_place || c.kernel == Kernel::c2r);
}

TEST(EngineRows, ResultsMeetTheAccuracyRule) {
    int turn = 0;
    for (const auto& engine : engines()) {
        for (const Case& c : cases()) expect_accurate(*engine, c, Precision::dbl, turn++ % 2 ? 3 : 1);
    }
}

TEST(EngineRows, FloatAndLongDoubleToo) {
    size_t turn = 0;
    for (Precision precision : {Precision::single, Precision::extended}) {
        for (const Case& c : cases()) {  // engines in turn: the definition in 113 bits takes time
            const Engine& engine = *engines()[turn++ % engines().size()];
            expect_accurate(engine.has_precision(precision) ? engine : *find_engine("ducc0"), c, precision, 2);
        }
    }
}

TEST(EngineRows, ResultsAreScaledOnTheWay) {
    size_t turn = 0;
    for (const Case& c : cases()) {
        const Engine& engine = *engines()[turn++ % engines().size()];
        SCOPED_TRACE(engine.name() + " " + c.name);
        LocalSpec spec = spec_of(c, Precision::dbl, 2);
        spec.scale = 1 / 3.0L;
        auto fft = plan_rows(engine, spec);
        ASSERT_TRUE(fft.ok()) << fft.status().message();
        const test::Outcome outcome = test::run(spec, *fft.value());
        EXPECT_LE(outcome.error, test::rule(spec));
        EXPECT_TRUE(outcome.surroundings_kept);
    }
}

// Doubles that lie anywhere: `shift` of them behind an aligned address.
TEST(EngineRows, AnyAddressGivesTheSame) {
    constexpr index_t kPoints = 48, kLines = 101;
    const LocalSpec spec =
        spec_of({"", Kernel::c2c_forward, {kPoints, 1, 1}, {{kLines, kPoints, kPoints}}}, Precision::dbl, 1);
    for (const auto& engine : engines()) {
        auto fft = plan_rows(*engine, spec);
        ASSERT_TRUE(fft.ok()) << fft.status().message();
        std::vector<double> in(2 * kPoints * kLines + 8), out(in.size());
        for (index_t shift_in : {0, 1, 2, 5}) {
            for (index_t shift_out : {0, 1, 3, 4}) {
                for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<double>((i * 37 + 11) % 101) / 64 - 0.75;
                fft.value()->execute(in.data() + shift_in, out.data() + shift_out);
                for (index_t line : {index_t{0}, index_t{50}, kLines - 1}) {
                    std::vector<test::WideComplex> given, got;
                    for (index_t p = line * kPoints; p < (line + 1) * kPoints; ++p) {
                        const auto i = static_cast<size_t>(2 * p + shift_in),
                                   o = static_cast<size_t>(2 * p + shift_out);
                        given.push_back({in[i], in[i + 1]});
                        got.push_back({out[o], out[o + 1]});
                    }
                    const auto expected = test::direct_sum(spec.kernel, kPoints, given);
                    EXPECT_LE(test::relative_error(got, expected), test::rule(spec))
                        << engine->name() << " " << shift_in << " " << shift_out << " " << line;
                }
            }
        }
    }
}

TEST(EngineRows, ExecutingAllocatesNothing) {
    const LocalSpec spec = spec_of({"", Kernel::c2c_forward, {256, 1, 1}, {{64, 256, 256}}}, Precision::dbl, 2);
    for (const auto& engine : engines()) {
        if (engine->name() == "ducc0") continue;  // allocates in every call, as its library is made
        auto fft = plan_rows(*engine, spec);
        ASSERT_TRUE(fft.ok()) << fft.status().message();
        std::vector<double> in(2 * 256 * 64, 0.5), out(in.size());
        test::allocations = {};
        test::allocations.on = true;
        fft.value()->execute(in.data(), out.data());
        test::allocations.on = false;
        EXPECT_EQ(test::allocations.count, 0) << engine->name();
    }
}

TEST(EngineRows, WhatGainsNothingIsLeftToTheEngine) {
    using K = Kernel;
    const auto worth = [](const Case& c) { return worth_rows(spec_of(c, Precision::dbl, 1)); };
    EXPECT_TRUE(worth({"beyond the cache", K::c2c_forward, {256, 1, 1}, {{4096, 256, 256}}}));
    EXPECT_TRUE(worth({"real", K::r2c, {256, 1, 1}, {{8192, 256, 129}}}));
    EXPECT_FALSE(worth({"in the cache", K::c2c_forward, {256, 1, 1}, {{1024, 256, 256}}}));
    EXPECT_FALSE(worth({"few long lines", K::c2c_forward, {1 << 20, 1, 1}, {{16, 1 << 20, 1 << 20}}}));
    EXPECT_FALSE(worth({"strided", K::c2c_forward, {256, 4096, 4096}, {{4096, 1, 1}}}));
    EXPECT_FALSE(worth({"real to real", K::dct2, {256, 1, 1}, {{16384, 256, 256}}}));
    EXPECT_FALSE(worth(
        {"no long list", K::c2c_forward, {4096, 1, 1}, {{7, 8192, 4096}, {7, 70000, 28672}, {7, 700000, 200704}}}));
    EXPECT_FALSE(worth({"nothing", K::c2c_forward, {256, 1, 1}, {{0, 256, 256}}}));
}

}  // namespace
}  // namespace spanfft
