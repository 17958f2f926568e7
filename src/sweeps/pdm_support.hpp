// What the steps on parallel disks share: a run's arrays seen as disks, a sweep from disks to disks, and its counts.
#pragma once

#include "sweeps/pdm_step.hpp"
#include "sweeps/rounds.hpp"
#include "sweeps/sweep_run.hpp"
#include "sweeps/sweep_team.hpp"

namespace spanfft {

SweepOutline pdm_outline(const PdmSpec& spec, const PdmPlace& source, const PdmPlace& target, bool exchanges,
                         std::function<index_t(index_t block)> reads, std::function<index_t(index_t block)> writes);
// The time of messages that one rank sends.
double pdm_wire_seconds(const PdmSpec& spec, const Counts& sent, const Machine& machine);
// Of one rank, in one sweep that reads and writes every block; without flops, messages and what goes through memory.
Counts pdm_predicted(const PdmSpec& spec, const PdmPlace& source, const PdmPlace& target, const Machine& machine);

// A task on the disks of one rank.
class PdmTask : public Task {
  public:
    Counts counted() const override { return counts_; }

  protected:
    PdmTask(const PdmSpec& spec, int rank) : spec_(spec), rank_(rank) {}
    // Collective where there are several ranks. What is not, is done after what is, whatever failed here.
    Status join(Binding& binding, const std::function<Status()>& make_transfers);
    // One sweep: `body` does it, unless an earlier run has. Adds to counts_ what disks and rounds did.
    using Body = std::function<Status(ParallelDisks& source, ParallelDisks& target, const SweepMeans& means)>;
    Status sweep(const PdmPlace& from, const PdmPlace& to, RunContext& context, const RunningSweep& running,
                 const Body& body);

    const PdmSpec spec_;
    const int rank_;
    std::shared_ptr<SweepTeam> team_;
    Rounds rounds_;
    Counts counts_;

  private:
    ParallelDisks disks(const StoredArray& array, const PdmPlace& place) const;
    SweepMeans means(RunContext& context, const RunningSweep& running) const;
};

}  // namespace spanfft
