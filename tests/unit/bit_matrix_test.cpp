// Matrices over GF(2) against what they stand for, and their factoring against the bound of P1's [7].
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "permute/factor.hpp"
#include "support/random.hpp"

namespace spanfft::test {
namespace {

Word reversed(Word x, int n) {
    Word z = 0;
    for (int i = 0; i < n; ++i) z |= (x >> i & 1) << (n - 1 - i);
    return z;
}

BitMatrix random_matrix(Random& random, int n) {
    return BitMatrix::random_nonsingular(n, [&] { return random.bits(); });
}

// Of an array of bits, by elimination of rows: shares nothing with BitMatrix::rank, which eliminates columns.
int rank_by_rows(std::vector<std::vector<int>> rows) {
    int rank = 0;
    for (size_t column = 0; !rows.empty() && column < rows[0].size(); ++column) {
        size_t pivot = static_cast<size_t>(rank);
        while (pivot < rows.size() && rows[pivot][column] == 0) ++pivot;
        if (pivot == rows.size()) continue;
        std::swap(rows[pivot], rows[static_cast<size_t>(rank)]);
        for (size_t i = 0; i < rows.size(); ++i) {
            if (i == static_cast<size_t>(rank) || rows[i][column] == 0) continue;
            for (size_t j = 0; j < rows[i].size(); ++j) rows[i][j] ^= rows[static_cast<size_t>(rank)][j];
        }
        ++rank;
    }
    return rank;
}

TEST(BitMatrix, NamedMatricesDoWhatTheirNamesSay) {
    for (int n = 1; n <= 10; ++n) {
        const Word count = Word{1} << n;
        for (Word x = 0; x < count; ++x) {
            EXPECT_EQ(BitMatrix::identity(n).apply(x), x);
            EXPECT_EQ(BitMatrix::bit_reversal(n).apply(x), reversed(x, n));
            for (int k = 0; k <= n; ++k) {
                const Word low = x & low_bits(k), high = x >> k;
                EXPECT_EQ(BitMatrix::right_rotation(n, k).apply(x), high | low << (n - k));
                EXPECT_EQ(BitMatrix::bit_reversal(n, k).apply(x), high << k | reversed(low, k));
                // x = i * 2^k + j of a 2^(n-k) x 2^k array.
                EXPECT_EQ(BitMatrix::transposition(n - k, k).apply(x), low * (count >> k) + high);
            }
        }
    }
}

// P1, figure 6: N = 64, P = 4, B = 2, D = 8; the record at each place, stripe by stripe.
TEST(BitMatrix, ConvertsBandSizesAsPrinted) {
    const std::vector<Word> band_32 = {0, 1, 2, 3, 8,  9,  10, 11, 16, 17, 18, 19, 24, 25, 26, 27,
                                       4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31};
    const BitMatrix from_32 = BitMatrix::band_conversion(6, 2, 4, 5, 4);
    for (Word place = 0; place < 32; ++place) {
        EXPECT_EQ(from_32.apply(place), band_32[place]);
        EXPECT_EQ(from_32.apply(place + 32), band_32[place] + 32);
    }
    const std::vector<Word> band_64_stripe_0 = {0, 1, 2, 3, 16, 17, 18, 19, 32, 33, 34, 35, 48, 49, 50, 51};
    const BitMatrix from_64 = BitMatrix::band_conversion(6, 2, 4, 6, 4);
    for (Word place = 0; place < 64; ++place)
        EXPECT_EQ(from_64.apply(place), band_64_stripe_0[place % 16] + 4 * (place / 16));
    EXPECT_EQ(BitMatrix::band_conversion(6, 2, 4, 4, 6), *from_64.inverse());
    EXPECT_EQ(BitMatrix::band_conversion(6, 2, 4, 5, 6), *from_64.inverse() * from_32);
    EXPECT_EQ(BitMatrix::band_conversion(6, 2, 4, 4, 4), BitMatrix::identity(6));
}

TEST(BitMatrix, ComposesInvertsAndTransposes) {
    Random random(61);
    for (int n : {1, 2, 5, 17, 40, 63}) {
        const Bmmc a{random_matrix(random, n), random.bits() & low_bits(n)};
        const Bmmc b{random_matrix(random, n), random.bits() & low_bits(n)};
        EXPECT_EQ(a.matrix * *a.matrix.inverse(), BitMatrix::identity(n)) << random.seed();
        EXPECT_EQ(a.matrix.transpose().transpose(), a.matrix);
        EXPECT_EQ((a.matrix * b.matrix).transpose(), b.matrix.transpose() * a.matrix.transpose());
        for (int i = 0; i < 20; ++i) {
            const Word x = random.bits() & low_bits(n);
            EXPECT_EQ((a * b).apply(x), a.apply(b.apply(x)));
            EXPECT_EQ(a.inverse().apply(a.apply(x)), x);
        }
    }
    BitMatrix singular = BitMatrix::identity(4);
    singular.set_column(2, 0b0011);
    EXPECT_FALSE(singular.inverse().has_value());
    EXPECT_EQ(singular.text(), "1010\n0110\n0000\n0001\n");
}

TEST(BitMatrix, HasNames) {
    const auto named = [](const std::string& kind) { return BitMatrix::named(kind, 10); };
    EXPECT_EQ(named("identity").value(), BitMatrix::identity(10));
    EXPECT_EQ(named("bit-reversal").value(), BitMatrix::bit_reversal(10));
    EXPECT_EQ(named("bit-reversal:4").value(), BitMatrix::bit_reversal(10, 4));
    EXPECT_EQ(named("rotation:3").value(), BitMatrix::right_rotation(10, 3));
    EXPECT_EQ(named("transpose:4x256").value(), BitMatrix::transposition(2, 8));
    EXPECT_EQ(named("band:4,16,32,16").value(), BitMatrix::band_conversion(10, 2, 4, 5, 4));
    EXPECT_EQ(named("random:7").value().rank(), 10);
    EXPECT_EQ(named("random:7").value(), named("random:7").value());
    for (const char* kind : {"", "rotation", "rotation:", "rotation:3x", "rotation:11", "rotation:-1", "transpose:3x4",
                             "transpose:4x4", "transpose:4", "band:4,16,32", "band:4,2,32,16", "band:4,16,3,16",
                             "band:4,16,32,2048", "identity:2", "turn:3"}) {
        EXPECT_EQ(named(kind).status().code(), Code::invalid_argument) << kind;
    }
}

TEST(BitMatrix, RankOfAnySubmatrix) {
    Random random(62);
    for (int trial = 0; trial < 300; ++trial) {
        const int n = static_cast<int>(random.between(1, 12));
        BitMatrix matrix(n);
        for (int j = 0; j < n; ++j) matrix.set_column(j, random.bits() & random.bits() & low_bits(n));
        const int r0 = static_cast<int>(random.below(n + 1)), r1 = static_cast<int>(random.between(r0, n));
        const int c0 = static_cast<int>(random.below(n + 1)), c1 = static_cast<int>(random.between(c0, n));
        std::vector<std::vector<int>> rows;
        for (int i = r0; i < r1; ++i) {
            rows.emplace_back();
            for (int j = c0; j < c1; ++j) rows.back().push_back(matrix.at(i, j));
        }
        EXPECT_EQ(matrix.rank(r0, r1, c0, c1), rank_by_rows(rows)) << random.seed();
    }
}

// What one sweep may do, by looking at each record: whole blocks, as many on each disk.
void expect_sweep(const Factor& factor, const PdmShape& s) {
    const Bmmc map = factor.kind == SweepKind::collect ? factor.map.inverse() : factor.map;
    for (index_t load = 0; load < s.memoryloads(); ++load) {
        std::set<Word> blocks, loads;
        std::vector<index_t> on_disk(static_cast<size_t>(s.disks()), 0);
        for (index_t i = 0; i < s.memory_records(); ++i) {
            const Word z = map.apply(static_cast<Word>(load << s.m | i));
            loads.insert(z >> s.m);
            if (blocks.insert(z >> s.b).second) ++on_disk[(z >> s.b) & low_bits(s.d)];
        }
        ASSERT_EQ(static_cast<index_t>(blocks.size()), s.blocks_per_load());
        for (index_t count : on_disk) ASSERT_EQ(count, s.blocks_per_load() >> s.d);
        if (factor.kind == SweepKind::rearrange) {
            ASSERT_EQ(loads.size(), 1U);
        }
    }
}

void expect_factored(const Bmmc& map, const PdmShape& s, bool look_at_records) {
    const auto factors = factor(map, s);
    ASSERT_TRUE(factors.ok()) << factors.status().message();
    Bmmc product{BitMatrix::identity(s.n), 0};
    for (const Factor& f : factors.value()) {
        product = f.map * product;
        const auto kind = one_sweep(f.map.matrix, s);
        ASSERT_TRUE(kind.has_value());
        if (look_at_records) expect_sweep(f, s);
    }
    EXPECT_EQ(product, map);
    const auto sweeps = static_cast<index_t>(factors.value().size());
    EXPECT_LE(2 * s.stripes() * sweeps, parallel_io_bound(map.matrix, s).value())
        << "n=" << s.n << " m=" << s.m << " b=" << s.b << " d=" << s.d << "\n"
        << map.matrix.text();
}

std::vector<PdmShape> all_shapes(int most) {
    std::vector<PdmShape> shapes;
    for (int n = 2; n <= most; ++n) {
        for (int m = 1; m < n; ++m) {
            for (int b = 0; b < m; ++b) {  // M == B has no bound; see RefusesOneBlockOfMemory
                for (int d = 0; b + d <= m; ++d) shapes.push_back({n, m, b, d});
            }
        }
    }
    return shapes;
}

TEST(Factoring, HoldsTheBoundForEveryParameterSet) {
    Random random(63);
    for (const PdmShape& s : all_shapes(12)) {
        for (int trial = 0; trial < 100; ++trial) {
            expect_factored({random_matrix(random, s.n), random.bits() & low_bits(s.n)}, s, s.n <= 7 && trial < 5);
            ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << random.seed();
        }
        expect_factored({BitMatrix::bit_reversal(s.n), 0}, s, s.n <= 9);
        for (int k = 0; k <= s.n; ++k) expect_factored({BitMatrix::right_rotation(s.n, k), 0}, s, s.n <= 8);
        expect_factored({BitMatrix::identity(s.n), 1}, s, s.n <= 8);
        ASSERT_FALSE(testing::Test::HasFailure());
    }
}

// Sparse and structured matrices have ranks that random ones hardly ever have: products of few row additions.
TEST(Factoring, HoldsTheBoundForMatricesOfEveryRank) {
    Random random(64);
    std::set<std::pair<int, int>> seen;  // (m, rank) at n = 12
    for (const PdmShape& s : all_shapes(12)) {
        if (s.n < 10) continue;
        for (int additions = 0; additions < 8; ++additions) {
            BitMatrix matrix =
                BitMatrix::right_rotation(s.n, random.chance(0.5) ? 0 : static_cast<int>(random.below(s.n)));
            for (int i = 0; i < additions; ++i) {
                const int to = static_cast<int>(random.below(s.n)), from = static_cast<int>(random.below(s.n));
                if (to != from) matrix.set_column(to, matrix.column(to) ^ matrix.column(from));
            }
            if (s.n == 12) seen.insert({s.m, rank_phi(matrix, s)});
            expect_factored({matrix, random.bits() & low_bits(s.n)}, s, false);
            ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << random.seed();
        }
    }
    for (int m = 1; m < 12; ++m) {
        for (int r = 0; r <= std::min(m, 12 - m); ++r) EXPECT_TRUE(seen.count({m, r})) << m << " " << r;
    }
}

TEST(Factoring, HoldsTheBoundForLargeIndices) {
    Random random(65);
    for (int trial = 0; trial < 200; ++trial) {
        PdmShape s;
        s.n = static_cast<int>(random.between(40, 55));  // 2N times the sweeps must fit 63 bits
        s.m = static_cast<int>(random.between(2, s.n - 1));
        s.b = static_cast<int>(random.below(s.m));
        s.d = static_cast<int>(random.below(s.m - s.b + 1));
        expect_factored({random_matrix(random, s.n), random.bits() & low_bits(s.n)}, s, false);
        ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << random.seed();
    }
}

TEST(Factoring, NeedsNothingForTheIdentityAndOneSweepForWhatIsOne) {
    const PdmShape s{10, 6, 2, 1};
    EXPECT_TRUE(factor({BitMatrix::identity(10), 0}, s).value().empty());
    const auto one = factor({BitMatrix::bit_reversal(10, 6), 0b1000000001}, s);
    ASSERT_EQ(one.value().size(), 1U);
    EXPECT_EQ(one.value()[0].kind, SweepKind::rearrange);
    // Blocks keep their records, so any order of blocks that is even on the disks is one sweep; so is its inverse.
    BitMatrix blocks = BitMatrix::identity(10);
    for (int i = 0; i < 8; ++i) blocks.set_column(2 + i, Word{4} << (i + 4) % 8);
    EXPECT_EQ(one_sweep(blocks, {10, 6, 2, 0}), SweepKind::disperse);
}

TEST(Factoring, RefusesOneBlockOfMemory) {
    const PdmShape s{6, 3, 3, 0};
    EXPECT_FALSE(parallel_io_bound(BitMatrix::bit_reversal(6), s).has_value());
    const auto refused = factor({BitMatrix::bit_reversal(6), 0}, s);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().code(), Code::out_of_memory);
    EXPECT_NE(refused.status().message().find("twice the memory"), std::string::npos);
    EXPECT_EQ(factor({BitMatrix::bit_reversal(6, 3), 5}, s).value().size(), 1U);
}

TEST(Factoring, RefusesSingularMatricesAndShapesOutsideTheModel) {
    BitMatrix singular = BitMatrix::identity(6);
    singular.set_column(3, singular.column(0));
    const auto refused = factor({singular, 0}, {6, 4, 1, 1});
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.status().message().find("rank is 5"), std::string::npos) << refused.status().message();
    EXPECT_EQ(factor({BitMatrix::identity(6), 1}, {6, 2, 2, 1}).status().code(), Code::out_of_memory);
    EXPECT_EQ(factor({BitMatrix::identity(6), 1}, {6, 7, 2, 1}).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace spanfft::test
