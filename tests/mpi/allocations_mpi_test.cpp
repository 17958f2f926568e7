// Plans on real MPI ranks allocate nothing of their own while they run. What MPI allocates inside is its own and is not
// counted: it is C, and calls neither operator new nor (but for buffers of ours) aligned_alloc.
#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

#include "engine/engine.hpp"
#include "exchange/exchange.hpp"
#include "spanfft/spanfft_mpi.h"
#include "support/allocations.hpp"

namespace spanfft::test {
namespace {

// What this rank's third execution of a plan allocates; -1: the plan can't be made here.
long allocations_of(const std::string& text, std::string& why) {
    spanfft_comm* comm = nullptr;
    spanfft_plan* plan = nullptr;
    EXPECT_EQ(spanfft_comm_from_mpi(MPI_COMM_WORLD, &comm), SPANFFT_OK);
    allocations = {};
    allocations.on = true;
    const int made = spanfft_plan_parse(text.c_str(), comm, &plan);
    allocations.on = false;
    EXPECT_GT(allocations.count, 0) << "nothing is counted";  // planning does allocate
    why = spanfft_last_error();
    spanfft_comm_free(comm);
    if (made != SPANFFT_OK) return -1;
    std::vector<char> in(static_cast<size_t>(spanfft_plan_input_bytes(plan)) + 64);
    std::vector<char> out(static_cast<size_t>(spanfft_plan_output_bytes(plan)) + 64);
    int code = SPANFFT_OK;
    for (int run = 0; run < 3; ++run) {
        allocations = {};
        allocations.on = run == 2;
        code = std::max(code, spanfft_execute(plan, in.data(), out.data()));
        allocations.on = false;
    }
    EXPECT_EQ(code, SPANFFT_OK) << spanfft_last_error();
    spanfft_plan_free(plan);
    return allocations.count;
}

int ranks() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

// Axis 0 has one point: where it is transformed no engine runs.
TEST(MpiAllocations, NoneWhateverTheExchange) {
    std::vector<std::string> exchanges{"overlap:2", "blockvector:3,thread", "compressed:1e-6", "phased:/1"};
    for (const ExchangeStrategy& strategy : exchange_table()) exchanges.emplace_back(strategy.name);
    for (const std::string& exchange : exchanges) {
        for (const std::string problem : {"c2c 1x14x9 axes=0", "c2c 1x13x5x4 axes=0 backward"}) {
            const auto text = cat(problem, " grid=", ranks(), " threads=1 engine=ducc0 exchange=", exchange);
            std::string why;
            const long count = allocations_of(text, why);
            if (count < 0 &&
                (why.find("MPI_THREAD") != std::string::npos || why.find("persistent") != std::string::npos))
                continue;  // this MPI can't do it
            EXPECT_EQ(count, 0) << text << ": " << why;
        }
    }
}

TEST(MpiAllocations, NoneInTheOtherSolvers) {
    if (!find_engine("fftw")) GTEST_SKIP() << "optional engine absent: " << engine_absence("fftw");
    const int p = ranks();
    for (const auto& text : {cat("c2c 14x9x6 engine=fftw exchange=shared threads=1"),
                             cat("c2c 14x9x6 engine=fftw exchange=shared threads=2"),
                             cat("c2c 14x15x6 engine=fftw exchange=overlap threads=1"),
                             cat("c2c ", p * p * 2, "x6 engine=fftw layout=cyclic grid=", p, " threads=1")}) {
        std::string why;
        EXPECT_EQ(allocations_of(text, why), 0) << text << ": " << why;
    }
}

}  // namespace
}  // namespace spanfft::test
