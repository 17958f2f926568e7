// The C interface on simulated ranks: what one rank does wrong, all ranks are told, in the same words, and none hangs.
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>

#include "capi/handles.hpp"
#include "spanfft/spanfft.h"
#include "support/oracle.hpp"
#include "support/simulated_store.hpp"
#include "support/thread_comm.hpp"

namespace spanfft::test {
namespace {

struct Told {
    int code = -1;
    std::string sentence;
};

// Calls body(rank, comm) on each rank with a C communicator and returns what each was told.
std::vector<Told> on_ranks(int ranks, const std::function<int(int rank, spanfft_comm* comm)>& body) {
    std::vector<Told> told(static_cast<size_t>(ranks));
    ThreadWorld world(ranks);
    world.run([&](int rank, Comm& comm) {
        spanfft_comm* handle = wrap_comm(comm.duplicate().value());
        told[static_cast<size_t>(rank)].code = body(rank, handle);
        told[static_cast<size_t>(rank)].sentence = spanfft_last_error();
        spanfft_comm_free(handle);
    });
    EXPECT_EQ(world.open_comms(), 0);
    return told;
}

void expect_all(const std::vector<Told>& told, int code, const std::vector<std::string>& words) {
    for (const auto& t : told) {
        EXPECT_EQ(t.code, code) << t.sentence;
        EXPECT_EQ(t.sentence, told[0].sentence);
        for (const auto& word : words)
            EXPECT_NE(t.sentence.find(word), std::string::npos) << "'" << t.sentence << "' lacks '" << word << "'";
    }
}

spanfft_problem cube(int64_t n) {
    const int64_t shape[3] = {n, n, n};
    spanfft_problem problem;
    spanfft_problem_init(&problem, 3, shape);
    problem.threads = 1;
    return problem;
}

// Makes a plan of this rank's problem and frees it again.
int make(const spanfft_problem* problem, spanfft_comm* comm) {
    spanfft_plan* plan = nullptr;
    const int code = spanfft_plan_create(problem, comm, &plan);
    EXPECT_EQ(plan != nullptr, code == SPANFFT_OK);
    spanfft_plan_free(plan);
    return code;
}

int parse(const char* text, spanfft_comm* comm) {
    spanfft_plan* plan = nullptr;
    const int code = spanfft_plan_parse(text, comm, &plan);
    spanfft_plan_free(plan);
    return code;
}

TEST(CapiOnRanks, APlanThatUndoesAnotherHasItsArraysUnlessARankNamesNone) {
    const char* const there_text = "c2c 1155 own_input own_output threads=1 method=shared_lines";
    const char* const back_text = "c2c 1155 backward own_input own_output threads=1 method=shared_lines";
    const auto told = on_ranks(3, [&](int rank, spanfft_comm* comm) {
        spanfft_plan *there = nullptr, *back = nullptr;
        EXPECT_EQ(spanfft_plan_parse(there_text, comm, &there), SPANFFT_OK);
        EXPECT_EQ(spanfft_plan_parse_undoing(back_text, nullptr, nullptr, comm, there, &back), SPANFFT_OK);
        EXPECT_EQ(spanfft_plan_input_array(back), spanfft_plan_output_array(there));
        EXPECT_EQ(spanfft_plan_output_array(back), spanfft_plan_input_array(there));
        spanfft_plan_free(back);
        back = nullptr;
        const spanfft_plan* const undone = rank == 2 ? nullptr : there;
        const int code = spanfft_plan_parse_undoing(back_text, nullptr, nullptr, comm, undone, &back);
        EXPECT_EQ(back, nullptr);
        const std::string sentence = spanfft_last_error();
        spanfft_plan_free(there);
        report_status(Status(static_cast<Code>(code), sentence));  // what on_ranks looks at
        return code;
    });
    expect_all(told, SPANFFT_MPI_ERROR, {"rank 2", "undoing c2c 1155"});
}

TEST(CapiOnRanks, CyclicPartsHaveStepsAndAreNoBoxes) {
    on_ranks(6, [](int rank, spanfft_comm* comm) {
        spanfft_plan* plan = nullptr;
        EXPECT_EQ(spanfft_plan_parse("c2c 8x9x4 grid=2x3 layout=cyclic batch=2", comm, &plan), SPANFFT_OK);
        spanfft_part part{};
        part.size = sizeof part;
        for (const auto query : {spanfft_plan_input_part, spanfft_plan_output_part}) {
            EXPECT_EQ(query(plan, &part), SPANFFT_OK);
            EXPECT_EQ(part.start[0], rank / 3);
            EXPECT_EQ(part.count[0], 4);
            EXPECT_EQ(part.step[0], 2);
            EXPECT_EQ(part.start[1], rank % 3);
            EXPECT_EQ(part.count[1], 3);
            EXPECT_EQ(part.step[1], 3);
            EXPECT_EQ(part.count[2], 4);
            EXPECT_EQ(part.step[2], 1);
        }
        EXPECT_EQ(spanfft_plan_input_bytes(plan), 2 * 4 * 3 * 4 * 16);
        spanfft_box box;
        EXPECT_EQ(spanfft_plan_input_box(plan, &box), SPANFFT_UNSUPPORTED);
        EXPECT_NE(std::string(spanfft_last_error()).find("spanfft_plan_input_part"), std::string::npos);
        spanfft_plan_free(plan);
        return 0;
    });
}

TEST(CapiOnRanks, ACyclicLayoutThatOneRankCantHaveNoRankCanHave) {
    expect_all(on_ranks(3, [](int, spanfft_comm* comm) { return parse("c2c 100 layout=cyclic", comm); }),
               SPANFFT_UNSUPPORTED, {"axis 0 of length 100", "3*3", "2 ranks", "5 ranks"});
    expect_all(on_ranks(2,
                        [](int rank, spanfft_comm* comm) {
                            return parse(rank ? "c2c 16 layout=cyclic" : "c2c 16 layout=block", comm);
                        }),
               SPANFFT_MPI_ERROR, {"rank 1"});
}

TEST(CapiOnRanks, AgreeingRanksGetAPlan) {
    expect_all(on_ranks(4,
                        [](int, spanfft_comm* comm) {
                            const spanfft_problem p = cube(8);
                            return make(&p, comm);
                        }),
               SPANFFT_OK, {});
}

TEST(CapiOnRanks, RanksThatAreLeftOutAreTheCommunicators) {
    expect_all(on_ranks(4, [](int, spanfft_comm* comm) { return parse("c2c 8x8 threads=1", comm); }), SPANFFT_OK, {});
    expect_all(on_ranks(4, [](int, spanfft_comm* comm) { return parse("c2c 8x8 ranks=4 threads=1", comm); }),
               SPANFFT_OK, {});
    expect_all(on_ranks(1, [](int, spanfft_comm* comm) { return parse("c2c 8x8 ranks=1 threads=1", comm); }),
               SPANFFT_OK, {});
}

TEST(CapiOnRanks, RanksThatAreSaidMustFitTheCommunicatorOneRankToo) {
    for (const char* text : {"c2c 8x8 ranks=1", "c2c 8x8 grid=1x1"}) {
        expect_all(on_ranks(4, [&](int, spanfft_comm* comm) { return parse(text, comm); }), SPANFFT_INVALID_ARGUMENT,
                   {"for 1 rank but", "has 4", "leave ranks= out"});
    }
    expect_all(on_ranks(4, [](int, spanfft_comm* comm) { return parse("c2c 8x8 ranks=3", comm); }),
               SPANFFT_INVALID_ARGUMENT, {"for 3 ranks but", "has 4"});
}

TEST(CapiOnRanks, DifferentShapesAreNamed) {
    expect_all(on_ranks(3,
                        [](int rank, spanfft_comm* comm) {
                            const spanfft_problem p = cube(rank == 2 ? 9 : 8);
                            return make(&p, comm);
                        }),
               SPANFFT_MPI_ERROR, {"rank 2", "agree on the problem", "9x9x9", "8x8x8"});
}

TEST(CapiOnRanks, DifferentOptionsAreNamed) {
    using Change = void (*)(spanfft_problem&);
    for (const Change change :
         {Change([](spanfft_problem& p) { p.direction = SPANFFT_BACKWARD; }),
          Change([](spanfft_problem& p) { p.precision = SPANFFT_FLOAT; }),
          Change([](spanfft_problem& p) { p.norm = SPANFFT_NORM_ORTHO; }),
          Change([](spanfft_problem& p) { p.batch = 2; }),
          Change([](spanfft_problem& p) { p.output = SPANFFT_OUTPUT_EXCHANGED; }),
          Change([](spanfft_problem& p) { p.threads = 2; }), Change([](spanfft_problem& p) { p.in_place = 1; }),
          Change([](spanfft_problem& p) { p.exchange = "alltoallw"; }),
          Change([](spanfft_problem& p) { p.kinds[2] = SPANFFT_R2C; }),
          Change([](spanfft_problem& p) { p.effort = SPANFFT_MEASURE; })}) {
        expect_all(on_ranks(2,
                            [&](int rank, spanfft_comm* comm) {
                                spanfft_problem p = cube(8);
                                if (rank == 1) change(p);
                                return make(&p, comm);
                            }),
                   SPANFFT_MPI_ERROR, {"rank 1", "agree on the problem"});
    }
}

TEST(CapiOnRanks, ABadArgumentOfOneRankIsAnErrorOnAll) {
    using Change = void (*)(spanfft_problem&);
    struct Bad {
        Change change;
        int code;
        const char* word;
    };
    for (const Bad& bad : {Bad{[](spanfft_problem& p) { p.shape[1] = 0; }, SPANFFT_MPI_ERROR, "8x0x8"},
                           Bad{[](spanfft_problem& p) { p.ndim = 7; }, SPANFFT_INVALID_ARGUMENT, "ndim is 7"},
                           Bad{[](spanfft_problem& p) { p.direction = 5; }, SPANFFT_INVALID_ARGUMENT, "direction is 5"},
                           Bad{[](spanfft_problem& p) { p.size = 3; }, SPANFFT_INVALID_ARGUMENT, "size field is 3"},
                           Bad{[](spanfft_problem& p) { p.naxes = -1; }, SPANFFT_INVALID_ARGUMENT, "naxes is -1"},
                           Bad{[](spanfft_problem& p) { p.ngrid = 9; }, SPANFFT_INVALID_ARGUMENT, "ngrid is 9"}}) {
        expect_all(on_ranks(3,
                            [&](int rank, spanfft_comm* comm) {
                                spanfft_problem p = cube(8);
                                if (rank == 1) bad.change(p);
                                return make(&p, comm);
                            }),
                   bad.code, {"rank 1", bad.word});
    }
}

TEST(CapiOnRanks, NullArgumentsOfOneRankAreAnErrorOnAll) {
    expect_all(on_ranks(3,
                        [](int rank, spanfft_comm* comm) {
                            const spanfft_problem p = cube(8);
                            return make(rank == 1 ? nullptr : &p, comm);
                        }),
               SPANFFT_INVALID_ARGUMENT, {"rank 1", "problem is NULL", "spanfft_problem_init"});
    expect_all(on_ranks(3,
                        [](int rank, spanfft_comm* comm) {
                            const spanfft_problem p = cube(8);
                            spanfft_plan* plan = nullptr;
                            const int code = spanfft_plan_create(&p, comm, rank == 2 ? nullptr : &plan);
                            spanfft_plan_free(plan);
                            return code;
                        }),
               SPANFFT_INVALID_ARGUMENT, {"rank 2", "plan is NULL"});
    expect_all(on_ranks(2, [](int rank, spanfft_comm* comm) { return parse(rank == 0 ? nullptr : "c2c 8x8", comm); }),
               SPANFFT_INVALID_ARGUMENT, {"rank 0", "string is NULL"});
}

TEST(CapiOnRanks, BadNamesAreNamedWithTheGoodOnes) {
    expect_all(on_ranks(2, [](int, spanfft_comm* comm) { return parse("c2c 8x8 engine=abacus", comm); }),
               SPANFFT_ENGINE_ERROR, {"abacus", "ducc0"});
    expect_all(on_ranks(2, [](int, spanfft_comm* comm) { return parse("c2c 8x8 exchange=pigeons", comm); }),
               SPANFFT_INVALID_ARGUMENT, {"pigeons", "alltoallw", "alltoallv"});
    expect_all(on_ranks(2, [](int, spanfft_comm* comm) { return parse("c2c 8x8 ranks=2 grid=3", comm); }),
               SPANFFT_INVALID_ARGUMENT, {"grid 3", "2 ranks"});
    expect_all(on_ranks(4, [](int, spanfft_comm* comm) { return parse("c2c 8x8 ranks=4 grid=2x2", comm); }),
               SPANFFT_INVALID_ARGUMENT, {"grid 2x2", "undivided"});
    expect_all(on_ranks(2, [](int, spanfft_comm* comm) { return parse("c2c 8x8 colour=red", comm); }),
               SPANFFT_INVALID_ARGUMENT, {"'colour'"});
}

TEST(CapiOnRanks, RanksInTheTextMustFitTheCommunicator) {
    expect_all(on_ranks(3, [](int, spanfft_comm* comm) { return parse("c2c 8x8 ranks=4", comm); }),
               SPANFFT_INVALID_ARGUMENT, {"4 ranks", "has 3"});
    expect_all(on_ranks(3, [](int, spanfft_comm* comm) { return parse("c2c 8x8 ranks=3", comm); }), SPANFFT_OK, {});
    expect_all(on_ranks(3, [](int, spanfft_comm* comm) { return parse("c2c 8x8", comm); }), SPANFFT_OK, {});
    expect_all(on_ranks(1, [](int, spanfft_comm* comm) { return parse("c2c 8x8 ranks=2", comm); }),
               SPANFFT_INVALID_ARGUMENT, {"2 ranks", "has 1"});
}

TEST(CapiOnRanks, OneDimensionInExchangedOrderOfGivenBoxesIsRefusedOnAllRanks) {
    expect_all(on_ranks(4,
                        [](int, spanfft_comm* comm) {
                            return parse("c2c 1024 output=exchanged real_boxes=0:1;1:1;1:3;3:1024", comm);
                        }),
               SPANFFT_UNSUPPORTED, {"1-D", "natural order only", "leave out output=exchanged"});
}

TEST(CapiOnRanks, ALineInExchangedOrderHasPartsWithSteps) {
    on_ranks(4, [](int rank, spanfft_comm* comm) {
        spanfft_plan* plan = nullptr;
        EXPECT_EQ(spanfft_plan_parse("c2c 1024 output=exchanged batch=2", comm, &plan), SPANFFT_OK);
        spanfft_part part{};
        part.size = sizeof part;
        EXPECT_EQ(spanfft_plan_output_part(plan, &part), SPANFFT_OK);
        EXPECT_EQ(part.start[0], rank);
        EXPECT_EQ(part.count[0], 256);
        EXPECT_EQ(part.step[0], 4);
        spanfft_box box;
        EXPECT_EQ(spanfft_plan_output_box(plan, &box), SPANFFT_UNSUPPORTED);
        EXPECT_NE(std::string(spanfft_last_error()).find("spanfft_plan_input_part"), std::string::npos);
        EXPECT_EQ(spanfft_plan_input_box(plan, &box), SPANFFT_OK);
        EXPECT_EQ(box.start[0], 256 * rank);
        spanfft_plan_free(plan);
        return 0;
    });
}

TEST(CapiOnRanks, BoxesOnSomeRanksOnlyAreRefused) {
    expect_all(on_ranks(3,
                        [](int rank, spanfft_comm* comm) {
                            spanfft_problem p = cube(8);
                            const spanfft_box box = {{0, 0, 0}, {8, 8, 8}};
                            if (rank == 1) p.real_box = &box;
                            return make(&p, comm);
                        }),
               SPANFFT_INVALID_ARGUMENT, {"1 of 3 ranks", "real_box", "every rank or on none"});
}

TEST(CapiOnRanks, BoxesThatDoNotTileNameTheRank) {
    const auto with_box = [](int64_t start, int64_t count) {
        return [=](int rank, spanfft_comm* comm) {
            spanfft_problem p = cube(8);
            const spanfft_box box = {{rank * 4, 0, 0}, {4, 8, 8}};
            const spanfft_box bad = {{start, 0, 0}, {count, 8, 8}};
            p.spectrum_box = rank == 1 ? &bad : &box;
            return make(&p, comm);
        };
    };
    expect_all(on_ranks(2, with_box(4, 4)), SPANFFT_OK, {});
    expect_all(on_ranks(2, with_box(3, 5)), SPANFFT_INVALID_ARGUMENT, {"ranks 0", "and 1", "overlap"});
    expect_all(on_ranks(2, with_box(5, 3)), SPANFFT_INVALID_ARGUMENT, {"448 of the 512"});
    expect_all(on_ranks(2, with_box(4, 5)), SPANFFT_INVALID_ARGUMENT, {"rank 1", "axis 0"});
    expect_all(on_ranks(2, with_box(4, -1)), SPANFFT_INVALID_ARGUMENT, {"rank 1"});
    expect_all(on_ranks(2, with_box(INT64_MAX, 4)), SPANFFT_INVALID_ARGUMENT, {"rank 1"});
    expect_all(on_ranks(2, with_box(4, INT64_MAX)), SPANFFT_INVALID_ARGUMENT, {"rank 1"});
}

TEST(CapiOnRanks, ExecutesAndCountsOnEachRank) {
    Wides given, found;  // all ranks' numbers
    std::mutex mutex;
    const auto told = on_ranks(3, [&](int rank, spanfft_comm* comm) {
        spanfft_problem p = cube(6);
        spanfft_plan* forward = nullptr;
        spanfft_plan* backward = nullptr;
        p.kinds[2] = SPANFFT_R2C;
        p.exchange = "alltoallv";
        int code = spanfft_plan_create(&p, comm, &forward);
        p.direction = SPANFFT_BACKWARD;
        if (!code) code = spanfft_plan_create(&p, comm, &backward);
        if (code) return code;
        EXPECT_EQ(spanfft_plan_rank(forward), rank);
        EXPECT_EQ(spanfft_plan_ranks(forward), 3);
        spanfft_box box;
        EXPECT_EQ(spanfft_plan_input_box(forward, &box), SPANFFT_OK);
        EXPECT_EQ(box.start[0], 2 * rank);
        EXPECT_EQ(spanfft_plan_input_bytes(forward), 2 * 6 * 6 * 8);
        EXPECT_EQ(spanfft_plan_output_bytes(forward), spanfft_plan_input_bytes(backward));
        spanfft_counts counts = {};
        counts.size = sizeof counts;
        EXPECT_EQ(spanfft_plan_counted(forward, -1, &counts), SPANFFT_INVALID_ARGUMENT);
        std::vector<double> x(72), y(static_cast<size_t>(spanfft_plan_output_bytes(forward)) / 8), z(72);
        for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>((i * 7 + static_cast<size_t>(rank)) % 13);
        code = spanfft_execute(forward, x.data(), y.data());
        if (!code) code = spanfft_execute(backward, y.data(), z.data());
        {
            const std::lock_guard lock(mutex);
            for (const double value : x) given.push_back({value, 0});
            for (const double value : z) found.push_back({value, 0});
        }
        spanfft_counts predicted = counts;
        EXPECT_EQ(spanfft_plan_predicted(forward, -1, -1, &predicted), SPANFFT_OK);
        EXPECT_EQ(spanfft_plan_counted(forward, -1, &counts), SPANFFT_OK);
        EXPECT_EQ(counts.messages, predicted.messages);
        EXPECT_EQ(counts.sent_bytes, predicted.sent_bytes);
        EXPECT_GT(counts.messages, 0);
        spanfft_plan_free(forward);
        spanfft_plan_free(backward);
        return code;
    });
    expect_all(told, SPANFFT_OK, {});
    EXPECT_EQ(given.size(), 6 * 6 * 6);
    EXPECT_LE(relative_error(found, given), 2 * tolerance(Problem::parse("r2c 6x6x6").value()));
}

// A 48 x 48 array of complex numbers in chunks of 8 x 8 behind functions: who moved which box.
struct Chunks {
    std::vector<std::complex<double>> numbers = std::vector<std::complex<double>>(48 * 48);
    std::mutex mutex;
    std::vector<int> boxes_of = std::vector<int>(3);
    std::set<std::array<int64_t, 2>> moved;
};
struct ChunksOfRank {
    Chunks* chunks;
    int rank;
};

int move_box(const int64_t* first, const int64_t* extent, void* data, void* user, bool in) {
    const auto& mine = *static_cast<ChunksOfRank*>(user);
    auto* box = static_cast<std::complex<double>*>(data);
    const std::lock_guard lock(mine.chunks->mutex);
    ++mine.chunks->boxes_of[static_cast<size_t>(mine.rank)];
    for (int64_t i = 0; i < extent[0]; ++i) {
        for (int64_t j = 0; j < extent[1]; ++j) {
            const bool begins = (first[0] + i) % 8 == 0 && (first[1] + j) % 8 == 0;
            const std::array<int64_t, 2> at = {first[0] + i, first[1] + j};
            EXPECT_TRUE(!begins || mine.chunks->moved.insert(at).second) << "a chunk twice";
            auto& number = mine.chunks->numbers[static_cast<size_t>((first[0] + i) * 48 + first[1] + j)];
            auto& boxed = box[i * extent[1] + j];
            (in ? boxed : number) = in ? number : boxed;
        }
    }
    return SPANFFT_OK;
}

int take_box(const int64_t* first, const int64_t* extent, void* data, void* user) {
    return move_box(first, extent, data, user, true);
}

int put_box(const int64_t* first, const int64_t* extent, void* data, void* user) {
    return move_box(first, extent, data, user, false);
}

TEST(CapiOnRanks, OneWriterHasAllChunksOfTheOutputAndAllReadThoseOfTheInput) {
    for (const int one_writer : {0, 1}) {
        TemporaryFolder folder;
        Chunks given, found;
        for (size_t i = 0; i < given.numbers.size(); ++i) given.numbers[i] = {double(i * 7 % 13), double(i * 5 % 11)};
        const auto told = on_ranks(3, [&](int rank, spanfft_comm* comm) {
            const int64_t shape[2] = {48, 48};
            spanfft_problem p;
            spanfft_problem_init(&p, 2, shape);
            p.threads = 1;
            p.memory_bytes = 24 << 10;
            p.method = "axis_sweeps";
            p.input_chunk[0] = p.input_chunk[1] = p.output_chunk[0] = p.output_chunk[1] = 8;
            p.one_writer = one_writer;
            spanfft_plan* plan = nullptr;
            if (const int code = spanfft_plan_create(&p, comm, &plan)) return code;
            const std::string output_path = folder.file("out");
            ChunksOfRank read{&given, rank}, written{&found, rank};
            spanfft_store input = {}, output = {};
            input.size = output.size = sizeof input;
            input.path = "given";
            input.transfer = take_box;
            input.user = &read;
            output.path = output_path.c_str();
            output.transfer = put_box;
            output.user = &written;
            const int code = spanfft_transform_stores(plan, &input, &output, folder.path().c_str(), nullptr, nullptr);
            spanfft_plan_free(plan);
            return code;
        });
        expect_all(told, SPANFFT_OK, {});
        EXPECT_EQ(given.moved.size(), 36u);
        EXPECT_EQ(found.moved.size(), 36u);
        for (int rank = 0; rank < 3; ++rank) {
            EXPECT_GT(given.boxes_of[static_cast<size_t>(rank)], 0) << rank;
            EXPECT_EQ(found.boxes_of[static_cast<size_t>(rank)] > 0, rank == 0 || !one_writer) << rank;
        }
        const Problem problem = Problem::parse("c2c 48x48").value();
        const auto wide = [](const std::vector<std::complex<double>>& numbers) {
            Wides values;
            for (const auto& z : numbers) values.push_back({z.real(), z.imag()});
            return values;
        };
        EXPECT_LE(relative_error(wide(found.numbers), expected(problem, wide(given.numbers))), tolerance(problem));
    }
}

TEST(CapiOnRanks, ANullPointerOfOneRankIsAnErrorOnAll) {
    expect_all(on_ranks(2,
                        [](int rank, spanfft_comm* comm) {
                            const spanfft_problem p = cube(4);
                            spanfft_plan* plan = nullptr;
                            if (const int code = spanfft_plan_create(&p, comm, &plan)) return code;
                            std::vector<double> x(64), y(64);
                            const int code = spanfft_execute(plan, x.data(), rank == 1 ? nullptr : y.data());
                            spanfft_plan_free(plan);
                            return code;
                        }),
               SPANFFT_INVALID_ARGUMENT, {"rank 1", "output is NULL"});
}

// The first of several that can't take part is named; codes of the caller's own go through as they are.
TEST(CapiOnRanks, WhatTheCallerFoundWrongIsEveryRanksErrorAndTheNextExecutionRuns) {
    for (const int code : {static_cast<int>(SPANFFT_IO_ERROR), SPANFFT_OWN_CODES + 7}) {
        std::vector<std::string> seen(3);
        const auto told = on_ranks(3, [&](int rank, spanfft_comm* comm) {
            const spanfft_problem problem = cube(6);
            spanfft_plan* plan = nullptr;
            EXPECT_EQ(spanfft_plan_create(&problem, comm, &plan), SPANFFT_OK);
            std::vector<double> in(2 * 6 * 6 * 6, 1.0), out(in.size());
            const bool odd = rank == 1;
            const int got = spanfft_execute_unless(plan, odd ? nullptr : in.data(), odd ? nullptr : out.data(),
                                                   odd ? code : SPANFFT_OK, odd ? "the shelf is empty" : nullptr);
            seen[static_cast<size_t>(rank)] = spanfft_last_error();
            EXPECT_EQ(spanfft_execute(plan, in.data(), out.data()), SPANFFT_OK) << spanfft_last_error();
            spanfft_plan_free(plan);
            return got;
        });
        for (const Told& t : told) EXPECT_EQ(t.code, code);
        for (const std::string& sentence : seen) EXPECT_EQ(sentence, "rank 1: the shelf is empty");
    }
}

TEST(CapiOnRanks, AnExecutionHasOneSmallCollective) {
    ThreadWorld world(3);
    world.run([&](int rank, Comm& comm) {
        const std::unique_ptr<spanfft_comm> handle(wrap_comm(comm.duplicate().value()));
        spanfft_problem problem = cube(6);
        problem.exchange = "alltoallv";
        spanfft_plan* plan = nullptr;
        EXPECT_EQ(spanfft_plan_create(&problem, handle.get(), &plan), SPANFFT_OK);
        std::vector<double> in(2 * 6 * 6 * 6, 1.0), out(in.size());
        const auto calls = [&] {
            std::vector<index_t> counts;
            for (const auto call : {CommCall::allgather, CommCall::broadcast, CommCall::barrier, CommCall::split})
                counts.push_back(world.calls(rank, call));
            return counts;
        };
        std::vector<index_t> wanted = calls();
        for (int time = 0; time < 5; ++time) {
            EXPECT_EQ(spanfft_execute(plan, in.data(), out.data()), SPANFFT_OK);
            ++wanted[0];
            EXPECT_EQ(calls(), wanted);
        }
        spanfft_plan_free(plan);
    });
}

TEST(Capi, AShortStructIsNotReadBeyondItsEnd) {
    // As long as its size field says and no longer: AddressSanitizer would see a read behind it.
    for (const size_t size : {sizeof(size_t), size_t{40}, offsetof(spanfft_problem, memory_bytes)}) {
        const std::unique_ptr<char[]> memory(new char[size]);
        const spanfft_problem p = cube(4);
        std::memcpy(memory.get(), &p, size);
        std::memcpy(memory.get(), &size, sizeof size);
        const int code = make(reinterpret_cast<const spanfft_problem*>(memory.get()), nullptr);
        EXPECT_EQ(code, size == offsetof(spanfft_problem, memory_bytes) ? SPANFFT_OK : SPANFFT_INVALID_ARGUMENT)
            << size;
    }
}

TEST(Capi, ErrorsAreKeptForEachThread) {
    EXPECT_EQ(spanfft_problem_canonical("nonsense", nullptr), SPANFFT_INVALID_ARGUMENT);
    const std::string mine = spanfft_last_error();
    (void)on_ranks(1, [](int, spanfft_comm* comm) { return parse("c2c 8 colour=red", comm); });
    EXPECT_EQ(spanfft_last_error(), mine);
}

}  // namespace
}  // namespace spanfft::test
