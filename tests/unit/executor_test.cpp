// Executors: what they allocate and when, and that an error on one rank is an error on all, with nobody left waiting.
//
// Engines may allocate while they run (ducc0 does); so the plans here transform axes of one point, for which no engine
// is called, or are FFTW's. Counted is what the thread that executes allocates.
#include "exec/executor.hpp"

#include <gtest/gtest.h>

#include <mutex>

#include "engine/engine.hpp"
#include "exchange/exchange.hpp"
#include "plan/planner.hpp"
#include "steps/twiddle_step.hpp"
#include "support/allocations.hpp"
#include "support/oracle.hpp"
#include "support/thread_comm.hpp"

namespace spanfft::test {
namespace {

std::shared_ptr<const Plan> plan(const Problem& problem) {
    auto planned = Planner(this_machine()).plan(problem);
    EXPECT_TRUE(planned.ok()) << planned.status().message();
    return planned.ok() ? std::move(planned).value() : nullptr;
}
std::shared_ptr<const Plan> plan(const std::string& text) { return plan(Problem::parse(text).value()); }

// Every rank that is looked at costs allocations (its part is a list of ranges), and every list of ranks bytes. So
// these counts bound the work, which a limit on seconds would only do on an idle machine.
TEST(Planning, DoesNotLookAtEachOfThousandsOfRanks) {
    Machine machine = this_machine();
    machine.topology.ranks_per_node = 128;
    Machine probed = machine;
    for (const auto& strategy : exchange_table()) probed.exchanges[strategy.name].includes_copies = true;
    for (const char* text :
         {"c2c 8192x8192x8192 ranks=65536", "r2c 8192x8192x8192 ranks=65536", "c2c 65536x65536 ranks=65536",
          "c2c 64x64x64x64x64x64 ranks=65536", "c2c 4294967296 ranks=65536 layout=cyclic"}) {
        const Problem problem = Problem::parse(text).value();
        for (const Machine* known : {&machine, &probed}) {
            const Planner planner(*known);
            allocations = {};
            allocations.on = true;
            const auto planned = planner.plan(problem);
            allocations.on = false;
            ASSERT_TRUE(planned.ok()) << planned.status().message();
            EXPECT_LT(allocations.count, 5 * problem.ranks) << text;
            EXPECT_LT(allocations.bytes, size_t{2048} * static_cast<size_t>(problem.ranks)) << text;
        }
    }
}

TEST(Executor, AllocatesNothingInOneProcess) {
    for (const char* text :
         {"c2c 100x1 axes=1 engine=ducc0", "c2c 50x1 axes=1 in_place engine=ducc0 batch=2",
          "c2c 64x1 axes=1 backward norm=ortho engine=ducc0", "dct3 200x1 axes=1 norm=ortho engine=fftw"}) {
        auto executor = Executor::make(plan(text), make_self_comm());
        ASSERT_TRUE(executor.ok());
        std::vector<double> in(400), out(400);
        allocations = {};
        allocations.on = true;
        const Status first =
            executor.value()->execute(in.data(), executor.value()->plan().problem.in_place ? in.data() : out.data());
        const Status second =
            executor.value()->execute(in.data(), executor.value()->plan().problem.in_place ? in.data() : out.data());
        allocations.on = false;
        EXPECT_TRUE(first.ok() && second.ok()) << first.message();
        EXPECT_EQ(allocations.count, 0) << text;
    }
}

TEST(Executor, AllocatesNothingWhileItTraces) {
    auto executor = Executor::make(plan("c2c 100x1 axes=1 engine=ducc0"), make_self_comm());
    ASSERT_TRUE(executor.ok());
    std::vector<double> in(400), out(400);
    allocations = {};
    ASSERT_TRUE(executor.value()->start_trace(8).ok());
    allocations.on = true;
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(executor.value()->execute(in.data(), out.data()).ok());
    executor.value()->stop_trace();
    ASSERT_TRUE(executor.value()->execute(in.data(), out.data()).ok());
    allocations.on = false;
    EXPECT_EQ(allocations.count, 0);
    EXPECT_EQ(executor.value()->trace()->size(), 8);  // and not when the array is full, either
    EXPECT_GT(executor.value()->trace()->dropped(), 0);
}

// Allocations of each rank's own thread during one execution, the second one, summed.
long allocations_of_ranks(const std::shared_ptr<const Plan>& shared) {
    ThreadWorld world(shared->problem.ranks);
    std::mutex mutex;
    long count = 0;
    world.run([&](int rank, Comm& comm) {
        auto executor = Executor::make(shared, comm.duplicate().value());
        ASSERT_TRUE(executor.ok()) << executor.status().message();
        LocalArray in(shared->input.local_bytes(rank), 8), out(shared->output.local_bytes(rank), 8);
        void* const target = shared->problem.own_output ? executor.value()->own_output()
                             : shared->problem.in_place ? in.data()
                                                        : out.data();
        ASSERT_TRUE(executor.value()->execute(in.data(), target).ok());
        allocations = {};
        allocations.on = true;
        const Status status = executor.value()->execute(in.data(), target);
        allocations.on = false;
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(status.ok()) << status.message();
        count += allocations.count;
    });
    return count;
}

std::vector<std::string> every_exchange() {
    std::vector<std::string> texts{"overlap:3",    "oneplane:2",           "standard:all",    "replace:2",
                                   "phased:2x2/1", "blockvector:4,thread", "compressed:1e-6", "phased:/2"};
    for (const ExchangeStrategy& strategy : exchange_table()) texts.emplace_back(strategy.name);
    return texts;
}

// Axis 0 has one point: where it is transformed no engine runs, but every step of a real plan is there.
TEST(Executor, AllocatesNothingWhateverTheExchange) {
    for (const std::string& exchange : every_exchange()) {
        for (const char* problem :
             {"c2c 1x12x8 axes=0 grid=4", "c2c 1x13x5x4 axes=0 grid=4 backward", "c2c 5x1x13 axes=1 grid=2x2 batch=2",
              "c2c 12x3x1 axes=2 grid=4 float", "c2c 1x16x16 axes=0 grid=4 output=exchanged"}) {
            if (exchange == "compressed" && std::string(problem).find("float") != std::string::npos) continue;
            const auto text = cat(problem, " ranks=4 threads=1 engine=ducc0 exchange=", exchange);
            const auto shared = plan(text);
            ASSERT_TRUE(shared) << text;
            EXPECT_EQ(allocations_of_ranks(shared), 0) << text;
        }
    }
}

TEST(Executor, AllocatesNothingBetweenBoxesOfAnyShape) {
    Random random(71);
    for (const std::string& exchange : every_exchange()) {
        for (const index_t rows : {8, 800}) {
            Problem p = Problem::parse(
                            cat("c2c ", rows, "x12x1 axes=2 engine=ducc0 threads=1 ranks=4 grid=4 exchange=", exchange))
                            .value();
            p.real_boxes = random_tiling(random, p.shape, 4);
            p.spectrum_boxes = random_tiling(random, p.shape, 4);
            const auto shared = plan(p);
            ASSERT_TRUE(shared) << exchange;
            EXPECT_EQ(allocations_of_ranks(shared), 0) << exchange << " " << rows;
        }
    }
}

// Nodes of two ranks: the exchange goes through gateways.
TEST(Executor, AllocatesNothingBetweenNodes) {
    Machine machine = this_machine();
    machine.topology.ranks_per_node = 2;
    const auto problem =
        Problem::parse("c2c 1x12x8 axes=0 grid=4 ranks=4 threads=1 engine=ducc0 exchange=hierarchical").value();
    auto planned = Planner(machine).plan(problem);
    ASSERT_TRUE(planned.ok()) << planned.status().message();
    EXPECT_EQ(allocations_of_ranks(std::move(planned).value()), 0);
}

// In memory that the ranks share, in the cyclic layout, and with threads of their own; lines of FFTW, which allocates
// nothing while it runs, where a transform is needed.
TEST(Executor, AllocatesNothingInTheOtherSolvers) {
    for (const char* text :
         {"c2c 1x12x8 axes=0,1 grid=4 ranks=4 exchange=shared threads=1",
          "c2c 12x8x6 ranks=4 exchange=shared threads=1", "c2c 12x8x6 ranks=4 exchange=shared threads=2 own_output",
          "c2c 9x10x6 ranks=3 exchange=shared threads=2 in_place backward",
          "c2c 36x36x4 ranks=6 grid=3x2 layout=cyclic exchange=alltoallv threads=1",
          "c2c 36x36x4 ranks=6 grid=3x2 layout=cyclic exchange=shared threads=1 backward",
          "c2c 16x12x10 ranks=4 grid=2x2 exchange=overlap threads=1",
          "c2c 16x12x10 ranks=4 grid=4 exchange=compressed threads=1"}) {
        if (!find_engine("fftw")) GTEST_SKIP() << "optional engine absent: " << engine_absence("fftw");
        const auto shared = plan(cat(text, " engine=fftw"));
        ASSERT_TRUE(shared) << text;
        EXPECT_EQ(allocations_of_ranks(shared), 0) << text;
    }
}

TEST(Executor, TwiddlesAllocateNothing) {
    const Layout layout({2, 200, 3, 9}, {{2, 0, Division::block}, {3, 2, Division::block}});
    const auto step = make_twiddle_step({{layout, {Precision::dbl, true}}, {{0, 1}, {2, 3}}, Direction::forward, 0.5L},
                                        this_machine());
    ThreadWorld world(6);
    world.run([&](int rank, Comm& comm) {
        Binding binding(comm);
        auto task = step->bind(binding);
        ASSERT_TRUE(task.ok());
        std::vector<double> x(static_cast<size_t>(layout.local_elems(rank)) * 2);
        RunContext context;
        context.slots[static_cast<size_t>(Slot::output)] = x.data();
        allocations = {};
        allocations.on = true;
        const Status status = task.value()->run(context);
        allocations.on = false;
        EXPECT_TRUE(status.ok());
        EXPECT_EQ(allocations.count, 0);
    });
}

TEST(Executor, AllocatesTheMemoryThatThePlanPredicts) {
    for (const char* text : {"r2c 40x30x20 ranks=3 grid=3 exchange=alltoallv threads=1 engine=ducc0",
                             "c2c 40x30x20 ranks=3 grid=3 exchange=alltoallw threads=1 engine=ducc0",
                             "c2c 32x32x32 ranks=4 grid=2x2 exchange=alltoallv in_place threads=1 engine=ducc0",
                             "c2c 40x30x20 ranks=3 grid=3 exchange=overlap:3 threads=1 engine=ducc0",
                             "r2c 40x30x20 ranks=3 grid=3 exchange=replace threads=1 engine=ducc0",
                             "c2c 40x30x20 ranks=3 grid=3 exchange=blockvector:4,thread threads=1 engine=ducc0",
                             "c2c 36x36x36 ranks=6 grid=3x2 exchange=alltoallv layout=cyclic threads=1 engine=ducc0"}) {
        const auto shared = plan(text);
        ThreadWorld world(shared->problem.ranks);
        std::mutex mutex;
        world.run([&](int rank, Comm& comm) {
            auto own = comm.duplicate();
            allocations = {};
            allocations.on = true;
            auto executor = Executor::make(shared, std::move(own).value());
            allocations.on = false;
            const std::lock_guard lock(mutex);
            ASSERT_TRUE(executor.ok());
            const index_t users =
                shared->input.local_bytes(rank) + (shared->problem.in_place ? 0 : shared->output.local_bytes(rank));
            const auto predicted = shared->peak_memory_bytes(rank) - users;
            EXPECT_GE(static_cast<index_t>(allocations.aligned_bytes), predicted) << text << " rank " << rank;
            // Buffers are whole pages: at most two slots and two packing buffers a step.
            EXPECT_LE(static_cast<index_t>(allocations.aligned_bytes),
                      predicted + 4096 * (2 + 2 * static_cast<index_t>(shared->steps.size())))
                << text << " rank " << rank;
        });
    }
}

TEST(Executor, AnAllocationThatFailsOnOneRankIsAnErrorOnAll) {
    for (const char* text : {"c2c 16x16x16 ranks=4 grid=2x2 threads=1 engine=ducc0 exchange=alltoallv",
                             "r2c 16x16x16 ranks=4 grid=4 threads=1 engine=ducc0 exchange=alltoallw backward",
                             "c2c 16x16x16 ranks=4 grid=2x2 threads=1 engine=ducc0 layout=cyclic"}) {
        const auto shared = plan(text);
        ThreadWorld world(4);
        world.run([&](int rank, Comm& comm) {
            auto own = comm.duplicate();
            allocations = {};
            allocations.fail_aligned = rank == 2;
            const auto executor = Executor::make(shared, std::move(own).value());
            allocations = {};
            EXPECT_EQ(executor.status().code(), Code::out_of_memory);
            const std::string message = executor.status().message();
            EXPECT_NE(message.find("rank 2: could not allocate "), std::string::npos) << message;
        });
        EXPECT_EQ(world.open_comms(), 0);
    }
}

// --- errors
// -----------------------------------------------------------------------------------------------------------

// Ranks 2 and 3 have an input and no output, for which NULL is allowed.
TEST(Executor, InPlaceWorksOnTheInputWhereThereIsNoOutput) {
    for (const char* exchange : {" exchange=alltoallv", " exchange=overlap", ""}) {
        const auto apart = plan(cat("c2c 4x2 ranks=4 grid=4 output=exchanged", exchange));
        const auto in_place = plan(cat("c2c 4x2 ranks=4 grid=4 output=exchanged in_place", exchange));
        ThreadWorld world(4);
        std::mutex mutex;
        world.run([&](int rank, Comm& comm) {
            auto first = Executor::make(apart, comm.duplicate().value());
            auto second = Executor::make(in_place, comm.duplicate().value());
            ASSERT_TRUE(first.ok() && second.ok());
            std::vector<double> in(8), x, out(8);
            for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<double>(rank) + static_cast<double>(i) / 7;
            x = in;
            ASSERT_TRUE(first.value()->execute(in.data(), out.data()).ok());
            const index_t bytes = in_place->output.local_bytes(rank);
            const Status status = second.value()->execute(x.data(), bytes > 0 ? x.data() : nullptr);
            const std::lock_guard lock(mutex);
            ASSERT_TRUE(status.ok()) << status.message();
            const auto elems = static_cast<std::ptrdiff_t>(bytes / 8);
            EXPECT_TRUE(std::equal(x.begin(), x.begin() + elems, out.begin())) << exchange << " rank " << rank;
        });
    }
}

// Executes on `ranks` threads with pointers that `choose` may replace, and returns all ranks' statuses.
std::vector<Status> execute_with(const std::string& text,
                                 const std::function<void(int rank, const void*& in, void*& out)>& choose) {
    const auto shared = plan(text);
    const int ranks = shared->problem.ranks;
    std::vector<Status> statuses(static_cast<size_t>(ranks));
    ThreadWorld world(ranks);
    world.run([&](int rank, Comm& comm) {
        auto executor = Executor::make(shared, comm.duplicate().value());
        ASSERT_TRUE(executor.ok());
        LocalArray memory(shared->input.local_bytes(rank) + shared->output.local_bytes(rank), 8);
        const void* in = memory.data();
        void* out = static_cast<char*>(memory.data()) + shared->input.local_bytes(rank);
        choose(rank, in, out);
        statuses[static_cast<size_t>(rank)] = executor.value()->execute(in, out);
        EXPECT_EQ(executor.value()->counted().has_value(), statuses[static_cast<size_t>(rank)].ok());
    });
    return statuses;
}

void expect_all(const std::vector<Status>& statuses, Code code, const std::vector<std::string>& words) {
    for (const auto& status : statuses) {
        EXPECT_EQ(status.code(), code) << status.message();
        EXPECT_EQ(status.message(), statuses[0].message());
        for (const auto& word : words) EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
    }
}

const std::string kSlabs = "c2c 8x6x4 ranks=4 grid=4 threads=1";

TEST(Executor, GoodPointersGiveNoError) {
    expect_all(execute_with(kSlabs, [](int, const void*&, void*&) {}), Code::ok, {});
}

TEST(Executor, ANullInputOnOneRankIsAnErrorOnAll) {
    expect_all(execute_with(kSlabs,
                            [](int rank, const void*& in, void*&) {
                                if (rank == 2) in = nullptr;
                            }),
               Code::invalid_argument, {"rank 2", "input is NULL", "768 bytes"});
}

TEST(Executor, ANullOutputOnOneRankIsAnErrorOnAll) {
    expect_all(execute_with(kSlabs,
                            [](int rank, const void*&, void*& out) {
                                if (rank == 3) out = nullptr;
                            }),
               Code::invalid_argument, {"rank 3", "output is NULL"});
}

TEST(Executor, OverlappingArraysOnOneRankAreAnErrorOnAll) {
    for (const int shift : {0, 8, 760}) {
        expect_all(execute_with(kSlabs,
                                [&](int rank, const void*& in, void*& out) {
                                    if (rank == 1) out = static_cast<char*>(const_cast<void*>(in)) + shift;
                                }),
                   Code::invalid_argument, {"rank 1", "overlap", "in_place"});
    }
}

TEST(Executor, InPlaceRefusesTwoArrays) {
    expect_all(execute_with(kSlabs + " in_place",
                            [](int rank, const void*& in, void*& out) {
                                if (rank != 0) out = const_cast<void*>(in);
                            }),
               Code::invalid_argument, {"rank 0", "in_place", "same pointer"});
}

TEST(Executor, EmptyBoxesMayHaveNullPointers) {
    expect_all(execute_with("c2c 2x2x3 ranks=4 grid=4 threads=1",
                            [](int rank, const void*& in, void*& out) {
                                if (rank >= 2) {
                                    in = nullptr;
                                    out = nullptr;
                                }
                            }),
               Code::ok, {});
}

TEST(Executor, RefusesToExecuteAPlanForFiles) {
    auto executor = Executor::make(plan("c2c 64 memory=1MiB"), make_self_comm());
    ASSERT_TRUE(executor.ok()) << executor.status().message();
    char memory[1];
    EXPECT_EQ(executor.value()->execute(memory, memory).code(), Code::invalid_argument);
    auto in_memory = Executor::make(plan("c2c 64"), make_self_comm());
    const Status status = in_memory.value()->transform_file({"in", 0, "out", "", {}, {}});
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(status.message().find("memory="), std::string::npos);
}

// Fails the nth split, transfer or window of one rank while an executor is made, until nothing is left to fail. Each
// time all ranks must get the same error, and none may wait for another.
TEST(Executor, AFailureOfOneRankWhileItIsMadeIsAnErrorOnAll) {
    for (const std::string text :
         {"c2c 8x6x4 ranks=4 grid=2x2 threads=1 exchange=alltoallv", "r2c 8x6x4 ranks=3 threads=1 exchange=alltoallw",
          "c2c 8x6x4 backward ranks=6 grid=3x2 threads=1 exchange=alltoallv",
          "r2c 8x6x4 ranks=3 threads=1 exchange=shared",
          "c2c 8x9x4 ranks=6 grid=2x3 threads=1 layout=cyclic exchange=alltoallw"}) {
        const auto shared = plan(text);
        const int ranks = shared->problem.ranks;
        const auto calls = shared->solver == "shared" ? std::vector{CommCall::make_window}
                                                      : std::vector{CommCall::split, CommCall::make_transfer};
        for (const CommCall call : calls) {
            int hits = 0;
            for (int rank = 0; rank < ranks; ++rank) {
                for (int nth = 1; nth <= 10; ++nth) {
                    SCOPED_TRACE(cat(text, ": ", call_name(call), " number ", nth, " of rank ", rank));
                    ThreadWorld world(ranks);
                    world.fail(rank, call, nth);
                    std::vector<Status> statuses(static_cast<size_t>(ranks));
                    world.run([&](int r, Comm& comm) {
                        auto executor = Executor::make(shared, comm.duplicate().value());
                        statuses[static_cast<size_t>(r)] = executor.status();
                    });
                    EXPECT_EQ(world.open_comms(), 0);
                    if (!world.fault_was_hit()) break;
                    ++hits;
                    expect_all(statuses, Code::mpi_error, {cat("rank ", rank), "injected"});
                    if (HasFailure()) return;
                }
            }
            EXPECT_GE(hits, ranks);
        }
    }
}

TEST(Executor, RunsAgainAfterAnError) {
    const auto shared = plan(kSlabs);
    ThreadWorld world(4);
    world.run([&](int rank, Comm& comm) {
        auto executor = Executor::make(shared, comm.duplicate().value());
        ASSERT_TRUE(executor.ok());
        LocalArray in(shared->input.local_bytes(rank), 8), out(shared->output.local_bytes(rank), 8);
        EXPECT_TRUE(executor.value()->execute(in.data(), out.data()).ok());
        EXPECT_FALSE(executor.value()->execute(rank == 0 ? nullptr : in.data(), out.data()).ok());
        EXPECT_TRUE(executor.value()->execute(in.data(), out.data()).ok());
        EXPECT_EQ(executor.value()->counted()->size(), shared->steps.size());
    });
}

// Transports that fail on one rank in the middle of a run: nobody waits for it, it has the error, and at the next
// execution, before anything is moved, all have it; then the plan works again.
TEST(Executor, AFailureInTheMiddleOfARunLeavesNobodyWaiting) {
    std::vector<std::string> texts{"c2c 12x8x6 ranks=4 grid=2x2 threads=1 engine=ducc0 layout=block exchange=alltoallv",
                                   "c2c 16x16x6 ranks=4 grid=2x2 threads=1 engine=ducc0 layout=cyclic"};
    for (const ExchangeStrategy& strategy : exchange_table())
        texts.push_back(cat("c2c 12x8x6 ranks=4 grid=4 threads=1 engine=ducc0 exchange=", strategy.name));
    texts.push_back("c2c 12x8x6 ranks=4 grid=4 threads=1 engine=ducc0 exchange=blockvector:2,thread");
    texts.push_back("c2c 12x8x6 ranks=4 grid=4 threads=1 engine=ducc0 exchange=phased:/1");
    for (const std::string& text : texts) {
        const auto shared = plan(text);
        ASSERT_TRUE(shared) << text;
        int hits = 0;
        for (const CommCall call : {CommCall::start, CommCall::finish, CommCall::barrier}) {
            for (int nth = 1; nth <= 3; ++nth) {
                SCOPED_TRACE(cat(text, ": ", call_name(call), " number ", nth));
                ThreadWorld world(4);
                world.fail(2, call, nth);
                std::vector<Status> first(4), second(4), third(4);
                world.run([&](int rank, Comm& comm) {
                    auto executor = Executor::make(shared, comm.duplicate().value());
                    ASSERT_TRUE(executor.ok()) << executor.status().message();
                    LocalArray in(shared->input.local_bytes(rank), 8), out(shared->output.local_bytes(rank), 8);
                    const auto i = static_cast<size_t>(rank);
                    first[i] = executor.value()->execute(in.data(), out.data());
                    EXPECT_EQ(executor.value()->counted().has_value(), first[i].ok());
                    second[i] = executor.value()->execute(in.data(), out.data());
                    third[i] = executor.value()->execute(in.data(), out.data());
                });
                if (!world.fault_was_hit() || first[2].ok()) break;  // that late only in the runs after it
                ++hits;
                for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(first[static_cast<size_t>(rank)].ok(), rank != 2);
                EXPECT_EQ(first[2].code(), Code::mpi_error);
                expect_all(second, Code::mpi_error, {"rank 2", "injected", "the execution before this one failed"});
                expect_all(third, Code::ok, {});
                if (HasFailure()) return;
            }
        }
        EXPECT_GE(hits, 1) << text;
    }
}

TEST(Executor, ManyAtOnceKeepOutOfEachOthersWay) {
    const auto forward = plan("c2c 6x5x4 ranks=3 grid=3 threads=1"),
               backward = plan("c2c 6x5x4 backward ranks=3 grid=3 threads=1");
    std::vector<Wides> given(16), found(16);  // all ranks' numbers, by pairs of executors
    std::mutex mutex;
    ThreadWorld world(3);
    world.run([&](int rank, Comm& comm) {
        std::vector<std::unique_ptr<Executor>> executors;
        for (int i = 0; i < 32; ++i)
            executors.push_back(Executor::make(i % 2 ? backward : forward, comm.duplicate().value()).value());
        const size_t n = static_cast<size_t>(forward->input.local_bytes(rank)) / 8;
        std::vector<double> x(n), y(n), z(n);
        for (size_t i = 0; i < n; ++i) x[i] = static_cast<double>(i % 17) - 8;
        for (int i = 0; i < 32; i += 2) {
            ASSERT_TRUE(executors[static_cast<size_t>(i)]->execute(x.data(), y.data()).ok());
            ASSERT_TRUE(executors[static_cast<size_t>(31 - i)]->execute(y.data(), z.data()).ok());
            const std::lock_guard lock(mutex);
            for (size_t k = 0; k < n; ++k) {
                given[static_cast<size_t>(i / 2)].push_back({x[k], 0});
                found[static_cast<size_t>(i / 2)].push_back({z[k], 0});
            }
        }
    });
    for (size_t i = 0; i < given.size(); ++i) {
        EXPECT_EQ(given[i].size(), 240);
        EXPECT_LE(relative_error(found[i], given[i]), 2 * tolerance(forward->problem)) << i;
    }
    EXPECT_EQ(world.open_comms(), 0);
}

}  // namespace
}  // namespace spanfft::test
