// Turns of a counter; see handover_probe.hpp.
#include "exec/handover_probe.hpp"

#include <atomic>
#include <chrono>
#include <new>
#include <vector>

#include "comm/node_window.hpp"
#include "core/cpus.hpp"
#include "core/median.hpp"
#include "core/threads.hpp"

namespace spanfft {

namespace {

using Clock = std::chrono::steady_clock;
using Counter = std::atomic<std::uint32_t>;

constexpr int kSamples = 9;
constexpr std::uint32_t kTurns = 2000;          // of a sample, as long as the time is not up
constexpr std::uint32_t kTurnsAtOnce = 100;     // between two looks at the clock
constexpr double kLongestSampleSeconds = 5e-3;  // where something else runs on one of the two processors
constexpr std::uint32_t kEnd = UINT32_MAX;
constexpr std::uint64_t kMostLooks = std::uint64_t{1} << 31;  // some seconds: the other rank is gone

static_assert(Counter::is_always_lock_free, "ranks have no lock in common");

// Of the one who begins. A sample is from a known counter of 0.
double sample(Counter& counter) {
    const auto begin = Clock::now();
    double seconds = 0;
    std::uint32_t turn = 0;
    while (turn < kTurns && seconds < kLongestSampleSeconds) {
        for (const std::uint32_t stop = turn + kTurnsAtOnce; turn < stop; ++turn) {
            counter.store(2 * turn + 1);
            for (std::uint64_t look = 0; counter.load() != 2 * turn + 2; ++look)
                if (look == kMostLooks) return 0;
        }
        seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    }
    counter.store(kEnd);
    return seconds / turn;
}

void answer(Counter& counter) {
    for (std::uint64_t look = 0; look < kMostLooks; ++look) {
        const std::uint32_t seen = counter.load();
        if (seen == kEnd) return;
        if (seen % 2 == 0) continue;
        counter.store(seen + 1);
        look = 0;
    }
}

// What is between samples of ranks 0 and 1: all of them meet.
Result<double> between_ranks(Comm& comm) {
    auto made = comm.make_window(comm.rank() == 0 ? static_cast<index_t>(sizeof(Counter)) : 0);
    const Status status = agree(comm, made.status());
    if (status.code() == Code::unsupported) return 0.0;
    SPANFFT_TRY(status);
    SharedWindow& window = *made.value();
    auto& counter = *static_cast<Counter*>(window.part(0));
    if (comm.rank() == 0) new (&counter) Counter(0);
    std::vector<double> samples;
    for (int i = 0; i < kSamples; ++i) {
        if (comm.rank() == 0) counter.store(0);
        SPANFFT_TRY(window.barrier());
        if (comm.rank() == 0) samples.push_back(sample(counter));
        if (comm.rank() == 1) answer(counter);
        SPANFFT_TRY(window.barrier());
    }
    double seconds = comm.rank() == 0 ? median(std::move(samples)) : 0;
    SPANFFT_TRY(comm.broadcast(&seconds, sizeof seconds, 0));
    return seconds;
}

double between_threads() {
    ThreadTeam team(2);
    if (team.size() < 2) return 0;
    std::vector<double> samples(kSamples);
    for (double& seconds : samples) {
        Counter counter(0);
        team.run([&](int member) {
            if (member == 0) seconds = sample(counter);
            if (member == 1) answer(counter);
        });
    }
    return median(std::move(samples));
}

}  // namespace

Result<double> probe_handover(Comm& comm) {
    if (comm.size() == 1) return list_cpus(allowed_cpus()).size() > 1 ? between_threads() : 0.0;
    SPANFFT_ASSIGN(const bool at_once, has_core_for_each(comm));
    return at_once ? between_ranks(comm) : 0.0;
}

}  // namespace spanfft
