// What a sweep does besides, in a plan whose sweeps run together (sweep_run.hpp): checksums and the journal's panels,
// added to a pipeline that is described.
#pragma once

#include <functional>

#include "core/threads.hpp"
#include "disk/pipeline.hpp"
#include "sweeps/sweep_run.hpp"

namespace spanfft {

// Checksums of what was read before it is used, and of what was made before it is written. A panel is `tiles` compute
// steps; `pipeline` and `sweep` outlive the run.
void sum_up(PipelineSpec& pipeline, const RunningSweep& sweep, index_t tiles, ThreadTeam& team);
// What the journal wants to know, and what it wants to be waited for.
void log_panels(PipelineSpec& pipeline, const RunningSweep& sweep, index_t tiles);
// Runs it from its log's beginning to its end; `sweep` may be nullptr.
Status run_logged(const RunningSweep* sweep, const std::function<Status()>& run);

}  // namespace spanfft
