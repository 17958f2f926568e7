// The network model and data sheets: closed forms against P2's equations, a count of every link, and what a file may
// say.
//
// Oracle: P2's equations 3 and 4 as printed; the load of each link of a small torus, message by message; blocks counted
// rank by rank.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "plan/machine_file.hpp"
#include "plan/network.hpp"

namespace spanfft::test {
namespace {

DataSheet torus_sheet(const Extents& torus) {
    DataSheet sheet;
    sheet.nodes = static_cast<double>(product(torus));
    sheet.core_fft_flops_per_second = 1e9;
    sheet.node_memory_bytes_per_second = 1e15;
    sheet.network = NetworkKind::torus;
    sheet.torus = torus;
    sheet.link_bytes_per_second = 1e8;
    sheet.injection_bytes_per_second = 1e15;
    sheet.latency_seconds = 1e-6;
    return sheet;
}

GroupTraffic all_to_all(const RankGroup& group, double bytes_a_pair) {
    const double peers = static_cast<double>(ranks_of(group)) - 1;
    return {group, peers, peers * bytes_a_pair};
}

// The fullest link when every group exchanges `1` between any two of its ranks, one rank a node, dimension by
// dimension, each the shorter way round; halves each way where both are alike.
double fullest_link(const Extents& torus, const RankGroup& group) {
    const auto nodes = static_cast<int>(product(torus));
    const auto place = [&](int rank) {
        Extents at(torus.size());
        for (size_t dim = torus.size(); dim-- > 0; rank /= static_cast<int>(torus[dim])) at[dim] = rank % torus[dim];
        return at;
    };
    const auto group_key = [&](int rank) {  // a rank without its coordinates in the group
        int key = rank;
        for (const RankSpan& span : group) key -= static_cast<int>((rank / span.stride) % span.count * span.stride);
        return key;
    };
    std::map<std::tuple<Extents, size_t, int>, double> load;
    const auto walk = [&](Extents& at, size_t dim, index_t steps, int way, double bytes) {
        for (index_t step = 0; step < steps; ++step) {
            load[{at, dim, way}] += bytes;
            at[dim] = (at[dim] + way + torus[dim]) % torus[dim];
        }
    };
    for (int from = 0; from < nodes; ++from) {
        for (int to = 0; to < nodes; ++to) {
            if (from == to || group_key(from) != group_key(to)) continue;
            Extents at = place(from);
            const Extents end = place(to);
            for (size_t dim = 0; dim < torus.size(); ++dim) {
                const index_t up = (end[dim] - at[dim] + torus[dim]) % torus[dim], down = torus[dim] - up;
                if (up == 0) continue;
                Extents other = at;
                const bool both = up == down && torus[dim] > 2;
                if (up <= down) walk(at, dim, up, 1, both ? 0.5 : 1);
                if (up > down) walk(at, dim, down, -1, 1);
                if (both) walk(other, dim, down, -1, 0.5);
                at[dim] = end[dim];
            }
        }
    }
    double most = 0;
    for (const auto& [link, bytes] : load) most = std::max(most, bytes);
    return most;
}

TEST(Network, LinksOfATorusCarryWhatEveryMessagePutsOnThem) {
    const std::vector<std::pair<Extents, RankGroup>> cases = {
        {{8}, {{8, 1}}},         {{4, 4, 4}, {{64, 1}}}, {{8, 4, 4}, {{128, 1}}},
        {{4, 4, 8}, {{128, 1}}}, {{4, 4}, {{4, 1}}},  // rows
        {{4, 4}, {{4, 4}}},                           // columns
        {{8, 4}, {{8, 1}}},      // two rows: half a dimension, no way round but two links of one ring
        {{16}, {{4, 4}}},        // every fourth place of a ring
        {{16}, {{4, 1}}},        // quarters of a ring
        {{4, 4, 4}, {{16, 4}}},  // planes across
        {{2, 2, 2}, {{8, 1}}},
    };
    for (const auto& [torus, group] : cases) {
        const DataSheet sheet = torus_sheet(torus);
        const Network network(sheet, static_cast<int>(product(torus)), 1);
        const double seconds = network.times(all_to_all(group, 1), 1).links;
        EXPECT_NEAR(seconds * sheet.link_bytes_per_second, fullest_link(torus, group), 1e-6)
            << shape_string(torus) << ", " << group.front().count << " ranks " << group.front().stride << " apart";
    }
}

TEST(Network, AWholeTorusGivesP2sAllToAll) {
    for (const index_t side : {4, 8, 16}) {
        const DataSheet sheet = torus_sheet({side, side, side});
        TorusLine line{1 << 24, 16, static_cast<double>(side * side * side), 3, sheet.link_bytes_per_second, 1e-9};
        const Network network(sheet, static_cast<int>(line.p), 1);
        const GroupTraffic traffic = all_to_all({{side * side * side, 1}}, line.n * line.b / line.p / line.p);
        EXPECT_NEAR(network.times(traffic, 1).links, line.alltoall_seconds(), 1e-9 * line.alltoall_seconds());
    }
    // Unequal extents: p/p_m in the place of p^((d-1)/d), section 3.2.1.
    const DataSheet sheet = torus_sheet({64, 32, 32});
    const Network network(sheet, 65536, 1);
    const double data = std::pow(2.0, 38) * 16;
    const double seconds = network.times(all_to_all({{65536, 1}}, data / 65536 / 65536), 1).links;
    EXPECT_NEAR(seconds, data / (8 * sheet.link_bytes_per_second * 1024), 1e-9 * seconds);
}

TEST(Network, EquationsAreAsPrintedInTheirLimits) {
    TorusLine line{std::pow(2.0, 30), 16, 8, 3, 1.75e8, 1 / 0.28e9};
    const double lg = 30;
    // Few processors on fast links compute only.
    line.l = 1.75e10;
    EXPECT_NEAR(line.flops_without_headers(), line.p / line.c, 0.05 * line.p / line.c);
    line.l = 1.75e8;
    // Many exchange only: 40/3 l/b log n p^(2/3).
    line.c = 1e-15;
    const double wire_only = 40.0 / 3 * line.l / line.b * lg * std::pow(line.p, 2.0 / 3);
    EXPECT_NEAR(line.flops_without_headers(), wire_only, 1e-3 * wire_only);
    // Time, put together from its parts, gives the same rate as the equation.
    line.c = 1 / 0.28e9;
    const double seconds = line.computing_seconds() + 3 * line.alltoall_seconds();
    EXPECT_NEAR(line.flops_without_headers(), 5 * line.n * lg / seconds, 1e-9 * line.flops_without_headers());
    EXPECT_DOUBLE_EQ(line.flops_with_headers(), line.flops_without_headers());
    // With headers p^2 h bytes more are exchanged.
    line.h = 30;
    line.p = 16384;
    TorusLine more = line;
    more.h = 0;
    const double headers = 3 * line.p * line.p * line.h / (8 * line.l * std::pow(line.p, 2.0 / 3));
    const double all = line.computing_seconds() + 3 * line.alltoall_seconds() + headers;
    EXPECT_NEAR(line.flops_with_headers(), 5 * line.n * lg / all, 1e-9 * line.flops_with_headers());
    EXPECT_LT(line.flops_with_headers(), more.flops_with_headers());
}

TEST(Network, PacketsAddTheirOverhead) {
    DataSheet sheet = torus_sheet({4, 4, 4});
    sheet.packet_payload_bytes = 240;
    sheet.packet_overhead_bytes = 30;
    const Network network(sheet, 64, 1);
    EXPECT_DOUBLE_EQ(network.bytes_on_wire(1000, 1000), 1000 + 5 * 30);
    EXPECT_DOUBLE_EQ(network.bytes_on_wire(1600, 16), 1600 + 100 * 30);
    EXPECT_DOUBLE_EQ(network.bytes_on_wire(0, 0), 0);
}

// The mean over all ranks of the share of their peers that lie in other blocks.
double counted_share(int ranks, const RankGroup& group, int block) {
    double leaving = 0, peers = 0;
    for (int from = 0; from < ranks; ++from) {
        for (int to = 0; to < ranks; ++to) {
            int key_from = from, key_to = to;
            for (const RankSpan& span : group) {
                key_from -= static_cast<int>((from / span.stride) % span.count * span.stride);
                key_to -= static_cast<int>((to / span.stride) % span.count * span.stride);
            }
            if (from == to || key_from != key_to) continue;
            peers += 1;
            leaving += from / block != to / block;
        }
    }
    return leaving / peers;
}

TEST(Network, BlocksOfRanksAreLeftByAsManyMessagesAsCounted) {
    const DataSheet sheet = torus_sheet({8, 8, 8});
    struct Case {
        int ranks;
        RankGroup group;
        int block;
        double within;
    };
    const std::vector<Case> cases = {{64, {{64, 1}}, 8, 1e-12},  {64, {{8, 1}}, 8, 1e-12}, {64, {{8, 8}}, 8, 1e-12},
                                     {64, {{8, 1}}, 16, 1e-12},  {64, {{4, 4}}, 8, 1e-12}, {480, {{16, 1}}, 40, 0.06},
                                     {960, {{32, 1}}, 40, 0.06}, {320, {{8, 4}}, 40, 0.12}};
    for (const Case& each : cases) {
        const Network network(sheet, each.ranks, each.block);
        EXPECT_NEAR(network.share_leaving(each.group, each.block), counted_share(each.ranks, each.group, each.block),
                    each.within)
            << each.ranks << " ranks, groups of " << each.group.front().count << ", blocks of " << each.block;
    }
}

TEST(Network, OtherNetworksShareWhatTheirSheetsSay) {
    DataSheet sheet = torus_sheet({8, 8});
    sheet.injection_bytes_per_second = 0;
    const GroupTraffic traffic = all_to_all({{64, 1}}, 1000);
    const double node_bytes = 63 * 1000;
    sheet.network = NetworkKind::fat_tree;
    sheet.leaf_nodes = 16;
    sheet.taper = 2;
    EXPECT_NEAR(Network(sheet, 64, 1).times(traffic, 1).links, 48 * 1000 * 2 / 1e8, 1e-12);
    EXPECT_NEAR(Network(sheet, 64, 1).times(traffic, 1).injection, node_bytes / 1e8, 1e-12);
    // In pairs, one phase after the other: 15 partners on the leaf by the nodes' links, 48 elsewhere by the uplinks.
    const Network tree(sheet, 64, 1);
    EXPECT_NEAR(tree.longest_in_pairs(tree.times(traffic, 1), traffic.group, 1), (15 + 48 * 2) * 1000 / 1e8, 1e-12);
    sheet.taper = 0.5;
    EXPECT_NEAR(tree.longest_in_pairs(tree.times(traffic, 1), traffic.group, 1), 63 * 1000 / 1e8, 1e-12);
    sheet.network = NetworkKind::dragonfly;
    sheet.group_nodes = 16;
    sheet.group_bytes_per_second = 4e8;
    EXPECT_NEAR(Network(sheet, 64, 1).times(traffic, 1).links, 16 * 48 * 1000 / 4e8, 1e-12);
    sheet.network = NetworkKind::one_switch;
    EXPECT_EQ(Network(sheet, 64, 1).times(traffic, 1).links, 0);
    sheet.switch_bytes_per_second = 1e9;
    EXPECT_NEAR(Network(sheet, 64, 1).times(traffic, 1).links, 64 * node_bytes / 1e9, 1e-12);
    sheet.node_messages_per_second = 1e6;
    EXPECT_NEAR(Network(sheet, 64, 1).times(traffic, 1).rate, 63e-6, 1e-12);
    // All on one node: memory alone.
    const NetworkTimes inside = Network(sheet, 64, 64).times(traffic, 1);
    EXPECT_EQ(inside.links + inside.injection + inside.rate, 0);
    EXPECT_NEAR(inside.memory, 2 * 64 * node_bytes / 1e15, 1e-18);
}

const char* const kSheet =
    "spanfft-machine 1\n"
    "# a comment\n"
    "name imagined\n"
    "nodes 64  # a data sheet\n"
    "cores_per_node 4\n"
    "core_fft_gflops 2.5  # estimate: by hand\n"
    "node_memory_gb_per_second 20\n"
    "network torus 4x4x4\n"
    "link_gb_per_second 0.5\n"
    "latency_us 3\n";

Result<Machine> with_lines(const std::string& more) { return parse_machine(kSheet + more, Machine()); }

TEST(DataSheets, AreReadInTheirUnits) {
    const auto machine =
        with_lines("disks_per_node 2\ndisk_mb_per_second 100\ndisk_request_ms 8\noverlap_share 0.5 # x\n");
    ASSERT_TRUE(machine.ok()) << machine.status().message();
    const DataSheet& sheet = machine.value().sheet;
    EXPECT_EQ(sheet.nodes, 64);
    EXPECT_DOUBLE_EQ(sheet.core_fft_flops_per_second, 2.5e9);
    EXPECT_DOUBLE_EQ(sheet.node_memory_bytes_per_second, 20e9);
    EXPECT_DOUBLE_EQ(sheet.link_bytes_per_second, 0.5e9);
    EXPECT_DOUBLE_EQ(sheet.injection(), 3e9);  // six links
    EXPECT_DOUBLE_EQ(sheet.latency_seconds, 3e-6);
    EXPECT_EQ(sheet.torus, (Extents{4, 4, 4}));
    EXPECT_EQ(sheet.sources.at("core_fft_gflops"), "estimate: by hand");
    EXPECT_EQ(sheet.sources.at("overlap_share"), "x");
    // What the planner asks follows from it.
    EXPECT_EQ(machine.value().cores, 4);
    EXPECT_EQ(machine.value().topology.ranks_per_node, 4);
    EXPECT_DOUBLE_EQ(machine.value().memory_bytes_per_second, 10e9);
    EXPECT_DOUBLE_EQ(machine.value().shared_memory_bytes_per_second, 2.5e9);
    EXPECT_DOUBLE_EQ(machine.value().disk_read_bytes_per_second, 200e6);
    EXPECT_DOUBLE_EQ(machine.value().overlap_share, 0.5);
    // Printed and read again it is the same.
    const auto again = parse_machine(print_machine(machine.value()), Machine());
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(print_machine(again.value()), print_machine(machine.value()));
    EXPECT_TRUE(again.value().sheet == sheet);
}

TEST(DataSheets, TellHowManyMessagesOfACollectiveAreUnderWayAndInWhichOrder) {
    EXPECT_EQ(with_lines("").value().sheet.collective_messages, 0);  // all of them
    for (const bool pairs : {false, true}) {
        const auto machine = with_lines(cat("collective_messages 32", pairs ? " pairs" : "", "  # the manual\n"));
        ASSERT_TRUE(machine.ok()) << machine.status().message();
        EXPECT_EQ(machine.value().sheet.collective_messages, 32);
        EXPECT_EQ(machine.value().sheet.collective_pairs, pairs);
        const auto again = parse_machine(print_machine(machine.value()), Machine());
        ASSERT_TRUE(again.ok()) << again.status().message();
        EXPECT_TRUE(again.value().sheet == machine.value().sheet);
    }
}

TEST(DataSheets, WhatAFileSaysItselfComesBeforeWhatFollows) {
    const auto machine =
        with_lines("memory_bytes_per_second 5e9\nranks_per_node 2\nengine ducc0 double line 1 1024 7\n");
    ASSERT_TRUE(machine.ok()) << machine.status().message();
    EXPECT_DOUBLE_EQ(machine.value().memory_bytes_per_second, 5e9);
    EXPECT_EQ(machine.value().topology.ranks_per_node, 2);
    EXPECT_EQ(machine.value().engine_rates.size(), 1u);
}

TEST(DataSheets, MistakesAreNamedWithTheirLineAndRemedy) {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"message_us -1\n", "line 11 of the machine file: message_us is '-1'; give one number from 0"},
        {"message_us 3 us\n", "'3 us'"},
        {"message_us\n", "message_us is ''"},
        {"message_us nan\n", "'nan'"},
        {"message_us 1e300\n", "'1e300'"},
        {"latency_us 5\n", "latency_us is told twice"},
        {"mesage_us 1\n",
         "line 11 of the machine file: 'mesage_us' is no figure of a machine; did you mean 'message_us'?"},
        {"injection_gb_per_second 1e9\n", "to 100000"},
        {"packet_overhead_bytes 14\n", "packet_payload_bytes is not; give both"},
        {"disks_per_node 1\n", "disk_mb_per_second is not"},
        {"nodes 65\n", "told twice"},
        {"sockets_per_node 1.5\n", "give a whole number"},
        {"fit communication 256 1 2\n", "is no fit; write"},
        {"fit travelling 256 1 2 3 1 64\n", "is no fit; write"},
        {"fit computation 256 -16.66 1381.8 0 1 640\n", "at 640 processors; name a range"},
        {"alltoall_share 1.5\n", "give one number from 0.01 to 1"},
        {"collective_messages 0\n", "line 11 of the machine file: collective_messages is '0'; give one number from 1"},
        {"collective_messages -1\n", "collective_messages is '-1'"},
        {"collective_messages all\n", "collective_messages is 'all'"},
        {"collective_messages pairs\n", "collective_messages is 'pairs'"},
        {"collective_messages 1 ring\n", "collective_messages is '1 ring'"},
        {"collective_messages 2.5\n", "collective_messages is 2.5; give a whole number"},
    };
    for (const auto& [line, told] : cases) {
        const auto machine = with_lines(line);
        ASSERT_FALSE(machine.ok()) << line;
        EXPECT_NE(machine.status().message().find(told), std::string::npos) << machine.status().message();
    }
    for (const char* network : {"torus 4x4x", "torus 4x0x4", "torus", "fat_tree 16", "fat_tree 16 0.5", "dragonfly 4",
                                "switch 3", "ring", ""}) {
        std::string text = kSheet;
        text.replace(text.find("torus 4x4x4"), 11, network);
        const auto machine = parse_machine(text, Machine());
        ASSERT_FALSE(machine.ok()) << network;
        EXPECT_NE(machine.status().message().find("is no network; write 'torus 64x32x32'"), std::string::npos);
    }
    std::string small = kSheet;
    small.replace(small.find("4x4x4"), 5, "4x4x2");
    EXPECT_NE(parse_machine(small, Machine()).status().message().find("32 places for 64 nodes"), std::string::npos);
    const auto lacking = parse_machine("spanfft-machine 1\nnodes 4\n", Machine());
    ASSERT_FALSE(lacking.ok());
    EXPECT_NE(lacking.status().message().find("lacks cores_per_node, core_fft_gflops, node_memory_gb_per_second, "
                                              "link_gb_per_second, latency_us, network"),
              std::string::npos)
        << lacking.status().message();
}

TEST(DataSheets, FitsAreP3s) {
    const auto machine = with_lines("fit communication 256 -26.527 13210.143 47.447 32 256  # P3\n");
    ASSERT_TRUE(machine.ok()) << machine.status().message();
    const PublishedFit& fit = machine.value().sheet.fits.front();
    for (int np : {32, 100, 256}) EXPECT_NEAR(fit.seconds(np), 1e-3 * (-26.527 + 13210.143 / (47.447 + np)), 1e-12);
}

}  // namespace
}  // namespace spanfft::test
