// What MKL needs beside FFTW's interface: its threads, its threading layer, room for its libraries, memory of zeros.
#pragma once

#include <string>

#include "core/status.hpp"

namespace spanfft {

// The calls beyond FFTW's; null where the library has none.
struct MklCalls {
    int (*set_local_threads)(int) = nullptr;  // answers with the previous value, 0 for "the global one"
    void (*version)(char*, int) = nullptr;
    int (*set_threading_layer)(int) = nullptr;
    void (*set_block_time)(int) = nullptr;  // of Intel's OpenMP, for the calling thread's team; milliseconds
};

// Sets MKL's thread count for the calling thread while it lives; without effect elsewhere. MKL takes the smaller
// of the plan's count and this one, and its default follows OMP_NUM_THREADS, so both have to be said.
class MklThreads {
  public:
    MklThreads(const MklCalls& mkl, int threads);
    ~MklThreads() {
        if (mkl_.set_local_threads) mkl_.set_local_threads(previous_);
    }
    MklThreads(const MklThreads&) = delete;
    MklThreads& operator=(const MklThreads&) = delete;

  private:
    const MklCalls& mkl_;
    int previous_ = 0;
};

// MKL ends the process where its libraries, which it opens when they are first needed, don't fit a limited address
// space (ulimit -v). Under a limit it is used only with room for all of them, which have to be opened at once then.
struct AddressSpace {
    bool limited = false;
    Status status;  // an error where there is too little of it
};
AddressSpace address_space_for_mkl(const std::string& engine, const std::string& path_variable);

// Finds the calls in the opened libmkl_rt of that path, chooses a threading layer that can be loaded, and has memory
// of zeros given to MKL from then on. Before any other call of MKL.
MklCalls prepare_mkl(void* handle, const std::string& path);

}  // namespace spanfft
