// The accuracy check: it must catch faults like MKL's at m * p, wherever they sit, and flag no good engine.
//
// Method: engines that are wrong on purpose wrap ducc0 and disturb its outputs by 1e-12 in the patterns that a bad
// algorithm leaves: everywhere, in every seventh output, in what a seventh of the inputs contribute. The five
// lengths where MKL 2026.2 with AVX-512 is wrong are tried on the real libraries: the verdict must agree with the
// error of all outputs against long double.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "engine/engine.hpp"
#include "engine/trust.hpp"
#include "support/direct_sum.hpp"

namespace spanfft {
namespace {

constexpr index_t kTrapLengths[] = {140077, 458759, 733103, 1675664, 2100049};
const char* const kEngineNames[] = {"ducc0", "fftw", "mkl"};

LocalSpec line(index_t n, Kernel kernel = Kernel::c2c_forward, Precision precision = Precision::dbl) {
    LocalSpec spec;
    spec.kernel = kernel;
    spec.precision = precision;
    spec.transform = {{n, 1, 1}};
    return spec;
}

enum class Fault { none, everywhere, every_seventh_output, seventh_of_inputs, one_twiddle };

// A plan of ducc0's whose c2c output is off by 1e-12 of its root mean square, in a pattern.
class FaultyFft : public LocalFft {
  public:
    FaultyFft(std::unique_ptr<LocalFft> good, index_t n, Fault fault) : good_(std::move(good)), n_(n), fault_(fault) {}
    void execute(const void* in, void* out) const override {
        using Complex = std::complex<double>;
        const auto* x = static_cast<const Complex*>(in);
        auto* y = static_cast<Complex*>(out);
        const auto count = static_cast<size_t>(n_);
        if (fault_ == Fault::seventh_of_inputs) {
            std::vector<Complex> disturbed(x, x + count);
            for (size_t j = 0; j < count; j += 7) disturbed[j] *= 1 + 1e-12;
            good_->execute(disturbed.data(), out);
            return;
        }
        good_->execute(in, out);
        double norm = 0;
        for (size_t k = 0; k < count; ++k) norm += std::norm(y[k]);
        const double size = 1e-12 * std::sqrt(norm / static_cast<double>(n_));
        if (fault_ == Fault::everywhere) {
            for (size_t k = 0; k < count; ++k) y[k] += std::polar(size, static_cast<double>(k) * 1.7);
        } else if (fault_ == Fault::every_seventh_output) {
            for (size_t k = 3; k < count; k += 7) y[k] += std::polar(size, static_cast<double>(k) * 1.7);
        } else if (fault_ == Fault::one_twiddle) {
            // A wrong root in a last radix-7 stage: one residue of outputs, in proportion to itself.
            for (size_t k = count / 7; k < 2 * count / 7; ++k) y[k] *= 1 + 1e-12;
        }
    }

  private:
    std::unique_ptr<LocalFft> good_;
    index_t n_;
    Fault fault_;
};

class FaultyEngine : public Engine {
  public:
    explicit FaultyEngine(Fault fault) : fault_(fault) {}
    std::string name() const override { return "faulty" + std::to_string(static_cast<int>(fault_)); }
    std::string version() const override { return "1"; }
    std::string path() const override { return "test"; }
    bool has_precision(Precision) const override { return true; }
    Status supports(const LocalSpec&) const override { return {}; }
    bool scales(const LocalSpec&) const override { return false; }
    Result<std::unique_ptr<LocalFft>> plan(const LocalSpec& spec) const override {
        auto good = find_engine("ducc0")->plan(spec);
        if (!good.ok()) return good.status();
        return std::unique_ptr<LocalFft>(
            std::make_unique<FaultyFft>(std::move(good).value(), spec.transform[0].n, fault_));
    }

  private:
    Fault fault_;
};

TEST(EngineTrust, CatchesAFaultWhereverItSits) {
    for (index_t n : {index_t{7 * 1009}, index_t{7 * 20011}, index_t{16 * 20011}}) {
        EXPECT_EQ(distrust(FaultyEngine(Fault::none), line(n)), "");
        for (Fault fault :
             {Fault::everywhere, Fault::every_seventh_output, Fault::seventh_of_inputs, Fault::one_twiddle}) {
            const TrustCheck check = check_length(FaultyEngine(fault), Kernel::c2c_forward, Precision::dbl, n, 1);
            EXPECT_FALSE(check.passed()) << n << " fault " << static_cast<int>(fault) << ": " << check.impulse << ", "
                                         << check.dense;
            EXPECT_GT(std::max(check.impulse, check.dense), 30) << n << " fault " << static_cast<int>(fault);
        }
    }
}

TEST(EngineTrust, SaysWhereAndByHowMuch) {
    const std::string reason = distrust(FaultyEngine(Fault::everywhere), line(140077));
    EXPECT_EQ(reason.find("faulty1 misses the accuracy rule at length 140077 by a factor of "), 0U) << reason;
    EXPECT_NE(reason.find(": passed over"), std::string::npos) << reason;
}

TEST(EngineTrust, ChecksEveryAxisAndOnlyLargePrimes) {
    const FaultyEngine faulty(Fault::everywhere);
    LocalSpec spec = line(1024);
    EXPECT_EQ(distrust(faulty, spec), "");  // no prime factor above 13: nothing to check
    spec.transform = {{7 * 1009, 8, 8}, {8, 1, 1}};
    EXPECT_NE(distrust(faulty, spec), "");
    spec.transform = {{8, 7 * 1009, 7 * 1009}, {7 * 1009, 1, 1}};
    EXPECT_NE(distrust(faulty, spec), "");
}

// No engine may be passed over at a length where it is within the rule.
TEST(EngineTrust, FlagsNoGoodEngine) {
    for (const char* name : kEngineNames) {
        const Engine* engine = find_engine(name);
        if (!engine) continue;
        for (int p = 0; p < 3; ++p) {
            for (int k = 0; k < 12; ++k) {
                for (index_t n : {16,  17,  19,  23,  31,   34,   37,   51,   62,   73,    97,    101,
                                  119, 127, 257, 509, 1009, 1018, 2017, 5045, 7063, 10007, 20014, 65537}) {
                    const LocalSpec spec = line(n, static_cast<Kernel>(k), static_cast<Precision>(p));
                    if (!engine->supports(spec).ok() || (n > 10000 && k != 0)) continue;
                    const std::string reason = distrust(*engine, spec);
                    EXPECT_TRUE(reason.empty() || test::misses_rule(*engine, spec))
                        << reason << " in " << kernel_name(spec.kernel) << " " << precision_name(spec.precision);
                }
            }
        }
    }
}

// Noise of one length and its transform by ducc0 in long double, kept for the engines that are held against it.
struct Exact {
    index_t n = 0;
    std::vector<double> in;
    std::vector<long double> out;
};

const Exact& exact_transform(index_t n) {
    static Exact exact;
    if (exact.n == n) return exact;
    const auto count = static_cast<size_t>(2 * n);
    exact = {n, std::vector<double>(count), std::vector<long double>(count)};
    std::vector<long double> wide(count);
    uint64_t state = 12345;
    for (size_t i = 0; i < count; ++i) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        exact.in[i] = static_cast<double>(state >> 40) * 0x1p-23 - 1.0;
        wide[i] = static_cast<long double>(exact.in[i]);
    }
    auto fft = find_engine("ducc0")->plan(line(n, Kernel::c2c_forward, Precision::extended));
    fft.value()->execute(wide.data(), exact.out.data());
    return exact;
}

// The error of all outputs.
double full_error(const LocalFft& fft, index_t n) {
    const Exact& exact = exact_transform(n);
    std::vector<double> out(exact.in.size());
    fft.execute(exact.in.data(), out.data());
    long double error = 0, norm = 0;
    for (size_t i = 0; i < out.size(); ++i) {
        const long double difference = static_cast<long double>(out[i]) - exact.out[i];
        error += difference * difference;
        norm += exact.out[i] * exact.out[i];
    }
    return static_cast<double>(std::sqrt(error / norm));
}

class EngineTrap : public testing::TestWithParam<index_t> {};
INSTANTIATE_TEST_SUITE_P(Lengths, EngineTrap, testing::ValuesIn(kTrapLengths));

TEST_P(EngineTrap, TheVerdictIsTrueAndTheChoiceKeepsTheRule) {
    const index_t n = GetParam();
    for (const char* name : kEngineNames) {
        const Engine* engine = find_engine(name);
        if (!engine) continue;
        auto fft = engine->plan(line(n));
        ASSERT_TRUE(fft.ok()) << fft.status().message();
        const double error = full_error(*fft.value(), n) / accuracy_rule(Precision::dbl, n);
        const std::string reason = distrust(*engine, line(n));
        if (error <= 1) {
            EXPECT_EQ(reason, "") << name << ": " << error << " of the rule";
        } else if (error > 2) {
            EXPECT_NE(reason, "") << name << ": " << error << " of the rule";
        }
        RecordProperty(name, std::to_string(error));
    }
    auto choice = plan_local(line(n), "");
    ASSERT_TRUE(choice.ok()) << choice.status().message();
    EXPECT_LE(full_error(*choice.value().fft, n), accuracy_rule(Precision::dbl, n)) << choice.value().engine;
    auto forecast = forecast_local(line(n), "");
    ASSERT_TRUE(forecast.ok());
    EXPECT_EQ(forecast.value().engine, choice.value().engine);
    EXPECT_EQ(forecast.value().passed_over, choice.value().passed_over);
}

TEST(EngineTrust, ForcingAnEngineThatMissesTheRuleIsAnError) {
    for (index_t n : kTrapLengths) {
        for (const char* name : kEngineNames) {
            const Engine* engine = find_engine(name);
            if (!engine) continue;
            auto choice = plan_local(line(n), name);
            EXPECT_EQ(choice.ok(), distrust(*engine, line(n)).empty());
            EXPECT_EQ(choice.status().code(), choice.ok() ? Code::ok : Code::engine_error);
        }
    }
}

// ducc0 under another name, which counts what is asked of it.
class CountingEngine : public FaultyEngine {
  public:
    explicit CountingEngine(std::string name) : FaultyEngine(Fault::none), name_(std::move(name)) {}
    std::string name() const override { return name_; }
    Result<std::unique_ptr<LocalFft>> plan(const LocalSpec& spec) const override {
        ++plans;
        return find_engine("ducc0")->plan(spec);
    }
    mutable int plans = 0;

  private:
    std::string name_;
};

TEST(EngineTrust, ACheckIsMadeOnceForEachSortOfLines) {
    const CountingEngine engine("counting");
    const index_t n = 1009;
    LocalSpec several = line(n), strided = line(n);
    several.batch = {{8, n, n}};
    strided.transform = {{n, 8, 8}};
    strided.batch = {{8, 1, 1}};
    for (const LocalSpec& spec : {line(n), several, strided}) {
        const int before = engine.plans;
        EXPECT_EQ(distrust(engine, spec), "");
        EXPECT_GT(engine.plans, before);
        const int once = engine.plans;
        for (int again = 0; again < 100; ++again) EXPECT_EQ(distrust(engine, spec), "");
        EXPECT_EQ(engine.plans, once);
    }
}

// Right for lines that lie together, wrong by 1e-12 for strided ones, as MKL is at some primes.
class StridedFaultEngine : public CountingEngine {
  public:
    StridedFaultEngine() : CountingEngine("strided fault") {}
    Result<std::unique_ptr<LocalFft>> plan(const LocalSpec& spec) const override {
        if (spec.transform[0].in_stride == 1) return CountingEngine::plan(spec);
        auto good = find_engine("ducc0")->plan(spec);
        if (!good.ok()) return good.status();
        const index_t points = spec.transform[0].n * spec.batch[0].n;
        return std::unique_ptr<LocalFft>(
            std::make_unique<FaultyFft>(std::move(good).value(), points, Fault::everywhere));
    }
};

TEST(EngineTrust, LooksAtTheStrideToo) {
    const StridedFaultEngine engine;
    for (index_t n : {47, 1009}) {
        LocalSpec spec = line(n);
        spec.batch = {{8, n, n}};
        EXPECT_EQ(distrust(engine, spec), "");
        spec.transform = {{n, 8, 8}};
        spec.batch = {{8, 1, 1}};
        EXPECT_NE(distrust(engine, spec), "") << n;
    }
}

// Every engine that is taken at small primes keeps the rule for the columns of n x lines arrays.
TEST(EngineTrust, StridedLinesOfPrimesKeepTheRule) {
    for (const char* name : kEngineNames) {
        const Engine* engine = find_engine(name);
        if (!engine) continue;
        for (index_t n : {17, 29, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 83, 97, 101, 127}) {
            for (index_t lines : {3, 8, 64}) {
                LocalSpec spec = line(n);
                spec.transform = {{n, lines, lines}};
                spec.batch = {{lines, 1, 1}};
                if (!distrust(*engine, spec).empty()) continue;
                EXPECT_FALSE(test::misses_rule(*engine, spec)) << name << " at " << n << " by " << lines;
            }
        }
    }
}

TEST(EngineTrust, NoCheckTakesMoreMemoryThanAllowed) {
    const CountingEngine engine("counting within an allowance");
    const index_t n = 500009, needed = check_bytes(Kernel::c2c_forward, Precision::dbl, n);
    {
        const CheckAllowance allowance(needed - 1);
        EXPECT_NE(distrust(engine, line(n)), "");
        EXPECT_EQ(distrust(*find_engine("ducc0"), line(n)), "");
        EXPECT_EQ(engine.plans, 0);
        const CheckAllowance enough(needed);
        EXPECT_EQ(distrust(engine, line(n)), "");
        EXPECT_EQ(engine.plans, 1);
    }
    const CheckAllowance allowance(1 << 20);
    EXPECT_EQ(distrust(engine, line(n)), "");  // known by now
}

}  // namespace
}  // namespace spanfft
