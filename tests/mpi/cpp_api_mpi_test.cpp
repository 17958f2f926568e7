// The C++ wrapper on MPI ranks; includes nothing of src/.
#include "spanfft/spanfft_mpi.h"
// The wrapper knows MPI communicators when spanfft_mpi.h came first.
#include "spanfft/spanfft.hpp"

#include <gtest/gtest.h>

namespace {

TEST(MpiCppApi, RoundTripOnAllRanks) {
    const spanfft::Comm comm(MPI_COMM_WORLD);
    spanfft::Problem problem({8, 6, 10});
    problem.kind(SPANFFT_R2C).precision(SPANFFT_FLOAT);
    const spanfft::Plan forward(problem, comm), backward(problem.backward(), comm);
    EXPECT_EQ(forward.output_elems(), backward.input_elems());
    std::vector<float> in(forward.input_elems()), back(backward.output_elems());
    std::vector<std::complex<float>> spectrum(forward.output_elems());
    for (size_t i = 0; i < in.size(); ++i)
        in[i] = static_cast<float>((i * 7 + static_cast<size_t>(forward.rank())) % 11);
    forward.execute(in, spectrum);
    backward.execute(spectrum, back);
    for (size_t i = 0; i < in.size(); ++i) EXPECT_NEAR(back[i], in[i], 1e-5);
    EXPECT_EQ(forward.counted().sent_bytes, forward.predicted().sent_bytes);
}

TEST(MpiCppApi, AShortArrayOnOneRankThrowsOnAll) {
    const spanfft::Comm comm(MPI_COMM_WORLD);
    const auto plan = spanfft::Plan::parse("c2c 14x6x4", comm);
    std::vector<std::complex<double>> in(plan.input_elems()), out(plan.output_elems());
    if (plan.rank() == plan.ranks() - 1) in.pop_back();
    EXPECT_THROW(plan.execute(in, out), spanfft::Error);
}

}  // namespace
