// What the steps on parallel disks share: a run's stores seen as disks, and the counts of whole sweeps.
#pragma once

#include "plan/pdm_step.hpp"

namespace spanfft {

const char* pdm_place_name(const PdmPlace& place);
Status check_pdm_context(const RunContext& context, const PdmPlace& source, const PdmPlace& target);
ParallelDisks pdm_disks(const PdmSpec& spec, const PdmPlace& place, const RunContext& context);
// Of `sweeps` that read and write every block; without flops.
Counts pdm_predicted(const PdmSpec& spec, index_t sweeps, const Machine& machine);
// Of one sweep by fresh ParallelDisks.
Counts pdm_counted(const ParallelDisks& source, const ParallelDisks& target);

}  // namespace spanfft
