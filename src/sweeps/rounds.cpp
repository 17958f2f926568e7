// Agreement before each round and after the last; see rounds.hpp.
#include "sweeps/rounds.hpp"

#include <numeric>

namespace spanfft {

std::vector<int> Rounds::everyone(int ranks) {
    if (ranks == 1) return {};
    std::vector<int> all(static_cast<size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

Result<Rounds> Rounds::make(int ranks, Binding& binding) {
    Rounds made;
    if (ranks == 1) return made;
    SPANFFT_ASSIGN(made.group_, binding.group(everyone(ranks)));
    return made;
}

void Rounds::begin() {
    all_know_ = !group_.comm;
    if (group_.comm) before_ = *group_.counts;
}

Status Rounds::round(std::span<const std::unique_ptr<Transfer>> transfers, const void* source, void* target) {
    Status status = agree(comm(), Status());
    all_know_ = !status.ok();
    if (all_know_) return status;
    for (const auto& transfer : transfers) {  // whatever failed: the others wait for what has begun
        keep_first(status, transfer->start(source, target));
        keep_first(status, transfer->finish());
    }
    return status;
}

// Where this rank has rounds left, the others come to the next one's agreement, and end by it.
Status Rounds::end(const Status& mine) { return all_know_ ? mine : agree(comm(), mine); }

Counts Rounds::counted() const {
    Counts counts;
    if (!group_.comm) return counts;
    counts.messages = group_.counts->messages - before_.messages;
    counts.sent_bytes = group_.counts->sent_bytes - before_.sent_bytes;
    counts.calls = group_.counts->calls - before_.calls;
    return counts;
}

}  // namespace spanfft
