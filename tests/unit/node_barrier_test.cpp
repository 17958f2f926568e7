// The barrier that orders shared memory: nobody leaves before all have come, what was written is seen, and a rank whose
// process is gone is an error instead of a hang.
#include "comm/node_barrier.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <thread>
#include <vector>

namespace spanfft::test {
namespace {

void every_rank_sees_what_the_others_wrote(int ranks, bool spin) {
    SCOPED_TRACE(cat(ranks, " ranks, spin ", spin));
    auto state = std::make_unique<NodeBarrierState>();
    std::vector<int> written(static_cast<size_t>(ranks));  // plain memory, as in a window
    std::vector<int> wrong(static_cast<size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            NodeBarrier barrier(state.get(), rank, ranks, spin);
            for (int round = 1; round <= 200; ++round) {
                written[static_cast<size_t>(rank)] = round;
                EXPECT_TRUE(barrier.wait().ok());
                for (int seen : written) wrong[static_cast<size_t>(rank)] += seen != round;
                EXPECT_TRUE(barrier.wait().ok());
            }
        });
    }
    for (auto& thread : threads) thread.join();
    for (int count : wrong) EXPECT_EQ(count, 0);
}

TEST(NodeBarrier, LetsNobodyGoBeforeAllHaveComeAndShowsWhatTheyWrote) {
    for (int ranks : {1, 2, 3, 5, 8}) {
        every_rank_sees_what_the_others_wrote(ranks, false);
        every_rank_sees_what_the_others_wrote(ranks, true);
    }
}

// Who comes last calls the kernel only for ranks that count themselves as asleep.
TEST(NodeBarrier, CountsARankThatSleepsAsLongAsItSleeps) {
    auto state = std::make_unique<NodeBarrierState>();
    std::thread sleeper([&] {
        NodeBarrier barrier(state.get(), 1, 2, false);
        EXPECT_TRUE(barrier.wait().ok());
        EXPECT_TRUE(barrier.wait().ok());
    });
    NodeBarrier barrier(state.get(), 0, 2, true);
    for (int meeting = 0; meeting < 2; ++meeting) {
        while (state->sleepers.load() == 0) std::this_thread::yield();
        EXPECT_TRUE(barrier.wait().ok());
    }
    sleeper.join();
    EXPECT_EQ(state->sleepers.load(), 0U);
}

TEST(NodeBarrier, NamesARankWhoseProcessIsGone) {
    void* memory = mmap(nullptr, sizeof(NodeBarrierState), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto* state = static_cast<NodeBarrierState*>(memory);
    const pid_t child = fork();
    if (child == 0) {
        const NodeBarrier barrier(state, 1, 2, false);
        _exit(0);  // without having come
    }
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    NodeBarrier barrier(state, 0, 2, true);
    const Status status = barrier.wait();
    EXPECT_EQ(status.code(), Code::mpi_error);
    EXPECT_NE(status.message().find("rank 1"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("gone"), std::string::npos) << status.message();
    munmap(memory, sizeof(NodeBarrierState));
}

}  // namespace
}  // namespace spanfft::test
