// fftw_malloc's memory, whose pages a plan can replace by pages that the ranks of a node share.
//
// Method: fftw_malloc is not collective, so its pages are at first this rank's own. A plan whose output such memory is
// lets spanfft own the output, which on one node is a file in memory that all ranks have mapped. mremap(2) with an old
// size of 0 maps the pages of a shared mapping once more: at the client's address, where the client goes on to find
// what it had put there. So the ranks write into the client's array directly, and a copy is saved.
// Invariant: an allocation is the array of one plan at most. What the client frees lives on as long as that plan, so
// that its address is nobody else's.
#pragma once
#include <atomic>
#include <cstddef>
#include <memory>

namespace fftw3_mpi {

struct Allocation {
    Allocation(void* address, std::size_t length) : start(address), bytes(length) {}
    Allocation(const Allocation&) = delete;
    Allocation& operator=(const Allocation&) = delete;
    ~Allocation();

    // Puts the pages of `array` here, with the contents of the client's. False where they are no shared mapping.
    bool adopt(void* array, std::size_t array_bytes);
    // Gives the client pages of its own again, with the same contents. False where the system has no room.
    bool leave();

    void* const start;
    const std::size_t bytes;
    std::atomic<bool> taken = false;  // it is the array of a plan

  private:
    std::size_t adopted_bytes_ = 0;
};

// NULL for little memory, of which nobody would notice that it is shared, and where the system has no room.
void* allocate(std::size_t bytes);
// False for memory that is not from here.
bool release(void* start);
// The allocation that begins there, or NULL.
std::shared_ptr<Allocation> allocation_at(const void* start);

}  // namespace fftw3_mpi
