// One test over the whole exchange table: whatever a strategy is called, it moves every element to where the layouts
// say, sends what it predicted and allocates the buffers that it predicted. A new row in the table is tested by being
// there.
#include "exchange/exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <mutex>
#include <set>

#include "comm/counted_comm.hpp"
#include "comm/strided_copy.hpp"
#include "exchange/chunked.hpp"
#include "support/oracle.hpp"
#include "support/random.hpp"
#include "support/sanitized.hpp"
#include "support/thread_comm.hpp"

namespace spanfft::test {
namespace {

// Byte b of element g of the global array; differs between elements and between bytes.
unsigned char byte_of(index_t g, index_t b) { return static_cast<unsigned char>((g * 31 + b * 7 + (g >> 8)) & 0xFF); }

// Strategies that change the data are given real numbers instead: as many as there are in the element.
template <class Real>
void append_reals(std::vector<unsigned char>& local, index_t g, index_t elem_bytes) {
    for (index_t k = 0; k < elem_bytes / static_cast<index_t>(sizeof(Real)); ++k) {
        const Real x = static_cast<Real>((byte_of(g, k) - 127.5) / 3);
        const auto* bytes = reinterpret_cast<const unsigned char*>(&x);
        local.insert(local.end(), bytes, bytes + sizeof x);
    }
}

std::vector<unsigned char> local_array(const Layout& layout, int rank, const ExchangeSpec& spec, bool approximate) {
    std::vector<unsigned char> local;
    const index_t elem_bytes = spec.elem_bytes;
    if (approximate) {
        for_each_index(layout.shape(), layout.patch(rank), [&](index_t g) {
            if (spec.precision == Precision::single) {
                append_reals<float>(local, g, elem_bytes);
            } else {
                append_reals<double>(local, g, elem_bytes);
            }
        });
        return local;
    }
    for_each_index(layout.shape(), layout.patch(rank), [&](index_t g) {
        for (index_t b = 0; b < elem_bytes; ++b) local.push_back(byte_of(g, b));
    });
    return local;
}

template <class Real>
double relative_l2(const std::vector<unsigned char>& got, const std::vector<unsigned char>& wanted) {
    double error = 0, norm = 0;
    for (size_t i = 0; i + sizeof(Real) <= wanted.size(); i += sizeof(Real)) {
        Real a, b;
        std::memcpy(&a, &got[i], sizeof a);
        std::memcpy(&b, &wanted[i], sizeof b);
        error += (static_cast<double>(a) - b) * (static_cast<double>(a) - b);
        norm += static_cast<double>(b) * b;
    }
    return norm > 0 ? std::sqrt(error / norm) : error;
}

bool is_as_wanted(const std::vector<unsigned char>& got, const std::vector<unsigned char>& wanted,
                  const ExchangeSpec& spec, bool approximate) {
    if (!approximate) return got == wanted;
    const double bound = spec.parameter.empty() || spec.parameter == "float" ? 0x1p-24 : std::stod(spec.parameter);
    if (spec.precision == Precision::single) return relative_l2<float>(got, wanted) <= bound;
    return relative_l2<double>(got, wanted) <= bound;
}

void expect_moved_so(const ExchangeStrategy& strategy, const ExchangeSpec& spec) {
    SCOPED_TRACE(cat(exchange_text(strategy, spec.parameter), ": ", spec.from.describe(), " -> ", spec.to.describe(),
                     " of ", spec.elem_bytes, " bytes on ", spec.from.nranks(), " ranks"));
    ThreadWorld world(spec.from.nranks());
    std::mutex mutex;
    world.run([&](int rank, Comm& comm) {
        const auto group = exchange_group(spec.from, spec.to, rank);
        auto counts = std::make_shared<Counts>();
        auto part = comm.split(group.front(), rank);
        if (!part.ok()) return;
        auto counted = make_counted_comm(std::move(part).value(), counts);
        auto exchange = strategy.bind({*counted, spec, rank, nullptr});
        const auto source = local_array(spec.from, rank, spec, strategy.approximate);
        const auto wanted = local_array(spec.to, rank, spec, strategy.approximate);
        std::vector<unsigned char> kept = source, target(wanted.size(), 0xEE);
        Status status = exchange.status();
        for (int time = 0; time < 2 && status.ok(); ++time) {
            std::fill(target.begin(), target.end(), 0xEE);
            status = exchange.value()->run(source.data(), target.data());
        }
        const Counts wanted_counts = strategy.predict(spec, rank);
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(status.ok()) << status.message();
        if (!status.ok()) return;
        EXPECT_TRUE(is_as_wanted(target, wanted, spec, strategy.approximate))
            << "rank " << rank << " holds the wrong elements";
        EXPECT_TRUE(source == kept) << "rank " << rank << ": the source was changed";
        EXPECT_EQ(counts->messages, 2 * wanted_counts.messages) << "rank " << rank;
        EXPECT_EQ(counts->sent_bytes, 2 * wanted_counts.sent_bytes) << "rank " << rank;
        EXPECT_EQ(counts->calls, 2 * wanted_counts.calls) << "rank " << rank;
        EXPECT_EQ(world.sent_by(rank).messages, 2 * wanted_counts.messages) << "rank " << rank;
        EXPECT_EQ(world.sent_by(rank).bytes, 2 * wanted_counts.sent_bytes) << "rank " << rank;
        EXPECT_EQ(exchange.value()->moved_bytes(), 2 * wanted_counts.memory_bytes) << "rank " << rank;
    });
    EXPECT_EQ(world.open_comms(), 0);
}

// "overlap" means overlap by default and with every parameter that it proposes for this exchange, "overlap:3" just
// that.
void expect_moved(const std::string& text, ExchangeSpec spec) {
    const auto [strategy, parameter] = find_exchange(text);
    std::vector<std::string> parameters{parameter};
    if (strategy->approximate && spec.elem_bytes == 4) {  // floats: only a bound makes them shorter
        spec.precision = Precision::single;
        parameters = {"1e-3"};
    } else if (parameter.empty()) {
        for (const std::string& candidate : strategy->candidates(spec)) {
            if (!candidate.empty()) parameters.push_back(candidate);
        }
    }
    for (const std::string& each : parameters) {
        spec.parameter = each;
        EXPECT_TRUE(strategy->check(spec).ok()) << strategy->check(spec).message();
        expect_moved_so(*strategy, spec);
    }
}

Extents some_shape(Random& random) {
    Extents shape;
    for (index_t i = random.between(1, 4); i > 0; --i) shape.push_back(random.chance(0.15) ? 1 : random.between(1, 9));
    return shape;
}

class EveryExchange : public testing::TestWithParam<std::string> {
  protected:
    const std::string& text() const { return GetParam(); }
    const ExchangeStrategy& strategy() const { return *find_exchange(text()).strategy; }
    bool is_plain() const { return text().find(':') == std::string::npos; }
};

TEST_P(EveryExchange, MovesBlocksToBlocksOnAnyGrid) {
    Random random(21);
    SCOPED_TRACE(cat("seed ", random.seed()));
    for (int i = 0; i < (is_plain() ? 250 : 60) / kPointStep; ++i) {
        const Extents shape = some_shape(random);
        const int ranks = static_cast<int>(random.between(1, 8));
        expect_moved(text(),
                     {random_grid_layout(random, shape, ranks, false), random_grid_layout(random, shape, ranks, false),
                      random.pick(std::vector<index_t>{4, 8, 16, 32})});
        if (HasFailure()) return;
    }
}

TEST_P(EveryExchange, MovesOneGridDimensionFromAxisToAxis) {
    for (const index_t ranks : {2, 3, 4, 6, 8}) {
        for (const Extents& parts : factorings(ranks, 2)) {
            const Layout from({5, 6, 7}, {{parts[0], 0, Division::block}, {parts[1], 1, Division::block}});
            for (const index_t elem : {4, 8, 16, 32}) expect_moved(text(), {from, from.with_division(1, 2), elem});
            expect_moved(text(), {from.with_division(1, 2), from, 16});
        }
    }
}

TEST_P(EveryExchange, MovesBoxesToBlocksAndBack) {
    Random random(22);
    SCOPED_TRACE(cat("seed ", random.seed()));
    for (int i = 0; i < (is_plain() ? 150 : 40) / kPointStep; ++i) {
        const Extents shape = some_shape(random);
        const int ranks = static_cast<int>(random.between(1, 8));
        Layout boxes = Layout::from_boxes(shape, random_tiling(random, shape, ranks)).value();
        Layout grid = random_grid_layout(random, shape, ranks, false);
        if (random.chance(0.5)) std::swap(boxes, grid);
        expect_moved(text(), {boxes, grid, random.pick(std::vector<index_t>{4, 8, 16, 32})});
        if (HasFailure()) return;
    }
}

TEST_P(EveryExchange, MovesCyclicLayouts) {
    Random random(23);
    SCOPED_TRACE(cat("seed ", random.seed()));
    for (int i = 0; i < (is_plain() ? 100 : 30) / kPointStep; ++i) {
        const Extents shape = some_shape(random);
        const int ranks = static_cast<int>(random.between(1, 8));
        expect_moved(text(), {random_grid_layout(random, shape, ranks, true),
                              random_grid_layout(random, shape, ranks, true), 16});
        if (HasFailure()) return;
    }
}

TEST_P(EveryExchange, LeavesRanksWithoutElementsInPeace) {
    const Layout from({2, 2}, {{8, 0, Division::block}}), to({2, 2}, {{8, 1, Division::block}});
    expect_moved(text(), {from, to, 16});
}

TEST_P(EveryExchange, FailsOnAllRanksWhenOneCanNotMakeIt) {
    const Layout from({8, 8}, {{4, 0, Division::block}});
    ThreadWorld world(4);
    world.fail(2, strategy().uses_window ? CommCall::make_window : CommCall::make_transfer, 1);
    std::mutex mutex;
    world.run([&](int rank, Comm& comm) {
        const ExchangeChoice choice = find_exchange(text());
        const ExchangeSpec spec{from, from.with_division(0, 1), 8, Precision::dbl, choice.parameter};
        auto exchange = choice.strategy->bind({comm, spec, rank, nullptr});
        const Status all = agree(comm, exchange.status());
        const std::lock_guard lock(mutex);
        EXPECT_EQ(all.code(), Code::mpi_error);
        EXPECT_NE(all.message().find("rank 2"), std::string::npos) << all.message();
    });
    EXPECT_TRUE(world.fault_was_hit());
}

TEST_P(EveryExchange, LeavesNobodyWaitingWhenItFailsOnOneRank) {
    const Layout from({8, 8}, {{4, 0, Division::block}});
    const std::vector<CommCall> calls = strategy().uses_window
                                            ? std::vector<CommCall>{CommCall::barrier}
                                            : std::vector<CommCall>{CommCall::start, CommCall::finish};
    for (const CommCall call : calls) {
        for (const int nth : {1, 2}) {
            ThreadWorld world(4);
            world.fail(2, call, nth);
            std::mutex mutex;
            world.run([&](int rank, Comm& comm) {
                const ExchangeChoice choice = find_exchange(text());
                const ExchangeSpec spec{from, from.with_division(0, 1), 8, Precision::dbl, choice.parameter};
                auto exchange = choice.strategy->bind({comm, spec, rank, nullptr});
                const auto source = local_array(spec.from, rank, spec, strategy().approximate);
                std::vector<unsigned char> target(local_array(spec.to, rank, spec, strategy().approximate).size());
                for (int time = 0; time < 3; ++time) {
                    const Status all = agree(comm, exchange.value()->run(source.data(), target.data()));
                    const std::lock_guard lock(mutex);
                    EXPECT_TRUE(all.ok() || all.code() == Code::mpi_error) << all.message();
                    EXPECT_TRUE(all.ok() || all.message().find("rank 2") != std::string::npos) << all.message();
                    EXPECT_TRUE(all.ok() || time < nth) << "it goes on failing: " << all.message();
                }
            });
            EXPECT_TRUE(world.fault_was_hit());
        }
    }
}

std::vector<std::string> table_texts() {
    std::vector<std::string> texts;
    for (const auto& strategy : exchange_table()) texts.emplace_back(strategy.name);
    for (const std::string name : {"oneplane", "overlap", "standard", "replace"}) {
        for (const std::string planes : {":2", ":3", ":all", ":1000"}) texts.push_back(name + planes);
    }
    for (const std::string blocks : {":1", ":3", ":1000", ":thread", ":2,thread"}) {
        texts.push_back("blockvector" + blocks);
    }
    return texts;
}
INSTANTIATE_TEST_SUITE_P(Table, EveryExchange, testing::ValuesIn(table_texts()), [](const auto& tested) {
    std::string name = tested.param;
    std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
    return name;
});

TEST(ExchangeTable, EveryRowSaysWhatItIsAndWhereItIsFrom) {
    for (const auto& strategy : exchange_table()) {
        EXPECT_NE(strategy.name, std::string());
        EXPECT_NE(strategy.source, std::string());
        EXPECT_NE(strategy.how, std::string());
        EXPECT_EQ(find_exchange(strategy.name).strategy, &strategy);
        EXPECT_EQ(find_exchange(cat(strategy.name, ":4x2")).strategy, &strategy);
        EXPECT_EQ(find_exchange(cat(strategy.name, ":4x2")).parameter, "4x2");
        EXPECT_NE(exchange_names().find(strategy.name), std::string::npos);
    }
    EXPECT_EQ(find_exchange("pigeons").strategy, nullptr);
}

TEST(ExchangeTable, ParametersThatAreNoneAreNamedWithTheRemedy) {
    const Layout from({8, 8}, {{4, 0, Division::block}});
    for (const auto& [text, remedy] :
         std::vector<std::pair<std::string, std::string>>{{"overlap:none", "all"},
                                                          {"oneplane:0", "all"},
                                                          {"standard:-1", "all"},
                                                          {"replace:2x", "all"},
                                                          {"blockvector:0", "thread"},
                                                          {"blockvector:2,threads", "thread"},
                                                          {"alltoallv:2", "no parameter"}}) {
        const auto [strategy, parameter] = find_exchange(text);
        const Status status = strategy->check({from, from.with_division(0, 1), 16, Precision::dbl, parameter});
        EXPECT_EQ(status.code(), Code::invalid_argument) << text;
        EXPECT_NE(status.message().find("'" + parameter + "'"), std::string::npos) << status.message();
        EXPECT_NE(status.message().find(remedy), std::string::npos) << status.message();
    }
}

// P3, section 3: N/P planes; a call for each plane, or for each plane and peer.
TEST(ExchangeTable, CallsAreThoseOfTheFiveKernels) {
    const index_t n = 16;
    for (const index_t ranks : {1, 2, 4, 8}) {
        const Layout from({n, n, n}, {{ranks, 0, Division::block}});
        const auto calls = [&](const std::string& text) {
            const auto [strategy, parameter] = find_exchange(text);
            return strategy->predict({from, from.with_division(0, 1), 16, Precision::dbl, parameter}, 0).calls;
        };
        EXPECT_EQ(calls("replace"), (ranks - 1) * n / ranks);
        EXPECT_EQ(calls("standard"), 2 * (ranks - 1) * n / ranks);
        EXPECT_EQ(calls("overlap"), 2 * (ranks - 1) * n / ranks);
        EXPECT_EQ(calls("oneplane"), n / ranks);
        EXPECT_EQ(calls("alltoallv"), 1);
        // In between: P5's question.
        EXPECT_EQ(calls("overlap:4"), 2 * (ranks - 1) * ceil_div(n / ranks, 4));
        EXPECT_EQ(calls("overlap:all"), 2 * (ranks - 1));
        EXPECT_EQ(calls("overlap:9223372036854775807"), 2 * (ranks - 1));  // more planes than there are: all
        EXPECT_EQ(calls("oneplane:9223372036854775807"), 1);
        EXPECT_EQ(calls("blockvector:8"), std::min<index_t>(8, n / ranks));
    }
}

TEST(ExchangeTable, OnePlaneOfASlabIsSentWithoutPackingAndSeveralShareBuffersWhenOneIsUnderWay) {
    const Layout from({16, 16, 4}, {{4, 0, Division::block}});
    const auto buffer_bytes = [&](const std::string& text) {
        const auto [strategy, parameter] = find_exchange(text);
        return strategy->buffer_bytes({from, from.with_division(0, 1), 16, Precision::dbl, parameter}, 0);
    };
    EXPECT_EQ(buffer_bytes("oneplane"), 0);
    EXPECT_EQ(buffer_bytes("overlap"), 0);
    EXPECT_EQ(buffer_bytes("oneplane:2"), 2 * 12 * 4 * 16);  // 2 planes of 16x4, of which 4x4 each stay
    EXPECT_EQ(buffer_bytes("overlap:2"), 2 * buffer_bytes("oneplane:2"));
    EXPECT_EQ(buffer_bytes("oneplane:all"), buffer_bytes("alltoallv"));
    EXPECT_EQ(buffer_bytes("overlap:all"), buffer_bytes("alltoallv"));
}

TEST(ExchangeTable, PairsOfUnequalPartsReplaceTheLargerOfTheTwo) {
    // 5 rows and columns over 2 ranks: 3 and 2. Rank 0 sends 3x2, rank 1 2x3; plane by plane 2 against 3, 2 against 3,
    // and 2 against nothing.
    const Layout from({5, 5}, {{2, 0, Division::block}});
    const ExchangeSpec spec{from, from.with_division(0, 1), 8};
    for (const int rank : {0, 1}) {
        const Counts counts = find_exchange("replace").strategy->predict(spec, rank);
        EXPECT_EQ(counts.sent_bytes, (3 + 3 + 2) * 8);
        EXPECT_EQ(counts.messages, 3);
        EXPECT_EQ(counts.calls, 3);
    }
}

TEST(ExchangeTable, AThreadIsRefusedOnAllRanksWhereMpiAllowsNone) {
    const Layout from({8, 8}, {{4, 0, Division::block}});
    ThreadWorld world(4);
    world.calls_from_threads = false;
    std::mutex mutex;
    world.run([&](int rank, Comm& comm) {
        const ExchangeSpec spec{from, from.with_division(0, 1), 8, Precision::dbl, "2,thread"};
        const Status status = find_exchange("blockvector").strategy->bind({comm, spec, rank, nullptr}).status();
        const std::lock_guard lock(mutex);
        EXPECT_EQ(status.code(), Code::unsupported);
        EXPECT_NE(status.message().find("MPI_Init_thread"), std::string::npos) << status.message();
    });
}

TEST(ExchangeTable, EveryoneHasAtMostOnePartnerInARound) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
        for (int me = 0; me < ranks; ++me) {
            const auto peers = pair_rounds(me, ranks);
            EXPECT_EQ(std::set<int>(peers.begin(), peers.end()).size(), static_cast<size_t>(ranks - 1));
            for (int round = 0; round < ranks; ++round) {
                const int peer = (round - me + ranks) % ranks;
                EXPECT_EQ((round - peer + ranks) % ranks, me);
            }
        }
    }
}

TEST(ExchangeTable, AlltoallwNeedsNoBuffersAndAlltoallvPacksOneSideOfASlab) {
    const Layout from({8, 8}, {{4, 0, Division::block}});
    const ExchangeSpec spec{from, from.with_division(0, 1), 16};
    EXPECT_EQ(find_exchange("alltoallw").strategy->buffer_bytes(spec, 1), 0);
    // 2x8 elements, of which 2x2 stay: 12 elements are packed to be sent; what comes is contiguous rows? No: columns
    // of 8x2, in which a peer's 2x2 rows are contiguous. So the receiving side needs no buffer.
    EXPECT_EQ(find_exchange("alltoallv").strategy->buffer_bytes(spec, 1), 12 * 16);
}

TEST(StridedCopy, OfAnyTwoShapesIsTheOrderOfLoops) {
    Random random(24);
    SCOPED_TRACE(cat("seed ", random.seed()));
    for (int i = 0; i < 3000; ++i) {
        // A part of an array, copied to a part of another array, to contiguous memory, or from it.
        const index_t elem = random.pick(std::vector<index_t>{4, 8, 16, 32, 12});
        StridedPart from{0, {}, elem}, to{0, {}, elem};
        index_t from_stride = elem, to_stride = elem;
        for (index_t d = random.between(0, 4); d > 0; --d) {
            const index_t n = random.between(1, 4), step = random.chance(0.2) ? 2 : 1;
            from.dims.insert(from.dims.begin(), {n, step * from_stride});
            to.dims.insert(to.dims.begin(), {n, to_stride});
            from_stride *= step * n + random.below(2);
            to_stride *= n + random.below(2);
        }
        from.offset_bytes = random.below(3) * elem;
        to.offset_bytes = random.below(3) * elem;
        StridedPart contiguous{8, {{from.bytes(), 1}}, 1};
        const int way = static_cast<int>(random.below(3));
        const StridedPart& a = way == 1 ? contiguous : from;
        const StridedPart& b = way == 2 ? contiguous : to;
        const auto offsets = [](const StridedPart& p) {  // of every byte, in loop order
            std::vector<index_t> all{p.offset_bytes};
            for (const auto& dim : p.dims) {
                std::vector<index_t> next;
                for (index_t base : all) {
                    for (index_t k = 0; k < dim.count; ++k) next.push_back(base + k * dim.stride_bytes);
                }
                all = std::move(next);
            }
            std::vector<index_t> bytes;
            for (index_t base : all) {
                for (index_t k = 0; k < p.elem_bytes; ++k) bytes.push_back(base + k);
            }
            return bytes;
        };
        const auto at = offsets(a), put = offsets(b);
        ASSERT_EQ(at.size(), put.size());
        const auto reach = [](const std::vector<index_t>& all) {
            return static_cast<size_t>(*std::max_element(all.begin(), all.end()) + 1);
        };
        std::vector<unsigned char> source(reach(at)), target(reach(put), 0xEE), wanted(reach(put), 0xEE);
        for (auto& c : source) c = static_cast<unsigned char>(random.bits());
        for (size_t k = 0; k < at.size(); ++k) wanted[static_cast<size_t>(put[k])] = source[static_cast<size_t>(at[k])];
        copy_strided(a, source.data(), b, target.data());
        ASSERT_TRUE(target == wanted) << "case " << i;
        std::vector<unsigned char> run(at.size());
        gather_strided(a, source.data(), run.data());
        for (size_t k = 0; k < at.size(); ++k) ASSERT_EQ(run[k], source[static_cast<size_t>(at[k])]) << "case " << i;
        std::fill(target.begin(), target.end(), static_cast<unsigned char>(0xEE));
        scatter_strided(run.data(), b, target.data());
        ASSERT_TRUE(target == wanted) << "case " << i;
        ASSERT_EQ(merged(a).bytes(), a.bytes());
        ASSERT_EQ(offsets(merged(a)), at) << "merged() changed the order, case " << i;
    }
}

}  // namespace
}  // namespace spanfft::test
