// The ways to do a transform, one file each. A new one: its file, its row in table.cpp, its test, its line in docs.
#pragma once

#include "plan/planner.hpp"

namespace spanfft {

Result<std::unique_ptr<Plan>> solve_local(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_pencil(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_pencil_lines(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_shared_pencil_lines(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_shared(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_lines(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_shared_lines(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_ffte(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_soi(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_chirp_line(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_chirp_lines(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_shared_chirp_lines(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_file_in_memory(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_scratch_in_memory(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_axis_sweeps(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_two_sweeps(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_superlevels(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_stripe_major_comm(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_memoryload_major_comm(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_processor_major_nocomm(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_memoryload_major_nocomm(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_many_sweeps(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_chirp_sweeps(const Problem& problem, const Planner& planner);
Result<std::unique_ptr<Plan>> solve_cyclic(const Problem& problem, const Planner& planner);

}  // namespace spanfft
