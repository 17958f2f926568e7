// What the steps on parallel disks share: a run's arrays seen as disks, a sweep from disks to disks, and its counts.
#pragma once

#include "sweeps/pdm_step.hpp"
#include "sweeps/rounds.hpp"
#include "sweeps/sweep_run.hpp"
#include "sweeps/sweep_team.hpp"

namespace spanfft {

SweepOutline pdm_outline(const PdmSpec& spec, const PdmPlace& source, const PdmPlace& target, bool exchanges,
                         std::function<index_t(index_t block)> reads, std::function<index_t(index_t block)> writes);
// Of one rank, in one sweep that reads and writes every block; the disk's counts only, and no time.
Counts pdm_predicted(const PdmSpec& spec);
// The time of messages that one rank sends.
double pdm_wire_seconds(const PdmSpec& spec, const Counts& sent, const Machine& machine);
// What a rank's threads do with the memoryloads of a sweep.
struct PdmWork {
    double seconds = 0;        // of engines, and of messages
    index_t moved_bytes = 0;   // through memory, beside what engines move
    index_t factors_made = 0;  // twiddle factors
};
// The time of a sweep: disks and threads work at once in asynchronous mode, else one after the other.
double pdm_seconds(const PdmSpec& spec, const PdmPlace& source, const PdmPlace& target, const PdmWork& work,
                   const Machine& machine);

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
