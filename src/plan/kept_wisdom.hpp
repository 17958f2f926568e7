// What engines learnt by measuring plans, kept for later processes in a file beside the tuning store.
//
// Method: rank 0 reads the file before plans are measured, and all ranks' engines learn what is theirs. When a plan is
// bound, rank 0 adds to the file what its engines learnt meanwhile: it reads, merges and renames under a lock.
// Invariant: a plan never fails for want of the file; what was wrong with it is said in a note.
#pragma once

#include <string>

#include "core/status.hpp"

namespace spanfft {

std::string wisdom_path();  // "": there is no folder for it

// What the file has, for rank 0 to hand on, and what was wrong with it ("": nothing).
struct StoredWisdom {
    std::string text, note;
};
StoredWisdom read_wisdom();
// Gives the engines of this process what is theirs; the answer says what they refused ("": nothing).
std::string learn_wisdom(const std::string& text);
// Adds to the file what engines of this process learnt since the last call; touches no file if they learnt nothing.
Status keep_wisdom();
// Empties the file; one of another format is left alone. What engines of running processes know they still know.
Status forget_wisdom();

}  // namespace spanfft
