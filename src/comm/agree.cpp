// Agreement on the worst status, so that no rank waits for one that has left; see comm.hpp.
#include <cstring>
#include <vector>

#include "comm/comm.hpp"
#include "core/hash.hpp"

namespace spanfft {

Status agree(Comm& comm, const Status& mine) {
    if (comm.size() == 1) return mine;
    const int code = static_cast<int>(mine.code());
    std::vector<int>& codes = comm.codes();
    SPANFFT_TRY(comm.allgather(&code, sizeof code, codes.data()));
    int worst = 0;
    for (int rank = 1; rank < comm.size(); ++rank) {
        if (codes[static_cast<size_t>(rank)] > codes[static_cast<size_t>(worst)]) worst = rank;
    }
    const int worst_code = codes[static_cast<size_t>(worst)];
    if (worst_code == 0) return Status();

    // All fail alike: nothing is gained by naming a rank. Otherwise the message says where it happened.
    bool all_failed = true;
    for (int c : codes) all_failed = all_failed && c == worst_code;
    std::string text = all_failed ? mine.message() : cat("rank ", worst, ": ", mine.message());
    index_t length = static_cast<index_t>(text.size());
    SPANFFT_TRY(comm.broadcast(&length, sizeof length, worst));
    text.resize(static_cast<size_t>(length));
    SPANFFT_TRY(comm.broadcast(text.data(), text.size(), worst));
    return Status(static_cast<Code>(worst_code), text);
}

namespace {

Status broadcast_text_of(Comm& comm, std::string& text, int root) {
    auto length = static_cast<index_t>(text.size());
    SPANFFT_TRY(comm.broadcast(&length, sizeof length, root));
    text.resize(static_cast<size_t>(length));
    return comm.broadcast(text.data(), text.size(), root);
}

}  // namespace

Status broadcast_text(Comm& comm, std::string& text) {
    return comm.size() == 1 ? Status() : broadcast_text_of(comm, text, 0);
}

Status agree_on_text(Comm& comm, const std::string& what, const std::string& mine) {
    if (comm.size() == 1) return Status();
    struct Print {
        uint64_t hash, length;
        bool operator==(const Print&) const = default;
    };
    const Print print{hash_text(mine), mine.size()};
    std::vector<Print> prints(static_cast<size_t>(comm.size()));
    SPANFFT_TRY(comm.allgather(&print, sizeof print, prints.data()));
    size_t odd = 0;
    while (odd < prints.size() && prints[odd] == prints[0]) ++odd;
    if (odd == prints.size()) return Status();
    std::string first = mine, other = mine;
    SPANFFT_TRY(broadcast_text_of(comm, first, 0));
    SPANFFT_TRY(broadcast_text_of(comm, other, static_cast<int>(odd)));
    return error(Code::mpi_error, "all ranks must agree on the ", what, ", but rank ", odd, " has '", other,
                 "' and rank 0 has '", first, "'; call with the same arguments everywhere");
}

}  // namespace spanfft
