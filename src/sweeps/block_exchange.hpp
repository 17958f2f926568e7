// BlockExchange: the rounds and takes in which ranks that sweep one array together hand parts of their tiles to one
// another. Who gets what: exchange_geometry.hpp.
//
// Method: one all-to-all a round, and with each panel that all read together one before its rounds. The rounds are P1's
// idea of communicating while memory is full, for a sweep of ours; tiles are what P2 sends as blocks of vectors. Before
// each of these the ranks agree that nobody has failed: a rank that fails says so in the round that it would have come
// to next, and all end.
// Invariant: every rank takes part in all rounds, or leave() is its last word.
#pragma once

#include <memory>
#include <vector>

#include "plan/step.hpp"
#include "sweeps/exchange_geometry.hpp"

namespace spanfft {

class BlockExchange {
  public:
    // Collective over all ranks. `spec`: this rank's (SweepSpec::of_rank).
    static Result<std::unique_ptr<BlockExchange>> make(const SweepSpec& spec, Binding& binding);

    const ExchangeGeometry& geometry() const { return geometry_; }
    void begin(char* memory, index_t first_step);  // a run; `memory`: SweepSpec::exchange_bytes() of it
    char* taken() const { return memory_; }        // the panel of the last take, row after row
    char* tile() const { return memory_ + geometry_.taken_bytes(); }  // into which the tile of a round is put
    char* received() const {                                          // of columns: what came, rank after rank
        return tile() + round_up(geometry_.tile_bytes(), 4096);
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
    explicit BlockExchange(const SweepSpec& spec) : spec_(spec), geometry_(spec_) {}
    Status meet();  // all ranks, none of which has failed
    Result<std::unique_ptr<Transfer>> make_take(Comm& comm, index_t panel) const;
    Result<std::unique_ptr<Transfer>> make_transfer(Comm& comm, index_t step, int call) const;
    index_t first_transfer(index_t step) const;

    bool in_last_panel(index_t panel) const;

    const SweepSpec spec_;
    const ExchangeGeometry geometry_;
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
