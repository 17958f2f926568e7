// Sums over a plan's steps; see plan.hpp.
#include "plan/plan.hpp"

#include <algorithm>

namespace spanfft {

std::array<index_t, kSlots> SlotBytes::operator[](size_t rank) const {
    auto bytes = fixed_;
    for (const auto& [slot, state] : held_)
        at(bytes, slot) = std::max(at(bytes, slot), state.local_bytes(static_cast<int>(rank)));
    return bytes;
}

Counts Plan::predict(int rank) const {
    Counts total;
    for (const auto& step : steps) total += step->predict(rank);
    total.seconds += call_seconds;
    return total;
}

index_t Plan::progress_bytes(int rank) const {
    index_t bytes = 0;
    for (const auto& step : steps) bytes += step->progress_bytes(rank);
    return bytes;
}

index_t Plan::peak_memory_bytes(int rank) const {
    index_t bytes = checksum_bytes;
    for (index_t slot : slot_bytes[static_cast<size_t>(rank)]) bytes += slot;
    // Everything is allocated before the run and kept: the peak is the sum.
    for (const auto& step : steps) bytes += step->own_memory_bytes(rank);
    if (problem.memory_bytes == 0) bytes += input.local_bytes(rank) + (problem.in_place ? 0 : output.local_bytes(rank));
    return bytes;
}

index_t Plan::memory_beyond(index_t most_bytes) const {
    for (int rank = 0; rank < problem.ranks; ++rank) {
        const index_t bytes = peak_memory_bytes(rank);
        if (bytes > most_bytes) return bytes;
    }
    return 0;
}

double Plan::predicted_seconds() const {
    // Block division gives rank 0 the largest part along every axis; with given boxes any rank may be the slowest.
    double most = predict(0).seconds;
    if (!input.layout.has_grid() || !output.layout.has_grid()) {
        for (int rank = 1; rank < problem.ranks; ++rank) most = std::max(most, predict(rank).seconds);
    }
    return most;
}

}  // namespace spanfft
