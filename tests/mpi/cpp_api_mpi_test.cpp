// The C++ wrapper on MPI ranks; includes nothing of src/.
#include "spanfft/spanfft_mpi.h"
// The wrapper knows MPI communicators when spanfft_mpi.h came first.
#include "spanfft/spanfft.hpp"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <span>

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

// Whole numbers, so that sums are exact: element (i, j) of 9 x 5 is 10 i + j.
TEST(MpiCppApi, HalosOfAnArrayOfThePlansOwn) {
    const spanfft::Comm comm(MPI_COMM_WORLD);
    spanfft::Problem problem({9, 5});
    problem.kind(SPANFFT_R2C).own_input().own_output();
    const spanfft::Plan plan(problem, comm);
    const auto part = plan.input_part();
    auto* const own = plan.input_array<double>();
    for (std::int64_t i = 0; i < part.count[0]; ++i) {
        for (std::int64_t j = 0; j < part.count[1]; ++j)
            own[i * part.count[1] + j] = static_cast<double>(10 * (part.start[0] + i) + part.start[1] + j);
    }
    const spanfft::Halo halo(plan, {2, 0}, {11, 6});
    const auto wide = halo.part();
    std::vector<double> extended(static_cast<std::size_t>(halo.bytes()) / sizeof(double));
    const std::vector<double> foreign(own, own + plan.input_elems());
    for (const bool in_place : {true, false}) {
        std::fill(extended.begin(), extended.end(), -1);
        if (in_place)
            halo.exchange(std::span<const double>(own, plan.input_elems()), extended);
        else
            halo.exchange(foreign, extended);
        EXPECT_EQ(halo.counted().messages, 0);
        EXPECT_EQ(halo.counted().memory_bytes,
                  halo.predicted(in_place ? SPANFFT_HALO_COST_EXCHANGE_OWN : SPANFFT_HALO_COST_EXCHANGE).memory_bytes);
        for (std::int64_t i = 0; i < wide.count[0]; ++i) {
            for (std::int64_t j = 0; j < wide.count[1]; ++j) {
                const auto row = (wide.start[0] + i + 9) % 9, column = (wide.start[1] + j) % 5;
                EXPECT_EQ(extended[static_cast<std::size_t>(i * wide.count[1] + j)], 10.0 * row + column);
            }
        }
    }
    // The adjoint of ones counts the copies of each element.
    std::vector<double> ones(extended.size(), 1), sums(plan.input_elems());
    halo.add(ones, sums);
    double mine[2] = {static_cast<double>(ones.size()), 0}, all[2];
    for (const double sum : sums) mine[1] += sum;
    MPI_Allreduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_EQ(all[0], all[1]);
    EXPECT_EQ(halo.part_bytes(), static_cast<std::int64_t>(plan.input_elems() * sizeof(double)));
    EXPECT_THROW(spanfft::Halo(plan, {1}, {1}), spanfft::Error);
    EXPECT_THROW(halo.exchange(foreign, std::vector<double>()), spanfft::Error);
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
