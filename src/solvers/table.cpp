// The table of solvers; see table.hpp.
#include "solvers/table.hpp"

namespace spanfft {

const std::vector<Solver>& solver_table() {
    static const std::vector<Solver> table = {
        {"local", "spanfft", solve_local},
        {"pencil", "P4", solve_pencil},
        {"shared", "spanfft", solve_shared},
        {"file_in_memory", "spanfft", solve_file_in_memory},
        {"axis_passes", "spanfft", solve_axis_passes},
        {"two_pass", "spanfft, after P1", solve_two_pass},
        {"cyclic", "Koopman & Bisseling 2023 (FFTU)", solve_cyclic, Division::cyclic},
    };
    return table;
}

}  // namespace spanfft
