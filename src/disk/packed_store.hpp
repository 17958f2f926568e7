// Half spectra of n/2+1 complex numbers in files that hold n/2, as PRESTO's .fft files do.
//
// Method: X[0] and, for even n, X[n/2] are real. A packed file holds the real part of X[n/2] in place of the imaginary
// part of X[0]. An input is read through a PackedStore, which puts in the zeros and the last number. An output is
// written with all n/2+1 numbers, the last at the end; pack_spectrum() then puts it where it belongs, and whoever has
// the file cuts it off behind n/2.
// Invariant: all other bytes go through unchanged, directly where the file allows it. As nothing but the file holds the
// last number, and it stays there until the cut, a run that was killed can pack what an earlier one has written.
#pragma once

#include "disk/store.hpp"

namespace spanfft {

class PackedStore final : public Store {
  public:
    // For reading. The spectrum begins at offset_bytes of `inner`; n/2 complex numbers of elem_bytes are there.
    PackedStore(Store& inner, index_t offset_bytes, index_t packed_elems, index_t elem_bytes);
    Status load();  // gets X[n/2]
    Status sync() override { return inner_.sync(); }
    index_t size_bytes() const override { return offset_bytes_ + (packed_elems_ + 1) * elem_bytes_; }
    std::string describe() const override { return inner_.describe(); }

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
};

// Of a file with n/2+1 numbers from offset_bytes on: the real part of the last one into the first, and on the disk.
// Allowed again while the last one is there.
Status pack_spectrum(Store& file, index_t offset_bytes, index_t packed_elems, index_t elem_bytes);

}  // namespace spanfft
