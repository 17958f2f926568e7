// Solver and Planner: how a Problem becomes a Plan.
//
// Method: every solver in the table (src/solvers/table.cpp) whose sort of problem it is is asked; it declines with a
// sentence or answers with a plan, for parts of which it may ask the planner again (child problems). The planner keeps
// the plan with the fewest predicted seconds and notes why the others lost. If all decline, their reasons are the
// error.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "plan/machine.hpp"
#include "plan/plan.hpp"

namespace spanfft {

class Planner;

struct Solver {
    const char* name;
    const char* source;  // the paper, or "spanfft"
    // Code::unsupported: declined, with the reason. Other codes end the planning (bad argument, memory).
    Result<std::unique_ptr<Plan>> (*solve)(const Problem& problem, const Planner& planner);
    Division layout = Division::block;  // asked only for problems with this layout
    // Whether a problem is of the sort that the solver is for; only then it is asked. Null: always.
    bool (*concerns)(const Problem& problem) = nullptr;
    bool takes_options = false;  // method=NAME:OPTIONS
    // Asked, unless by name, only where no other solver answers: what is predicted of it and of the others has not held
    // against measurements yet, so that by seconds worse plans would be chosen.
    bool last_resort = false;
    bool pads = false;  // takes problems whose spectrum keeps fewer modes than real space has points
};

const std::vector<Solver>& solver_table();

// Of a plan on disk, when its steps are there: whether memory holds checksums, and whether it can be journalled; both
// go into its notes.
void note_journal(Plan& plan);

class Planner {
  public:
    explicit Planner(Machine machine) : machine_(std::move(machine)) {}
    const Machine& machine() const { return machine_; }
    // For a solver's child problems too: the caller owns the plan and may take its steps.
    Result<std::unique_ptr<Plan>> plan(const Problem& problem) const;

    // While the planner looks for the smallest budget that works: a solver that declines says nothing of what it needs,
    // and one that can answers with any plan, the first that it finds.
    bool searches() const { return searches_; }

    // The same planner, that chooses from plans that hold no more than so many bytes on any rank.
    Planner within(index_t bytes) const {
        Planner planner = *this;
        planner.most_bytes_ = bytes;
        return planner;
    }

    // What a solver compared for a problem (by its text), for whoever asks next: a planner serves one planning.
    std::map<std::string, std::vector<Alternative>>& remembered() const { return remembered_; }

  private:
    struct Answers;
    // Asks one solver, if the problem is of its sort.
    void consider(const Solver& solver, const Problem& problem, Answers& answers) const;
    Result<std::unique_ptr<Plan>> ask(const Solver& solver, const Problem& problem) const;
    bool possible(const Problem& problem) const;
    Status with_smallest_memory(const Problem& problem, const Status& refusal) const;

    Machine machine_;
    bool searches_ = false;
    index_t most_bytes_ = 0;  // 0: no limit
    mutable std::map<std::string, std::vector<Alternative>> remembered_;
};

}  // namespace spanfft
