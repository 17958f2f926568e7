// Running a sweep's pipeline with what its plan wants besides (sweep_run.hpp): checksums, the journal's panels,
// progress and trace.
#pragma once

#include <functional>

#include "disk/pipeline.hpp"
#include "sweeps/sweep_run.hpp"
#include "sweeps/sweep_team.hpp"

namespace spanfft {

// Adds to a pipeline that is described what is the same for all: who touches its memory, traces it and is told how far
// it is; checksums of what was read before it is used, and of what was made before it is written; what the journal
// wants to know, and what it wants to be waited for. A panel is `tiles` compute steps; all of them outlive the run.
void watch_panels(PipelineSpec& pipeline, const RunningSweep& sweep, index_t tiles, RunContext& context,
                  SweepTeam& team);
// Runs it from its log's beginning to its end.
Status run_logged(const RunningSweep& sweep, const std::function<Status()>& run);
// A whole sweep between its stores, from its first panel that is not done. Returns what it moved.
Result<Counts> run_panels(PipelineSpec& pipeline, index_t tiles, RunContext& context, SweepTeam& team);

}  // namespace spanfft
