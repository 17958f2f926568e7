// That threads = 1 is one thread, that threads = 2 are two, and that none keeps spinning afterwards.
//
// Method: processor time of the whole process beside that of the calling thread, which a busy machine does not
// disturb: equal when one thread works, about double when two do. Threads that a library starts and ends are counted by
// the system, together with all others that start meanwhile; a start for each line would be more than those.
#include <gtest/gtest.h>

#include <ctime>
#include <fstream>
#include <thread>

#include "engine/engine.hpp"
#include "engine/fftw_symbols.hpp"
#include "engine/shared_batch.hpp"
#include "engine/spec.hpp"
#include "support/direct_sum.hpp"

namespace spanfft {
namespace {

double seconds_of(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

class EngineThreads : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        if (!find_engine(GetParam())) GTEST_SKIP() << "optional engine absent: " << engine_absence(GetParam());
        spec_.transform = {{1024, 1, 1}};
        spec_.batch = {{kBatch, 1024, 1024}};
        in_.assign(2 * 1024 * kBatch, 0.5);
        out_.assign(in_.size(), 0.0);
    }
    std::unique_ptr<LocalFft> plan(int threads) {
        spec_.threads = threads;
        auto choice = plan_local(spec_, GetParam(), {});
        EXPECT_TRUE(choice.ok()) << choice.status().message();
        choice.value().fft->execute(in_.data(), out_.data());  // threads are started, memory is touched
        return std::move(choice.value().fft);
    }
    // Processor time of the process over that of this thread while the plan runs.
    double share(const LocalFft& fft) {
        const double all = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
        const double mine = seconds_of(CLOCK_THREAD_CPUTIME_ID);
        for (int i = 0; i < 8; ++i) fft.execute(in_.data(), out_.data());
        return (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - all) / (seconds_of(CLOCK_THREAD_CPUTIME_ID) - mine);
    }

    static constexpr index_t kBatch = 2048;
    LocalSpec spec_;
    std::vector<double> in_, out_;
};

INSTANTIATE_TEST_SUITE_P(All, EngineThreads, testing::Values("ducc0", "fftw", "mkl"));

TEST_P(EngineThreads, OneIsOneAndTwoAreTwo) {
    const auto one = plan(1);
    EXPECT_LT(share(*one), 1.1);
    if (std::thread::hardware_concurrency() < 2) return;
    const auto two = plan(2);
    EXPECT_GT(share(*two), 1.3);
    EXPECT_LT(share(*two), 2.7);
    // Threads that spin for their next job would show here: MKL's do so for 200 ms unless told not to.
    EXPECT_LT(share(*one), 1.2);
}

// Processes and threads that this system ever started.
double started() {
    std::ifstream stat("/proc/stat");
    for (std::string word; stat >> word;)
        if (word == "processes") {
            double count = 0;
            stat >> count;
            return count;
        }
    return -1;
}

// Counts what is started while the plan runs, and not while its values are checked.
class WatchedFft : public LocalFft {
  public:
    explicit WatchedFft(const LocalFft& inner) : inner_(inner) {}
    void execute(const void* in, void* out) const override {
        const double before = started();
        inner_.execute(in, out);
        count = started() - before;
    }
    mutable double count = -1;

  private:
    const LocalFft& inner_;
};

LocalSpec lines_of(Kernel kernel, index_t points, index_t lines) {
    LocalSpec spec;
    spec.kernel = kernel;
    spec.transform = {{points, 1, 1}};
    const index_t half = points / 2 + 1;
    spec.batch = {{lines, kernel == Kernel::c2r ? half : points, kernel == Kernel::r2c ? half : points}};
    spec.threads = 2;
    return spec;
}

// By plans of its own FFTW starts threads for each line of these: c2r of 12,121 lines of 33 took 1100 ms.
TEST_P(EngineThreads, AreNotStartedForEachLine) {
    for (const auto& [kernel, points] : {std::pair{Kernel::r2c, 33},
                                         {Kernel::c2r, 33},
                                         {Kernel::r2c, 63},
                                         {Kernel::c2r, 21},
                                         {Kernel::dct1, 75},
                                         {Kernel::dst4, 100},
                                         {Kernel::c2c_forward, 49}}) {
        SCOPED_TRACE(kernel_name(kernel));
        LocalSpec spec = lines_of(kernel, points, 400000 / points);
        spec.in_place = is_c2c(kernel);
        const auto fft = find_engine(GetParam())->plan(spec);
        if (!fft.ok()) continue;  // MKL has no real-to-real kinds
        ASSERT_GE(started(), 0);
        const WatchedFft watched(*fft.value());
        const auto outcome = test::run(spec, watched);
        EXPECT_GE(watched.count, 0);
        EXPECT_LT(watched.count, 2000);
        EXPECT_LE(outcome.error, test::rule(spec));
        EXPECT_TRUE(outcome.surroundings_kept);
    }
}

TEST(FftwPlans, SayHowOftenTheyStartThreads) {
    using fftw_abi::thread_starts;
    EXPECT_EQ(thread_starts(""), 0);
    EXPECT_EQ(thread_starts("(dft-direct-64-x3125 \"n1fv_64_avx\")"), 0);
    EXPECT_EQ(thread_starts("(dft-thr-vrank>=1-x2/1\n  (dft-vrank>=1-x50/1\n    (dft-direct-64 \"n\"))\n  (rdft-nop))"),
              1);
    EXPECT_EQ(thread_starts("(rdft2-vrank>=1-x12121/1 (rdft2-rdft-r2hc-33/1-0 (rdft-thr-ct-dit-x2/3 (rdft-nop) "
                            "(rdft-thr-vrank>=1-x2/1 (rdft-nop) (rdft-nop)))))"),
              2 * 12121);
    EXPECT_EQ(thread_starts("(dft-buffered-49-x256/8163-5 (dft-thr-vrank>=1-x2/1 (dft-nop)) (dft-nop))"), 32);
    EXPECT_EQ(thread_starts("(redft00e-r2hc-pad-32-x12500 (rdft-thr-ct-dit-x2/2 (rdft-nop)))"), 12500);
    EXPECT_EQ(thread_starts("(rdft2-rank>=2/1 (dft-thr-vrank>=1-x2/1 (a)) (dft-thr-vrank>=1-x2/1 (b)))"), 2);
}

// 50 lines, and parts of them for three threads that begin at lines 20 and 40.
TEST(SharedBatch, IsTransformedPartByPart) {
    for (const Kernel kernel : {Kernel::c2c_backward, Kernel::r2c, Kernel::c2r, Kernel::dct2}) {
        for (const int threads : {2, 3, 5}) {
            LocalSpec spec = lines_of(kernel, 15, 50);
            spec.threads = threads;
            ASSERT_TRUE(worth_sharing(spec));
            const auto fft = plan_shared_batch(*find_engine("ducc0"), spec);
            ASSERT_TRUE(fft.ok()) << fft.status().message();
            const auto outcome = test::run(spec, *fft.value());
            EXPECT_LE(outcome.error, test::rule(spec)) << kernel_name(kernel) << ", " << threads;
            EXPECT_TRUE(outcome.surroundings_kept);
        }
    }
    LocalSpec outer = lines_of(Kernel::c2c_forward, 8, 5);  // the longer loop is the outer one, and strided
    outer.batch.insert(outer.batch.begin(), {23, 200, 100});
    outer.threads = 2;
    const auto fft = plan_shared_batch(*find_engine("ducc0"), outer);
    ASSERT_TRUE(fft.ok()) << fft.status().message();
    const auto outcome = test::run(outer, *fft.value());
    EXPECT_LE(outcome.error, test::rule(outer));
    EXPECT_TRUE(outcome.surroundings_kept);
    EXPECT_FALSE(worth_sharing(lines_of(Kernel::r2c, 15, 7)));
}

}  // namespace
}  // namespace spanfft
