// Teams that plans share: how many threads the process has, as the kernel sees them, and that jobs are whole.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>

#include "core/shared_team.hpp"
#include "exec/executor.hpp"
#include "plan/planner.hpp"
#include "support/thread_comm.hpp"

namespace spanfft::test {
namespace {

int threads_of_this_process() {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

// A thread that was joined may be listed for a moment yet.
int threads_at_last(int expected) {
    for (int tries = 0; tries < 1000 && threads_of_this_process() != expected; ++tries)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return threads_of_this_process();
}

void expect_whole_jobs(const SharedTeam& team, int times) {
    for (int time = 0; time < times; ++time) {
        std::vector<int> hits(static_cast<size_t>(team.size()), 0);
        team.run([&](int member) { ++hits[static_cast<size_t>(member)]; });
        EXPECT_EQ(hits, std::vector<int>(hits.size(), 1));
    }
}

TEST(SharedTeam, IsNoneForOneThread) { EXPECT_EQ(SharedTeam::of(1), nullptr); }

TEST(SharedTeam, FiftyThatAreAlikeHaveTheThreadsOfOne) {
    const int before = threads_of_this_process();
    std::vector<std::unique_ptr<SharedTeam>> teams;
    for (int i = 0; i < 50; ++i) {
        teams.push_back(SharedTeam::of(3));
        ASSERT_EQ(teams.back()->size(), 3);
        expect_whole_jobs(*teams.back(), 5);
        EXPECT_EQ(threads_of_this_process(), before + 2);
    }
    teams.erase(teams.begin(), teams.end() - 1);
    expect_whole_jobs(*teams.back(), 5);
    EXPECT_EQ(threads_of_this_process(), before + 2);
    teams.clear();
    EXPECT_EQ(threads_at_last(before), before);
}

TEST(SharedTeam, ThoseOfOtherSizesPlacesAndThreadsAreOthers) {
    const int before = threads_of_this_process();
    const auto three = SharedTeam::of(3), two = SharedTeam::of(2);
    EXPECT_EQ(threads_of_this_process(), before + 3);
    const std::vector<Cpu> cpus = list_cpus(allowed_cpus());
    std::unique_ptr<SharedTeam> pinned;
    {
        const TeamCpus place(Pinning::each, cpus, false);
        pinned = SharedTeam::of(2);
    }
    EXPECT_EQ(threads_of_this_process(), before + 4);
    std::unique_ptr<SharedTeam> another;
    std::thread([&] { another = SharedTeam::of(2); }).join();
    EXPECT_EQ(threads_at_last(before + 5), before + 5);
    for (const SharedTeam* team : {three.get(), two.get(), pinned.get(), another.get()}) expect_whole_jobs(*team, 20);
}

// Each job waits for the other's to have begun, so no team can do both.
TEST(SharedTeam, JobsAtTheSameTimeHaveATeamEach) {
    const int before = threads_of_this_process();
    const auto one = SharedTeam::of(2), other = SharedTeam::of(2);
    std::atomic<int> begun{0};
    std::array<std::atomic<int>, 2> members{};
    const auto work = [&](const SharedTeam& team, size_t which) {
        team.run([&](int) {
            ++members[which];
            ++begun;
            while (begun < 4) std::this_thread::yield();
        });
    };
    std::thread thread([&] { work(*one, 0); });
    work(*other, 1);
    thread.join();
    EXPECT_EQ(members[0], 2);
    EXPECT_EQ(members[1], 2);
    EXPECT_EQ(threads_at_last(before + 2), before + 2);
    for (const SharedTeam* team : {one.get(), other.get()}) expect_whole_jobs(*team, 20);
    EXPECT_EQ(threads_of_this_process(), before + 2);  // a third is not made
}

TEST(SharedTeam, AChildOfForkHasThreadsOfItsOwn) {
    const auto team = SharedTeam::of(3);
    expect_whole_jobs(*team, 5);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        alarm(20);                                     // instead of hanging
        const int before = threads_of_this_process();  // ducc0 starts its own at once
        std::atomic<int> hits{0};
        const auto more = SharedTeam::of(3);
        team->run([&](int member) { hits += 1 << (4 * member); });
        more->run([&](int member) { hits += 1 << (4 * member); });
        _exit(hits == 0x222 && threads_of_this_process() == before + 2 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    expect_whole_jobs(*team, 5);
}

// Every step of these plans shares its work among two threads; each rank is a thread that makes fifty of them.
TEST(SharedTeam, FiftyPlansOfManyStepsHaveTheThreadsOfOneTeamARank) {
    auto planned = Planner(this_machine())
                       .plan(Problem::parse("c2c 12x8x6 ranks=2 threads=2 engine=ducc0 exchange=shared").value());
    ASSERT_TRUE(planned.ok()) << planned.status().message();
    const std::shared_ptr<const Plan> plan = std::move(planned).value();
    ASSERT_GT(plan->steps.size(), 1U);
    const auto bind_and_run = [&](int plans, const std::function<void()>& look) {
        ThreadWorld world(2);
        world.run([&](int rank, Comm& comm) {
            std::vector<std::unique_ptr<Executor>> executors;
            for (int i = 0; i < plans; ++i) {
                auto executor = Executor::make(plan, comm.duplicate().value());
                ASSERT_TRUE(executor.ok()) << executor.status().message();
                executors.push_back(std::move(executor).value());
            }
            std::vector<double> in(static_cast<size_t>(plan->input.local_bytes(rank)) / 8), out(in.size());
            for (const auto& executor : executors) EXPECT_TRUE(executor->execute(in.data(), out.data()).ok());
            EXPECT_TRUE(comm.barrier().ok());
            look();
            EXPECT_TRUE(comm.barrier().ok());
        });
    };
    bind_and_run(1, [] {});  // ducc0 starts threads of its own, once
    const int without = threads_of_this_process();
    bind_and_run(50, [&] { EXPECT_EQ(threads_of_this_process(), without + 2 + 2); });  // ranks, and one of each's team
    EXPECT_EQ(threads_at_last(without), without);
}

}  // namespace
}  // namespace spanfft::test
