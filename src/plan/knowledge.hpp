// What is known before planning: the machine's figures, where the ranks are, and whether the problem was tuned.
//
// Method: only rank 0 reads the user's files; what it found goes to all ranks as text, so that all plan from the same
// numbers. Without stored figures the built-in ones serve; a tuned choice that can't be planned any more (an engine
// that has gone) is left aside with a note. Where plans are to be measured, engines get what they learnt before.
#pragma once

#include <optional>

#include "comm/comm.hpp"
#include "plan/planner.hpp"
#include "plan/tuning_store.hpp"

namespace spanfft {

struct Knowledge {
    Machine machine;
    TuningKey key;
    std::optional<Tuned> tuned;
    std::string note;  // what of the user's files could not be used; "": nothing
};

// Of one process, for work that is no problem's.
Machine known_machine();
// Collective. For a problem that all ranks have alike.
Result<Knowledge> gather_knowledge(Comm& comm, const Problem& problem);
// For ranks that are not there: figures of any MPI library. ranks_per_node 0: 128.
Knowledge imagined_knowledge(const Problem& problem, int ranks_per_node = 0);
// Says which nodes were assumed.
std::string nodes_note(const Topology& topology, int ranks);

// The tuned choice where there is one, else the planner's; notes say which figures and which record were used.
Result<std::unique_ptr<Plan>> plan_knowing(const Knowledge& knowledge, const Problem& problem);

}  // namespace spanfft
