// What MPI carries between ranks, made once and started many times; see mpi_transfer.hpp.
//
// Method: alltoallw describes each part as one derived datatype, made and committed once (P4's subarray method).
// The datatype is nested vectors rather than MPI_Type_create_subarray: the same typemap, but strides are
// MPI_Aint, so that nothing but a single loop count is an int, and cyclic parts can be expressed too.
// Counts above 2^31 - 1 become a vector of full chunks plus a remainder (MPI-3 has no large-count calls).
// The part that stays on a rank is copied here, while messages travel: MPI would copy it twice.
#include "comm/mpi/mpi_transfer.hpp"

#include <algorithm>
#include <climits>
#include <cstring>

#include "comm/mpi/datatype.hpp"
#include "comm/strided_copy.hpp"

namespace spanfft {

Status mpi_status(int code, const char* call) {
    if (code == MPI_SUCCESS) return Status();
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    return error(Code::mpi_error, call, " failed: ", std::string(text, static_cast<size_t>(length)));
}

namespace {

// An alltoallw on ready-made datatypes. Every datatype carries its whole part, so counts are 0 or 1.
class DatatypeTransfer final : public Transfer {
  public:
    DatatypeTransfer(MPI_Comm comm, int size, Issue issue)
        : comm_(comm), issue_(issue), displacements_(static_cast<size_t>(size), 0) {
        for (auto* counts : {&send_counts_, &receive_counts_}) counts->assign(static_cast<size_t>(size), 0);
        for (auto* types : {&send_types_, &receive_types_}) types->assign(static_cast<size_t>(size), MPI_BYTE);
    }
    DatatypeTransfer(const DatatypeTransfer&) = delete;
    DatatypeTransfer& operator=(const DatatypeTransfer&) = delete;
    ~DatatypeTransfer() override {
        int finalized = 0;
        MPI_Finalized(&finalized);
        if (finalized) return;
        for (auto* types : {&send_types_, &receive_types_}) {
            for (auto& type : *types) {
                if (type != MPI_BYTE) MPI_Type_free(&type);
            }
        }
    }
    // The part that stays on this rank is copied directly: a collective would copy it twice.
    void set_self(StridedPart send, StridedPart receive) {
        self_send_ = std::move(send);
        self_receive_ = std::move(receive);
        has_self_ = true;
    }
    Status set_send(int peer, const StridedPart& part) { return set(send_types_, send_counts_, peer, part); }
    Status set_receive(int peer, const StridedPart& part) { return set(receive_types_, receive_counts_, peer, part); }

    Status start(const void* source, void* target) override {
        if (issue_ == Issue::blocking) {
            if (has_self_) copy_strided(self_send_, source, self_receive_, target);
            SPANFFT_MPI_TRY(MPI_Alltoallw(source, send_counts_.data(), displacements_.data(), send_types_.data(),
                                          target, receive_counts_.data(), displacements_.data(), receive_types_.data(),
                                          comm_));
            return Status();
        }
        SPANFFT_MPI_TRY(MPI_Ialltoallw(source, send_counts_.data(), displacements_.data(), send_types_.data(), target,
                                       receive_counts_.data(), displacements_.data(), receive_types_.data(), comm_,
                                       &request_));
        if (has_self_) copy_strided(self_send_, source, self_receive_, target);
        return Status();
    }
    Status finish() override {
        if (request_ != MPI_REQUEST_NULL) SPANFFT_MPI_TRY(MPI_Wait(&request_, MPI_STATUS_IGNORE));
        return Status();
    }

  private:
    static Status set(std::vector<MPI_Datatype>& types, std::vector<int>& counts, int peer, const StridedPart& part) {
        if (part.bytes() == 0) return Status();
        const auto i = static_cast<size_t>(peer);
        SPANFFT_TRY(mpi_status(make_datatype(part, &types[i]), "creating a datatype"));
        counts[i] = 1;
        return Status();
    }

    MPI_Comm comm_;
    Issue issue_;
    std::vector<int> send_counts_, receive_counts_, displacements_;
    std::vector<MPI_Datatype> send_types_, receive_types_;
    StridedPart self_send_, self_receive_;
    bool has_self_ = false;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

// An alltoallv on bytes, for parts whose sizes and offsets fit an int.
class BytesTransfer : public Transfer {
  public:
    BytesTransfer(MPI_Comm comm, int rank, const std::vector<BytesPart>& send, const std::vector<BytesPart>& receive,
                  Issue issue)
        : comm_(comm),
          issue_(issue),
          self_send_(send[static_cast<size_t>(rank)]),
          self_receive_(receive[static_cast<size_t>(rank)]) {
        fill(send, rank, send_counts_, send_displacements_);
        fill(receive, rank, receive_counts_, receive_displacements_);
    }
    Status start(const void* source, void* target) override {
        if (issue_ == Issue::blocking) {
            copy_self(source, target);
            SPANFFT_MPI_TRY(MPI_Alltoallv(source, send_counts_.data(), send_displacements_.data(), MPI_BYTE, target,
                                          receive_counts_.data(), receive_displacements_.data(), MPI_BYTE, comm_));
            return Status();
        }
        SPANFFT_MPI_TRY(MPI_Ialltoallv(source, send_counts_.data(), send_displacements_.data(), MPI_BYTE, target,
                                       receive_counts_.data(), receive_displacements_.data(), MPI_BYTE, comm_,
                                       &request_));
        copy_self(source, target);
        return Status();
    }
    Status finish() override {
        if (request_ != MPI_REQUEST_NULL) SPANFFT_MPI_TRY(MPI_Wait(&request_, MPI_STATUS_IGNORE));
        return Status();
    }

  protected:
    void copy_self(const void* source, void* target) const {
        if (!self_send_.bytes) return;
        std::memcpy(static_cast<char*>(target) + self_receive_.offset_bytes,
                    static_cast<const char*>(source) + self_send_.offset_bytes, static_cast<size_t>(self_send_.bytes));
    }
    static void fill(const std::vector<BytesPart>& parts, int rank, std::vector<int>& counts,
                     std::vector<int>& displacements) {
        for (const auto& part : parts) {
            counts.push_back(static_cast<int>(part.bytes));
            displacements.push_back(static_cast<int>(part.offset_bytes));
        }
        counts[static_cast<size_t>(rank)] = 0;
    }

    MPI_Comm comm_;
    Issue issue_;
    BytesPart self_send_, self_receive_;
    std::vector<int> send_counts_, receive_counts_, send_displacements_, receive_displacements_;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

#if MPI_VERSION >= 4
// The same, bound to its buffers by MPI_Alltoallv_init.
class PersistentTransfer final : public BytesTransfer {
  public:
    PersistentTransfer(MPI_Comm comm, int rank, const std::vector<BytesPart>& send,
                       const std::vector<BytesPart>& receive, const void* source, void* target)
        : BytesTransfer(comm, rank, send, receive, Issue::nonblocking), source_(source), target_(target) {}
    PersistentTransfer(const PersistentTransfer&) = delete;
    PersistentTransfer& operator=(const PersistentTransfer&) = delete;
    ~PersistentTransfer() override {
        int finalized = 0;
        MPI_Finalized(&finalized);
        if (!finalized && request_ != MPI_REQUEST_NULL) MPI_Request_free(&request_);
    }
    Status bind() {
        SPANFFT_MPI_TRY(MPI_Alltoallv_init(source_, send_counts_.data(), send_displacements_.data(), MPI_BYTE, target_,
                                           receive_counts_.data(), receive_displacements_.data(), MPI_BYTE, comm_,
                                           MPI_INFO_NULL, &request_));
        return Status();
    }
    Status start(const void*, void*) override {
        SPANFFT_MPI_TRY(MPI_Start(&request_));
        copy_self(source_, target_);
        return Status();
    }

  private:
    const void* source_;
    void* target_;
};
#endif

// Messages with peers, each way one: of bytes where the size fits an int, else of one derived datatype.
class PairTransfer final : public Transfer {
  public:
    PairTransfer(MPI_Comm comm, int rank, Pairing pairing) : comm_(comm), rank_(rank), pairing_(pairing) {}
    PairTransfer(const PairTransfer&) = delete;
    PairTransfer& operator=(const PairTransfer&) = delete;
    ~PairTransfer() override {
        int finalized = 0;
        MPI_Finalized(&finalized);
        if (finalized) return;
        for (Pair& pair : pairs_) {
            for (Side* side : {&pair.send, &pair.receive}) {
                if (side->type != MPI_BYTE) MPI_Type_free(&side->type);
            }
        }
    }
    Status add(const PairParts& parts) {
        pairs_.push_back({parts.peer, {}, {}});
        SPANFFT_TRY(set(pairs_.back().send, parts.send));
        SPANFFT_TRY(set(pairs_.back().receive, parts.receive));
        requests_.resize(2 * pairs_.size(), MPI_REQUEST_NULL);
        return Status();
    }
    Status start(const void* source, void* target) override {
        switch (pairing_) {
            case Pairing::ordered:
                return in_order(source, target);
            case Pairing::replace:
                return replace(target);
            case Pairing::nonblocking:
                return all_at_once(source, target);
        }
        return Status();
    }
    Status finish() override {
        if (used_) SPANFFT_MPI_TRY(MPI_Waitall(used_, requests_.data(), MPI_STATUSES_IGNORE));
        used_ = 0;
        return Status();
    }

  private:
    static constexpr int kTag = 1;
    struct Side {
        index_t offset_bytes = 0;
        int count = 0;
        MPI_Datatype type = MPI_BYTE;  // else a type with the offset in it
    };
    struct Pair {
        int peer;
        Side send, receive;
    };
    static Status set(Side& side, const BytesPart& part) {
        if (part.bytes <= INT_MAX) {
            side = {part.offset_bytes, static_cast<int>(part.bytes), MPI_BYTE};
            return Status();
        }
        side = {0, 1, MPI_BYTE};
        return mpi_status(make_datatype({part.offset_bytes, {{part.bytes, 1}}, 1}, &side.type), "creating a datatype");
    }
    Status send(const Pair& pair, const void* source) {
        if (!pair.send.count) return Status();
        SPANFFT_MPI_TRY(MPI_Send(static_cast<const char*>(source) + pair.send.offset_bytes, pair.send.count,
                                 pair.send.type, pair.peer, kTag, comm_));
        return Status();
    }
    Status receive(const Pair& pair, void* target) {
        if (!pair.receive.count) return Status();
        SPANFFT_MPI_TRY(MPI_Recv(static_cast<char*>(target) + pair.receive.offset_bytes, pair.receive.count,
                                 pair.receive.type, pair.peer, kTag, comm_, MPI_STATUS_IGNORE));
        return Status();
    }
    // The lower rank of a pair sends first, so that a send that waits for its receive finds it.
    Status in_order(const void* source, void* target) {
        Status first;  // after a failure too: the peers that are left wait for this rank
        for (const Pair& pair : pairs_) {
            if (rank_ < pair.peer) keep_first(first, send(pair, source));
            keep_first(first, receive(pair, target));
            if (rank_ > pair.peer) keep_first(first, send(pair, source));
        }
        return first;
    }
    Status replace(void* target) {
        Status first;
        for (const Pair& pair : pairs_) {
            if (!pair.send.count) continue;
            const int code =
                MPI_Sendrecv_replace(static_cast<char*>(target) + pair.send.offset_bytes, pair.send.count,
                                     pair.send.type, pair.peer, kTag, pair.peer, kTag, comm_, MPI_STATUS_IGNORE);
            keep_first(first, mpi_status(code, "MPI_Sendrecv_replace"));
        }
        return first;
    }
    // Receives first: a message that finds its receive waiting needs no copy inside MPI.
    Status all_at_once(const void* source, void* target) {
        used_ = 0;
        Status first;
        for (const Pair& pair : pairs_) {
            if (!pair.receive.count) continue;
            const int code =
                MPI_Irecv(static_cast<char*>(target) + pair.receive.offset_bytes, pair.receive.count, pair.receive.type,
                          pair.peer, kTag, comm_, &requests_[static_cast<size_t>(used_)]);
            used_ += code == MPI_SUCCESS;
            keep_first(first, mpi_status(code, "MPI_Irecv"));
        }
        for (const Pair& pair : pairs_) {
            if (!pair.send.count) continue;
            const int code = MPI_Isend(static_cast<const char*>(source) + pair.send.offset_bytes, pair.send.count,
                                       pair.send.type, pair.peer, kTag, comm_, &requests_[static_cast<size_t>(used_)]);
            used_ += code == MPI_SUCCESS;
            keep_first(first, mpi_status(code, "MPI_Isend"));
        }
        return first;
    }

    MPI_Comm comm_;
    int rank_;
    Pairing pairing_;
    std::vector<Pair> pairs_;
    std::vector<MPI_Request> requests_;
    int used_ = 0;
};

}  // namespace

Result<std::unique_ptr<Transfer>> make_datatype_transfer(MPI_Comm comm, int rank, const std::vector<StridedPart>& send,
                                                         const std::vector<StridedPart>& receive, Issue issue) {
    const int size = static_cast<int>(send.size());
    auto transfer = std::make_unique<DatatypeTransfer>(comm, size, issue);
    for (int peer = 0; peer < size; ++peer) {
        const auto i = static_cast<size_t>(peer);
        if (peer == rank) {
            transfer->set_self(send[i], receive[i]);
            continue;
        }
        SPANFFT_TRY(transfer->set_send(peer, send[i]));
        SPANFFT_TRY(transfer->set_receive(peer, receive[i]));
    }
    return std::unique_ptr<Transfer>(std::move(transfer));
}

bool fits_int(const std::vector<BytesPart>& parts) {
    return std::all_of(parts.begin(), parts.end(),
                       [](const BytesPart& p) { return p.bytes <= INT_MAX && p.offset_bytes <= INT_MAX; });
}

std::unique_ptr<Transfer> make_bytes_transfer(MPI_Comm comm, int rank, const std::vector<BytesPart>& send,
                                              const std::vector<BytesPart>& receive, Issue issue) {
    return std::make_unique<BytesTransfer>(comm, rank, send, receive, issue);
}

bool has_persistent_collectives() {
    int version = 0, subversion = 0;
    MPI_Get_version(&version, &subversion);
    return MPI_VERSION >= 4 && version >= 4;
}

Result<std::unique_ptr<Transfer>> make_persistent_transfer([[maybe_unused]] MPI_Comm comm, [[maybe_unused]] int rank,
                                                           [[maybe_unused]] const void* source,
                                                           [[maybe_unused]] const std::vector<BytesPart>& send,
                                                           [[maybe_unused]] void* target,
                                                           [[maybe_unused]] const std::vector<BytesPart>& receive) {
#if MPI_VERSION >= 4
    auto transfer = std::make_unique<PersistentTransfer>(comm, rank, send, receive, source, target);
    SPANFFT_TRY(transfer->bind());
    return std::unique_ptr<Transfer>(std::move(transfer));
#else
    return error(Code::unsupported, "this MPI library has no persistent collectives (MPI-", MPI_VERSION,
                 "; they came with MPI-4); use another exchange, such as alltoallv");
#endif
}

Result<std::unique_ptr<Transfer>> make_pair_transfer(MPI_Comm comm, int rank, const std::vector<PairParts>& pairs,
                                                     Pairing pairing) {
    auto transfer = std::make_unique<PairTransfer>(comm, rank, pairing);
    for (const PairParts& pair : pairs) SPANFFT_TRY(transfer->add(pair));
    return std::unique_ptr<Transfer>(std::move(transfer));
}

}  // namespace spanfft
