// The C option struct as a Problem.
#pragma once

#include "capi/handles.hpp"
#include "plan/problem.hpp"

namespace spanfft {

// Everything but ranks and boxes, which need a communicator. Reads only the first `size` bytes of the struct.
Result<Problem> problem_from_c(const spanfft_problem* problem);
Patch patch_from_c(const spanfft_box& box, int ndim);
void patch_to_c(const Patch& patch, spanfft_box* box);

// A copy for the caller to spanfft_free; nullptr when memory ran out.
char* copy_text(const std::string& text);

}  // namespace spanfft
