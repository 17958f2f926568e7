// io_uring through its system calls; see ring.hpp.
#include "disk/ring.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#if defined(__linux__) && defined(__NR_io_uring_setup) && __has_include(<linux/io_uring.h>)
#include <linux/io_uring.h>
#define SPANFFT_HAS_IO_URING 1
#endif

namespace spanfft {

#ifdef SPANFFT_HAS_IO_URING

namespace {

constexpr index_t kMaxRegisteredBytes = index_t{1} << 30;  // of one registered piece of memory: the kernel's limit
constexpr index_t kMaxRequestBytes = index_t{1} << 30;     // lengths are 32 bits; the rest is asked for again
constexpr unsigned kFeatureResourceTags = 1U << 10;        // IORING_FEAT_RSRC_TAGS, Linux 5.13

int result_of(long value) { return value < 0 ? -errno : static_cast<int>(value); }

unsigned load(const unsigned* shared) {
    return std::atomic_ref<unsigned>(*const_cast<unsigned*>(shared)).load(std::memory_order_acquire);
}

void store(unsigned* shared, unsigned value) {
    std::atomic_ref<unsigned>(*shared).store(value, std::memory_order_release);
}

}  // namespace

const RingSystem& kernel_rings() {
    static const RingSystem system = {
        [](unsigned entries, void* parameters) { return result_of(syscall(__NR_io_uring_setup, entries, parameters)); },
        [](int ring, unsigned submit, unsigned wait_for, unsigned flags) {
            return result_of(syscall(__NR_io_uring_enter, ring, submit, wait_for, flags, nullptr, size_t{0}));
        },
        [](int ring, unsigned what, const void* argument, unsigned count) {
            return result_of(syscall(__NR_io_uring_register, ring, what, argument, count));
        },
        nullptr};
    return system;
}

Result<std::unique_ptr<Ring>> Ring::make(int depth, const RingSystem& system) {
    std::unique_ptr<Ring> ring(new Ring(system));
    io_uring_params parameters{};
    ring->ring_ = system.setup(static_cast<unsigned>(depth), &parameters);
    if (ring->ring_ < 0) {
        const int failure = -ring->ring_;
        const char* why = failure == ENOSYS   ? "the kernel has no io_uring"
                          : failure == EPERM  ? "io_uring is forbidden here (sysctl kernel.io_uring_disabled, seccomp)"
                          : failure == ENOMEM ? "no memory may be locked for it (ulimit -l)"
                                              : "the kernel refuses an io_uring";
        return error_errno(Code::unsupported, failure, why);
    }
    if (!(parameters.features & IORING_FEAT_RW_CUR_POS)) {  // came with plain reads and writes
        return error(Code::unsupported, "the kernel's io_uring is older than Linux 5.6");
    }
    ring->can_register_ = (parameters.features & kFeatureResourceTags) != 0;
    SPANFFT_TRY(ring->map(&parameters));
    return ring;
}

Status Ring::map(const void* given) {
    const auto& p = *static_cast<const io_uring_params*>(given);
    requests_map_.bytes = p.sq_off.array + p.sq_entries * sizeof(unsigned);
    outcomes_map_.bytes = p.cq_off.cqes + p.cq_entries * sizeof(io_uring_cqe);
    entries_map_.bytes = p.sq_entries * sizeof(io_uring_sqe);
    const std::pair<Map*, std::uint64_t> maps[] = {
        {&requests_map_, IORING_OFF_SQ_RING}, {&outcomes_map_, IORING_OFF_CQ_RING}, {&entries_map_, IORING_OFF_SQES}};
    for (const auto& [map, offset] : maps) {
        void* address = mmap(nullptr, map->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring_,
                             static_cast<off_t>(offset));
        if (address == MAP_FAILED) return error_errno(Code::unsupported, errno, "could not map an io_uring");
        map->address = address;
    }
    const auto at = [](const Map& map, unsigned offset) {
        return reinterpret_cast<unsigned*>(static_cast<char*>(map.address) + offset);
    };
    request_head_ = at(requests_map_, p.sq_off.head);
    request_tail_ = at(requests_map_, p.sq_off.tail);
    request_mask_ = *at(requests_map_, p.sq_off.ring_mask);
    outcome_head_ = at(outcomes_map_, p.cq_off.head);
    outcome_tail_ = at(outcomes_map_, p.cq_off.tail);
    outcome_mask_ = *at(outcomes_map_, p.cq_off.ring_mask);
    outcomes_ = at(outcomes_map_, p.cq_off.cqes);
    entries_ = entries_map_.address;
    unsigned* order = at(requests_map_, p.sq_off.array);
    for (unsigned i = 0; i < p.sq_entries; ++i) order[i] = i;  // entry i is always in place i
    return {};
}

Ring::~Ring() {
    for (const Map* map : {&requests_map_, &outcomes_map_, &entries_map_}) {
        if (map->address) (void)munmap(map->address, map->bytes);
    }
    if (ring_ >= 0) (void)::close(ring_);
}

void Ring::push(const Request& request) {
    const unsigned tail = *request_tail_;  // only we write it
    auto& entry = static_cast<io_uring_sqe*>(entries_)[tail & request_mask_];
    std::memset(&entry, 0, sizeof entry);
    const index_t bytes = std::min(request.bytes, kMaxRequestBytes);
    entry.opcode = request.write ? IORING_OP_WRITE : IORING_OP_READ;
    entry.fd = request.descriptor;
    entry.off = static_cast<std::uint64_t>(request.offset_bytes);
    entry.addr = reinterpret_cast<std::uintptr_t>(request.data);
    entry.len = static_cast<unsigned>(bytes);
    entry.user_data = request.tag;
    if (request.registered) use_registered(request, bytes, &entry);
    store(request_tail_, tail + 1);
    ++pushed_;
}

void Ring::use_registered(const Request& request, index_t bytes, void* given) const {
    auto& entry = *static_cast<io_uring_sqe*>(given);
    const int* end = descriptors_ + files_;
    const int* found = std::find(static_cast<const int*>(descriptors_), end, request.descriptor);
    if (found != end) {
        entry.fd = static_cast<int>(found - descriptors_);
        entry.flags |= IOSQE_FIXED_FILE;
    }
    const auto address = reinterpret_cast<std::uintptr_t>(request.data),
               base = reinterpret_cast<std::uintptr_t>(memory_);
    if (address < base) return;
    const auto first = static_cast<index_t>(address - base), last = first + bytes - 1;
    if (last >= memory_bytes_ || first / kMaxRegisteredBytes != last / kMaxRegisteredBytes) return;
    entry.opcode = request.write ? IORING_OP_WRITE_FIXED : IORING_OP_READ_FIXED;
    entry.buf_index = static_cast<std::uint16_t>(first / kMaxRegisteredBytes);
}

int Ring::enter(unsigned wait_for) {
    const int taken = system_.enter(ring_, pushed_, wait_for, wait_for > 0 ? IORING_ENTER_GETEVENTS : 0U);
    if (taken > 0) pushed_ -= std::min(pushed_, static_cast<unsigned>(taken));
    return taken;
}

bool Ring::take_back(unsigned& tag) {
    const unsigned tail = *request_tail_;
    if (tail == load(request_head_)) return false;
    tag = static_cast<unsigned>(static_cast<io_uring_sqe*>(entries_)[(tail - 1) & request_mask_].user_data);
    store(request_tail_, tail - 1);
    pushed_ = tail - 1 - load(request_head_);
    return true;
}

bool Ring::pop(Outcome& outcome) {
    const unsigned head = *outcome_head_;
    if (head == load(outcome_tail_)) return false;
    const auto& entry = static_cast<const io_uring_cqe*>(outcomes_)[head & outcome_mask_];
    outcome = {static_cast<unsigned>(entry.user_data), entry.res};
    store(outcome_head_, head + 1);
    return true;
}

bool Ring::register_memory(void* base, index_t bytes) {
    std::array<iovec, 64> pieces{};
    if (!can_register_ || !base || bytes <= 0 || ceil_div(bytes, kMaxRegisteredBytes) > index_t{64}) return false;
    unsigned count = 0;
    for (index_t at = 0; at < bytes; at += kMaxRegisteredBytes) {
        pieces[count++] = {static_cast<char*>(base) + at,
                           static_cast<size_t>(std::min(kMaxRegisteredBytes, bytes - at))};
    }
    if (system_.enroll(ring_, IORING_REGISTER_BUFFERS, pieces.data(), count) < 0) return false;
    memory_ = static_cast<char*>(base);
    memory_bytes_ = bytes;
    return true;
}

bool Ring::register_files(const std::vector<int>& descriptors) {
    const auto count = static_cast<int>(descriptors.size());
    if (!can_register_ || count == 0 || count > kMaxFiles) return false;
    if (system_.enroll(ring_, IORING_REGISTER_FILES, descriptors.data(), static_cast<unsigned>(count)) < 0)
        return false;
    std::copy(descriptors.begin(), descriptors.end(), descriptors_);
    files_ = count;
    return true;
}

void Ring::unregister() {
    if (memory_bytes_ > 0) (void)system_.enroll(ring_, IORING_UNREGISTER_BUFFERS, nullptr, 0);
    if (files_ > 0) (void)system_.enroll(ring_, IORING_UNREGISTER_FILES, nullptr, 0);
    memory_ = nullptr;
    memory_bytes_ = 0;
    files_ = 0;
}

#else

const RingSystem& kernel_rings() {
    static const RingSystem system{};
    return system;
}

Result<std::unique_ptr<Ring>> Ring::make(int, const RingSystem&) {
    return error(Code::unsupported, "this spanfft was built without <linux/io_uring.h>");
}
Ring::~Ring() = default;
void Ring::push(const Request&) {}
int Ring::enter(unsigned) { return -ENOSYS; }
bool Ring::take_back(unsigned&) { return false; }
bool Ring::pop(Outcome&) { return false; }
bool Ring::register_memory(void*, index_t) { return false; }
bool Ring::register_files(const std::vector<int>&) { return false; }
void Ring::unregister() {}

#endif

}  // namespace spanfft
