// The links and routes that simulations run on: those of small networks, one by one, and what all messages of an
// all-to-all put on them.
//
// Oracle: routes written down by hand; the network model (plan/network), which network_test.cpp holds to P2 and to a
// count of its own.
#include "fabric.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "plan/network.hpp"

namespace spanfft::test {
namespace {

using simulation::Fabric;
using Names = std::vector<std::string>;

DataSheet fabric_sheet(NetworkKind kind) {
    DataSheet sheet;
    sheet.nodes = 64;
    sheet.core_fft_flops_per_second = 1e9;
    sheet.node_memory_bytes_per_second = 4e9;
    sheet.network = kind;
    sheet.link_bytes_per_second = 1e8;
    sheet.injection_bytes_per_second = 5e8;
    sheet.latency_seconds = 1e-6;
    return sheet;
}

DataSheet torus_of(const Extents& extents) {
    DataSheet sheet = fabric_sheet(NetworkKind::torus);
    sheet.torus = extents;
    sheet.nodes = static_cast<double>(product(extents));
    return sheet;
}

Names names(const Fabric& fabric, int from, int to) {
    Names found;
    for (const size_t link : fabric.route(from, to)) found.push_back(fabric.links()[link].name);
    return found;
}

// Seconds of the slowest link whose name begins so, when any two nodes exchange `bytes`.
double slowest(const Fabric& fabric, const std::string& begin, double bytes) {
    std::vector<double> load(fabric.links().size());
    for (int from = 0; from < fabric.nodes(); ++from) {
        for (int to = 0; to < fabric.nodes(); ++to) {
            if (from == to) continue;
            for (const size_t link : fabric.route(from, to)) load[link] += bytes;
        }
    }
    double most = 0;
    for (size_t link = 0; link < load.size(); ++link) {
        if (fabric.links()[link].name.rfind(begin, 0) == 0)
            most = std::max(most, load[link] / fabric.links()[link].bytes_per_second);
    }
    return most;
}

GroupTraffic everybody(int nodes, double bytes) {
    return {{{nodes, 1}}, static_cast<double>(nodes - 1), static_cast<double>(nodes - 1) * bytes};
}

TEST(Fabric, RoutesOfATorusOfFourByFour) {
    const Fabric fabric(torus_of({4, 4}), 16, 1);
    EXPECT_EQ(fabric.nodes(), 16);
    EXPECT_EQ(fabric.links().size(), 16 * (3 + 4));
    EXPECT_EQ(names(fabric, 3, 3), (Names{"memory3"}));
    EXPECT_EQ(names(fabric, 0, 5), (Names{"out0", "hop0.0up", "hop4.1up", "in5"}));
    EXPECT_EQ(names(fabric, 0, 15), (Names{"out0", "hop0.0down", "hop12.1down", "in15"}));
    // Half-way round: up from even places, down from odd ones.
    EXPECT_EQ(names(fabric, 0, 2), (Names{"out0", "hop0.1up", "hop1.1up", "in2"}));
    EXPECT_EQ(names(fabric, 1, 3), (Names{"out1", "hop1.1down", "hop0.1down", "in3"}));
    for (const auto& link : fabric.links()) {
        const double wanted = link.name[0] == 'h' ? 1e8 : link.name[0] == 'm' ? 2e9 : 5e8;
        EXPECT_EQ(link.bytes_per_second, wanted) << link.name;
    }
}

TEST(Fabric, ATorusCarriesAnAllToAllAsTheModelSays) {
    const std::vector<Extents> tori = {{8}, {4, 4}, {8, 8}, {4, 4, 4}, {8, 4, 2}, {2, 2, 2}, {16, 4}, {6, 6}};
    for (const Extents& extents : tori) {
        const DataSheet sheet = torus_of(extents);
        const int nodes = static_cast<int>(product(extents));
        const Fabric fabric(sheet, nodes, 1);
        const NetworkTimes times = Network(sheet, nodes, 1).times(everybody(nodes, 1), 1);
        // Of six places half-way messages can't be shared out evenly among three links.
        const double tolerance = extents[0] == 6 ? times.links / 8 : 1e-9 * times.links;
        EXPECT_NEAR(slowest(fabric, "hop", 1), times.links, tolerance) << shape_string(extents);
        EXPECT_NEAR(slowest(fabric, "out", 1), times.injection, 1e-9 * times.injection) << shape_string(extents);
    }
}

TEST(Fabric, PartOfATorusIsTheBoxThatTheModelTakes) {
    const Fabric fabric(torus_of({64, 32, 32}), 64, 1);
    EXPECT_EQ(fabric.nodes(), 64);
    EXPECT_EQ(fabric.torus(), (Extents{4, 4, 4}));
}

TEST(Fabric, AFatTreesLeavesShareTheirUplinks) {
    DataSheet sheet = fabric_sheet(NetworkKind::fat_tree);
    sheet.leaf_nodes = 4;
    sheet.taper = 2;
    const Fabric fabric(sheet, 32, 2);
    EXPECT_EQ(fabric.nodes(), 16);
    EXPECT_EQ(names(fabric, 1, 3), (Names{"out1", "in3"}));
    EXPECT_EQ(names(fabric, 1, 14), (Names{"out1", "up0", "down3", "in14"}));
    const auto up = std::find_if(fabric.links().begin(), fabric.links().end(), [](auto& l) { return l.name == "up2"; });
    ASSERT_NE(up, fabric.links().end());
    EXPECT_EQ(up->bytes_per_second, 4 * 1e8 / 2);
    const NetworkTimes times = Network(sheet, 16, 1).times(everybody(16, 1), 1);
    EXPECT_NEAR(slowest(fabric, "up", 1), times.links, 1e-9 * times.links);
    EXPECT_NEAR(slowest(fabric, "out", 1), times.injection, 1e-9 * times.injection);
}

TEST(Fabric, GroupsOfADragonflyAndPortsOfASwitchShareTheirs) {
    DataSheet sheet = fabric_sheet(NetworkKind::dragonfly);
    sheet.group_nodes = 8;
    sheet.group_bytes_per_second = 3e8;
    const Fabric dragonfly(sheet, 32, 1);
    EXPECT_EQ(names(dragonfly, 7, 8), (Names{"out7", "up0", "down1", "in8"}));
    NetworkTimes times = Network(sheet, 32, 1).times(everybody(32, 1), 1);
    EXPECT_NEAR(slowest(dragonfly, "up", 1), times.links, 1e-9 * times.links);

    sheet = fabric_sheet(NetworkKind::one_switch);
    EXPECT_EQ(names(Fabric(sheet, 4, 1), 0, 1), (Names{"out0", "in1"}));
    sheet.switch_bytes_per_second = 3e8;
    const Fabric one(sheet, 4, 1);
    EXPECT_EQ(names(one, 0, 1), (Names{"out0", "backplane", "in1"}));
    times = Network(sheet, 4, 1).times(everybody(4, 1), 1);
    EXPECT_NEAR(slowest(one, "backplane", 1), times.links, 1e-9 * times.links);
}

}  // namespace
}  // namespace spanfft::test
