// Rate tables: interpolation, what is filled in, and that forecasts are finite and ranked by the table they are given.
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

RateRow row(double n, int threads, double gflops, RateShape shape = RateShape::line) {
    return {"mine", Precision::dbl, shape, threads, n, gflops};
}

TEST(EngineRates, AreInterpolatedInTheLogarithmOfTheLength) {
    const RateTable rates{row(1 << 10, 1, 4), row(1 << 14, 1, 16)};
    EXPECT_NEAR(expected_gflops(rates, "mine", line(1 << 10)), 4, 1e-12);
    EXPECT_NEAR(expected_gflops(rates, "mine", line(1 << 12)), 8, 1e-12);
    EXPECT_NEAR(expected_gflops(rates, "mine", line(1 << 20)), 16, 1e-12);
    EXPECT_NEAR(expected_gflops(rates, "mine", line(4)), 4, 1e-12);
}

TEST(EngineRates, GrowWithThreadsByWhatDoublingThemGave) {
    const RateTable rates{row(1 << 10, 1, 4), row(1 << 10, 2, 6)};
    EXPECT_NEAR(expected_gflops(rates, "mine", line(1 << 10, 2)), 6, 1e-12);
    EXPECT_NEAR(expected_gflops(rates, "mine", line(1 << 10, 4)), 9, 1e-12);
    LocalSpec small = line(64, 2);
    small.batch.clear();
    EXPECT_NEAR(expected_gflops(rates, "mine", small), 4, 1e-12);  // too small for threads
}

RateRow batch_row(double n, double batch_points, double gflops, int threads = 1) {
    return {"mine", Precision::dbl, RateShape::line, threads, n, gflops, RateKernel::c2c, batch_points};
}

LocalSpec batch(index_t n, index_t lines, int threads = 1) {
    LocalSpec spec = line(n, threads);
    spec.batch[0].n = lines;
    return spec;
}

TEST(EngineRates, OfBatchesGoWithTheSizeOfTheBatch) {
    const RateTable rates{row(1 << 10, 1, 4), batch_row(1 << 10, 1 << 14, 16), batch_row(1 << 10, 1 << 20, 2)};
    LocalSpec alone = line(1 << 10);
    alone.batch.clear();
    EXPECT_NEAR(expected_gflops(rates, "mine", alone), 4, 1e-12);
    EXPECT_NEAR(expected_gflops(rates, "mine", batch(1 << 10, 1 << 4)), 16, 1e-12);
    EXPECT_NEAR(expected_gflops(rates, "mine", batch(1 << 10, 1 << 7)), std::sqrt(16 * 2), 1e-9);  // halfway
    EXPECT_NEAR(expected_gflops(rates, "mine", batch(1 << 10, 1 << 16)), 2, 1e-12);                // beyond
    EXPECT_NEAR(expected_gflops(rates, "mine", batch(1 << 10, 2)), 16, 1e-12);
    EXPECT_NEAR(expected_gflops(rates, "mine", batch(1 << 16, 16)), 4, 1e-12);  // longer than any in a batch
}

TEST(EngineRates, OfOtherShapesGoWithTheLinesOfTheirAxes) {
    const RateTable rates{batch_row(16, 1 << 12, 4), batch_row(256, 1 << 12, 1),
                          row(1 << 12, 1, 2, RateShape::several)};
    LocalSpec cube, plane;
    cube.transform = {{16, 256, 256}, {16, 16, 16}, {16, 1, 1}};
    plane.transform = {{16, 256, 256}, {256, 1, 1}};
    EXPECT_NEAR(expected_gflops(rates, "mine", cube), 2, 1e-9);
    // 4 operations at 4 and 8 at 1, where the cube's are all at 4.
    EXPECT_NEAR(expected_gflops(rates, "mine", plane), 2 * (12 / (4.0 / 4 + 8.0 / 1)) / 4, 1e-9);
    EXPECT_NEAR(expected_gflops({row(1 << 12, 1, 2, RateShape::several)}, "mine", plane), 2, 1e-12);  // no lines
}

RateTable without_last(const RateTable& rates) {
    RateTable fewer;
    for (size_t i = 0; i + 1 < rates.size(); ++i) fewer.push_back(rates[i]);
    return fewer;
}

TEST(EngineRates, OfTwoAxesAreThoseOfPlanesWhereThatEngineHasAny) {
    RateTable rates{batch_row(64, 1 << 12, 4), row(1 << 12, 1, 2, RateShape::several),
                    row(1 << 12, 1, 3, RateShape::plane)};
    LocalSpec cube, plane;
    cube.transform = {{16, 256, 256}, {16, 16, 16}, {16, 1, 1}};
    plane.transform = {{64, 64, 64}, {64, 1, 1}};
    EXPECT_NEAR(expected_gflops(rates, "mine", cube), 2, 1e-9);
    EXPECT_NEAR(expected_gflops(rates, "mine", plane), 3, 1e-9);
    rates = without_last(rates);
    rates.push_back({"another", Precision::dbl, RateShape::plane, 1, 1 << 12, 3});
    EXPECT_NEAR(expected_gflops(rates, "mine", plane), 2, 1e-9);
}

// Boxes of 8 x 512 and of 64 x 64 were as fast as lines of their lengths say, so one of 512 x 8 is too; and where lines
// of 512 side by side are half as fast beside such a line as those of 64, so is the box in that part.
TEST(EngineRates, OfABoxAreThoseOfItsLinesAsBoxesThatWereMeasuredAreBesideTheirs) {
    RateTable rates{batch_row(8, 1 << 14, 4), batch_row(64, 1 << 14, 8), batch_row(512, 1 << 14, 8)};
    const auto box = [](double a, double b, double gflops) {
        RateRow plane = row(a * b, 1, gflops, RateShape::plane);
        plane.box = {static_cast<index_t>(a), static_cast<index_t>(b)};
        return plane;
    };
    const double long_one = 12 / (3 / 4.0 + 9 / 8.0);
    rates.push_back(box(8, 512, long_one / 2));
    rates.push_back(box(64, 256, 8 / 2.0));
    LocalSpec plane;
    plane.transform = {{512, 8, 8}, {8, 1, 1}};
    EXPECT_NEAR(expected_gflops(rates, "mine", plane), long_one / 2, 1e-9);
    for (const auto& [n, gflops] : {std::pair{8, 4.0}, {64, 8.0}, {512, 4.0}})
        rates.push_back(row(n, 1, gflops, RateShape::tile));
    EXPECT_NEAR(expected_gflops(rates, "mine", plane), 12 / (3 / 4.0 + 9 / 4.0) / 2, 1e-9);
}

// FFTW transforms lines of 96 points at 20 GF/s one by one, and side by side in a tile at 10.
TEST(EngineRates, OfLinesSideBySideInATileAreThoseOfTilesBesideThoseOfLines) {
    LocalSpec tile;
    tile.transform = {{96, 40, 40}};
    tile.batch = {{32, 1, 1}};
    tile.in_place = true;
    RateTable rates{batch_row(96, 1 << 14, 20), batch_row(96, 1 << 20, 8)};
    EXPECT_NEAR(expected_gflops(rates, "mine", tile), 20, 1e-9);  // of tiles nothing is known
    rates.push_back(row(96, 1, 10, RateShape::tile));
    EXPECT_NEAR(expected_gflops(rates, "mine", tile), 10, 1e-9);
    LocalSpec of_floats = tile;  // was not measured
    of_floats.precision = Precision::single;
    EXPECT_NEAR(expected_gflops(rates, "mine", of_floats), 2 * 10, 1e-9);
    LocalSpec large = tile;  // comes from memory, as large batches of lines do
    large.transform = {{96, 1 << 14, 1 << 14}};
    large.batch = {{1 << 14, 1, 1}};
    rates.push_back(row(96, 1, 3, RateShape::strided));
    EXPECT_NEAR(expected_gflops(rates, "mine", large), 3, 1e-9);  // far apart: rows of that shape say it
    LocalSpec rows = tile;
    rows.transform = {{96, 1, 1}};
    rows.batch = {{32, 96, 96}};
    EXPECT_NEAR(expected_gflops(rates, "mine", rows), 20, 1e-9);
    LocalSpec elsewhere = tile;  // what was measured is in place
    elsewhere.in_place = false;
    EXPECT_NEAR(expected_gflops(rates, "mine", elsewhere), 20, 1e-9);
}

// An engine that transforms 8 lines at once, at 16 GF/s, and those left over one by one at 4, in a tile at 2.
TEST(EngineRates, OfLinesThatFillNoRegisterAreThoseOfFewLines) {
    const auto few = [](RateShape shape, double gflops) {
        return RateRow{"mine", Precision::dbl, shape, 1, 96, gflops, RateKernel::c2c, 4 * 96};
    };
    const RateTable rates{batch_row(96, 1 << 14, 16), few(RateShape::few_lines, 4), row(96, 1, 8, RateShape::tile),
                          few(RateShape::few_lanes, 2)};
    LocalSpec lines;
    lines.transform = {{96, 1, 1}};
    const auto gflops = [&](index_t count) {
        lines.batch = {{count, 96, 96}};
        return expected_gflops(rates, "mine", lines);
    };
    EXPECT_NEAR(gflops(8), 16, 1e-9);
    EXPECT_NEAR(gflops(4), 4, 1e-9);
    EXPECT_NEAR(gflops(12), 12 / (8 / 16.0 + 4 / 4.0), 1e-9);
    EXPECT_NEAR(expected_gflops(rates, "mine", lines, 8), 16, 1e-9);  // eight at a time
    LocalSpec tile;
    tile.transform = {{96, 40, 40}};
    tile.in_place = true;
    const auto in_tile = [&](index_t count, index_t spare) {
        tile.batch = {{count, 1, 1}};
        tile.spare_lines = spare;
        return expected_gflops(rates, "mine", tile);
    };
    EXPECT_NEAR(in_tile(16, 0), 8, 1e-9);
    EXPECT_NEAR(in_tile(13, 0), 13 / (8 / 8.0 + 5 / 2.0), 1e-9);
    EXPECT_NEAR(in_tile(13, 2), 13 / (8 / 8.0 + 5 / 2.0), 1e-9);  // no room for three
    EXPECT_NEAR(in_tile(13, 3), 8 * 13 / 16.0, 1e-9);
    EXPECT_NEAR(in_tile(12, 4), 12 / (8 / 8.0 + 4 / 2.0), 1e-9);  // half of a register
    tile.precision = Precision::single;                           // 16 floats, of which nothing was measured
    EXPECT_NEAR(in_tile(16, 0), 2 * 8, 1e-9);
    EXPECT_NEAR(in_tile(8, 0), 2 * 2, 1e-9);
    const RateTable unnumbered{batch_row(96, 1 << 14, 16), {"mine", Precision::dbl, RateShape::few_lines, 1, 96, 4}};
    EXPECT_NEAR(expected_gflops(unnumbered, "mine", lines), 16, 1e-9);  // as a file may have it
    LocalSpec threads = line(96, 2);                                    // each thread has its part
    const RateTable two{batch_row(96, 1 << 14, 16),
                        few(RateShape::few_lines, 4),
                        {"mine", Precision::dbl, RateShape::line, 2, 96, 32, RateKernel::c2c, 1 << 14}};
    threads.batch = {{1 << 20, 96, 96}};
    EXPECT_NEAR(expected_gflops(two, "mine", threads), 32, 1e-9);
    threads.batch = {{8, 96, 96}};
    EXPECT_NEAR(expected_gflops(two, "mine", threads), 8, 1e-9);
}

// FFTW transforms 15 and 945 reals at 6 GF/s, 12 and 420 at 15; of complex numbers in batches there is one sort.
TEST(EngineRates, OfRealAndOfSingleLinesOfOddLengthsAreASortOfTheirOwn) {
    const auto reals = [](double n, double gflops) {
        return RateRow{"mine", Precision::dbl, RateShape::line, 1, n, gflops, RateKernel::half, 1 << 14};
    };
    LocalSpec lines = line(105);
    lines.kernel = Kernel::r2c;
    RateTable rates{reals(12, 15), reals(420, 15), batch_row(12, 1 << 14, 20), batch_row(420, 1 << 14, 20)};
    EXPECT_NEAR(expected_gflops(rates, "mine", lines), 15, 1e-9);  // of odd ones nothing is known
    for (const double n : {15, 945}) rates.push_back(reals(n, 6));
    rates.push_back(batch_row(945, 1 << 14, 10));
    EXPECT_NEAR(expected_gflops(rates, "mine", lines), 6, 1e-9);
    lines.transform[0].n = 100;
    EXPECT_NEAR(expected_gflops(rates, "mine", lines), 15, 1e-9);
    lines.kernel = Kernel::c2c_forward;
    lines.transform[0].n = 735;
    EXPECT_LT(expected_gflops(rates, "mine", lines), 20);  // between 420 and 945
    EXPECT_GT(expected_gflops(rates, "mine", lines), 10);
    const RateTable alone{row(420, 1, 20), row(1260, 1, 20), row(945, 1, 10), row(11025, 1, 10)};
    lines.batch.clear();
    for (const auto& [n, gflops] : {std::pair{1050, 20.0}, {1575, 10.0}}) {
        lines.transform[0].n = n;
        EXPECT_NEAR(expected_gflops(alone, "mine", lines), gflops, 1e-9);
    }
}

// Before anything was measured: all libraries but ducc0 are expected to do odd lengths of reals at half of the rate of
// even ones.
TEST(EngineRates, OfRealsOfOddLengthsAreScaledFromComplexOnesWhereNothingWasMeasured) {
    LocalSpec lines = line(105);
    lines.kernel = Kernel::r2c;
    const RateTable mine{row(105, 1, 10)}, ducc{{"ducc0", Precision::dbl, RateShape::line, 1, 105, 10}};
    EXPECT_NEAR(expected_gflops(mine, "mine", lines), 4, 1e-9);
    EXPECT_NEAR(expected_gflops(ducc, "ducc0", lines), 8, 1e-9);
    lines.transform[0].n = 104;
    EXPECT_NEAR(expected_gflops(mine, "mine", lines), 8, 1e-9);
    LocalSpec plane;  // of which half the work is that of its rows
    plane.kernel = Kernel::r2c;
    plane.transform = {{64, 105, 53}, {105, 1, 1}};
    EXPECT_NEAR(expected_gflops({row(64 * 105, 1, 10, RateShape::plane)}, "mine", plane), 10 * 2 / (1 / 0.4 + 1 / 0.8),
                1e-9);
}

TEST(EngineRates, OfPowersOfTwoAndOfOtherLengthsAreTwoSorts) {
    const RateTable rates{row(1 << 10, 1, 8), row(1 << 14, 1, 8), row(1000, 1, 4), row(9000, 1, 4)};
    EXPECT_NEAR(expected_gflops(rates, "mine", line(1 << 12)), 8, 1e-12);
    EXPECT_NEAR(expected_gflops(rates, "mine", line(3000)), 4, 1e-12);
    EXPECT_NEAR(expected_gflops({row(1000, 1, 4)}, "mine", line(1 << 12)), 4, 1e-12);  // the only sort there is
}

// Lines of 12 and 60 were measured at 6 GF/s. By the powers, 2 is done at 8, 3 at 4, 5 at 2 and 7 at 1.
RateTable powers_table() {
    RateTable rates;
    for (const double n : {12, 60}) rates.push_back(batch_row(n, 1 << 14, 6));
    for (const double n : {2, 8}) rates.push_back(batch_row(n, 1 << 14, 8));
    for (const double n : {9, 81}) rates.push_back(batch_row(n, 1 << 14, 4));
    for (const double n : {25, 625}) rates.push_back(batch_row(n, 1 << 14, 2));
    rates.push_back(batch_row(49, 1 << 14, 1));
    return rates;
}

double by_powers(int twos, int threes, int fives, int sevens) {
    const double of[] = {twos * std::log2(2), threes * std::log2(3), fives * std::log2(5), sevens * std::log2(7)};
    const double rates[] = {8, 4, 2, 1};
    double operations = 0, seconds = 0;
    for (int i = 0; i < 4; ++i) operations += of[i], seconds += of[i] / rates[i];
    return operations / seconds;
}

TEST(EngineRates, OfALengthGoWithItsFactorsWherePowersOfOddPrimesWereMeasured) {
    const RateTable rates = powers_table();
    EXPECT_NEAR(expected_gflops(rates, "mine", batch(12, 1365)), 6, 1e-9);
    EXPECT_NEAR(expected_gflops(rates, "mine", batch(60, 273)), 6, 1e-9);
    EXPECT_NEAR(expected_gflops(rates, "mine", batch(8, 2048)), 8, 1e-9);
    const double t = std::log(35.0 / 12) / std::log(60.0 / 12);
    const double like_12 = by_powers(2, 1, 0, 0), like_60 = by_powers(2, 1, 1, 0);
    const double around = like_12 * std::pow(like_60 / like_12, t);
    EXPECT_NEAR(expected_gflops(rates, "mine", batch(35, 468)), 6 * by_powers(0, 0, 1, 1) / around, 1e-9);
    EXPECT_NEAR(expected_gflops(rates, "mine", batch(27, 607)),
                6 * 4 / (like_12 * std::pow(like_60 / like_12, std::log(27.0 / 12) / std::log(60.0 / 12))), 1e-9);
    const RateTable without = without_last(rates);  // of sevens: as lengths like it
    EXPECT_NEAR(expected_gflops(without, "mine", batch(35, 468)), 6, 1e-9);
}

// Of real lines 60, 420 and 5040 points were measured with two threads, and 960 with one alone, at half the rate of
// those: so it is with two.
TEST(EngineRates, OfALengthThatOneThreadWasMeasuredWithGoWithItForTwo) {
    RateTable rates = powers_table();
    const auto real = [](double n, double gflops, int threads) {
        RateRow row = batch_row(n, 1 << 14, gflops, threads);
        row.kernel = RateKernel::half;
        return row;
    };
    for (const double n : {60, 420, 5040}) {
        rates.push_back(real(n, 10, 1));
        rates.push_back(real(n, 16, 2));
    }
    LocalSpec lines = batch(960, 17, 2);
    lines.kernel = Kernel::r2c;
    lines.batch = {{17, 960, 481}};
    const double before = expected_gflops(rates, "mine", lines);
    rates.push_back(real(960, 5, 1));
    EXPECT_NEAR(expected_gflops(rates, "mine", lines), 8, 1e-9);
    EXPECT_GT(before, 10);
}

TEST(EngineRates, ThreadsThatHardlyGainAreNotUseful) {
    RateTable rates;
    for (const double n : {64, 1 << 10}) rates.push_back(batch_row(n, 1 << 14, 4));
    rates.push_back(batch_row(64, 1 << 14, 4.4, 2));
    rates.push_back(batch_row(1 << 10, 1 << 14, 7, 2));
    EXPECT_EQ(useful_threads(rates, "mine", batch(64, 256, 2)), 1);
    EXPECT_EQ(useful_threads(rates, "mine", batch(1 << 10, 16, 2)), 2);
    EXPECT_EQ(useful_threads(rates, "mine", batch(64, 256, 1)), 1);
    // Half as much again is a gain where a run takes a while, and may be none where it takes some microseconds.
    rates.push_back(batch_row(1 << 12, 1 << 14, 4));
    rates.push_back(batch_row(1 << 12, 1 << 14, 6, 2));
    EXPECT_EQ(useful_threads(rates, "mine", batch(1 << 12, 2, 2)), 1);
    EXPECT_EQ(useful_threads(rates, "mine", batch(1 << 12, 200, 2)), 2);
    // Below 20 us they never are: 1024 points at 4 GF/s take 13, and twice as many 26.
    EXPECT_EQ(useful_threads(rates, "mine", batch(1 << 10, 1, 2)), 1);
    EXPECT_EQ(useful_threads(rates, "mine", batch(1 << 10, 2, 2)), 2);
    // Priors have no batches, and say nothing of what threads gain in large ones.
    EXPECT_EQ(useful_threads({}, "fftw", batch(1 << 10, 2048, 2)), 2);
}

TEST(EngineRates, OfRealDataAreItsOwnWhereMeasured) {
    RateTable rates{row(1 << 10, 1, 8)};
    LocalSpec real = line(1 << 10);
    real.kernel = Kernel::c2r;
    const double guessed = expected_gflops(rates, "mine", real);
    EXPECT_LT(guessed, 8);
    rates.push_back({"mine", Precision::dbl, RateShape::line, 1, 1 << 10, 3, RateKernel::half});
    EXPECT_NEAR(expected_gflops(rates, "mine", real), 3, 1e-12);
    real.precision = Precision::single;
    EXPECT_NEAR(expected_gflops(rates, "mine", real), 6, 1e-12);  // twice as fast, as nothing of floats is known
}

TEST(EngineRates, ThreadsGainInSmallWorkWhatWasMeasuredThere) {
    const RateTable rates{row(64, 1, 4), row(64, 2, 3), batch_row(64, 1 << 14, 5, 2)};
    LocalSpec small = line(64, 2);
    small.batch.clear();
    EXPECT_NEAR(expected_gflops(rates, "mine", small), 3, 1e-12);
    EXPECT_NEAR(expected_gflops(without_last(rates), "mine", small), 4,
                1e-12);  // a table without batches: threads gain nothing
}

TEST(EngineRates, ThePeakIsTheFastestRow) {
    const RateTable rates{row(1 << 10, 1, 8), batch_row(1 << 10, 1 << 14, 16), row(1 << 14, 1, 2)};
    EXPECT_NEAR(peak_gflops(rates, Precision::dbl, 1), 16, 1e-12);
    EXPECT_NEAR(peak_gflops(rates, Precision::single, 1), 32, 1e-12);
}

TEST(EngineRates, SecondsAreFlopsOverTheRate) {
    const RateTable rates{row(1 << 10, 1, 5)};
    // 2^20 transforms of 5 * 1024 * 10 flops at 5 GF/s.
    EXPECT_NEAR(expected_seconds(rates, "mine", line(1024)), 1048576.0 * 51200 / 5e9, 1e-9);
    EXPECT_EQ(spec_flops(line(1024)), 1048576.0 * 51200);
    LocalSpec real = line(1024);
    real.kernel = Kernel::r2c;
    EXPECT_EQ(spec_flops(real), 1048576.0 * 25600);
}

TEST(EngineRates, AreFiniteForEverything) {
    for (const char* engine : {"mkl", "fftw", "ducc0", "never heard of"}) {
        for (int k = 0; k < 12; ++k) {
            for (index_t n : {index_t{1}, index_t{2}, index_t{1009}, index_t{1} << 38}) {
                for (int threads : {1, 2, 3, 64}) {
                    LocalSpec spec;
                    spec.kernel = static_cast<Kernel>(k);
                    spec.transform = {{n, 1, 1}};
                    spec.threads = threads;
                    const double seconds = expected_seconds({}, engine, spec);
                    EXPECT_TRUE(std::isfinite(seconds) && seconds > 0) << engine << " " << k << " " << n;
                }
            }
        }
    }
}

TEST(EngineRates, RankTheEngines) {
    const RateTable rates{{"ducc0", Precision::dbl, RateShape::line, 1, 1024, 1e6}};
    EXPECT_EQ(forecast_local(line(1024), "", rates).value().engine, "ducc0");
    EXPECT_EQ(plan_local(line(1024), "", rates).value().engine, "ducc0");
    EXPECT_EQ(forecast_local(line(1024), "", rates).value().seconds, expected_seconds(rates, "ducc0", line(1024)));
    EXPECT_EQ(outline_local(line(1024), "", rates), expected_seconds(rates, "ducc0", line(1024)));
}

TEST(EngineRates, OfATableThatLacksAnEngineAreThePriors) {
    const RateTable rates{row(1 << 10, 1, 4)};
    for (const char* engine : {"fftw", "mkl", "ducc0"}) {
        EXPECT_EQ(expected_gflops(rates, engine, line(1024)), expected_gflops({}, engine, line(1024)));
        EXPECT_EQ(expected_gflops(prior_rates(), engine, line(1024)), expected_gflops({}, engine, line(1024)));
    }
}

// What is outlined needs no trust and no engine that is there.
TEST(EngineRates, OutlinesAreThoseOfTheEngineThatIsAskedFor) {
    const RateTable rates{{"ducc0", Precision::dbl, RateShape::line, 1, 1024, 1e-3}};
    EXPECT_EQ(outline_local(line(1024), "ducc0", rates), expected_seconds(rates, "ducc0", line(1024)));
    EXPECT_EQ(outline_local(line(1024), "nobody", rates), expected_seconds(rates, "nobody", line(1024)));
}

TEST(EngineRates, AMeasurementIsPositiveAndWithinItsLimit) {
    LocalSpec spec = line(1024);
    spec.batch[0].n = 64;
    auto choice = plan_local(spec, "ducc0", {});
    ASSERT_TRUE(choice.ok());
    auto seconds = measure_seconds(*choice.value().fft, spec, 0.2);
    ASSERT_TRUE(seconds.ok());
    EXPECT_GT(seconds.value(), 0);
    EXPECT_LT(seconds.value(), 0.2);
}

}  // namespace
}  // namespace spanfft
