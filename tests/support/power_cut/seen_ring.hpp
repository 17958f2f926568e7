// SeenRing: what an io_uring of the program is asked to write, and whether that has been done.
//
// Method: the kernel's two arrays of a ring (requests, outcomes) are mapped a second time, so that both are read where
// the program writes and the kernel answers; nothing is changed. Registered files are told by what the program
// registered. Invariant: looked at by the thread that enters the ring, as only then are requests complete.
// Source: io_uring(7), io_uring_enter(2), <linux/io_uring.h>.
#pragma once

#include <sys/syscall.h>

#if defined(__NR_io_uring_setup) && __has_include(<linux/io_uring.h>)
#include <linux/io_uring.h>
#define SPANFFT_SEES_RINGS 1

#include <cstdint>
#include <vector>

namespace spanfft::test {

class SeenRing {
  public:
    struct Write {
        long number = 0;  // among the requests that are handed over with it
        std::uint64_t tag = 0;
        int descriptor = -1;
        const void* data = nullptr;
        std::int64_t at = 0;
        int done = -1;  // bytes
    };

    SeenRing(int ring, const io_uring_params& parameters);  // aborts where it can't be mapped
    ~SeenRing();
    SeenRing(const SeenRing&) = delete;
    SeenRing& operator=(const SeenRing&) = delete;

    void registered(const int* descriptors, unsigned count) { files_.assign(descriptors, descriptors + count); }
    // Of the next `count` requests.
    std::vector<Write> writes(unsigned count) const;
    unsigned outcomes() const;       // so far, of all requests
    unsigned outcomes_left() const;  // that the program has not taken
    // Fills in what was done of those whose outcome came after the first `before`; how many of them have none.
    unsigned look(std::vector<Write>& writes, unsigned before) const;

  private:
    struct Map {
        char* address = nullptr;
        std::size_t bytes = 0;
        const unsigned* at(unsigned offset) const { return reinterpret_cast<const unsigned*>(address + offset); }
    };
    io_uring_params parameters_;
    Map requests_, outcomes_, entries_;
    std::vector<int> files_;
};

}  // namespace spanfft::test

#endif
