// Agreement on the worst status, so that no rank waits for one that has left; see comm.hpp.
#include <cstring>
#include <vector>

#include "comm/comm.hpp"

namespace spanfft {

Status agree(Comm& comm, const Status& mine) {
    if (comm.size() == 1) return mine;
    const int code = static_cast<int>(mine.code());
    std::vector<int> codes(static_cast<size_t>(comm.size()));
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

Status agree_on_text(Comm& comm, const std::string& what, const std::string& mine) {
    if (comm.size() == 1) return Status();
    index_t length = static_cast<index_t>(mine.size());
    std::vector<index_t> lengths(static_cast<size_t>(comm.size()));
    SPANFFT_TRY(comm.allgather(&length, sizeof length, lengths.data()));
    std::string reference = mine;
    reference.resize(static_cast<size_t>(lengths[0]));
    SPANFFT_TRY(comm.broadcast(reference.data(), reference.size(), 0));
    Status status;
    if (reference != mine) {
        status = error(Code::mpi_error, "all ranks must agree on the ", what, ", but this rank has '", mine,
                       "' and rank 0 has '", reference, "'; call with the same arguments everywhere");
    }
    return agree(comm, status);
}

}  // namespace spanfft
