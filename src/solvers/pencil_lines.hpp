// What solvers of N-D arrays in blocks need of `pencil_lines`: which of the two divides an array.
#pragma once

#include "lower/route_search.hpp"

namespace spanfft {

// The problem as `own`, pencil's or pencil_lines' family, is to plan it, so that all solvers of arrays in blocks divide
// it alike, in both directions. Where pencil feeds all ranks that is the problem as it is. Elsewhere the family with
// the cheaper plan has the say: pencil_lines declines, or pencil takes its grid, or declines as well where each would
// leave an order of its own.
Result<Problem> with_common_grid(const Problem& problem, const Planner& planner, const RouteFamily& own);

}  // namespace spanfft
