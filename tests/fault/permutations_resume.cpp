// Permutations of files that go on where others ended: faults of every operation, kill -9, damaged scratch, other
// commands. The reference is the definition (support/permutations.hpp), to the bit.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include "disk/output_file.hpp"
#include "support/journal_routes.hpp"
#include "support/killed.hpp"
#include "support/permutations.hpp"
#include "support/sanitized.hpp"

namespace spanfft::test {
namespace {

// Of three sweeps or two, one record to a block and more, records that no number is as long as.
std::vector<PermutationRequest> small_permutations() {
    PermutationRequest asynchronous = permutation_of("random:4", 8, 16, 3300),
                       odd = permutation_of("bit-reversal", 7, 3, 1100),
                       synchronous = permutation_of("random:2", 7, 5, 400);
    asynchronous.block_bytes = 128;
    asynchronous.map.complement = 77;
    odd.block_bytes = 12;
    synchronous.block_bytes = 20;
    synchronous.mode = IoMode::synchronous;
    return {asynchronous, odd, synchronous};
}

// Each operation on the stores in turn, and lines of the journal and flushes among them: fails once, fails with all
// that follow it, or is where the power goes. An error that says so, and the next run goes on to the same bits.
TEST(PermutationsResume, AfterEveryOperationToTheSameBits) {
    enum class Fault { transient, persistent, power_cut };
    for (const PermutationRequest& request : small_permutations()) {
        const std::string records = random_records(request, 5), whole = permuted(records, request);
        const std::shared_ptr<Plan> plan = plan_permutation(request, CrashWorld::machine()).value().plan;
        const auto world_of = [&](index_t seed) { return CrashWorld(plan, records, static_cast<unsigned>(seed)); };
        CrashWorld undisturbed = world_of(1);
        ASSERT_TRUE(undisturbed.status().ok()) << undisturbed.status().message();
        ASSERT_GE(plan->sweeps, 2);
        undisturbed.disk.crash_at(0, false);
        ASSERT_TRUE(undisturbed.run().ok());
        ASSERT_TRUE(undisturbed.result() == whole) << plan->permutation;
        const index_t operations = undisturbed.disk.operations();
        ASSERT_GT(operations, 20);
        index_t gone_on = 0;
        for (const Fault fault : {Fault::transient, Fault::persistent, Fault::power_cut}) {
            for (index_t n = 1; n <= operations; n += kFaultStep) {
                CrashWorld world = world_of(n);
                world.disk.crash_at(n, fault == Fault::transient);
                const Status failed = world.run();
                if (failed.ok() && !world.disk.crashed()) {  // a flush or two fewer than in the other run
                    ASSERT_GT(n, operations * 3 / 4);
                    continue;
                }
                ASSERT_EQ(failed.code(), Code::io_error) << "operation " << n;
                EXPECT_NE(failed.message().find("simulated"), std::string::npos) << failed.message();
                EXPECT_TRUE(world.input_bytes() == records) << "the input has changed";
                if (fault == Fault::power_cut)
                    world.disk.restart();
                else
                    world.disk.crash_at(0, false);
                const Status status = world.run();
                ASSERT_TRUE(status.ok()) << "operation " << n << ": " << status.message();
                gone_on += world.resumed_bytes > 0;
                ASSERT_TRUE(world.result() == whole) << plan->permutation << ", fault at " << n;
            }
        }
        EXPECT_GT(kFaultStep * gone_on, operations);
    }
}

// Runs of files: "in", "out", and scratch beside it or in folders of their own.
class PermutedFiles : public testing::Test {
  protected:
    PermutedFiles() : request(permutation_of("bit-reversal", 12, 3, 5900)) {
        request.block_bytes = 48;
        records = random_records(request, 8);
        write_file(folder.file("in"), records);
    }
    void scratch_on(int disks) {
        request.disks = disks;
        scratch.clear();
        for (int i = 0; i < disks; ++i) {
            scratch.push_back(folder.file(cat("disk", i)));
            (void)mkdir(scratch.back().c_str(), 0777);
        }
    }
    Status run(const PermutationRequest& what, JournalMode mode, const Progress& progress = {},
               index_t* resumed = nullptr) const {
        SPANFFT_ASSIGN(const auto planned, plan_permutation(what, CrashWorld::machine()));
        SPANFFT_ASSIGN(const auto executor, Executor::make(planned.plan, make_self_comm()));
        FileRequest files;
        files.input_path = folder.file("in");
        files.output_path = folder.file("out");
        files.header = "#";
        files.scratch_folders = scratch;
        files.journal = mode;
        files.progress = progress;
        const Status status = executor->transform_file(files);
        if (resumed) *resumed = executor->resumed_bytes();
        return status;
    }
    void leave_unfinished(double share) const {
        const Status stopped = run(request, JournalMode::automatic, [=](index_t done, index_t total) {
            return static_cast<double>(done) < share * static_cast<double>(total);
        });
        ASSERT_EQ(stopped.code(), Code::interrupted) << stopped.message();
        ASSERT_NE(stopped.message().find("goes on from there"), std::string::npos) << stopped.message();
    }
    void expect_whole() const {
        EXPECT_TRUE(read_file(folder.file("out")) == "#" + permuted(records, request)) << "a wrong result";
        EXPECT_TRUE(read_file(folder.file("in")) == records) << "the input has changed";
        for (const std::string& each : scratch) EXPECT_TRUE(names_in(each).size() <= 2) << "left in " << each;
        EXPECT_EQ(folder.names().size(), 2 + scratch.size()) << "something is left";
    }

    TemporaryFolder folder;
    PermutationRequest request;
    std::vector<std::string> scratch;
    std::string records;
};

// kill -9 by its own hand when so much is done: in every sweep and between them.
TEST_F(PermutedFiles, KilledInEverySweepGoOnToTheSameBits) {
    int gone_on = 0, kills = 0;
    for (const int disks : {0, 2}) {
        if (disks > 0) scratch_on(disks);
        for (const double share : {0.2, 0.34, 0.5, 0.67, 0.8, 0.95}) {
            ASSERT_TRUE(killed_at(
                share, [&](const Progress& progress) { return run(request, JournalMode::automatic, progress); }));
            ++kills;
            index_t resumed = 0;
            const Status status = run(request, JournalMode::automatic, {}, &resumed);
            ASSERT_TRUE(status.ok()) << status.message();
            gone_on += resumed > 0;
            expect_whole();
            ASSERT_EQ(unlink(folder.file("out").c_str()), 0);
        }
    }
    EXPECT_GE(gone_on, kills * 2 / 3);
}

// A byte of scratch that is not what was written: the file and the bytes are named, and nothing is left to go on with.
TEST_F(PermutedFiles, DamagedScratchIsNamed) {
    for (const int disks : {1, 2}) {
        scratch_on(disks);
        ASSERT_GT(plan_permutation(request, CrashWorld::machine()).value().plan->checksum_bytes, 0);
        leave_unfinished(0.5);
        std::string damaged;
        for (const std::string& name : names_in(scratch.back())) {
            if (name.find("kept-scratch") != std::string::npos) damaged = scratch.back() + "/" + name;
        }
        ASSERT_NE(damaged, "");
        std::string bytes = read_file(damaged);
        const size_t share = records.size() / static_cast<size_t>(disks);
        for (size_t i = 0; i < share; i += 37) bytes[i] = static_cast<char>(bytes[i] ^ 4);
        write_file(damaged, bytes);
        const Status status = run(request, JournalMode::automatic);
        EXPECT_EQ(status.code(), Code::corrupt_data) << status.message();
        EXPECT_NE(status.message().find("checksum"), std::string::npos) << status.message();
        EXPECT_NE(status.message().find("kept-scratch"), std::string::npos) << status.message();
        EXPECT_TRUE(read_file(folder.file("in")) == records) << "the input has changed";
        ASSERT_TRUE(run(request, JournalMode::automatic).ok());
        expect_whole();
        ASSERT_EQ(unlink(folder.file("out").c_str()), 0);
    }
}

// Another matrix, complement, size of records or budget is another run; so is an input that changed. What was begun is
// kept until restart throws it away.
TEST_F(PermutedFiles, AnotherCommandIsRefusedAndRestartBeginsAnew) {
    leave_unfinished(0.5);
    PermutationRequest matrix = request, complement = request, size = request, memory = request;
    matrix.map.matrix = BitMatrix::named("rotation:5", 12).value();
    complement.map.complement = 9;
    size.record_bytes = 1;
    size.block_bytes = 16;
    memory.memory_bytes = 12000;
    for (const PermutationRequest& other : {matrix, complement, size, memory}) {
        const Status refused = run(other, JournalMode::automatic);
        EXPECT_EQ(refused.code(), Code::invalid_argument) << refused.message();
        EXPECT_NE(refused.message().find("restart"), std::string::npos) << refused.message();
    }
    index_t resumed = 0;
    ASSERT_TRUE(run(complement, JournalMode::restart, {}, &resumed).ok());
    EXPECT_EQ(resumed, 0);
    EXPECT_TRUE(read_file(folder.file("out")) == "#" + permuted(records, complement));
    leave_unfinished(0.5);
    write_file(folder.file("in"), std::string(records.size(), 'x'));
    const Status changed = run(request, JournalMode::automatic);
    EXPECT_EQ(changed.code(), Code::corrupt_data);
    EXPECT_NE(changed.message().find("has changed since"), std::string::npos) << changed.message();
    EXPECT_EQ(run(request, JournalMode::resume).code(), Code::corrupt_data);
    ASSERT_TRUE(run(request, JournalMode::restart).ok());
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "out"}));
}

TEST_F(PermutedFiles, ThereIsNothingToResumeWhereNothingWasBegun) {
    const Status status = run(request, JournalMode::resume);
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(status.message().find("no unfinished run"), std::string::npos) << status.message();
    EXPECT_EQ(folder.names(), std::vector<std::string>{"in"});
}

}  // namespace
}  // namespace spanfft::test
