// What must move between two layouts: both ends of every message agree, and everything moves once.
#include "layout/meet.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "support/oracle.hpp"
#include "support/random.hpp"

namespace spanfft::test {
namespace {

// Global linear indices of a piece of the local array that holds `mine`, in local C order.
std::vector<index_t> global_indices(const Extents& shape, const Patch& mine, const Piece& piece) {
    Patch global;
    for (size_t axis = 0; axis < mine.size(); ++axis) {
        const AxisRange& l = piece.local[axis];
        global.push_back({mine[axis].at(l.start), l.count, l.step * mine[axis].step});
    }
    std::vector<index_t> result;
    if (piece.elems() > 0) for_each_index(shape, global, [&](index_t i) { result.push_back(i); });
    return result;
}

// Owner of each element.
std::vector<int> owners(const Layout& layout) {
    std::vector<int> owner(static_cast<size_t>(product(layout.shape())), -1);
    for (int rank = 0; rank < layout.nranks(); ++rank) {
        for_each_index(layout.shape(), layout.patch(rank), [&](index_t i) { owner[static_cast<size_t>(i)] = rank; });
    }
    return owner;
}

void expect_consistent(const Layout& from, const Layout& to) {
    SCOPED_TRACE(from.describe() + " -> " + to.describe());
    const int ranks = from.nranks();
    const Extents& shape = from.shape();
    const auto from_owner = owners(from), to_owner = owners(to);
    std::vector<int> moved(from_owner.size());
    for (int rank = 0; rank < ranks; ++rank) {
        const auto group = exchange_group(from, to, rank);
        ASSERT_TRUE(std::is_sorted(group.begin(), group.end()));
        ASSERT_EQ(std::count(group.begin(), group.end(), rank), 1);
        for (int peer : group) ASSERT_EQ(exchange_group(from, to, peer), group) << "peer " << peer;
        const auto sends = pieces_to_send(from, to, rank);
        ASSERT_EQ(sends.size(), group.size());
        for (size_t i = 0; i < sends.size(); ++i) {
            const int peer = group[i];
            ASSERT_EQ(sends[i].peer, peer);
            const auto sent = global_indices(shape, from.patch(rank), sends[i]);
            // The same elements in the same order at the other end.
            const auto receives = pieces_to_receive(from, to, peer);
            const auto mine =
                std::find_if(receives.begin(), receives.end(), [&](const Piece& p) { return p.peer == rank; });
            ASSERT_NE(mine, receives.end());
            ASSERT_EQ(global_indices(shape, to.patch(peer), *mine), sent);
            for (index_t g : sent) {
                ASSERT_EQ(from_owner[static_cast<size_t>(g)], rank);
                ASSERT_EQ(to_owner[static_cast<size_t>(g)], peer);
                ++moved[static_cast<size_t>(g)];
            }
        }
    }
    EXPECT_EQ(std::count(moved.begin(), moved.end(), 1), static_cast<std::ptrdiff_t>(moved.size()))
        << "not everything moves once";
}

Extents small_shape(Random& random) {
    Extents shape;
    for (index_t i = random.between(1, 4); i > 0; --i) shape.push_back(random.chance(0.2) ? 1 : random.between(1, 7));
    return shape;
}

TEST(Meet, BlocksAndCyclicLayoutsMoveEverythingOnce) {
    Random random(11);
    SCOPED_TRACE(cat("seed ", random.seed()));
    for (int i = 0; i < 600; ++i) {
        const Extents shape = small_shape(random);
        const int ranks = static_cast<int>(random.between(1, 12));
        expect_consistent(random_grid_layout(random, shape, ranks, true),
                          random_grid_layout(random, shape, ranks, true));
    }
}

TEST(Meet, BoxesAndGridsMoveEverythingOnce) {
    Random random(12);
    SCOPED_TRACE(cat("seed ", random.seed()));
    for (int i = 0; i < 400; ++i) {
        const Extents shape = small_shape(random);
        const int ranks = static_cast<int>(random.between(1, 9));
        const auto some = [&] {
            if (random.chance(0.3)) return random_grid_layout(random, shape, ranks, true);
            return Layout::from_boxes(shape, random_tiling(random, shape, ranks)).value();
        };
        const Layout from = some(), to = some();
        expect_consistent(from, to);
    }
}

TEST(Meet, HoldersAndCountsAreThoseOfLookingAtEachRank) {
    Random random(13);
    SCOPED_TRACE(cat("seed ", random.seed()));
    for (int i = 0; i < 600; ++i) {
        const Extents shape = small_shape(random);
        const int ranks = static_cast<int>(random.between(1, 12));
        const Layout boxes = Layout::from_boxes(shape, random_tiling(random, shape, ranks)).value();
        for (const Layout& theirs :
             {boxes, boxes.with_leading_axis(3), random_grid_layout(random, shape, ranks, true)}) {
            Patch patch;  // now and then empty, or with steps
            for (const index_t n : theirs.shape()) {
                const index_t start = random.between(0, n - 1), step = random.chance(0.3) ? random.between(1, 3) : 1;
                patch.push_back({start, random.between(random.chance(0.9) ? 1 : 0, (n - 1 - start) / step + 1), step});
            }
            std::vector<int> expected;
            for (int rank = 0; rank < ranks; ++rank) {
                if (common_elems(patch, theirs, rank) > 0) expected.push_back(rank);
            }
            for (int axis = 0; axis < theirs.ndim(); ++axis) {
                std::set<index_t> counts;
                for (int rank = 0; rank < ranks; ++rank) counts.insert(theirs.range(rank, axis).count);
                ASSERT_EQ(theirs.counts_along(axis), std::vector<index_t>(counts.begin(), counts.end()));
            }
            ASSERT_EQ(theirs.holders(patch), expected) << theirs.describe() << ", " << patch_string(patch);
        }
    }
}

// What a rank sends to and receives from a member, as shapes.
using Shapes = std::pair<Extents, Extents>;

// The kinds of peers against the members themselves, one by one.
void expect_kinds(const Layout& from, const Layout& to, int rank) {
    const auto sends = pieces_to_send(from, to, rank), receives = pieces_to_receive(from, to, rank);
    std::map<int, Shapes> of_peer;
    std::map<Shapes, index_t> expected, found;
    for (size_t i = 0; i < sends.size(); ++i) {
        if (sends[i].elems() == 0 && receives[i].elems() == 0) continue;
        const Shapes shapes{patch_shape(sends[i].local), patch_shape(receives[i].local)};
        of_peer[sends[i].peer] = shapes;
        ++expected[shapes];
    }
    for (const PeerKind& kind : peer_kinds(from, to, rank)) {
        ASSERT_TRUE(of_peer.count(kind.peer)) << "rank " << rank << " has nothing to do with " << kind.peer;
        ASSERT_TRUE(kind.peer == rank ? kind.times == 1 : kind.times >= 1);
        found[of_peer[kind.peer]] += kind.times;
    }
    ASSERT_EQ(found, expected) << "rank " << rank;
}

TEST(Meet, KindsOfPeersStandForAllMembers) {
    Random random(13);
    SCOPED_TRACE(cat("seed ", random.seed()));
    for (int i = 0; i < 800; ++i) {
        const Extents shape = small_shape(random);
        const int ranks = static_cast<int>(random.between(1, 12));
        const auto some = [&] {
            if (random.chance(0.9)) return random_grid_layout(random, shape, ranks, true);
            return Layout::from_boxes(shape, random_tiling(random, shape, ranks)).value();
        };
        const Layout from = some(), to = some();
        SCOPED_TRACE(from.describe() + " -> " + to.describe());
        for (int rank = 0; rank < ranks; ++rank) expect_kinds(from, to, rank);
    }
}

TEST(Meet, ThousandsOfPeersAreAFewKinds) {
    // 1000 planes over 512 ranks are 488 times 2 and 24 times 1; rank 7 meets itself and those.
    const Layout rows({1000, 1000}, {{512, 0, Division::block}}), columns({1000, 1000}, {{512, 1, Division::block}});
    const auto kinds = peer_kinds(rows, columns, 7);
    ASSERT_EQ(kinds.size(), 3u);
    index_t ranks = 0;
    for (const PeerKind& kind : kinds) ranks += kind.times;
    EXPECT_EQ(ranks, 512);
    // From rank 0, which has all: itself, 487 that get two planes, and 24 that get one.
    std::vector<Patch> boxes(512, Patch{{0, 0, 1}, {0, 0, 1}});
    boxes[0] = {{0, 1000, 1}, {0, 1000, 1}};
    const Layout on_one = Layout::from_boxes({1000, 1000}, boxes).value();
    EXPECT_EQ(peer_kinds(on_one, rows, 0).size(), 3u);
    EXPECT_EQ(peer_kinds(on_one, rows, 7).size(), 1u);
}

TEST(Meet, OnlyRanksThatDifferInAChangedGridDimensionFormAGroup) {
    // 2 x 3 ranks; the second dimension moves from axis 1 to axis 2: ranks 0 1 2 and 3 4 5.
    const Layout from({8, 9, 10}, {{2, 0, Division::block}, {3, 1, Division::block}});
    EXPECT_EQ(exchange_group(from, from.with_division(1, 2), 1), (std::vector<int>{0, 1, 2}));
    EXPECT_EQ(exchange_group(from, from.with_division(1, 2), 5), (std::vector<int>{3, 4, 5}));
    EXPECT_EQ(exchange_group(from, from.with_division(0, 2), 4), (std::vector<int>{1, 4}));
    EXPECT_EQ(exchange_group(from, from, 4), (std::vector<int>{4}));
    const Layout boxes = Layout::from_boxes({8, 9, 10},
                                            [&] {
                                                std::vector<Patch> all;
                                                for (int rank = 0; rank < 6; ++rank) all.push_back(from.patch(rank));
                                                return all;
                                            }())
                             .value();
    EXPECT_EQ(exchange_group(from, boxes, 4).size(), 6u);
}

TEST(Meet, FromBlocksToCyclicRankOneSendsEveryOtherIndex) {
    // 8 indices, 2 ranks: rank 1 has 4 5 6 7 in blocks; 4 and 6 go to rank 0, 5 and 7 stay.
    const Layout block({8}, {{2, 0, Division::block}}), cyclic({8}, {{2, 0, Division::cyclic}});
    const auto sends = pieces_to_send(block, cyclic, 1);
    EXPECT_EQ(sends[0].local, (Patch{{0, 2, 2}}));
    EXPECT_EQ(sends[1].local, (Patch{{1, 2, 2}}));
    const auto receives = pieces_to_receive(block, cyclic, 1);
    EXPECT_EQ(receives[0].local, (Patch{{0, 2, 1}}));
    EXPECT_EQ(receives[1].local, (Patch{{2, 2, 1}}));
}

}  // namespace
}  // namespace spanfft::test
