// Shared windows over MPI; see mpi_window.hpp.
//
// Method: MPI_Win_allocate_shared makes the memory and finds every rank's part; plain loads and stores move the data,
// and a NodeBarrier in the same memory orders them, because MPI_Barrier keeps the cores busy while it waits. The window
// stays locked (MPI_Win_lock_all) for all its life, as the unified memory model asks for. Layout: a page for the
// barrier, then the parts of all ranks, each on pages of its own: its rank touches it first, so that it lies near that
// rank's core.
#include "comm/mpi/mpi_window.hpp"

#include <sched.h>
#include <sys/mman.h>

#include <cstring>

#include "comm/mpi/mpi_transfer.hpp"
#include "comm/node_barrier.hpp"

namespace spanfft {

namespace {

constexpr index_t kPage = 4096;

index_t whole_pages(index_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// The number of cores that any of the ranks may run on.
Result<int> cores_of_all(MPI_Comm comm, int size) {
    cpu_set_t mine, all;
    CPU_ZERO(&mine);
    CPU_ZERO(&all);
    if (sched_getaffinity(0, sizeof mine, &mine) != 0) CPU_SET(0, &mine);
    std::vector<cpu_set_t> sets(static_cast<size_t>(size));
    SPANFFT_MPI_TRY(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, sets.data(), sizeof mine, MPI_BYTE, comm));
    for (const cpu_set_t& set : sets) CPU_OR(&all, &all, &set);
    return CPU_COUNT(&all);
}

class MpiWindow final : public SharedWindow {
  public:
    MpiWindow() = default;
    MpiWindow(const MpiWindow&) = delete;
    MpiWindow& operator=(const MpiWindow&) = delete;
    ~MpiWindow() override {
        int finalized = 0;
        MPI_Finalized(&finalized);
        if (finalized || window_ == MPI_WIN_NULL) return;
        if (locked_) MPI_Win_unlock_all(window_);
        MPI_Win_free(&window_);
    }

    Status make(MPI_Comm comm, int rank, int size, index_t bytes) {
        if (size > kNodeBarrierRanks) {
            return error(Code::unsupported, size, " ranks on one node are more than a shared window takes (",
                         kNodeBarrierRanks, "); use another exchange");
        }
        const index_t barrier_bytes = whole_pages(sizeof(NodeBarrierState));
        const index_t mine = whole_pages(bytes) + (rank == 0 ? barrier_bytes : 0);
        void* base = nullptr;
        SPANFFT_MPI_TRY(MPI_Win_allocate_shared(static_cast<MPI_Aint>(mine), 1, MPI_INFO_NULL, comm, &base, &window_));
        SPANFFT_MPI_TRY(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_));
        locked_ = true;
        for (int peer = 0; peer < size; ++peer) {
            MPI_Aint part_bytes = 0;
            int unit = 1;
            void* part = nullptr;
            SPANFFT_MPI_TRY(MPI_Win_shared_query(window_, peer, &part_bytes, &unit, &part));
            if (peer == 0) {
                state_ = static_cast<NodeBarrierState*>(part);
                part = static_cast<char*>(part) + barrier_bytes;
            }
            parts_.push_back(part);
        }
        // First touch by its own rank; huge pages where the system gives them to shared memory.
        char* own = static_cast<char*>(parts_[static_cast<size_t>(rank)]);
        const auto address = reinterpret_cast<std::uintptr_t>(own);
        if (bytes > 0 && address % kPage == 0)
            (void)madvise(own, static_cast<size_t>(whole_pages(bytes)), MADV_HUGEPAGE);
        if (rank == 0) std::memset(static_cast<void*>(state_), 0, sizeof *state_);
        if (bytes > 0) std::memset(own, 0, static_cast<size_t>(bytes));
        SPANFFT_MPI_TRY(MPI_Win_sync(window_));
        SPANFFT_MPI_TRY(MPI_Barrier(comm));
        SPANFFT_MPI_TRY(MPI_Win_sync(window_));
        SPANFFT_ASSIGN(const int cores, cores_of_all(comm, size));
        barrier_ = NodeBarrier(state_, rank, size, size <= cores);
        SPANFFT_MPI_TRY(MPI_Barrier(comm));
        return Status();
    }

    void* part(int rank) const override { return parts_[static_cast<size_t>(rank)]; }
    Status barrier() override { return barrier_.wait(); }

  private:
    MPI_Win window_ = MPI_WIN_NULL;
    bool locked_ = false;
    std::vector<void*> parts_;
    NodeBarrierState* state_ = nullptr;
    NodeBarrier barrier_;
};

}  // namespace

Result<std::unique_ptr<SharedWindow>> make_mpi_window(MPI_Comm comm, int rank, int size, index_t bytes) {
    auto window = std::make_unique<MpiWindow>();
    SPANFFT_TRY(window->make(comm, rank, size, bytes));
    return std::unique_ptr<SharedWindow>(std::move(window));
}

}  // namespace spanfft
