// `hierarchical` on imagined nodes of simulated ranks: elements, counts and windows, whatever the nodes look like.
#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "comm/counted_comm.hpp"
#include "exchange/exchange.hpp"
#include "plan/planner.hpp"
#include "support/oracle.hpp"
#include "support/random.hpp"
#include "support/thread_comm.hpp"

namespace spanfft::test {
namespace {

const ExchangeStrategy& hierarchical() { return *find_exchange("hierarchical").strategy; }

ExchangeSpec on_nodes(Layout from, Layout to, int ranks_per_node) {
    ExchangeSpec spec{std::move(from), std::move(to), 8};
    spec.topology.ranks_per_node = ranks_per_node;
    return spec;
}

// Elements are their own global indices.
std::vector<index_t> indices(const Layout& layout, int rank) {
    std::vector<index_t> local;
    for_each_index(layout.shape(), layout.patch(rank), [&](index_t g) { local.push_back(g); });
    return local;
}

void expect_moved(const ExchangeSpec& spec, int ranks_per_node) {
    SCOPED_TRACE(cat(spec.from.describe(), " -> ", spec.to.describe(), " on ", spec.from.nranks(), " ranks, ",
                     ranks_per_node, " a node"));
    ThreadWorld world(spec.from.nranks());
    world.ranks_per_node = ranks_per_node;
    std::mutex mutex;
    world.run([&](int rank, Comm& comm) {
        auto counts = std::make_shared<Counts>();
        auto part = comm.split(exchange_group(spec.from, spec.to, rank).front(), rank);
        if (!part.ok()) return;
        auto counted = make_counted_comm(std::move(part).value(), counts);
        auto exchange = hierarchical().bind({*counted, spec, rank, nullptr});
        const auto source = indices(spec.from, rank), wanted = indices(spec.to, rank);
        auto kept = source;
        std::vector<index_t> target(wanted.size());
        Status status = exchange.status();
        for (int time = 0; time < 3 && status.ok(); ++time) {
            std::fill(target.begin(), target.end(), -1);
            status = exchange.value()->run(source.data(), target.data());
        }
        const Counts predicted = hierarchical().predict(spec, rank);
        const std::lock_guard lock(mutex);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(target, wanted) << "rank " << rank;
        EXPECT_EQ(source, kept);
        EXPECT_EQ(counts->messages, 3 * predicted.messages) << "rank " << rank;
        EXPECT_EQ(counts->sent_bytes, 3 * predicted.sent_bytes) << "rank " << rank;
        EXPECT_EQ(counts->calls, 3 * predicted.calls) << "rank " << rank;
        EXPECT_EQ(world.sent_by(rank).messages, 3 * predicted.messages) << "rank " << rank;
        EXPECT_EQ(world.sent_by(rank).bytes, 3 * predicted.sent_bytes) << "rank " << rank;
        EXPECT_EQ(exchange.value()->moved_bytes(), 3 * predicted.memory_bytes) << "rank " << rank;
    });
    EXPECT_EQ(world.open_comms(), 0);
}

TEST(ExchangeHierarchical, MovesBlocksOnNodesOfAnySize) {
    Random random(41);
    SCOPED_TRACE(cat("seed ", random.seed()));
    for (int i = 0; i < 200; ++i) {
        Extents shape;
        for (index_t d = random.between(1, 3); d > 0; --d) shape.push_back(random.between(1, 9));
        const int ranks = static_cast<int>(random.between(1, 8));
        const int per_node = static_cast<int>(random.between(1, 4));
        const bool cyclic = random.chance(0.3);
        expect_moved(on_nodes(random_grid_layout(random, shape, ranks, cyclic),
                              random_grid_layout(random, shape, ranks, cyclic), per_node),
                     per_node);
        if (HasFailure()) return;
    }
}

TEST(ExchangeHierarchical, MovesBoxesWithEmptyOnesAmongThem) {
    Random random(42);
    SCOPED_TRACE(cat("seed ", random.seed()));
    for (int i = 0; i < 100; ++i) {
        const Extents shape{random.between(1, 6), random.between(1, 6)};
        const int ranks = static_cast<int>(random.between(1, 8));
        const int per_node = static_cast<int>(random.between(1, 4));
        expect_moved(on_nodes(Layout::from_boxes(shape, random_tiling(random, shape, ranks)).value(),
                              Layout::from_boxes(shape, random_tiling(random, shape, ranks)).value(), per_node),
                     per_node);
        if (HasFailure()) return;
    }
}

TEST(ExchangeHierarchical, MovesGroupsThatCrossNodes) {
    for (const index_t rows : {2, 4}) {
        const Layout from({5, 6, 7}, {{rows, 0, Division::block}, {8 / rows, 1, Division::block}});
        for (const int per_node : {1, 2, 3, 5, 8}) {
            expect_moved(on_nodes(from, from.with_division(0, 2), per_node), per_node);
            expect_moved(on_nodes(from, from.with_division(1, 2), per_node), per_node);
        }
    }
}

TEST(ExchangeHierarchical, SendsOneMessageForEachPairOfNodes) {
    const Layout from({14, 14}, {{7, 0, Division::block}});
    const auto spec = on_nodes(from, from.with_division(0, 1), 3);  // nodes of 3, 3 and 1 ranks
    std::vector<index_t> messages;
    index_t bytes = 0, between_nodes = 0;
    for (int rank = 0; rank < 7; ++rank) {
        const Counts counts = hierarchical().predict(spec, rank);
        messages.push_back(counts.messages);
        bytes += counts.sent_bytes;
        for (int peer = 0; peer < 7; ++peer) between_nodes += rank / 3 == peer / 3 ? 0 : 2 * 2 * 8;
    }
    EXPECT_EQ(messages, (std::vector<index_t>{1, 1, 0, 1, 1, 0, 2}));
    EXPECT_EQ(bytes, between_nodes);
}

TEST(ExchangeHierarchical, SendsNothingWithinOneNode) {
    const Layout from({8, 8}, {{4, 0, Division::block}});
    ExchangeSpec spec{from, from.with_division(0, 1), 16};
    const Counts counts = hierarchical().predict(spec, 2);
    EXPECT_EQ(counts.messages + counts.sent_bytes + counts.calls, 0);
    // 12 of 16 elements go to others, and lie in the window on the way.
    EXPECT_EQ(hierarchical().buffer_bytes(spec, 2), 12 * 16);
    EXPECT_TRUE(hierarchical().candidates(spec).empty());
    spec.topology.ranks_per_node = 2;
    EXPECT_EQ(hierarchical().candidates(spec), std::vector<std::string>{""});
    // Gateway to the other node: 2x2 parts of 4 elements out and in, and one part for the neighbour.
    EXPECT_EQ(hierarchical().buffer_bytes(spec, 2), (4 * 4 + 4 * 4 + 4) * 16);
    EXPECT_EQ(hierarchical().buffer_bytes(spec, 3), 4 * 16);
}

TEST(ExchangeHierarchical, FailsOnAllRanksWhenOneCanNotMakeIt) {
    const Layout from({8, 8}, {{6, 0, Division::block}});
    const auto spec = on_nodes(from, from.with_division(0, 1), 2);
    for (const auto call : {CommCall::split, CommCall::make_window, CommCall::make_transfer}) {
        ThreadWorld world(6);
        world.ranks_per_node = 2;
        world.fail(3, call, 1);
        std::mutex mutex;
        world.run([&](int rank, Comm& comm) {
            auto exchange = hierarchical().bind({comm, spec, rank, nullptr});
            const Status all = agree(comm, exchange.status());
            const std::lock_guard lock(mutex);
            EXPECT_EQ(all.code(), Code::mpi_error);
            EXPECT_NE(all.message().find("rank 3"), std::string::npos) << all.message();
        });
        EXPECT_TRUE(world.fault_was_hit());
    }
}

TEST(HierarchicalPlan, IsExactOnImaginedNodes) {
    for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8}) {
        for (const int per_node : {1, 2, 3}) {
            for (const std::string text : {"c2c 6x9x10", "r2c 6x5x8 backward", "r2c 2x3x4 output=exchanged",
                                           "dct2 7x6 in_place float", "c2c 4x5x6 batch=2 longdouble"}) {
                const auto problem =
                    Problem::parse(cat(text, " threads=1 exchange=hierarchical ranks=", ranks)).value();
                check_plan(problem, 43, per_node);
            }
        }
    }
    for (const std::string grid : {"2x4", "4x2", "8"}) {
        for (const int per_node : {2, 3, 4, 8})
            check_plan(Problem::parse("r2c 6x8x9 threads=1 exchange=hierarchical ranks=8 grid=" + grid).value(), 44,
                       per_node);
    }
}

// The exchange that pencil chooses; given boxes leave no other solver.
std::string chosen(const Machine& machine) {
    Random random(45);
    Problem problem = Problem::parse("c2c 16x16x16 ranks=4 threads=1").value();
    problem.real_boxes = random_tiling(random, problem.shape, problem.ranks);
    const auto plan = Planner(machine).plan(problem);
    return plan.ok() ? plan.value()->problem.exchange : plan.status().message();
}

TEST(HierarchicalPlan, IsATriedCandidateOnSeveralNodesOnly) {
    Machine machine = this_machine();
    for (const auto& strategy : exchange_table()) machine.exchanges[strategy.name] = {{1, 1, {}}, {1, 1, {}}, false};
    machine.exchanges["hierarchical"] = {{0, 0, {}}, {0, 0, {}}, false};  // as if it were free
    machine.topology.node_of_rank = std::make_shared<const std::vector<int>>(std::vector<int>{0, 1, 2, 3});
    EXPECT_EQ(chosen(machine), "hierarchical");
    machine.topology.node_of_rank = std::make_shared<const std::vector<int>>(std::vector<int>{0, 0, 0, 0});
    EXPECT_NE(chosen(machine), "hierarchical");
}

}  // namespace
}  // namespace spanfft::test
