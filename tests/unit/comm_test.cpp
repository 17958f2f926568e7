// Communicators: the agreement on errors that keeps ranks together, the counting, and the simulated world itself, whose
// deadlock guard every other test on ranks relies on.
#include "comm/comm.hpp"

#include <gtest/gtest.h>

#include <mutex>

#include "comm/counted_comm.hpp"
#include "support/thread_comm.hpp"

namespace spanfft::test {
namespace {

// Runs body on each rank and returns all statuses.
std::vector<Status> on_ranks(ThreadWorld& world, int ranks, const std::function<Status(int, Comm&)>& body) {
    std::vector<Status> statuses(static_cast<size_t>(ranks));
    world.run([&](int rank, Comm& comm) { statuses[static_cast<size_t>(rank)] = body(rank, comm); });
    return statuses;
}

TEST(Agree, IsOkWhenAllAreOk) {
    ThreadWorld world(5);
    for (const auto& status : on_ranks(world, 5, [](int, Comm& comm) { return agree(comm, Status()); }))
        EXPECT_TRUE(status.ok());
}

TEST(Agree, GivesAllRanksTheWorstStatusAndNamesItsRank) {
    ThreadWorld world(5);
    const auto all = on_ranks(world, 5, [](int rank, Comm& comm) {
        Status mine;
        if (rank == 1) mine = error(Code::invalid_argument, "a small thing");
        if (rank == 3) mine = error(Code::no_space, "the disk is full");
        return agree(comm, mine);
    });
    for (const auto& status : all) {
        EXPECT_EQ(status.code(), Code::no_space);
        EXPECT_EQ(status.message(), "rank 3: the disk is full");
    }
}

TEST(Agree, NamesNoRankWhenAllFailAlike) {
    ThreadWorld world(3);
    for (const auto& status :
         on_ranks(world, 3, [](int, Comm& comm) { return agree(comm, error(Code::unsupported, "not yet")); })) {
        EXPECT_EQ(status.message(), "not yet");
    }
}

TEST(Agree, OnTextNamesTheFirstRankThatDiffers) {
    ThreadWorld world(4);
    const auto all = on_ranks(
        world, 4, [](int rank, Comm& comm) { return agree_on_text(comm, "shape", rank == 2 ? "8x8" : "8x80"); });
    for (const auto& status : all) {
        EXPECT_EQ(status.code(), Code::mpi_error);
        EXPECT_NE(
            status.message().find("all ranks must agree on the shape, but rank 2 has '8x8' and rank 0 has '8x80'"),
            std::string::npos)
            << status.message();
    }
}

TEST(Agree, OnTextComparesHashesAndSendsTextsOnlyWhenTheyDiffer) {
    for (const bool differ : {false, true}) {
        ThreadWorld world(4);
        on_ranks(world, 4, [&](int rank, Comm& comm) {
            return agree_on_text(comm, "shape", differ && rank == 3 ? "9x9" : std::string(1000, 'x'));
        });
        for (int rank = 0; rank < 4; ++rank) {
            EXPECT_EQ(world.calls(rank, CommCall::allgather), 1);
            EXPECT_EQ(world.calls(rank, CommCall::broadcast), differ ? 4 : 0);
        }
    }
}

TEST(Agree, BroadcastTextGivesAllRanksThatOfRankZero) {
    ThreadWorld world(3);
    on_ranks(world, 3, [](int rank, Comm& comm) {
        std::string text = rank == 0 ? "the text" : cat("rank ", rank);
        const Status status = broadcast_text(comm, text);
        EXPECT_EQ(text, "the text");
        return status;
    });
}

TEST(Agree, OnTextTakesEmptyTextsToo) {
    ThreadWorld world(3);
    for (const auto& s : on_ranks(world, 3, [](int, Comm& comm) { return agree_on_text(comm, "path", ""); }))
        EXPECT_TRUE(s.ok());
    ThreadWorld other(3);
    for (const auto& s :
         on_ranks(other, 3, [](int rank, Comm& comm) { return agree_on_text(comm, "path", rank == 0 ? "" : "a"); })) {
        EXPECT_EQ(s.code(), Code::mpi_error);
    }
}

TEST(SelfComm, IsOneRankWhoseTransfersAreCopies) {
    auto comm = make_self_comm();
    EXPECT_EQ(comm->size(), 1);
    const int mine = 7;
    int all = 0;
    EXPECT_TRUE(comm->allgather(&mine, sizeof mine, &all).ok());
    EXPECT_EQ(all, 7);
    auto transfer = comm->make_alltoallw({{4, {{2, 8}}, 4}}, {{0, {{2, 4}}, 4}});
    ASSERT_TRUE(transfer.ok());
    const int source[5] = {0, 1, 2, 3, 4};
    int target[2] = {0, 0};
    EXPECT_TRUE(transfer.value()->start(source, target).ok());
    EXPECT_TRUE(transfer.value()->finish().ok());
    EXPECT_EQ(target[0], 1);
    EXPECT_EQ(target[1], 3);
}

TEST(CountedComm, CountsNonEmptyPartsForOthersOnly) {
    ThreadWorld world(3);
    std::mutex mutex;
    world.run([&](int rank, Comm& comm) {
        auto counts = std::make_shared<Counts>();
        auto counted = make_counted_comm(comm.duplicate().value(), counts);
        // Rank r sends r bytes to each rank: rank 0 sends nothing, the others also to themselves.
        std::vector<BytesPart> send(3, {0, rank}), receive;
        for (index_t from = 0, at = 0; from < 3; at += from, ++from) receive.push_back({at, from});
        auto transfer = counted->make_alltoallv(send, receive);
        char source[4] = {'a', 'b', 'c', 0}, target[4] = {};
        const bool ok =
            transfer.ok() && transfer.value()->start(source, target).ok() && transfer.value()->finish().ok();
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(ok);
        EXPECT_STREQ(target, "aab");
        EXPECT_EQ(counts->messages, rank == 0 ? 0 : 2);
        EXPECT_EQ(counts->sent_bytes, 2 * rank);
    });
    EXPECT_EQ(world.sent_by(2).bytes, 4);
    EXPECT_EQ(world.sent_by(2).messages, 2);
}

TEST(ThreadComm, SplitsByColorInTheOrderOfKeys) {
    ThreadWorld world(6);
    std::mutex mutex;
    world.run([&](int rank, Comm& comm) {
        auto part = comm.split(rank % 2, -rank);
        const int mine = rank;
        int all[3] = {};
        const bool ok = part.ok() && part.value()->allgather(&mine, sizeof mine, all).ok();
        const std::lock_guard lock(mutex);
        ASSERT_TRUE(ok);
        EXPECT_EQ(all[0], 4 + rank % 2);
        EXPECT_EQ(all[2], rank % 2);
        EXPECT_EQ(all[part.value()->rank()], rank);
    });
    EXPECT_EQ(world.open_comms(), 0);
}

TEST(ThreadComm, NoticesAtOnceThatARankHasLeft) {
    ThreadWorld world(3);
    world.expect_deadlock();
    const auto all = on_ranks(world, 3, [](int rank, Comm& comm) { return rank == 1 ? Status() : comm.barrier(); });
    EXPECT_TRUE(world.deadlocked());
    EXPECT_EQ(all[0].code(), Code::mpi_error);
    EXPECT_NE(world.deadlock_report().find("rank 1: left"), std::string::npos) << world.deadlock_report();
}

TEST(ThreadComm, NoticesRanksInDifferentCollectives) {
    ThreadWorld world(2);
    world.expect_deadlock();
    (void)on_ranks(world, 2, [](int rank, Comm& comm) {
        int x = 0;
        return rank == 0 ? comm.barrier() : comm.broadcast(&x, sizeof x, 0);
    });
    EXPECT_NE(world.deadlock_report().find("different collectives"), std::string::npos) << world.deadlock_report();
}

TEST(ThreadComm, RefusesTransfersWhoseEndsDisagree) {
    ThreadWorld world(2);
    std::mutex mutex;
    world.run([&](int rank, Comm& comm) {
        const auto transfer = comm.make_alltoallv({{0, 4}, {0, rank == 0 ? 8 : 4}}, {{0, 4}, {0, 4}});
        const std::lock_guard lock(mutex);
        EXPECT_NE(transfer.status().message().find("rank 0 sends 8 bytes to rank 1, which expects 4"),
                  std::string::npos);
    });
}

TEST(ThreadComm, FailsTheCallThatItWasToldTo) {
    ThreadWorld world(2);
    world.fail(1, CommCall::barrier, 2);
    std::mutex mutex;
    world.run([&](int rank, Comm& comm) {
        for (int i = 1; i <= 3; ++i) {
            const Status status = comm.barrier();
            const std::lock_guard lock(mutex);
            EXPECT_EQ(status.ok(), !(rank == 1 && i == 2));
        }
    });
    EXPECT_TRUE(world.fault_was_hit());
}

}  // namespace
}  // namespace spanfft::test
