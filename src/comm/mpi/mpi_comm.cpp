// Comm over MPI; with datatype.cpp the only sources that call MPI.
//
// Method: alltoallw describes each part as one derived datatype, made and committed once (P4's subarray method).
// The datatype is nested vectors rather than MPI_Type_create_subarray: the same typemap, but strides are
// MPI_Aint, so that nothing but a single loop count is an int, and cyclic parts can be expressed too.
// Counts above 2^31 - 1 become a vector of full chunks plus a remainder (MPI-3 has no large-count calls).
// Both collectives are non-blocking underneath, so that start and finish are really split.
// Invariant: errors return, never abort: the duplicated communicator has MPI_ERRORS_RETURN.
#include <algorithm>
#include <climits>
#include <cstring>

#include "comm/mpi/datatype.hpp"
#include "comm/mpi/mpi_comm.hpp"
#include "comm/strided_copy.hpp"

namespace spanfft {

namespace {

Status mpi_status(int code, const char* call) {
    if (code == MPI_SUCCESS) return Status();
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    return error(Code::mpi_error, call, " failed: ", std::string(text, static_cast<size_t>(length)));
}

#define SPANFFT_MPI_TRY(call) SPANFFT_TRY(mpi_status((call), #call))

// A non-blocking alltoallw on ready-made datatypes. Every datatype carries its whole part, so counts are 0 or 1.
class MpiTransfer final : public Transfer {
  public:
    explicit MpiTransfer(MPI_Comm comm, int size) : comm_(comm), displacements_(static_cast<size_t>(size), 0) {
        for (auto* counts : {&send_counts_, &receive_counts_}) counts->assign(static_cast<size_t>(size), 0);
        for (auto* types : {&send_types_, &receive_types_}) types->assign(static_cast<size_t>(size), MPI_BYTE);
    }
    MpiTransfer(const MpiTransfer&) = delete;
    MpiTransfer& operator=(const MpiTransfer&) = delete;
    ~MpiTransfer() override {
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
        SPANFFT_MPI_TRY(MPI_Ialltoallw(source, send_counts_.data(), displacements_.data(), send_types_.data(), target,
                                       receive_counts_.data(), displacements_.data(), receive_types_.data(), comm_,
                                       &request_));
        if (has_self_) copy_strided(self_send_, source, self_receive_, target);
        return Status();
    }
    Status finish() override {
        SPANFFT_MPI_TRY(MPI_Wait(&request_, MPI_STATUS_IGNORE));
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
    std::vector<int> send_counts_, receive_counts_, displacements_;
    std::vector<MPI_Datatype> send_types_, receive_types_;
    StridedPart self_send_, self_receive_;
    bool has_self_ = false;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

// A non-blocking alltoallv on bytes, for parts whose sizes and offsets fit an int.
class MpiBytesTransfer final : public Transfer {
  public:
    MpiBytesTransfer(MPI_Comm comm, int rank, const std::vector<BytesPart>& send, const std::vector<BytesPart>& receive)
        : comm_(comm), self_send_(send[static_cast<size_t>(rank)]), self_receive_(receive[static_cast<size_t>(rank)]) {
        fill(send, rank, send_counts_, send_displacements_);
        fill(receive, rank, receive_counts_, receive_displacements_);
    }
    static bool fits(const std::vector<BytesPart>& parts) {
        return std::all_of(parts.begin(), parts.end(),
                           [](const BytesPart& p) { return p.bytes <= INT_MAX && p.offset_bytes <= INT_MAX; });
    }
    Status start(const void* source, void* target) override {
        SPANFFT_MPI_TRY(MPI_Ialltoallv(source, send_counts_.data(), send_displacements_.data(), MPI_BYTE, target,
                                       receive_counts_.data(), receive_displacements_.data(), MPI_BYTE, comm_,
                                       &request_));
        if (self_send_.bytes) {
            std::memcpy(static_cast<char*>(target) + self_receive_.offset_bytes,
                        static_cast<const char*>(source) + self_send_.offset_bytes,
                        static_cast<size_t>(self_send_.bytes));
        }
        return Status();
    }
    Status finish() override {
        SPANFFT_MPI_TRY(MPI_Wait(&request_, MPI_STATUS_IGNORE));
        return Status();
    }

  private:
    static void fill(const std::vector<BytesPart>& parts, int rank, std::vector<int>& counts,
                     std::vector<int>& displacements) {
        for (const auto& part : parts) {
            counts.push_back(static_cast<int>(part.bytes));
            displacements.push_back(static_cast<int>(part.offset_bytes));
        }
        counts[static_cast<size_t>(rank)] = 0;
    }

    MPI_Comm comm_;
    BytesPart self_send_, self_receive_;
    std::vector<int> send_counts_, receive_counts_, send_displacements_, receive_displacements_;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

class MpiComm final : public Comm {
  public:
    // Takes ownership of `comm`.
    static Result<std::unique_ptr<Comm>> adopt(MPI_Comm comm) {
        SPANFFT_MPI_TRY(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
        return std::unique_ptr<Comm>(new MpiComm(comm));
    }
    MpiComm(const MpiComm&) = delete;
    MpiComm& operator=(const MpiComm&) = delete;
    ~MpiComm() override {
        int finalized = 0;
        MPI_Finalized(&finalized);
        if (!finalized) MPI_Comm_free(&comm_);
    }
    int rank() const override { return rank_; }
    int size() const override { return size_; }
    std::string describe() const override { return cat(size_, " MPI ranks"); }
    Result<std::unique_ptr<Comm>> split(int color, int key) override {
        MPI_Comm made = MPI_COMM_NULL;
        SPANFFT_MPI_TRY(MPI_Comm_split(comm_, color, key, &made));
        return adopt(made);
    }
    Result<std::unique_ptr<Comm>> duplicate() override {
        MPI_Comm made = MPI_COMM_NULL;
        SPANFFT_MPI_TRY(MPI_Comm_dup(comm_, &made));
        return adopt(made);
    }
    Status barrier() override {
        SPANFFT_MPI_TRY(MPI_Barrier(comm_));
        return Status();
    }
    Status allgather(const void* mine, size_t bytes, void* all) override {
        SPANFFT_MPI_TRY(
            MPI_Allgather(mine, static_cast<int>(bytes), MPI_BYTE, all, static_cast<int>(bytes), MPI_BYTE, comm_));
        return Status();
    }
    Status broadcast(void* data, size_t bytes, int root) override {
        SPANFFT_MPI_TRY(MPI_Bcast(data, static_cast<int>(bytes), MPI_BYTE, root, comm_));
        return Status();
    }
    Result<std::unique_ptr<Transfer>> make_alltoallw(const std::vector<StridedPart>& send,
                                                     const std::vector<StridedPart>& receive) override {
        auto transfer = std::make_unique<MpiTransfer>(comm_, size_);
        for (int peer = 0; peer < size_; ++peer) {
            const auto i = static_cast<size_t>(peer);
            if (peer == rank_) {
                transfer->set_self(send[i], receive[i]);
                continue;
            }
            SPANFFT_TRY(transfer->set_send(peer, send[i]));
            SPANFFT_TRY(transfer->set_receive(peer, receive[i]));
        }
        return std::unique_ptr<Transfer>(std::move(transfer));
    }
    Result<std::unique_ptr<Transfer>> make_alltoallv(const std::vector<BytesPart>& send,
                                                     const std::vector<BytesPart>& receive) override {
        // All ranks must call the same collective, so one rank's large part decides for all.
        const char large = !MpiBytesTransfer::fits(send) || !MpiBytesTransfer::fits(receive);
        std::vector<char> all(static_cast<size_t>(size_));
        SPANFFT_TRY(allgather(&large, 1, all.data()));
        if (std::find(all.begin(), all.end(), 1) == all.end()) {
            return std::unique_ptr<Transfer>(new MpiBytesTransfer(comm_, rank_, send, receive));
        }
        const auto strided = [](const std::vector<BytesPart>& parts) {
            std::vector<StridedPart> result;
            for (const auto& p : parts) result.push_back({p.offset_bytes, {{p.bytes, 1}}, 1});
            return result;
        };
        return make_alltoallw(strided(send), strided(receive));
    }

  private:
    explicit MpiComm(MPI_Comm comm) : comm_(comm) {
        MPI_Comm_rank(comm_, &rank_);
        MPI_Comm_size(comm_, &size_);
    }
    MPI_Comm comm_;
    int rank_ = 0, size_ = 1;
};

}  // namespace

Result<std::unique_ptr<Comm>> make_mpi_comm(MPI_Comm comm) {
    int initialized = 0, finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (!initialized || finalized) return error(Code::mpi_error, "MPI is not running; call MPI_Init first");
    if (comm == MPI_COMM_NULL)
        return error(Code::invalid_argument, "the communicator is MPI_COMM_NULL; only its members may pass it");
    int is_inter = 0;
    SPANFFT_MPI_TRY(MPI_Comm_test_inter(comm, &is_inter));
    if (is_inter)
        return error(Code::invalid_argument,
                     "the communicator is an intercommunicator; merge it first (MPI_Intercomm_merge)");
    MPI_Comm copy = MPI_COMM_NULL;
    SPANFFT_MPI_TRY(MPI_Comm_dup(comm, &copy));
    return MpiComm::adopt(copy);
}

}  // namespace spanfft
