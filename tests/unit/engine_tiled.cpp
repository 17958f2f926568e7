// Strided axes by tiles (engine/tiled.hpp): specs large enough to be tiled, on every engine, against the definition.
//
// plan_tiled is called directly, so that the engines which do not ask for it are tested through it as well.
#include "engine/tiled.hpp"

#include <gtest/gtest.h>

#include "support/direct_sum.hpp"

namespace spanfft {
namespace {

struct Case {
    const char* name;
    Kernel kernel;
    std::vector<LoopDim> transform, batch;
    bool in_place = false;
};

std::vector<Case> cases() {
    using K = Kernel;
    return {
        {"axis_0_of_2d", K::c2c_forward, {{16, 2100, 2100}}, {{2100, 1, 1}}},
        {"axis_0_in_place", K::c2c_backward, {{17, 2101, 2101}}, {{2101, 1, 1}}, true},
        {"last_tile_part_empty", K::c2c_forward, {{128, 261, 261}}, {{261, 1, 1}}},
        {"other_strides_out", K::c2c_forward, {{16, 2100, 2200}}, {{2100, 1, 1}}},
        {"plane", K::c2c_forward, {{180, 200, 200}, {200, 1, 1}}, {}},
        {"planes", K::c2c_backward, {{30, 70, 70}, {70, 1, 1}}, {{18, 2100, 2100}}},
        {"cube", K::c2c_forward, {{13, 4000, 4000}, {40, 100, 100}, {100, 1, 1}}, {}},
        {"cube_in_place", K::c2c_backward, {{13, 4000, 4000}, {40, 100, 100}, {100, 1, 1}}, {}, true},
        {"cube_batch", K::c2c_forward, {{6, 2100, 2100}, {30, 70, 70}, {70, 1, 1}}, {{3, 12600, 12600}}},
        {"r2c_cube", K::r2c, {{13, 6160, 3120}, {40, 154, 78}, {154, 1, 1}}, {}},
        {"r2c_cube_odd", K::r2c, {{13, 6200, 3120}, {40, 155, 78}, {155, 1, 1}}, {}},
        {"c2r_cube", K::c2r, {{13, 3120, 6160}, {40, 78, 154}, {154, 1, 1}}, {}},
        {"c2r_cube_batch", K::c2r, {{5, 3120, 6200}, {40, 78, 155}, {155, 1, 1}}, {{3, 15600, 31000}}},
    };
}

// Of a few KiB, whose points lie 1 KiB apart: a sixteenth of the sets of the first cache has them all.
std::vector<Case> crowded_cases() {
    using K = Kernel;
    return {
        {"crowded_axis", K::c2c_forward, {{100, 64, 64}}, {{64, 1, 1}}},
        {"crowded_plane", K::c2c_backward, {{128, 64, 64}, {64, 1, 1}}, {}},
        {"crowded_in_place", K::c2c_forward, {{67, 64, 64}, {64, 1, 1}}, {}, true},
        {"crowded_box", K::c2c_forward, {{81, 64, 64}, {8, 8, 8}, {8, 1, 1}}, {}},
        {"crowded_spectrum", K::r2c, {{96, 127, 64}, {127, 1, 1}}, {}},
        {"crowded_reals", K::c2r, {{96, 64, 126}, {126, 1, 1}}, {}},
    };
}

LocalSpec spec_of(const Case& c, Precision precision, int threads) {
    LocalSpec spec;
    spec.kernel = c.kernel;
    spec.precision = precision;
    spec.transform = c.transform;
    spec.batch = c.batch;
    spec.in_place = c.in_place;
    spec.threads = threads;
    return spec;
}

TEST(EngineTiled, ResultsMeetTheAccuracyRule) {
    int turn = 0;
    std::vector<Case> all = cases();
    for (const Case& c : crowded_cases()) all.push_back(c);
    for (const Case& c : all) {
        // Engines and threads in turn: the definition in 113 bits takes a second a case.
        const Engine& engine = *engines()[static_cast<size_t>(turn) % engines().size()];
        const LocalSpec spec = spec_of(c, Precision::dbl, turn % 2 ? 3 : 1);
        SCOPED_TRACE(engine.name() + " " + c.name);
        ASSERT_TRUE(worth_tiling(spec, true));
        auto fft = plan_tiled(engine, spec);
        ASSERT_TRUE(fft.ok()) << fft.status().message();
        const test::Outcome outcome = test::run(spec, *fft.value());
        EXPECT_LE(outcome.error, test::rule(spec));
        EXPECT_TRUE(outcome.surroundings_kept);
        EXPECT_TRUE(outcome.input_preserved || c.in_place || c.kernel == Kernel::c2r);
        ++turn;
    }
}

// On one thread and more, planes by themselves and columns shared: each has another place where results are copied.
TEST(EngineTiled, ResultsAreScaledOnTheWay) {
    int turn = 0;
    for (const Case& c : cases()) {
        if (c.transform[0].n * c.transform.back().n > 20000) continue;  // for the time that the definition takes
        const Engine& engine = *engines()[static_cast<size_t>(turn) % engines().size()];
        LocalSpec spec = spec_of(c, Precision::dbl, turn % 2 ? 1 : 3);
        spec.scale = 1 / 3.0L;
        SCOPED_TRACE(engine.name() + " " + c.name);
        auto fft = plan_tiled(engine, spec);
        ASSERT_TRUE(fft.ok()) << fft.status().message();
        const test::Outcome outcome = test::run(spec, *fft.value());
        EXPECT_LE(outcome.error, test::rule(spec));
        EXPECT_TRUE(outcome.surroundings_kept);
        ++turn;
    }
}

// What an engine says of itself is what its plans do: scaled once, by the engine or by the caller.
TEST(EngineTiled, EnginesScaleWhereTheySayThatTheyDo) {
    const Case large{"plane", Kernel::c2c_forward, {{180, 200, 200}, {200, 1, 1}}, {}};
    const Case small{"line", Kernel::c2r, {{30, 1, 1}}, {{7, 16, 30}}};
    for (const Case& c : {large, small}) {
        for (const auto& engine : engines()) {
            LocalSpec spec = spec_of(c, Precision::dbl, 1);
            spec.scale = 1 / 3.0L;
            auto choice = plan_local(spec, engine->name(), {});
            ASSERT_TRUE(choice.ok()) << choice.status().message();
            EXPECT_EQ(choice.value().scaled, engine->scales(spec)) << engine->name() << " " << c.name;
            EXPECT_EQ(choice.value().scaled, forecast_local(spec, engine->name(), {}).value().scaled);
            EXPECT_EQ(choice.value().scaled, engine->name() == "ducc0" || c.transform.size() == 2)
                << engine->name() << " " << c.name;
            if (!choice.value().scaled) spec.scale = 1;
            EXPECT_LE(test::run(spec, *choice.value().fft).error, test::rule(spec)) << engine->name() << " " << c.name;
        }
    }
}

TEST(EngineTiled, FloatAndLongDoubleAreTiledToo) {
    const Case plane{"planes", Kernel::c2c_forward, {{60, 70, 70}, {70, 1, 1}}, {{18, 4200, 4200}}};
    for (Precision precision : {Precision::single, Precision::extended}) {
        const LocalSpec spec = spec_of(plane, precision, 2);
        auto fft = plan_tiled(*find_engine("ducc0"), spec);
        ASSERT_TRUE(fft.ok()) << fft.status().message();
        EXPECT_LE(test::run(spec, *fft.value()).error, test::rule(spec));
    }
}

TEST(EngineTiled, SmallArraysAreTiledWhereTheEngineMindsCrowdedSetsOfTheCache) {
    for (const Case& c : cases()) EXPECT_TRUE(worth_tiling(spec_of(c, Precision::dbl, 1), false)) << c.name;
    for (Case c : crowded_cases()) {
        EXPECT_TRUE(worth_tiling(spec_of(c, Precision::dbl, 1), true)) << c.name;
        EXPECT_FALSE(worth_tiling(spec_of(c, Precision::dbl, 1), false)) << c.name;
        c.transform[0].n = 20;
        EXPECT_FALSE(worth_tiling(spec_of(c, Precision::dbl, 1), true)) << c.name << ", all of whose points are held";
    }
}

TEST(EngineTiled, WhatGainsNothingIsLeftToTheEngine) {
    const Case contiguous{"lines", Kernel::c2c_forward, {{1024, 1, 1}}, {{100, 1024, 1024}}};
    const Case small{"small", Kernel::c2c_forward, {{16, 70, 70}}, {{70, 1, 1}}};
    const Case lonely{"no line beside another", Kernel::c2c_forward, {{16, 4200, 4200}}, {{2100, 2, 2}}};
    const Case real{"dct", Kernel::dct2, {{16, 2100, 2100}}, {{2100, 1, 1}}};
    for (const Case& c : {contiguous, small, lonely, real}) {
        EXPECT_FALSE(worth_tiling(spec_of(c, Precision::dbl, 1), true)) << c.name;
    }
}

}  // namespace
}  // namespace spanfft
