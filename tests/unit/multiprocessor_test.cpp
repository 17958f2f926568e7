// P1's four methods for several processors: that they transform, on every record of simulated disks, and that what is
// counted from ranks of matrices is what a look at every record counts.
#include <gtest/gtest.h>

#include <complex>
#include <map>
#include <numbers>
#include <set>
#include <tuple>

#include "permute/multiprocessor.hpp"
#include "support/random.hpp"

namespace spanfft::test {
namespace {

using Complex = std::complex<double>;

struct Disks {
    explicit Disks(const MultiprocessorModel& m) : model(m), shape(m.shape()) {}
    Word processor(Word place) const { return place >> (shape.b + shape.d - model.p) & low_bits(model.p); }
    Word load(Word place) const { return place >> shape.m; }
    Word records() const { return Word{1} << shape.n; }
    MultiprocessorModel model;
    PdmShape shape;
};

std::string text(const MultiprocessorModel& m, MultiprocessorMethod method) {
    return cat(multiprocessor_method_name(method), " n=", m.n, " memory=", m.memory, " b=", m.b, " d=", m.d, " p=", m.p,
               m.mode == IoMode::synchronous ? " sync" : " async",
               m.factoring == Factoring::published ? " published" : " shorter");
}

// Every model that check() takes, of n bits.
template <class See>
void each_model(int n, const See& see) {
    for (IoMode mode : {IoMode::synchronous, IoMode::asynchronous}) {
        for (Factoring factoring : {Factoring::published, Factoring::shorter}) {
            for (int p = 0; p <= 3; ++p) {
                for (int d = p; d <= std::min(p + 1, 3); ++d) {
                    for (int b = 0; b <= 3; ++b) {
                        for (int m = std::max({b + d, p + 1, 2}); m < n; ++m) {
                            const MultiprocessorModel model{
                                n, m + MultiprocessorModel::lg_buffers(mode), b, d, p, 16, mode, factoring};
                            if (!model.check().ok()) continue;
                            for (int method = 0; method < kMultiprocessorMethods; ++method)
                                see(model, static_cast<MultiprocessorMethod>(method));
                        }
                    }
                }
            }
        }
    }
}

// M == B leaves no room for two blocks: a sentence, no plan.
bool planned(const Result<MultiprocessorPlan>& plan, const MultiprocessorModel& model) {
    if (plan.ok()) return true;
    EXPECT_EQ(plan.status().code(), Code::out_of_memory) << plan.status().message();
    EXPECT_EQ(model.shape().m, model.b);
    return false;
}

// By looking at every record: messages and bytes of each processor.
std::vector<Traffic> enumerated(const Factor& factor, const Disks& disks) {
    std::vector<Traffic> sent(size_t{1} << disks.model.p);
    std::set<std::tuple<Word, Word, Word>> messages;
    for (Word x = 0; x < disks.records(); ++x) {
        const Word z = factor.map.apply(x), from = disks.processor(x), to = disks.processor(z);
        if (from == to) continue;
        const Word load = disks.load(factor.kind == SweepKind::collect ? z : x);
        Traffic& by = sent[from];
        by.bytes += disks.model.record_bytes;
        if (messages.insert({from, to, load}).second) ++by.messages;
    }
    return sent;
}

// That P processors can do a sweep: of each load each disk reads and writes equally many whole blocks.
void expect_one_sweep(const Factor& factor, const Disks& disks) {
    const PdmShape& s = disks.shape;
    std::map<Word, std::map<Word, Word>> records_of_block;  // by load
    for (Word x = 0; x < disks.records(); ++x) {
        const Word z = factor.map.apply(x);
        const bool collects = factor.kind == SweepKind::collect;
        ++records_of_block[disks.load(collects ? z : x)][(collects ? x : z) >> s.b];
    }
    ASSERT_EQ(records_of_block.size(), static_cast<size_t>(s.memoryloads()));
    for (const auto& [load, blocks] : records_of_block) {
        std::map<Word, index_t> blocks_of_disk;
        for (const auto& [block, records] : blocks) {
            ASSERT_EQ(records, Word{1} << s.b);
            ++blocks_of_disk[block & low_bits(s.d)];
        }
        for (const auto& [disk, count] : blocks_of_disk) ASSERT_EQ(count, s.blocks_per_load() >> s.d);
    }
}

// Runs a method on places. What processors do not have in a memoryload they have to be sent: `stages` counts such.
std::vector<Complex> run(const MultiprocessorPlan& plan, std::vector<Complex> at, index_t& messages) {
    const Disks disks(plan.model);
    const int n = plan.model.n;
    const BitMatrix index_of_place = plan.index_of_place(), place_of_index = plan.place_of_index();
    std::set<std::tuple<Word, Word, Word, int, int>> sent;  // from, to, load, level, stage
    for (size_t i = 0; i < plan.permutations.size(); ++i) {
        for (const Factor& factor : plan.factors[i]) {
            std::vector<Complex> next(at.size());
            for (Word x = 0; x < disks.records(); ++x) next[factor.map.apply(x)] = at[x];
            at = std::move(next);
        }
        if (i == plan.levels.size()) break;
        const auto& level = plan.levels[i];
        for (int stage = 1; stage <= level.depth; ++stage) {
            for (Word place = 0; place < disks.records(); ++place) {
                const Word index = index_of_place.apply(place), half = Word{1} << (stage - 1);
                if (index & half) continue;
                const Word partner = place_of_index.apply(index | half);
                EXPECT_EQ(disks.load(place), disks.load(partner));
                if (disks.processor(place) != disks.processor(partner)) {
                    for (auto [from, to] : {std::pair{place, partner}, std::pair{partner, place}})
                        sent.insert({disks.processor(from), disks.processor(to), disks.load(place), i, stage});
                }
                // The mini-butterfly of this index belongs to the low bits of the output.
                const Word low = index >> level.depth >> (n - level.done - level.depth);
                const Word exponent = low + ((index & (half - 1)) << level.done);
                const double turn =
                    static_cast<double>(exponent) / static_cast<double>(Word{1} << (level.done + stage));
                const Complex odd = at[partner] * std::polar(1.0, 2 * std::numbers::pi * turn), even = at[place];
                at[place] = even + odd;
                at[partner] = even - odd;
            }
        }
    }
    messages = static_cast<index_t>(sent.size());
    return at;
}

// P1's sign: e^(2 pi i jk / N).
std::vector<Complex> direct(const std::vector<Complex>& a) {
    const size_t n = a.size();
    std::vector<Complex> root(n), y(n);
    for (size_t k = 0; k < n; ++k)
        root[k] = std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
    for (size_t k = 0; k < n; ++k) {
        for (size_t j = 0; j < n; ++j) y[k] += a[j] * root[j * k % n];
    }
    return y;
}

TEST(Multiprocessor, EveryMethodComputesTheTransform) {
    Random random(75);
    for (int n : {3, 6, 8}) {
        std::vector<Complex> a(size_t{1} << n);
        for (Complex& each : a) each = {random.noise(), random.noise()};
        const std::vector<Complex> expected = direct(a);
        double norm = 0;
        for (const Complex& each : expected) norm += std::norm(each);
        int runs = 0;
        each_model(n, [&](const MultiprocessorModel& model, MultiprocessorMethod method) {
            SCOPED_TRACE(text(model, method));
            const auto plan = plan_multiprocessor(method, model);
            if (!planned(plan, model)) return;
            index_t messages = 0;
            const std::vector<Complex> y = run(plan.value(), a, messages);
            double difference = 0;
            for (size_t k = 0; k < y.size(); ++k) difference += std::norm(y[k] - expected[k]);
            EXPECT_LT(std::sqrt(difference / norm), 1e-14);
            const MultiprocessorCounts counts = count_traffic(plan.value());
            EXPECT_EQ(counts.butterflies.messages << model.p, messages);
            if (method == MultiprocessorMethod::processor_major_nocomm ||
                method == MultiprocessorMethod::memoryload_major_nocomm) {
                EXPECT_EQ(messages, 0);
            }
            ++runs;
        });
        EXPECT_GT(runs, 50) << n;
    }
}

void expect_counted(const MultiprocessorModel& model, MultiprocessorMethod method) {
    SCOPED_TRACE(text(model, method));
    const auto planned_or_not = plan_multiprocessor(method, model);
    if (!planned(planned_or_not, model)) return;
    const MultiprocessorPlan& plan = planned_or_not.value();
    const Disks disks(model);
    std::vector<Traffic> all(size_t{1} << model.p);
    index_t sweeps = static_cast<index_t>(plan.levels.size());
    for (size_t i = 0; i < plan.permutations.size(); ++i) {
        BitMatrix product = BitMatrix::identity(model.n);
        for (const Factor& factor : plan.factors[i]) {
            ++sweeps;
            product = factor.map.matrix * product;
            expect_one_sweep(factor, disks);
            const std::vector<Traffic> sent = enumerated(factor, disks);
            const SweepTraffic counted(factor, disks.shape, model.record_bytes);
            Traffic total;
            for (size_t processor = 0; processor < sent.size(); ++processor) {
                EXPECT_EQ(counted.sent_by(processor).messages, sent[processor].messages) << processor;
                EXPECT_EQ(counted.sent_by(processor).bytes, sent[processor].bytes) << processor;
                total += sent[processor];
                all[processor] += sent[processor];
            }
            EXPECT_EQ(counted.total().messages, total.messages);
            EXPECT_EQ(counted.total().bytes, total.bytes);
        }
        EXPECT_EQ(product, plan.permutations[i]);
        const auto bound = parallel_io_bound(plan.permutations[i], disks.shape);
        ASSERT_TRUE(bound);
        EXPECT_LE(static_cast<index_t>(plan.factors[i].size()) * 2 * disks.shape.stripes(), *bound);
    }
    const MultiprocessorCounts counts = count_traffic(plan);
    EXPECT_EQ(counts.sweeps, sweeps);
    EXPECT_EQ(counts.parallel_ios, sweeps * 2 * disks.shape.stripes());
    Traffic total;
    index_t most_bytes = 0;
    bool alike = true;
    for (const Traffic& each : all) {
        total += each;
        most_bytes = std::max(most_bytes, each.bytes);
        alike = alike && each == all[0];
    }
    EXPECT_TRUE(counts.bmmc == total);
    EXPECT_EQ(counts.busiest.bytes, most_bytes);
    EXPECT_EQ(counts.alike, alike);
}

TEST(Multiprocessor, CountsAreThoseOfEveryRecord) {
    for (int n : {4, 7, 9}) each_model(n, expect_counted);
}

TEST(Multiprocessor, CountsAreThoseOfEveryRecordAtLargerSizes) {
    Random random(1997);
    std::vector<std::pair<MultiprocessorModel, MultiprocessorMethod>> all;
    for (int n : {11, 12}) each_model(n, [&](const auto& model, auto method) { all.emplace_back(model, method); });
    for (int i = 0; i < 60; ++i) {
        const auto& [model, method] = random.pick(all);
        expect_counted(model, method);
    }
}

// Sweeps of any permutation that has some, not only of those the methods need.
TEST(Multiprocessor, CountsOfRandomPermutations) {
    Random random(2025);
    for (int i = 0; i < 200; ++i) {
        const int n = static_cast<int>(random.between(5, 9));
        const int m = static_cast<int>(random.between(3, n - 1)), p = static_cast<int>(random.between(0, 2));
        const int d = static_cast<int>(random.between(p, 2)),
                  b = static_cast<int>(random.between(0, m - d - 1 > 0 ? m - d - 1 : 0));
        const MultiprocessorModel model{n, m + 2, b, d, p, 8, IoMode::synchronous, Factoring::published};
        if (!model.check().ok()) continue;
        const BitMatrix matrix = BitMatrix::random_nonsingular(n, [&] { return random.bits(); });
        for (const auto& factors : {published_factor(matrix, model.shape()), factor({matrix, 0}, model.shape())}) {
            if (!factors.ok()) continue;
            BitMatrix product = BitMatrix::identity(n);
            for (const Factor& each : factors.value()) {
                product = each.map.matrix * product;
                expect_one_sweep(each, Disks(model));
                const std::vector<Traffic> sent = enumerated(each, Disks(model));
                for (size_t processor = 0; processor < sent.size(); ++processor)
                    EXPECT_TRUE(SweepTraffic(each, model.shape(), model.record_bytes).sent_by(processor) ==
                                sent[processor])
                        << i << " " << processor;
            }
            EXPECT_EQ(product, matrix);
        }
    }
}

TEST(Multiprocessor, OurFactoringTakesAsManySweepsOrFewer) {
    index_t fewer = 0;
    for (int n : {6, 9, 12}) {
        each_model(n, [&](MultiprocessorModel model, MultiprocessorMethod method) {
            if (model.factoring == Factoring::shorter || model.shape().m == model.b) return;
            const auto published = plan_multiprocessor(method, model);
            model.factoring = Factoring::shorter;
            const auto shorter = plan_multiprocessor(method, model);
            ASSERT_TRUE(published.ok() && shorter.ok());
            for (size_t i = 0; i < published.value().factors.size(); ++i) {
                const size_t theirs = published.value().factors[i].size(), ours = shorter.value().factors[i].size();
                EXPECT_LE(ours, theirs) << text(model, method) << " permutation " << i;
                if (ours < theirs) ++fewer;
            }
        });
    }
    EXPECT_GT(fewer, 100);
}

// N = 2^25, P = D = 4, 2^24 bytes a processor, synchronous. P1 does not say B; 2 to 8 KiB give its table.
TEST(Multiprocessor, FigureSevenAsPrinted) {
    struct Row {
        index_t messages, bmmc_messages, megabytes, bmmc_megabytes;
    };
    constexpr std::array<Row, kMultiprocessorMethods> printed = {
        Row{64, 480, 268, 503}, {64, 504, 268, 603}, {0, 480, 0, 503}, {0, 480, 0, 503}};
    for (int b : {7, 8, 9}) {
        const MultiprocessorModel model{25, 22, b, 2, 2, 16, IoMode::synchronous, Factoring::published};
        for (int method = 0; method < kMultiprocessorMethods; ++method) {
            const auto plan = plan_multiprocessor(static_cast<MultiprocessorMethod>(method), model);
            ASSERT_TRUE(plan.ok());
            const MultiprocessorCounts counts = count_traffic(plan.value());
            const Row& row = printed[static_cast<size_t>(method)];
            SCOPED_TRACE(text(model, static_cast<MultiprocessorMethod>(method)));
            EXPECT_EQ(plan.value().levels.size(), 2u);
            EXPECT_TRUE(counts.alike);
            EXPECT_EQ(counts.butterflies.messages, row.messages);
            EXPECT_EQ(counts.butterflies.bytes / 1000000, row.megabytes);
            EXPECT_EQ(counts.busiest.messages, row.bmmc_messages);
            EXPECT_EQ(counts.busiest.bytes / 1000000, row.bmmc_megabytes);
        }
    }
}

TEST(Multiprocessor, WhatCannotBeIsRefusedWithARemedy) {
    const MultiprocessorModel good{25, 22, 8, 2, 2};
    EXPECT_TRUE(good.check().ok());
    const auto refused = [&](auto change, Code code) {
        MultiprocessorModel model = good;
        change(model);
        const auto plan = plan_multiprocessor(MultiprocessorMethod::stripe_major_comm, model);
        ASSERT_FALSE(plan.ok());
        EXPECT_EQ(plan.status().code(), code) << plan.status().message();
    };
    refused([](auto& m) { m.p = 3; }, Code::invalid_argument);
    refused([](auto& m) { m.n = 20; }, Code::invalid_argument);
    refused([](auto& m) { m.n = 60; }, Code::invalid_argument);
    refused([](auto& m) { m.record_bytes = 0; }, Code::invalid_argument);
    refused([](auto& m) { m.b = 19; }, Code::out_of_memory);
    refused([](auto& m) { m.b = -1; }, Code::out_of_memory);
    refused([](auto& m) { m.memory = 1; }, Code::out_of_memory);
}

}  // namespace
}  // namespace spanfft::test
