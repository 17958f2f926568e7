// The table of solvers; see table.hpp.
#include "solvers/table.hpp"

namespace spanfft {

namespace {

bool in_memory_alone(const Problem& p) { return p.memory_bytes == 0 && p.ranks == 1; }
bool in_memory_on_ranks(const Problem& p) {
    return p.memory_bytes == 0 && (p.ranks > 1 || !p.real_boxes.empty() || !p.spectrum_boxes.empty());
}
// Approximate methods are not among what the planner chooses from, nor is one that another always does better than.
bool asked_for(const Problem& p, const char* solver) { return p.method.substr(0, p.method.find(':')) == solver; }
bool asked_for_soi(const Problem& p) { return asked_for(p, "soi"); }
bool asked_for_ffte(const Problem& p) { return asked_for(p, "ffte"); }
bool from_file(const Problem& p) { return p.memory_bytes > 0; }
// In one process these are `superlevels` with more sweeps in memory: only for whoever names one.
bool from_file_on_ranks(const Problem& p, const char* solver) {
    return from_file(p) && (p.ranks > 1 || asked_for(p, solver));
}
bool stripe_major_comm(const Problem& p) { return from_file_on_ranks(p, "stripe_major_comm"); }
bool memoryload_major_comm(const Problem& p) { return from_file_on_ranks(p, "memoryload_major_comm"); }
bool processor_major_nocomm(const Problem& p) { return from_file_on_ranks(p, "processor_major_nocomm"); }
bool memoryload_major_nocomm(const Problem& p) { return from_file_on_ranks(p, "memoryload_major_nocomm"); }

}  // namespace

const std::vector<Solver>& solver_table() {
    static const std::vector<Solver> table = {
        {"local", "spanfft", solve_local, Division::block, in_memory_alone, false, false, true},
        {"chirp_line", "L. Bluestein 1970", solve_chirp_line, Division::block, in_memory_alone},
        {"pencil", "P4", solve_pencil, Division::block, in_memory_on_ranks, false, false, true},
        {"pencil_lines", "P4, with P2's lines", solve_pencil_lines, Division::block, in_memory_on_ranks},
        {"shared", "spanfft", solve_shared, Division::block, in_memory_on_ranks, false, false, true},
        {"shared_pencil_lines", "spanfft, after P2", solve_shared_pencil_lines, Division::block, in_memory_on_ranks},
        {"lines", "P2", solve_lines, Division::block, in_memory_on_ranks},
        {"shared_lines", "spanfft, after P2", solve_shared_lines, Division::block, in_memory_on_ranks},
        {"ffte", "P2 (FFTE)", solve_ffte, Division::block, asked_for_ffte},
        {"soi", "Tang et al. 2012", solve_soi, Division::block, asked_for_soi, true},
        {"chirp_lines", "L. Bluestein 1970, on lines", solve_chirp_lines, Division::block, in_memory_on_ranks},
        {"shared_chirp_lines", "L. Bluestein 1970, on shared_lines", solve_shared_chirp_lines, Division::block,
         in_memory_on_ranks},
        {"file_in_memory", "spanfft", solve_file_in_memory, Division::block, from_file},
        {"scratch_in_memory", "spanfft", solve_scratch_in_memory, Division::block, from_file},
        {"axis_sweeps", "spanfft", solve_axis_sweeps, Division::block, from_file},
        {"two_sweeps", "spanfft, after P1", solve_two_sweeps, Division::block, from_file},
        {"superlevels", "P1", solve_superlevels, Division::block, from_file, true},
        {"stripe_major_comm", "P1", solve_stripe_major_comm, Division::block, stripe_major_comm, true, true},
        {"memoryload_major_comm", "P1", solve_memoryload_major_comm, Division::block, memoryload_major_comm, true,
         true},
        {"processor_major_nocomm", "P1", solve_processor_major_nocomm, Division::block, processor_major_nocomm, true,
         true},
        {"memoryload_major_nocomm", "P1", solve_memoryload_major_nocomm, Division::block, memoryload_major_nocomm, true,
         true},
        {"many_sweeps", "spanfft, after P1 and Stockham", solve_many_sweeps, Division::block, from_file},
        {"chirp_sweeps", "L. Bluestein 1970, on disk", solve_chirp_sweeps, Division::block, from_file},
        {"cyclic", "Koopman & Bisseling 2023 (FFTU)", solve_cyclic, Division::cyclic},
    };
    return table;
}

}  // namespace spanfft
