// ReadBox and WriteBox: a rank's part of an array in a file, to or from a slot.
#pragma once

#include "plan/machine.hpp"
#include "plan/step.hpp"

namespace spanfft {

// Reads `state`'s part from the run's input store into `slot`, or writes it from `slot` to the output store.
std::unique_ptr<Step> make_read_box_step(ArrayState state, Slot slot, const Machine& machine);
std::unique_ptr<Step> make_write_box_step(ArrayState state, Slot slot, const Machine& machine);

}  // namespace spanfft
