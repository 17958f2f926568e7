// The accuracy check: it must catch faults like MKL's at m * p, wherever they sit, and flag no good engine.
//
// Method: engines that are wrong on purpose wrap ducc0 and disturb its outputs by 1e-12 in the patterns that a bad
// algorithm leaves: everywhere, in every seventh output, in what a seventh of the inputs contribute. The five
// lengths where MKL 2026.2 with AVX-512 is wrong are tried on the real libraries: the verdict must agree with the
// error against references that no transform has made: the tones of a few impulses in every bin, and sums of noise by
// the definition in some.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <memory>
#include <numbers>
#include <vector>

#include "engine/engine.hpp"
#include "engine/trust.hpp"
#include "support/direct_sum.hpp"
#include "support/random.hpp"
#include "support/sanitized.hpp"

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

TEST(EngineTrust, ChecksEveryAxisButPowersOfTwo) {
    const FaultyEngine faulty(Fault::everywhere);
    LocalSpec spec = line(1024);
    EXPECT_EQ(distrust(faulty, spec), "");  // a power of two: nothing to check
    for (const index_t n : {75, 375, 81, 1000, 77}) EXPECT_NE(distrust(faulty, line(n)), "") << n;
    spec.transform = {{7 * 1009, 8, 8}, {8, 1, 1}};
    EXPECT_NE(distrust(faulty, spec), "");
    spec.transform = {{8, 7 * 1009, 7 * 1009}, {7 * 1009, 1, 1}};
    EXPECT_NE(distrust(faulty, spec), "");
}

// Whether one line that is zero but for six numbers shows more error than the rule allows, in one of 64 draws: over
// noise errors average out more. Backward at 81 points MKL 2026.2 shows on an AMD EPYC of 2023 1.01 of the rule for a
// line of the check's, more than 1 for two of these, 1.09 at most, and less than 0.85 for noise.
template <class T>
bool misses_rule_for_impulses(const Engine& engine, const LocalSpec& spec) {
    const index_t n = spec.transform[0].n;
    if ((spec.kernel != Kernel::c2c_forward && spec.kernel != Kernel::c2c_backward) || n < 6) return false;
    auto fft = engine.plan(spec);
    if (!fft.ok()) return false;
    test::Random random(81);
    for (int draw = 0; draw < 64; ++draw) {
        std::vector<std::complex<T>> in(static_cast<size_t>(n)), out(in.size());
        std::vector<index_t> places;
        std::vector<test::WideComplex> heights;
        while (places.size() < 6) {
            const index_t at = random.between(0, n - 1);
            auto& x = in[static_cast<size_t>(at)];
            if (x != std::complex<T>()) continue;
            x = {static_cast<T>(random.noise()), static_cast<T>(random.noise())};
            places.push_back(spec.kernel == Kernel::c2c_forward || at == 0 ? at : n - at);
            heights.push_back({static_cast<test::Wide>(x.real()), static_cast<test::Wide>(x.imag())});
        }
        fft.value()->execute(in.data(), out.data());
        std::vector<test::WideComplex> got;
        for (const auto& y : out) got.push_back({static_cast<test::Wide>(y.real()), static_cast<test::Wide>(y.imag())});
        if (test::relative_error(got, test::tones(n, places, heights)) > test::rule(spec)) return true;
    }
    return false;
}

bool misses_rule_for_impulses(const Engine& engine, const LocalSpec& spec) {
    return spec.precision == Precision::single ? misses_rule_for_impulses<float>(engine, spec)
           : spec.precision == Precision::dbl  ? misses_rule_for_impulses<double>(engine, spec)
                                               : misses_rule_for_impulses<long double>(engine, spec);
}

// No engine may be passed over at a length where it is within the rule.
TEST(EngineTrust, FlagsNoGoodEngine) {
    for (const char* name : kEngineNames) {
        const Engine* engine = find_engine(name);
        if (!engine) continue;
        for (int p = 0; p < 3; ++p) {
            for (int k = 0; k < 12; ++k) {
                for (index_t n :
                     {75, 81, 96,  375, 1000, 1536, 16,  17,   19,   23,   31,   34,   37,    51,    62,
                      73, 97, 101, 119, 127,  257,  509, 1009, 1018, 2017, 5045, 7063, 10007, 20014, 65537}) {
                    const LocalSpec spec = line(n, static_cast<Kernel>(k), static_cast<Precision>(p));
                    if (!engine->supports(spec).ok() || (n > 10000 && k != 0)) continue;
                    if (test::kSanitized && n > 2017) continue;
                    const std::string reason = distrust(*engine, spec);
                    EXPECT_TRUE(reason.empty() || test::comes_near_rule(*engine, spec) ||
                                misses_rule_for_impulses(*engine, spec))
                        << reason << " in " << kernel_name(spec.kernel) << " " << precision_name(spec.precision);
                }
            }
        }
    }
}

using test::Wide;
using test::WideComplex;

// A signal and what is known of its transform: the outputs `bins`.
struct Exact {
    std::vector<std::complex<double>> in;
    std::vector<index_t> bins;
    std::vector<WideComplex> out;
};

constexpr index_t kSampledBins = 32;  // 64 real numbers: their root mean square strays by an eleventh

Exact impulses(index_t n) {
    Exact exact;
    const std::vector<index_t> places{1, n / 3, n - 1};
    const std::vector<WideComplex> heights{{3, -1}, {Wide(0.5), 2}, {-7, Wide(0.25)}};
    exact.in.resize(static_cast<size_t>(n));
    for (size_t i = 0; i < places.size(); ++i)
        exact.in[static_cast<size_t>(places[i])] = {static_cast<double>(heights[i].re),
                                                    static_cast<double>(heights[i].im)};
    exact.out = test::tones(n, places, heights);
    for (index_t k = 0; k < n; ++k) exact.bins.push_back(k);
    return exact;
}

Exact noise(index_t n) {
    Exact exact;
    test::Random random(12345);
    std::vector<WideComplex> wide;
    for (index_t j = 0; j < n; ++j) {
        exact.in.emplace_back(random.noise(), random.noise());
        wide.push_back({static_cast<Wide>(exact.in.back().real()), static_cast<Wide>(exact.in.back().imag())});
    }
    for (index_t i = 0; i < kSampledBins; ++i) exact.bins.push_back(random.between(0, n - 1));
    exact.out = test::long_outputs(Kernel::c2c_forward, n, wide, exact.bins);
    return exact;
}

// Both of one length, kept for the engines that are held against them.
const std::vector<Exact>& references(index_t n) {
    static index_t kept_n = 0;
    static std::vector<Exact> kept;
    if (kept_n != n) kept = {impulses(n), noise(n)};
    kept_n = n;
    return kept;
}

// The largest root mean square, over all bins that are known, of the norm that the inputs say (Parseval).
double exact_error(const LocalFft& fft, const std::vector<Exact>& all) {
    double worst = 0;
    for (const Exact& exact : all) {
        std::vector<std::complex<double>> out(exact.in.size());
        fft.execute(exact.in.data(), out.data());
        Wide error = 0;
        for (size_t i = 0; i < exact.bins.size(); ++i) {
            const auto& found = out[static_cast<size_t>(exact.bins[i])];
            const Wide re = static_cast<Wide>(found.real()) - exact.out[i].re,
                       im = static_cast<Wide>(found.imag()) - exact.out[i].im;
            error += re * re + im * im;
        }
        double norm = 0;
        for (const auto& x : exact.in) norm += std::norm(x);
        worst = std::max(worst, std::sqrt(static_cast<double>(error) / static_cast<double>(exact.bins.size()) / norm));
    }
    return worst;
}

double exact_error(const LocalFft& fft, index_t n) { return exact_error(fft, references(n)); }

// Whether the references see a fault of 1e-12 wherever it sits, and none where there is none.
TEST(EngineTrust, ItsReferencesSeeAFault) {
    const index_t n = 7 * 20011;
    const double rule = accuracy_rule(Precision::dbl, n);
    for (Fault fault :
         {Fault::none, Fault::everywhere, Fault::every_seventh_output, Fault::seventh_of_inputs, Fault::one_twiddle}) {
        auto fft = FaultyEngine(fault).plan(line(n));
        ASSERT_TRUE(fft.ok());
        const double error = exact_error(*fft.value(), n) / rule;
        if (fault == Fault::none) {
            EXPECT_LE(error, 1);
        } else {
            EXPECT_GT(error, 30) << static_cast<int>(fault);
        }
    }
}

class EngineTrap : public testing::TestWithParam<index_t> {};
std::vector<index_t> trap_lengths() {
    std::vector<index_t> lengths;
    for (size_t i = 0; i < std::size(kTrapLengths); i += test::kPointStep) lengths.push_back(kTrapLengths[i]);
    return lengths;
}

INSTANTIATE_TEST_SUITE_P(Lengths, EngineTrap, testing::ValuesIn(trap_lengths()));

TEST_P(EngineTrap, TheVerdictIsTrueAndTheChoiceKeepsTheRule) {
    const index_t n = GetParam();
    for (const char* name : kEngineNames) {
        const Engine* engine = find_engine(name);
        if (!engine) continue;
        auto fft = engine->plan(line(n));
        ASSERT_TRUE(fft.ok()) << fft.status().message();
        const double error = exact_error(*fft.value(), n) / accuracy_rule(Precision::dbl, n);
        const std::string reason = distrust(*engine, line(n));
        if (error <= 1) {
            EXPECT_EQ(reason, "") << name << ": " << error << " of the rule";
        } else if (error > 2) {
            EXPECT_NE(reason, "") << name << ": " << error << " of the rule";
        }
        RecordProperty(name, std::to_string(error));
    }
    auto choice = plan_local(line(n), "", {});
    ASSERT_TRUE(choice.ok()) << choice.status().message();
    EXPECT_LE(exact_error(*choice.value().fft, n), accuracy_rule(Precision::dbl, n)) << choice.value().engine;
    auto forecast = forecast_local(line(n), "", {});
    ASSERT_TRUE(forecast.ok());
    EXPECT_EQ(forecast.value().engine, choice.value().engine);
    EXPECT_EQ(forecast.value().passed_over, choice.value().passed_over);
}

// Powers of two too, and lengths beyond those of which all outputs are compared; longer ones still are believed.
TEST(EngineTrust, LongLinesArePureTonesToo) {
    for (const index_t n : {8192, 32768, 3 << 17, 1 << 20}) {
        EXPECT_EQ(distrust(FaultyEngine(Fault::none), line(n)), "") << n;
        EXPECT_NE(distrust(FaultyEngine(Fault::everywhere), line(n)), "") << n;
    }
    EXPECT_EQ(distrust(FaultyEngine(Fault::everywhere), line(1 << 23)), "");
}

// MKL 2026.2 on an Intel Xeon of 2023 shows for a line by itself 1.4 of the rule at 20000 and 2^15 points, 1.03 at
// 2^17, 1.2 at 3 2^17, 2.5 and more at 13^5, 1.9 at 7 2^16, and for several lines less than 1.
TEST(EngineTrust, NoEngineThatIsUsedMissesTheRuleForTones) {
    using Complex = std::complex<double>;
    for (const index_t n : {8192, 20000, 15625, 32768, 131072, 3 << 17, 371293, 7 << 16}) {
        for (const index_t lines : {1, 3}) {
            LocalSpec spec = line(n);
            spec.batch = {{lines, n, n}};
            auto choice = plan_local(spec, "", {});
            ASSERT_TRUE(choice.ok()) << choice.status().message();
            std::vector<Complex> in(static_cast<size_t>(lines * n)), out(in.size());
            for (index_t draw = 0; draw < 2; ++draw) {
                const auto frequency = [&](index_t at) { return (1000003 * (draw + 1) + 77 * at) % n; };
                for (index_t i = 0; i < lines * n; ++i) {
                    const long double turn = static_cast<long double>(frequency(i / n) * (i % n) % n) / n;
                    const auto root = std::polar(1.0L, 2 * std::numbers::pi_v<long double> * turn);
                    in[static_cast<size_t>(i)] = Complex(root);
                }
                choice.value().fft->execute(in.data(), out.data());
                for (index_t at = 0; at < lines; ++at) {
                    out[static_cast<size_t>(at * n + frequency(at))] -= static_cast<double>(n);
                    double error = 0;
                    for (index_t k = 0; k < n; ++k) error += std::norm(out[static_cast<size_t>(at * n + k)]);
                    EXPECT_LE(std::sqrt(error) / static_cast<double>(n), accuracy_rule(Precision::dbl, n))
                        << choice.value().engine << " at " << n << ", line " << at << " of " << lines;
                }
            }
        }
    }
}

// Radix 3's rounded constant errs alike on every level: an engine in which that adds up is used at no power of three.
TEST(EngineTrust, NoEngineThatIsUsedMissesTheRuleForImpulsesAtPowersOfThree) {
    for (const index_t n : {81, 243, 729, 2187, 6561, 19683, 59049, 177147}) {
        const Exact exact = impulses(n);
        for (const char* name : kEngineNames) {
            const Engine* engine = find_engine(name);
            if (!engine) continue;
            auto fft = engine->plan(line(n));
            ASSERT_TRUE(fft.ok()) << fft.status().message();
            const double error = exact_error(*fft.value(), {exact}) / accuracy_rule(Precision::dbl, n);
            RecordProperty(cat(name, "_", n), std::to_string(error));
            if (distrust(*engine, line(n)).empty()) {
                EXPECT_LE(error, 1) << name << " at " << n;
            }
        }
        auto choice = plan_local(line(n), "", {});
        ASSERT_TRUE(choice.ok()) << choice.status().message();
        EXPECT_LE(exact_error(*choice.value().fft, {exact}), accuracy_rule(Precision::dbl, n)) << n;
    }
}

TEST(EngineTrust, WhatAnotherRankFoundOutIsNotCheckedAgain) {
    const Engine* engine = find_engine("ducc0");
    constexpr index_t n = 97 * 89;  // that no other test asks about
    const auto line_of = [&](const std::string& version, const char* verdict) {
        return cat("ducc0\t", version, "\t", engine->path(), "\t", static_cast<int>(Precision::dbl), "\t",
                   static_cast<int>(Kernel::c2c_forward), "\t", n, "\t0\t0\t", verdict, "\n");
    };
    const index_t before = trust_checks_made();
    learn_trust("");
    learn_trust("no line of ours\nducc0\t1\n");
    learn_trust(line_of("another version", "not heard"));
    LocalSpec one = line(n);
    one.batch.clear();
    EXPECT_EQ(trust_checks_made(), before);
    learn_trust(line_of(engine->version(), "heard from rank 0"));
    EXPECT_EQ(distrust(*engine, one), "heard from rank 0");
    EXPECT_EQ(trust_checks_made(), before);
    EXPECT_NE(print_trust().find(line_of(engine->version(), "heard from rank 0")), std::string::npos);
    // In the other direction nothing that is known is replaced.
    learn_trust(line_of(engine->version(), "heard later"));
    EXPECT_EQ(distrust(*engine, one), "heard from rank 0");
}

TEST(EngineTrust, ForcingAnEngineThatMissesTheRuleIsAnError) {
    for (const index_t n : trap_lengths()) {
        for (const char* name : kEngineNames) {
            const Engine* engine = find_engine(name);
            if (!engine) continue;
            auto choice = plan_local(line(n), name, {});
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

// MKL 2026.2's error at 297 points is 0.58 units backward and 0.56 forward on average, where 0.6 are the rule, and 0.63
// in the worst of 300 draws, on a Zen 4; a processor on which it is as good as FFTW may take it.
TEST(EngineTrust, AnEngineWhoseWorstDrawMissesTheRuleIsPassedOver) {
    for (const char* name : kEngineNames) {
        const Engine* engine = find_engine(name);
        if (!engine) continue;
        for (const Kernel kernel : {Kernel::c2c_forward, Kernel::c2c_backward}) {
            const LocalSpec spec = line(297, kernel);
            if (!distrust(*engine, spec).empty()) continue;
            auto fft = engine->plan(spec);
            ASSERT_TRUE(fft.ok());
            test::Random random(297);
            std::vector<double> in(2 * 297), out(2 * 297);
            for (int draw = 0; draw < 100; ++draw) {
                std::vector<test::WideComplex> exact_in;
                for (size_t i = 0; i < 297; ++i) {
                    for (size_t part = 0; part < 2; ++part)
                        in[2 * i + part] = static_cast<double>(random.bits() >> 11) * 0x1p-52 - 1.0;
                    exact_in.push_back({in[2 * i], in[2 * i + 1]});
                }
                fft.value()->execute(in.data(), out.data());
                std::vector<test::WideComplex> found;
                for (size_t i = 0; i < 297; ++i) found.push_back({out[2 * i], out[2 * i + 1]});
                EXPECT_LE(test::relative_error(found, test::direct_sum(kernel, 297, exact_in)), test::rule(spec))
                    << name << " " << kernel_name(kernel) << ", draw " << draw;
            }
        }
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
