// Layouts without any communication: who owns what, which boxes are refused and with what words.
#include "layout/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/oracle.hpp"
#include "support/random.hpp"

namespace spanfft::test {
namespace {

std::vector<index_t> indices(const AxisRange& range) {
    std::vector<index_t> result;
    for (index_t i = 0; i < range.count; ++i) result.push_back(range.at(i));
    return result;
}

// How often each element of the array is owned.
std::vector<int> owners(const Layout& layout) {
    std::vector<int> count(static_cast<size_t>(product(layout.shape())));
    for (int rank = 0; rank < layout.nranks(); ++rank) {
        for_each_index(layout.shape(), layout.patch(rank), [&](index_t i) { ++count[static_cast<size_t>(i)]; });
    }
    return count;
}

void expect_tiled(const Layout& layout) {
    const auto count = owners(layout);
    EXPECT_EQ(std::count(count.begin(), count.end(), 1), static_cast<std::ptrdiff_t>(count.size()))
        << layout.describe();
}

Extents small_shape(Random& random) {
    Extents shape;
    for (index_t i = random.between(1, 4); i > 0; --i) shape.push_back(random.chance(0.2) ? 1 : random.between(1, 9));
    return shape;
}

TEST(Layout, BlocksOfTenIndicesOnFourRanksAreThreeThreeTwoTwo) {
    EXPECT_EQ(block_range(10, 4, 0), (AxisRange{0, 3, 1}));
    EXPECT_EQ(block_range(10, 4, 1), (AxisRange{3, 3, 1}));
    EXPECT_EQ(block_range(10, 4, 2), (AxisRange{6, 2, 1}));
    EXPECT_EQ(block_range(10, 4, 3), (AxisRange{8, 2, 1}));
}

TEST(Layout, CyclicRankOneOfFourOwnsOneFiveNine) {
    EXPECT_EQ(indices(cyclic_range(10, 4, 1)), (std::vector<index_t>{1, 5, 9}));
    EXPECT_EQ(indices(cyclic_range(10, 4, 3)), (std::vector<index_t>{3, 7}));
}

TEST(Layout, EveryIndexHasOneOwnerAlongAnAxis) {
    for (index_t n = 1; n <= 20; ++n) {
        for (index_t parts = 1; parts <= 25; ++parts) {
            for (const auto range : {block_range, cyclic_range}) {
                std::vector<index_t> all;
                for (index_t part = 0; part < parts; ++part) {
                    const auto some = indices(range(n, parts, part));
                    all.insert(all.end(), some.begin(), some.end());
                    // Balanced: no two parts differ by more than one.
                    ASSERT_GE(static_cast<index_t>(some.size()), n / parts);
                    ASSERT_LE(static_cast<index_t>(some.size()), ceil_div(n, parts));
                }
                std::sort(all.begin(), all.end());
                ASSERT_EQ(static_cast<index_t>(all.size()), n) << "parts " << parts;
                for (index_t i = 0; i < n; ++i) ASSERT_EQ(all[static_cast<size_t>(i)], i);
            }
        }
    }
}

TEST(Layout, PatchesOfAllRanksTileTheArray) {
    Random random(1);
    SCOPED_TRACE(cat("seed ", random.seed()));
    for (int i = 0; i < 2000; ++i) {
        expect_tiled(random_grid_layout(random, small_shape(random), static_cast<int>(random.between(1, 24)), true));
    }
}

TEST(Layout, MoreRanksThanIndicesLeaveEmptyPatches) {
    const Layout layout({3, 1}, {{5, 0, Division::block}, {2, 1, Division::cyclic}});
    EXPECT_EQ(layout.nranks(), 10);
    expect_tiled(layout);
    int empty = 0;
    for (int rank = 0; rank < 10; ++rank) empty += layout.local_elems(rank) == 0;
    EXPECT_EQ(empty, 7);
}

TEST(Layout, RankZeroHasTheLargestPart) {
    Random random(2);
    SCOPED_TRACE(cat("seed ", random.seed()));
    for (int i = 0; i < 500; ++i) {
        const Layout layout =
            random_grid_layout(random, small_shape(random), static_cast<int>(random.between(1, 12)), true);
        index_t most = 0;
        for (int rank = 0; rank < layout.nranks(); ++rank) most = std::max(most, layout.local_elems(rank));
        ASSERT_EQ(layout.max_local_elems(), most) << layout.describe();
    }
}

TEST(Layout, AnAxisIsWholeExactlyWhenEveryOwnerHoldsAllOfIt) {
    Random random(3);
    SCOPED_TRACE(cat("seed ", random.seed()));
    for (int i = 0; i < 1000; ++i) {
        const Extents shape = small_shape(random);
        const int ranks = static_cast<int>(random.between(1, 8));
        Layout layout = random_grid_layout(random, shape, ranks, true);
        if (random.chance(0.5)) layout = Layout::from_boxes(shape, random_tiling(random, shape, ranks)).value();
        for (int axis = 0; axis < layout.ndim(); ++axis) {
            bool whole = true;
            for (int rank = 0; rank < ranks; ++rank) {
                const Patch patch = layout.patch(rank);
                whole = whole && (patch_elems(patch) == 0 ||
                                  patch[static_cast<size_t>(axis)].count == shape[static_cast<size_t>(axis)]);
            }
            ASSERT_EQ(layout.is_whole(axis), whole) << layout.describe() << " axis " << axis;
        }
    }
}

TEST(Layout, GridCoordinatesAreRowMajor) {
    const Layout layout({8, 8, 8}, {{2, 0, Division::block}, {3, 2, Division::block}});
    EXPECT_EQ(layout.grid_coords(0), (Extents{0, 0}));
    EXPECT_EQ(layout.grid_coords(1), (Extents{0, 1}));
    EXPECT_EQ(layout.grid_coords(3), (Extents{1, 0}));
    EXPECT_EQ(layout.grid_coords(5), (Extents{1, 2}));
    EXPECT_EQ(patch_string(layout.patch(5)), "4:8x0:8x6:8");
}

TEST(Layout, ChangesOfShapeAndDivisionKeepTheRest) {
    const Layout layout({8, 6, 10}, {{2, 0, Division::block}, {3, 1, Division::cyclic}});
    EXPECT_EQ(layout.with_extent(2, 6).shape(), (Extents{8, 6, 6}));
    EXPECT_EQ(layout.with_extent(2, 6).grid(), layout.grid());
    const Layout batched = layout.with_leading_axis(4);
    EXPECT_EQ(batched.shape(), (Extents{4, 8, 6, 10}));
    EXPECT_TRUE(batched.is_whole(0));
    for (int rank = 0; rank < 6; ++rank) EXPECT_EQ(batched.local_elems(rank), 4 * layout.local_elems(rank));
    const Layout moved = layout.with_division(1, 2);
    EXPECT_TRUE(moved.is_whole(1));
    EXPECT_FALSE(moved.is_whole(2));
    expect_tiled(moved);
}

TEST(Layout, DescriptionsSayWhichAxisIsDividedHow) {
    EXPECT_EQ(Layout({64, 64, 33}, {{2, 0, Division::block}, {3, 1, Division::cyclic}}).describe(), "[64/2, 64%3, 33]");
    EXPECT_EQ(Layout({66}, {{3, 0, Division::block, 6}}).describe(), "[66/3 by 6]");
    EXPECT_EQ(Layout({4}, {}).describe(), "[4]");
    EXPECT_EQ(Layout::from_boxes({4}, {{{0, 4, 1}}}).value().describe(), "[4] in 1 given boxes");
}

TEST(Layout, BlocksOfRowsAreBalancedByRows) {
    const Layout layout({10}, {{4, 0, Division::block, 4}});
    for (const auto& [rank, patch] : {std::pair{0, "0:4"}, {1, "4:8"}, {2, "8:10"}, {3, "10:10"}})
        EXPECT_EQ(patch_string(layout.patch(rank)), patch);
    EXPECT_EQ(patch_string(layout.with_division(0, 0).patch(3)), "8:10");
}

TEST(Layout, PatchStringsShowSteps) {
    EXPECT_EQ(patch_string({{0, 4, 1}, {8, 8, 1}}), "0:4x8:16");
    EXPECT_EQ(patch_string({{0, 5, 2}, {0, 4, 1}}), "0:9:2x0:4");
    EXPECT_EQ(patch_string({{3, 0, 1}}), "3:3");
}

TEST(Intersect, EqualsBruteForceForAnyTwoProgressions) {
    Random random(4);
    SCOPED_TRACE(cat("seed ", random.seed()));
    for (int i = 0; i < 100000; ++i) {
        const auto some = [&] {
            AxisRange r{random.below(40), random.below(12), random.between(1, 15)};
            if (r.count <= 1) r.step = 1;
            return r;
        };
        const AxisRange a = some(), b = some();
        std::vector<index_t> brute;
        const auto of_b = indices(b);
        for (index_t x : indices(a)) {
            if (std::find(of_b.begin(), of_b.end(), x) != of_b.end()) brute.push_back(x);
        }
        const AxisRange both = intersect(a, b);
        ASSERT_EQ(indices(both), brute) << a.start << " " << a.count << " " << a.step << " and " << b.start << " "
                                        << b.count << " " << b.step;
        ASSERT_EQ(intersect(b, a), both);
    }
}

TEST(Intersect, OfCyclicPartsFollowsTheChineseRemainderTheorem) {
    // 2 mod 3 and 3 mod 5 is 8 mod 15.
    EXPECT_EQ(intersect(cyclic_range(100, 3, 2), cyclic_range(100, 5, 3)), (AxisRange{8, 7, 15}));
    // 1 mod 4 and 2 mod 6 never meet: their steps share the factor 2.
    EXPECT_EQ(intersect(cyclic_range(100, 4, 1), cyclic_range(100, 6, 2)).count, 0);
    // Steps are numbers of ranks: near 2^20, over an axis of 2^40, nothing may overflow.
    const AxisRange far =
        intersect(AxisRange{5, index_t{1} << 20, (1 << 20) - 3}, AxisRange{7, index_t{1} << 20, (1 << 20) - 5});
    ASSERT_GT(far.count, 0);
    EXPECT_EQ((far.start - 5) % ((1 << 20) - 3), 0);
    EXPECT_EQ((far.start - 7) % ((1 << 20) - 5), 0);
}

TEST(Boxes, ThatTileTheArrayAreAccepted) {
    Random random(5);
    SCOPED_TRACE(cat("seed ", random.seed()));
    for (int i = 0; i < 1000; ++i) {
        const Extents shape = small_shape(random);
        const auto boxes = random_tiling(random, shape, static_cast<int>(random.between(1, 12)));
        const auto layout = Layout::from_boxes(shape, boxes);
        ASSERT_TRUE(layout.ok()) << layout.status().message();
        expect_tiled(layout.value());
    }
}

TEST(Boxes, ThatDoNotTileAreNeverAccepted) {
    Random random(6);
    SCOPED_TRACE(cat("seed ", random.seed()));
    int refused = 0;
    for (int i = 0; i < 3000; ++i) {
        const Extents shape = small_shape(random);
        auto boxes = random_tiling(random, shape, static_cast<int>(random.between(1, 6)));
        AxisRange& r = random.pick(boxes)[0].start >= 0
                           ? boxes[static_cast<size_t>(random.below(static_cast<index_t>(boxes.size())))][0]
                           : boxes[0][0];
        (random.chance(0.5) ? r.start : r.count) += random.chance(0.5) ? 1 : -1;
        // Brute force: inside, and each element once.
        std::vector<int> count(static_cast<size_t>(product(shape)));
        bool inside = true;
        for (const Patch& box : boxes) {
            for (size_t axis = 0; axis < shape.size(); ++axis) {
                inside = inside && box[axis].count >= 0 && box[axis].start >= 0 &&
                         box[axis].start + box[axis].count <= shape[axis];
            }
        }
        if (inside) {
            for (const Patch& box : boxes)
                for_each_index(shape, box, [&](index_t at) { ++count[static_cast<size_t>(at)]; });
        }
        const bool tiles =
            inside && std::count(count.begin(), count.end(), 1) == static_cast<std::ptrdiff_t>(count.size());
        ASSERT_EQ(check_tiling(shape, boxes).ok(), tiles) << check_tiling(shape, boxes).message();
        refused += !tiles;
    }
    EXPECT_GT(refused, 1000);
}

struct BadBoxes {
    const char* what;
    Extents shape;
    std::vector<Patch> boxes;
    std::vector<std::string> words;  // that the sentence must hold
};

TEST(Boxes, RefusalsNameTheCulprit) {
    const index_t huge = INT64_MAX;
    const std::vector<BadBoxes> table = {
        {"none", {4}, {}, {"no boxes"}},
        {"wrong number of axes", {4, 4}, {{{0, 4, 1}, {0, 4, 1}}, {{0, 4, 1}}}, {"rank 1", "1 axes", "has 2"}},
        {"outside", {4, 4}, {{{0, 4, 1}, {0, 5, 1}}}, {"rank 0", "0:4x0:5", "4x4", "axis 1"}},
        {"negative start", {4}, {{{-1, 2, 1}}, {{1, 3, 1}}}, {"rank 0", "-1:1", "axis 0"}},
        {"negative count", {4}, {{{0, 4, 1}}, {{4, -2, 1}}}, {"rank 1", "axis 0"}},
        {"a step", {4}, {{{0, 2, 2}}, {{1, 2, 2}}}, {"rank 0", "axis 0"}},
        {"end beyond 63 bits", {4}, {{{huge, 2, 1}}}, {"rank 0", "axis 0"}},
        {"count beyond 63 bits", {4}, {{{0, huge, 1}}}, {"rank 0", "axis 0"}},
        {"overlap",
         {4, 4},
         {{{0, 2, 1}, {0, 4, 1}}, {{2, 2, 1}, {0, 4, 1}}, {{3, 1, 1}, {1, 1, 1}}},
         {"ranks 1", "and 2", "3:4x1:2", "overlap", "4x4"}},
        {"gap", {4, 4}, {{{0, 2, 1}, {0, 4, 1}}, {{3, 1, 1}, {0, 4, 1}}}, {"12 of the 16", "4x4"}},
    };
    for (const auto& bad : table) {
        const Status status = Layout::from_boxes(bad.shape, bad.boxes).status();
        EXPECT_EQ(status.code(), Code::invalid_argument) << bad.what;
        for (const auto& word : bad.words) {
            EXPECT_NE(status.message().find(word), std::string::npos)
                << bad.what << ": '" << status.message() << "' lacks '" << word << "'";
        }
    }
}

TEST(Factorings, AreAllOrderedProductsOnce) {
    for (index_t ranks = 1; ranks <= 64; ++ranks) {
        for (int dims = 1; dims <= 4; ++dims) {
            const auto all = factorings(ranks, dims);
            const std::set<Extents> distinct(all.begin(), all.end());
            ASSERT_EQ(distinct.size(), all.size());
            for (const auto& f : all) {
                ASSERT_EQ(static_cast<int>(f.size()), dims);
                ASSERT_EQ(product(f), ranks);
            }
            // Their number is multiplicative: C(e + dims - 1, dims - 1) for each prime power p^e.
            size_t number = 1;
            const auto primes = prime_factors(ranks);
            for (size_t i = 0; i < primes.size();) {
                index_t e = 0;
                for (const index_t p = primes[i]; i < primes.size() && primes[i] == p; ++i) ++e;
                size_t ways = 1;
                for (index_t k = 1; k < dims; ++k) ways = ways * static_cast<size_t>(e + k) / static_cast<size_t>(k);
                number *= ways;
            }
            ASSERT_EQ(all.size(), number) << ranks << " in " << dims;
        }
    }
    EXPECT_EQ(factorings(1, 0).size(), 1u);
    EXPECT_TRUE(factorings(2, 0).empty());
}

TEST(Extents, ProductsThatDoNotFitAreNothing) {
    EXPECT_EQ(checked_mul(index_t{1} << 31, index_t{1} << 31), index_t{1} << 62);
    EXPECT_FALSE(checked_mul(index_t{1} << 32, index_t{1} << 31));
    EXPECT_FALSE(checked_product({index_t{1} << 40, index_t{1} << 40}));
    EXPECT_EQ(checked_product({index_t{1} << 40, index_t{1} << 40, 0}), 0);
    EXPECT_EQ(checked_product({}), 1);
    EXPECT_EQ(row_major_strides({2, 3, 4}), (Extents{12, 4, 1}));
    EXPECT_EQ(prime_factors(360), (std::vector<index_t>{2, 2, 2, 3, 3, 5}));
    EXPECT_EQ(prime_factors(999983 * index_t{999979}), (std::vector<index_t>{999979, 999983}));
    EXPECT_EQ(prime_factors(INT64_MAX), (std::vector<index_t>{7, 7, 73, 127, 337, 92737, 649657}));
    EXPECT_EQ(prime_factors(1018081), (std::vector<index_t>{1009, 1009}));
    EXPECT_EQ(prime_factors(999999999989), (std::vector<index_t>{999999999989}));
    EXPECT_EQ(prime_factors(9223372036854775783), (std::vector<index_t>{9223372036854775783}));
    EXPECT_EQ(largest_prime_factor(1), 1);
    EXPECT_EQ(shape_string({256, 256, 129}), "256x256x129");
}

}  // namespace
}  // namespace spanfft::test
