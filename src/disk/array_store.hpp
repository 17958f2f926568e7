// ArrayStore: an array that somebody else keeps (HDF5, Zarr, a program's own format), read and written box by box
// through a function of the caller's.
//
// Method: the array is cut into boxes of whole chunks; ArrayBoxes numbers them in C order. As a Store, its bytes are
// those of the boxes one after the other, each packed in C order. Where boxes are whole along all axes but the first,
// that is the array's own order. A request is one box, so that each chunk is decoded, or encoded, once a sweep.
// Worked: 5 x 7 elements in boxes of 2 x 3: box 1 is rows 0-1, columns 3-5, and begins at element 6; box 2 is columns
// 6 alone, 2 elements, at 12; box 3 begins at 14; the last one, box 8, is one element, at 34.
// Invariant: the function is called by one thread at a time.
#pragma once

#include <array>
#include <functional>
#include <mutex>

#include "disk/store.hpp"

namespace spanfft {

using BoxExtents = std::array<index_t, kMaxNdim>;
// Moves the box `first`, `extent` (an entry an axis) from the array to data, or the other way.
using BoxTransfer = std::function<Status(const index_t* first, const index_t* extent, void* data)>;

struct ArrayBoxes {
    Extents shape, box;  // box: no longer than shape along any axis
    index_t elem_bytes = 1;

    struct Box {
        BoxExtents first{}, extent{};
        index_t offset_bytes = 0;  // in the order of boxes
        index_t bytes = 0;
    };
    index_t count() const;
    Box at(index_t index) const;
    Box at_offset(index_t offset_bytes) const;  // that holds this byte
    index_t bytes() const { return product(shape) * elem_bytes; }
    index_t most_bytes() const { return product(box) * elem_bytes; }  // of a box

    // The same box where the whole array lies in C order: so many runs, and where the i-th of them begins.
    index_t flat_run_bytes(const Box& one) const;
    index_t flat_runs(const Box& one) const { return one.bytes / flat_run_bytes(one); }
    index_t flat_offset_bytes(const Box& one, index_t i) const;
};

class ArrayStore final : public Store {
  public:
    ArrayStore(ArrayBoxes boxes, std::string name, BoxTransfer read, BoxTransfer write)
        : boxes_(std::move(boxes)), name_(std::move(name)), read_(std::move(read)), write_(std::move(write)) {}
    Status sync() override { return {}; }
    index_t size_bytes() const override { return boxes_.bytes(); }
    std::string describe() const override { return name_; }
    const ArrayBoxes& boxes() const { return boxes_; }

  protected:
    Status do_read(const Run& run) override { return transfer(read_, run, "read"); }
    Status do_write(const Run& run) override { return transfer(write_, run, "write"); }

  private:
    Status transfer(const BoxTransfer& move, const Run& run, const char* what);

    ArrayBoxes boxes_;
    std::string name_;
    BoxTransfer read_, write_;
    std::mutex mutex_;
};

}  // namespace spanfft
