// Sweeps on disks that crash: power cuts at every operation, faults that pass, flipped bits.
//
// The reference is always the same run undisturbed, to the bit; that one is held against the definition
// (support/journal_routes.cpp).
#include <gtest/gtest.h>

#include <cstdio>
#include <random>

#include "solvers/table.hpp"
#include "support/journal_routes.hpp"
#include "support/sampled.hpp"
#include "support/sanitized.hpp"

namespace spanfft::test {
namespace {

// A power cut at some 16 operations from the first to the last, with queued writes kept, dropped or torn; again during
// the run that goes on; then one to the end: for ./spanfft-dev soak (support/sampled.hpp). All operations: of small
// runs, below.
TEST(Resume, AfterPowerCutsAtSampledOperationsIsBitIdentical) {
    Random points(1);
    for (const JournalRoute& route : journal_routes()) {
        index_t operations = 0, gone_on = 0;
        const std::string whole = undisturbed(route, operations);
        ASSERT_GT(operations, 10) << route.problem;
        for (const index_t n : sampled_operations(points, operations, 16)) {
            CrashWorld world(route, static_cast<unsigned>(n));
            std::mt19937_64 random(static_cast<unsigned>(n));
            world.disk.crash_at(n, false);
            Status status = world.run();
            for (int cuts = 0; world.disk.crashed() && cuts < 3; ++cuts) {
                EXPECT_EQ(status.code(), Code::io_error) << route.problem;
                world.disk.restart();
                world.disk.crash_at(
                    cuts < 2 ? 1 + static_cast<index_t>(random() % static_cast<uint64_t>(operations)) : 0, false);
                status = world.run();
            }
            ASSERT_TRUE(status.ok()) << route.problem << " (" << route.what << "), cut at " << n << ": "
                                     << status.message();
            gone_on += world.resumed_bytes > 0;
            ASSERT_TRUE(world.result() == whole) << route.problem << " (" << route.what << "), cut at " << n;
        }
        EXPECT_GT(gone_on, 5) << route.problem << ": hardly any run went on where another had ended";
    }
}

// One of some ten operations fails: an error, and the next run goes on to the same bits. For soak too.
TEST(Resume, AfterSampledFaultsOfTheStoreIsBitIdentical) {
    Random points(1);
    for (const JournalRoute& route : journal_routes()) {
        index_t operations = 0;
        const std::string whole = undisturbed(route, operations);
        for (const index_t n : sampled_operations(points, operations, 10)) {
            CrashWorld world(route, 7);
            world.disk.crash_at(n, true);
            const Status failed = world.run();
            if (failed.ok() && !world.disk.crashed()) {  // a flush or two fewer than in the other run
                ASSERT_GT(n, operations * 3 / 4);
                continue;
            }
            EXPECT_EQ(failed.code(), Code::io_error) << route.problem << ", operation " << n;
            EXPECT_NE(failed.message().find("simulated"), std::string::npos) << failed.message();
            world.disk.crash_at(0, false);
            const Status status = world.run();
            ASSERT_TRUE(status.ok()) << route.problem << ", operation " << n << ": " << status.message();
            ASSERT_TRUE(world.result() == whole) << route.problem << " (" << route.what << "), fault at " << n;
        }
    }
}

// Each operation in turn, from the first to the last, and lines of the journal and flushes among them: fails once,
// fails with all that follow it, or is where the power goes. An error that says so, and the next run goes on to the
// same bits.
TEST(Resume, AfterEveryOperationOfASmallRunIsBitIdentical) {
    const JournalRoute routes[] = {
        {"c2c 720 forward double memory=34KiB threads=1", solve_two_sweeps, "blocks in scratch"},
        {"c2c 32x24 forward double memory=24KiB threads=1", solve_axis_sweeps, "columns in place"},
        {"c2c 2x16x24 forward double axes=1,2 memory=22KiB threads=1", solve_axis_sweeps, "matrices in place"},
        {"r2c 24x96 forward double axes=1,0 memory=26KiB threads=1", solve_axis_sweeps,
         "halved columns, slabs in place"},
        {"c2r 16x96 backward double axes=1,0 memory=26KiB threads=1", solve_axis_sweeps, "halved columns from scratch"},
        {"c2c 512 forward double memory=44KiB threads=1", solve_many_sweeps, "three factors"},
        {"c2r 512 backward double memory=46KiB threads=1", solve_many_sweeps, "whole sections, mirrored"},
        {"c2c 32x32 forward double axes=0,1 memory=34KiB threads=1", solve_two_sweeps, "rows in pieces"},
        {"c2c 134 forward double memory=46KiB threads=1", solve_chirp_sweeps, "a chirp"},
        {"c2c 256 forward double memory=10KiB threads=1 method=superlevels:sync,block=512", solve_superlevels,
         "memoryloads"},
        {"c2c 32x24 forward double memory=26KiB threads=1 input_chunk=5x7 output_chunk=24x5", by_planner,
         "chunked arrays"},
    };
    enum class Fault { transient, persistent, power_cut };
    for (const JournalRoute& route : routes) {
        for (const bool in_place : {false, true}) {
            if (in_place && !can_be_in_place(route)) continue;
            index_t operations = 0, gone_on = 0;
            const std::string whole = undisturbed(route, operations, in_place);
            ASSERT_GT(operations, 20) << route.problem;
            for (const Fault fault : {Fault::transient, Fault::persistent, Fault::power_cut}) {
                if (in_place && fault == Fault::transient) continue;  // the power is what is different there
                for (index_t n = 1; n <= operations; n += kFaultStep) {
                    CrashWorld world(route, static_cast<unsigned>(n), in_place);
                    world.disk.crash_at(n, fault == Fault::transient);
                    const Status failed = world.run();
                    if (failed.ok() && !world.disk.crashed()) {  // a flush or two fewer than in the other run
                        ASSERT_GT(n, operations * 3 / 4) << route.problem;
                        continue;
                    }
                    ASSERT_EQ(failed.code(), Code::io_error) << route.problem << ", operation " << n;
                    EXPECT_NE(failed.message().find("simulated"), std::string::npos) << failed.message();
                    if (fault == Fault::power_cut)
                        world.disk.restart();
                    else
                        world.disk.crash_at(0, false);
                    const Status status = world.run();
                    ASSERT_TRUE(status.ok()) << route.problem << ", operation " << n << ": " << status.message();
                    gone_on += world.resumed_bytes > 0;
                    ASSERT_TRUE(world.result() == whole) << route.problem << " (" << route.what << "), fault at " << n;
                }
            }
            EXPECT_GT(kFaultStep * gone_on, operations) << route.problem;
        }
    }
}

// Whether a message names the panel, the store and a range of bytes that this one is in.
void expect_names(const std::string& message, index_t byte) {
    EXPECT_NE(message.find("panel"), std::string::npos) << message;
    EXPECT_NE(message.find("a disk that may crash"), std::string::npos) << message;
    long long first = -1, end = -1;
    const size_t at = message.find("between byte ");
    ASSERT_NE(at, std::string::npos) << message;
    ASSERT_EQ(std::sscanf(message.c_str() + at, "between byte %lld and %lld", &first, &end), 2) << message;
    long long there = first;  // on the store below, of which the sweep's is a part
    if (const size_t shifted = message.find("(there from byte "); shifted != std::string::npos) {
        ASSERT_EQ(std::sscanf(message.c_str() + shifted, "(there from byte %lld)", &there), 1) << message;
    }
    EXPECT_LE(there, byte) << message;
    EXPECT_LT(byte, there + end - first) << message;
}

// A bit that flips between two sweeps, anywhere in what the first has written. Each one is found, and named.
TEST(Checksums, FindEachFlippedBitInEveryRegionOfScratch) {
    for (const JournalRoute& route : journal_routes()) {
        int flips = 0, found = 0;
        CrashWorld probe(route, 1);
        ASSERT_TRUE(probe.status().ok());
        const PlannedSweeps layout = examine_sweeps(*probe.plan);
        for (size_t step = 0; step + 1 < probe.plan->steps.size(); ++step) {
            const SweepOutline& last = layout.sweeps[layout.first_sweep[step + 1] - 1];
            const size_t store = probe.index_of(last.target.place);
            constexpr int kPlaces = 12;
            for (int place = 0; place < kPlaces; place += kFaultStep) {
                CrashWorld world(route, 1);
                RunContext context;
                world.fill(context);
                // Without a journal, so that the store holds nothing but the array.
                SweepRun sweeps(*world.plan, layout, context.arrays, true, nullptr);
                ASSERT_TRUE(world.run(step, &sweeps).ok());
                world.disk.forget_writes();
                ASSERT_TRUE(world.run(step + 1, &sweeps, step).ok());
                auto bytes = static_cast<index_t>(world.disk.content(store).size());
                index_t byte = bytes / kPlaces * place;
                // What sweeps before the step's last one wrote is not read again.
                if (last.read.kind == Partition::Kind::blocks_of_loads && last.target.place == Place::scratch) {
                    bytes = last.target.scratch_bytes + world.plan->output_file_bytes;
                    byte = last.target.scratch_bytes + world.plan->output_file_bytes / kPlaces * place;
                }
                while (byte < bytes && !world.disk.was_written(store, byte)) ++byte;
                if (byte == bytes) continue;  // the rest is padding, or another sweep's
                world.disk.flip(store, byte, place % 8);
                ++flips;
                RunContext rest;
                world.fill(rest);
                auto comm = make_self_comm();
                Binding binding(*comm);
                binding.sweep_team = world.team();
                rest.sweep = sweeps.sweep(step + 1);
                auto task = world.plan->steps[step + 1]->bind(binding);
                ASSERT_TRUE(task.ok());
                const Status status = task.value()->run(rest);
                ASSERT_EQ(status.code(), Code::corrupt_data) << route.problem << ", step " << step + 1 << ", byte "
                                                             << byte << " of " << bytes << ": " << status.message();
                expect_names(status.message(), byte);
                ++found;
            }
        }
        EXPECT_EQ(found, flips) << route.problem;
        EXPECT_GE(kFaultStep * flips, 6) << route.problem << ": hardly a bit was flipped";
    }
}

// The displacement of every sweep that works in place: a panel overwrites only panels that must be on the disk before.
TEST(Displacement, OverwritesOnlyPanelsThatAreOnTheDisk) {
    int displaced = 0;
    for (const JournalRoute& route : journal_routes()) {
        CrashWorld world(route, 1);
        ASSERT_TRUE(world.status().ok());
        RunContext context;
        world.fill(context);
        const PlannedSweeps layout = examine_sweeps(*world.plan);
        const SweepRun sweeps(*world.plan, layout, context.arrays, true, &world.disk);
        for (size_t i = 0; i < layout.sweeps.size(); ++i) {
            if (!layout.displaced[i]) continue;
            ++displaced;
            const SweepOutline& outline = layout.sweeps[i];
            const ColumnPanels &in = outline.read.panels, &out = outline.written.panels;
            const RunningSweep& sweep = *sweeps.sweep(i);
            const index_t offset = outline.target.place == Place::output ? context.arrays.output.offset_bytes
                                                                         : outline.target.scratch_bytes;
            // Whose source lies at each byte of the store below; -1: nobody's.
            std::vector<index_t> owner(static_cast<size_t>(sweep.target.store->size_bytes()), -1);
            Displacement displacement = *layout.displaced[i];
            displacement.begin_bytes = offset;
            for (index_t panel = 0; panel < in.panels(); ++panel) {
                for (index_t r = 0; r < in.requests(panel); ++r) {
                    const spanfft::Run run = in.run(panel, r, offset, nullptr);
                    for (index_t byte = run.offset_bytes; byte < run.offset_bytes + run.bytes; ++byte) {
                        const index_t below = displacement.find(byte).byte;
                        ASSERT_LT(below, sweep.target.store->size_bytes());
                        if (byte - offset >= displacement.total_bytes) continue;  // a twin, which all panels read
                        ASSERT_EQ(owner[static_cast<size_t>(below)], -1) << route.problem << ": two bytes at " << below;
                        owner[static_cast<size_t>(below)] = panel;
                    }
                }
            }
            for (index_t panel = 0; panel < out.panels(); ++panel) {
                const index_t done = sweep.needs(panel);
                ASSERT_LE(done, panel) << route.problem << ": a panel that waits for itself";
                for (index_t r = 0; r < out.requests(panel); ++r) {
                    const spanfft::Run run = out.run(panel, r, offset, nullptr);
                    for (index_t byte = run.offset_bytes; byte < run.offset_bytes + run.bytes; ++byte) {
                        ASSERT_LT(owner[static_cast<size_t>(byte)], done)
                            << route.problem << " (" << route.what << "): panel " << panel << " overwrites "
                            << owner[static_cast<size_t>(byte)] << " at byte " << byte;
                    }
                }
            }
        }
    }
    EXPECT_GE(displaced, 5);
}

}  // namespace
}  // namespace spanfft::test
