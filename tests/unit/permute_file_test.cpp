// Planning permutations of files: what fits, what is chosen, what is refused with which remedy.
#include <gtest/gtest.h>

#include "exec/permute_file.hpp"
#include "support/simulated_store.hpp"

namespace spanfft::test {
namespace {

PermuteRequest request(int n, const char* kind, index_t memory_bytes) {
    PermuteRequest r;
    r.map.matrix = BitMatrix::named(kind, n).value();
    r.memory_bytes = memory_bytes;
    return r;
}

TEST(PermutePlan, TakesTheMemoryThatItsRefusalNames) {
    for (const int n : {6, 11, 20}) {
        for (const index_t block : {0, 16, 256, 1024}) {
            for (const int disks : {1, 2, 8}) {
                for (const IoMode mode : {IoMode::synchronous, IoMode::asynchronous}) {
                    PermuteRequest r = request(n, "bit-reversal", 8);
                    r.block_bytes = block;
                    r.disks = disks;
                    r.mode = mode;
                    const auto refused = plan_permute(r);
                    ASSERT_FALSE(refused.ok());
                    const std::string message = refused.status().message();
                    if (refused.status().code() == Code::invalid_argument) {
                        EXPECT_NE(message.find("fewer than"), std::string::npos) << message;
                        continue;
                    }
                    ASSERT_EQ(refused.status().code(), Code::out_of_memory);
                    r.memory_bytes = std::stoll(message.substr(message.find("at least ") + 9));
                    const auto plan = plan_permute(r);
                    ASSERT_TRUE(plan.ok()) << message << "; then: " << plan.status().message();
                    EXPECT_LE(plan.value().memory_bytes(), r.memory_bytes);
                    EXPECT_LE(plan.value().bmmc.predicted().total(), plan.value().bound);
                }
            }
        }
    }
}

TEST(PermutePlan, CopiesTheIdentityAndHoldsWholeArraysInOneMemoryload) {
    const auto copy = plan_permute(request(12, "identity", 16384));
    ASSERT_TRUE(copy.ok());
    EXPECT_EQ(copy.value().bmmc.factors.size(), 1U);
    EXPECT_EQ(copy.value().scratch_bytes, 0);
    const auto whole = plan_permute(request(12, "random:3", 1 << 20));
    ASSERT_TRUE(whole.ok());
    EXPECT_EQ(whole.value().bmmc.shape.m, 12);
    EXPECT_EQ(whole.value().bmmc.factors.size(), 1U);
}

TEST(PermuteFile, AFailureLeavesNothingBehind) {
    TemporaryFolder folder;
    const PermutePlan plan = plan_permute(request(12, "bit-reversal", 8192)).value();
    PermuteFiles files;
    files.input_path = folder.file("in");
    files.output_path = folder.file("out");
    EXPECT_EQ(permute_file(plan, files).status().code(), Code::io_error);  // there is no such file
    write_file(files.input_path, std::string(1000, 'x'));
    const auto short_file = permute_file(plan, files);
    EXPECT_EQ(short_file.status().code(), Code::corrupt_data);
    EXPECT_NE(short_file.status().message().find("has 1000 bytes, but the records need 65536"), std::string::npos);
    write_file(files.input_path, std::string(65536, 'x'));
    files.scratch_folders = {folder.file("nowhere")};
    EXPECT_EQ(permute_file(plan, files).status().code(), Code::io_error);
    files.scratch_folders = {folder.path(), folder.path()};
    EXPECT_EQ(permute_file(plan, files).status().code(), Code::invalid_argument);
    files.scratch_folders.clear();
    int calls = 0;
    files.progress = [&](index_t, index_t) { return ++calls < 4; };
    EXPECT_EQ(permute_file(plan, files).status().code(), Code::interrupted);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"in"});
    files.progress = nullptr;
    const auto counted = permute_file(plan, files);
    ASSERT_TRUE(counted.ok()) << counted.status().message();
    EXPECT_EQ(counted.value(), plan.bmmc.predicted());
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "out"}));
}

}  // namespace
}  // namespace spanfft::test
