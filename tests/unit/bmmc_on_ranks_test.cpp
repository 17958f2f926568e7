// BMMC permutations by several ranks, each of which has a share of the disks: every record against the map, and what
// was sent, read and written against the analysis and against a look at every record.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "permute/multiprocessor.hpp"
#include "support/expect_counted.hpp"
#include "support/random.hpp"
#include "support/sanitized.hpp"
#include "support/simulated_store.hpp"
#include "support/thread_comm.hpp"
#include "sweeps/pdm_step.hpp"
#include "sweeps/sweep_run.hpp"

namespace spanfft::test {
namespace {

constexpr index_t kInputOffset = 128, kOutputOffset = 4096;
constexpr index_t kRecordBytes = 8;  // of a record: its number

struct Case {
    PdmShape shape;
    Bmmc map;
    std::vector<Factor> factors;
    IoMode mode = IoMode::synchronous;
};

std::string text(const Case& c) {
    const PdmShape& s = c.shape;
    return cat("n=", s.n, " m=", s.m, " b=", s.b, " d=", s.d, " p=", s.p, " complement=", c.map.complement,
               c.mode == IoMode::synchronous ? " sync" : " async", "\n", c.map.matrix.text());
}

// What each rank sends, by looking at every record.
std::vector<Traffic> enumerated(const Case& c, index_t record_bytes) {
    std::vector<Traffic> sent(size_t{1} << c.shape.p);
    for (const Factor& each : c.factors) {
        std::set<std::tuple<Word, Word, Word>> messages;
        for (Word x = 0; x < static_cast<Word>(c.shape.records()); ++x) {
            const Word z = each.map.apply(x);
            const auto rank = [&](Word place) {
                return place >> (c.shape.b + c.shape.d - c.shape.p) & low_bits(c.shape.p);
            };
            if (rank(x) == rank(z)) continue;
            sent[rank(x)].bytes += record_bytes;
            const Word load = (each.kind == SweepKind::collect ? z : x) >> c.shape.m;
            sent[rank(x)].messages += messages.insert({rank(x), rank(z), load}).second;
        }
    }
    return sent;
}

struct Ran {
    Status status;
    Counts predicted, counted;
    Delivered delivered;
};

void expect_permuted(const Case& c) {
    SCOPED_TRACE(text(c));
    PdmSpec spec;
    spec.shape = c.shape;
    spec.record_bytes = kRecordBytes;
    spec.mode = c.mode;
    spec.threads = 1;
    BmmcPlan plan{c.map, c.shape, c.factors, 0, 0};
    std::vector<PdmPlace> places{{Place::input, 0}};
    const index_t sweeps = std::ssize(c.factors);
    for (index_t i = 1; i < sweeps; ++i) places.push_back({Place::scratch, (i - 1) % 2});
    places.push_back({Place::output, 0});
    Plan steps;
    steps.problem.ranks = spec.ranks();
    steps.steps.push_back(make_permute_step(spec, plan, places, "permutation", Machine()));
    const Step* const step = steps.steps[0].get();

    const index_t record_bytes = spec.record_bytes, bytes = c.shape.records() * record_bytes;
    MemoryStore input(kInputOffset + bytes), output(kOutputOffset + bytes);
    auto* const from = reinterpret_cast<index_t*>(input.as<char>() + kInputOffset);
    for (index_t x = 0; x < c.shape.records(); ++x) from[x] = x * 31 + 7;
    const int ranks = spec.ranks();
    std::vector<Ran> ran(static_cast<size_t>(ranks));
    ThreadWorld world(ranks);
    world.run([&](int rank, Comm& comm) {
        Ran& mine = ran[static_cast<size_t>(rank)];
        Binding binding(comm);
        auto task = step->bind(binding);
        mine.status = task.status();
        if (!task.ok()) return;
        MemoryStore scratch(2 * spec.array_bytes());
        std::vector<char> memory(static_cast<size_t>(spec.work_bytes()) + 64);
        RunContext context;
        context.arrays.input = {&input, kInputOffset};
        context.arrays.output = {&output, kOutputOffset};
        context.arrays.scratch.store = &scratch;
        const SweepRun running(steps, examine_sweeps(steps, false, rank), context.arrays, false, nullptr);
        context.sweep = running.sweep(0);
        context.slots[static_cast<size_t>(Slot::work0)] = memory.data();
        mine.status = task.value()->run(context);
        mine.predicted = step->predict(rank);
        mine.counted = task.value()->counted();
    });
    const std::vector<Traffic> looked_at = enumerated(c, record_bytes);
    for (int rank = 0; rank < ranks; ++rank) {
        const Ran& mine = ran[static_cast<size_t>(rank)];
        ASSERT_TRUE(mine.status.ok()) << mine.status.message();
        expect_counted({mine.predicted}, {mine.counted});
        EXPECT_EQ(mine.counted.messages, looked_at[static_cast<size_t>(rank)].messages) << "rank " << rank;
        EXPECT_EQ(mine.counted.sent_bytes, looked_at[static_cast<size_t>(rank)].bytes) << "rank " << rank;
        EXPECT_EQ(world.sent_by(rank).messages, mine.counted.messages);
        EXPECT_EQ(world.sent_by(rank).bytes, mine.counted.sent_bytes);
        EXPECT_EQ(mine.counted.parallel_ios, sweeps * 2 * c.shape.stripes());
        EXPECT_EQ(mine.counted.disk_read_bytes * ranks, sweeps * bytes);
    }
    const auto* const to = reinterpret_cast<const index_t*>(output.as<char>() + kOutputOffset);
    for (index_t x = 0; x < c.shape.records(); ++x) {
        const auto z = static_cast<index_t>(c.map.apply(static_cast<Word>(x)));
        ASSERT_EQ(to[z], x * 31 + 7) << "record " << x << " is not at " << z;
    }
}

// In one sweep or more, by either factoring.
void expect_permuted(const PdmShape& shape, const Bmmc& map, IoMode mode, bool published) {
    auto factors = published && map.complement == 0 ? published_factor(map.matrix, shape) : factor(map, shape);
    ASSERT_TRUE(factors.ok()) << factors.status().message();
    if (factors.value().empty()) return;
    expect_permuted({shape, map, std::move(factors).value(), mode});
}

Bmmc random_map(Random& random, int n) {
    return {BitMatrix::random_nonsingular(n, [&] { return random.bits(); }),
            random.chance(0.5) ? random.bits() & low_bits(n) : 0};
}

TEST(BmmcOnRanks, RandomPermutationsForEveryShareOfDisks) {
    Random random(15);
    for (int p = 0; p <= 3; ++p) {
        for (int n = p + 3; n <= 8; ++n) {
            for (int m = p + 1; m < n; ++m) {
                for (int d = p; d <= std::min(p + 1, m); ++d) {
                    for (int b = 0; b + d <= m && b < m; b += kPointStep) {
                        const PdmShape shape{n, m, b, d, p};
                        const IoMode mode = random.chance(0.5) ? IoMode::synchronous : IoMode::asynchronous;
                        expect_permuted(shape, random_map(random, n), mode, random.chance(0.5));
                        ASSERT_FALSE(HasFailure()) << "seed " << random.seed();
                    }
                }
            }
        }
    }
}

// Those that only ranks tell apart: they are exchanged, shifted, reflected, or stay.
TEST(BmmcOnRanks, PermutationsOfRanks) {
    for (int p = 1; p <= 3; ++p) {
        const PdmShape shape{8, 6, 2, p, p};
        const int first = shape.processor_bit();
        for (const bool async : {false, true}) {
            const IoMode mode = async ? IoMode::asynchronous : IoMode::synchronous;
            const BitMatrix identity = BitMatrix::identity(8);
            expect_permuted(shape, {identity, Word{1} << first}, mode, false);      // a partner's disks
            expect_permuted(shape, {identity, low_bits(p) << first}, mode, false);  // the last rank's first
            expect_permuted(shape, {identity, 1}, mode, false);                     // nothing is sent
            BitMatrix upward = identity;                                            // the load chooses whose it is
            upward.set_column(7, identity.column(7) | identity.column(first));
            expect_permuted(shape, {upward, 0}, mode, true);
            BitMatrix turned = identity;  // ranks in a ring, where there are three bits
            for (int i = 0; i < p; ++i) turned.set_column(first + i, Word{1} << (first + (i + 1) % p));
            if (p > 1) expect_permuted(shape, {turned, 0}, mode, true);
            expect_permuted(shape, {BitMatrix::bit_reversal(8), 0}, mode, true);
            expect_permuted(shape, {BitMatrix::transposition(3, 5), 0}, mode, true);
        }
    }
}

TEST(BmmcOnRanks, ThoseOfTheMethods) {
    Random random(78);
    int permutations = 0;
    for (int p = 0; p <= 3; ++p) {
        for (int n = p + 4; n <= 9; n += kSanitized ? 4 : 2) {
            for (const IoMode mode : {IoMode::synchronous, IoMode::asynchronous}) {
                if (kSanitized && (mode == IoMode::synchronous) == (p % 2 == 0)) continue;
                for (const Factoring factoring : {Factoring::published, Factoring::shorter}) {
                    const int m = static_cast<int>(random.between(p + 2, n - 1)),
                              b = static_cast<int>(random.between(0, 1));
                    const MultiprocessorModel model{
                        n, m + MultiprocessorModel::lg_buffers(mode), b, p, p, 8, mode, factoring};
                    for (int method = 0; method < kMultiprocessorMethods; ++method) {
                        const auto plan = plan_multiprocessor(static_cast<MultiprocessorMethod>(method), model);
                        ASSERT_TRUE(plan.ok()) << plan.status().message();
                        for (size_t i = 0; i < plan.value().permutations.size(); ++i) {
                            if (plan.value().factors[i].empty()) continue;
                            expect_permuted(
                                {model.shape(), {plan.value().permutations[i], 0}, plan.value().factors[i], mode});
                            ASSERT_FALSE(HasFailure()) << "seed " << random.seed();
                            ++permutations;
                        }
                    }
                }
            }
        }
    }
    EXPECT_GT(permutations, kSanitized ? 25 : 100);
}

}  // namespace
}  // namespace spanfft::test
