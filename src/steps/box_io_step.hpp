// ReadBox and WriteBox: a rank's part of an array in a file, to or from a slot.
#pragma once

#include "plan/machine.hpp"
#include "plan/step.hpp"

namespace spanfft {

constexpr index_t kBoxRequestBytes = index_t{8} << 20;  // so that progress shows and a stop is heard

// Reads `state`'s part from the run's input store into `slot`, or writes it from `slot` to the output store, in runs of
// at most request_bytes. stored_bytes: of an element in the file, where it is not stored as it is in memory; else 0.
std::unique_ptr<Step> make_read_box_step(ArrayState state, Slot slot, const Machine& machine,
                                         index_t request_bytes = kBoxRequestBytes, index_t stored_bytes = 0);
std::unique_ptr<Step> make_write_box_step(ArrayState state, Slot slot, const Machine& machine,
                                          index_t request_bytes = kBoxRequestBytes, index_t stored_bytes = 0);

}  // namespace spanfft
