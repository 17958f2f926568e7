// See planning.hpp.
#include "planning.hpp"

namespace fftw3_mpi {

LocalSize local_size_of(int rank_of_array, const std::ptrdiff_t* n, std::ptrdiff_t howmany, std::ptrdiff_t block0,
                        std::ptrdiff_t block1, MPI_Comm comm) {
    if (rank_of_array < 1) return {howmany, {0, 1}, {0, 1}};
    int rank = 0, ranks = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    const bool line = rank_of_array == 1;
    const Block none{0, 0};
    const Block first = block_of(n[0], line ? 0 : block0, rank, ranks).value_or(none);
    std::ptrdiff_t rest = howmany;
    for (int i = 1; i < rank_of_array; ++i) rest *= n[i];
    if (line) return {std::max<std::ptrdiff_t>(first.count * rest, 1), first, first};
    // A second block that is as long as its axis means to FFTW that nothing is transposed.
    const bool transposed = block1 < n[1];
    const Block second = transposed ? block_of(n[1], block1, rank, ranks).value_or(none)
                                    : Block{0, first.count ? static_cast<std::int64_t>(n[1]) : 0};
    const std::ptrdiff_t other_side = transposed ? second.count * (rest / n[1]) * n[0] : 0;
    const std::ptrdiff_t elements = std::max(first.count * rest, other_side);
    return {std::max<std::ptrdiff_t>(elements, 1), first, second};
}

PlanPointer make_plan(const Request& request, const void* in, void* out, std::string& reason) noexcept {
    try {
        auto made = Plan::make(request, in, out, reason);
        return made ? register_plan(std::move(made)) : nullptr;
    } catch (const std::exception&) {
        reason.clear();
        return nullptr;
    }
}

}  // namespace fftw3_mpi
