// Striping: where bytes lie, against a byte-by-byte reading of P1's rule, and reads and writes against one array.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "disk/striped_store.hpp"
#include "support/simulated_store.hpp"

namespace spanfft::test {
namespace {

using DiskRun = spanfft::Run;  // testing::Test has a Run of its own

// Deals blocks out to disks as a person would: stripe after stripe, each begun turn disks further on, with the turn
// from the square root itself. No arithmetic is shared with StripeGeometry.
std::vector<std::pair<int, index_t>> dealt(int disks, index_t block, index_t bytes) {
    std::vector<std::pair<int, index_t>> at;
    std::vector<index_t> used(static_cast<size_t>(disks), 0);
    for (int stripe = 0; static_cast<index_t>(at.size()) < bytes; ++stripe) {
        const int start = static_cast<int>(std::floor(stripe * (std::sqrt(2.0) - 1)));
        for (int k = 0; k < disks; ++k) {
            const auto disk = static_cast<size_t>((start + k) % disks);
            for (index_t i = 0; i < block; ++i) at.emplace_back(static_cast<int>(disk), used[disk] + i);
            used[disk] += block;
        }
    }
    at.resize(static_cast<size_t>(bytes));
    return at;
}

struct Case {
    int disks;
    index_t block, bytes;
};
std::vector<Case> cases() {
    std::vector<Case> all;
    for (int disks : {1, 2, 3, 4, 5}) {
        for (index_t block : {1, 3, 8, 37}) {
            for (index_t bytes : {index_t{1}, block, block * disks, block * disks + 1, index_t{997}}) {
                all.push_back({disks, block, bytes});
            }
        }
    }
    return all;
}

std::unique_ptr<StripedStore> make_store(const Case& c) {
    const StripeGeometry geometry{c.disks, c.block};
    std::vector<std::unique_ptr<Store>> disks;
    for (int d = 0; d < c.disks; ++d) disks.push_back(std::make_unique<MemoryStore>(geometry.bytes_on(d, c.bytes)));
    return std::make_unique<StripedStore>(std::move(disks), c.block, c.bytes);
}

TEST(StripeGeometry, AgreesWithTheFigureInItsHeader) {
    const StripeGeometry g{3, 4};
    const auto at = [&](index_t byte) {
        const auto place = g.place(byte);
        return std::tuple{place.stripe, place.disk, place.offset_bytes};
    };
    EXPECT_EQ(at(41), (std::tuple<index_t, int, index_t>{3, 2, 1}));
    EXPECT_EQ(at(20), (std::tuple<index_t, int, index_t>{1, 2, 0}));
    EXPECT_EQ(at(31), (std::tuple<index_t, int, index_t>{2, 1, 3}));
    EXPECT_EQ(at(44), (std::tuple<index_t, int, index_t>{3, 0, 0}));
    std::vector<int> threes;
    for (index_t i = 0; i < 9; ++i) threes.push_back(g.place(4 * 3 * i).disk);
    EXPECT_EQ(threes, (std::vector<int>{0, 0, 0, 1, 1, 2, 2, 2, 0}));
}

TEST(StripeGeometry, WithoutTurnsBlockQIsOnDiskQModD) {
    const StripeGeometry g{4, 16, false};
    for (index_t block = 0; block < 100; ++block) {
        const auto place = g.place(block * 16 + 5);
        EXPECT_EQ(place.disk, block % 4);
        EXPECT_EQ(place.stripe, block / 4);
        EXPECT_EQ(place.offset_bytes, 5);
    }
    EXPECT_EQ(g.bytes_on(0, 65), 17);
    EXPECT_EQ(g.bytes_on(1, 65), 16);
}

TEST(StripeGeometry, EveryByteLiesWhereItIsDealt) {
    for (const Case& c : cases()) {
        const StripeGeometry g{c.disks, c.block};
        const auto expected = dealt(c.disks, c.block, c.bytes);
        std::vector<index_t> needed(static_cast<size_t>(c.disks), 0);
        for (index_t byte = 0; byte < c.bytes; ++byte) {
            const auto place = g.place(byte);
            const auto [disk, at] = expected[static_cast<size_t>(byte)];
            ASSERT_EQ(place.disk, disk) << c.disks << " disks, blocks of " << c.block << ", byte " << byte;
            ASSERT_EQ(place.stripe * c.block + place.offset_bytes, at);
            needed[static_cast<size_t>(disk)] = std::max(needed[static_cast<size_t>(disk)], at + 1);
        }
        for (int disk = 0; disk < c.disks; ++disk) {
            EXPECT_GE(g.bytes_on(disk, c.bytes), needed[static_cast<size_t>(disk)]);
            EXPECT_LE(g.bytes_on(disk, c.bytes) - needed[static_cast<size_t>(disk)], c.block)
                << "more than a block is wasted on disk " << disk;
        }
    }
}

// The blocks of a row tile lie a power of two apart, or three times one: reading them must use all disks alike.
TEST(StripeGeometry, NoUsualStepStaysOnFewDisks) {
    for (int disks : {2, 3, 4, 5, 7, 8, 16}) {
        const StripeGeometry g{disks, 1};
        for (index_t odd : {1, 3, 5, 9, 15}) {
            for (index_t step = odd; step <= index_t{1} << 20; step *= 2) {
                std::vector<int> hits(static_cast<size_t>(disks), 0);
                for (index_t i = 0; i < 64 * disks; ++i) ++hits[static_cast<size_t>(g.place(i * step).disk)];
                for (int hit : hits) {
                    EXPECT_GE(hit, 32) << disks << " disks, step " << step;
                    EXPECT_LE(hit, 96) << disks << " disks, step " << step;
                }
            }
        }
    }
}

TEST(StripedStore, PiecesOfARunAreItsBytesEachOnce) {
    std::mt19937 random(5);
    for (const Case& c : cases()) {
        const auto store = make_store(c);
        const auto expected = dealt(c.disks, c.block, c.bytes);
        for (int round = 0; round < 20; ++round) {
            const auto begin = static_cast<index_t>(random() % static_cast<unsigned>(c.bytes));
            const index_t bytes = 1 + static_cast<index_t>(random() % static_cast<unsigned>(c.bytes - begin));
            std::vector<char> memory(static_cast<size_t>(bytes));
            std::map<index_t, int> seen;
            for (int disk = 0; disk < c.disks; ++disk) {
                index_t from = begin;
                for (DiskRun piece; store->next_piece({begin, memory.data(), bytes, true}, disk, from, piece);) {
                    ASSERT_GT(piece.bytes, 0);
                    EXPECT_FALSE(piece.slack) << "these blocks are no multiples of a disk block";
                    const index_t first = begin + (static_cast<char*>(piece.data) - memory.data());
                    EXPECT_EQ(from, first + piece.bytes);
                    for (index_t i = 0; i < piece.bytes; ++i) {
                        ++seen[first + i];
                        ASSERT_EQ(expected[static_cast<size_t>(first + i)], (std::pair{disk, piece.offset_bytes + i}));
                    }
                }
            }
            EXPECT_EQ(static_cast<index_t>(seen.size()), bytes);
            for (const auto& [byte, times] : seen) EXPECT_EQ(times, 1) << byte;
        }
    }
}

TEST(StripedStore, HoldsWhatAnArrayHolds) {
    std::mt19937 random(6);
    for (const Case& c : cases()) {
        const auto store = make_store(c);
        std::string expected(static_cast<size_t>(c.bytes), '\xA5');
        StoreCounts counted;
        for (int round = 0; round < 40; ++round) {
            const auto begin = static_cast<index_t>(random() % static_cast<unsigned>(c.bytes));
            const index_t bytes = 1 + static_cast<index_t>(random() % static_cast<unsigned>(c.bytes - begin));
            std::string data(static_cast<size_t>(bytes), static_cast<char>(round));
            const DiskRun run{begin, data.data(), bytes, false};
            if (round % 2 == 0) {
                ASSERT_TRUE(store->write(run).ok());
                expected.replace(static_cast<size_t>(begin), static_cast<size_t>(bytes), data);
                counted.writes += 1;
                counted.written_bytes += bytes;
            } else {  // in parts, last disk first
                index_t done = 0;
                for (int disk = c.disks - 1; disk >= 0; --disk) {
                    ASSERT_TRUE(store->transfer_part(IoKind::read, run, disk, done).ok());
                }
                EXPECT_EQ(done, bytes);
                EXPECT_EQ(data, expected.substr(static_cast<size_t>(begin), static_cast<size_t>(bytes)));
                counted.reads += 1;
                counted.read_bytes += bytes;
            }
        }
        const StoreCounts counts = store->counts();
        EXPECT_EQ(counts.reads, counted.reads);
        EXPECT_EQ(counts.read_bytes, counted.read_bytes);
        EXPECT_EQ(counts.writes, counted.writes);
        EXPECT_EQ(counts.written_bytes, counted.written_bytes);
        index_t below = 0;
        for (int disk = 0; disk < c.disks; ++disk) below += store->disk(disk).counts().written_bytes;
        EXPECT_EQ(below, counted.written_bytes);
    }
}

TEST(StripedStore, RefusesWhatLiesOutside) {
    const auto store = make_store({3, 8, 100});
    char data[200] = {};
    index_t done = 0;
    for (const auto& [offset, bytes] : {std::pair<index_t, index_t>{99, 2}, {100, 1}, {0, 101}, {-1, 1}}) {
        const DiskRun run{offset, data, bytes, false};
        EXPECT_EQ(store->read(run).code(), Code::corrupt_data);
        EXPECT_EQ(store->write(run).code(), Code::corrupt_data);
        EXPECT_EQ(store->transfer_part(IoKind::write, run, 1, done).code(), Code::corrupt_data);
    }
    EXPECT_EQ(done, 0);
    EXPECT_EQ(store->counts().writes, 0);
}

TEST(StripedStore, PassesOnTheFailureOfADisk) {
    MemoryStore whole[3] = {MemoryStore(64), MemoryStore(64), MemoryStore(64)};
    FaultPlan none, broken;
    broken.fail_at = 1;
    broken.persistent = true;
    broken.code = Code::no_space;
    std::vector<std::unique_ptr<Store>> disks;
    for (int d = 0; d < 3; ++d) disks.push_back(std::make_unique<FaultyStore>(whole[d], d == 1 ? broken : none));
    StripedStore store(std::move(disks), 8, 192);
    char data[192] = {};
    EXPECT_TRUE(store.write({0, data, 8, false}).ok());
    const Status status = store.write({0, data, 192, false});
    EXPECT_EQ(status.code(), Code::no_space);
    EXPECT_NE(status.message().find("simulated fault"), std::string::npos);
    EXPECT_EQ(store.counts().writes, 1);
    EXPECT_EQ(store.sync().code(), Code::no_space);
}

}  // namespace
}  // namespace spanfft::test
