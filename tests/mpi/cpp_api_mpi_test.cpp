// The C++ wrapper on MPI ranks; includes nothing of src/.
#include "spanfft/spanfft_mpi.h"
// The wrapper knows MPI communicators when spanfft_mpi.h came first.
#include "spanfft/spanfft.hpp"

#include <gtest/gtest.h>

#include <cmath>

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

TEST(MpiCppApi, CyclicOneDimensionalRoundTrip) {
    const spanfft::Comm comm(MPI_COMM_WORLD);
    spanfft::Problem problem({25200 * 7});  // 2^4 3^2 5^2 7^2: p * p divides it for p = 1 to 7
    problem.layout(SPANFFT_LAYOUT_CYCLIC).exchange("alltoallv");
    const spanfft::Plan forward(problem, comm), backward(problem.backward(), comm);
    const auto part = forward.output_part();
    const auto ranks = static_cast<std::int64_t>(forward.ranks());
    EXPECT_EQ(part.start[0], forward.rank());
    EXPECT_EQ(part.count[0], 176400 / ranks);
    EXPECT_EQ(part.step[0], ranks);
    std::vector<std::complex<double>> in(forward.input_elems()), out(forward.output_elems()), back(in.size());
    // A single frequency, whose transform is a single number.
    for (size_t t = 0; t < in.size(); ++t) {
        const double j = static_cast<double>(part.start[0]) + static_cast<double>(t) * static_cast<double>(ranks);
        in[t] = std::polar(1.0, 2 * 3.14159265358979323846 * std::fmod(1234 * j, 176400.0) / 176400);
    }
    forward.execute(in, out);
    for (size_t c = 0; c < out.size(); ++c) {
        const std::int64_t k = part.start[0] + static_cast<std::int64_t>(c) * ranks;
        ASSERT_NEAR(std::abs(out[c] - (k == 1234 ? 176400.0 : 0.0)), 0, 1e-8) << k;
    }
    EXPECT_EQ(forward.counted().messages, ranks - 1);
    backward.execute(out, back);
    for (size_t t = 0; t < in.size(); ++t) ASSERT_NEAR(std::abs(back[t] - in[t]), 0, 1e-13);
}

TEST(MpiCppApi, AShortArrayOnOneRankThrowsOnAll) {
    const spanfft::Comm comm(MPI_COMM_WORLD);
    const auto plan = spanfft::Plan::parse("c2c 14x6x4", comm);
    std::vector<std::complex<double>> in(plan.input_elems()), out(plan.output_elems());
    if (plan.rank() == plan.ranks() - 1) in.pop_back();
    EXPECT_THROW(plan.execute(in, out), spanfft::Error);
}

}  // namespace
