// Solver `scratch_in_memory`: a file whose array fits memory once, but not twice, as `file_in_memory` has it. By two
// sweeps, of `axis_sweeps` or `two_sweeps`, of which the first reads the input and the second writes the output: what
// the one hands to the other stays in memory, so that the disk is read once and written once.
//
// Method: what is handed on has a place of its own (Place::memory), to which the sweeps are what they are on a disk;
// the rest of memory is for their panels, so that runs are shorter than with scratch on the disk. The cheaper of both
// wins. There is nothing to go on from after a kill, so such a run has no journal. On several ranks memories add up,
// and `file_in_memory` has the more of them.
#include "solvers/sweep_search.hpp"
#include "solvers/table.hpp"

namespace spanfft {

Result<std::unique_ptr<Plan>> solve_scratch_in_memory(const Problem& problem, const Planner& planner) {
    const auto declined = [](const auto&... why) { return error(Code::unsupported, "scratch_in_memory ", why...); };
    if (problem.memory_bytes == 0) return declined("is for files; give memory=");
    if (problem.ranks > 1) return declined("works in one process, not on ", problem.ranks, " ranks");
    if (!problem.input_chunk.empty() || !problem.output_chunk.empty())
        return declined("takes no chunked arrays, which other plans copy through files");
    if (problem.output == SpectrumOrder::exchanged) return declined("has its output in natural order");
    const auto bytes_of = [](const Extents& shape, const ElemType& elem) {
        return product(shape) * static_cast<index_t>(elem.bytes());
    };
    const index_t array_bytes = std::min(bytes_of(problem.input_shape(), problem.input_elem()),
                                         bytes_of(problem.output_shape(), problem.output_elem()));
    const auto too_small = [&] {
        return declined("needs ", bytes_string(static_cast<double>(array_bytes)),
                        " and more for what a sweep hands to the next, and for panels; the budget is ",
                        bytes_string(static_cast<double>(problem.memory_bytes)));
    };
    // Nor does it make a plan possible for less memory than another.
    if (array_bytes > problem.memory_bytes || planner.searches()) return too_small();
    std::unique_ptr<Plan> best;
    for (const auto hold : {hold_axis_sweeps, hold_two_sweeps}) {
        auto plan = hold(problem, planner);
        if (plan.ok() && (!best || plan.value()->predicted_seconds() < best->predicted_seconds()))
            best = std::move(plan).value();
    }
    if (!best) return too_small();
    best->solver = "scratch_in_memory + " + best->solver;
    return best;
}

}  // namespace spanfft
