// Step probe: what the steps of plans in memory take beside the engines that they run.
//
// Method: steps are priced by the rates of engines, memory and wires, each measured by itself. A step of several ranks
// also gathers lines into tiles, makes twiddle factors, waits for the others and brings in what no cache holds any
// more. So whole plans of arrays from a few KiB to many MiB a rank are run: one axis, two and three, complex and real,
// float and double, of lengths that are products of 2, 3, 5 and 7. Of each step the lower quartile of all
// rounds counts; of each sort of step the median of measured beside predicted is kept at each size, and multiplies
// predictions from then on (Machine::slowness). As plans are chosen by
// predictions, later rounds have the plans that the earlier ones' figures lead to; a sort of step that no plan had is
// taken to be as slow as the others of its size, or it would be chosen for that.
// Invariant: all ranks get the same figures.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "plan/machine.hpp"

namespace spanfft {

using Slowness = std::map<std::string, std::vector<SlownessPoint>>;

// Collective. By `machine`, whose own figures of this sort do not count; all sizes by turns, until
// time_is_left (collective too) says no.
Result<Slowness> probe_steps(Comm& comm, Machine machine, const std::function<Result<bool>()>& time_is_left);

}  // namespace spanfft
