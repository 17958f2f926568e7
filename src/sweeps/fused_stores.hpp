// The Stores through which blocks pass when work is fused into a transform of a file (block_work.hpp).
//
// Method: to the sweeps they are the file as if nothing were done: an array of the type that is computed, at the same
// byte of the file. A read that ends there has had its work done; a write does it, and hands on as many elements as
// they are stored, at their place. So every solver and every kind of sweep can have it, and what they plan and count
// differs in bytes written alone.
// A chunked array on its way into a file (staging.hpp) has its work done then, and is read from there as it is: so what
// is summed up and kept is what sweeps use, and no element is given to a callback twice. One on its way out of a file
// has it done box by box; the file holds what was computed.
// Invariant: counts are those of the file: a write counts what it stored. A run begins and ends with an element.
#pragma once

#include "disk/array_store.hpp"
#include "plan/block_work.hpp"

namespace spanfft {

// What both ways share: an array that begins at byte offset_bytes of `file`.
class FusedStore : public Store {
  public:
    Status sync() override { return file_.sync(); }
    index_t size_bytes() const override { return file_.size_bytes(); }
    std::string describe() const override { return file_.describe(); }
    const char* why_called() const override { return "they work on the blocks too"; }  // a ring has one thread

  protected:
    FusedStore(Store& file, index_t offset_bytes, BlockWork& work)
        : file_(file), offset_bytes_(offset_bytes), work_(work) {}

    Store& file_;
    const index_t offset_bytes_;
    BlockWork& work_;
};

class FusedReads final : public FusedStore {
  public:
    FusedReads(Store& file, index_t offset_bytes, BlockWork& work) : FusedStore(file, offset_bytes, work) {}

  protected:
    Status do_read(const Run& run) override;
    Status do_write(const Run& run) override;
};

// Boxes of a chunked array, whose runs in C order have their work done. `boxes` are those of the elements that are read
// or computed; an array that is written has as many of the stored ones.
class FusedBoxes final : public FusedStore {
  public:
    FusedBoxes(Store& array, ArrayBoxes boxes, BlockWork& work)
        : FusedStore(array, 0, work), boxes_(std::move(boxes)) {}

  protected:
    Status do_read(const Run& run) override;
    Status do_write(const Run& run) override;

  private:
    const ArrayBoxes boxes_;
};

class FusedWrites final : public FusedStore {
  public:
    // Of `elems` elements.
    FusedWrites(Store& file, index_t offset_bytes, index_t elems, BlockWork& work)
        : FusedStore(file, offset_bytes, work), elems_(elems) {}
    index_t size_bytes() const override { return offset_bytes_ + elems_ * work_.computed_bytes(); }

  protected:
    Status do_read(const Run& run) override;
    Status do_write(const Run& run) override;

  private:
    const index_t elems_;
};

}  // namespace spanfft
