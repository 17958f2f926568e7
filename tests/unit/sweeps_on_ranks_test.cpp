// Sweeps of one array by several ranks: panels and blocks shared out, on simulated disks and ranks that are threads.
//
// Each problem is run on 1 to 7 ranks with so much memory each, and held against the definition; what was counted is
// what was predicted, for each rank and step, and all ranks together move what one process moves.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "solvers/table.hpp"
#include "support/random.hpp"
#include "support/ranks_case.hpp"
#include "support/sanitized.hpp"
#include "sweeps/exchange_geometry.hpp"

namespace spanfft::test {
namespace {

class SweepsOnRanksThatExchange : public testing::TestWithParam<SweepCase> {};
class SweepsOnRanksByWayOfTheOutput : public testing::TestWithParam<SweepCase> {};
class SweepsOnRanksOverAxes : public testing::TestWithParam<SweepCase> {};
class SweepsOnRanksOverAxesThatExchange : public testing::TestWithParam<SweepCase> {};
class SweepsOnRanksByConvolution : public testing::TestWithParam<SweepCase> {};

TEST_P(SweepsOnRanksByConvolution, MatchTheDefinition) { expect_right_on_ranks(GetParam(), solve_chirp_sweeps, true); }
TEST_P(SweepsOnRanksThatExchange, MatchTheDefinition) { expect_right_on_ranks(GetParam(), solve_two_sweeps, true); }
TEST_P(SweepsOnRanksByWayOfTheOutput, MatchTheDefinition) {
    expect_right_on_ranks(GetParam(), solve_two_sweeps, false);
}
TEST_P(SweepsOnRanksOverAxes, MatchTheDefinition) { expect_right_on_ranks(GetParam(), solve_axis_sweeps, false); }
TEST_P(SweepsOnRanksOverAxesThatExchange, MatchTheDefinition) {
    expect_right_on_ranks(GetParam(), solve_axis_sweeps, true);
}

// Lengths of few and many panels, odd ones, products of two primes; 4 points are one panel or two, so that most ranks
// have nothing.
INSTANTIATE_TEST_SUITE_P(Complex, SweepsOnRanksThatExchange,
                         testing::Values(SweepCase{"c2c 4 forward double threads=1", "72KiB"},
                                         SweepCase{"c2c 15 backward double threads=1", "72KiB"},
                                         SweepCase{"c2c 1155 forward double threads=1", "40KiB", 128, 4096},
                                         SweepCase{"c2c 1155 backward double", "128KiB", 0, 4096},
                                         SweepCase{"c2c 1147 forward double threads=1", "96KiB"},  // 31 * 37
                                         SweepCase{"c2c 1024 backward longdouble norm=ortho threads=1", "96KiB", 64},
                                         SweepCase{"c2c 1632 forward float norm=forward", "128KiB", 128},
                                         SweepCase{"c2c 2040 forward double threads=3", "256KiB"},
                                         SweepCase{"c2c 3x5x480 forward double axes=2 threads=1", "72KiB", 128},
                                         SweepCase{"c2c 2x1155 backward double axes=1 threads=1", "40KiB"}));

// Little memory for their length: several panels of several tiles for each rank, the last of which are cut.
INSTANTIATE_TEST_SUITE_P(ManyPanels, SweepsOnRanksThatExchange,
                         testing::Values(SweepCase{"c2c 16384 forward double threads=1", "100KiB", 128, 4096},
                                         SweepCase{"c2c 16384 backward double threads=1", "140KiB"},
                                         SweepCase{"c2c 45045 forward float threads=2", "200KiB"},
                                         SweepCase{"c2c 45045 forward double threads=1", "200KiB", 0, 4096},
                                         SweepCase{"r2c 46080 forward double threads=1", "200KiB"},
                                         SweepCase{"c2r 45045 backward double threads=1", "160KiB", 80}));

INSTANTIATE_TEST_SUITE_P(Real, SweepsOnRanksThatExchange,
                         testing::Values(SweepCase{"r2c 4 forward double threads=1", "72KiB"},
                                         SweepCase{"c2r 4 backward double threads=1", "72KiB"},
                                         SweepCase{"r2c 9 forward double", "128KiB"},
                                         SweepCase{"c2r 9 backward double", "128KiB"},
                                         SweepCase{"r2c 10 forward float", "128KiB"},
                                         SweepCase{"c2r 10 backward float", "128KiB"},
                                         SweepCase{"r2c 1024 forward double threads=1", "88KiB", 128, 4096},
                                         SweepCase{"c2r 1024 backward double threads=1", "88KiB", 128, 4096},
                                         SweepCase{"r2c 1155 forward double threads=1", "88KiB", 80},
                                         SweepCase{"c2r 1155 backward double threads=1", "88KiB", 80},
                                         SweepCase{"r2c 1530 forward float norm=forward", "128KiB"},
                                         SweepCase{"c2r 1530 backward float norm=ortho", "128KiB"},
                                         SweepCase{"r2c 1001 forward longdouble threads=1", "96KiB"},
                                         SweepCase{"c2r 1001 backward longdouble threads=1", "96KiB"},
                                         SweepCase{"r2c 1147 forward double threads=1", "96KiB"},
                                         SweepCase{"c2r 1147 backward double threads=1", "96KiB"},
                                         SweepCase{"r2c 3x2x105 forward double axes=2 threads=1", "72KiB"},
                                         SweepCase{"c2r 2x3x210 backward double axes=2 threads=1", "72KiB", 8}));

// As r2c, as c2r or as c2c of a longer line that is padded with zeros.
INSTANTIATE_TEST_SUITE_P(RealKinds, SweepsOnRanksThatExchange,
                         testing::Values(SweepCase{"dct1 513 forward double threads=1", "128KiB", 8, 4096},
                                         SweepCase{"dct2 512 forward double threads=1", "128KiB", 128, 4096},
                                         SweepCase{"dct3 512 forward double threads=1", "128KiB", 8, 4096},
                                         SweepCase{"dct3 105 backward float norm=forward threads=1", "96KiB"},
                                         SweepCase{"dct4 210 forward double threads=1", "128KiB", 8},
                                         SweepCase{"dst1 119 forward double threads=1", "128KiB"},
                                         SweepCase{"dst2 96x2 forward double axes=0 threads=1", "192KiB", 8},
                                         SweepCase{"dst3 2x81 forward longdouble axes=1 threads=1", "160KiB"},
                                         SweepCase{"dst4 128 backward float threads=1", "128KiB"}));

// The axis that is split has others behind it, whose rows take the place of elements.
INSTANTIATE_TEST_SUITE_P(Rows, SweepsOnRanksThatExchange,
                         testing::Values(SweepCase{"r2c 9x2 forward double axes=0 threads=1", "72KiB", 8},
                                         SweepCase{"c2r 9x2 backward float axes=0 threads=1", "72KiB"},
                                         SweepCase{"r2c 1024x3 forward double axes=0 threads=1", "128KiB", 128, 4096},
                                         SweepCase{"c2r 1155x5 backward longdouble axes=0", "256KiB", 80},
                                         SweepCase{"r2c 3x210x2x3 forward double axes=1", "128KiB"},
                                         SweepCase{"c2r 3x210x2x3 backward double axes=1 threads=1", "128KiB", 8}));

INSTANTIATE_TEST_SUITE_P(Stored, SweepsOnRanksThatExchange,
                         testing::Values(SweepCase{"c2c 1024 forward double power threads=1", "128KiB", 0, 4096},
                                         SweepCase{"r2c 1155 forward double store=complex64 threads=1", "128KiB", 80}));

// c2c whose rows are whole blocks of the file system, or whose elements are rows, needs no scratch.
INSTANTIATE_TEST_SUITE_P(Rows, SweepsOnRanksByWayOfTheOutput,
                         testing::Values(SweepCase{"c2c 4x3 forward double axes=0 threads=1", "72KiB"},
                                         SweepCase{"c2c 24x35 forward double threads=1", "72KiB", 128, 4096},
                                         SweepCase{"c2c 27x8x5 backward float norm=ortho", "96KiB", 128},
                                         SweepCase{"c2c 12x8x9 backward double axes=2,0 threads=1", "96KiB"},
                                         SweepCase{"c2c 5x49x6x4 forward longdouble axes=1,3 threads=1", "128KiB", 64},
                                         SweepCase{"c2c 4096x6 forward double axes=0", "256KiB", 128, 4096},
                                         SweepCase{"c2c 1155x2 backward double axes=0 threads=1", "88KiB", 128, 4096},
                                         SweepCase{"c2c 2x1024x3 forward float axes=1", "128KiB", 8}));

// In the order in which the second sweep finds it: rows one after the other, which ranks share out.
INSTANTIATE_TEST_SUITE_P(Exchanged, SweepsOnRanksByWayOfTheOutput,
                         testing::Values(SweepCase{"c2c 4 forward double output=exchanged", "72KiB"},
                                         SweepCase{"c2c 1155 forward double output=exchanged", "72KiB", 128, 4096},
                                         SweepCase{"c2c 4096 forward float output=exchanged norm=ortho", "160KiB", 128,
                                                   4096},
                                         SweepCase{"c2c 3x2x480 forward double axes=2 output=exchanged", "72KiB"},
                                         SweepCase{"c2c 8192 forward double output=exchanged threads=2", "96KiB"}));

TEST(SweepsOnRanks, LeaveTheOutputExchangedInManyPanels) {
    const RanksRun run =
        run_on_ranks("c2c 30030 forward float output=exchanged threads=1 memory=96KiB ranks=3", solve_two_sweeps);
    ASSERT_TRUE(run.planned.ok()) << run.planned.message();
    expect_shared_out(run);
    EXPECT_TRUE(run.plan->leaves_exchanged);
    const Values natural = in_natural_order(*run.plan, run.output);
    EXPECT_LT(error_in_units(run.plan->problem, natural, direct_transform(run.plan->problem, run.input)), 1);
    for (size_t step = 0; step < 2; ++step) EXPECT_GE(spec_of(*run.plan, step).walked().panels_per_matrix(), 3);
}

INSTANTIATE_TEST_SUITE_P(Points, SweepsOnRanksByWayOfTheOutput,
                         testing::Values(SweepCase{"c2c 262144 forward double", "3MiB", 128, 4096},
                                         SweepCase{"c2c 65536 backward double threads=1", "2MiB", 0, 4096}));

INSTANTIATE_TEST_SUITE_P(Complex, SweepsOnRanksOverAxes,
                         testing::Values(SweepCase{"c2c 32x24 forward double threads=1", "24KiB", 128, 4096},
                                         SweepCase{"c2c 15x14x11 backward double", "40KiB", 128, 4096},
                                         SweepCase{"c2c 9x10x11 forward float norm=ortho threads=1", "24KiB"},
                                         SweepCase{"c2c 2x31x37 backward longdouble axes=1,2 threads=1", "96KiB", 64},
                                         SweepCase{"c2c 3x40x70 forward double axes=1", "64KiB"},
                                         SweepCase{"c2c 7x6x5x4 forward double axes=3,0 threads=1", "24KiB"},
                                         SweepCase{"c2c 5x300 forward double axes=1", "64KiB"},
                                         SweepCase{"c2c 2x3 backward double threads=1", "64KiB"}));

// The axis that is halved is in columns or in slabs; of c2r, whose sweeps meet in scratch, one sweep will do.
INSTANTIATE_TEST_SUITE_P(Real, SweepsOnRanksOverAxes,
                         testing::Values(SweepCase{"r2c 32x48 forward double threads=1", "24KiB", 128, 4096},
                                         SweepCase{"r2c 15x14x11 forward float", "40KiB"},
                                         SweepCase{"r2c 16x96 forward double axes=1,0 threads=1", "26KiB", 8, 4096},
                                         SweepCase{"r2c 9x70 forward longdouble axes=0 threads=1", "48KiB"},
                                         SweepCase{"r2c 64x45 forward double axes=1 norm=forward", "48KiB"},
                                         SweepCase{"c2r 64x45 backward double axes=1 threads=1", "48KiB", 128, 4096},
                                         SweepCase{"c2r 9x70 backward float axes=0 threads=1", "24KiB"},
                                         SweepCase{"dct2 24x35 forward double threads=1", "24KiB", 8, 4096},
                                         SweepCase{"dct2 9x10x11 backward float norm=forward", "24KiB"},
                                         SweepCase{"dct2 7x6x40 forward longdouble axes=0,2 threads=1", "40KiB"},
                                         SweepCase{"dct4 5x300 forward double axes=1", "48KiB"}));

// c2r in two sweeps: columns of the first axes, of which each rank keeps rows for its slabs.
INSTANTIATE_TEST_SUITE_P(Halved, SweepsOnRanksOverAxesThatExchange,
                         testing::Values(SweepCase{"c2r 64x96 backward double threads=1", "64KiB", 128, 4096},
                                         SweepCase{"c2r 3x64x96 backward double axes=1,2 threads=1", "48KiB", 8},
                                         SweepCase{"c2r 2x2x15x14x31 backward float axes=2,3,4", "48KiB", 128, 4096},
                                         SweepCase{"c2r 63x95 backward double threads=1", "64KiB", 8},
                                         SweepCase{"c2r 15x14x31 backward float norm=forward", "48KiB"},
                                         SweepCase{"c2r 2x9x370 backward double threads=1", "48KiB", 128},
                                         SweepCase{"c2r 31x37 backward longdouble threads=2", "36KiB", 16, 4096},
                                         SweepCase{"c2r 5x600 backward float threads=1", "32KiB"},
                                         SweepCase{"c2r 40x64 backward double store=float32 threads=1", "48KiB"}));

// Slabs that are transformed in the slot into which they were read, from scratch of a rank's own and into the output:
// where its first slab is no multiple of a block, the two arrays would lie differently in the slot.
TEST(SweepsOnRanks, InPlaceFromScratchOfTheirOwnMatchTheDefinition) {
    int runs = 0, unlike = 0;
    for (const char* problem : {"r2c 40x66 forward double axes=1,0 store=complex64 memory=48KiB",
                                "r2c 41x130 forward double axes=1,0 power memory=64KiB",
                                "r2c 30x5x66 forward double axes=2,1,0 store=complex64 memory=48KiB",
                                "r2c 33x62 forward longdouble axes=1,0 store=complex128 memory=64KiB",
                                "r2c 90x35 forward float axes=1,0 power memory=40KiB",
                                "r2c 24x99 forward longdouble axes=1,0 store=complex64 memory=64KiB"}) {
        for (const int ranks : {2, 3, 5}) {
            const std::string text = cat(problem, " threads=1 ranks=", ranks);
            SCOPED_TRACE(text);
            RanksSetting setting;
            setting.output_offset = 128;
            const RanksRun run = run_on_ranks(text, solve_axis_sweeps, setting);
            ASSERT_TRUE(run.planned.ok()) << run.planned.message();
            expect_shared_out(run);
            expect_stored(run.plan->problem, run.output, direct_transform(run.plan->problem, run.input));
            ++runs;
            for (int rank = 0; rank < ranks && run.exchanges(); ++rank) {
                const SweepSpec last = spec_of(*run.plan, 1).of_rank(rank);
                if (!last.target.is_in_place()) continue;
                EXPECT_TRUE(last.sharing.own_part);
                const char* const read = last.source.columns().map(0, 0, 0, nullptr).row(0);
                unlike += read != last.target.columns().map(0, 0, setting.output_offset, nullptr).row(0);
            }
        }
    }
    EXPECT_EQ(runs, 18);
    EXPECT_GE(unlike, 12);
}

// Each case on so many ranks, held against the definition; `look` sees the run.
template <size_t N>
void each_on_ranks(const std::pair<const char*, SolverFunction> (&cases)[N],
                   const std::function<void(const RanksRun&)>& look) {
    for (const auto& [problem, solve] : cases) {
        for (const int ranks : {2, 3, 5, 7}) {
            const std::string text = cat(problem, " threads=1 ranks=", ranks);
            SCOPED_TRACE(text);
            const RanksRun run = run_on_ranks(text, solve);
            if (!run.planned.ok() && ranks > 3) continue;  // small memory holds little for many
            ASSERT_TRUE(run.planned.ok()) << run.planned.message();
            expect_shared_out(run);
            const Values output = in_natural_order(*run.plan, run.output);
            EXPECT_LT(error_in_units(run.plan->problem, output, direct_transform(run.plan->problem, run.input)), 1.5);
            look(run);
        }
    }
}

// A long axis by the solvers that split it, and each other one behind it in the output.
TEST(SweepsOnRanks, OfALongAxisAmongOthersMatchTheDefinition) {
    const std::pair<const char*, SolverFunction> cases[] = {
        {"c2c 3x4096 forward double memory=96KiB", solve_axis_sweeps},
        {"c2c 4096x5 backward float memory=64KiB", solve_axis_sweeps},
        {"c2c 3x2048x4 forward double axes=0,1 memory=64KiB disks=1", solve_axis_sweeps},
        {"r2c 3x4096 forward double memory=96KiB", solve_axis_sweeps},
        {"r2c 5x4x2310 forward float memory=96KiB", solve_axis_sweeps},
        {"c2c 4096x6 forward double axes=1,0 memory=96KiB", solve_axis_sweeps},
        {"dct2 3x2000 forward double memory=96KiB", solve_axis_sweeps}};
    int longer = 0;
    each_on_ranks(cases, [&](const RanksRun& run) { longer += run.plan->sweeps > 2; });
    EXPECT_GE(longer, 7);
}

// Rows of panels that all ranks read together: few and many, more ranks than rows, panels that are lean and that are
// not, the last of which some ranks have no column of; of one matrix and of several; with a last row that is cut off;
// with columns that mirror them, tile by tile and in parts.
TEST(SweepsOnRanks, ThatReadTogetherMatchTheDefinition) {
    const std::pair<const char*, SolverFunction> cases[] = {
        {"c2c 16384 forward double memory=96KiB", solve_two_sweeps},
        {"c2c 65536 backward float memory=160KiB", solve_two_sweeps},
        {"r2c 16384 forward double memory=96KiB", solve_two_sweeps},
        {"c2c 6 forward double memory=64KiB", solve_two_sweeps},
        {"c2c 5005 forward double memory=96KiB", solve_two_sweeps},
        {"c2c 64x3x2 backward double axes=0 memory=64KiB", solve_two_sweeps},
        {"c2c 128x24 forward double axes=0,1 memory=96KiB", solve_two_sweeps},
        {"c2c 16384 forward float output=exchanged memory=96KiB", solve_two_sweeps},
        {"c2c 32768 forward float memory=160KiB", solve_many_sweeps},
        {"r2c 32768 forward double memory=240KiB disks=1", solve_many_sweeps},
        {"c2c 3x8192 forward double axes=1 memory=64KiB", solve_two_sweeps},
        {"r2c 2x5040 forward float axes=1 memory=64KiB", solve_two_sweeps},
        {"r2c 3x1155x2 forward double axes=1 memory=64KiB", solve_two_sweeps},
        {"dct3 5005 forward double memory=128KiB", solve_two_sweeps},
        {"dct4 2x1001 forward double axes=1 memory=64KiB", solve_two_sweeps},
        {"c2r 16384 backward double memory=96KiB", solve_two_sweeps},
        {"c2r 65536 backward float memory=128KiB", solve_two_sweeps},
        {"c2r 32768 backward float memory=300KiB", solve_two_sweeps},
        {"c2r 16384 backward double memory=160KiB", solve_two_sweeps},
        {"c2r 32768 backward double memory=600KiB", solve_two_sweeps},
        {"c2r 3x4096 backward float axes=1 memory=100KiB", solve_two_sweeps},
        {"c2r 5005 backward double memory=96KiB", solve_two_sweeps},
        {"c2r 3x4096 backward double axes=1 memory=48KiB", solve_two_sweeps},
        {"c2r 1024x3 backward double axes=0 memory=64KiB", solve_two_sweeps},
        {"c2r 32768 backward float memory=128KiB", solve_many_sweeps},
        {"c2r 65536 backward double memory=300KiB", solve_many_sweeps},
        {"c2r 3x16384 backward double axes=1 memory=160KiB", solve_many_sweeps},
        {"c2r 8192x3 backward float axes=0 memory=100KiB", solve_many_sweeps}};
    int together = 0, several = 0, wide = 0, matrices = 0, cut = 0, mirrored = 0, mirrored_tiles = 0, halved = 0;
    each_on_ranks(cases, [&](const RanksRun& run) {
        const SweepSpec& first = spec_of(*run.plan, 0);
        if (!first.sharing.reads_together) return;
        const ColumnPanels& in = first.source.columns();
        ++together;
        several += in.panels_per_matrix() > 2;
        wide += !ExchangeGeometry(first).together(0).lean();
        matrices += in.outer > 1;
        cut += in.last_row_elems < in.row_elems;
        mirrored += in.mirrored() && in.halved() == 0 && !first.takes_ahead();
        halved += in.halved() > 0;
        mirrored_tiles += in.mirrored() && first.takes_ahead();
    });
    EXPECT_GE(together, 40);
    EXPECT_GE(several, 5);
    EXPECT_GE(wide, 2);
    EXPECT_GE(matrices, 8);
    EXPECT_GE(cut, 8);
    EXPECT_GE(mirrored, 4);
    EXPECT_GE(mirrored_tiles, 4);
    EXPECT_GE(halved, 4);
}

// The last sweep reads columns of the output together, and writes them where it read them: panels that are lean and
// that are not, in two slots and in three, more ranks than rows, and ranks without a column of the last panel.
TEST(SweepsOnRanks, ThatReadTogetherInPlaceMatchTheDefinition) {
    const std::pair<const char*, SolverFunction> cases[] = {
        {"c2c 4096 forward double memory=200KiB", solve_two_sweeps},
        {"c2c 65536 backward double memory=1MiB", solve_two_sweeps},
        {"c2c 128x96 forward double memory=33KiB", solve_axis_sweeps},
        {"c2c 128x96 backward float norm=ortho memory=196KiB", solve_axis_sweeps},
        {"c2c 4x256 forward double memory=39KiB", solve_axis_sweeps},
        {"c2c 32x16x24 backward double memory=49KiB", solve_axis_sweeps},
        {"c2c 32x16x24 forward double memory=249KiB", solve_axis_sweeps},
        {"c2c 64x8x24 forward float axes=2,0 memory=33KiB", solve_axis_sweeps},
        {"c2c 31x40 forward longdouble memory=25KiB", solve_axis_sweeps},
        {"c2c 64x512 forward float memory=221KiB", solve_axis_sweeps},
        {"r2c 32x480 forward double axes=0,1 memory=38KiB", solve_axis_sweeps},
        {"dct2 48x320 forward double memory=33KiB", solve_axis_sweeps},
        {"c2c 3x4096 backward float axes=1 memory=200KiB", solve_two_sweeps},
        {"c2c 2x2048x3 forward double axes=1 memory=100KiB", solve_two_sweeps},
        {"c2c 5x96x64 forward double axes=1,2 memory=48KiB", solve_axis_sweeps},
        {"c2c 12x24x32 backward float axes=1,2 memory=24KiB", solve_axis_sweeps}};
    int together = 0, several = 0, wide = 0, in_two_slots = 0, idle = 0, matrices = 0;
    each_on_ranks(cases, [&](const RanksRun& run) {
        const SweepSpec& last = spec_of(*run.plan, run.plan->steps.size() - 1);
        if (!last.gives_back()) return;
        const index_t panels = last.walked().panels_per_matrix();
        ++together;
        several += panels > 1;
        wide += !ExchangeGeometry(last).together(0).lean();
        matrices += last.walked().outer > 1;
        in_two_slots += std::get<InPlace>(last.target.array).slots == 2;
        idle += ExchangeGeometry(last).width_of(panels - 1, last.ranks() - 1) == 0;
    });
    EXPECT_GE(together, 20);
    EXPECT_GE(several, 5);
    EXPECT_GE(wide, 2);
    EXPECT_GE(in_two_slots, 2);
    EXPECT_LT(in_two_slots, together - 1);
    EXPECT_GE(idle, 2);
    EXPECT_GE(matrices, 6);
}

// Primes, and twice and three times these; the filter beside the array, which a batch shares.
INSTANTIATE_TEST_SUITE_P(Kinds, SweepsOnRanksByConvolution,
                         testing::Values(SweepCase{"c2c 17 forward double threads=1", "72KiB", 128, 4096},
                                         SweepCase{"c2c 1009 forward double threads=1", "112KiB", 128, 4096},
                                         SweepCase{"c2c 2062 backward float norm=ortho", "128KiB"},
                                         SweepCase{"c2c 134 forward longdouble threads=1", "72KiB", 64},
                                         SweepCase{"c2c 3x509 forward double axes=1 threads=1", "96KiB", 8},
                                         SweepCase{"r2c 1009 forward double threads=2", "160KiB", 80},
                                         SweepCase{"r2c 2x523 forward float axes=1 threads=1", "72KiB", 0, 4096},
                                         SweepCase{"c2r 1009 backward double threads=1", "112KiB", 8},
                                         SweepCase{"dct2 521 forward double threads=1", "112KiB", 8, 4096},
                                         SweepCase{"dst1 262 forward float threads=1", "72KiB"},
                                         SweepCase{"c2c 509x3 forward double axes=0 threads=1", "160KiB", 128, 4096},
                                         SweepCase{"r2c 2x523x3 forward float axes=1 threads=1", "128KiB"},
                                         SweepCase{"c2r 509x5 backward double axes=0 threads=1", "192KiB", 8},
                                         SweepCase{"dct2 2x127x7 forward double axes=1 threads=1", "192KiB"},
                                         SweepCase{"c2c 1009 forward double power threads=1", "112KiB"}));

// Several panels on each rank in every sweep, as many rows of the convolution on each, and fewer or none on the last.
TEST(SweepsOnRanks, ByConvolutionOfAnyGeometryMatchTheDefinition) {
    Random random(23);
    const std::vector<const char*> kinds{"c2c {} forward", "c2c {} backward", "r2c {} forward", "c2r {} backward"};
    const std::vector<index_t> primes{17, 101, 257, 509, 1021};
    int several = 0, fewer = 0;
    for (int i = 0; i < 24; ++i) {
        const index_t n = random.pick(primes) * random.between(1, 3);
        const bool batch = random.chance(0.3), behind = random.chance(0.3);
        std::string text = random.pick(kinds);
        text.replace(text.find("{}"), 2,
                     cat(batch ? cat(random.between(2, 3), "x") : "", n, behind ? cat("x", random.between(2, 5)) : ""));
        text += cat(random.chance(0.5) ? " double" : " float", " axes=", batch ? 1 : 0,
                    " threads=", random.between(1, 2), " ranks=", random.between(2, 7));
        const index_t least = named_memory(text, solve_chirp_sweeps);
        text += cat(" memory=", random.chance(0.5) ? least : least + random.below(least / 4));
        SCOPED_TRACE(cat(text, ", seed ", random.seed()));
        const RanksRun run = run_on_ranks(text, solve_chirp_sweeps);
        ASSERT_TRUE(run.planned.ok()) << run.planned.message();
        expect_shared_out(run);
        EXPECT_LT(error_in_units(run.plan->problem, run.output, direct_transform(run.plan->problem, run.input)), 1.5);
        if (HasFailure()) return;
        const SweepSpec &in = spec_of(*run.plan, 0), &rows = spec_of(*run.plan, 1), &out = spec_of(*run.plan, 2);
        several += in.walked().panels_per_matrix() > 1 && rows.walked().panels_per_matrix() > 1 &&
                   out.walked().panels_per_matrix() > 1;
        fewer += ExchangeGeometry(in).kept_by(0) > ExchangeGeometry(in).kept_by(in.ranks() - 1);
    }
    EXPECT_GE(several, 2);
    EXPECT_GE(fewer, 4);
}

// Random lengths, budgets and numbers of ranks: what is wrong only where panels, tiles and ranks meet oddly.
TEST(SweepsOnRanks, AnyGeometryMatchesTheDefinition) {
    Random random(5);
    const std::vector<const char*> kinds{"c2c {} forward", "c2c {} backward", "r2c {} forward", "c2r {} backward"};
    const std::vector<const char*> precisions{"float", "double", "longdouble"};
    int runs = 0, exchanged = 0, several = 0, idle = 0;
    for (int i = 0; i < 90; ++i) {
        const index_t n = random.between(2, 54) * random.between(2, 54);
        std::string shape = std::to_string(n), axes;
        if (random.chance(0.3)) shape = cat(random.between(2, 3), "x", shape), axes = " axes=1";
        if (random.chance(0.5)) shape = cat(shape, "x", random.between(2, 7)), axes = axes.empty() ? " axes=0" : axes;
        std::string text = random.pick(kinds);
        text.replace(text.find("{}"), 2, shape);
        text +=
            cat(" ", random.pick(precisions), axes, " threads=", random.between(1, 2), " ranks=", random.between(2, 7));
        const index_t least = named_memory(text, solve_two_sweeps);
        text += cat(" memory=", random.chance(0.5) ? least : least + random.below(least));
        SCOPED_TRACE(cat(text, ", seed ", random.seed()));
        const RanksRun run = run_on_ranks(text, solve_two_sweeps);
        ASSERT_TRUE(run.planned.ok()) << run.planned.message();
        expect_shared_out(run);
        EXPECT_LT(error_in_units(run.plan->problem, run.output, direct_transform(run.plan->problem, run.input)), 1.5);
        if (HasFailure()) return;
        ++runs;
        several += spec_of(*run.plan, 0).walked().panels_per_matrix() > 1 && run.exchanges();
        exchanged += run.exchanges();
        idle += std::any_of(run.ranks.begin(), run.ranks.end(),
                            [](const RankSeen& seen) { return seen.counted[0].disk_reads == 0; });
    }
    EXPECT_GE(exchanged, runs / 3);
    EXPECT_GE(runs - exchanged, runs / 10);
    EXPECT_GE(several, runs / 5);
    EXPECT_GE(idle, 3);
}

// In the problems with many panels these are so.
TEST(SweepsOnRanks, HaveSeveralPanelsOfSeveralTilesEachAndALastOneThatIsCut) {
    const auto plan = plan_of("c2c 45045 forward double threads=1 memory=204KiB ranks=3", solve_two_sweeps);
    ASSERT_TRUE(plan);
    const SweepSpec &first = spec_of(*plan, 0), &second = spec_of(*plan, 1);
    const ColumnPanels &in = first.source.columns(), &out = second.target.columns();
    EXPECT_GE(in.panels_per_matrix(), 3);
    EXPECT_GE(first.tile_steps(), 2);
    EXPECT_NE(in.columns % first.target.blocks().tile_columns, 0);
    EXPECT_NE(in.columns % (in.panel * 3), 0);
    EXPECT_GE(out.panels_per_matrix(), 2);
    EXPECT_NE(out.columns % std::get<Sharing::Rows>(first.sharing.kept).a_rank, 0);
}

TEST(SweepsOnRanks, LeaveRanksForWhichThereIsNoPanelWithNothingToDo) {
    const RanksRun run = run_on_ranks("c2c 4 forward double threads=1 memory=72KiB ranks=7", solve_two_sweeps);
    ASSERT_TRUE(run.planned.ok()) << run.planned.message();
    expect_shared_out(run);
    const Counts& last = run.ranks.back().counted[0];
    EXPECT_EQ(last.disk_reads + last.disk_writes + last.messages, 0);
    EXPECT_GT(last.calls, 0) << "it takes part in the rounds all the same";
}

// Natural arrays have no padding, and with odd factors what a rank keeps ends anywhere: expect_shared_out() looks that
// long runs lie in memory as they will in the file, or they would go through the page cache.
TEST(SweepsOnRanks, WriteLongRunsOfWhatTheyExchangeDirectly) {
    const std::pair<const char*, SolverFunction> cases[] = {
        {"r2c 1048576 forward double memory=8MiB disks=1", solve_many_sweeps},
        {"c2r 1048576 backward double memory=8MiB", solve_many_sweeps},
        {"c2c 729000 forward double memory=10MiB", solve_many_sweeps}};
    int shifted = 0;
    each_on_ranks(cases, [&](const RanksRun& run) {
        for (size_t step = 0; step < run.plan->steps.size(); ++step) {
            const SweepSpec& sweep = spec_of(*run.plan, step);
            shifted += sweep.exchanges() && ExchangeGeometry(sweep).shifts() ? 1 : 0;
        }
    });
    EXPECT_GE(shifted, 6);
}

// The same of arrays too large to be run here: what comes from one rank ends before what comes from the next one, and
// is as far past a block as the place where it is written.
TEST(SweepsOnRanks, LandWhatTheyExchangeSideBySide) {
    int of_sections = 0, of_blocks = 0;
    for (const char* problem :
         {"c2c 1728000000 forward double memory=256MiB store=complex64 disks=1",
          "r2c 2147483648 forward float memory=256MiB disks=1", "c2c 999999000 forward double memory=1GiB disks=1"}) {
        for (const int ranks : {2, 3, 7}) {
            SCOPED_TRACE(cat(problem, " ranks=", ranks));
            const auto plan = plan_of(cat(problem, " threads=1 ranks=", ranks), solve_many_sweeps);
            ASSERT_TRUE(plan);
            for (size_t i = 0; i < plan->steps.size(); ++i) {
                const SweepSpec sweep = spec_of(*plan, i).of_rank(ranks - 1);
                const ExchangeGeometry geometry(sweep);
                if (!sweep.exchanges() || !geometry.shifts()) continue;
                ++(geometry.of_sections() ? of_sections : of_blocks);
                const BlockGrid kept = geometry.kept_blocks(sweep.rank());
                for (index_t step = 0; step < geometry.rounds(); step += 1 + geometry.rounds() / 50) {
                    for (int rank = 0; rank < ranks; ++rank) {
                        const KeptPart part = geometry.part_kept(geometry.round_tile(step, rank), sweep.rank());
                        const index_t begin = geometry.place_bytes(rank) + geometry.shift_bytes(step, rank, 128);
                        EXPECT_LE(begin + part.bytes, geometry.place_bytes(rank + 1));
                        if (part.bytes == 0) continue;
                        const auto written = kept.write_run(0, part.tile, 0, 128, nullptr);
                        EXPECT_EQ(begin % kDirectBytes, written.offset_bytes % kDirectBytes);
                    }
                }
                EXPECT_LE(geometry.place_bytes(ranks), geometry.slot_bytes());
            }
        }
    }
    EXPECT_GE(of_sections, 5);
    EXPECT_GE(of_blocks, 1);
}

// What a rank keeps for itself is a share of what lies between the sweeps, and all of these are there.
TEST(SweepsOnRanks, NeedScratchForTheirOwnRowsOnly) {
    for (const int ranks : {2, 3, 5}) {
        const auto plan =
            plan_of(cat("c2c 1048576 forward double threads=1 memory=1MiB ranks=", ranks), solve_two_sweeps);
        ASSERT_TRUE(plan);
        EXPECT_GE(plan->scratch_of_each_rank_bytes * ranks, 16 << 20);
        EXPECT_LE(plan->scratch_of_each_rank_bytes, (16 << 20) / ranks * 5 / 4);
        EXPECT_LE(plan->scratch_of_each_rank_bytes, plan->scratch_bytes);
    }
}

// None is left with much more than its share of a large array.
TEST(SweepsOnRanks, ShareTheWorkOut) {
    for (const int ranks : {2, 3, 4, 7}) {
        for (const auto& [text, solve] :
             {std::pair<const char*, SolverFunction>{"c2c 4194304 forward double", solve_two_sweeps},
              {"r2c 4194304 forward double", solve_two_sweeps},
              {"c2c 60x11000 forward double", solve_two_sweeps},
              {"c2c 128x128x1024 forward double", solve_axis_sweeps}}) {
            const auto plan = plan_of(cat(text, " threads=1 memory=4MiB ranks=", ranks), solve);
            ASSERT_TRUE(plan) << text;
            index_t most = 0, all = 0;
            for (int rank = 0; rank < ranks; ++rank) {
                const Counts counts = plan->predict(rank);
                most = std::max(most, counts.disk_read_bytes + counts.disk_written_bytes);
                all += counts.disk_read_bytes + counts.disk_written_bytes;
            }
            EXPECT_LE(most * ranks, all + all / 4) << text << " on " << ranks << " ranks";
        }
    }
}

TEST(SweepsOnRanks, KeepWithinEveryBudgetInWhichTheyArePlanned) {
    const std::pair<const char*, SolverFunction> cases[] = {
        {"c2c 32x1792 forward double", solve_axis_sweeps},
        {"r2c 64x1024 forward float", solve_axis_sweeps},
        {"c2c 60x1100 forward double", solve_two_sweeps},
        {"c2c 65536 forward double", solve_two_sweeps},
        {"r2c 46080 forward double", solve_two_sweeps},
        {"c2r 46080 backward float", solve_two_sweeps},
        {"c2r 64x1024 backward double", solve_axis_sweeps},
        {"c2r 90x80x100 backward double", solve_axis_sweeps},
        {"r2c 90x80x100 forward double power", solve_axis_sweeps},
        {"dct2 23040 forward double", solve_two_sweeps},
        {"c2c 46080 forward double", solve_many_sweeps},
        {"r2c 46080 forward double", solve_many_sweeps},
        {"c2r 46080 backward double", solve_many_sweeps},
        {"c2c 1009 forward double", solve_chirp_sweeps},
        {"c2c 46080 forward double output=exchanged", solve_two_sweeps}};
    for (const auto& [text, solve] : cases) {
        int planned = 0;
        for (double bytes = 64 << 10; bytes < 4e6; bytes *= 1 + 0.08 * kPointStep) {
            for (const int ranks : kSanitized ? std::vector{5} : std::vector{2, 5, 16}) {
                const auto memory = static_cast<index_t>(bytes);
                const auto plan =
                    solve(Problem::parse(cat(text, " memory=", memory, " ranks=", ranks)).value(), Planner(Machine()));
                if (!plan.ok()) continue;
                for (int rank = 0; rank < ranks; ++rank)
                    ASSERT_LE(plan.value()->peak_memory_bytes(rank), memory) << text << " on " << ranks << " ranks";
                ++planned;
            }
        }
        EXPECT_GT(planned * kPointStep * kRanksStep, 40) << text;
    }
}

TEST(SweepsOnRanks, TakeTheSmallestMemoryThatIsNamed) {
    for (const auto& [problem, solve] :
         {std::pair<const char*, SolverFunction>{"c2c 16384 forward double", solve_two_sweeps},
          {"r2c 11520 forward double", solve_two_sweeps},
          {"c2r 9009 backward float", solve_two_sweeps},
          {"c2c 64x48 forward double", solve_two_sweeps},
          {"dct3 9009 forward double", solve_two_sweeps},
          {"c2c 13824 backward double", solve_many_sweeps},
          {"r2c 13824 forward double", solve_many_sweeps},
          {"c2r 13824 backward float", solve_many_sweeps},
          {"c2c 4099 forward double", solve_chirp_sweeps}}) {
        for (const int ranks : {2, 5}) {
            const std::string text = cat(problem, " threads=1 ranks=", ranks);
            SCOPED_TRACE(text);
            const index_t least = named_memory(text, solve);
            const RanksRun run = run_on_ranks(cat(text, " memory=", least), solve);
            ASSERT_TRUE(run.planned.ok()) << run.planned.message();
            expect_shared_out(run);
            EXPECT_FALSE(run_on_ranks(cat(text, " memory=", least - 1), solve).planned.ok());
        }
    }
}

// 8 x 6 chunks. All boxes of whole chunks are some rank's, and each is one rank's alone.
TEST(SweepsOnRanks, ShareChunksOutUnlessOneWritesThemAll) {
    for (const bool one_writer : {false, true}) {
        const std::string text = cat("r2c 64x48 forward double memory=64KiB threads=1 ranks=5 input_chunk=8x8 ",
                                     "output_chunk=8x8 method=axis_sweeps", one_writer ? " one_writer" : "");
        SCOPED_TRACE(text);
        const auto planned = Planner(Machine()).plan(Problem::parse(text).value());
        ASSERT_TRUE(planned.ok()) << planned.status().message();
        const Plan& plan = *planned.value();
        const Step &in = *plan.steps.front(), &out = *plan.steps.back();
        index_t read = 0, written = 0, most = 0;
        for (int rank = 0; rank < 5; ++rank) {
            const Counts reads = in.predict(rank), writes = out.predict(rank);
            EXPECT_EQ(reads.disk_read_bytes, reads.disk_written_bytes);
            EXPECT_EQ(writes.disk_read_bytes, writes.disk_written_bytes);
            EXPECT_EQ(in.progress_bytes(rank), reads.disk_read_bytes + reads.disk_written_bytes);
            EXPECT_GT(reads.disk_reads, 0);
            EXPECT_EQ(writes.disk_writes > 0, !one_writer || rank == 0);
            EXPECT_LE(plan.peak_memory_bytes(rank), 64 << 10);
            read += reads.disk_read_bytes;
            written += writes.disk_written_bytes;
            most = std::max(most, writes.disk_written_bytes);
        }
        EXPECT_EQ(read, 64 * 48 * 8);
        EXPECT_EQ(written, 64 * 25 * 16);
        EXPECT_EQ(most == written, one_writer);
        EXPECT_NE(out.describe().find(one_writer ? "all by rank 0" : "among 5 ranks"), std::string::npos)
            << out.describe();
    }
}

TEST(SweepsOnRanks, AreDescribedAsSharedOut) {
    const auto exchanging = plan_of("c2c 1155 forward double memory=40KiB ranks=3 threads=1", solve_two_sweeps);
    const auto seen = plan_of("c2c 32x24 forward double memory=24KiB ranks=3 threads=1", solve_axis_sweeps);
    ASSERT_TRUE(exchanging && seen);
    EXPECT_NE(exchanging->steps[0]->describe().find("exchanged among 3 ranks"), std::string::npos);
    EXPECT_NE(seen->steps[0]->describe().find("on each of 3 ranks"), std::string::npos);
}

}  // namespace
}  // namespace spanfft::test
