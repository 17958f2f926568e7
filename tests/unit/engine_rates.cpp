// The rate table: interpolation, replacement, and that forecasts are finite and ranked by it.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/rates.hpp"
#include "engine/spec.hpp"

namespace spanfft {
namespace {

LocalSpec line(index_t n, int threads = 1) {
    LocalSpec spec;
    spec.transform = {{n, 1, 1}};
    spec.batch = {{1 << 20, n, n}};
    spec.threads = threads;
    return spec;
}

class EngineRates : public testing::Test {
  protected:
    void TearDown() override { set_rates({}); }
    static RateRow row(double n, int threads, double gflops, RateShape shape = RateShape::line) {
        return {"mine", Precision::dbl, shape, threads, n, gflops};
    }
};

TEST_F(EngineRates, AreInterpolatedInTheLogarithmOfTheLength) {
    set_rates({"test", {row(1 << 10, 1, 4), row(1 << 14, 1, 16)}});
    EXPECT_NEAR(expected_gflops("mine", line(1 << 10)), 4, 1e-12);
    EXPECT_NEAR(expected_gflops("mine", line(1 << 12)), 8, 1e-12);
    EXPECT_NEAR(expected_gflops("mine", line(1 << 20)), 16, 1e-12);
    EXPECT_NEAR(expected_gflops("mine", line(4)), 4, 1e-12);
}

TEST_F(EngineRates, GrowWithThreadsByWhatDoublingThemGave) {
    set_rates({"test", {row(1 << 10, 1, 4), row(1 << 10, 2, 6)}});
    EXPECT_NEAR(expected_gflops("mine", line(1 << 10, 2)), 6, 1e-12);
    EXPECT_NEAR(expected_gflops("mine", line(1 << 10, 4)), 9, 1e-12);
    LocalSpec small = line(64, 2);
    small.batch.clear();
    EXPECT_NEAR(expected_gflops("mine", small), 4, 1e-12);  // too small for threads
}

TEST_F(EngineRates, SecondsAreFlopsOverTheRate) {
    set_rates({"test", {row(1 << 10, 1, 5)}});
    // 2^20 transforms of 5 * 1024 * 10 flops at 5 GF/s.
    EXPECT_NEAR(expected_seconds("mine", line(1024)), 1048576.0 * 51200 / 5e9, 1e-9);
    EXPECT_EQ(spec_flops(line(1024)), 1048576.0 * 51200);
    LocalSpec real = line(1024);
    real.kernel = Kernel::r2c;
    EXPECT_EQ(spec_flops(real), 1048576.0 * 25600);
}

TEST_F(EngineRates, AreFiniteForEverything) {
    for (const char* engine : {"mkl", "fftw", "ducc0", "never heard of"}) {
        for (int k = 0; k < 12; ++k) {
            for (index_t n : {index_t{1}, index_t{2}, index_t{1009}, index_t{1} << 38}) {
                for (int threads : {1, 2, 3, 64}) {
                    LocalSpec spec;
                    spec.kernel = static_cast<Kernel>(k);
                    spec.transform = {{n, 1, 1}};
                    spec.threads = threads;
                    const double seconds = expected_seconds(engine, spec);
                    EXPECT_TRUE(std::isfinite(seconds) && seconds > 0) << engine << " " << k << " " << n;
                }
            }
        }
    }
}

TEST_F(EngineRates, RankTheEngines) {
    set_rates({"test", {{"ducc0", Precision::dbl, RateShape::line, 1, 1024, 1e6}}});
    EXPECT_EQ(forecast_local(line(1024), "").value().engine, "ducc0");
    EXPECT_EQ(plan_local(line(1024), "").value().engine, "ducc0");
    EXPECT_EQ(current_rates().source, "test");
}

TEST_F(EngineRates, PriorsSayThatTheyArePriors) { EXPECT_EQ(current_rates().source.rfind("prior: ", 0), 0U); }

TEST_F(EngineRates, AMeasurementIsPositiveAndWithinItsLimit) {
    LocalSpec spec = line(1024);
    spec.batch[0].n = 64;
    auto choice = plan_local(spec, "ducc0");
    ASSERT_TRUE(choice.ok());
    auto seconds = measure_seconds(*choice.value().fft, spec, 0.2);
    ASSERT_TRUE(seconds.ok());
    EXPECT_GT(seconds.value(), 0);
    EXPECT_LT(seconds.value(), 0.2);
}

}  // namespace
}  // namespace spanfft
