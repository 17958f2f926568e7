// Rounds: in which all ranks that sweep an array together move data among them, one after the other.
//
// Method: before each round the ranks agree that nobody has failed: a rank that fails says so in the round that it
// would have come to next, and all end. After the last round of a sweep they agree once more, when what each has
// written is where it belongs: none begins the next sweep, which may overwrite what this one read, before all have
// ended this one. One process has none, and its end is its own.
// Invariant: every rank takes part in as many rounds, or end() is its last word; all ranks end with one status.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plan/step.hpp"

namespace spanfft {

class Rounds {
  public:
    // Collective over ranks 0 to ranks-1, which are all.
    static Result<Rounds> make(int ranks, Binding& binding);
    static std::vector<int> everyone(int ranks);  // Step::group; none of one process

    Comm& comm() const { return *group_.comm; }
    void begin();  // a sweep
    // Collective: the next round, of one or several transfers. An error is that of all ranks, or this rank's own, which
    // end() makes all ranks'.
    Status round(std::span<const std::unique_ptr<Transfer>> transfers, const void* source, void* target);
    // Collective: the end of the sweep, wherever this rank could not go on. Returns what all ranks know.
    Status end(const Status& mine);
    Counts counted() const;  // messages, bytes and calls of the sweep's rounds

  private:
    GroupComm group_;  // none: one process
    Counts before_;
    bool all_know_ = false;
};

}  // namespace spanfft
