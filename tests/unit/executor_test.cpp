// Executors: what they allocate and when, and that an error on one rank is an error on all, with nobody left waiting.
//
// Allocations are counted by this program's own operator new and aligned_alloc, which libspanfft uses too. Engines may
// allocate while they run (ducc0 does); so the plans here transform axes of one point, for which no engine is called.
// Under AddressSanitizer, which brings its own allocator, nothing is counted.
#include "exec/executor.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <new>

#include "plan/planner.hpp"
#include "plan/twiddle_step.hpp"
#include "support/oracle.hpp"
#include "support/thread_comm.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SPANFFT_COUNTS_ALLOCATIONS 0
#else
#define SPANFFT_COUNTS_ALLOCATIONS 1
#endif

namespace {
struct Allocations {
    bool on = false;
    bool fail_aligned = false;
    long count = 0;
    size_t bytes = 0, aligned_bytes = 0;
};
thread_local Allocations allocations;
}  // namespace

#if SPANFFT_COUNTS_ALLOCATIONS
// Not inlined, or GCC sees a malloc that new made being freed by delete and warns.
#define SPANFFT_NOINLINE __attribute__((noinline))
SPANFFT_NOINLINE void* operator new(size_t bytes) {
    if (allocations.on) {
        ++allocations.count;
        allocations.bytes += bytes;
    }
    if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
    throw std::bad_alloc();
}
SPANFFT_NOINLINE void operator delete(void* memory) noexcept { std::free(memory); }
SPANFFT_NOINLINE void operator delete(void* memory, size_t) noexcept { std::free(memory); }

extern "C" __attribute__((visibility("default"))) void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
    if (allocations.on) {
        ++allocations.count;
        allocations.aligned_bytes += bytes;
    }
    if (allocations.fail_aligned) return nullptr;
    void* memory = nullptr;
    return posix_memalign(&memory, alignment < sizeof(void*) ? sizeof(void*) : alignment, bytes) == 0 ? memory
                                                                                                      : nullptr;
}
#endif

namespace spanfft::test {
namespace {

std::shared_ptr<const Plan> plan(const Problem& problem) {
    auto planned = Planner(this_machine()).plan(problem);
    EXPECT_TRUE(planned.ok()) << planned.status().message();
    return planned.ok() ? std::move(planned).value() : nullptr;
}
std::shared_ptr<const Plan> plan(const std::string& text) { return plan(Problem::parse(text).value()); }

#if SPANFFT_COUNTS_ALLOCATIONS
TEST(Executor, AllocatesNothingInOneProcess) {
    for (const char* text : {"c2c 100x1 axes=1 engine=ducc0", "c2c 50x1 axes=1 in_place engine=ducc0 batch=2",
                             "c2c 64x1 axes=1 backward norm=ortho engine=ducc0", "dct3 200x1 axes=1 norm=ortho"}) {
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

// Bytes allocated by one execution of a plan of exchanges, on its worst rank.
size_t bytes_while_running(const std::string& exchange, index_t rows) {
    Random random(71);
    Problem p =
        Problem::parse(cat("c2c ", rows, "x12x1 axes=2 engine=ducc0 threads=1 ranks=4 grid=4 exchange=", exchange))
            .value();
    p.real_boxes = random_tiling(random, p.shape, 4);
    p.spectrum_boxes = random_tiling(random, p.shape, 4);
    const auto shared = plan(p);
    ThreadWorld world(4);
    std::mutex mutex;
    size_t most = 0;
    world.run([&](int rank, Comm& comm) {
        auto executor = Executor::make(shared, comm.duplicate().value());
        ASSERT_TRUE(executor.ok());
        LocalArray in(shared->input.local_bytes(rank), 8), out(shared->output.local_bytes(rank), 8);
        ASSERT_TRUE(executor.value()->execute(in.data(), out.data()).ok());
        allocations = {};
        allocations.on = true;
        const Status status = executor.value()->execute(in.data(), out.data());
        allocations.on = false;
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(allocations.aligned_bytes, 0u);
        most = std::max(most, allocations.bytes);
    });
    return most;
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

TEST(Executor, ExchangesAllocateNothingThatGrowsWithTheArray) {
    for (const std::string exchange : {"alltoallw", "alltoallv"}) {
        // agree() allocates one int a rank and copy_strided its loops, for each piece: a few hundred bytes in all.
        EXPECT_LE(bytes_while_running(exchange, 8), 4096u) << exchange;
        EXPECT_LE(bytes_while_running(exchange, 8000), 4096u) << exchange;
    }
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
#endif

// --- errors
// -----------------------------------------------------------------------------------------------------------

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

TEST(Executor, ManyAtOnceKeepOutOfEachOthersWay) {
    const auto forward = plan("c2c 6x5x4 ranks=3 grid=3 threads=1"),
               backward = plan("c2c 6x5x4 backward ranks=3 grid=3 threads=1");
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
            for (size_t k = 0; k < n; ++k) ASSERT_NEAR(z[k], x[k], 1e-13);
        }
    });
    EXPECT_EQ(world.open_comms(), 0);
}

}  // namespace
}  // namespace spanfft::test
