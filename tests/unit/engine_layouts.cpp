// Strides, batches, several axes, in place and threads: every engine against the definition.
//
// Method: each case is a LocalSpec as a solver would write it; test::run lays noise out by it, compares every
// output within the accuracy rule, and checks that nothing else in either array was written. The spectra that c2r
// gets are noise without Hermitian symmetry between axes: every engine must treat them alike (as numpy.fft.irfftn).
#include <gtest/gtest.h>

#include <tuple>

#include "engine/engine.hpp"
#include "support/direct_sum.hpp"

namespace spanfft {
namespace {

struct Layout {
    const char* name;
    LocalSpec spec;
};

LocalSpec make(Kernel kernel, std::vector<LoopDim> transform, std::vector<LoopDim> batch, bool in_place = false) {
    LocalSpec spec;
    spec.kernel = kernel;
    spec.transform = std::move(transform);
    spec.batch = std::move(batch);
    spec.in_place = in_place;
    return spec;
}

std::vector<Layout> layouts() {
    using K = Kernel;
    return {
        {"strided", make(K::c2c_forward, {{12, 5, 3}}, {{7, 61, 40}})},
        {"axis_0_of_3d", make(K::c2c_forward, {{9, 35, 35}}, {{5, 7, 7}, {7, 1, 1}})},
        {"axis_1_of_3d", make(K::c2c_backward, {{8, 7, 7}}, {{5, 56, 56}, {7, 1, 1}})},
        {"axis_1_in_place", make(K::c2c_forward, {{8, 7, 7}}, {{5, 56, 56}, {7, 1, 1}}, true)},
        {"three_loops", make(K::c2c_forward, {{6, 2, 1}}, {{3, 1000, 500}, {4, 100, 60}, {5, 13, 7}})},
        {"four_loops", make(K::c2c_forward, {{5, 1, 24}}, {{2, 5, 1}, {3, 10, 2}, {2, 30, 6}, {2, 70, 12}})},
        {"transposed_out", make(K::c2c_forward, {{16, 1, 20}}, {{20, 16, 1}})},
        {"negative_stride", make(K::c2c_forward, {{10, -2, 1}}, {{6, 20, 10}})},
        {"one_point_loops", make(K::c2c_forward, {{10, 1, 1}}, {{1, 999, 999}, {4, 10, 10}, {1, 7, 7}})},
        {"length_one_axis", make(K::c2c_forward, {{1, 3, 3}, {6, 1, 1}}, {{20, 6, 6}})},
        {"all_axes_one", make(K::c2c_backward, {{1, 1, 1}}, {{50, 2, 3}})},
        {"long_lines_in_place", make(K::c2c_forward, {{2048, 1, 1}}, {{12, 2056, 2056}}, true)},
        {"long_lines_in_place_of_odd_count", make(K::c2c_backward, {{2500, 1, 1}}, {{9, 2501, 2501}}, true)},
        {"long_lines_in_place_of_prime_count", make(K::c2c_forward, {{2048, 1, 1}}, {{7, 2048, 2048}}, true)},
        {"plane", make(K::c2c_forward, {{12, 15, 15}, {15, 1, 1}}, {})},
        {"plane_batch", make(K::c2c_backward, {{6, 10, 10}, {10, 1, 1}}, {{4, 60, 60}})},
        {"plane_two_loops", make(K::c2c_forward, {{6, 10, 10}, {10, 1, 1}}, {{3, 300, 300}, {4, 60, 60}})},
        {"plane_in_place", make(K::c2c_forward, {{6, 10, 10}, {10, 1, 1}}, {{3, 300, 300}, {4, 60, 60}}, true)},
        {"outer_axes", make(K::c2c_forward, {{5, 84, 84}, {7, 12, 12}}, {{12, 1, 1}})},
        {"cube", make(K::c2c_forward, {{7, 88, 88}, {8, 11, 11}, {11, 1, 1}}, {})},
        {"cube_turned", make(K::c2c_forward, {{7, 88, 1}, {8, 11, 7}, {11, 1, 56}}, {})},
        {"four_axes", make(K::c2c_backward, {{3, 140, 140}, {4, 35, 35}, {5, 7, 7}, {7, 1, 1}}, {})},
        {"five_axes", make(K::c2c_forward, {{3, 120, 120}, {2, 60, 60}, {3, 20, 20}, {4, 5, 5}, {5, 1, 1}}, {})},
        {"r2c_batch", make(K::r2c, {{15, 1, 1}}, {{12, 15, 8}})},
        {"r2c_strided", make(K::r2c, {{16, 6, 6}}, {{6, 1, 1}})},
        {"r2c_two_loops", make(K::r2c, {{16, 1, 1}}, {{3, 100, 60}, {5, 18, 10}})},
        {"r2c_plane", make(K::r2c, {{9, 14, 8}, {14, 1, 1}}, {{2, 126, 72}})},
        {"r2c_cube", make(K::r2c, {{4, 90, 54}, {9, 10, 6}, {10, 1, 1}}, {})},
        {"r2c_cube_two_loops", make(K::r2c, {{3, 30, 20}, {5, 6, 4}, {6, 1, 1}}, {{2, 400, 300}, {2, 100, 60}})},
        {"r2c_in_place", make(K::r2c, {{16, 1, 1}}, {{9, 18, 9}}, true)},
        {"r2c_in_place_odd", make(K::r2c, {{15, 1, 1}}, {{9, 16, 8}}, true)},
        {"r2c_plane_in_place", make(K::r2c, {{9, 16, 8}, {14, 1, 1}}, {{2, 144, 72}}, true)},
        {"r2c_cube_in_place", make(K::r2c, {{4, 108, 54}, {9, 12, 6}, {10, 1, 1}}, {}, true)},
        {"c2r_batch", make(K::c2r, {{15, 1, 1}}, {{12, 8, 15}})},
        {"c2r_strided", make(K::c2r, {{16, 6, 6}}, {{6, 1, 1}})},
        {"c2r_two_loops", make(K::c2r, {{16, 1, 1}}, {{3, 60, 100}, {5, 10, 18}})},
        {"c2r_plane", make(K::c2r, {{9, 8, 14}, {14, 1, 1}}, {{2, 72, 126}})},
        {"c2r_cube", make(K::c2r, {{4, 54, 90}, {9, 6, 10}, {10, 1, 1}}, {})},
        {"c2r_cube_two_loops", make(K::c2r, {{3, 20, 30}, {5, 4, 6}, {6, 1, 1}}, {{2, 300, 400}, {2, 60, 100}})},
        {"c2r_in_place", make(K::c2r, {{16, 1, 1}}, {{9, 9, 18}}, true)},
        {"c2r_plane_in_place", make(K::c2r, {{9, 8, 16}, {14, 1, 1}}, {{2, 72, 144}}, true)},
        {"dct2_strided", make(K::dct2, {{12, 11, 11}}, {{11, 1, 1}})},
        {"dct1_two_loops", make(K::dct1, {{9, 1, 1}}, {{3, 100, 100}, {5, 12, 12}})},
        {"dst3_in_place", make(K::dst3, {{12, 11, 11}}, {{11, 1, 1}}, true)},
        {"dst1_in_place", make(K::dst1, {{11, 1, 1}}, {{15, 11, 11}}, true)},
        {"copy", make(K::c2c_forward, {}, {{3, 50, 20}, {4, 7, 5}, {5, 1, 1}})},
        {"copy_real", make(K::dct2, {}, {{3, 50, 20}, {4, 7, 5}, {5, 1, 1}})},
        {"copy_one", make(K::c2c_forward, {}, {})},
        {"copy_turned", make(K::c2c_forward, {}, {{6, 9, 1}, {9, 1, 6}})},
    };
}

using Case = std::tuple<std::string, Precision, int>;

class EngineLayout : public testing::TestWithParam<Case> {};

TEST_P(EngineLayout, MatchesTheDefinition) {
    const auto& [name, precision, threads] = GetParam();
    const Engine* engine = find_engine(name);
    if (!engine) GTEST_SKIP() << "optional engine absent: " << engine_absence(name);
    if (!engine->has_precision(precision)) GTEST_SKIP() << name << " has no " << precision_name(precision);
    int ran = 0;
    for (const Layout& layout : layouts()) {
        SCOPED_TRACE(layout.name);
        LocalSpec spec = layout.spec;
        spec.precision = precision;
        spec.threads = threads;
        auto choice = plan_local(spec, name, {});
        if (!choice.ok() && name == "mkl" && is_r2r(spec.kernel)) continue;
        ASSERT_TRUE(choice.ok()) << choice.status().message();
        const auto outcome = test::run(spec, *choice.value().fft);
        EXPECT_LE(outcome.error, test::rule(spec));
        EXPECT_TRUE(outcome.surroundings_kept);
        EXPECT_TRUE(outcome.input_preserved || spec.kernel == Kernel::c2r);
        ++ran;
    }
    EXPECT_GT(ran, 30);
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
    return std::get<0>(info.param) + "_" + precision_name(std::get<1>(info.param)) + "_" +
           std::to_string(std::get<2>(info.param)) + "_threads";
}

INSTANTIATE_TEST_SUITE_P(All, EngineLayout,
                         testing::Combine(testing::Values("ducc0", "fftw", "mkl"),
                                          testing::Values(Precision::single, Precision::dbl, Precision::extended),
                                          testing::Values(1, 2)),
                         case_name);

class EngineByName : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        if (!find_engine(GetParam())) GTEST_SKIP() << "optional engine absent: " << engine_absence(GetParam());
    }
};

INSTANTIATE_TEST_SUITE_P(All, EngineByName, testing::Values("ducc0", "fftw", "mkl"));

// Executes one plan on data that begins SHIFT reals after a 64-byte boundary.
template <class T>
std::vector<T> shifted_run(const LocalFft& fft, size_t inputs, size_t outputs, size_t shift) {
    std::vector<T> in(inputs + 64), out(outputs + 64);
    auto origin = [shift](std::vector<T>& v) {
        const size_t past = reinterpret_cast<uintptr_t>(v.data()) % 64;
        return v.data() + (past ? (64 - past) / sizeof(T) : 0) + shift;
    };
    for (size_t i = 0; i < inputs; ++i) origin(in)[i] = static_cast<T>(static_cast<double>(i * 7919 % 1024) / 1024);
    fft.execute(origin(in), origin(out));
    return {origin(out), origin(out) + outputs};
}

template <class T>
void compare_shifted(const char* engine, Precision precision) {
    LocalSpec spec = make(Kernel::r2c, {{64, 1, 1}}, {{31, 64, 33}});
    spec.precision = precision;
    auto choice = plan_local(spec, engine, {});
    ASSERT_TRUE(choice.ok()) << choice.status().message();
    const auto straight = shifted_run<T>(*choice.value().fft, 31 * 64, 31 * 66, 0);
    const auto shifted = shifted_run<T>(*choice.value().fft, 31 * 64, 31 * 66, 1);
    std::vector<test::WideComplex> a, b;
    for (size_t i = 0; i < straight.size(); ++i) {
        a.push_back({static_cast<test::Wide>(straight[i]), 0});
        b.push_back({static_cast<test::Wide>(shifted[i]), 0});
    }
    EXPECT_LE(test::relative_error(a, b), 2 * test::rule(spec));  // each may miss the truth by the rule
}

// Data that is aligned to its real type only: SIMD plans for aligned data must not be used on it.
TEST_P(EngineByName, TakesUnalignedData) {
    compare_shifted<float>(GetParam(), Precision::single);
    compare_shifted<double>(GetParam(), Precision::dbl);
}

TEST_P(EngineByName, AnEmptyBatchDoesNothing) {
    LocalSpec spec = make(Kernel::r2c, {{64, 1, 1}}, {{4, 64, 33}, {0, 1, 1}});
    auto choice = plan_local(spec, GetParam(), {});
    ASSERT_TRUE(choice.ok()) << choice.status().message();
    choice.value().fft->execute(nullptr, nullptr);
}

TEST_P(EngineByName, AMeasuredPlanLeavesDataAlone) {
    LocalSpec spec = make(Kernel::c2c_forward, {{60, 16, 16}}, {{16, 1, 1}});
    spec.measure = true;
    auto choice = plan_local(spec, GetParam(), {});
    ASSERT_TRUE(choice.ok()) << choice.status().message();
    const auto outcome = test::run(spec, *choice.value().fft);
    EXPECT_LE(outcome.error, test::rule(spec));
    EXPECT_TRUE(outcome.surroundings_kept);
}

TEST_P(EngineByName, ManyPlansLiveAtOnce) {
    std::vector<std::pair<LocalSpec, std::unique_ptr<LocalFft>>> plans;
    for (index_t n = 20; n < 44; ++n) {
        LocalSpec spec = make(Kernel::c2c_forward, {{n, 1, 1}}, {{8, n, n}});
        auto choice = plan_local(spec, GetParam(), {});
        if (!choice.ok() && test::comes_near_rule(*find_engine(GetParam()), spec)) continue;
        ASSERT_TRUE(choice.ok()) << choice.status().message();
        plans.emplace_back(spec, std::move(choice.value().fft));
    }
    for (const auto& [spec, fft] : plans) EXPECT_LE(test::run(spec, *fft).error, test::rule(spec));
}

}  // namespace
}  // namespace spanfft
