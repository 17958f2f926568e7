// Ring: one io_uring of the kernel, through its three system calls and <linux/io_uring.h>.
//
// Method: two arrays shared with the kernel: requests that we append, results that it appends. push() writes a request,
// enter() hands over what was pushed and can wait, pop() takes a result. Memory and descriptors that are used over and
// over can be registered, which spares the kernel from pinning pages and looking up files for each request.
// Invariant: allocates when made only. One thread pushes, enters and pops; memory and files may be registered by
// another while no request is under way. Never more requests are under way than the depth asked for, so results cannot
// overflow. Source: io_uring(7), io_uring_enter(2); Linux 5.6 for what is asked for, 5.13 for registering; docs/adr on
// io_uring.
#pragma once

#include <memory>
#include <vector>

#include "core/extents.hpp"
#include "core/status.hpp"

namespace spanfft {

// The system calls, so that tests can refuse them and change what they report. Each returns -errno on failure.
struct RingSystem {
    int (*setup)(unsigned entries, void* parameters);
    int (*enter)(int ring, unsigned submit, unsigned wait_for, unsigned flags);
    int (*enroll)(int ring, unsigned what, const void* argument, unsigned count);
    index_t (*outcome)(index_t result, index_t bytes) = nullptr;  // of a transfer of `bytes`; nullptr: as it is
};
const RingSystem& kernel_rings();

class Ring {
  public:
    struct Request {
        bool write = false;
        int descriptor = -1;
        void* data = nullptr;
        index_t bytes = 0, offset_bytes = 0;
        unsigned tag = 0;        // comes back with the result
        bool registered = true;  // use what was registered where it fits
    };
    struct Outcome {
        unsigned tag = 0;
        index_t result = 0;  // bytes, or -errno
    };

    // Fails with Code::unsupported and the kernel's reason.
    static Result<std::unique_ptr<Ring>> make(int depth, const RingSystem& system);
    ~Ring();
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    void push(const Request& request);  // at most `depth` between two enters, and as many under way
    // Hands over what was pushed; returns when at least wait_for results are there, or a signal came. -errno: nothing
    // of it was handed over that take_back() does not give back.
    int enter(unsigned wait_for);
    bool take_back(unsigned& tag);  // a request that was pushed and that the kernel has not seen, last first
    bool pop(Outcome& outcome);

    index_t seen(index_t result, index_t bytes) const {
        return system_.outcome ? system_.outcome(result, bytes) : result;
    }

    // Memory that requests will use again and again, and descriptors; false: the kernel refuses, which costs speed
    // only.
    bool register_memory(void* base, index_t bytes);
    bool register_files(const std::vector<int>& descriptors);
    void unregister();
    bool has_memory() const { return memory_bytes_ > 0; }
    bool has_files() const { return files_ > 0; }

  private:
    struct Map {
        void* address = nullptr;
        size_t bytes = 0;
    };
    static constexpr int kMaxFiles = 64;

    explicit Ring(const RingSystem& system) : system_(system) {}
    Status map(const void* parameters);
    void use_registered(const Request& request, index_t bytes, void* entry) const;

    const RingSystem& system_;
    int ring_ = -1;
    Map requests_map_, outcomes_map_, entries_map_;
    unsigned *request_head_ = nullptr, *request_tail_ = nullptr, *outcome_head_ = nullptr, *outcome_tail_ = nullptr;
    unsigned request_mask_ = 0, outcome_mask_ = 0;
    void* entries_ = nullptr;
    void* outcomes_ = nullptr;
    unsigned pushed_ = 0;
    bool can_register_ = false;
    char* memory_ = nullptr;
    index_t memory_bytes_ = 0;
    int descriptors_[kMaxFiles] = {};
    int files_ = 0;
};

}  // namespace spanfft
