// What an exchange is said to cost: loads against the pieces themselves, and seconds from curves.
#include "plan/exchange_cost.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plan/wire_fit.hpp"
#include "support/random.hpp"

namespace spanfft::test {
namespace {

ExchangeLoad by_hand(const ExchangeSpec& spec, int rank, const Topology& topology) {
    ExchangeLoad load;
    const Patch mine = spec.from.patch(rank);
    for (int peer = 0; peer < spec.to.nranks(); ++peer) {
        const index_t bytes = patch_elems(intersect(mine, spec.to.patch(peer))) * spec.elem_bytes;
        if (peer == rank || bytes == 0) continue;
        const bool near = topology.node_of(peer) == topology.node_of(rank);
        (near ? load.near_peers : load.far_peers) += 1;
        (near ? load.near_bytes : load.far_bytes) += bytes;
    }
    return load;
}

// Two divisions of one random array over one process grid.
ExchangeSpec random_exchange(Random& random) {
    const int ndim = 2 + static_cast<int>(random.below(3));
    Extents shape;
    for (int axis = 0; axis < ndim; ++axis) shape.push_back(1 + static_cast<index_t>(random.below(9)));
    std::vector<GridDim> from, to;
    std::vector<int> axes_from(static_cast<size_t>(ndim)), axes_to(static_cast<size_t>(ndim));
    for (int axis = 0; axis < ndim; ++axis)
        axes_from[static_cast<size_t>(axis)] = axes_to[static_cast<size_t>(axis)] = axis;
    for (auto* axes : {&axes_from, &axes_to}) {
        for (size_t i = axes->size(); i > 1; --i) std::swap((*axes)[i - 1], (*axes)[random.below(i)]);
    }
    const int dims = 1 + static_cast<int>(random.below(static_cast<uint64_t>(ndim)));
    for (int dim = 0; dim < dims; ++dim) {
        const auto parts = 1 + static_cast<index_t>(random.below(4));
        const Division division = random.below(5) == 0 ? Division::cyclic : Division::block;
        from.push_back({parts, axes_from[static_cast<size_t>(dim)], division});
        to.push_back({parts, axes_to[static_cast<size_t>(dim)], Division::block});
    }
    return {Layout(shape, from), Layout(shape, to), 8};
}

TEST(ExchangeCost, LoadsAreThoseOfThePieces) {
    Random random(77);
    for (int i = 0; i < 400; ++i) {
        const ExchangeSpec spec = random_exchange(random);
        Topology topology;
        topology.ranks_per_node = static_cast<int>(random.below(4));
        for (int rank = 0; rank < spec.from.nranks(); ++rank) {
            ASSERT_EQ(exchange_load(spec, rank, topology), by_hand(spec, rank, topology))
                << spec.from.describe() << " -> " << spec.to.describe() << " rank " << rank;
        }
    }
}

TEST(ExchangeCost, BoxesAreCountedPeerByPeer) {
    const auto boxes = Layout::from_boxes({4, 4}, {{{0, 4, 1}, {0, 1, 1}}, {{0, 4, 1}, {1, 3, 1}}});
    ASSERT_TRUE(boxes.ok());
    const ExchangeSpec spec{boxes.value(), Layout({4, 4}, {{2, 0, Division::block}}), 16};
    EXPECT_EQ(exchange_load(spec, 1, Topology()), (ExchangeLoad{1, 6 * 16, 0, 0}));
}

TEST(ExchangeCost, CurvesAreReadBetweenTheirPointsAndLevelBeyond) {
    WireFigures wire{1e-6, 9, {{1024, 4e-10}, {1048576, 2e-10}}};
    EXPECT_DOUBLE_EQ(wire.seconds_per_byte_at(10), 4e-10);
    EXPECT_DOUBLE_EQ(wire.seconds_per_byte_at(1 << 30), 2e-10);
    // The middle in the logarithm of sizes (2^10, 2^15, 2^20) has the middle in the logarithm of times.
    EXPECT_DOUBLE_EQ(wire.seconds_per_byte_at(32768), std::sqrt(4e-10 * 2e-10));
    EXPECT_DOUBLE_EQ(wire.seconds(3, 3 * 1048576), 3e-6 + 3 * 1048576 * 2e-10);
    EXPECT_EQ(wire.seconds(3, 0), 0);
}

TEST(WireFit, NeighboursThatContradictEachOtherArePooled) {
    const auto fitted = never_falling({1, 4, 2, 9, 8, 7, 10});
    const double pair = std::sqrt(8.0), three = std::cbrt(9.0 * 8 * 7);
    const std::vector<double> expected{1, pair, pair, three, three, three, 10};
    ASSERT_EQ(fitted.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(fitted[i], expected[i], 1e-12 * expected[i]) << i;
}

TEST(WireFit, WhatNeverFallsIsKept) {
    const WireFigures wire = fit_wire({{1, 4096, 8e-6}, {1, 256, 5e-6}, {2, 131072, 60e-6}}, 1e-12);
    EXPECT_DOUBLE_EQ(wire.latency_seconds, 5e-6);
    EXPECT_NEAR(wire.seconds(1, 4096), 8e-6, 1e-15);
    EXPECT_NEAR(wire.seconds(2, 131072), 60e-6, 1e-15);
}

TEST(WireFit, TimeNeverFallsWithBytesWhateverWasMeasured) {
    Random random(79);
    for (int i = 0; i < 300; ++i) {
        std::vector<WireSample> samples;
        for (uint64_t n = 1 + random.below(8); n > 0; --n) {
            const double messages = 1 + static_cast<double>(random.below(64));
            const double bytes = messages * static_cast<double>(index_t{64} << random.below(20));
            samples.push_back({messages, bytes, 1e-6 * static_cast<double>(1 + random.below(100000))});
        }
        const WireFigures wire = fit_wire(samples, 1e-12);
        double before = 0;
        for (double bytes = 16; bytes < 1e9; bytes *= 1.07) {
            const double now = wire.seconds(1, bytes);
            ASSERT_GE(now, before * (1 - 1e-12)) << "case " << i << " at " << bytes << " bytes";
            before = now;
        }
    }
}

TEST(ExchangeCost, MessagesBetweenNodesCostMore) {
    const ExchangeSpec spec{Layout({64, 64}, {{4, 0, Division::block}}), Layout({64, 64}, {{4, 1, Division::block}}),
                            16};
    const ExchangeFigures figures = Machine().exchange("alltoallv");
    Topology two_nodes;
    two_nodes.ranks_per_node = 2;
    const ExchangeLoad near = exchange_load(spec, 0, Topology()), mixed = exchange_load(spec, 0, two_nodes);
    Counts counts;
    counts.messages = 3;
    counts.sent_bytes = near.near_bytes;
    EXPECT_EQ(mixed.near_peers, 1);
    EXPECT_EQ(mixed.far_peers, 2);
    EXPECT_EQ(mixed.near_bytes + mixed.far_bytes, near.near_bytes);
    EXPECT_GT(exchange_seconds(mixed, counts, figures, 1e9), exchange_seconds(near, counts, figures, 1e9));
}

TEST(RankClasses, RanksOfAClassHoldPartsOfEqualShape) {
    Random random(78);
    for (int i = 0; i < 300; ++i) {
        const ExchangeSpec spec = random_exchange(random);
        const RankClasses classes({&spec.from, &spec.to});
        for (int rank = 0; rank < spec.from.nranks(); ++rank) {
            const int like = classes.representatives()[classes.class_of(rank)];
            ASSERT_EQ(patch_shape(spec.from.patch(rank)), patch_shape(spec.from.patch(like)));
            ASSERT_EQ(patch_shape(spec.to.patch(rank)), patch_shape(spec.to.patch(like)));
        }
    }
    const Layout rows({1000, 1000}, {{512, 0, Division::block}}), columns({1000, 1000}, {{512, 1, Division::block}});
    EXPECT_EQ(RankClasses({&rows, &columns}).representatives(), (std::vector<int>{0, 488}));  // 1000 = 488*2 + 24*1
}

TEST(Topology, NumbersNodesAndSharesTheirCores) {
    Machine machine;
    machine.cores = 8;
    EXPECT_EQ(machine.threads_for(1), 8);
    EXPECT_EQ(machine.threads_for(3), 2);
    EXPECT_EQ(machine.threads_for(64), 1);
    machine.topology.ranks_per_node = 4;
    EXPECT_EQ(machine.threads_for(64), 2);
    EXPECT_EQ(machine.topology.nodes(9), 3);
    machine.topology.node_of_rank = std::make_shared<std::vector<int>>(std::vector<int>{0, 1, 0, 0});
    EXPECT_EQ(machine.topology.nodes(4), 2);
    EXPECT_EQ(machine.topology.most_ranks_on_a_node(4), 3);
    EXPECT_EQ(machine.threads_for(4), 2);
}

}  // namespace
}  // namespace spanfft::test
