// Every engine x kernel x precision at awkward lengths, against the definition, within the accuracy rule.
//
// Method: one test an engine, kernel and precision; it goes through the lengths and holds what plan_local gives
// when the engine is forced. At these lengths no engine may be passed over, so an error of trust fails here too.
// The error of one short vector strays far from its mean (dst2 at 3: 0.99 of the rule with FFTW), so it is taken
// over batches of at least 128 points; the tolerance is the rule itself.
#include <gtest/gtest.h>

#include <complex>
#include <tuple>
#include <vector>

#include "core/vector_width.hpp"
#include "engine/ducc_engine.hpp"
#include "engine/engine.hpp"
#include "engine/spec.hpp"
#include "engine/trust.hpp"
#include "support/direct_sum.hpp"

namespace spanfft {
namespace {

constexpr Kernel kKernels[] = {Kernel::c2c_forward, Kernel::c2c_backward, Kernel::r2c,  Kernel::c2r,
                               Kernel::dct1,        Kernel::dct2,         Kernel::dct3, Kernel::dct4,
                               Kernel::dst1,        Kernel::dst2,         Kernel::dst3, Kernel::dst4};

constexpr index_t kLengths[] = {1,   2,   3,   4,   5,   6,   7,   8,   9,   10,  11,  12,  13,   14,   15,   16,
                                17,  18,  19,  20,  21,  22,  23,  24,  25,  27,  29,  31,  32,   33,   36,   37,
                                48,  49,  50,  60,  61,  64,  65,  81,  96,  97,  98,  99,  100,  101,  121,  127,
                                128, 129, 169, 210, 243, 256, 257, 360, 500, 509, 512, 719, 1000, 1001, 1009, 1024};

using Case = std::tuple<std::string, Kernel, Precision>;

class EngineKernel : public testing::TestWithParam<Case> {};

TEST_P(EngineKernel, MatchesTheDefinition) {
    const auto& [name, kernel, precision] = GetParam();
    const Engine* engine = find_engine(name);
    if (!engine) GTEST_SKIP() << "optional engine absent: " << engine_absence(name);
    if (!engine->has_precision(precision)) {
        LocalSpec spec;
        spec.precision = precision;
        spec.transform = {{8, 1, 1}};
        GTEST_SKIP() << engine->supports(spec).message();
    }
    if (name == "mkl" && kernel > Kernel::c2r) {
        LocalSpec spec;
        spec.kernel = kernel;
        spec.transform = {{8, 1, 1}};
        const auto choice = plan_local(spec, name, {});
        ASSERT_FALSE(choice.ok());
        EXPECT_EQ(choice.status().code(), Code::engine_error);
        GTEST_SKIP() << choice.status().message();
    }
    for (index_t n : kLengths) {
        if (n == 1 && kernel == Kernel::dct1) continue;
        LocalSpec spec;
        spec.kernel = kernel;
        spec.precision = precision;
        spec.transform = {{n, 1, 1}};
        spec.batch = {{(127 + n) / n, kernel == Kernel::c2r ? n / 2 + 1 : n, kernel == Kernel::r2c ? n / 2 + 1 : n}};
        auto choice = plan_local(spec, name, {});
        if (!choice.ok() && test::comes_near_rule(*engine, spec)) continue;
        ASSERT_TRUE(choice.ok()) << choice.status().message();
        EXPECT_EQ(choice.value().engine, name);
        const auto outcome = test::run(spec, *choice.value().fft);
        EXPECT_LE(outcome.error, test::rule(spec)) << "length " << n;
        EXPECT_TRUE(outcome.surroundings_kept) << "length " << n;
        EXPECT_TRUE(outcome.input_preserved || kernel == Kernel::c2r) << "length " << n;
    }
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
    return std::get<0>(info.param) + "_" + kernel_name(std::get<1>(info.param)) + "_" +
           precision_name(std::get<2>(info.param));
}

INSTANTIATE_TEST_SUITE_P(All, EngineKernel,
                         testing::Combine(testing::Values("ducc0", "fftw", "mkl"), testing::ValuesIn(kKernels),
                                          testing::Values(Precision::single, Precision::dbl, Precision::extended)),
                         case_name);

// A scale is one more rounding for engines that multiply by it at the end, and the rule allows least for short lines.
TEST(EngineShortLines, OfEveryDctAndDstMeetTheRuleWithAScaleContiguousAcrossAndInPlace) {
    constexpr index_t kLines = 255;
    const Engine& ducc = *find_engine("ducc0");
    for (const Kernel kernel : kKernels) {
        if (!is_r2r(kernel)) continue;
        for (const Precision precision : {Precision::single, Precision::dbl, Precision::extended}) {
            for (index_t n = kernel == Kernel::dct1 ? 2 : 1; n <= 17; ++n) {
                for (const bool across : {false, true}) {
                    LocalSpec spec;
                    spec.kernel = kernel;
                    spec.precision = precision;
                    spec.scale = 1.0L / static_cast<long double>(logical_length(kernel, n));  // norm=forward
                    spec.in_place = across;
                    spec.transform = {{n, across ? kLines : 1, across ? kLines : 1}};
                    spec.batch = {across ? LoopDim{kLines, 1, 1} : LoopDim{kLines, n, n}};
                    auto fft = ducc.plan(spec);
                    ASSERT_TRUE(fft.ok()) << fft.status().message();
                    const auto outcome = test::run(spec, *fft.value());
                    EXPECT_LE(outcome.error, test::rule(spec))
                        << kernel_name(kernel) << " " << precision_name(precision) << " of " << n;
                    EXPECT_TRUE(outcome.surroundings_kept);
                }
            }
        }
    }
}

// ducc0 with the widest registers of this processor is held above; narrower ones are what other processors get.
TEST(EngineWidths, DuccWithNarrowerRegistersMatchesTheDefinitionToo) {
    int widths = 0;
    for (const int bytes : {16, 32}) {
        if (bytes >= vector_bytes()) continue;
        ++widths;
        const auto engine = make_ducc_engine(bytes);
        EXPECT_NE(engine->version(), find_engine("ducc0")->version());
        for (const Kernel kernel : kKernels) {
            for (const Precision precision : {Precision::single, Precision::dbl, Precision::extended}) {
                for (const index_t n : {2, 3, 8, 13, 30, 61, 64, 101, 210, 512, 1001}) {
                    LocalSpec spec;
                    spec.kernel = kernel;
                    spec.precision = precision;
                    spec.transform = {{n, 1, 1}};
                    const index_t half = n / 2 + 1;
                    spec.batch = {{(127 + n) / n, kernel == Kernel::c2r ? half : n, kernel == Kernel::r2c ? half : n}};
                    auto fft = engine->plan(spec);
                    ASSERT_TRUE(fft.ok()) << fft.status().message();
                    const auto outcome = test::run(spec, *fft.value());
                    EXPECT_LE(outcome.error, test::rule(spec)) << kernel_name(kernel) << " of " << n << ", " << bytes;
                }
            }
        }
    }
    if (!widths) GTEST_SKIP() << "this processor has registers of 16 bytes alone";
}

// Lines side by side in rows of `pitch`, transformed where they lie; the largest error of a line, and which of the
// numbers behind the lines have changed.
template <class T>
struct SpareRun {
    double error = 0;
    index_t changed = 0;  // places of a row, from its first line on
    SpareRun(const Engine& engine, Precision precision, index_t points, index_t lines, index_t pitch, index_t spare) {
        LocalSpec spec;
        spec.precision = precision;
        spec.transform = {{points, pitch, pitch}};
        spec.batch = {{lines, 1, 1}};
        spec.in_place = true;
        spec.spare_lines = spare;
        std::vector<std::complex<T>> tile(static_cast<size_t>(points * pitch));
        for (size_t i = 0; i < tile.size(); ++i)
            tile[i] = {static_cast<T>(i * 7919 % 1024) / 1024, static_cast<T>(i * 104729 % 1024) / 1024};
        const auto before = tile;
        auto fft = engine.plan(spec);
        EXPECT_TRUE(fft.ok()) << fft.status().message();
        fft.value()->execute(tile.data(), tile.data());
        const auto line = [&](const auto& from, index_t i) {
            std::vector<test::WideComplex> numbers;
            for (index_t p = 0; p < points; ++p) {
                const std::complex<T> number = from[static_cast<size_t>(p * pitch + i)];
                numbers.push_back({number.real(), number.imag()});
            }
            return numbers;
        };
        for (index_t i = 0; i < lines; ++i) {
            const auto expected = test::direct_sum(spec.kernel, points, line(before, i));
            error = std::max(error, test::relative_error(line(tile, i), expected));
        }
        for (size_t i = 0; i < tile.size(); ++i) {
            const index_t place = static_cast<index_t>(i) % pitch;
            if (place >= lines && tile[i] != before[i]) changed = std::max(changed, place + 1);
        }
    }
};

template <class T>
void check_spare_lines(const Engine& engine, Precision precision, int register_bytes) {
    const index_t at_once = ducc_lines_at_once(precision, register_bytes), pitch = 4 * at_once, points = 60;
    LocalSpec line;
    line.precision = precision;
    line.transform = {{points, 1, 1}};
    for (index_t lines = 1; lines <= 2 * at_once + 1; ++lines) {
        const index_t left = lines % at_once, missing = at_once - left;
        const bool fills = 2 * left > at_once;
        for (const index_t spare : {missing, missing - 1, 2 * at_once - 1}) {
            const SpareRun<T> run(engine, precision, points, lines, pitch, spare);
            EXPECT_LE(run.error, test::rule(line)) << lines << " lines, " << spare << " spare, " << register_bytes;
            EXPECT_EQ(run.changed, fills && spare >= missing ? lines + missing : 0) << lines << " lines, " << spare;
        }
    }
}

// A register with more than half of its lanes taken is filled with spare lines; what no line is spared is left alone.
TEST(EngineWidths, DuccFillsRegistersWithSpareLinesAndLeavesOthersAlone) {
    for (const int bytes : {16, 32, 64}) {
        if (bytes > vector_bytes()) continue;
        const auto engine = make_ducc_engine(bytes);
        check_spare_lines<float>(*engine, Precision::single, bytes);
        check_spare_lines<double>(*engine, Precision::dbl, bytes);
    }
    EXPECT_EQ(ducc_lines_at_once(Precision::extended, 64), 1);
}

// Lengths too long for every output by definition: 40 outputs spread over the range stand for all.
class EngineLongLine : public testing::TestWithParam<std::tuple<std::string, index_t>> {};

TEST_P(EngineLongLine, MatchesTheDefinition) {
    const auto& [name, n] = GetParam();
    if (!find_engine(name)) GTEST_SKIP() << "optional engine absent: " << engine_absence(name);
    LocalSpec spec;
    spec.transform = {{n, 1, 1}};
    // One that is passed over at this length is refused with the reason, and is as right for noise all the same.
    const Engine& engine = *find_engine(name);
    const std::string reason = distrust(engine, spec);
    const auto choice = plan_local(spec, name, {});
    ASSERT_EQ(choice.ok(), reason.empty()) << choice.status().message();
    if (!reason.empty()) {
        EXPECT_NE(choice.status().message().find(reason), std::string::npos);
    }
    const auto fft = engine.plan(spec);
    ASSERT_TRUE(fft.ok()) << fft.status().message();
    std::vector<double> in(static_cast<size_t>(2 * n)), out(in.size());
    std::vector<test::WideComplex> wide(static_cast<size_t>(n));
    uint64_t state = 1;
    for (size_t i = 0; i < in.size(); ++i) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        in[i] = static_cast<double>(state >> 44) * 0x1p-19 - 1.0;
        (i % 2 ? wide[i / 2].im : wide[i / 2].re) = static_cast<test::Wide>(in[i]);
    }
    (reason.empty() ? *choice.value().fft : *fft.value()).execute(in.data(), out.data());
    std::vector<test::WideComplex> got, expected;
    for (index_t i = 0; i < 40; ++i) {
        const index_t k = i * (n - 1) / 39;
        expected.push_back(test::direct_output(Kernel::c2c_forward, n, wide, k));
        got.push_back({out[static_cast<size_t>(2 * k)], out[static_cast<size_t>(2 * k + 1)]});
    }
    EXPECT_LE(test::relative_error(got, expected), test::rule(spec));
}

INSTANTIATE_TEST_SUITE_P(All, EngineLongLine,
                         testing::Combine(testing::Values("ducc0", "fftw", "mkl"),
                                          testing::Values<index_t>(4096, 10007, 20000, 65536, 65537)));

}  // namespace
}  // namespace spanfft
