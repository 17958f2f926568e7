// LoadedStore: an array of another type in a file (integers, halves, the other byte order), read as what is computed.
//
// Method: element e, at byte file_offset + e F of the file, is at offset + e C of this store, where F and C are the
// bytes of an element as it lies and as it is computed. A read of a run gets the elements from the file into the run's
// own memory and converts them there: where they become larger (F <= C) into its upper part, from which they spread
// forward, each to where those before it have been read; where they become smaller in pieces, each as large as what is
// left of the run's memory holds. So no memory is needed beside the run's but some KiB of the reading thread's stack,
// and nothing is read twice.
//     100 elements of 2 bytes as floats: read into bytes 200..399 of the run's 400; element 0 goes from 200 to 0..3,
//     element 50 from 300 to 200..203, which elements 0 and 1 have left.
// Requests go to the file as far past a boundary as direct I/O wants them (Run::slack), if they have a page or more.
// Invariant: counts are those of the file: a request a run, and the bytes that the file has of it. Runs begin and end
// with an element.
#pragma once

#include "disk/number_format.hpp"
#include "disk/store.hpp"

namespace spanfft {

class LoadedStore final : public Store {
  public:
    // An array of `elems` elements from byte file_offset_bytes of `file` on.
    LoadedStore(Store& file, index_t file_offset_bytes, const NumberFormat& format, ElemType computed, index_t elems);
    // Where the array begins here. That of the file, where elements are as large and lie as computed ones may: then
    // runs lie in memory as in the file, for direct I/O. Else 0.
    index_t offset_bytes() const { return offset_bytes_; }

    Status sync() override { return file_.sync(); }
    index_t size_bytes() const override { return offset_bytes_ + elems_ * computed_bytes_; }
    std::string describe() const override { return file_.describe(); }
    const char* why_called() const override { return "they convert what the file holds"; }  // a ring has one thread
    bool takes_many() const override { return true; }

  protected:
    Status do_read(const Run& run) override;
    Status do_write(const Run& run) override;

  private:
    Status widen(const Run& run, index_t first, index_t count);
    Status narrow(const Run& run, index_t first, index_t count);
    void spread(const char* from, index_t count, char* to) const;

    Store& file_;
    const index_t file_offset_bytes_, elems_;
    const NumberFormat format_;
    const ElemType computed_;
    const index_t file_bytes_, computed_bytes_;  // of an element
    const index_t offset_bytes_;
};

}  // namespace spanfft
