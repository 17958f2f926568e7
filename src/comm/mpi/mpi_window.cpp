// Shared windows by MPI, where none of our own can be made; see mpi_window.hpp.
//
// Method: MPI_Win_allocate_shared makes the memory and finds every rank's part; plain loads and stores move the data,
// and a NodeBarrier in the same memory orders them, because MPI_Barrier keeps the cores busy while it waits. The window
// stays locked (MPI_Win_lock_all) for all its life, as the unified memory model asks for. Layout: room to align in
// (Open MPI 4.1 aligns to 8 bytes only), a page for the barrier, then the parts of all ranks, each on pages of its own:
// its rank touches it first, so that it lies near that rank's core. Invariant: the libraries make files in /dev/shm,
// which in containers has 64 MiB; the room is looked for before, and the pages are asked for where they are given, so
// that nobody dies by SIGBUS.
#include "comm/mpi/mpi_window.hpp"

#include <sys/mman.h>
#include <sys/statvfs.h>

#include <cstring>
#include <numeric>

#include "comm/mpi/mpi_transfer.hpp"
#include "comm/node_window.hpp"

namespace spanfft {

namespace {

constexpr index_t kPage = 4096;

index_t whole_pages(index_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// The first page's start in a part that its library aligned to less.
char* aligned(void* part) {
    const auto address = reinterpret_cast<std::uintptr_t>(part);
    return static_cast<char*>(part) + (kPage - address % kPage) % kPage;
}

Status room_for(index_t bytes) {
    SPANFFT_TRY(file_size_allowed(bytes));
    struct statvfs facts;
    if (statvfs("/dev/shm", &facts) != 0) return Status();  // the library uses something else
    const auto free_bytes = static_cast<index_t>(facts.f_bavail) * static_cast<index_t>(facts.f_frsize);
    if (bytes <= free_bytes) return Status();
    return error(Code::unsupported, "/dev/shm has room for ", free_bytes, " bytes, the ranks of this node need ", bytes,
                 "; give it more (docker run --shm-size, mount -o remount,size=)");
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

    Status make(Comm& comm, MPI_Comm mpi, index_t bytes) {
        const int rank = comm.rank(), size = comm.size();
        const index_t barrier_bytes = whole_pages(sizeof(NodeBarrierState));
        const index_t mine = kPage + whole_pages(bytes) + (rank == 0 ? barrier_bytes : 0);
        SPANFFT_TRY(check_room(comm, mine));
        void* base = nullptr;
        SPANFFT_MPI_TRY(MPI_Win_allocate_shared(static_cast<MPI_Aint>(mine), 1, MPI_INFO_NULL, mpi, &base, &window_));
        SPANFFT_MPI_TRY(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_));
        locked_ = true;
        std::vector<index_t> before(static_cast<size_t>(size));  // a part, as its own rank aligns it
        const index_t skipped = aligned(base) - static_cast<char*>(base) + (rank == 0 ? barrier_bytes : 0);
        SPANFFT_TRY(comm.allgather(&skipped, sizeof skipped, before.data()));
        for (int peer = 0; peer < size; ++peer) {
            MPI_Aint part_bytes = 0;
            int unit = 1;
            void* part = nullptr;
            SPANFFT_MPI_TRY(MPI_Win_shared_query(window_, peer, &part_bytes, &unit, &part));
            parts_.push_back(static_cast<char*>(part) + before[static_cast<size_t>(peer)]);
        }
        state_ = reinterpret_cast<NodeBarrierState*>(parts_[0] - barrier_bytes);
        SPANFFT_TRY(touch_first(comm, parts_[static_cast<size_t>(rank)], bytes, barrier_bytes));
        SPANFFT_MPI_TRY(MPI_Win_sync(window_));
        SPANFFT_MPI_TRY(MPI_Barrier(mpi));
        SPANFFT_MPI_TRY(MPI_Win_sync(window_));
        SPANFFT_ASSIGN(const bool spin, has_core_for_each(comm));
        barrier_ = NodeBarrier(state_, rank, size, spin, progress_of(mpi));
        SPANFFT_MPI_TRY(MPI_Barrier(mpi));
        return Status();
    }

    void* part(int rank) const override { return parts_[static_cast<size_t>(rank)]; }
    Status barrier() override { return barrier_.wait(); }

  private:
    // Collective.
    static Status check_room(Comm& comm, index_t mine) {
        std::vector<index_t> all(static_cast<size_t>(comm.size()));
        SPANFFT_TRY(comm.allgather(&mine, sizeof mine, all.data()));
        Status status = room_for(std::accumulate(all.begin(), all.end(), index_t{0}));
        if (windows_asked_for() == "own" || windows_asked_for() == "none")
            status = error(Code::unsupported, "SPANFFT_WINDOWS=", windows_asked_for(), " forbids MPI's windows");
        if (comm.size() > kNodeBarrierRanks) {
            status = error(Code::unsupported, comm.size(), " ranks on one node are more than a shared window takes (",
                           kNodeBarrierRanks, ")");
        }
        return agree(comm, status);
    }
    // Collective. Huge pages where the system gives them to shared memory.
    Status touch_first(Comm& comm, char* part, index_t bytes, index_t barrier_bytes) {
        if (bytes > 0) (void)madvise(part, static_cast<size_t>(whole_pages(bytes)), MADV_HUGEPAGE);
        Status status = comm.rank() == 0 ? populate(state_, barrier_bytes) : Status();
        if (status.ok()) status = populate(part, whole_pages(bytes));
        SPANFFT_TRY(agree(comm, status));
        if (comm.rank() == 0) std::memset(static_cast<void*>(state_), 0, sizeof *state_);
        if (bytes > 0) std::memset(part, 0, static_cast<size_t>(bytes));
        return Status();
    }

    MPI_Win window_ = MPI_WIN_NULL;
    bool locked_ = false;
    std::vector<char*> parts_;
    NodeBarrierState* state_ = nullptr;
    NodeBarrier barrier_;
};

}  // namespace

std::function<void()> progress_of(MPI_Comm mpi) {
    return [mpi] {
        int found = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, mpi, &found, MPI_STATUS_IGNORE);
    };
}

Result<std::unique_ptr<SharedWindow>> make_mpi_window(Comm& comm, MPI_Comm mpi, index_t bytes) {
    auto window = std::make_unique<MpiWindow>();
    SPANFFT_TRY(window->make(comm, mpi, bytes));
    return std::unique_ptr<SharedWindow>(std::move(window));
}

}  // namespace spanfft
