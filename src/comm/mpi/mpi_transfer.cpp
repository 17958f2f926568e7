// What MPI carries between ranks, made once and started many times; see mpi_transfer.hpp.
//
// Method: alltoallw describes each part as one derived datatype, made and committed once (P4's subarray method).
// The datatype is nested vectors rather than MPI_Type_create_subarray: the same typemap, but strides are
// MPI_Aint, so that nothing but a single loop count is an int, and cyclic parts can be expressed too.
// Bytes whose counts or places are no ints travel by MPI-4's calls with large counts. MPI-3 has none: there a count
// above 2^31 - 1 becomes a datatype, a vector of full chunks plus a remainder. Messages of pairs are datatypes then
// everywhere: of one contiguous run, which MPI sends as it sends bytes.
// The part that stays on a rank is copied here, while messages travel: MPI would copy it twice.
#include "comm/mpi/mpi_transfer.hpp"

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstring>
#include <thread>
#include <utility>

#include "comm/mpi/datatype.hpp"
#include "comm/node_barrier.hpp"
#include "comm/strided_copy.hpp"

namespace spanfft {

Status mpi_status(int code, const char* call) {
    if (code == MPI_SUCCESS) return Status();
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    const std::string said = cat(call, " failed: ", std::string(text, static_cast<size_t>(length)));
    if (const auto gone = gone_while_waiting())
        return error(Code::mpi_error, gone_text(gone->rank, gone->pid), "; the transform can't be finished (", said,
                     ")");
    return error(Code::mpi_error, said);
}

// MPI's own waiting looks again and again, at best with sched_yield between. Where cores are few that takes them from
// who has work: a file on four hosts that share two cores took 3.4 to 3.8 s, and 2.8 to 3.2 where who waits sleeps.
// What comes soon is not slept for: a sleep of 50 us takes 150 on a virtual machine, and a round of ranks has several.
Status wait_for(const WatchedComm& comm, MPI_Request* requests, int count) {
    constexpr int kYields = 20;
    const WaitingInMpi waiting(comm.peers);
    if (!comm.patient) return mpi_status(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE), "MPI_Waitall");
    for (int tries = 0;; ++tries) {
        int ended = 0;
        SPANFFT_TRY(mpi_status(MPI_Testall(count, requests, &ended, MPI_STATUSES_IGNORE), "MPI_Testall"));
        if (ended) return Status();
        if (tries < kYields) {
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    }
}

namespace {

constexpr index_t kMostShift = 4096;  // of what is received (Transfer::shift_receives)

// An alltoallw on ready-made datatypes. Every datatype carries its whole part, so counts are 0 or 1.
class DatatypeTransfer final : public Transfer {
  public:
    DatatypeTransfer(WatchedComm comm, int size, Issue issue)
        : comm_(comm), issue_(comm.patient ? Issue::nonblocking : issue) {
        for (auto* ints : {&send_counts_, &receive_counts_, &send_places_, &receive_places_})
            ints->assign(static_cast<size_t>(size), 0);
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
    void set_self(int rank, StridedPart send, StridedPart receive) {
        self_ = rank;
        self_send_ = std::move(send);
        self_receive_ = std::move(receive);
    }
    Status set_send(int peer, const StridedPart& part) { return set(send_types_, send_counts_, peer, part); }
    Status set_receive(int peer, const StridedPart& part) { return set(receive_types_, receive_counts_, peer, part); }

    Status start(const void* source, void* target) override {
        if (issue_ == Issue::blocking) {
            copy_self(source, target);
            const WaitingInMpi waiting(comm_.peers);
            SPANFFT_MPI_TRY(MPI_Alltoallw(source, send_counts_.data(), send_places_.data(), send_types_.data(), target,
                                          receive_counts_.data(), receive_places_.data(), receive_types_.data(),
                                          comm_.comm));
            return Status();
        }
        SPANFFT_MPI_TRY(MPI_Ialltoallw(source, send_counts_.data(), send_places_.data(), send_types_.data(), target,
                                       receive_counts_.data(), receive_places_.data(), receive_types_.data(),
                                       comm_.comm, &request_));
        copy_self(source, target);
        return Status();
    }
    Status shift_receives(std::span<const index_t> bytes) override {
        std::copy(bytes.begin(), bytes.end(), receive_places_.begin());
        return Status();
    }
    Status finish() override { return request_ == MPI_REQUEST_NULL ? Status() : wait_for(comm_, &request_, 1); }

  private:
    void copy_self(const void* source, void* target) const {
        if (self_ < 0) return;
        char* const to = static_cast<char*>(target) + receive_places_[static_cast<size_t>(self_)];
        copy_strided(self_send_, source, self_receive_, to);
    }
    static Status set(std::vector<MPI_Datatype>& types, std::vector<int>& counts, int peer, const StridedPart& part) {
        if (part.bytes() == 0) return Status();
        const auto i = static_cast<size_t>(peer);
        SPANFFT_TRY(mpi_status(make_datatype(part, &types[i]), "creating a datatype"));
        counts[i] = 1;
        return Status();
    }

    WatchedComm comm_;
    Issue issue_;
    std::vector<int> send_counts_, receive_counts_;
    std::vector<int> send_places_, receive_places_;  // before what the datatypes say
    std::vector<MPI_Datatype> send_types_, receive_types_;
    StridedPart self_send_, self_receive_;
    int self_ = -1;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

// What MPI_Alltoallv is told of one side: in ints, or in what its forms for large counts take.
template <class Count, class Place>
struct BytesSide {
    std::vector<Count> counts;
    std::vector<Place> places;
    // This rank's own part is left out.
    BytesSide(const std::vector<BytesPart>& parts, int rank) {
        for (const auto& part : parts) {
            counts.push_back(static_cast<Count>(part.bytes));
            places.push_back(static_cast<Place>(part.offset_bytes));
        }
        counts[static_cast<size_t>(rank)] = 0;
    }
    void shift(const std::vector<BytesPart>& parts, std::span<const index_t> bytes) {
        for (size_t i = 0; i < parts.size(); ++i) places[i] = static_cast<Place>(parts[i].offset_bytes + bytes[i]);
    }
};

// The calls, by the types that they take.
using IntSide = BytesSide<int, int>;
int alltoallv(const void* source, const IntSide& send, void* target, const IntSide& receive, MPI_Comm comm) {
    return MPI_Alltoallv(source, send.counts.data(), send.places.data(), MPI_BYTE, target, receive.counts.data(),
                         receive.places.data(), MPI_BYTE, comm);
}
int ialltoallv(const void* source, const IntSide& send, void* target, const IntSide& receive, MPI_Comm comm,
               MPI_Request* request) {
    return MPI_Ialltoallv(source, send.counts.data(), send.places.data(), MPI_BYTE, target, receive.counts.data(),
                          receive.places.data(), MPI_BYTE, comm, request);
}
#if MPI_VERSION >= 4
int alltoallv_init(const void* source, const IntSide& send, void* target, const IntSide& receive, MPI_Comm comm,
                   MPI_Request* request) {
    return MPI_Alltoallv_init(source, send.counts.data(), send.places.data(), MPI_BYTE, target, receive.counts.data(),
                              receive.places.data(), MPI_BYTE, comm, MPI_INFO_NULL, request);
}
using LargeSide = BytesSide<MPI_Count, MPI_Aint>;
int alltoallv(const void* source, const LargeSide& send, void* target, const LargeSide& receive, MPI_Comm comm) {
    return MPI_Alltoallv_c(source, send.counts.data(), send.places.data(), MPI_BYTE, target, receive.counts.data(),
                           receive.places.data(), MPI_BYTE, comm);
}
int ialltoallv(const void* source, const LargeSide& send, void* target, const LargeSide& receive, MPI_Comm comm,
               MPI_Request* request) {
    return MPI_Ialltoallv_c(source, send.counts.data(), send.places.data(), MPI_BYTE, target, receive.counts.data(),
                            receive.places.data(), MPI_BYTE, comm, request);
}
int alltoallv_init(const void* source, const LargeSide& send, void* target, const LargeSide& receive, MPI_Comm comm,
                   MPI_Request* request) {
    return MPI_Alltoallv_init_c(source, send.counts.data(), send.places.data(), MPI_BYTE, target, receive.counts.data(),
                                receive.places.data(), MPI_BYTE, comm, MPI_INFO_NULL, request);
}
#endif

// An alltoallv on bytes.
template <class Side>
class BytesTransfer : public Transfer {
  public:
    BytesTransfer(WatchedComm comm, int rank, const std::vector<BytesPart>& send, const std::vector<BytesPart>& receive,
                  Issue issue)
        : comm_(comm),
          issue_(comm.patient ? Issue::nonblocking : issue),
          rank_(rank),
          self_send_(send[static_cast<size_t>(rank)]),
          parts_(receive),
          send_(send, rank),
          receive_(receive, rank) {}
    Status start(const void* source, void* target) override {
        if (issue_ == Issue::blocking) {
            copy_self(source, target);
            const WaitingInMpi waiting(comm_.peers);
            return mpi_status(alltoallv(source, send_, target, receive_, comm_.comm), "MPI_Alltoallv");
        }
        SPANFFT_TRY(mpi_status(ialltoallv(source, send_, target, receive_, comm_.comm, &request_), "MPI_Ialltoallv"));
        copy_self(source, target);
        return Status();
    }
    Status finish() override { return request_ == MPI_REQUEST_NULL ? Status() : wait_for(comm_, &request_, 1); }

    Status shift_receives(std::span<const index_t> bytes) override {
        receive_.shift(parts_, bytes);
        return Status();
    }

  protected:
    void copy_self(const void* source, void* target) const {
        if (!self_send_.bytes) return;
        std::memcpy(static_cast<char*>(target) + receive_.places[static_cast<size_t>(rank_)],
                    static_cast<const char*>(source) + self_send_.offset_bytes, static_cast<size_t>(self_send_.bytes));
    }

    WatchedComm comm_;
    Issue issue_;
    int rank_;
    BytesPart self_send_;
    std::vector<BytesPart> parts_;  // that are received, unshifted
    Side send_, receive_;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

#if MPI_VERSION >= 4
// The same, bound to its buffers by MPI_Alltoallv_init.
template <class Side>
class PersistentTransfer final : public BytesTransfer<Side> {
  public:
    PersistentTransfer(WatchedComm comm, int rank, const std::vector<BytesPart>& send,
                       const std::vector<BytesPart>& receive, const void* source, void* target)
        : BytesTransfer<Side>(comm, rank, send, receive, Issue::nonblocking), source_(source), target_(target) {}
    PersistentTransfer(const PersistentTransfer&) = delete;
    PersistentTransfer& operator=(const PersistentTransfer&) = delete;
    ~PersistentTransfer() override {
        int finalized = 0;
        MPI_Finalized(&finalized);
        if (!finalized && this->request_ != MPI_REQUEST_NULL) MPI_Request_free(&this->request_);
    }
    // What is bound stays where it is.
    Status shift_receives(std::span<const index_t> bytes) override { return Transfer::shift_receives(bytes); }
    Status bind() {
        return mpi_status(
            alltoallv_init(source_, this->send_, target_, this->receive_, this->comm_.comm, &this->request_),
            "MPI_Alltoallv_init");
    }
    Status start(const void*, void*) override {
        SPANFFT_MPI_TRY(MPI_Start(&this->request_));
        this->copy_self(source_, target_);
        return Status();
    }

  private:
    const void* source_;
    void* target_;
};

template <class Side>
Result<std::unique_ptr<Transfer>> bind_persistent(WatchedComm comm, int rank, const void* source,
                                                  const std::vector<BytesPart>& send, void* target,
                                                  const std::vector<BytesPart>& receive) {
    auto transfer = std::make_unique<PersistentTransfer<Side>>(comm, rank, send, receive, source, target);
    SPANFFT_TRY(transfer->bind());
    return std::unique_ptr<Transfer>(std::move(transfer));
}
#endif

// Some bytes of each rank to all.
class GatherTransfer final : public Transfer {
  public:
    GatherTransfer(WatchedComm comm, int bytes, bool at_once) : comm_(comm), bytes_(bytes), at_once_(at_once) {}
    Status start(const void* source, void* target) override {
        if (at_once_) {
            const WaitingInMpi waiting(comm_.peers);
            SPANFFT_MPI_TRY(MPI_Allgather(source, bytes_, MPI_BYTE, target, bytes_, MPI_BYTE, comm_.comm));
            return Status();
        }
        SPANFFT_MPI_TRY(MPI_Iallgather(source, bytes_, MPI_BYTE, target, bytes_, MPI_BYTE, comm_.comm, &request_));
        return Status();
    }
    Status finish() override { return request_ == MPI_REQUEST_NULL ? Status() : wait_for(comm_, &request_, 1); }

  private:
    WatchedComm comm_;
    int bytes_;
    bool at_once_;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

// Messages with peers, each way one: of bytes where the size fits an int, else of one derived datatype.
class PairTransfer final : public Transfer {
  public:
    PairTransfer(WatchedComm comm, int rank, Pairing pairing) : comm_(comm), rank_(rank), pairing_(pairing) {}
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
        const WaitingInMpi waiting(comm_.peers);
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
    Status finish() override { return wait_for(comm_, requests_.data(), std::exchange(used_, 0)); }

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
                                 pair.send.type, pair.peer, kTag, comm_.comm));
        return Status();
    }
    Status receive(const Pair& pair, void* target) {
        if (!pair.receive.count) return Status();
        SPANFFT_MPI_TRY(MPI_Recv(static_cast<char*>(target) + pair.receive.offset_bytes, pair.receive.count,
                                 pair.receive.type, pair.peer, kTag, comm_.comm, MPI_STATUS_IGNORE));
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
                                     pair.send.type, pair.peer, kTag, pair.peer, kTag, comm_.comm, MPI_STATUS_IGNORE);
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
                          pair.peer, kTag, comm_.comm, &requests_[static_cast<size_t>(used_)]);
            used_ += code == MPI_SUCCESS;
            keep_first(first, mpi_status(code, "MPI_Irecv"));
        }
        for (const Pair& pair : pairs_) {
            if (!pair.send.count) continue;
            const int code =
                MPI_Isend(static_cast<const char*>(source) + pair.send.offset_bytes, pair.send.count, pair.send.type,
                          pair.peer, kTag, comm_.comm, &requests_[static_cast<size_t>(used_)]);
            used_ += code == MPI_SUCCESS;
            keep_first(first, mpi_status(code, "MPI_Isend"));
        }
        return first;
    }

    WatchedComm comm_;
    int rank_;
    Pairing pairing_;
    std::vector<Pair> pairs_;
    std::vector<MPI_Request> requests_;
    int used_ = 0;
};

}  // namespace

Result<std::unique_ptr<Transfer>> make_datatype_transfer(WatchedComm comm, int rank,
                                                         const std::vector<StridedPart>& send,
                                                         const std::vector<StridedPart>& receive, Issue issue) {
    const int size = static_cast<int>(send.size());
    auto transfer = std::make_unique<DatatypeTransfer>(comm, size, issue);
    for (int peer = 0; peer < size; ++peer) {
        const auto i = static_cast<size_t>(peer);
        if (peer == rank) {
            transfer->set_self(rank, send[i], receive[i]);
            continue;
        }
        SPANFFT_TRY(transfer->set_send(peer, send[i]));
        SPANFFT_TRY(transfer->set_receive(peer, receive[i]));
    }
    return std::unique_ptr<Transfer>(std::move(transfer));
}

bool fits_int(const std::vector<BytesPart>& parts) {
    return std::all_of(parts.begin(), parts.end(),
                       [](const BytesPart& p) { return p.bytes <= INT_MAX && p.offset_bytes <= INT_MAX - kMostShift; });
}

Result<std::unique_ptr<Transfer>> make_bytes_transfer(WatchedComm comm, int rank, const std::vector<BytesPart>& send,
                                                      const std::vector<BytesPart>& receive, Issue issue, bool ints) {
    if (ints) {
        return std::unique_ptr<Transfer>(std::make_unique<BytesTransfer<IntSide>>(comm, rank, send, receive, issue));
    }
#if MPI_VERSION >= 4
    if (is_mpi_4()) {
        return std::unique_ptr<Transfer>(std::make_unique<BytesTransfer<LargeSide>>(comm, rank, send, receive, issue));
    }
#endif
    const auto strided = [](const std::vector<BytesPart>& parts) {
        std::vector<StridedPart> result;
        for (const auto& p : parts) result.push_back({p.offset_bytes, {{p.bytes, 1}}, 1});
        return result;
    };
    return make_datatype_transfer(comm, rank, strided(send), strided(receive), issue);
}

Result<std::unique_ptr<Transfer>> make_gather_transfer(WatchedComm comm, index_t bytes, bool at_once) {
    return std::unique_ptr<Transfer>(new GatherTransfer(comm, static_cast<int>(bytes), at_once));
}

bool is_mpi_4() {
    int version = 0, subversion = 0;
    MPI_Get_version(&version, &subversion);
    return MPI_VERSION >= 4 && version >= 4;
}

Result<std::unique_ptr<Transfer>> make_persistent_transfer([[maybe_unused]] WatchedComm comm, [[maybe_unused]] int rank,
                                                           [[maybe_unused]] const void* source,
                                                           [[maybe_unused]] const std::vector<BytesPart>& send,
                                                           [[maybe_unused]] void* target,
                                                           [[maybe_unused]] const std::vector<BytesPart>& receive,
                                                           [[maybe_unused]] bool ints) {
#if MPI_VERSION >= 4
    return ints ? bind_persistent<IntSide>(comm, rank, source, send, target, receive)
                : bind_persistent<LargeSide>(comm, rank, source, send, target, receive);
#else
    return error(Code::unsupported, "this MPI library has no persistent collectives (MPI-", MPI_VERSION,
                 "; they came with MPI-4); use another exchange, such as alltoallv");
#endif
}

Result<std::unique_ptr<Transfer>> make_pair_transfer(WatchedComm comm, int rank, const std::vector<PairParts>& pairs,
                                                     Pairing pairing) {
    auto transfer = std::make_unique<PairTransfer>(comm, rank, pairing);
    for (const PairParts& pair : pairs) SPANFFT_TRY(transfer->add(pair));
    return std::unique_ptr<Transfer>(std::move(transfer));
}

}  // namespace spanfft
