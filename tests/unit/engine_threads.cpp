// That threads = 1 is one thread, that threads = 2 are two, and that none keeps spinning afterwards.
//
// Method: processor time of the whole process beside that of the calling thread, which a busy machine does not
// disturb: equal when one thread works, about double when two do.
#include <gtest/gtest.h>

#include <ctime>
#include <thread>

#include "engine/engine.hpp"

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

}  // namespace
}  // namespace spanfft
