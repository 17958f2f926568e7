// Plans of permutations of files: what fits, what is chosen, what is refused with which remedy; and their runs, of
// records of any size from any place of a file.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include "exec/executor.hpp"
#include "exec/explain.hpp"
#include "support/expect_counted.hpp"
#include "support/permutations.hpp"
#include "support/simulated_store.hpp"

namespace spanfft::test {
namespace {

Result<PlannedPermutation> planned(const PermutationRequest& request) { return plan_permutation(request, Machine()); }

std::unique_ptr<Executor> executor_of(const PermutationRequest& request) {
    return Executor::make(planned(request).value().plan, make_self_comm()).value();
}

TEST(PlanPermutation, TakesTheMemoryThatItsRefusalNames) {
    for (const int n : {6, 11, 20}) {
        for (const index_t block : {0, 16, 256, 1024}) {
            for (const int disks : {1, 2, 8}) {
                for (const IoMode mode : {IoMode::synchronous, IoMode::asynchronous}) {
                    PermutationRequest r = permutation_of("bit-reversal", n, 16, 8);
                    r.block_bytes = block;
                    r.disks = disks;
                    r.mode = mode;
                    const auto refused = planned(r);
                    ASSERT_FALSE(refused.ok());
                    const std::string message = refused.status().message();
                    if (refused.status().code() == Code::invalid_argument) {
                        EXPECT_NE(message.find("fewer than"), std::string::npos) << message;
                        continue;
                    }
                    ASSERT_EQ(refused.status().code(), Code::out_of_memory);
                    r.memory_bytes = std::stoll(message.substr(message.find("at least ") + 9));
                    const auto answer = planned(r);
                    ASSERT_TRUE(answer.ok()) << message << "; then: " << answer.status().message();
                    const Plan& plan = *answer.value().plan;
                    EXPECT_LE(plan.peak_memory_bytes(0), r.memory_bytes);
                    EXPECT_LE(plan.predict(0).parallel_ios, answer.value().bmmc.bound);
                }
            }
        }
    }
}

TEST(PlanPermutation, CopiesTheIdentityAndHoldsWholeArraysInOneMemoryload) {
    const auto copy = planned(permutation_of("identity", 12, 16, 16384));
    ASSERT_TRUE(copy.ok());
    EXPECT_EQ(copy.value().plan->sweeps, 1);
    EXPECT_EQ(copy.value().plan->scratch_bytes, 0);
    const auto whole = planned(permutation_of("random:3", 12, 16, 1 << 20));
    ASSERT_TRUE(whole.ok());
    EXPECT_EQ(whole.value().bmmc.shape.m, 12);
    EXPECT_EQ(whole.value().plan->sweeps, 1);
}

TEST(PlanPermutation, SaysWhatItDoesAsOtherPlansDo) {
    PermutationRequest request = permutation_of("bit-reversal", 16, 3, 32768);
    request.block_bytes = 48;
    const auto answer = planned(request);
    ASSERT_TRUE(answer.ok());
    const Plan& plan = *answer.value().plan;
    EXPECT_GT(plan.checksum_bytes, 0);
    const std::string text = explain(plan, 0, std::nullopt);
    for (const char* part :
         {"permute 65536 record=3 columns=8000,4000,", "block=48 threads=1 memory=32768", "[65536] records of 3 bytes",
          "Permute  permutation: ", "parallel I/Os", "can be journalled", "scratch 192 KiB"})
        EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in\n" << text;
}

// Records of 1 byte to 40, which no number has, from any byte of a file behind a header of any length.
TEST(Permutation, MovesRecordsOfAnySizeFromAnyPlaceOfAFile) {
    for (const index_t record_bytes : {1, 3, 7, 16, 40}) {
        for (const char* kind : {"bit-reversal", "transpose:16x64", "identity", "random:9"}) {
            for (const int disks : {1, 2}) {
                PermutationRequest request = permutation_of(kind, 10, record_bytes, 150 * record_bytes);
                request.map.complement = 5;
                request.disks = disks;
                request.block_bytes = 4 * record_bytes;
                TemporaryFolder folder;
                const std::string records = random_records(request, 1);
                write_file(folder.file("in"), std::string(13, '<') + records + "rest");
                FileRequest files;
                files.input_path = folder.file("in");
                files.input_offset_bytes = 13;
                files.output_path = folder.file("out");
                files.header = "a header";
                for (int i = 0; disks > 1 && i < disks; ++i) {
                    files.scratch_folders.push_back(folder.file(cat("disk", i)));
                    ASSERT_EQ(mkdir(files.scratch_folders.back().c_str(), 0777), 0);
                }
                index_t last = 0, total = 0;
                files.progress = [&](index_t done, index_t all) {
                    last = done, total = all;
                    return true;
                };
                const auto executor = executor_of(request);
                const Status status = executor->transform_file(files);
                ASSERT_TRUE(status.ok()) << kind << ": " << status.message();
                EXPECT_TRUE(read_file(folder.file("out")) == "a header" + permuted(records, request))
                    << kind << " of " << record_bytes << " bytes on " << disks << " disks";
                expect_counted({executor->plan().predict(0)}, *executor->counted());
                EXPECT_EQ(last, total);
                EXPECT_EQ(total, 2 * executor->plan().sweeps * static_cast<index_t>(records.size()));
            }
        }
    }
}

TEST(Permutation, AFailureLeavesNothingBehind) {
    TemporaryFolder folder;
    const auto executor = executor_of(permutation_of("bit-reversal", 12, 16, 8192));
    FileRequest files;
    files.input_path = folder.file("in");
    files.output_path = folder.file("out");
    EXPECT_EQ(executor->transform_file(files).code(), Code::io_error);  // there is no such file
    write_file(files.input_path, std::string(1000, 'x'));
    const Status short_file = executor->transform_file(files);
    EXPECT_EQ(short_file.code(), Code::corrupt_data);
    EXPECT_NE(short_file.message().find("has 1000 bytes, but the array needs 65536"), std::string::npos);
    write_file(files.input_path, std::string(65536, 'x'));
    files.scratch_folders = {folder.file("nowhere")};
    EXPECT_EQ(executor->transform_file(files).code(), Code::io_error);
    files.scratch_folders = {folder.path(), folder.path()};
    EXPECT_EQ(executor->transform_file(files).code(), Code::invalid_argument);
    files.scratch_folders.clear();
    int calls = 0;
    files.progress = [&](index_t, index_t) { return ++calls < 4; };
    EXPECT_EQ(executor->transform_file(files).code(), Code::interrupted);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"in"});
    files.progress = nullptr;
    const Status status = executor->transform_file(files);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(executor->counted()->front().parallel_ios, executor->plan().predict(0).parallel_ios);
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "out"}));
}

// What is for numbers.
TEST(Permutation, RefusesWhatItsRecordsCantHave) {
    TemporaryFolder folder;
    const auto executor = executor_of(permutation_of("bit-reversal", 8, 4, 8192));
    write_file(folder.file("in"), std::string(1024, 'x'));
    FileRequest files;
    files.input_path = folder.file("in");
    files.output_path = folder.file("out");
    const auto refusal = [&](const FileRequest& request) { return executor->transform_file(request).message(); };
    FileRequest wrong = files;
    wrong.packed_input = true;
    EXPECT_NE(refusal(wrong).find("can't be packed"), std::string::npos) << refusal(wrong);
    wrong = files;
    wrong.callbacks.on_input = [](Block&) { return Status(); };
    EXPECT_NE(refusal(wrong).find("moves records as they lie"), std::string::npos) << refusal(wrong);
    wrong = files;
    wrong.in_place = true;
    wrong.journal = JournalMode::automatic;
    wrong.output_path = wrong.input_path;
    EXPECT_NE(refusal(wrong).find("not for permutations"), std::string::npos) << refusal(wrong);
    EXPECT_EQ(executor->execute(nullptr, nullptr).code(), Code::invalid_argument);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"in"});
}

}  // namespace
}  // namespace spanfft::test
