// PackedStore: a half spectrum of n/2+1 complex numbers in a file that holds n/2, as PRESTO's .fft files do.
//
// Method: X[0] and, for even n, X[n/2] are real. A packed file holds the real part of X[n/2] in place of the imaginary
// part of X[0]. What is above sees all n/2+1 numbers: reads put in the zeros and the last number, writes keep the last
// number back, and finish() puts it where it belongs.
// Invariant: all other bytes go through unchanged, directly where the file allows it.
#pragma once

#include <atomic>

#include "disk/store.hpp"

namespace spanfft {

class PackedStore final : public Store {
  public:
    // The spectrum begins at offset_bytes of `inner`; n/2 complex numbers of elem_bytes are there.
    PackedStore(Store& inner, index_t offset_bytes, index_t packed_elems, index_t elem_bytes);
    Status sync() override { return inner_.sync(); }
    index_t size_bytes() const override { return offset_bytes_ + (packed_elems_ + 1) * elem_bytes_; }
    std::string describe() const override { return inner_.describe(); }

    Status load();    // for reading: gets X[n/2]
    Status finish();  // after everything was written

  protected:
    Status do_read(const Run& run) override;
    Status do_write(const Run& run) override;

  private:
    index_t last_offset_bytes() const { return offset_bytes_ + packed_elems_ * elem_bytes_; }
    // The part of a run in the file, and where in memory the first and the last number lie, or nullptr.
    struct Parts {
        Run in_file;
        char *first = nullptr, *last = nullptr;
    };
    Result<Parts> parts_of(const Run& run) const;

    Store& inner_;
    const index_t offset_bytes_, packed_elems_, elem_bytes_;
    char last_[32] = {};  // X[n/2], its imaginary part 0
    std::atomic<bool> have_last_{false};
};

}  // namespace spanfft
