// The families of routes that are priced on machines that are not here (exec/foresight), beside those of lines.hpp and
// pencil.hpp; each is made in the file of its solver.
#pragma once

#include "lower/route_search.hpp"

namespace spanfft {

const RouteFamily& chirp_lines_family();
const RouteFamily& cyclic_family();
const RouteFamily& ffte_family();
const RouteFamily& pencil_lines_family();
const RouteFamily& soi_family();

}  // namespace spanfft
