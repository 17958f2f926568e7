// BlockExchange: what ranks that sweep one array together hand to one another, in rounds (rounds.hpp). Who gets what:
// exchange_geometry.hpp.
//
// Method: one all-to-all a round, and before the rounds of a panel that all read together one for each of its parts; in
// place one before and one after a panel is transformed. In small tiles one for each that is taken, and one for each
// that is handed on, both in two halves, so that another tile is transformed meanwhile. The rounds are P1's idea of
// communicating while memory is full, for a sweep of ours; tiles are what P2 sends as blocks of vectors. Invariant:
// every rank takes part in all rounds, or end() is its last word.
#pragma once

#include <array>
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
    // its store. `first_panel`: where all ranks begin.
    void begin(char* memory, index_t file_offset_bytes, index_t first_panel) {
        memory_ = memory;
        file_offset_bytes_ = file_offset_bytes;
        next_[kTakes] = next_[kTiles] = first_panel * spec_.tile_steps();
        rounds_.begin();
    }
    // The panel of the last take, or the tile of this step, row after row, then what mirrors it.
    char* taken(index_t step) const {
        return memory_ + (spec_.takes_ahead() ? step % 2 * geometry_.taken_tile_bytes() : 0);
    }
    char* tile(index_t step) const {  // into which the tile of a round is put
        return memory_ + geometry_.taken_bytes() + (ahead_ ? step % 2 * round_up(geometry_.tile_bytes(), 4096) : 0);
    }
    char* received() const {  // of columns, which are not handed on ahead: what came, rank after rank
        return tile(0) + round_up(geometry_.tile_bytes(), 4096);
    }
    using Rows = std::array<char*, 2>;  // where this rank's rows of a panel's groups begin
    // Collective: a part of the panel that all ranks have read.
    Status take(index_t panel, index_t part, const Rows& rows);
    // Collective, in two halves: the tile of this step out of the panel that all ranks have read.
    Status start_take(index_t step, const Rows& rows);
    Status finish_take() { return rounds_.finish(kTakes); }
    // Collective: what became of the panel that was taken, to where its rows were.
    Status give_back(index_t panel, const Rows& rows) {
        const Rounds::Move move{gives_[in_last_panel(panel) ? 1 : 0].get(), taken(0), rows[0]};
        return rounds_.round({&move, 1});
    }
    // Collective: the round of this compute step, in order. The kept rows of every rank's tile are in `slot` then (of
    // columns in received()), one tile after the other, each at landing_bytes(). In two halves where the next tile is
    // computed meanwhile.
    Status round(index_t step, char* slot);
    Status start_round(index_t step, char* slot);
    Status finish_round() { return rounds_.finish(kTiles); }
    index_t landing_bytes(index_t step, int rank) const {
        const index_t shift = geometry_.shifts() ? geometry_.shift_bytes(step, rank, file_offset_bytes_) : 0;
        return geometry_.place_bytes(rank) + shift;
    }
    // Collective: the end of the sweep, with how it was for this rank. `slots`: of the pipeline, before `memory`, into
    // which nothing is read, and of which nothing is written any more.
    Status end(const Status& mine, char* slots);
    Counts counted() const { return rounds_.counted(); }

  private:
    using Transfers = std::vector<std::unique_ptr<Transfer>>;
    enum Series { kTakes, kTiles };  // of rounds in two halves

    explicit BlockExchange(const SweepSpec& spec) : spec_(spec), geometry_(spec_) {}
    Result<std::unique_ptr<Transfer>> make_take(index_t panel, index_t part, index_t tile, int which,
                                                bool back = false) const;
    Result<std::unique_ptr<Transfer>> make_transfer(index_t step, int call) const;
    using Moves = std::array<Rounds::Move, 2>;  // of a round: one or both
    // Of part or tile i of a panel; of a compute step.
    Rounds::Moves moves_of_take(Moves& moves, index_t panel, index_t i, const Rows& rows, char* target) const;
    Rounds::Moves moves_of(Moves& moves, index_t step, char* slot) const;
    Status shift(index_t step);  // to where what comes in this round shall land
    // Else all of a round is done as it begins.
    Issue issue() const {
        return ahead_ && rounds_.comm().collectives_progress() ? Issue::nonblocking : Issue::blocking;
    }
    Status take_part(char* slots);  // of a rank that has failed
    bool in_last_panel(index_t panel) const {
        const index_t panels = spec_.walked().panels_per_matrix();
        return panel % panels == panels - 1;
    }

    const SweepSpec spec_;
    const ExchangeGeometry geometry_;
    const bool ahead_ = spec_.takes_ahead() || spec_.hands_on_ahead();
    Rounds rounds_;
    char* memory_ = nullptr;
    index_t file_offset_bytes_ = 0;
    index_t next_[2] = {0, 0};     // steps whose rounds in halves come next
    std::vector<index_t> shifts_;  // of what comes from each rank in a round; empty: there are none
    // Of each tile step of a panel that is whole on all ranks, then of the last panel of a matrix.
    Transfers transfers_;
    Transfers takes_;  // of each part or tile of a panel of each kind (taken_kinds)
    Transfers gives_;  // of a panel, likewise
};

}  // namespace spanfft
