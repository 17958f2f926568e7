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
        {"c2c 4096 forward double memory=96KiB threads=1", solve_many_sweeps, "slabs in the middle"},
        {"r2c 16384 forward double memory=400KiB threads=1", solve_many_sweeps, "slabs of scratch"},
        {"c2r 512 backward double memory=46KiB threads=1", solve_many_sweeps, "whole sections, mirrored"},
        {"c2c 32x32 forward double axes=0,1 memory=34KiB threads=1", solve_two_sweeps, "rows in pieces"},
        {"c2c 134 forward double memory=46KiB threads=1", solve_chirp_sweeps, "a chirp"},
        {"c2c 256 forward double memory=10KiB threads=1 method=superlevels:sync,block=512", solve_superlevels,
         "memoryloads"},
        {"c2c 32x24 forward double memory=26KiB threads=1 input_chunk=5x7 output_chunk=24x5 method=axis_sweeps",
         by_planner, "chunked arrays"},
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
                    bytes = last.target.begin_bytes + world.plan->output_file_bytes;
                    byte = last.target.begin_bytes + world.plan->output_file_bytes / kPlaces * place;
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

// Of one rank, whose stores are large enough.
struct RankOfRun {
    PlannedSweeps layout;
    std::unique_ptr<SweepRun> sweeps;
};

// What a rank writes of a sweep that works in place overwrites only what it reads itself, its own panels or, where all
// read together, its own rows, and of these only panels that must be on the disk before. `offset`: of the array in the
// store below. Reports through gtest.
void expect_overwrites_what_is_done(const std::string& problem, const std::vector<RankOfRun>& ranks, size_t i,
                                    index_t offset) {
    struct Owner {
        index_t of = -1;  // a rank; together: a row, which is one rank's in all matrices
        index_t panel = -1;
    };
    const bool together = ranks[0].layout.sweeps[i].exchanges;  // then the panels are those of all ranks
    const index_t own = together ? 1 : std::ssize(ranks);
    const auto owner_of = [&](index_t rank, const ColumnPanels& panels, index_t byte) {
        return together ? (byte - offset) / (panels.row_elems * panels.elem_bytes) % panels.rows : rank;
    };
    // Whose source lies at each byte of the store below.
    std::vector<Owner> owner(static_cast<size_t>(ranks[0].sweeps->sweep(i)->target.store->size_bytes()));
    const auto each_byte = [&](const ColumnPanels& panels, index_t panel, const auto& visit) {
        for (index_t r = 0; r < panels.requests(panel); ++r) {
            const spanfft::Run run = panels.run(panel, r, offset, nullptr);
            for (index_t byte = run.offset_bytes; byte < run.offset_bytes + run.bytes; ++byte) visit(byte);
        }
    };
    for (index_t rank = 0; rank < own; ++rank) {
        const PlannedSweeps& layout = ranks[static_cast<size_t>(rank)].layout;
        const ColumnPanels& in = layout.sweeps[i].read.panels;
        Displacement displacement = *layout.displaced[i];
        displacement.begin_bytes = offset;
        for (index_t panel = 0; panel < in.panels(); ++panel) {
            each_byte(in, panel, [&](index_t byte) {
                const index_t below = displacement.find(byte).byte;
                ASSERT_LT(below, std::ssize(owner));
                if (byte - offset >= displacement.total_bytes) return;  // a twin, which all panels read
                Owner& before = owner[static_cast<size_t>(below)];
                ASSERT_EQ(before.of, -1) << problem << ": two bytes at " << below;
                before = {owner_of(rank, in, byte), panel};
            });
            if (testing::Test::HasFatalFailure()) return;
        }
    }
    for (index_t rank = 0; rank < own; ++rank) {
        const RankOfRun& of = ranks[static_cast<size_t>(rank)];
        const ColumnPanels& out = of.layout.sweeps[i].written.panels;
        for (index_t panel = 0; panel < out.panels(); ++panel) {
            const index_t done = of.sweeps->sweep(i)->needs(panel);
            ASSERT_LE(done, panel) << problem << ": a panel that waits for itself";
            each_byte(out, panel, [&](index_t byte) {
                const Owner& before = owner[static_cast<size_t>(byte)];
                if (before.of < 0) return;
                ASSERT_EQ(before.of, owner_of(rank, out, byte))
                    << problem << ": panel " << panel << " overwrites another rank's";
                ASSERT_LT(before.panel, done) << problem << ": panel " << panel << " overwrites " << before.panel;
            });
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

TEST(Displacement, OverwritesOnlyPanelsThatAreOnTheDisk) {
    int displaced = 0;
    for (const JournalRoute& route : journal_routes()) {
        CrashWorld world(route, 1);
        ASSERT_TRUE(world.status().ok());
        RunContext context;
        world.fill(context);
        std::vector<RankOfRun> alone(1);
        alone[0].layout = examine_sweeps(*world.plan);
        alone[0].sweeps = std::make_unique<SweepRun>(*world.plan, alone[0].layout, context.arrays, true, &world.disk);
        for (size_t i = 0; i < alone[0].layout.sweeps.size(); ++i) {
            if (!alone[0].layout.displaced[i]) continue;
            ++displaced;
            const PlacedArray& target = alone[0].layout.sweeps[i].target;
            expect_overwrites_what_is_done(
                cat(route.problem, " (", route.what, ")"), alone, i,
                target.begin_bytes + (target.place == Place::output ? context.arrays.output.offset_bytes : 0));
            if (HasFailure()) return;
        }
    }
    EXPECT_GE(displaced, 5);
}

// Where all ranks write what each then overwrites: columns, slabs, a few matrices and many, ragged panels, columns
// after columns, and ranks that have little or nothing.
TEST(Displacement, OfSharedRowsOverwritesOnlyWhatTheSameRankHasDone) {
    struct Shared {
        const char* problem;
        SolverFunction solve;
    };
    const Shared all[] = {
        {"c2c 262144 forward double memory=3MiB threads=1", solve_two_sweeps},
        {"c2c 16384 forward float memory=96KiB threads=1 output=exchanged", solve_two_sweeps},
        {"c2c 32x32 forward double axes=0,1 memory=34KiB threads=1", solve_two_sweeps},
        {"c2c 70x960 forward double memory=100KiB threads=1", solve_axis_sweeps},
        {"c2c 20x30x40 forward double memory=28KiB threads=1", solve_axis_sweeps},
        {"r2c 24x30x40 forward float memory=28KiB threads=1", solve_axis_sweeps},
        {"dct2 24x30x40 forward float memory=28KiB threads=1", solve_axis_sweeps},
        {"c2c 5x70x96 forward double axes=1,2 memory=64KiB threads=1", solve_axis_sweeps},
        {"c2c 12x70x96 forward double axes=1,2 memory=64KiB threads=1", solve_axis_sweeps},
        {"c2c 65536 forward double memory=400KiB threads=1", solve_many_sweeps},
        {"c2c 3x4096 forward float axes=1 memory=100KiB threads=1", solve_many_sweeps},
        {"c2c 46656x2 forward double axes=0 memory=700KiB threads=1", solve_many_sweeps},
        {"c2c 3x4096 forward double memory=96KiB threads=1", solve_axis_sweeps},
        {"r2c 131072 forward double memory=600KiB threads=1", solve_many_sweeps},
    };
    const std::pair<int, bool> ways[] = {{2, false}, {3, false}, {5, false}, {7, false},
                                         {2, true},  {3, true},  {5, true},  {7, true}};
    int together = 0, apart = 0;
    for (const Shared& each : all) {
        int displaced = 0;
        for (const auto& [ranks, slow_messages] : ways) {
            const std::string problem = cat(each.problem, " ranks=", ranks);
            const auto plan = plan_on_two_cores(problem, each.solve, slow_messages);
            ASSERT_TRUE(plan.ok()) << plan.status().message();
            std::vector<RankOfRun> all_ranks(static_cast<size_t>(ranks));
            for (int rank = 0; rank < ranks; ++rank)
                all_ranks[static_cast<size_t>(rank)].layout = examine_sweeps(*plan.value(), false, rank);
            const PlannedSweeps& first = all_ranks[0].layout;
            ASSERT_EQ(first.why_not, "") << problem;
            MemoryStore input(plan.value()->read_bytes());
            MemoryStore output(plan.value()->output_file_bytes + plan.value()->output_extra_bytes +
                               first.output_extra_bytes);
            const RunArrays arrays{{&input, 0}, {&output, 0}, {}, {}, {}, {}};
            struct Nowhere : LineSink {
                Status append(const std::string& /*line*/) override { return {}; }
            } sink;
            for (RankOfRun& of : all_ranks) {
                EXPECT_EQ(of.layout.output_extra_bytes, first.output_extra_bytes) << problem;
                of.sweeps = std::make_unique<SweepRun>(*plan.value(), of.layout, arrays, true, &sink);
            }
            for (size_t i = 0; i < first.sweeps.size(); ++i) {
                if (!first.displaced[i]) continue;
                ++displaced;
                ++(first.sweeps[i].exchanges ? together : apart);
                expect_overwrites_what_is_done(problem, all_ranks, i, first.sweeps[i].target.begin_bytes);
                if (HasFailure()) return;
            }
        }
        EXPECT_GE(displaced, 4) << each.problem;
    }
    EXPECT_GE(together, 16);
    EXPECT_GE(apart, 32);
}

}  // namespace
}  // namespace spanfft::test
