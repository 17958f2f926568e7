// Agreement before each round and after the last; see rounds.hpp.
#include "sweeps/rounds.hpp"

#include <algorithm>
#include <numeric>

namespace spanfft {

std::vector<int> Rounds::everyone(int ranks) {
    if (ranks == 1) return {};
    std::vector<int> all(static_cast<size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

Result<Rounds> Rounds::make(int ranks, Binding& binding, bool in_halves) {
    Rounds made;
    if (ranks == 1) return made;
    SPANFFT_ASSIGN(made.group_, binding.group(everyone(ranks)));
    if (binding.comm.is_patient()) made.comm().be_patient();
    if (!in_halves) return made;
    for (Series& series : made.series_) {
        auto words = made.comm().make_allgather(sizeof series.code);
        SPANFFT_TRY(agree(made.comm(), words.status()));
        series.words = std::move(words).value();
        series.codes.resize(static_cast<size_t>(ranks));
    }
    return made;
}

void Rounds::begin() {
    all_know_ = !group_.comm;
    mine_ = Status();
    if (group_.comm) before_ = *group_.counts;
}

Status Rounds::round(Moves moves) {
    Status status = agree(comm(), Status());
    all_know_ = !status.ok();
    if (all_know_) return status;
    for (const Move& move : moves) {  // whatever failed: the others wait for what has begun
        keep_first(status, move.transfer->start(move.source, move.target));
        keep_first(status, move.transfer->finish());
    }
    return status;
}

Status Rounds::start(int series, Moves moves) {
    Series& now = series_[series];
    now.under_way = true;
    now.started.clear();
    now.code = static_cast<int>(mine_.code());
    Status status = now.words->start(&now.code, now.codes.data());
    for (const Move& move : moves) {
        now.started.push_back(move.transfer);
        keep_first(status, move.transfer->start(move.source, move.target));
    }
    return status;
}

Status Rounds::finish(int series) {
    Series& now = series_[series];
    if (!now.under_way) return {};
    now.under_way = false;
    Status status = now.words->finish();
    for (Transfer* const transfer : now.started) keep_first(status, transfer->finish());
    const bool failed = std::any_of(now.codes.begin(), now.codes.end(), [](int code) { return code != 0; });
    if (!failed || all_know_) return status;
    all_know_ = true;
    return agree(comm(), mine_);
}

// Where this rank has rounds left, the others come to the next one's agreement, and end by it.
Status Rounds::end(const Status& mine) {
    Status status = all_know_ ? mine : agree(comm(), mine);
    all_know_ = true;
    for (const int series : {0, 1}) keep_first(status, finish(series));  // which all had started before
    return status;
}

Counts Rounds::counted() const {
    Counts counts;
    if (!group_.comm) return counts;
    counts.messages = group_.counts->messages - before_.messages;
    counts.sent_bytes = group_.counts->sent_bytes - before_.sent_bytes;
    counts.calls = group_.counts->calls - before_.calls;
    return counts;
}

}  // namespace spanfft
