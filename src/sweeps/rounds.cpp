// Agreement before each round and after the last; see rounds.hpp.
#include "sweeps/rounds.hpp"

#include <numeric>

namespace spanfft {

std::vector<int> Rounds::everyone(int ranks) {
    std::vector<int> all(static_cast<size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

Result<std::unique_ptr<Rounds>> Rounds::make(int ranks, Binding& binding) {
    auto made = std::make_unique<Rounds>();
    SPANFFT_ASSIGN(made->group_, binding.group(everyone(ranks)));
    return made;
}

void Rounds::begin() {
    all_know_ = false;
    before_ = *group_.counts;
}

Status Rounds::round(Transfer& transfer, const void* source, void* target) {
    const Status known = agree(comm(), Status());
    if (!known.ok()) {
        all_know_ = true;
        return known;
    }
    Status status = transfer.start(source, target);
    keep_first(status, transfer.finish());  // whatever failed: the others wait for what has begun
    return status;
}

// Where this rank has rounds left, the others come to the next one's agreement, and end by it.
Status Rounds::end(const Status& mine) { return all_know_ ? mine : agree(comm(), mine); }

Counts Rounds::counted() const {
    Counts counts;
    counts.messages = group_.counts->messages - before_.messages;
    counts.sent_bytes = group_.counts->sent_bytes - before_.sent_bytes;
    counts.calls = group_.counts->calls - before_.calls;
    return counts;
}

}  // namespace spanfft
