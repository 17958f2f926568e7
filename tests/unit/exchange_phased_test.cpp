// The schedules of `phased`: every pair once, partners mutual, and the loads that P2 claims, counted link by link with
// a router of the test's own (shortest way, dimension after dimension, the farthest split over both ways).
#include "exchange/phased.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "support/oracle.hpp"
#include "support/thread_comm.hpp"

namespace spanfft::test {
namespace {

void expect_every_pair_once(const std::vector<std::vector<Partners>>& by_rank) {
    const int size = static_cast<int>(by_rank.size());
    for (int rank = 0; rank < size; ++rank) {
        const auto& mine = by_rank[static_cast<size_t>(rank)];
        ASSERT_EQ(mine.size(), by_rank.front().size()) << "rank " << rank << " has another number of phases";
        std::vector<int> met(static_cast<size_t>(size), 0);
        for (size_t phase = 0; phase < mine.size(); ++phase) {
            for (const int peer : mine[phase]) {
                ++met[static_cast<size_t>(peer)];
                const auto& theirs = by_rank[static_cast<size_t>(peer)][phase];
                EXPECT_EQ(std::count(theirs.begin(), theirs.end(), rank), 1)
                    << "rank " << rank << " meets " << peer << " in phase " << phase << ", but not the other way";
            }
        }
        for (int peer = 0; peer < size; ++peer)
            EXPECT_EQ(met[static_cast<size_t>(peer)], peer != rank) << "rank " << rank << " and " << peer;
    }
}

std::vector<std::vector<Partners>> on_torus(const Extents& torus) {
    std::vector<std::vector<Partners>> by_rank;
    for (int place = 0; place < product(torus); ++place) by_rank.push_back(torus_partners(torus, place));
    return by_rank;
}

// Twice the messages on each link of one phase: links are (dimension, direction, node they leave).
class Links {
  public:
    explicit Links(const Extents& torus) : torus_(torus) {}
    void send(int from, int to) {
        Extents at = coordinates(from);
        const Extents end = coordinates(to);
        for (size_t dim = 0; dim < torus_.size(); ++dim) {
            const index_t p = torus_[dim], up = (end[dim] - at[dim] + p) % p;
            if (2 * up <= p) walk(at, dim, +1, up, 2 * up == p ? 1 : 2);
            if (2 * up >= p) walk(at, dim, -1, p - up, 2 * up == p ? 1 : 2);
            at[dim] = end[dim];
        }
    }
    // The loads of all links of a dimension, idle ones included.
    std::set<int> loads(size_t dim) const {
        std::set<int> all;
        for (const int direction : {+1, -1}) {
            for (int node = 0; node < product(torus_); ++node) {
                const auto at = load_.find({dim, direction, coordinates(node)});
                all.insert(at == load_.end() ? 0 : at->second);
            }
        }
        return all;
    }

  private:
    Extents coordinates(int node) const {
        Extents coords(torus_.size());
        index_t rest = node;
        for (size_t dim = torus_.size(); dim-- > 0; rest /= torus_[dim]) coords[dim] = rest % torus_[dim];
        return coords;
    }
    void walk(Extents at, size_t dim, int direction, index_t hops, int halves) {
        for (index_t hop = 0; hop < hops; ++hop) {
            load_[{dim, direction, at}] += halves;
            at[dim] = (at[dim] + direction + torus_[dim]) % torus_[dim];
        }
    }
    Extents torus_;
    std::map<std::tuple<size_t, int, Extents>, int> load_;
};

Links loaded(const std::vector<std::vector<Partners>>& by_rank, const Extents& torus, size_t phase) {
    Links links(torus);
    for (size_t rank = 0; rank < by_rank.size(); ++rank) {
        for (const int peer : by_rank[rank][phase]) links.send(static_cast<int>(rank), peer);
    }
    return links;
}

TEST(PhasedSchedule, PairwiseRoundsMeetEveryPairOnce) {
    for (int size = 1; size <= 17; ++size) {
        std::vector<std::vector<Partners>> by_rank;
        for (int place = 0; place < size; ++place) by_rank.push_back(pairwise_partners(size, place));
        expect_every_pair_once(by_rank);
        for (const auto& rounds : by_rank) {
            for (const Partners& partners : rounds) EXPECT_LE(partners.size(), 1u);
        }
    }
}

TEST(PhasedSchedule, TorusPhasesMeetEveryPairOnceAndAtMostFourAtATime) {
    for (const Extents& torus : std::vector<Extents>{
             {2}, {4}, {6}, {8}, {16}, {2, 2}, {4, 4}, {4, 6}, {8, 8}, {2, 8, 6}, {4, 4, 2}, {4, 4, 4}, {2, 4, 2, 4}}) {
        SCOPED_TRACE(shape_string(torus));
        const auto by_rank = on_torus(torus);
        expect_every_pair_once(by_rank);
        for (const auto& phases : by_rank) {
            for (const Partners& partners : phases) EXPECT_LE(partners.size(), 4u);
        }
    }
}

TEST(PhasedSchedule, EveryLinkOfADimensionCarriesHalfItsExtentInEveryPhase) {
    for (const Extents& torus : std::vector<Extents>{{8}, {16}, {8, 8}, {4, 4, 4}, {8, 4}, {4, 4, 8}}) {
        SCOPED_TRACE(shape_string(torus));
        const auto by_rank = on_torus(torus);
        // P ranks meet P - 1 others, four a phase, three in the phase in which a rank is its own partner.
        EXPECT_EQ(static_cast<index_t>(by_rank.front().size()), product(torus) / 4);
        for (size_t phase = 0; phase < by_rank.front().size(); ++phase) {
            const Links links = loaded(by_rank, torus, phase);
            for (size_t dim = 0; dim < torus.size(); ++dim) {
                // p/2 messages each way, counted in halves.
                EXPECT_EQ(links.loads(dim), std::set<int>{static_cast<int>(torus[dim])})
                    << "dimension " << dim << ", phase " << phase;
            }
        }
    }
}

TEST(PhasedSchedule, OnlyARingThatIsNoMultipleOfFourHasOneLighterPhase) {
    for (const Extents& torus : std::vector<Extents>{{6}, {10}, {2}}) {
        const auto by_rank = on_torus(torus);
        const size_t last = by_rank.front().size() - 1;
        for (size_t phase = 0; phase < last; ++phase)
            EXPECT_EQ(loaded(by_rank, torus, phase).loads(0), std::set<int>{static_cast<int>(torus[0])});
        EXPECT_EQ(loaded(by_rank, torus, last).loads(0), std::set<int>{static_cast<int>(torus[0]) / 2});
    }
    for (const Extents& torus : std::vector<Extents>{{6, 6}, {2, 6}, {6, 4, 2}}) {
        const auto by_rank = on_torus(torus);
        for (size_t phase = 0; phase < by_rank.front().size(); ++phase) {
            for (size_t dim = 0; dim < torus.size(); ++dim)
                EXPECT_EQ(loaded(by_rank, torus, phase).loads(dim), std::set<int>{static_cast<int>(torus[dim])});
        }
    }
}

TEST(PhasedSchedule, ThePapersRingMeetsThePartnersOfItsFormula) {
    // p = 8: phase i = 1 with 1, 7 and p/2 - i = 3, 5; phase 0 with p/4 = 2, 6 and p/2 = 4.
    const auto phases = torus_phases({8});
    ASSERT_EQ(phases.size(), 2u);
    const auto sorted = [](std::vector<Extents> offsets) {
        std::sort(offsets.begin(), offsets.end());
        return offsets;
    };
    EXPECT_EQ(sorted(phases[0]), (std::vector<Extents>{{1}, {3}, {5}, {7}}));
    EXPECT_EQ(sorted(phases[1]), (std::vector<Extents>{{2}, {4}, {6}}));
}

ExchangeSpec slab(index_t ranks, const std::string& parameter) {
    const Layout from({64, 64}, {{ranks, 0, Division::block}});
    ExchangeSpec spec{from, from.with_division(0, 1), 16};
    spec.parameter = parameter;
    return spec;
}

TEST(PhasedParameter, NamesValueAndRemedyWhenItIsWrong) {
    const auto* phased = find_exchange("phased").strategy;
    for (const std::string bad :
         {"4x", "x4", "4x4/", "4x4/0", "/", "4/2/2", "five", "-4x2", "4x0", "3x4", "4x4x2", "99"}) {
        const Status status = phased->check(slab(16, bad));
        EXPECT_EQ(status.code(), Code::invalid_argument) << bad;
        EXPECT_NE(status.message().find("'" + bad + "'"), std::string::npos) << status.message();
        EXPECT_NE(status.message().find("phased:4x4x2/3"), std::string::npos) << status.message();
    }
    for (const std::string good : {"", "4x4", "4x4/2", "/3", "2x2x2x2", "8", "2x1x8"})
        EXPECT_TRUE(phased->check(slab(16, good)).ok()) << good;
}

TEST(PhasedParameter, TorusIsUsedByGroupsThatFillItsDimensions) {
    EXPECT_EQ(phases_of(slab(16, "4x4"), 0).value().size(), 4u);   // 16/4 phases
    EXPECT_EQ(phases_of(slab(16, "8"), 0).value().size(), 16u);    // a torus of half the ranks: pairwise
    EXPECT_EQ(phases_of(slab(15, "3x5"), 0).value().size(), 15u);  // odd: pairwise
    // Ranks in a grid of 4 rows of 8; the torus is 4x8 likewise. Exchanges along rows and columns fill one dimension.
    const Layout from({64, 64, 64}, {{4, 0, Division::block}, {8, 1, Division::block}});
    ExchangeSpec spec{from, from.with_division(1, 2), 16};
    spec.parameter = "4x8";
    EXPECT_EQ(phases_of(spec, 9).value(), torus_partners({8}, 1));  // rank 9 is second in its row 8-15
    spec.to = from.with_division(0, 2);
    EXPECT_EQ(phases_of(spec, 9).value(), torus_partners({4}, 1));
    spec.parameter = "8x4";  // a column of the grid (1, 9, 17, 25) fills no dimension of that torus
    EXPECT_EQ(phases_of(spec, 9).value(), pairwise_partners(4, 1));
    spec.parameter = "2x2x8";  // but both of the first two here
    EXPECT_EQ(phases_of(spec, 9).value(), torus_partners({2, 2}, 1));
}

TEST(PhasedExchange, HasABarrierBetweenGroupsOfPhases) {
    // 8 ranks on a ring: 2 phases. One barrier when each is a group, none when they are one; 8 rounds, 7 barriers.
    for (const auto& [parameter, barriers] :
         std::vector<std::pair<std::string, index_t>>{{"8/1", 1}, {"8/2", 0}, {"/1", 7}, {"/3", 2}, {"", 0}}) {
        const ExchangeSpec spec = slab(8, parameter);
        ThreadWorld world(8);
        world.run([&](int rank, Comm& comm) {
            auto exchange = find_exchange("phased").strategy->bind({comm, spec, rank, nullptr});
            ASSERT_TRUE(exchange.ok()) << exchange.status().message();
            std::vector<char> source(64 * 8 * 16), target(64 * 8 * 16);
            const index_t before = world.calls(rank, CommCall::barrier);
            EXPECT_TRUE(exchange.value()->run(source.data(), target.data()).ok());
            EXPECT_EQ(world.calls(rank, CommCall::barrier) - before, barriers) << parameter;
        });
    }
}

TEST(PhasedPlan, IsExactWithAndWithoutATorus) {
    for (const std::string exchange :
         {"phased", "phased:/1", "phased:4x2/1", "phased:2x2x2", "phased:8/2", "phased:4"}) {
        check_plan("c2c 6x9x10 threads=1 ranks=8 exchange=" + exchange);
        check_plan("r2c 6x5x8 threads=1 ranks=8 grid=4x2 backward exchange=" + exchange);
        check_plan("r2c 2x3x4 threads=1 ranks=8 output=exchanged exchange=" + exchange);
    }
    for (const std::string ranks : {"2", "3", "5", "6", "7"})
        check_plan("c2c 5x6x7 threads=1 exchange=phased ranks=" + ranks);
}

TEST(PhasedPlan, ToldToUseAnImpossibleTorusIsRefused) {
    Random random(1);
    const Problem problem = Problem::parse("c2c 8x8 ranks=4 exchange=phased:3x3").value();
    const PlanRun run = run_on_threads(problem, random_input(random, problem));
    EXPECT_EQ(run.status.code(), Code::invalid_argument);
    EXPECT_NE(run.status.message().find("3x3"), std::string::npos) << run.status.message();
}

}  // namespace
}  // namespace spanfft::test
