// BlockExchange: what ranks hand to one another while they sweep an array together: each transforms columns of its own,
// and keeps rows of the blocks of all, on disks that the others need not see.
//
// Method: a round is one compute step of all ranks: every rank has transformed a tile of its columns (or none, in the
// last round or two), into a buffer in which what a rank keeps lies together (disk/panels.hpp, BlockGrid). One
// all-to-all, and each rank has its part of as many tiles as there are ranks, which it writes. The rounds are P1's
// idea of communicating while memory is full, for a sweep of ours; tiles are what P2 sends as blocks of vectors.
//
// - Of columns that the next sweep reads as slabs a rank keeps rows; what it receives of a round is then put side by
//   side, so that its runs are as many panels wide as there are ranks.
// - Of sections (many_sweeps) a rank keeps columns: of each its panels of the next sweep, and those that mirror them.
// - Where ranks read a panel together (SweepSpec::reads_together), a take comes before the rounds of each panel: rows
// of
//   the panels of all for all rows of one's own, straight from where they were read.
//
// Before each of these the ranks agree that nobody has failed: a rank that fails says so in the round that it would
// have come to next, and all end. Invariant: every rank takes part in all rounds, or leave() is its last word.
//
// Worked: 12 columns, tiles of 2, 2 ranks with panels of 2 columns: in round 0 rank 0 has columns 0 and 1, rank 1
// columns 2 and 3; of 8 rows, rank 0 keeps rows 0 to 3 of all four and rank 1 the rest.
#pragma once

#include <memory>
#include <vector>

#include "plan/step.hpp"
#include "sweeps/sweep_step.hpp"

namespace spanfft {

// The tile of a rank in a round.
struct RoundTile {
    index_t matrix = 0, tile = 0;
    index_t columns = 0;  // 0: it has none
};
RoundTile round_tile(const SweepSpec& spec, index_t step, int rank);

// What a rank keeps of another's tile: bytes of the tile, and where in the keeper's scratch they are (of blocks).
struct KeptPart {
    index_t begin_bytes = 0, bytes = 0;
    index_t tile = 0;      // of the keeper's blocks
    index_t messages = 0;  // in which it is sent
};
KeptPart part_kept(const SweepSpec& spec, const RoundTile& tile, int rank);

// Of one rank in all rounds: messages, bytes in them, and calls.
Counts count_rounds(const SweepSpec& spec);

class BlockExchange {
  public:
    // Collective over all ranks. `spec`: this rank's (SweepSpec::of_rank).
    static Result<std::unique_ptr<BlockExchange>> make(const SweepSpec& spec, Binding& binding);

    void begin(char* memory, index_t first_step);                 // a run; `memory`: SweepSpec::exchange_bytes() of it
    char* taken() const { return memory_; }                       // the panel of the last take, row after row
    char* tile() const { return memory_ + spec_.taken_bytes(); }  // into which the tile of a round is put
    char* received() const {                                      // of columns: what came, rank after rank
        return tile() + round_up(spec_.exchanged_tile_bytes(), 4096);
    }
    // Collective: the panel that all ranks have read; `rows`: where this one's begin.
    Status take(index_t panel, const char* rows);
    // Collective: the round of this compute step, in order. The kept rows of every rank's tile are in `slot` then (of
    // columns in received()), one tile after the other. An error is that of all ranks.
    Status round(index_t step, char* slot);
    // After the last round, or where this rank could not go on: tells the others, if they don't know. Returns what all
    // ranks know.
    Status leave(const Status& why);
    Counts counted() const;  // of the last run

  private:
    explicit BlockExchange(const SweepSpec& spec) : spec_(spec) {}
    Status meet();  // all ranks, none of which has failed
    Result<std::unique_ptr<Transfer>> make_take(Comm& comm, index_t panel) const;
    Result<std::unique_ptr<Transfer>> make_transfer(Comm& comm, index_t step, int call) const;
    index_t first_transfer(index_t step) const;

    const SweepSpec spec_;
    GroupComm group_;
    char* memory_ = nullptr;
    // Of each tile step of a panel that is whole on all ranks, then of the last panel of a matrix.
    std::vector<std::unique_ptr<Transfer>> transfers_;
    std::vector<std::unique_ptr<Transfer>> takes_;  // likewise of a whole panel, and of the last
    Counts before_;
    index_t rounds_ = 0, rounds_done_ = 0;
    bool all_know_ = false;
};

}  // namespace spanfft
