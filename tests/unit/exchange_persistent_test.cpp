// `persistent`: what is special about it is that not every library has it, and that its buffers are its own. That it
// moves everything and counts as predicted is tested with all strategies in exchange_test.cpp.
#include <gtest/gtest.h>

#include <mutex>

#include "exchange/exchange.hpp"
#include "plan/planner.hpp"
#include "support/oracle.hpp"
#include "support/random.hpp"
#include "support/thread_comm.hpp"

namespace spanfft::test {
namespace {

const ExchangeStrategy& persistent() { return *find_exchange("persistent").strategy; }

ExchangeSpec slab() {
    const Layout from({8, 8}, {{4, 0, Division::block}});
    return {from, from.with_division(0, 1), 16};
}

TEST(ExchangePersistent, IsDeclinedWhereTheLibraryHasNone) {
    ExchangeSpec spec = slab();
    EXPECT_TRUE(persistent().check(spec).ok());
    spec.persistent_collectives = false;
    const Status status = persistent().check(spec);
    EXPECT_EQ(status.code(), Code::unsupported);
    EXPECT_NE(status.message().find("alltoallv"), std::string::npos) << status.message();
    ThreadWorld world(4);
    world.persistent_collectives = false;
    std::mutex mutex;
    world.run([&](int rank, Comm& comm) {
        const Status bound = persistent().bind({comm, spec, rank, nullptr}).status();
        const std::lock_guard lock(mutex);
        EXPECT_FALSE(comm.persistent_collectives());
        EXPECT_EQ(bound.code(), Code::unsupported);
    });
}

// Its library has large counts; datatype_mpi_test.cpp moves such parts.
TEST(ExchangePersistent, TakesMoreThanTwoGibibytesOnARank) {
    const Layout from({1 << 15, 1 << 13}, {{2, 0, Division::block}});
    EXPECT_TRUE(persistent().check({from, from.with_division(0, 1), 16}).ok());
}

TEST(ExchangePersistent, PacksBothSidesAlways) {
    // 2x8 elements, of which 2x2 stay: 12 are packed on either side, though on one of them they are contiguous.
    EXPECT_EQ(persistent().buffer_bytes(slab(), 1), 2 * 12 * 16);
    EXPECT_EQ(persistent().predict(slab(), 1).calls, 1);
}

TEST(ExchangePersistent, IsSkippedByThePlannerWhereTheLibraryHasNone) {
    Machine machine = this_machine();
    for (const auto& strategy : exchange_table()) machine.exchanges[strategy.name] = {{1, 1, {}}, {1, 1, {}}, false};
    machine.exchanges["persistent"] = {{0, 0, {}}, {0, 0, {}}, false};
    // Given boxes leave no solver but pencil.
    Random random(61);
    Problem problem = Problem::parse("c2c 16x16x16 ranks=4 threads=1").value();
    problem.real_boxes = random_tiling(random, problem.shape, problem.ranks);
    machine.topology.node_of_rank = std::make_shared<const std::vector<int>>(std::vector<int>{0, 1, 2, 3});
    EXPECT_EQ(Planner(machine).plan(problem).value()->problem.exchange, "persistent");
    machine.persistent_collectives = false;
    EXPECT_NE(Planner(machine).plan(problem).value()->problem.exchange, "persistent");
    problem.exchange = "persistent";
    EXPECT_EQ(Planner(machine).plan(problem).status().code(), Code::unsupported);
}

TEST(PersistentPlan, IsExact) {
    for (const std::string ranks : {"1", "2", "3", "4", "7", "8"}) {
        check_plan("c2c 6x9x10 threads=1 exchange=persistent ranks=" + ranks);
        check_plan("r2c 2x3x4 backward threads=1 exchange=persistent output=exchanged ranks=" + ranks);
        check_plan("dct2 7x6 in_place float threads=1 exchange=persistent ranks=" + ranks);
    }
    check_plan("c2c 6x8x9 threads=1 exchange=persistent ranks=8 grid=4x2");
}

}  // namespace
}  // namespace spanfft::test
