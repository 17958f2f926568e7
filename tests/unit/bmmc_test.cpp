// BMMC permutations on simulated parallel disks against a direct permutation in memory; parallel I/Os predicted and
// counted, on the disks themselves too.
#include <gtest/gtest.h>

#include <cstring>

#include "disk/striped_store.hpp"
#include "permute/bmmc.hpp"
#include "support/random.hpp"
#include "support/simulated_store.hpp"

namespace spanfft::test {
namespace {

// N records on D memory stores each, or on one where a store can't lie on so many, in several arrays.
class Disks {
  public:
    Disks(const PdmShape& shape, index_t record_bytes, bool one) : record_bytes_(record_bytes) {
        const bool one_store = one || shape.disks() > kMaxDisks;
        const index_t block_bytes = shape.block_records() * record_bytes, offset = one_store ? 128 : 0;
        const index_t blocks = shape.records() / shape.block_records();
        const auto stores = static_cast<size_t>(one_store ? 1 : shape.disks());
        std::vector<std::unique_ptr<Store>> striped;
        for (size_t k = 0; k < stores; ++k) {
            auto store = std::make_unique<MemoryStore>(offset + blocks * block_bytes / static_cast<index_t>(stores));
            stores_.push_back(store.get());
            striped.push_back(std::move(store));
        }
        if (one_store)
            store_ = std::move(striped[0]);
        else
            store_ = std::make_unique<StripedStore>(std::move(striped), block_bytes, blocks * block_bytes, false);
        disks_ = std::make_unique<ParallelDisks>(*store_, static_cast<int>(shape.disks()), offset, blocks, block_bytes);
    }
    ParallelDisks& get() { return *disks_; }
    std::vector<MemoryStore*>& stores() { return stores_; }
    // By P1's figure 3, not by ParallelDisks.
    char* record(const PdmShape& s, index_t x) {
        const index_t offset = x & (s.block_records() - 1), disk = x >> s.b & (s.disks() - 1),
                      stripe = x >> (s.b + s.d);
        if (stores_.size() == 1 && s.d > 0) return stores_[0]->as<char>() + 128 + x * record_bytes_;
        const index_t skip = stores_.size() == 1 && stores_[0]->size_bytes() > s.records() * record_bytes_ ? 128 : 0;
        return stores_[static_cast<size_t>(disk)]->as<char>() + skip +
               (stripe * s.block_records() + offset) * record_bytes_;
    }

  private:
    index_t record_bytes_;
    std::vector<MemoryStore*> stores_;  // below store_
    std::unique_ptr<Store> store_;
    std::unique_ptr<ParallelDisks> disks_;
};

struct Team {
    Pipeline pipeline{3};
    ThreadTeam threads{2};
};

void set_record(char* to, index_t x, index_t record_bytes) {
    for (index_t i = 0; i < record_bytes; ++i) to[i] = static_cast<char>((x * 31 + 7) >> (8 * (i % 4)));
    std::memcpy(to, &x, static_cast<size_t>(std::min<index_t>(record_bytes, 4)));
}

void expect_permuted(Team& team, const Bmmc& map, const PdmShape& s, index_t record_bytes, IoMode mode,
                     bool one_store = false) {
    const auto plan = plan_bmmc(map, s);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    std::vector<std::unique_ptr<Disks>> arrays;
    arrays.push_back(std::make_unique<Disks>(s, record_bytes, one_store));
    for (index_t x = 0; x < s.records(); ++x) set_record(arrays[0]->record(s, x), x, record_bytes);
    std::vector<char> memory(static_cast<size_t>(sweep_buffers(false, mode) * s.memory_records() * record_bytes));
    PdmCounts counted;
    for (const Factor& each : plan.value().factors) {
        arrays.push_back(std::make_unique<Disks>(s, record_bytes, one_store));
        Disks &source = **(arrays.end() - 2), &target = *arrays.back();
        const BmmcSweep sweep(each, s, record_bytes);
        const Status status =
            sweep.run(source.get(), target.get(), {{&team.pipeline, memory.data(), mode, 0, 0, {}}, &team.threads});
        ASSERT_TRUE(status.ok()) << status.message();
        PdmCounts both;
        both.striped_reads = source.get().parallel_ios().striped_reads;
        both.independent_reads = source.get().parallel_ios().independent_reads;
        both.striped_writes = target.get().parallel_ios().striped_writes;
        both.independent_writes = target.get().parallel_ios().independent_writes;
        ASSERT_EQ(both, sweep.map().predicted());
        counted += both;
        // Each disk did one block in each parallel I/O.
        for (auto& store : source.stores())
            ASSERT_EQ(store->counts().reads * static_cast<index_t>(source.stores().size()),
                      (both.striped_reads + both.independent_reads) * s.disks());
        for (auto& store : target.stores())
            ASSERT_EQ(store->counts().writes * static_cast<index_t>(target.stores().size()),
                      (both.striped_writes + both.independent_writes) * s.disks());
    }
    EXPECT_EQ(counted, plan.value().predicted());
    EXPECT_LE(counted.total(), plan.value().bound);
    std::vector<char> expected(static_cast<size_t>(record_bytes));
    for (index_t x = 0; x < s.records(); ++x) {
        set_record(expected.data(), x, record_bytes);
        const auto z = static_cast<index_t>(map.apply(static_cast<Word>(x)));
        ASSERT_EQ(std::memcmp(arrays.back()->record(s, z), expected.data(), expected.size()), 0)
            << "record " << x << " is not at " << z << ", n=" << s.n << " m=" << s.m << " b=" << s.b << " d=" << s.d;
    }
}

Bmmc random_map(Random& random, int n) {
    return {BitMatrix::random_nonsingular(n, [&] { return random.bits(); }), random.bits() & low_bits(n)};
}

TEST(BmmcOnDisks, RandomMatricesForEveryParameterSet) {
    Random random(71);
    Team team;
    for (int n = 2; n <= 8; ++n) {
        for (int m = 1; m < n; ++m) {
            for (int b = 0; b < m; ++b) {
                for (int d = 0; b + d <= m; ++d) {
                    const PdmShape s{n, m, b, d};
                    const IoMode mode = random.chance(0.5) ? IoMode::synchronous : IoMode::asynchronous;
                    expect_permuted(team, random_map(random, n), s, 4, mode);
                    expect_permuted(team, {BitMatrix::bit_reversal(n), 0}, s, 4, mode);
                    expect_permuted(team, {BitMatrix::right_rotation(n, static_cast<int>(random.between(1, n))), 1}, s,
                                    4, mode);
                    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << random.seed();
                }
            }
        }
    }
}

// Without disks, so that it is quick enough for every parameter set with n <= 12: the factors' sweeps put every record
// where the map says, and no parallel I/O has two blocks of a disk.
TEST(BmmcSweeps, TakeEveryRecordToItsPlaceForEveryParameterSet) {
    Random random(74);
    for (int n = 2; n <= 12; ++n) {
        for (int m = 1; m < n; ++m) {
            for (int b = 0; b < m; ++b) {
                for (int d = 0; b + d <= m; ++d) {
                    const PdmShape s{n, m, b, d};
                    const Bmmc map = random_map(random, n);
                    std::vector<Word> at(static_cast<size_t>(s.records()));  // of each record, sweep after sweep
                    for (size_t x = 0; x < at.size(); ++x) at[x] = x;
                    const auto plan = plan_bmmc(map, s);
                    ASSERT_TRUE(plan.ok());
                    for (const Factor& each : plan.value().factors) {
                        const SweepMap sweep(each, s);
                        std::vector<Word> next(at.size());
                        for (index_t load = 0; load < s.memoryloads(); ++load) {
                            const Word base = sweep.base(load);
                            for (index_t t = 0; t < s.blocks_per_load(); ++t)
                                ASSERT_EQ((sweep.scattered_block(load, t) ^ t) & (s.disks() - 1), 0);
                            for (index_t i = 0; i < s.memory_records(); ++i) {
                                const auto place =
                                    static_cast<index_t>(sweep.position().apply(static_cast<Word>(i)) ^ base);
                                const index_t block = sweep.scattered_block(load, place >> b);
                                const auto scattered =
                                    static_cast<Word>(block << b | (place & (s.block_records() - 1)));
                                const auto ordered = static_cast<Word>(load << m | i);
                                (sweep.collects() ? next[scattered] : next[ordered]) =
                                    sweep.collects() ? ordered : scattered;
                            }
                        }
                        for (Word& x : at) x = next[x];
                    }
                    for (size_t x = 0; x < at.size(); ++x) ASSERT_EQ(at[x], map.apply(x)) << "seed " << random.seed();
                }
            }
        }
    }
}

TEST(BmmcOnDisks, LargerArraysAndRecordsOfEverySize) {
    Random random(72);
    Team team;
    for (const index_t record_bytes : {4, 8, 12, 16, 32, 48}) {
        for (const IoMode mode : {IoMode::synchronous, IoMode::asynchronous}) {
            for (const PdmShape& s : {PdmShape{12, 8, 3, 2}, PdmShape{12, 11, 0, 3}, PdmShape{12, 5, 4, 1}}) {
                expect_permuted(team, random_map(random, s.n), s, record_bytes, mode);
                expect_permuted(team, random_map(random, s.n), s, record_bytes, mode, true);
                expect_permuted(team, {BitMatrix::transposition(5, 7), 0}, s, record_bytes, mode);
                ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << random.seed();
            }
        }
    }
}

TEST(BmmcOnDisks, CollectionsReadIndependentlyAndWriteStripes) {
    Team team;
    // b = 2, m = 6: blocks stay whole, and four of their six number bits stay in a memoryload, the disk's among them.
    BitMatrix blocks = BitMatrix::identity(10);
    for (int i = 0; i < 8; ++i) blocks.set_column(2 + i, Word{4} << (i + 6) % 8);
    const PdmShape s{10, 6, 2, 1};
    Random random(73);
    int collections = 0;
    for (int trial = 0; trial < 200; ++trial) {
        // A dispersal's inverse: a rearrangement, then blocks out of order, turned round.
        BitMatrix low = BitMatrix::identity(10);
        const BitMatrix inner = BitMatrix::random_nonsingular(6, [&] { return random.bits(); });
        for (int j = 0; j < 6; ++j) low.set_column(j, inner.column(j));
        const BitMatrix matrix = *(blocks * low).inverse();
        const auto plan = plan_bmmc({matrix, 0}, s);
        ASSERT_TRUE(plan.ok());
        if (plan.value().factors.size() != 1 || plan.value().factors[0].kind != SweepKind::collect) continue;
        ++collections;
        expect_permuted(team, {matrix, random.bits() & low_bits(10)}, s, 8, IoMode::asynchronous);
        EXPECT_GT(plan.value().predicted().striped_writes, 0);
        ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << random.seed();
    }
    EXPECT_GT(collections, 0);
}

// P1, figure 3: N = 64, B = 2, D = 8.
TEST(ParallelDisks, LiesAsPrinted) {
    std::vector<MemoryStore*> stores;
    std::vector<std::unique_ptr<Store>> apart;
    for (int k = 0; k < 8; ++k) {
        auto store = std::make_unique<MemoryStore>(8);
        stores.push_back(store.get());
        apart.push_back(std::move(store));
    }
    StripedStore striped(std::move(apart), 2, 64, false);
    ParallelDisks disks(striped, 8, 0, 32, 2);
    std::vector<char> records(64);
    for (size_t x = 0; x < 64; ++x) records[x] = static_cast<char>(x);
    ASSERT_TRUE(disks.write({0, records.data(), 64, false}).ok());
    const auto at = [&](size_t disk, size_t stripe) { return stores[disk]->as<char>()[stripe * 2]; };
    EXPECT_EQ(at(0, 1), 16);
    EXPECT_EQ(at(3, 2), 38);
    EXPECT_EQ(at(7, 0), 14);
    EXPECT_EQ(at(7, 3), 62);
}

TEST(ParallelDisks, CountsStripedAndIndependentAndRefusesTwoBlocksOfADisk) {
    MemoryStore store(64);
    ParallelDisks disks(store, 4, 0, 32, 2);
    const auto note = [&](std::vector<index_t> blocks) {
        return disks.note(
            AsyncIo::Kind::read, [&](index_t i) { return blocks[static_cast<size_t>(i)]; },
            static_cast<index_t>(blocks.size()));
    };
    EXPECT_TRUE(note({4, 5, 6, 7}).ok());
    EXPECT_TRUE(note({7, 5, 4, 6}).ok());
    EXPECT_TRUE(note({4, 1, 6, 31}).ok());
    EXPECT_TRUE(note({4, 5}).ok());  // a part of a stripe is not a stripe
    EXPECT_EQ(disks.parallel_ios().striped_reads, 2);
    EXPECT_EQ(disks.parallel_ios().independent_reads, 2);
    EXPECT_EQ(note({4, 8}).code(), Code::internal);
    EXPECT_EQ(note({32}).code(), Code::internal);
}

TEST(ParallelDisks, ASweepStopsAtTheFirstFailure) {
    const PdmShape s{8, 4, 1, 1};
    Team team;
    for (const IoMode mode : {IoMode::synchronous, IoMode::asynchronous}) {
        for (index_t fail_at = 1; fail_at <= 256; fail_at += 17) {
            MemoryStore source(256 * 8), target(256 * 8);
            FaultPlan faults;
            faults.fail_at = fail_at;
            FaultyStore faulty_source(source, faults), faulty_target(target, faults);
            ParallelDisks from(faulty_source, 2, 0, 128, 16), to(faulty_target, 2, 0, 128, 16);
            std::vector<char> memory(4 * 16 * 8);
            const auto plan = plan_bmmc({BitMatrix::identity(8), 1}, s);
            const BmmcSweep sweep(plan.value().factors[0], s, 8);
            const Status status = sweep.run(from, to, {{&team.pipeline, memory.data(), mode, 0, 0, {}}, &team.threads});
            EXPECT_EQ(status.code(), Code::io_error) << fail_at;
        }
    }
}

}  // namespace
}  // namespace spanfft::test
