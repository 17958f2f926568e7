// Caches: what is read of folders like those of Linux, made by hand, and how ranks divide it.
#include "core/caches.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace spanfft::test {
namespace {

namespace fs = std::filesystem;

class CachesOf : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "spanfft-caches-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override { fs::remove_all(folder_); }

    void write(const fs::path& path, const std::string& text) {
        fs::create_directories((folder_ / path).parent_path());
        std::ofstream(folder_ / path) << text << '\n';
    }
    void cache(int index, const std::string& level, const std::string& type, const std::string& size,
               const std::string& cpus) {
        const fs::path at = fs::path("cpu0/cache") / ("index" + std::to_string(index));
        write(at / "level", level);
        write(at / "type", type);
        write(at / "size", size);
        write(at / "shared_cpu_list", cpus);
    }
    Caches read() const { return read_caches(folder_.string()); }

    fs::path folder_;
};

TEST_F(CachesOf, AProcessorOfTwoThirdLevels) {
    write("online", "0-15");
    cache(0, "1", "Data", "48K", "0,8");
    cache(1, "1", "Instruction", "64K", "0,8");
    cache(2, "2", "Unified", "2048K", "0,8");
    cache(3, "3", "Unified", "32M", "0-3,8-11");
    EXPECT_EQ(read(), (Caches{48 << 10, 2 << 20, 32 << 20, 2}));
}

TEST_F(CachesOf, AProcessorWithoutAThirdLevelDividesTheSecond) {
    write("online", "0-3");
    cache(0, "1", "Data", "64K", "0");
    cache(1, "2", "Unified", "4M", "0-3");
    EXPECT_EQ(read(), (Caches{64 << 10, 4 << 20, 4 << 20, 1}));
}

TEST_F(CachesOf, AVirtualMachineThatWasToldTheWholeHostsCacheKeepsTheDefaultOfThatLevel) {
    write("online", "0-1");
    cache(0, "1", "Data", "48K", "0");
    cache(1, "2", "Unified", "2048K", "0");
    cache(2, "3", "Unified", "266240K", "0-1");
    EXPECT_EQ(read(), (Caches{48 << 10, 2 << 20, Caches().l3_bytes, 1}));
    cache(2, "3", "Unified", "96M", "0-1");  // 48 MiB for each: there are such
    EXPECT_EQ(read(), (Caches{48 << 10, 2 << 20, 96 << 20, 1}));
}

TEST_F(CachesOf, NothingAndNonsenseLeaveTheDefaults) {
    EXPECT_EQ(read(), Caches());
    write("online", "some");
    cache(0, "1", "Data", "many", "0");
    cache(1, "2", "Unified", "-5K", "0");
    cache(2, "2", "Unified", "5T", "0");
    cache(3, "3", "Unified", "8M", "3-1");
    EXPECT_EQ(read(), Caches());
    cache(3, "3", "Unified", "8M", "0-");
    EXPECT_EQ(read(), Caches());
    cache(3, "3", "Unified", "8M", "0,");  // the CPUs on line are not told: one such cache
    EXPECT_EQ(read(), (Caches{Caches().l1_bytes, Caches().l2_bytes, 8 << 20, 1}));
}

TEST(Caches, RanksDivideTheThirdLevelThatTheyShareAndNoOther) {
    const Caches node{32 << 10, 1 << 20, 32 << 20, 2};
    EXPECT_EQ(node.shared_by(1), node);
    EXPECT_EQ(node.shared_by(2), node);  // one each
    EXPECT_EQ(node.shared_by(3).l3_bytes, 16 << 20);
    EXPECT_EQ(node.shared_by(16), (Caches{32 << 10, 1 << 20, 4 << 20, 2}));
    EXPECT_EQ(node.shared_by(0), node);
    EXPECT_GT((Caches{1, 1, 1, 1}).shared_by(1 << 20).l3_bytes, 0);
}

TEST(Caches, WhatIsStreamedIsLargerThanARanksShareAndThanACoresOwnCache) {
    const Caches node{32 << 10, 2 << 20, 16 << 20, 1};
    EXPECT_EQ(node.stream_worth_bytes(), 16 << 20);
    EXPECT_EQ(node.shared_by(2).stream_worth_bytes(), 8 << 20);
    EXPECT_EQ(node.shared_by(64).stream_worth_bytes(), 2 << 20);
}

TEST(Caches, OfThisMachineAreReadOnceAndPositive) {
    const Caches& caches = cache_sizes();
    EXPECT_EQ(&caches, &cache_sizes());
    for (const index_t bytes : {caches.l1_bytes, caches.l2_bytes, caches.l3_bytes}) EXPECT_GT(bytes, 0);
    EXPECT_LE(caches.l1_bytes, caches.l2_bytes);
    EXPECT_GE(caches.l3_count, 1);
}

}  // namespace
}  // namespace spanfft::test
