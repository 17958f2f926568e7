// What the steps on parallel disks share: a run's stores seen as disks, and the counts of whole sweeps.
#pragma once

#include "sweeps/pdm_step.hpp"
#include "sweeps/sweep_run.hpp"

namespace spanfft {

Status check_pdm_context(const RunContext& context, const PdmPlace& source, const PdmPlace& target);
// The disks of one rank.
ParallelDisks pdm_disks(const PdmSpec& spec, const PdmPlace& place, const RunContext& context, int rank);
SweepOutline pdm_outline(const PdmSpec& spec, const PdmPlace& source, const PdmPlace& target, bool exchanges,
                         std::function<index_t(index_t block)> reads, std::function<index_t(index_t block)> writes);
// Where a sweep begins, and from which load on it writes: on ranks an earlier one where others need it.
index_t first_load(const RunningSweep* sweep);
index_t first_written(const RunningSweep* sweep);
// The time of messages that one rank sends.
double pdm_wire_seconds(const PdmSpec& spec, const Counts& sent, const Machine& machine);
// Sums and journal of such a sweep, for DiskSweep::dress; nothing where `sweep` is nullptr.
std::function<void(PipelineSpec&)> pdm_dress(const RunningSweep* sweep, ThreadTeam& team);
// Of one rank, in one sweep that reads and writes every block; without flops, messages and what goes through memory.
Counts pdm_predicted(const PdmSpec& spec, const PdmPlace& source, const PdmPlace& target, const Machine& machine);
// Of one sweep by fresh ParallelDisks: of disks alone.
Counts pdm_counted(const ParallelDisks& source, const ParallelDisks& target);

}  // namespace spanfft
