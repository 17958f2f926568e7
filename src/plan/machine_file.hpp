// A Machine as text, and the figures that the probe stored for this user.
//
// Method: a line a figure, `name value`; curves as `exchange STRATEGY near|far ...`, engines as `engine ...`. What a
// file leaves out keeps its built-in value; a line of an unknown name is skipped, so that files outlive versions. A
// file of an imagined machine has a data sheet (data_sheet.hpp): there no line may be unknown, `#` begins a comment or
// a figure's source, and what is left out follows from the sheet. Stored figures lie in one file for each machine, MPI
// library, number of ranks and of nodes; a later probe replaces it.
#pragma once

#include "core/status.hpp"
#include "plan/machine.hpp"

namespace spanfft {

std::string print_machine(const Machine& machine);
// Starts from `base`, for what the text leaves out.
Result<Machine> parse_machine(const std::string& text, const Machine& base);

// The stored text that fits best: of this processor and of this MPI library ("": any), measured with the nearest number
// of ranks. Empty: there is none.
std::string stored_machine_text(const std::string& library, int ranks);
Status store_machine(const Machine& machine, int ranks, int nodes);

}  // namespace spanfft
