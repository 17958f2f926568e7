// The links and routes that simulations run on: those of small networks, one by one, and what all messages of an
// all-to-all put on them.
//
// Oracle: routes written down by hand; the network model (plan/network), which network_test.cpp holds to P2 and to a
// count of its own. The model's rounds of a collective are in turn held against every message of every round here.
#include "fabric.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
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

enum class Partner { next, pairs, reflected };  // k of rank r: r + k; r xor k in groups of 2^n ranks; k - r

// Seconds of rounds in which every rank of every group sends `bytes` to so many partners at once, the next ones when
// the slowest link is done.
double in_rounds(const Fabric& fabric, int ranks_per_node, const RankGroup& group, Partner order, double bytes,
                 int under_way) {
    const auto size = static_cast<int>(ranks_of(group));
    const int ranks = fabric.nodes() * ranks_per_node;
    const auto partner = [&](int rank, int k) {
        int place = 0, unit = 1, outside = rank;
        for (const RankSpan& span : group) {
            const int at = static_cast<int>(rank / span.stride % span.count);
            place += at * unit;
            outside -= at * static_cast<int>(span.stride);
            unit *= static_cast<int>(span.count);
        }
        if (order == Partner::reflected)
            place = (k - place + size) % size;
        else
            place = order == Partner::pairs && std::has_single_bit(static_cast<unsigned>(size)) ? place ^ k
                                                                                                : (place + k) % size;
        for (const RankSpan& span : group) {
            outside += place % static_cast<int>(span.count) * static_cast<int>(span.stride);
            place /= static_cast<int>(span.count);
        }
        return outside;
    };
    double seconds = 0;
    for (int first = order == Partner::reflected ? 0 : 1; first < size; first += under_way) {
        std::vector<double> load(fabric.links().size());
        for (int k = first; k < std::min(size, first + under_way); ++k) {
            for (int rank = 0; rank < ranks; ++rank) {
                for (const size_t link : fabric.route(rank / ranks_per_node, partner(rank, k) / ranks_per_node))
                    load[link] += bytes / fabric.links()[link].bytes_per_second;
            }
        }
        seconds += *std::max_element(load.begin(), load.end());
    }
    return seconds;
}

struct Collective {
    std::string name;
    DataSheet sheet;
    int ranks_per_node;
    RankGroup group;
    double within;  // of one message at a time

    int nodes() const { return static_cast<int>(sheet.nodes); }
    int ranks() const { return nodes() * ranks_per_node; }
    GroupTraffic traffic(double bytes) const {
        const double partners = static_cast<double>(ranks_of(group) - 1);
        return {group, partners, partners * bytes};
    }
    double predicted(double bytes, int under_way) const {
        const Network network(sheet, ranks(), ranks_per_node);
        return network.longest_in_rounds(traffic(bytes), network.times(traffic(bytes), 1), 1, under_way);
    }
    double walked(double bytes, int under_way) const {
        const Fabric fabric(sheet, ranks(), ranks_per_node);
        const Partner order = sheet.collective_pairs ? Partner::pairs : Partner::next;
        return in_rounds(fabric, ranks_per_node, group, order, bytes, under_way);
    }
};

std::vector<Collective> collectives() {
    std::vector<Collective> all;
    const auto torus = [&](const Extents& extents, const RankGroup& group, bool pairs, double within,
                           int ranks_per_node = 1) {
        DataSheet sheet = torus_of(extents);
        sheet.injection_bytes_per_second = 1e9;
        sheet.collective_pairs = pairs;
        all.push_back(
            {cat(pairs ? "pairs on " : "", "torus ", shape_string(extents)), sheet, ranks_per_node, group, within});
    };
    const auto whole = [&](const Extents& extents, bool pairs, double within) {
        torus(extents, {{product(extents), 1}}, pairs, within);
    };
    const std::vector<Extents> doubled = {{8},    {16},       {4, 4},    {8, 8},    {4, 4, 4},
                                          {8, 4}, {16, 2, 2}, {8, 4, 2}, {2, 2, 2}, {8, 8, 8}};
    for (const bool pairs : {true, false}) {
        for (const Extents& extents : doubled) whole(extents, pairs, 1e-9);
        torus({4, 4}, {{4, 1}}, pairs, 1e-9);      // rows
        torus({4, 4}, {{4, 4}}, pairs, 1e-9);      // columns
        torus({16}, {{4, 4}}, pairs, 1e-9);        // every fourth place of a ring
        torus({16}, {{4, 1}}, pairs, 1e-9);        // quarters of it
        torus({4, 4, 4}, {{16, 4}}, pairs, 1e-9);  // planes across
        torus({4, 4}, {{8, 8}}, pairs, 1e-9, 4);   // four ranks a node
        torus({4, 4}, {{64, 1}}, pairs, 0.07, 4);  // one after the other some of them leave a node, and some don't
    }
    for (const Extents& extents : std::vector<Extents>{{5}, {5, 3}, {3, 7}, {3, 5, 3}, {9, 5, 5}})
        whole(extents, false, 1e-9);
    // A message half-way round a ring of six takes three links of which no two carry the same.
    for (const Extents& extents : std::vector<Extents>{{6}, {6, 6}, {12, 3}, {3, 10}, {4, 6, 2}})
        whole(extents, false, 0.07);
    const auto other = [&](NetworkKind kind, int nodes, int ranks_per_node, const RankGroup& group, bool pairs) {
        DataSheet sheet = fabric_sheet(kind);
        sheet.nodes = nodes;
        sheet.injection_bytes_per_second = 1e8;
        sheet.leaf_nodes = sheet.group_nodes = nodes / 4;
        sheet.taper = 2;
        sheet.group_bytes_per_second = 1e8 * nodes / 8;
        sheet.switch_bytes_per_second = 1e8 * nodes / 2;
        sheet.collective_pairs = pairs;
        const char* names[] = {"switch", "torus", "fat tree", "dragonfly"};
        // One after the other some ranks leave their leaf in a round and some don't, which the model does not know.
        all.push_back({cat(pairs ? "pairs on " : "", names[static_cast<int>(kind)], " of ", nodes), sheet,
                       ranks_per_node, group, pairs ? 1e-9 : 0.1});
    };
    for (const NetworkKind kind : {NetworkKind::fat_tree, NetworkKind::dragonfly, NetworkKind::one_switch}) {
        for (const bool pairs : {true, false}) {
            other(kind, 64, 1, {{64, 1}}, pairs);
            other(kind, 64, 1, {{8, 8}}, pairs);
            other(kind, 8, 4, {{32, 1}}, pairs);
        }
        other(kind, 48, 1, {{48, 1}}, false);
    }
    return all;
}

TEST(Fabric, RoundsOfACollectiveTakeWhatTheirFullestLinksDo) {
    for (const Collective& each : collectives()) {
        const double walked = each.walked(1000, 1);
        EXPECT_NEAR(each.predicted(1000, 1), walked, each.within * walked)
            << each.name << ", " << ranks_of(each.group) << " ranks, " << each.group.front().stride << " apart";
    }
}

// Of `phased` without a torus: in each phase rank k meets its reflection r - k.
TEST(Fabric, PhasesOfPairsTakeWhatTheirFullestLinksDo) {
    struct Case {
        Extents extents;
        RankGroup group;
        double within = 0.07;
    };
    for (const auto& [extents, group, within] :
         std::vector<Case>{{{16}, {{16, 1}}},
                           {{5}, {{5, 1}}},
                           {{4, 4, 4}, {{64, 1}}},
                           {{8, 8, 8}, {{512, 1}}},
                           {{16, 4}, {{64, 1}}},
                           {{8, 8}, {{16, 1}}, 0.13},  // two rows, where all that go half-way round go the same way
                           {{8, 8}, {{16, 4}}},        // across
                           {{16}, {{8, 1}}},           // half a ring
                           {{16}, {{4, 4}}}}) {        // every fourth place of it
        const DataSheet sheet = torus_of(extents);
        const auto ranks = static_cast<int>(product(extents)), size = static_cast<int>(ranks_of(group));
        const Network network(sheet, ranks, 1);
        const NetworkTimes times = network.times({group, size - 1.0, (size - 1) * 1000.0}, 1);
        double before = INFINITY;
        for (const int together : {1, size}) {
            const double predicted = network.longest_in_pairs(times, group, together);
            const double walked = in_rounds(Fabric(sheet, ranks, 1), 1, group, Partner::reflected, 1000, together);
            EXPECT_NEAR(predicted, walked, within * walked)
                << shape_string(extents) << ", " << size << " ranks, " << together << " together";
            EXPECT_LE(predicted, before * (1 + 1e-12));
            before = predicted;
        }
    }
}

TEST(Fabric, MoreMessagesAtOnceAreNeverSlowerAndAllAtOnceTakeWhatLinksNeed) {
    for (const Collective& each : collectives()) {
        const auto partners = static_cast<int>(ranks_of(each.group)) - 1;
        const Network network(each.sheet, each.ranks(), each.ranks_per_node);
        const double all = network.times(each.traffic(1000), 1).longest();
        double before = each.predicted(1000, 1);
        for (int under_way = 1; under_way <= partners + 1; ++under_way) {
            const double now = each.predicted(1000, under_way);
            EXPECT_LE(now, before * (1 + 1e-12)) << each.name << ", " << under_way;
            EXPECT_GE(now, all * (1 - 1e-12)) << each.name << ", " << under_way;
            if (under_way >= partners) {
                EXPECT_EQ(now, all) << each.name << ", " << under_way;
            }
            before = now;
        }
        EXPECT_EQ(each.predicted(1000, 0), all) << each.name;
    }
}

// The model takes what is between whole dimensions to lie on a line; in small groups that is rough.
TEST(Fabric, SomeMessagesAtOnceTakeAboutWhatTheirFullestLinksDo) {
    for (const Collective& each : collectives()) {
        const auto partners = static_cast<int>(ranks_of(each.group)) - 1;
        for (int under_way = 2; under_way < partners; under_way *= 2) {
            const double walked = each.walked(1000, under_way);
            EXPECT_NEAR(each.predicted(1000, under_way), walked, (partners < 48 ? 0.31 : 0.15) * walked)
                << each.name << ", " << ranks_of(each.group) << " ranks, " << each.group.front().stride << " apart, "
                << under_way << " at once";
        }
    }
}

}  // namespace
}  // namespace spanfft::test
