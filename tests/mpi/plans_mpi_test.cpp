// Plans on real MPI ranks through the C interface: the same checks as on simulated ranks, fewer cases. Every rank knows
// the whole array and its transform by definition, and compares its own part; errors are summed over the ranks.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <cstring>

#include "exchange/exchange.hpp"
#include "plan/problem.hpp"
#include "spanfft/spanfft_mpi.h"
#include "support/oracle.hpp"
#include "support/random.hpp"

namespace spanfft::test {
namespace {

int world_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}
int size_of(MPI_Comm comm) {
    int size = 0;
    MPI_Comm_size(comm, &size);
    return size;
}

// All ranks of comm have the same code and sentence.
void expect_alike(MPI_Comm comm, int code, const std::string& sentence) {
    const int hash = static_cast<int>(std::hash<std::string>()(sentence) & 0x3FFFFFFF);
    const int mine[4] = {code, -code, hash, -hash};
    int most[4];
    MPI_Allreduce(mine, most, 4, MPI_INT, MPI_MAX, comm);
    EXPECT_EQ(most[0], -most[1]) << "ranks got different codes, this one " << code;
    EXPECT_EQ(most[2], -most[3]) << "ranks got different sentences, this one '" << sentence << "'";
}

// The rank's part of an array as an ArrayState: one box is all that scatter and gather need.
struct Part {
    Extents shape;
    Patch patch;
    ElemType elem;
    index_t bytes() const { return patch_elems(patch) * static_cast<index_t>(elem.bytes()); }
};

Part part_of(const spanfft_plan* plan, const Problem& p, bool input) {
    spanfft_box box;
    EXPECT_EQ((input ? spanfft_plan_input_box : spanfft_plan_output_box)(plan, &box), SPANFFT_OK);
    Part part{input ? p.input_shape() : p.output_shape(), {}, input ? p.input_elem() : p.output_elem()};
    part.shape.insert(part.shape.begin(), p.batch);
    part.patch.push_back({0, p.batch, 1});
    for (int i = 0; i < p.ndim(); ++i) part.patch.push_back({box.start[i], box.count[i], 1});
    EXPECT_EQ(part.bytes(), input ? spanfft_plan_input_bytes(plan) : spanfft_plan_output_bytes(plan));
    return part;
}

template <class Real>
void copy_part(Wides& global, const Part& part, void* local, bool to_local) {
    auto* at = static_cast<Real*>(local);
    for_each_index(part.shape, part.patch, [&](index_t i) {
        WideComplex& x = global[static_cast<size_t>(i)];
        if (to_local) {
            *at++ = static_cast<Real>(x.re);
            if (part.elem.complex) *at++ = static_cast<Real>(x.im);
        } else {
            x.re = static_cast<Wide>(*at++);
            x.im = part.elem.complex ? static_cast<Wide>(*at++) : Wide(0);
        }
    });
}

void copy_part(Wides& global, const Part& part, void* local, bool to_local) {
    switch (part.elem.precision) {
        case Precision::single:
            return copy_part<float>(global, part, local, to_local);
        case Precision::dbl:
            return copy_part<double>(global, part, local, to_local);
        case Precision::extended:
            return copy_part<long double>(global, part, local, to_local);
    }
}

void expect_counts(const spanfft_plan* plan) {
    spanfft_counts predicted = {}, counted = {};
    predicted.size = counted.size = sizeof predicted;
    EXPECT_EQ(spanfft_plan_predicted(plan, -1, -1, &predicted), SPANFFT_OK);
    EXPECT_EQ(spanfft_plan_counted(plan, -1, &counted), SPANFFT_OK) << spanfft_last_error();
    EXPECT_EQ(predicted.messages, counted.messages);
    EXPECT_EQ(predicted.sent_bytes, counted.sent_bytes);
    EXPECT_EQ(predicted.memory_bytes, counted.memory_bytes);
    EXPECT_EQ(predicted.calls, counted.calls);
}

// Runs a made plan, twice on few ranks, and compares this rank's part with the definition.
void check_result(spanfft_plan* plan, const Problem& p, MPI_Comm comm, uint64_t seed) {
    Random random(seed);
    Wides input = random_input(random, p);
    const Wides wanted = expected(p, input);
    const Part in_part = part_of(plan, p, true), out_part = part_of(plan, p, false);
    const size_t bytes = static_cast<size_t>(std::max(in_part.bytes(), out_part.bytes())) + 32;
    std::vector<long double> in(bytes / sizeof(long double) + 1), separate(in.size());
    std::vector<long double>& out = p.in_place ? in : separate;
    const int times = size_of(comm) > 3 ? 1 : 2;  // ranks that share two cores take turns: slowly
    for (int time = 0; time < times; ++time) {
        copy_part(input, in_part, in.data(), true);
        const auto before = in;
        const int code = spanfft_execute(plan, in.data(), out.data());
        EXPECT_EQ(code, SPANFFT_OK) << spanfft_last_error();
        const bool kept =
            p.in_place || std::memcmp(before.data(), in.data(), static_cast<size_t>(in_part.bytes())) == 0;
        EXPECT_TRUE(kept) << "the input was changed";
    }
    Wides output(wanted.size());
    copy_part(output, out_part, out.data(), false);
    double sums[2] = {0, 0}, all[2];
    for_each_index(out_part.shape, out_part.patch, [&](index_t i) {
        const WideComplex &a = output[static_cast<size_t>(i)], &b = wanted[static_cast<size_t>(i)];
        sums[0] += static_cast<double>((a.re - b.re) * (a.re - b.re) + (a.im - b.im) * (a.im - b.im));
        sums[1] += static_cast<double>(b.re * b.re + b.im * b.im);
    });
    MPI_Allreduce(sums, all, 2, MPI_DOUBLE, MPI_SUM, comm);
    EXPECT_LE(std::sqrt(all[0] / all[1]), tolerance(p));
    expect_counts(plan);
}

class Communicator {
  public:
    explicit Communicator(MPI_Comm mpi_comm) {
        EXPECT_EQ(spanfft_comm_from_mpi(mpi_comm, &comm_), SPANFFT_OK) << spanfft_last_error();
    }
    ~Communicator() { spanfft_comm_free(comm_); }
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    spanfft_comm* get() const { return comm_; }

  private:
    spanfft_comm* comm_ = nullptr;
};

void check_on(MPI_Comm mpi_comm, const std::string& text, uint64_t seed = 7) {
    SCOPED_TRACE(cat("'", text, "' on ", size_of(mpi_comm), " ranks, seed ", seed));
    const Communicator comm(mpi_comm);
    spanfft_plan* plan = nullptr;
    const int code = spanfft_plan_parse(text.c_str(), comm.get(), &plan);
    EXPECT_EQ(code, SPANFFT_OK) << spanfft_last_error();
    if (code == SPANFFT_OK) {
        Problem p = Problem::parse(text).value();
        p.ranks = size_of(mpi_comm);
        check_result(plan, p, mpi_comm, seed);
    }
    spanfft_plan_free(plan);
}

void check(const std::string& text) { check_on(MPI_COMM_WORLD, text); }

// --- results
// ------------------------------------------------------------------------------------------------------------

TEST(MpiPlan, EveryKindAndDirectionByOneExchangeOrTheOther) {
    for (const char* kind : {"c2c", "r2c", "dct1", "dct2", "dct3", "dct4", "dst1", "dst2", "dst3", "dst4"}) {
        for (const char* direction : {"forward", "backward"}) {
            const bool packed = (kind[2] + direction[0]) % 2;
            check(cat(kind, " 7x6x5 ", direction, " exchange=", packed ? "alltoallv" : "alltoallw"));
        }
    }
}

// Every row of the table that these ranks can have, and parameters that leave chunks over.
std::vector<std::string> exchange_texts() {
    std::vector<std::string> texts;
    for (const auto& strategy : exchange_table()) {
        if (!strategy.approximate) texts.emplace_back(strategy.name);
    }
    for (const char* text : {"oneplane:3", "overlap:2", "overlap:all", "standard:2", "replace:2", "blockvector:2"})
        texts.emplace_back(text);
    return texts;
}

// Libraries older than MPI 4, such as Open MPI 4.1, can't have persistent collectives.
bool is_before_mpi_4() {
    int version = 0, subversion = 0;
    MPI_Get_version(&version, &subversion);
    return version < 4;
}

TEST(MpiPlan, EveryExchange) {
    for (const std::string& exchange : exchange_texts()) {
        if (exchange == "persistent" && is_before_mpi_4() && size_of(MPI_COMM_WORLD) > 1) continue;  // see below
        for (const char* problem : {"c2c 9x7x6", "r2c 6x8x5 float backward", "r2c 7x6x5 output=exchanged",
                                    "c2c 8x5x4 float backward output=exchanged", "c2c 2x3x4 in_place"})
            check(cat(problem, " exchange=", exchange));
    }
}

TEST(MpiPlan, PersistentExchangesAreRefusedWithTheRemedyBeforeMpi4) {
    if (!is_before_mpi_4() || size_of(MPI_COMM_WORLD) == 1) GTEST_SKIP() << "they are there, or not needed";
    const Communicator comm(MPI_COMM_WORLD);
    spanfft_plan* plan = nullptr;
    EXPECT_EQ(spanfft_plan_parse("c2c 9x7x6 exchange=persistent", comm.get(), &plan), SPANFFT_UNSUPPORTED);
    const std::string sentence = spanfft_last_error();
    EXPECT_NE(sentence.find("MPI-4"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("alltoallv"), std::string::npos) << sentence;
    spanfft_plan_free(plan);
}

// main() calls MPI_Init, which MPI libraries may answer with any level of threads.
TEST(MpiPlan, ACommunicationThreadRunsOrIsRefusedWithTheRemedy) {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    const std::string text = "c2c 8x8x8 exchange=blockvector:2,thread";
    if (level >= MPI_THREAD_SERIALIZED || size_of(MPI_COMM_WORLD) == 1) return check(text);
    const Communicator comm(MPI_COMM_WORLD);
    spanfft_plan* plan = nullptr;
    EXPECT_EQ(spanfft_plan_parse(text.c_str(), comm.get(), &plan), SPANFFT_UNSUPPORTED);
    EXPECT_NE(std::string(spanfft_last_error()).find("MPI_Init_thread"), std::string::npos) << spanfft_last_error();
    spanfft_plan_free(plan);
}

TEST(MpiPlan, EveryPrecisionAndNorm) {
    for (const char* precision : {"float", "double", "longdouble"}) {
        for (const char* norm : {"backward", "ortho", "forward"}) {
            for (const char* exchange : {"alltoallw", "alltoallv"})
                check(cat("r2c 6x5x8 ", precision, " norm=", norm, " exchange=", exchange));
        }
    }
}

TEST(MpiPlan, EveryGridOfTheRanks) {
    for (int dims = 1; dims <= 3; ++dims) {
        for (const Extents& grid : factorings(size_of(MPI_COMM_WORLD), dims)) {
            for (const char* output : {"natural", "exchanged"}) {
                check(cat("r2c 4x6x5x8 grid=", shape_string(grid), " output=", output));
                check(cat("c2c 5x4x3x4 backward grid=", shape_string(grid), " output=", output, " exchange=alltoallw"));
            }
        }
    }
}

TEST(MpiPlan, AxesBatchesInPlaceAndMixedKinds) {
    for (const char* text :
         {"c2c 6x5x4 axes=0", "r2c 6x5x4 axes=1,0 output=exchanged", "dct2 6x5 batch=3", "c2c 8x9 in_place",
          "r2c 6x5x4 in_place backward", "dct2,c2c,r2c 5x4x6 norm=ortho", "c2c,dst1,dct4 4x5x6 backward",
          "c2c 12x10 output=exchanged backward", "r2c 2x3x4x2x3 batch=2", "c2c 3x2x2x3x2x2"}) {
        check(text);
    }
}

TEST(MpiPlan, MoreRanksThanPlanes) {
    for (const char* text : {"c2c 2x3", "r2c 1x2x5", "c2c 1x1x4 backward", "r2c 3x1x1 backward", "dst2 2x2x2 in_place"})
        check(text);
}

TEST(MpiPlan, GivenBoxes) {
    const int ranks = size_of(MPI_COMM_WORLD), rank = world_rank();
    Random random(81);
    for (int i = 0; i < 12; ++i) {
        Problem p = Problem::parse(i % 2 ? "r2c 6x5x4" : "c2c 4x7x3").value();
        p.ranks = ranks;
        p.direction = static_cast<Direction>(i / 2 % 2);
        const auto real = random_tiling(random, p.shape, ranks),
                   spectrum = random_tiling(random, p.spectrum_shape(), ranks);
        const auto to_c = [](const Patch& patch) {
            spanfft_box box = {};
            for (size_t axis = 0; axis < patch.size(); ++axis) {
                box.start[axis] = patch[axis].start;
                box.count[axis] = patch[axis].count;
            }
            return box;
        };
        const spanfft_box real_box = to_c(real[static_cast<size_t>(rank)]),
                          spectrum_box = to_c(spectrum[static_cast<size_t>(rank)]);
        spanfft_problem c;
        spanfft_problem_init(&c, p.ndim(), p.shape.data());
        c.kinds[2] = i % 2 ? SPANFFT_R2C : SPANFFT_C2C;
        c.direction = static_cast<int>(p.direction);
        c.exchange = i % 4 < 2 ? "alltoallw" : "alltoallv";
        if (i % 3 != 0) c.real_box = &real_box;
        if (i % 3 != 1) c.spectrum_box = &spectrum_box;
        const Communicator comm(MPI_COMM_WORLD);
        spanfft_plan* plan = nullptr;
        const int code = spanfft_plan_create(&c, comm.get(), &plan);
        EXPECT_EQ(code, SPANFFT_OK) << spanfft_last_error();
        if (code != SPANFFT_OK) return;
        check_result(plan, p, MPI_COMM_WORLD, random.bits());
        spanfft_plan_free(plan);
    }
}

TEST(MpiPlan, RandomProblems) {
    Random random(82);
    SCOPED_TRACE(cat("seed ", random.seed()));
    const int ranks = size_of(MPI_COMM_WORLD);
    for (int i = 0; i < 50; ++i) {
        ProblemLimits limits;
        limits.boxes = false;
        Problem p = random_solvable(random, limits);
        if (p.ndim() == 1 && ranks > 1) continue;
        p.ranks = 1;  // the communicator's
        p.grid.clear();
        check_on(MPI_COMM_WORLD, p.print(), random.bits());
    }
}

// --- communicators
// -------------------------------------------------------------------------------------------------------

TEST(MpiPlan, OnSubCommunicatorsAtTheSameTime) {
    MPI_Comm half = MPI_COMM_NULL;
    const int color = world_rank() % 2;
    MPI_Comm_split(MPI_COMM_WORLD, color, -world_rank(), &half);
    // The halves do different things, in their own order.
    for (const char* text : {"r2c 6x5x4", "c2c 5x4 backward", "dct2 4x4x4"})
        check_on(half, color ? std::string(text) : std::string(text) + " norm=ortho output=exchanged");
    MPI_Comm_free(&half);
    check("c2c 4x4x4");
}

TEST(MpiPlan, OutlivesTheCommunicatorItWasMadeFrom) {
    MPI_Comm own = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    spanfft_comm* comm = nullptr;
    ASSERT_EQ(spanfft_comm_from_mpi(own, &comm), SPANFFT_OK);
    spanfft_plan* plan = nullptr;
    ASSERT_EQ(spanfft_plan_parse("c2c 6x5x4", comm, &plan), SPANFFT_OK) << spanfft_last_error();
    spanfft_comm_free(comm);
    MPI_Comm_free(&own);
    Problem p = Problem::parse("c2c 6x5x4").value();
    p.ranks = size_of(MPI_COMM_WORLD);
    check_result(plan, p, MPI_COMM_WORLD, 9);
    spanfft_plan_free(plan);
}

TEST(MpiPlan, SixtyFourAtOnceKeepOutOfEachOthersWay) {
    const Communicator comm(MPI_COMM_WORLD);
    std::vector<spanfft_plan*> plans;
    std::vector<std::string> texts;
    for (int i = 0; i < 64; ++i) {
        texts.push_back(cat(i % 3 ? "c2c " : "r2c ", 4 + i % 5, "x5x", 3 + i % 4, i % 2 ? " backward" : " forward",
                            i % 4 < 2 ? " exchange=alltoallw" : ""));
        plans.push_back(nullptr);
        ASSERT_EQ(spanfft_plan_parse(texts.back().c_str(), comm.get(), &plans.back()), SPANFFT_OK)
            << spanfft_last_error();
    }
    for (int i = 0; i < 64; ++i) {
        const auto k = static_cast<size_t>((i * 37) % 64);
        SCOPED_TRACE(texts[k]);
        Problem p = Problem::parse(texts[k]).value();
        p.ranks = size_of(MPI_COMM_WORLD);
        check_result(plans[k], p, MPI_COMM_WORLD, static_cast<uint64_t>(i));
    }
    for (spanfft_plan* plan : plans) spanfft_plan_free(plan);
}

TEST(MpiComm, RefusesNullAndInterCommunicators) {
    spanfft_comm* comm = nullptr;
    EXPECT_EQ(spanfft_comm_from_mpi(MPI_COMM_NULL, &comm), SPANFFT_INVALID_ARGUMENT);
    EXPECT_NE(std::string(spanfft_last_error()).find("MPI_COMM_NULL"), std::string::npos);
    EXPECT_EQ(spanfft_comm_from_mpi(MPI_COMM_WORLD, nullptr), SPANFFT_INVALID_ARGUMENT);
    EXPECT_NE(std::string(spanfft_mpi_library()), "");
    if (size_of(MPI_COMM_WORLD) < 2) return;
    MPI_Comm half = MPI_COMM_NULL, between = MPI_COMM_NULL;
    const int color = world_rank() == 0 ? 0 : 1;
    MPI_Comm_split(MPI_COMM_WORLD, color, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, color == 0 ? 1 : 0, 5, &between);
    EXPECT_EQ(spanfft_comm_from_mpi(between, &comm), SPANFFT_INVALID_ARGUMENT);
    EXPECT_NE(std::string(spanfft_last_error()).find("intercommunicator"), std::string::npos);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    EXPECT_EQ(comm, nullptr);
}

// --- errors
// ----------------------------------------------------------------------------------------------------------------

TEST(MpiErrors, OfOneRankReachAllAndLeaveNobodyWaiting) {
    const Communicator comm(MPI_COMM_WORLD);
    const int last = size_of(MPI_COMM_WORLD) - 1;
    const bool me = world_rank() == last;
    struct Case {
        const char *good, *bad;
        int code_alone, code;  // on one rank there is nobody to differ from
    };
    for (const Case& c : {Case{"c2c 6x5x4", "c2c 6x5x5", SPANFFT_OK, SPANFFT_MPI_ERROR},
                          Case{"c2c 6x5x4", "c2c 6x5x4 colour=red", SPANFFT_INVALID_ARGUMENT, SPANFFT_INVALID_ARGUMENT},
                          Case{"c2c 6x5x4", "c2c 6x5x4 backward", SPANFFT_OK, SPANFFT_MPI_ERROR},
                          Case{"c2c 6x5x4", nullptr, SPANFFT_INVALID_ARGUMENT, SPANFFT_INVALID_ARGUMENT}}) {
        spanfft_plan* plan = nullptr;
        const int code = spanfft_plan_parse(me ? c.bad : c.good, comm.get(), &plan);
        EXPECT_EQ(code, last == 0 ? c.code_alone : c.code) << spanfft_last_error();
        expect_alike(MPI_COMM_WORLD, code, spanfft_last_error());
        spanfft_plan_free(plan);
    }
    for (const char* text :
         {"c2c 6x5x4 engine=abacus", "c2c 6x5x4 exchange=pigeons", "c2c 6x5x4 ranks=17", "c2c 6x5x4 grid=19"}) {
        spanfft_plan* plan = nullptr;
        const int code = spanfft_plan_parse(text, comm.get(), &plan);
        EXPECT_NE(code, SPANFFT_OK) << text;
        expect_alike(MPI_COMM_WORLD, code, spanfft_last_error());
        spanfft_plan_free(plan);
    }
}

TEST(MpiErrors, NullAndOverlappingPointersOfOneRankReachAll) {
    const Communicator comm(MPI_COMM_WORLD);
    spanfft_plan* plan = nullptr;
    ASSERT_EQ(spanfft_plan_parse("c2c 14x5x4", comm.get(), &plan), SPANFFT_OK) << spanfft_last_error();
    std::vector<double> x(static_cast<size_t>(spanfft_plan_input_bytes(plan)) / 8),
        y(static_cast<size_t>(spanfft_plan_output_bytes(plan)) / 8);
    const bool me = world_rank() == size_of(MPI_COMM_WORLD) - 1;
    int code = spanfft_execute(plan, me ? nullptr : x.data(), y.data());
    EXPECT_EQ(code, SPANFFT_INVALID_ARGUMENT);
    expect_alike(MPI_COMM_WORLD, code, spanfft_last_error());
    code = spanfft_execute(plan, me ? y.data() : x.data(), y.data());
    EXPECT_EQ(code, SPANFFT_INVALID_ARGUMENT);
    expect_alike(MPI_COMM_WORLD, code, spanfft_last_error());
    EXPECT_EQ(spanfft_execute(plan, x.data(), y.data()), SPANFFT_OK);
    spanfft_plan_free(plan);
}

TEST(MpiErrors, ACyclicLayoutOfALengthThatTheRanksDontDivideIsRefused) {
    const int ranks = size_of(MPI_COMM_WORLD);
    if (ranks == 1) return;
    const Communicator comm(MPI_COMM_WORLD);
    spanfft_plan* plan = nullptr;
    const std::string text = "c2c " + std::to_string(ranks * ranks + 1) + " layout=cyclic";
    EXPECT_EQ(spanfft_plan_parse(text.c_str(), comm.get(), &plan), SPANFFT_UNSUPPORTED);
    EXPECT_NE(std::string(spanfft_last_error()).find("can't be divided cyclically"), std::string::npos)
        << spanfft_last_error();
}

}  // namespace
}  // namespace spanfft::test
