// Checks of engines on ranks: those of a node are made by its first rank alone, and all plan alike by them.
#include <gtest/gtest.h>
#include <mpi.h>

#include <vector>

#include "engine/trust.hpp"
#include "spanfft/spanfft_mpi.h"

namespace spanfft::test {
namespace {

TEST(TrustOnRanks, IsAskedForByTheFirstRankOfANodeAlone) {
    int rank = 0, size = 0, node_rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &node_rank);
    MPI_Comm_free(&node);
    const index_t before = trust_checks_made();
    spanfft_plan* plan = nullptr;
    spanfft_comm* comm = nullptr;
    ASSERT_EQ(spanfft_comm_from_mpi(MPI_COMM_WORLD, &comm), SPANFFT_OK);
    // Lengths that no other test asks about: 11 * 13 * 23 and 13 * 17.
    ASSERT_EQ(spanfft_plan_parse("c2c 3289x221", comm, &plan), SPANFFT_OK) << spanfft_last_error();
    const long long mine = trust_checks_made() - before;
    std::vector<long long> made(static_cast<size_t>(size));
    MPI_Allgather(&mine, 1, MPI_LONG_LONG, made.data(), 1, MPI_LONG_LONG, MPI_COMM_WORLD);
    EXPECT_GT(made[0], 0);
    if (node_rank > 0) {
        EXPECT_EQ(mine, 0) << "rank " << rank;
    }
    spanfft_plan_free(plan);
    spanfft_comm_free(comm);
}

}  // namespace
}  // namespace spanfft::test
