// BlockExchange: what ranks that sweep one array together hand to one another, in rounds (rounds.hpp). Who gets what:
// exchange_geometry.hpp.
//
// Method: one all-to-all a round, and before the rounds of a panel that all read together one for each of its parts; in
// place one before and one after a panel is transformed.
// The rounds are P1's idea of communicating while memory is full, for a sweep of ours; tiles are what P2 sends as
// blocks of vectors. Invariant: every rank takes part in all rounds, or end() is its last word.
#pragma once

#include <memory>
#include <vector>

#include "sweeps/exchange_geometry.hpp"
#include "sweeps/rounds.hpp"

namespace spanfft {

class BlockExchange {
  public:
    // Collective over all ranks. `spec`: this rank's (SweepSpec::of_rank).
    static Result<std::unique_ptr<BlockExchange>> make(const SweepSpec& spec, Binding& binding);

    const ExchangeGeometry& geometry() const { return geometry_; }
    // A run. `memory`: SweepSpec::exchange_bytes() of it; what is kept is written to an array that begins so far into
    // its store.
    void begin(char* memory, index_t file_offset_bytes) {
        memory_ = memory;
        file_offset_bytes_ = file_offset_bytes;
        rounds_.begin();
    }
    char* taken() const { return memory_; }                           // the panel of the last take, row after row
    char* tile() const { return memory_ + geometry_.taken_bytes(); }  // into which the tile of a round is put
    char* received() const {                                          // of columns: what came, rank after rank
        return tile() + round_up(geometry_.tile_bytes(), 4096);
    }
    // Collective: a part of the panel that all ranks have read; `rows`: where this one's rows of the panel begin.
    Status take(index_t panel, index_t part, const char* rows) {
        const index_t i = part + (in_last_panel(panel) ? geometry_.parts() : 0);
        return rounds_.round({&takes_[static_cast<size_t>(i)], 1}, rows, taken());
    }
    // Collective: what became of the panel that was taken, to where its rows were.
    Status give_back(index_t panel, char* rows) {
        return rounds_.round({&gives_[in_last_panel(panel) ? 1 : 0], 1}, taken(), rows);
    }
    // Collective: the round of this compute step, in order. The kept rows of every rank's tile are in `slot` then (of
    // columns in received()), one tile after the other, each at landing_bytes().
    Status round(index_t step, char* slot);
    index_t landing_bytes(index_t step, int rank) const {
        const index_t shift = geometry_.shifts() ? geometry_.shift_bytes(step, rank, file_offset_bytes_) : 0;
        return geometry_.place_bytes(rank) + shift;
    }
    Status end(const Status& mine) { return rounds_.end(mine); }
    Counts counted() const { return rounds_.counted(); }

  private:
    using Transfers = std::vector<std::unique_ptr<Transfer>>;

    explicit BlockExchange(const SweepSpec& spec) : spec_(spec), geometry_(spec_) {}
    Status add(Transfers& transfers, Result<std::unique_ptr<Transfer>> made);
    Result<std::unique_ptr<Transfer>> make_take(index_t panel, index_t part, bool back = false) const;
    Result<std::unique_ptr<Transfer>> make_transfer(index_t step, int call) const;
    bool in_last_panel(index_t panel) const {
        const index_t panels = spec_.walked().panels_per_matrix();
        return panel % panels == panels - 1;
    }

    const SweepSpec spec_;
    const ExchangeGeometry geometry_;
    Rounds rounds_;
    char* memory_ = nullptr;
    index_t file_offset_bytes_ = 0;
    std::vector<index_t> shifts_;  // of what comes from each rank in a round; empty: there are none
    // Of each tile step of a panel that is whole on all ranks, then of the last panel of a matrix.
    Transfers transfers_;
    Transfers takes_;  // of each part of a panel, likewise
    Transfers gives_;  // of a panel, likewise
};

}  // namespace spanfft
