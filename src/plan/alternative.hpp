// Alternative: one way in which a problem could be done, what it is predicted to cost, and why it lost to another.
#pragma once

#include <string>
#include <vector>

#include "plan/machine.hpp"
#include "plan/problem.hpp"

namespace spanfft {

struct Plan;

struct Alternative {
    std::string solver;
    Extents grid;
    std::string exchange;  // with its parameter
    double seconds = 0;    // predicted, of the slowest rank
    // Parts of `seconds`, and what rank 0 sends.
    double wire_seconds = 0, copy_seconds = 0, local_seconds = 0, disk_seconds = 0;
    int exchanges = 0;
    index_t messages = 0;
    int sweeps = 0;  // over the disk
    index_t disk_bytes = 0, disk_requests = 0;

    // "grid 2x2 with alltoallv"; the solver is named where it is not the other's, or there is nothing else to name.
    std::string name_beside(const Alternative& other) const;
    // The problem with these choices made.
    Problem apply(Problem problem) const;
};

// What a plan says of itself.
Alternative alternative_of(const Plan& plan, const Machine& machine);

// The best runners-up, one for each grid and strategy, as notes. `ranked` starts with the one that was chosen.
std::vector<std::string> runners_up(const std::vector<Alternative>& ranked);

// "grid 4x1 with alltoallw: 3.10 ms predicted, 1.40x: one more exchange (+0.90 ms)"
std::string why_lost(const Alternative& loser, const Alternative& winner);

std::string milliseconds_text(double seconds);  // "3.10 ms", three digits

}  // namespace spanfft
