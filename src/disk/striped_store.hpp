// StripedStore: one Store on D others, a disk each ideally: P1's parallel disk system, addressed by bytes.
//
// Method: as in P1 (section 2, figure 3), byte x lies in block b = x / B, at offset x mod B of it, and block b in
// stripe s = b / D, which is where it lies on its disk. Within its stripe block b is on disk (b + turn(s)) mod D, where
// turn(s) is s (sqrt(2) - 1), rounded down. P1 has no turn (`turns` false), which keeps steps of whole stripes on one
// disk: the blocks that a sweep reads together lie a power of two apart and would all come from one disk of 2^j. With
// the turn they come from all disks alike, and so for nearly every step (tests/unit/striped_store_test.cpp).
//     D = 3, B = 4      disk 0     disk 1     disk 2          Byte 41: block 10, offset 1, stripe 3, turn(3) = 1, so
//     stripe 0          0..3       4..7       8..11           disk (10 + 1) mod 3 = 2, where it is byte 3*4 + 1.
//     stripe 1          12..15     16..19     20..23          Steps of 3 blocks begin on disks 0, 0, 0, 1, 1, 2, 2, 2,
//     0. stripe 2          24..27     28..31     32..35 stripe 3          44..47     36..39     40..43
// Invariant: a run of consecutive stripes is consecutive on every disk, and all of a store's bytes are on exactly one.
// Alignment: with B a multiple of kDirectBytes a piece lies as far past a block boundary in its file as the run in the
// store, so direct I/O and slack work as on one file; with other B the pieces have no slack.
// Source: P1, section 2; J. S. Vitter, E. A. M. Shriver (1994).
#pragma once

#include <memory>
#include <vector>

#include "disk/store.hpp"

namespace spanfft {

// Where a byte of a striped store lies.
struct StripeGeometry {
    int disks = 1;
    index_t block_bytes = 1;
    bool turns = true;  // false: P1's layout to the letter, for who places blocks with care

    struct Place {
        index_t stripe = 0;
        int disk = 0;
        index_t offset_bytes = 0;  // in its block
    };
    Place place(index_t byte) const;
    index_t turn(index_t stripe) const;                     // 0 to disks - 1
    index_t block_on(index_t stripe, int disk) const;       // which block of the store this one is
    index_t bytes_on(int disk, index_t total_bytes) const;  // that a store of total_bytes needs there
};

class StripedStore : public Store {
  public:
    // disks: at least 1, at most kMaxDisks, each with geometry.bytes_on() bytes.
    StripedStore(std::vector<std::unique_ptr<Store>> disks, index_t block_bytes, index_t size_bytes, bool turns = true);

    int disks() const override { return geometry_.disks; }
    Store& disk(int index) override { return *disks_[static_cast<size_t>(index)]; }
    bool next_piece(const Run& run, int index, index_t& from, Run& piece) const override;
    Status sync() override;
    index_t size_bytes() const override { return size_bytes_; }
    std::string describe() const override;
    const StripeGeometry& geometry() const { return geometry_; }

  protected:
    Status do_read(const Run& run) override { return transfer(IoKind::read, run); }
    Status do_write(const Run& run) override { return transfer(IoKind::write, run); }

  private:
    Status transfer(IoKind kind, const Run& run);

    std::vector<std::unique_ptr<Store>> disks_;
    StripeGeometry geometry_;
    index_t size_bytes_ = 0;
};

}  // namespace spanfft
