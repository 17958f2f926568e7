// CPUs: division among ranks, order of cores, and where the threads of teams really may run.
//
// Oracle: machines made by hand; for threads what the kernel answers (sched_getaffinity). Never a time.
#include "core/cpus.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <set>

#include "comm/rank_cpus.hpp"
#include "core/threads.hpp"
#include "exec/executor.hpp"
#include "plan/planner.hpp"
#include "plan/topology.hpp"
#include "support/thread_comm.hpp"

namespace spanfft::test {
namespace {

// Two packages of two cores of two CPUs, numbered as Linux does: 0 to 3, then their siblings 4 to 7.
std::vector<Cpu> eight() {
    return {{0, 0, 0}, {4, 0, 0}, {1, 0, 1}, {5, 0, 1}, {2, 1, 0}, {6, 1, 0}, {3, 1, 1}, {7, 1, 1}};
}

std::vector<int> numbers(const std::vector<Cpu>& cpus) {
    std::vector<int> result;
    for (const Cpu& cpu : cpus) result.push_back(cpu.number);
    return result;
}

std::set<int> members(const cpu_set_t& set) {
    std::set<int> result;
    for (int i = 0; i < CPU_SETSIZE; ++i) {
        if (CPU_ISSET(static_cast<size_t>(i), &set)) result.insert(i);
    }
    return result;
}

TEST(Cpus, SharesAreWholeCoresAndMeetNowhere) {
    EXPECT_EQ(numbers(share_of(eight(), 0, 2)), (std::vector<int>{0, 4, 1, 5}));
    EXPECT_EQ(numbers(share_of(eight(), 3, 4)), (std::vector<int>{3, 7}));
    for (int parts = 1; parts <= 8; ++parts) {
        std::set<int> seen;
        for (int part = 0; part < parts; ++part) {
            const auto share = share_of(eight(), part, parts);
            EXPECT_TRUE(static_cast<int>(share.size()) == 8 / parts || static_cast<int>(share.size()) == 8 / parts + 1);
            for (const Cpu& cpu : share) EXPECT_TRUE(seen.insert(cpu.number).second);
        }
        EXPECT_EQ(seen.size(), 8u);
    }
}

TEST(Cpus, MoreRanksThanCpusHaveOneEach) {
    for (int part = 0; part < 20; ++part) EXPECT_EQ(share_of(eight(), part, 20).size(), 1u);
    EXPECT_EQ(share_of(eight(), 9, 20)[0].number, 4);
    EXPECT_TRUE(share_of({}, 0, 1).empty());
}

TEST(Cpus, ThreadsGoToCoresBeforeTheyGoToSiblings) {
    EXPECT_EQ(spread(eight()), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(spread({{1, 0, 1}, {5, 0, 1}, {2, 1, 0}}), (std::vector<int>{1, 2, 5}));
    EXPECT_TRUE(spread({}).empty());
}

TEST(Cpus, TheListIsWhatTheKernelAllows) {
    const cpu_set_t allowed = allowed_cpus();
    std::set<int> listed;
    for (const Cpu& cpu : list_cpus(allowed)) EXPECT_TRUE(listed.insert(cpu.number).second);
    EXPECT_EQ(listed, members(allowed));
    EXPECT_EQ(static_cast<int>(listed.size()), available_cores());
}

TEST(Cpus, SetsOfMembersAreOneCpuOrTheShareOrAnything) {
    const TeamCpus shares(Pinning::shares, share_of(eight(), 1, 2), true);
    EXPECT_EQ(members(shares.of_member(1)), (std::set<int>{2, 3, 6, 7}));
    EXPECT_FALSE(shares.moves_caller());
    const TeamCpus each(Pinning::each, share_of(eight(), 1, 2), true);
    EXPECT_TRUE(each.moves_caller());
    for (const auto& [member, cpu] : {std::pair{0, 2}, {1, 3}, {2, 6}, {3, 7}, {4, 2}})
        EXPECT_EQ(members(each.of_member(member)), (std::set<int>{cpu}));
    EXPECT_TRUE(members(TeamCpus(Pinning::shares, eight(), false).of_member(1)).empty());
    EXPECT_TRUE(members(TeamCpus(Pinning::none, eight(), true).of_member(1)).empty());
}

class PinVariable {
  public:
    explicit PinVariable(const char* value) { value ? setenv("SPANFFT_PIN", value, 1) : unsetenv("SPANFFT_PIN"); }
    ~PinVariable() { unsetenv("SPANFFT_PIN"); }
};

TEST(Cpus, TheVariableIsReadOrRefused) {
    for (const auto& [text, pinning] : {std::pair<const char*, Pinning>{nullptr, Pinning::shares},
                                        {"", Pinning::shares},
                                        {"1", Pinning::each},
                                        {"0", Pinning::none}}) {
        const PinVariable variable(text);
        ASSERT_TRUE(pinning_asked_for().ok());
        EXPECT_EQ(pinning_asked_for().value(), pinning);
    }
    const PinVariable variable("yes");
    EXPECT_EQ(pinning_asked_for().status().code(), Code::invalid_argument);
    EXPECT_NE(pinning_asked_for().status().message().find("'yes'; use 1"), std::string::npos);
}

// --- threads of teams, as the kernel sees them

std::vector<std::set<int>> where_a_team_runs(int threads) {
    ThreadTeam team(threads);
    std::vector<std::set<int>> found(static_cast<size_t>(team.size()));
    team.run([&](int member) { found[static_cast<size_t>(member)] = members(allowed_cpus()); });
    return found;
}

TEST(ThreadTeamCpus, WithoutAPlaceMembersRunWhereTheirMakerMay) {
    const auto all = members(allowed_cpus());
    for (const auto& set : where_a_team_runs(3)) EXPECT_EQ(set, all);
}

TEST(ThreadTeamCpus, EachHasACpuAndTheCallerIsBackAfterTheJob) {
    const auto cpus = list_cpus(allowed_cpus());
    const auto all = members(allowed_cpus());
    const TeamCpus place(Pinning::each, cpus, false);
    const auto order = spread(cpus);
    const auto found = where_a_team_runs(3);
    for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], (std::set<int>{order[i % order.size()]}));
    EXPECT_EQ(members(allowed_cpus()), all);
}

TEST(ThreadTeamCpus, MembersKeepToTheShareAndTheCallerStaysFree) {
    const auto cpus = list_cpus(allowed_cpus());
    const auto all = members(allowed_cpus());
    const auto share = share_of(cpus, 1, 2);
    const TeamCpus place(Pinning::shares, share, true);
    const auto found = where_a_team_runs(3);
    EXPECT_EQ(found[0], all);
    const auto own = numbers(share);
    for (size_t i = 1; i < found.size(); ++i) EXPECT_EQ(found[i], std::set<int>(own.begin(), own.end()));
}

// --- ranks

TEST(RankCpus, RanksThatMayRunAnywhereDivideTheirNode) {
    const auto cpus = list_cpus(allowed_cpus());
    for (int ranks : {1, 2, 3}) {
        ThreadWorld world(ranks);
        world.run([&](int rank, Comm& comm) {
            const auto found = cpus_of_rank(comm, std::vector<int>(static_cast<size_t>(ranks), 0));
            ASSERT_TRUE(found.ok());
            EXPECT_EQ(found.value().own, share_of(cpus, rank, ranks));
            EXPECT_EQ(found.value().divided, ranks > 1);
        });
    }
}

TEST(RankCpus, RanksOfOtherNodesDivideTheirOwn) {
    const auto cpus = list_cpus(allowed_cpus());
    ThreadWorld world(4);
    world.run([&](int rank, Comm& comm) {
        const auto found = cpus_of_rank(comm, {0, 1, 0, 1});
        ASSERT_TRUE(found.ok());
        EXPECT_EQ(found.value().own, share_of(cpus, rank / 2, 2));
    });
}

// Rank 0 is bound to one CPU, as a launcher would; rank 1 may use all. Neither divides anything.
TEST(RankCpus, ABoundRankKeepsItsSetAndCountsItAlone) {
    const auto cpus = list_cpus(allowed_cpus());
    if (cpus.size() < 2) GTEST_SKIP() << "needs two CPUs";
    ThreadWorld world(2);
    world.run([&](int rank, Comm& comm) {
        if (rank == 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(static_cast<size_t>(cpus[1].number), &one);
            ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
        }
        const auto found = cpus_of_rank(comm, {0, 0});
        ASSERT_TRUE(found.ok());
        EXPECT_EQ(numbers(found.value().own), rank == 0 ? std::vector<int>{cpus[1].number} : numbers(cpus));
        EXPECT_FALSE(found.value().divided);
        // Threads by default: no more than the poorer rank has CPUs.
        Machine machine = this_machine();
        ASSERT_TRUE(find_topology(comm, machine).ok());
        EXPECT_EQ(machine.threads_for(2), 1);
    });
}

TEST(RankCpus, ThreadsByDefaultAreNoMoreThanAShare) {
    for (int ranks : {1, 2, 3, 5}) {
        ThreadWorld world(ranks);
        world.run([&](int rank, Comm& comm) {
            Machine machine = this_machine();
            ASSERT_TRUE(find_topology(comm, machine).ok());
            const auto found = cpus_of_rank(comm, std::vector<int>(static_cast<size_t>(ranks), 0));
            ASSERT_TRUE(found.ok());
            EXPECT_LE(machine.threads_for(ranks), static_cast<int>(found.value().own.size())) << rank;
        });
    }
}

// A whole plan: the team that SharedTransform makes when it is bound.
TEST(RankCpus, APlanPlacesItsTeamsAndLeavesItsCallersAlone) {
    auto planned = Planner(this_machine())
                       .plan(Problem::parse("c2c 12x8x6 ranks=2 threads=2 engine=ducc0 exchange=shared").value());
    ASSERT_TRUE(planned.ok()) << planned.status().message();
    const std::shared_ptr<const Plan> plan = std::move(planned).value();
    for (const char* value : {static_cast<const char*>(nullptr), "0", "1"}) {
        const PinVariable variable(value);
        ThreadWorld world(2);
        world.run([&](int rank, Comm& comm) {
            const auto before = members(allowed_cpus());
            auto executor = Executor::make(plan, comm.duplicate().value());
            ASSERT_TRUE(executor.ok()) << executor.status().message();
            std::vector<double> in(static_cast<size_t>(plan->input.local_bytes(rank)) / 8), out(in.size());
            EXPECT_TRUE(executor.value()->execute(in.data(), out.data()).ok());
            EXPECT_EQ(members(allowed_cpus()), before);
            EXPECT_EQ(TeamCpus::now(), nullptr);
        });
    }
    const PinVariable variable("2");
    ThreadWorld world(2);
    world.run([&](int, Comm& comm) {
        const auto executor = Executor::make(plan, comm.duplicate().value());
        EXPECT_EQ(executor.status().code(), Code::invalid_argument);
        EXPECT_NE(executor.status().message().find("SPANFFT_PIN is '2'"), std::string::npos);
    });
}

}  // namespace
}  // namespace spanfft::test
