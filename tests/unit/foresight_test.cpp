// Foresight: what transforms would take on imagined machines.
//
// Oracle: counts of the planner's own plans for as many ranks; P2's equations; a machine that is better somewhere.
#include "exec/foresight.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "plan/machine_file.hpp"
#include "plan/planner.hpp"

namespace spanfft::test {
namespace {

Machine sheet_machine(const std::string& network, int nodes, int cores, const std::string& more = "") {
    auto machine = parse_machine(cat("spanfft-machine 1\nname imagined\nnodes ", nodes, "\ncores_per_node ", cores,
                                     "\ncore_fft_gflops 1\nnode_memory_gb_per_second 20\nnetwork ", network,
                                     "\nlink_gb_per_second 1\nlatency_us 3\n", more),
                                 Machine());
    EXPECT_TRUE(machine.ok()) << machine.status().message();
    return std::move(machine).value();
}

std::vector<ForeseenPlan> foreseen(const std::string& problem, const Machine& machine, int ranks_per_node = 0) {
    auto plans = foresee(Problem::parse(problem).value(), machine, ranks_per_node);
    EXPECT_TRUE(plans.ok()) << problem << ": " << plans.status().message();
    return plans.ok() ? std::move(plans).value() : std::vector<ForeseenPlan>();
}

TEST(Foresight, CountsAreThoseOfThePlannersPlans) {
    const Machine machine = sheet_machine("fat_tree 4 2", 4096, 4);
    for (const char* problem :
         {"c2c 64x48x80 ranks=16 grid=4x4 exchange=alltoallv",
          "c2c 64x48x80 ranks=16 grid=16 exchange=oneplane:2",
          "r2c 33x20x28 ranks=12 grid=3x4 exchange=alltoallv",
          "c2c 64x64x64 ranks=8 grid=8 exchange=overlap:4",
          "r2c 10000 ranks=8 exchange=alltoallv",
          "c2r 4096 ranks=5 exchange=oneplane:4",
          "c2c 4096 backward ranks=16 exchange=alltoallv+oneplane:2+phased",
          "c2c 64x64x64 backward ranks=8 grid=2x4 exchange=hierarchical",
          "c2c 4096 ranks=16 exchange=alltoallv",
          "c2c 4096 ranks=16 exchange=blockvector:4",
          "c2c 10000 float ranks=6 exchange=phased",
          "c2c 1048576 ranks=64 output=exchanged exchange=alltoallv",
          "dct2 30x40 ranks=7 grid=7 exchange=standard",
          "c2c 8x8x8 ranks=32 grid=32 exchange=alltoallv",
          "c2c 64x64x64 ranks=1024 grid=32x32 exchange=replace:all",
          "c2c 10007 ranks=6 method=chirp_lines exchange=alltoallv",
          "r2c 20014 ranks=5 backward method=chirp_lines exchange=alltoallv",
          "dct2 10007 ranks=4 method=chirp_lines exchange=oneplane:2",
          "c2c 8x6 ranks=2 grid=2 real_boxes=0:5x0:6;5:8x0:6 exchange=alltoallv",
          "r2c 8x6 ranks=3 grid=3 real_boxes=0:8x0:2;0:8x2:3;0:8x3:6 exchange=alltoallv",
          "c2c 8x6x4 ranks=4 grid=2x2 spectrum_boxes=0:8x0:6x0:1;0:8x0:6x1:2;0:8x0:6x2:3;0:8x0:6x3:4 "
          "exchange=alltoallv"}) {
        const Problem asked = Problem::parse(problem).value();
        const auto plans = foreseen(problem, machine);
        ASSERT_EQ(plans.size(), 1u) << problem;
        const auto plan = Planner(machine).plan(asked);
        ASSERT_TRUE(plan.ok()) << problem << ": " << plan.status().message();
        Counts counted;
        for (const auto& step : plan.value()->steps) counted += step->predict(0);
        EXPECT_EQ(plans.front().solver, plan.value()->solver) << problem;
        EXPECT_EQ(plans.front().counts.messages, counted.messages) << problem;
        EXPECT_EQ(plans.front().counts.sent_bytes, counted.sent_bytes) << problem;
        EXPECT_EQ(plans.front().counts.calls, counted.calls) << problem;
        EXPECT_NEAR(plans.front().counts.flops, counted.flops, 1e-9 * counted.flops) << problem;
    }
}

TEST(Foresight, PartsAndLimitsAddUp) {
    const Machine machine = sheet_machine("torus 8x8x8", 512, 2, "message_us 0.5\noverlap_share 0.7\n");
    for (const char* problem : {"c2c 128x128x128 ranks=64", "c2c 16777216 ranks=256", "r2c 64x64x64 ranks=1024",
                                "c2c 64x64x64 ranks=1", "c2c 512x512 ranks=32 output=exchanged"}) {
        const auto plans = foreseen(problem, machine);
        ASSERT_FALSE(plans.empty());
        for (size_t i = 0; i < plans.size(); ++i) {
            const ForeseenPlan& plan = plans[i];
            const double parts = plan.compute_seconds + plan.memory_seconds + plan.wire_seconds + plan.disk_seconds +
                                 plan.barrier_seconds;
            EXPECT_NEAR(parts, plan.seconds, 1e-9 * plan.seconds) << problem << ", " << plan.exchange;
            EXPECT_NEAR(plan.limits.total(), plan.seconds, 1e-9 * plan.seconds) << problem;
            EXPECT_GE(plan.seconds, plans[0].seconds) << problem;
            for (double bound : {plan.bisection_bound, plan.injection_bound, plan.memory_bound, plan.flops_bound})
                EXPECT_LE(bound, plan.seconds * (1 + 1e-9)) << problem << ", " << plan.exchange;
        }
    }
}

// The machine of P2's equations: nothing but flops, links and headers.
Machine machine_of(const TorusLine& line, index_t side) {
    Machine machine = sheet_machine(cat("torus ", side, "x", side, "x", side), static_cast<int>(line.p), 1);
    DataSheet& sheet = machine.sheet;
    sheet.core_fft_flops_per_second = 1 / line.c;
    sheet.link_bytes_per_second = line.l;
    sheet.injection_bytes_per_second = sheet.node_memory_bytes_per_second = 1e18;
    sheet.latency_seconds = 1e-15;
    sheet.packet_payload_bytes = 240;
    sheet.packet_overhead_bytes = line.h;
    return machine;
}

TEST(Foresight, TransposeAlgorithmOnATorusIsP2sEquations) {
    for (const index_t side : {4, 8, 16}) {
        TorusLine line{std::pow(2.0, 24), 16, static_cast<double>(side * side * side), 3, 1.75e8, 1 / 0.28e9};
        const std::string problem = cat("c2c 16777216 exchange=alltoallv ranks=", static_cast<int>(line.p));
        auto plan = foreseen(problem, machine_of(line, side)).front();
        EXPECT_EQ(plan.exchanges.size(), 3u);
        EXPECT_NEAR(plan.compute_seconds, line.computing_seconds(), 1e-6 * line.computing_seconds());
        EXPECT_NEAR(plan.wire_seconds, 3 * line.alltoall_seconds(), 1e-6 * plan.wire_seconds);
        EXPECT_NEAR(5 * line.n * 24 / plan.seconds, line.flops_without_headers(), 1e-6 * line.flops_without_headers());
    }
    // Equation 4: messages of 16 bytes on 4096 nodes, one packet each.
    TorusLine line{std::pow(2.0, 24), 16, 4096, 3, 1.75e8, 1 / 0.28e9, 30};
    const auto plan = foreseen("c2c 16777216 exchange=alltoallv ranks=4096", machine_of(line, 16)).front();
    EXPECT_EQ(plan.counts.sent_bytes / plan.counts.messages, 16);
    EXPECT_NEAR(5 * line.n * 24 / plan.seconds, line.flops_with_headers(), 1e-6 * line.flops_with_headers());
}

TEST(Foresight, OverlapHidesWhatP2sFormulaSays) {
    const Machine apart = sheet_machine("torus 4x4x4", 64, 1, "overlap_share 0\n");
    const Machine together = sheet_machine("torus 4x4x4", 64, 1, "overlap_share 1\n");
    const char* problem = "c2c 256x256x256 ranks=64 grid=64 output=exchanged exchange=blockvector:4";
    const ForeseenPlan sum = foreseen(problem, apart).front(), best = foreseen(problem, together).front();
    // The transform of two axes, and the exchange behind it, in 4 blocks.
    const double wire = sum.wire_seconds;
    const double hidden = sum.seconds - best.seconds;
    EXPECT_NEAR(best.exchanges[0].hidden_seconds, hidden, 1e-9 * hidden);
    const double computing = hidden / 0.75;  // the smaller of the two, but for one block
    EXPECT_LT(computing, wire * (1 + 1e-9));
    EXPECT_GT(hidden, 0);
}

TEST(Foresight, PhasesWaitAtABarrierBetweenAnyTwoGroups) {
    const Machine machine = sheet_machine("torus 4x4x4", 64, 1, "barrier_us 10\n");
    // 64 ranks meet in 16 phases of four on the torus, else in 64 of one; messages are of 256 bytes.
    for (const auto& [exchange, barriers] : {std::pair("phased:4x4x4/1", 15),
                                             {"phased:4x4x4/4", 3},
                                             {"phased:4x4x4/5", 3},
                                             {"phased:4x4x4", 0},
                                             {"phased:/1", 63}}) {
        const auto plans =
            foreseen(cat("c2c 256x256 ranks=64 grid=64x1 output=exchanged exchange=", exchange), machine);
        ASSERT_EQ(plans.size(), 1u) << exchange;
        const double agreement = 6 * machine.sheet.latency_seconds;  // before each execution, of 2^6 ranks
        EXPECT_NEAR(plans.front().barrier_seconds, barriers * 10e-6 + agreement, 1e-12) << exchange;
    }
}

// 64 ranks of 256 x 256 points meet 63 partners each, 4 messages of 64 bytes a partner, at 1 GB/s and 3 us.
TEST(Foresight, PairsHaveALinkToThemselvesAndWaitForEachMessage) {
    const Machine machine = sheet_machine("torus 4x4x4", 64, 1);
    const double message = 64e-9, latency = 3e-6;
    for (const auto& [exchange, ways] : {std::pair("standard", 2), {"replace:1", 1}}) {
        const auto plan =
            foreseen(cat("c2c 256x256 ranks=64 grid=64x1 output=exchanged exchange=", exchange), machine).front();
        ASSERT_EQ(plan.counts.messages, 63 * 4) << exchange;
        EXPECT_NEAR(plan.wire_seconds, 63 * 4 * ways * (latency + message), 1e-9) << exchange;
    }
    // In phases of one partner each phase waits once, and each barrier takes 6 doublings.
    const auto phased = foreseen("c2c 256x256 ranks=64 grid=64x1 output=exchanged exchange=phased:/1", machine).front();
    EXPECT_NEAR(phased.barrier_seconds, 63 * 6 * latency + 6 * latency, 1e-9);
    // Rows of a grid of 8 x 8 ranks have barriers of their own, of 3 doublings.
    const auto rows =
        foreseen("c2c 8x64x64 axes=1,2 ranks=64 grid=8x8 output=exchanged exchange=phased:/1", machine).front();
    EXPECT_NEAR(rows.barrier_seconds, 7 * 3 * latency + 6 * latency, 1e-9);
    EXPECT_NEAR(phased.limits[Limit::latency], 64 * latency, 1e-9);
}

TEST(Foresight, ABetterMachineIsNeverSlower) {
    const Machine plain = sheet_machine("torus 8x8x8", 512, 4,
                                        "message_us 0.5\npacket_payload_bytes 240\npacket_overhead_bytes 30\n"
                                        "message_rate_millions 5\ninjection_gb_per_second 2\nalltoall_share 0.6\n"
                                        "collective_messages 4\n");
    const std::vector<std::pair<double DataSheet::*, double>> better = {
        {&DataSheet::core_fft_flops_per_second, 2}, {&DataSheet::node_memory_bytes_per_second, 2},
        {&DataSheet::link_bytes_per_second, 2},     {&DataSheet::injection_bytes_per_second, 2},
        {&DataSheet::latency_seconds, 0.5},         {&DataSheet::message_seconds, 0.5},
        {&DataSheet::node_messages_per_second, 2},  {&DataSheet::packet_overhead_bytes, 0.5},
        {&DataSheet::alltoall_share, 1.5},          {&DataSheet::collective_messages, 3}};
    for (const char* problem : {"c2c 128x128x128 ranks=256", "c2c 1048576 ranks=512", "r2c 64x64x64 ranks=2048",
                                "c2c 96x100x64 ranks=60", "c2c 256x256 ranks=8 output=exchanged"}) {
        const double before = foreseen(problem, plain).front().seconds;
        for (size_t i = 0; i < better.size(); ++i) {
            Machine machine = plain;
            machine.sheet.*(better[i].first) *= better[i].second;
            EXPECT_LE(foreseen(problem, machine).front().seconds, before * (1 + 1e-9)) << problem << ", figure " << i;
        }
    }
}

// 64 ranks of 256 x 256 points send 63 messages of 256 bytes, at 1 GB/s and 3 us. On a torus of 4 x 4 x 4 every round
// loads its fullest link with one message, in whatever order; all at once a link carries 32.
TEST(Foresight, ACollectiveWaitsForAsManyMessagesAsAreUnderWayAtOnce) {
    const double message = 256e-9, latency = 3e-6;
    const char* problem = "c2c 256x256 ranks=64 grid=64x1 output=exchanged exchange=";
    for (const auto& [line, waits, messages] : {std::tuple("", 1, 32),
                                                {"collective_messages 63\n", 1, 32},
                                                {"collective_messages 1000\n", 1, 32},
                                                {"collective_messages 1\n", 63, 63},
                                                {"collective_messages 1 pairs\n", 63, 63}}) {
        const auto plan = foreseen(cat(problem, "alltoallv"), sheet_machine("torus 4x4x4", 64, 1, line)).front();
        EXPECT_NEAR(plan.wire_seconds, waits * latency + messages * message, 1e-9 * plan.wire_seconds) << line;
        EXPECT_NEAR(plan.limits[Limit::latency], waits * latency, 1e-12) << line;
    }
    // 16 at once: four times 16, the last time 15. What is no collective does not care.
    const Machine some = sheet_machine("torus 4x4x4", 64, 1, "collective_messages 16\n");
    EXPECT_NEAR(foreseen(cat(problem, "alltoallv"), some).front().limits[Limit::latency], 4 * latency, 1e-12);
    const Machine all = sheet_machine("torus 4x4x4", 64, 1);
    for (const char* strategy : {"phased:4x4x4/1", "phased:/1", "standard", "replace:1", "overlap:1"}) {
        EXPECT_EQ(foreseen(cat(problem, strategy), some).front().seconds,
                  foreseen(cat(problem, strategy), all).front().seconds)
            << strategy;
    }
    // Blocks are collectives of their own: twice 63 messages of 128 bytes.
    const Machine one = sheet_machine("torus 4x4x4", 64, 1, "collective_messages 1\n");
    EXPECT_NEAR(foreseen(cat(problem, "blockvector:2"), one).front().wire_seconds, 2 * 63 * latency + 63 * message,
                1e-9);
}

TEST(Foresight, MoreMessagesOfACollectiveAtOnceAreNeverSlower) {
    for (const char* network : {"torus 8x4x2", "torus 16x16", "fat_tree 16 2", "dragonfly 8 3", "switch"}) {
        for (const char* problem : {"c2c 64x64x64 ranks=64 grid=8x8 exchange=alltoallv",
                                    "c2c 256x256 ranks=64 grid=64x1 exchange=alltoallv", "c2c 65536 ranks=64"}) {
            double before = 0;
            for (int under_way = 100; under_way > 0; --under_way) {
                const auto line = cat("collective_messages ", under_way, "\n");
                const double now = foreseen(problem, sheet_machine(network, 64, 1, line)).front().seconds;
                EXPECT_GE(now, before * (1 - 1e-12)) << network << ", " << problem << ", " << line;
                before = now;
            }
        }
    }
}

TEST(Foresight, TheLimitIsNamed) {
    const auto limit = [](const std::string& problem, const Machine& machine) {
        return std::string(limit_name(foreseen(problem, machine).front().limits.longest()));
    };
    const std::string big = "c2c 512x512x512 ranks=64 exchange=alltoallv";
    Machine machine = sheet_machine("torus 4x4x4", 64, 1);
    EXPECT_EQ(limit(big, machine), "flops");
    machine.sheet.core_fft_flops_per_second = 1e12;
    machine.sheet.link_bytes_per_second = 1e12;
    EXPECT_EQ(limit(big, machine), "memory");
    machine.sheet.node_memory_bytes_per_second = 1e13;
    machine.sheet.link_bytes_per_second = 1e7;
    EXPECT_EQ(limit(big, machine), "bisection");
    machine.sheet.link_bytes_per_second = 1e12;
    machine.sheet.injection_bytes_per_second = 1e7;
    EXPECT_EQ(limit(big, machine), "injection");
    EXPECT_EQ(limit("c2c 8x8x8 ranks=64 exchange=standard", machine), "latency");
    machine.sheet.message_seconds = 1;
    EXPECT_EQ(limit(big, machine), "messages");
}

TEST(Foresight, MessagesThatMpiBuffersAreCopiedAtBothEnds) {
    Machine machine = sheet_machine("switch", 8, 1);
    const char* problem = "c2c 64x64x64 ranks=8 grid=8 output=exchanged exchange=alltoallv";
    const ForeseenPlan plain = foreseen(problem, machine).front();
    const GroupTraffic& traffic = plain.exchanges.front().traffic;
    const double message_bytes = traffic.bytes / traffic.messages;
    machine.sheet.buffered_bytes = message_bytes;  // not shorter
    EXPECT_DOUBLE_EQ(foreseen(problem, machine).front().seconds, plain.seconds);
    machine.sheet.buffered_bytes = message_bytes + 1;
    const ForeseenPlan buffered = foreseen(problem, machine).front();
    const double copies = 4 * traffic.bytes / machine.sheet.node_memory_bytes_per_second;
    EXPECT_NEAR(buffered.wire_seconds - plain.wire_seconds, copies, 1e-9 * copies);
    EXPECT_NEAR(buffered.seconds - plain.seconds, copies, 1e-9 * copies);
}

// A prime line that one rank transforms after all have sent it there, or a convolution over all of them.
TEST(Foresight, LongPrimesAreConvolutionsOverRanks) {
    const Machine machine = sheet_machine("fat_tree 32 1", 1024, 1);
    const auto solver = [&](const char* problem) { return std::string(foreseen(problem, machine).front().solver); };
    EXPECT_EQ(solver("c2c 4194301 ranks=64"), "chirp_lines");
    EXPECT_EQ(solver("r2c 4194301 backward ranks=64"), "chirp_lines");
    EXPECT_EQ(solver("c2c 4194304 ranks=64"), "lines");
    const double prime = foreseen("c2c 4194301 ranks=64", machine).front().seconds;
    const double power = foreseen("c2c 4194304 ranks=64", machine).front().seconds;
    EXPECT_EQ(solver("c2c 4194301 ranks=1"), "pencil");
    const double on_one = foreseen("c2c 4194301 ranks=1", machine).front().compute_seconds;
    EXPECT_NEAR(on_one / foreseen("c2c 4194304 ranks=1", machine).front().compute_seconds, 4, 0.5);
    const auto computing = [&](const char* problem) { return foreseen(problem, machine).front().compute_seconds; };
    for (const char* way : {"r2c {}x32 axes=0", "r2c {}x32 axes=0 backward"}) {  // 2^10 and a prime; 513 = 27 * 19
        const std::string text = way, before = text.substr(0, 4), after = text.substr(6);
        EXPECT_NEAR(computing((before + "1021" + after).c_str()) / computing((before + "1024" + after).c_str()), 4.4,
                    0.5);
    }
    EXPECT_GT(prime, 2 * power);
    EXPECT_LT(prime, 10 * power);
}

// Ranks of one node read one another's arrays: no message, and fewer sweeps of memory than with packing.
TEST(Foresight, RanksOfOneNodeShareTheirWindows) {
    const Machine machine = sheet_machine("switch", 2, 8);
    for (const auto& [problem, solver] : {std::pair("c2c 64x64x64 ranks=8", "shared"),
                                          {"r2c 64x64x64 backward ranks=8", "shared"},
                                          {"c2c 1048576 ranks=8", "shared_lines"},
                                          {"c2c 1048573 ranks=8", "shared_chirp_lines"},
                                          {"c2c 3x1048576 axes=1 ranks=8", "shared_pencil_lines"}}) {
        const auto plans = foreseen(problem, machine);
        const ForeseenPlan& best = plans.front();
        EXPECT_EQ(best.solver, solver) << problem;
        EXPECT_EQ(best.exchange, "shared") << problem;
        Problem by_it = Problem::parse(problem).value();
        by_it.method = solver;
        Machine one = machine;
        one.topology = Topology{8, nullptr};
        const auto plan = Planner(one).plan(by_it);
        ASSERT_TRUE(plan.ok()) << problem << ": " << plan.status().message();
        const Counts counts = plan.value()->predict(0);
        EXPECT_EQ(best.counts.messages, 0) << problem;
        EXPECT_EQ(best.counts.memory_bytes, counts.memory_bytes) << problem;
        EXPECT_NEAR(best.counts.flops, counts.flops, 1e-9 * counts.flops) << problem;
        EXPECT_NEAR(best.compute_seconds + best.memory_seconds, best.seconds, 1e-9 * best.seconds) << problem;
        EXPECT_GE(best.seconds, static_cast<double>(counts.memory_bytes) / (20e9 / 8) * (1 - 1e-9)) << problem;
        EXPECT_EQ(foreseen(cat(problem, " exchange=shared"), machine).front().solver, best.solver) << problem;
        EXPECT_NE(foreseen(cat(problem, " exchange=alltoallv"), machine).front().exchange, "shared") << problem;
    }
    EXPECT_NE(foreseen("c2c 64x64x64 ranks=16", machine).front().exchange, "shared");
    const auto apart = foresee(Problem::parse("c2c 64x64x64 ranks=16 exchange=shared").value(), machine);
    EXPECT_NE(apart.status().message().find("all ranks on one node, and these are on 2"), std::string::npos)
        << apart.status().message();
}

TEST(Foresight, WhatCantBeForeseenSaysWhyAndWhatToDo) {
    const Machine machine = sheet_machine("switch", 4, 2);
    const auto told = [&](const char* problem, const Machine& on) {
        return foresee(Problem::parse(problem).value(), on).status().message();
    };
    EXPECT_NE(told("c2c 64x64 ranks=16", machine).find("ask for 8 ranks at most"), std::string::npos);
    EXPECT_NE(told("c2c 64x64 ranks=4", Machine()).find("has no data sheet; give it nodes"), std::string::npos);
    EXPECT_NE(told("c2c 64x64 ranks=4 method=ffte", machine).find("leave it out, or use pencil"), std::string::npos);
    EXPECT_NE(told("c2c 63 ranks=4 layout=cyclic", machine).find("for layout=cyclic use"), std::string::npos);
    EXPECT_NE(told("c2c 65536 memory=1MiB", machine).find("has no disks; give it disks_per_node"), std::string::npos);
}

TEST(Foresight, ArraysOnDiskAreThePlannersPlansPricedByTheirCounts) {
    const Machine machine =
        sheet_machine("switch", 8, 1, "disks_per_node 2\ndisk_mb_per_second 50\ndisk_request_ms 4\n");
    for (const char* problem :
         {"c2c 4194304 memory=8MiB", "c2c 4194304 memory=8MiB ranks=4", "c2c 1024x2048 memory=4MiB ranks=2"}) {
        const ForeseenPlan found = foreseen(problem, machine).front();
        const auto plan = Planner(machine).plan(Problem::parse(problem).value());
        ASSERT_TRUE(plan.ok()) << plan.status().message();
        const Counts counts = plan.value()->predict(0);
        EXPECT_EQ(found.solver, plan.value()->solver);
        EXPECT_EQ(found.counts.messages, counts.messages) << problem;
        EXPECT_EQ(found.counts.disk_reads, counts.disk_reads) << problem;
        // Such disks are slower than all else: two of them, at 50 MB/s and 4 ms a request.
        const double bytes = static_cast<double>(counts.disk_read_bytes + counts.disk_written_bytes);
        const double requests = static_cast<double>(counts.disk_reads + counts.disk_writes);
        const double disks = (bytes / 50e6 + requests * 4e-3) / 2;
        EXPECT_NEAR(found.disk_seconds, disks, 1e-9 * disks) << problem;
        EXPECT_EQ(std::string(limit_name(found.limits.longest())), "disk");
        EXPECT_NEAR(found.seconds, found.disk_seconds, 1e-9 * found.seconds);
    }
}

TEST(Foresight, AMillionRanksTakeAsLongAsAFew) {
    for (const char* network : {"torus 100x100x100", "torus 1000000"}) {
        const Machine machine = sheet_machine(network, 1000000, 1, "collective_messages 32\n");
        for (const char* problem : {"c2c 4096x4096x4096 ranks=1000000", "c2c 1099511627776 ranks=1000000"}) {
            const auto start = std::chrono::steady_clock::now();
            const auto plans = foreseen(problem, machine);
            const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
            EXPECT_GT(plans.front().seconds, 0) << problem;
            EXPECT_LT(took.count(), 2) << problem;
        }
    }
}

}  // namespace
}  // namespace spanfft::test
