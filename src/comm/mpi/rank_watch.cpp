// Who waits, and the thread that looks; see rank_watch.hpp.
#include "comm/mpi/rank_watch.hpp"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "comm/mpi/mpi_transfer.hpp"
#include "comm/node_barrier.hpp"

namespace spanfft {

namespace {

constexpr std::int64_t kPatienceSeconds = 3;  // of waiting, before anybody is looked for
constexpr int kLooksAfterAnError = 20;        // a hundredth of a second apart

std::int64_t now_seconds() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return now.tv_sec;
}

// Of a thread; used again by another when that has ended, and never freed: no lock is needed, which a fork might leave
// locked.
struct Waiter {
    std::atomic<bool> taken{true};
    std::atomic<const NodePeers*> peers{nullptr};
    std::atomic<std::int64_t> since{0};
    Waiter* next = nullptr;
};

std::atomic<Waiter*> waiters{nullptr};  // a list that only grows
std::mutex looking;                     // held while lists of peers are read
std::once_flag started;

Waiter* take_waiter() {
    for (Waiter* each = waiters.load(); each; each = each->next) {
        bool taken = false;
        if (each->taken.compare_exchange_strong(taken, true)) return each;
    }
    auto* made = new Waiter;
    made->next = waiters.load();
    while (!waiters.compare_exchange_weak(made->next, made)) {
    }
    return made;
}

Waiter& own_waiter() {
    struct Taken {
        Waiter* waiter = take_waiter();
        ~Taken() { waiter->taken.store(false); }
    };
    thread_local Taken own;
    return *own.waiter;
}

[[noreturn]] void end_process(const NodePeer& gone) {
    const std::string text = cat("spanfft: ", gone_text(gone.rank, gone.pid),
                                 ", and this rank waits for it in MPI, which will not return: "
                                 "this process ends (with SPANFFT_WATCH=0 it would wait for ever)\n");
    (void)!write(STDERR_FILENO, text.data(), text.size());
    _exit(static_cast<int>(Code::mpi_error) + 1);  // as docs/exit-codes.md has it
}

void look_around() {
    const std::lock_guard lock(looking);
    for (const Waiter* waiter = waiters.load(); waiter; waiter = waiter->next) {
        const NodePeers* peers = waiter->peers.load();
        if (!peers || now_seconds() - waiter->since.load() < kPatienceSeconds) continue;
        for (const NodePeer& peer : peers->all()) {
            if (is_gone(peer.pid)) end_process(peer);
        }
    }
}

// A thread that can't be made is done without: nothing else depends on it.
void start_watching() {
    try {
        std::thread([] {
            for (;;) {
                sleep(1);
                look_around();
            }
        }).detach();
    } catch (const std::system_error&) {
    }
}

// What two processes have alike exactly if the one's process number means the same to the other: the same start of the
// system, and the same namespace.
std::uint64_t system_identity() {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    struct stat processes{};
    if (boot.empty() || stat("/proc/self/ns/pid", &processes) != 0) return 0;
    const auto hash = static_cast<std::uint64_t>(std::hash<std::string>{}(cat(boot, ' ', processes.st_ino)));
    return hash ? hash : 1;
}

}  // namespace

NodePeers::NodePeers(std::vector<NodePeer> peers) : peers_(std::move(peers)), made_by_(getpid()) {}

// Nobody reads it any more when its memory goes; in a child of fork there is no thread that could.
NodePeers::~NodePeers() {
    if (made_by_ == getpid()) const std::lock_guard lock(looking);
}

Result<std::shared_ptr<NodePeers>> find_node_peers(MPI_Comm comm) {
    const char* asked = std::getenv("SPANFFT_WATCH");
    const bool known = !asked || std::strcmp(asked, "0") == 0 || std::strcmp(asked, "1") == 0;
    const bool off = asked && std::strcmp(asked, "0") == 0;
    struct Rank {
        std::uint64_t system;
        std::int64_t pid;
        std::int64_t understood;
    };
    int rank = 0, size = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const Rank mine{off ? 0 : system_identity(), getpid(), known};
    std::vector<Rank> all(static_cast<size_t>(size));
    SPANFFT_MPI_TRY(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, comm));
    if (!std::all_of(all.begin(), all.end(), [](const Rank& each) { return each.understood; })) {
        const std::string value = known ? "what another rank has" : cat("'", asked, "'");
        return error(Code::invalid_argument, "SPANFFT_WATCH is ", value, "; use 1 or 0, or leave it out");
    }
    if (!mine.system) return std::shared_ptr<NodePeers>();
    std::vector<NodePeer> peers;
    for (int peer = 0; peer < size; ++peer) {
        const Rank& other = all[static_cast<size_t>(peer)];
        const auto pid = static_cast<std::int32_t>(other.pid);
        if (peer != rank && other.system == mine.system && !is_gone(pid)) peers.push_back({peer, peer, pid});
    }
    if (peers.empty()) return std::shared_ptr<NodePeers>();
    std::call_once(started, start_watching);
    return std::make_shared<NodePeers>(std::move(peers));
}

std::shared_ptr<NodePeers> peers_in(const std::shared_ptr<NodePeers>& peers, MPI_Comm whole, MPI_Comm part) {
    if (!peers || part == MPI_COMM_NULL) return nullptr;
    MPI_Group of_whole = MPI_GROUP_NULL, of_part = MPI_GROUP_NULL;
    if (MPI_Comm_group(whole, &of_whole) != MPI_SUCCESS) return nullptr;
    std::vector<NodePeer> found;
    if (MPI_Comm_group(part, &of_part) == MPI_SUCCESS) {
        for (NodePeer peer : peers->all()) {
            int here = MPI_UNDEFINED;
            const int code = MPI_Group_translate_ranks(of_whole, 1, &peer.rank_here, of_part, &here);
            if (code != MPI_SUCCESS || here == MPI_UNDEFINED) continue;
            peer.rank_here = here;
            found.push_back(peer);
        }
        MPI_Group_free(&of_part);
    }
    MPI_Group_free(&of_whole);
    return found.empty() ? nullptr : std::make_shared<NodePeers>(std::move(found));
}

WaitingInMpi::WaitingInMpi(const NodePeers* peers) {
    if (!peers) return;
    Waiter& waiter = own_waiter();
    waiter.since.store(now_seconds(), std::memory_order_relaxed);
    waiter.peers.store(peers, std::memory_order_release);
}

WaitingInMpi::~WaitingInMpi() { own_waiter().peers.store(nullptr, std::memory_order_release); }

std::optional<NodePeer> gone_while_waiting() {
    const NodePeers* peers = own_waiter().peers.load();
    for (int look = 0; peers && look < kLooksAfterAnError; ++look) {
        for (const NodePeer& peer : peers->all()) {
            if (is_gone(peer.pid)) return peer;
        }
        usleep(10000);
    }
    return std::nullopt;
}

}  // namespace spanfft
