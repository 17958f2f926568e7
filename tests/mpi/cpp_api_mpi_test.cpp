// The C++ wrapper on MPI ranks; includes nothing of src/.
#include "spanfft/spanfft_mpi.h"
// The wrapper knows MPI communicators when spanfft_mpi.h came first.
#include "spanfft/spanfft.hpp"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>

namespace {

// The relative L2 error of all ranks' parts together, of which the accuracy rule speaks (docs/accuracy.md).
template <class T>
double error_on_all_ranks(const std::vector<T>& found, const std::vector<T>& exact) {
    double mine[2] = {0, 0}, all[2] = {0, 0};
    for (size_t i = 0; i < exact.size(); ++i) {
        mine[0] += static_cast<double>(std::norm(found[i] - exact[i]));
        mine[1] += static_cast<double>(std::norm(exact[i]));
    }
    MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return std::sqrt(all[0] / all[1]);
}

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
    EXPECT_LE(error_on_all_ranks(back, in), 2 * 0.6 * FLT_EPSILON * std::sqrt(std::log2(480.0)));
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
        const std::int64_t j = part.start[0] + static_cast<std::int64_t>(t) * ranks;
        const long double angle = 2 * 3.14159265358979323846264L * static_cast<long double>(1234 * j % 176400) / 176400;
        in[t] = {static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle))};
    }
    forward.execute(in, out);
    std::vector<std::complex<double>> exact(out.size());
    for (size_t c = 0; c < out.size(); ++c) {
        if (part.start[0] + static_cast<std::int64_t>(c) * ranks == 1234) exact[c] = 176400;
    }
    const double rule = 0.6 * DBL_EPSILON * std::sqrt(std::log2(176400.0));
    EXPECT_LE(error_on_all_ranks(out, exact), rule);
    EXPECT_EQ(forward.counted().messages, ranks - 1);
    backward.execute(out, back);
    EXPECT_LE(error_on_all_ranks(back, in), 2 * rule);
}

TEST(MpiCppApi, AShortArrayOnOneRankThrowsOnAll) {
    const spanfft::Comm comm(MPI_COMM_WORLD);
    const auto plan = spanfft::Plan::parse("c2c 14x6x4", comm);
    std::vector<std::complex<double>> in(plan.input_elems()), out(plan.output_elems());
    if (plan.rank() == plan.ranks() - 1) in.pop_back();
    EXPECT_THROW(plan.execute(in, out), spanfft::Error);
}

}  // namespace
