// Making, finding and mapping files in memory; see node_window.hpp.
#include "comm/node_window.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace spanfft {

namespace {

constexpr index_t kPage = 4096;
// Of Linux 5.14 and 6.1; headers may be older than the system that runs.
constexpr int kPopulateWrite = 23, kCollapse = 25;

index_t round_up_to(index_t bytes, index_t unit) { return (bytes + unit - 1) / unit * unit; }

template <class... Args>
Status failed(const Args&... what) {
    const int number = errno;
    return error(Code::unsupported, what..., ": ", std::strerror(number));
}

class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() {
        if (number_ >= 0) close(number_);
    }
    int get() const { return number_; }

  private:
    int number_ = -1;
};

// A file in memory, mapped at a multiple of 2 MiB.
class Mapping {
  public:
    Mapping() = default;
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping() {
        if (start_) munmap(start_, bytes_);
    }
    char* start() const { return start_; }

    // bytes: a multiple of 2 MiB. The address space is taken first, with room to align in, and given back around it.
    Status map(int file, index_t bytes) {
        const auto length = static_cast<size_t>(bytes), slack = static_cast<size_t>(kWindowAlignment);
        void* space = mmap(nullptr, length + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (space == MAP_FAILED) return failed("no address space for a window of ", bytes, " bytes");
        const auto address = reinterpret_cast<std::uintptr_t>(space);
        const size_t before = (slack - address % slack) % slack;
        char* aligned = static_cast<char*>(space) + before;
        if (mmap(aligned, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
            const Status status = failed("a window of ", bytes, " bytes can't be mapped");
            munmap(space, length + slack);
            return status;
        }
        if (before > 0) munmap(space, before);
        munmap(aligned + length, slack - before);
        start_ = aligned;
        bytes_ = length;
        return Status();
    }

  private:
    char* start_ = nullptr;
    size_t bytes_ = 0;
};

// What rank 0 tells the others.
struct Offer {
    std::int32_t pid = 0, number = -1;
    std::uint64_t device = 0, inode = 0;
};

Status make_file(index_t bytes, Descriptor& file, Offer& offer) {
    SPANFFT_TRY(file_size_allowed(bytes));
    file = Descriptor(memfd_create("spanfft window", MFD_CLOEXEC));
    if (file.get() < 0) return failed("memfd_create");
    if (ftruncate(file.get(), bytes) != 0) return failed("a file of ", bytes, " bytes in memory");
    struct stat facts;
    if (fstat(file.get(), &facts) != 0) return failed("fstat of a file in memory");
    offer = {static_cast<std::int32_t>(getpid()), file.get(), facts.st_dev, facts.st_ino};
    return Status();
}

// The other's file; not another one, as a number of a process means another process in another namespace.
Status open_file(const Offer& offer, Descriptor& file) {
    if (offer.number < 0) return error(Code::unsupported, "rank 0 could not make it");
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/fd/%d", offer.pid, offer.number);
    file = Descriptor(open(path, O_RDWR | O_CLOEXEC));
    if (file.get() < 0) return failed("opening rank 0's ", path);
    struct stat facts;
    if (fstat(file.get(), &facts) != 0) return failed("fstat of ", path);
    if (facts.st_dev != offer.device || facts.st_ino != offer.inode)
        return error(Code::unsupported, path, " is not rank 0's: the ranks don't see one another's processes");
    return Status();
}

// Pages for a part of the file, huge ones where whole ones fit and the system gives them: by itself, or, where shared
// memory gets none by itself, by MADV_COLLAPSE, which needs small ones there to begin with. Advice: what fails costs
// speed and nothing else.
Status touch_first(char* part, index_t bytes) {
    const auto huge_bytes = static_cast<size_t>(bytes / kWindowAlignment * kWindowAlignment);
    if (huge_bytes > 0) (void)madvise(part, huge_bytes, MADV_HUGEPAGE);
    SPANFFT_TRY(populate(part, round_up_to(bytes, kPage)));
    if (huge_bytes > 0) (void)madvise(part, huge_bytes, kCollapse);
    return Status();
}

class NodeWindow final : public SharedWindow {
  public:
    Status make(Comm& comm, index_t bytes, std::function<void()> progress) {
        std::vector<index_t> all(static_cast<size_t>(comm.size()));
        SPANFFT_TRY(comm.allgather(&bytes, sizeof bytes, all.data()));
        index_t total = round_up_to(static_cast<index_t>(sizeof(NodeBarrierState)), kWindowAlignment);
        std::vector<index_t> offsets;
        for (const index_t part : all) {
            offsets.push_back(total);
            total += round_up_to(part, kWindowAlignment);
        }
        SPANFFT_TRY(share(comm, total, offsets[static_cast<size_t>(comm.rank())], bytes));
        for (const index_t offset : offsets) parts_.push_back(mapping_.start() + offset);
        SPANFFT_ASSIGN(const bool spin, has_core_for_each(comm));
        auto* state = reinterpret_cast<NodeBarrierState*>(mapping_.start());  // zeroed, as new files in memory are
        barrier_ = NodeBarrier(state, comm.rank(), comm.size(), spin, std::move(progress));
        return comm.barrier();
    }
    void* part(int rank) const override { return parts_[static_cast<size_t>(rank)]; }
    Status barrier() override { return barrier_.wait(); }

  private:
    // Collective: the same file, mapped by all or by none.
    Status share(Comm& comm, index_t total, index_t my_offset, index_t my_bytes) {
        Descriptor file;  // closed when all have mapped it
        Offer offer;
        Status status;
        const std::string asked = windows_asked_for();
        if (!asked.empty() && asked != "own") {
            status = error(Code::unsupported, "SPANFFT_WINDOWS=", asked, " asks for others");
        } else if (comm.size() > kNodeBarrierRanks) {
            status = error(Code::unsupported, comm.size(), " ranks on one node are more than a shared window takes (",
                           kNodeBarrierRanks, ")");
        }
        if (status.ok() && comm.rank() == 0) status = make_file(total, file, offer);
        SPANFFT_TRY(comm.broadcast(&offer, sizeof offer, 0));
        if (status.ok() && comm.rank() != 0) status = open_file(offer, file);
        if (status.ok()) status = mapping_.map(file.get(), total);
        if (status.ok() && comm.rank() == 0)
            status = populate(mapping_.start(), round_up_to(sizeof(NodeBarrierState), kPage));
        if (status.ok() && my_bytes > 0) status = touch_first(mapping_.start() + my_offset, my_bytes);
        return agree(comm, status);
    }

    Mapping mapping_;
    std::vector<void*> parts_;
    NodeBarrier barrier_;
};

}  // namespace

Result<std::unique_ptr<SharedWindow>> make_node_window(Comm& comm, index_t bytes, std::function<void()> progress) {
    auto window = std::make_unique<NodeWindow>();
    SPANFFT_TRY(window->make(comm, bytes, std::move(progress)));
    return std::unique_ptr<SharedWindow>(std::move(window));
}

std::string windows_asked_for() {
    const char* text = std::getenv("SPANFFT_WINDOWS");
    return text ? text : "";
}

Status populate(void* start, index_t bytes) {
    if (bytes == 0 || madvise(start, static_cast<size_t>(bytes), kPopulateWrite) == 0) return Status();
    if (errno != EINVAL) return failed("the system has no room for ", bytes, " bytes of shared memory");
    std::memset(start, 0, static_cast<size_t>(bytes));  // Linux before 5.14: whoever came here asked for the room
    return Status();
}

Status file_size_allowed(index_t bytes) {
    rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return Status();
    if (static_cast<rlim_t>(bytes) <= limit.rlim_cur) return Status();
    return error(Code::unsupported, "shared memory of ", bytes, " bytes is beyond the limit on file sizes of ",
                 static_cast<index_t>(limit.rlim_cur), " bytes (ulimit -f)");
}

Result<bool> has_core_for_each(Comm& comm) {
    cpu_set_t mine, all;
    CPU_ZERO(&mine);
    CPU_ZERO(&all);
    if (sched_getaffinity(0, sizeof mine, &mine) != 0) CPU_SET(0, &mine);
    std::vector<cpu_set_t> sets(static_cast<size_t>(comm.size()));
    SPANFFT_TRY(comm.allgather(&mine, sizeof mine, sets.data()));
    for (const cpu_set_t& set : sets) CPU_OR(&all, &all, &set);
    return comm.size() <= CPU_COUNT(&all);
}

std::string describe_windows() {
    const std::string asked = windows_asked_for();
    if (asked == "none") return "none (SPANFFT_WINDOWS=none)";
    if (asked == "mpi") return "MPI's (SPANFFT_WINDOWS=mpi)";
    Descriptor file, again;
    Offer offer;
    Mapping mapping;
    Status status = make_file(kWindowAlignment, file, offer);
    if (status.ok()) status = open_file(offer, again);
    if (status.ok()) status = mapping.map(again.get(), kWindowAlignment);
    if (status.ok()) status = populate(mapping.start(), kWindowAlignment);
    if (!status.ok()) return cat("MPI's (none of our own: ", status.message(), ")");
    const bool huge = madvise(mapping.start(), static_cast<size_t>(kWindowAlignment), kCollapse) == 0;
    return cat("memory of our own (memfd), pages of ", huge ? "2 MiB" : "4 KiB");
}

}  // namespace spanfft
