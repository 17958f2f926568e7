// DisplacedStore: an array in a store, some way behind where it belongs, so that a sweep can overwrite it from its
// place on and yet lose nothing when it is killed.
//
// Method: a sweep that works in place reads panel p and writes it over itself; killed in between it leaves neither. If
// what it reads lies `shift` bytes behind what it writes, it overwrites panels that it has done long ago (and that are
// known to be on the disk, sweep_log.hpp). The array's rows of `row_bytes` stay where they are, each turned by `shift`:
// byte c of row r goes to byte c + shift of the row, and what falls out behind goes to an extra area behind the array,
// `shift` bytes a row. Rows are those of the panels' geometry; where panels follow each other in the file (slabs), or
// whole matrices do, the array is one row. What lies behind the array in the store moves back by the extra area.
//     4 panels a row, shift 1 panel:   written  |p0 p1 p2 p3|p0 p1 p2 p3|
//                                      read     |-- p0 p1 p2|-- p0 p1 p2|p3 p3|    writing p2 overwrites p1
//     One displacement over another (several sweeps in place): the lower one's array is the upper one's store.
//     Where ranks take the panels of an array by turns, the shift is whole turns, so that a rank overwrites what it has
//     done itself, whatever the others have done:
//     2 ranks, shift 1 turn    written  |p0 q0 p1 q1|p0 q0 p1 q1|
//                              read     |-- -- p0 q0|-- -- p0 q0|p1 q1 p1 q1|    writing p1 overwrites p0, q1 q0
// Invariant: bytes of this store and of the one below correspond one to one, but for `shift` bytes a row that no one
// has. With shifts and rows of whole kDirectBytes, alignment below is that above.
#pragma once

#include <algorithm>

#include "disk/store.hpp"

namespace spanfft {

struct Displacement {
    index_t begin_bytes = 0, total_bytes = 0;  // of the array in the store
    index_t row_bytes = 0, shift_bytes = 0;    // 0 <= shift <= row, total a multiple of row
    index_t extra_bytes() const { return row_bytes > 0 ? total_bytes / row_bytes * shift_bytes : 0; }
    struct Spot {
        index_t byte = 0, bytes = 0;  // below; and how many bytes on it stays together
    };
    Spot find(index_t byte) const;
};

class DisplacedStore : public Store {
  public:
    DisplacedStore(Store& below, const Displacement& displacement) : below_(below), displacement_(displacement) {}

    int disks() const override { return below_.disks(); }
    Store& disk(int index) override { return below_.disk(index); }
    bool next_piece(const Run& run, int index, index_t& from, Run& piece) const override;
    Status sync() override { return below_.sync(); }
    index_t size_bytes() const override { return below_.size_bytes() - displacement_.extra_bytes(); }
    std::string describe() const override { return below_.describe(); }

  protected:
    Status do_read(const Run& run) override { return transfer(IoKind::read, run); }
    Status do_write(const Run& run) override { return transfer(IoKind::write, run); }

  private:
    // What of the run stays together from byte `from` on, as a run of the store below.
    Run part_below(const Run& run, index_t from) const;
    Status transfer(IoKind kind, const Run& run);

    Store& below_;
    Displacement displacement_;
};

}  // namespace spanfft
