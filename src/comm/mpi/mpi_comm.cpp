// Comm over MPI: small agreements here, bulk data in mpi_transfer.cpp, shared windows in mpi_window.cpp; with
// datatype.cpp the only sources that call MPI.
//
// Method: communicators are few (MPICH has about 2,000), plans may be many. So a user's communicator is duplicated once
// for all plans on it, and so is each group of its ranks: whoever holds a MpiComm holds a share of its MPI
// communicator, which the last one frees. The copy is found again as an attribute of the user's communicator.
// Everything here is collective, so ranks come to the last one together; whether all of them still have a communicator
// is asked, not concluded, before one is used again.
// Invariant: errors return, never abort: the duplicated communicator has MPI_ERRORS_RETURN.
#include "comm/mpi/mpi_comm.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>

#include "comm/mpi/mpi_transfer.hpp"
#include "comm/mpi/mpi_window.hpp"
#include "comm/node_window.hpp"

namespace spanfft {

namespace {

// An MPI communicator of ours, and those of groups of its ranks that are in use.
struct SharedMpiComm {
    explicit SharedMpiComm(MPI_Comm made) : comm(made) {}
    SharedMpiComm(const SharedMpiComm&) = delete;
    SharedMpiComm& operator=(const SharedMpiComm&) = delete;
    ~SharedMpiComm() {
        int finalized = 0;
        MPI_Finalized(&finalized);
        if (!finalized) MPI_Comm_free(&comm);
    }
    MPI_Comm comm;
    std::shared_ptr<NodePeers> peers;  // may be null
    std::map<std::vector<int>, std::weak_ptr<SharedMpiComm>> groups;
};
using SharedComm = std::shared_ptr<SharedMpiComm>;

// Collective over comm. What this rank has already, if all ranks have.
Result<SharedComm> if_all_have(MPI_Comm comm, const std::weak_ptr<SharedMpiComm>& kept) {
    SharedComm mine = kept.lock();
    int has = mine != nullptr, all_have = 0;
    SPANFFT_MPI_TRY(MPI_Allreduce(&has, &all_have, 1, MPI_INT, MPI_MIN, comm));
    return all_have ? mine : nullptr;
}

// Takes ownership of `comm`, which was made of `whole` if there is one. Collective over comm otherwise.
Result<SharedComm> share(MPI_Comm comm, const SharedMpiComm* whole = nullptr) {
    auto shared = std::make_shared<SharedMpiComm>(comm);
    SPANFFT_MPI_TRY(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    if (whole) {
        shared->peers = peers_in(whole->peers, whole->comm, comm);
    } else {
        SPANFFT_ASSIGN(shared->peers, find_node_peers(comm));
    }
    return shared;
}

class MpiComm final : public Comm {
  public:
    explicit MpiComm(SharedComm shared, std::shared_ptr<std::string> window_note = nullptr)
        : shared_(std::move(shared)),
          comm_(shared_->comm),
          window_note_(window_note ? std::move(window_note) : std::make_shared<std::string>()) {
        MPI_Comm_rank(comm_, &rank_);
        MPI_Comm_size(comm_, &size_);
    }
    // Takes ownership of `comm`.
    Result<std::unique_ptr<Comm>> adopt(MPI_Comm comm) const {
        SPANFFT_ASSIGN(SharedComm shared, share(comm, shared_.get()));
        return std::unique_ptr<Comm>(new MpiComm(std::move(shared), window_note_));
    }
    int rank() const override { return rank_; }
    int size() const override { return size_; }
    std::string describe() const override { return cat(size_, " MPI ranks"); }
    bool calls_from_threads() const override {
        int level = MPI_THREAD_SINGLE;
        return MPI_Query_thread(&level) == MPI_SUCCESS && level >= MPI_THREAD_SERIALIZED;
    }
    std::string library() const override {
        char text[MPI_MAX_LIBRARY_VERSION_STRING];
        int length = 0;
        if (MPI_Get_library_version(text, &length) != MPI_SUCCESS) return "an MPI library";
        // The first line up to a comma, blanks joined: "MPICH Version: 5.0.2", "Open MPI v4.1.4".
        std::string name;
        for (int i = 0; i < length && text[i] != ',' && text[i] != '\n'; ++i) {
            const char c = text[i] == '\t' ? ' ' : text[i];
            if (c != ' ' || (!name.empty() && name.back() != ' ')) name += c;
        }
        return name;
    }
    // With Open MPI 4.1.4 four ranks on two cores waited for ever for them.
    bool collectives_progress() const override { return library().compare(0, 8, "Open MPI") != 0; }
    void be_patient() override { patient_ = collectives_progress(); }
    bool is_patient() const override { return patient_; }
    Result<std::unique_ptr<Comm>> split(int color, int key) override {
        MPI_Comm made = MPI_COMM_NULL;
        const WaitingInMpi waiting(shared_->peers.get());
        SPANFFT_MPI_TRY(MPI_Comm_split(comm_, color, key, &made));
        return adopt(made);
    }
    Result<std::unique_ptr<Comm>> duplicate() override { return std::unique_ptr<Comm>(new MpiComm(shared_)); }
    Result<std::unique_ptr<Comm>> group(const std::vector<int>& ranks) override {
        auto& kept = shared_->groups[ranks];
        const WaitingInMpi waiting(shared_->peers.get());
        SPANFFT_ASSIGN(SharedComm found, if_all_have(comm_, kept));
        if (!found) {
            MPI_Comm made = MPI_COMM_NULL;
            SPANFFT_MPI_TRY(MPI_Comm_split(comm_, ranks.front(), rank_, &made));
            SPANFFT_ASSIGN(found, share(made, shared_.get()));
            kept = found;
        }
        return std::unique_ptr<Comm>(new MpiComm(std::move(found), window_note_));
    }
    Status barrier() override {
        const WaitingInMpi waiting(shared_->peers.get());
        SPANFFT_MPI_TRY(MPI_Barrier(comm_));
        return Status();
    }
    Status allgather(const void* mine, size_t bytes, void* all) override {
        if (patient_) {
            MPI_Request request = MPI_REQUEST_NULL;
            const int count = static_cast<int>(bytes);
            SPANFFT_MPI_TRY(MPI_Iallgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, comm_, &request));
            return wait_for(watched(), &request, 1);
        }
        const WaitingInMpi waiting(shared_->peers.get());
        SPANFFT_MPI_TRY(
            MPI_Allgather(mine, static_cast<int>(bytes), MPI_BYTE, all, static_cast<int>(bytes), MPI_BYTE, comm_));
        return Status();
    }
    Status broadcast(void* data, size_t bytes, int root) override {
        const WaitingInMpi waiting(shared_->peers.get());
        SPANFFT_MPI_TRY(MPI_Bcast(data, static_cast<int>(bytes), MPI_BYTE, root, comm_));
        return Status();
    }
    Result<std::vector<int>> nodes() override {
        if (nodes_.empty()) {
            SPANFFT_ASSIGN(nodes_, find_nodes());
        }
        return nodes_;
    }
    Result<std::unique_ptr<Transfer>> make_alltoallw(const std::vector<StridedPart>& send,
                                                     const std::vector<StridedPart>& receive, Issue issue) override {
        return make_datatype_transfer(watched(), rank_, send, receive, issue);
    }
    Result<std::unique_ptr<Transfer>> make_alltoallv(const std::vector<BytesPart>& send,
                                                     const std::vector<BytesPart>& receive, Issue issue) override {
        SPANFFT_ASSIGN(const bool ints, all_fit_int(send, receive));
        return make_bytes_transfer(watched(), rank_, send, receive, issue, ints);
    }
    Result<std::unique_ptr<Transfer>> make_allgather(index_t bytes) override {
        return make_gather_transfer(watched(), bytes, !collectives_progress());
    }
    bool persistent_collectives() const override { return is_mpi_4(); }
    Result<std::unique_ptr<Transfer>> make_persistent_alltoallv(const void* source, const std::vector<BytesPart>& send,
                                                                void* target,
                                                                const std::vector<BytesPart>& receive) override {
        SPANFFT_ASSIGN(const bool ints, all_fit_int(send, receive));
        return make_persistent_transfer(watched(), rank_, source, send, target, receive, ints);
    }
    Result<std::unique_ptr<Transfer>> make_pairs(const std::vector<PairParts>& pairs, Pairing pairing) override {
        return make_pair_transfer(watched(), rank_, pairs, pairing);
    }
    Result<std::unique_ptr<SharedWindow>> make_window(index_t bytes) override {
        SPANFFT_ASSIGN(const std::vector<int> node, nodes());
        if (*std::max_element(node.begin(), node.end()) > 0)
            return error(Code::unsupported, "the ranks are on several nodes and can't share memory");
        auto own = make_node_window(*this, bytes, progress_of(comm_));
        if (own.ok() || own.status().code() != Code::unsupported) return own;
        auto mpi = make_mpi_window(*this, comm_, bytes);
        const std::string reason = cat("no shared memory of our own (", own.status().message(), ")");
        if (mpi.ok()) {
            *window_note_ = cat("windows are MPI's: ", reason);
        } else if (mpi.status().code() == Code::unsupported) {
            return error(Code::unsupported, "no shared window: ", reason, " and none by MPI (", mpi.status().message(),
                         "); use an exchange by messages, such as alltoallv");
        }
        return mpi;
    }
    std::string window_note() const override { return *window_note_; }

  private:
    WatchedComm watched() const { return {comm_, shared_->peers.get(), patient_}; }
    // All ranks must call the same collective, so one rank's large part decides for all.
    Result<bool> all_fit_int(const std::vector<BytesPart>& send, const std::vector<BytesPart>& receive) {
        const char large = !fits_int(send) || !fits_int(receive);
        std::vector<char> all(static_cast<size_t>(size_));
        SPANFFT_TRY(allgather(&large, 1, all.data()));
        return std::find(all.begin(), all.end(), 1) == all.end();
    }
    // Ranks that MPI says can share memory. SPANFFT_RANKS_PER_NODE=k cuts each such group into imagined nodes of k
    // ranks, so that what is written for clusters can be tried on one machine.
    Result<std::vector<int>> find_nodes() {
        MPI_Comm node = MPI_COMM_NULL;
        SPANFFT_MPI_TRY(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node));
        int leader = rank_, place = 0;
        MPI_Comm_rank(node, &place);
        const int code = MPI_Bcast(&leader, 1, MPI_INT, 0, node);
        MPI_Comm_free(&node);
        SPANFFT_TRY(mpi_status(code, "MPI_Bcast"));
        const char* imagined = std::getenv("SPANFFT_RANKS_PER_NODE");
        const int per_node = imagined ? std::atoi(imagined) : 0;
        const int mine[2] = {leader, per_node > 0 ? place / per_node : 0};
        std::vector<int> all(2 * static_cast<size_t>(size_));
        SPANFFT_TRY(allgather(mine, sizeof mine, all.data()));
        // Searched, as thousands of nodes would be compared pair by pair.
        std::map<std::pair<int, int>, int> numbers;
        std::vector<int> found;
        for (size_t r = 0; r < static_cast<size_t>(size_); ++r) {
            const auto next = static_cast<int>(numbers.size());
            found.push_back(numbers.try_emplace({all[2 * r], all[2 * r + 1]}, next).first->second);
        }
        return found;
    }

    SharedComm shared_;
    MPI_Comm comm_;
    std::shared_ptr<std::string> window_note_;  // of this handle and all that were split from it
    int rank_ = 0, size_ = 1;
    bool patient_ = false;
    std::vector<int> nodes_;
};

// Where a user's communicator keeps our copy of it: an attribute that goes with it and is not copied to duplicates.
using KeptCopy = std::weak_ptr<SharedMpiComm>;

int forget_copy(MPI_Comm, int, void* kept, void*) {
    delete static_cast<KeptCopy*>(kept);
    return MPI_SUCCESS;
}

Result<KeptCopy*> kept_copy_of(MPI_Comm comm) {
    static int keyval = MPI_KEYVAL_INVALID;
    if (keyval == MPI_KEYVAL_INVALID)
        SPANFFT_MPI_TRY(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_copy, &keyval, nullptr));
    void* value = nullptr;
    int found = 0;
    SPANFFT_MPI_TRY(MPI_Comm_get_attr(comm, keyval, static_cast<void*>(&value), &found));
    if (found) return static_cast<KeptCopy*>(value);
    auto kept = std::make_unique<KeptCopy>();
    SPANFFT_MPI_TRY(MPI_Comm_set_attr(comm, keyval, kept.get()));
    return kept.release();
}

}  // namespace

Result<std::unique_ptr<Comm>> make_mpi_comm(MPI_Comm comm) {
    int initialized = 0, finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (!initialized) return error(Code::mpi_error, "MPI is not initialised; call MPI_Init first");
    if (finalized) return error(Code::mpi_error, "MPI is finalised; make and use communicators before MPI_Finalize");
    if (comm == MPI_COMM_NULL)
        return error(Code::invalid_argument, "the communicator is MPI_COMM_NULL; only its members may pass it");
    int is_inter = 0;
    SPANFFT_MPI_TRY(MPI_Comm_test_inter(comm, &is_inter));
    if (is_inter)
        return error(Code::invalid_argument,
                     "the communicator is an intercommunicator; merge it first (MPI_Intercomm_merge)");
    SPANFFT_ASSIGN(KeptCopy* const kept, kept_copy_of(comm));
    SPANFFT_ASSIGN(SharedComm found, if_all_have(comm, *kept));
    if (!found) {
        MPI_Comm copy = MPI_COMM_NULL;
        SPANFFT_MPI_TRY(MPI_Comm_dup(comm, &copy));
        SPANFFT_ASSIGN(found, share(copy));
        *kept = found;
    }
    return std::unique_ptr<Comm>(new MpiComm(std::move(found)));
}

}  // namespace spanfft
