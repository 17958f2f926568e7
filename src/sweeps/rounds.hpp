// Rounds: in which all ranks that sweep an array together move data among them, one after the other.
//
// Method: a rank that fails must not leave the others waiting. Where a round is one call, the ranks agree before it
// that nobody has failed: who has says so in the round that it would have come to next, and all end. Where a round is
// in two halves, so that something else is done meanwhile, each rank's word goes along with its data: who has failed
// takes part once more, with whatever its memory holds, and all end when the round does. After the last round of a
// sweep all agree once more, when what each has written is where it belongs: none begins the next sweep, which may
// overwrite what this one read, before all have ended this one. One process has none, and its end is its own.
// Invariant: every rank takes part in as many rounds, or all know why not; all ranks end with one status, and nothing
// of a round in which a rank has failed is used.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plan/step.hpp"

namespace spanfft {

class Rounds {
  public:
    struct Move {
        Transfer* transfer = nullptr;
        const void* source = nullptr;
        void* target = nullptr;
    };
    using Moves = std::span<const Move>;  // of a round

    // Collective over ranks 0 to ranks-1, which are all.
    static Result<Rounds> make(int ranks, Binding& binding, bool in_halves = false);
    static std::vector<int> everyone(int ranks);  // Step::group; none of one process

    Comm& comm() const { return *group_.comm; }
    void begin();  // a sweep
    // Collective: the next round. An error is that of all ranks, or this rank's own, which end() makes all ranks'.
    Status round(Moves moves);
    // Collective: a round in two halves, of one of two series, of each of which one may be under way, and between which
    // may be rounds that are not. Where none is under way, finish() does nothing.
    Status start(int series, Moves moves);
    Status finish(int series);
    // This rank has failed, which all learn in the rounds that it starts from now on.
    void fail(const Status& mine) { mine_ = mine; }
    bool all_know() const { return all_know_; }  // that one has failed
    // Collective: the end of the sweep, wherever this rank could not go on. Returns what all ranks know. A rank that
    // has failed before others start() a round must have told them there.
    Status end(const Status& mine);
    Counts counted() const;  // messages, bytes and calls of the sweep's rounds

  private:
    struct Series {
        std::unique_ptr<Transfer> words;  // of all ranks: a code of each
        std::vector<int> codes;
        int code = 0;
        std::vector<Transfer*> started;
        bool under_way = false;
    };

    GroupComm group_;  // none: one process
    Series series_[2];
    Status mine_;
    bool all_know_ = false;
    Counts before_;
};

}  // namespace spanfft
