// Solver `file_in_memory`: a file whose array fits the memory budgets of the ranks together. Each rank reads its box,
// the array is transformed in memory by a child plan, each rank writes its box: one sweep over the disk. The child has
// two arrays, or, where they don't fit, works in place. Chunked arrays are read and written so by one process; several
// ranks copy them through files (sweeps/staging.hpp).
#include <algorithm>

#include "engine/trust.hpp"
#include "solvers/table.hpp"
#include "steps/box_io_step.hpp"
#include "steps/transform_step.hpp"
#include "sweeps/staging.hpp"

namespace spanfft {

namespace {

// What engines take for themselves where an axis has a large prime factor: a convolution of twice its length.
index_t prime_engine_bytes(const Problem& problem) {
    index_t most = 0;
    for (size_t i = 0; i < problem.axes.size(); ++i) {
        const Kernel kernel = kernel_of(problem.kinds[i], problem.direction);
        const index_t n = problem.shape[static_cast<size_t>(problem.axes[i])];
        most = std::max(most, convolution_bytes(kernel, problem.precision, n));
    }
    return most;
}

Status needs(const Problem& problem, const char* more_than, double bytes) {
    return error(Code::unsupported, "file_in_memory needs ", more_than, bytes_string(bytes),
                 " a process, the budget is ", bytes_string(static_cast<double>(problem.memory_bytes)),
                 problem.ranks > 1 ? "; use more ranks, more memory, or one rank" : "");
}

// The transform of arrays in memory, of two or of one in place.
Result<std::unique_ptr<Plan>> plan_child(const Problem& problem, const Planner& planner, bool in_place) {
    const auto bytes_of = [](const Extents& shape, const ElemType& elem) {
        return static_cast<double>(product(shape)) * static_cast<double>(elem.bytes());
    };
    // What holds the arrays, and more comes on top.
    const double in_bytes = bytes_of(problem.input_shape(), problem.input_elem()),
                 out_bytes = bytes_of(problem.output_shape(), problem.output_elem()),
                 arrays_bytes = in_place ? std::max(in_bytes, out_bytes) : in_bytes + out_bytes;
    const index_t engine_bytes = prime_engine_bytes(problem);
    const double least = arrays_bytes / problem.ranks + static_cast<double>(engine_bytes);
    if (least > static_cast<double>(problem.memory_bytes))  // before any planning: the child could be large
        return needs(problem, "more than ", least);
    Problem child_problem = problem;
    child_problem.in_place = in_place;
    child_problem.memory_bytes = 0;
    child_problem.method.clear();
    child_problem.io.clear();
    child_problem.disks = 0;
    child_problem.input_chunk.clear();
    child_problem.output_chunk.clear();
    child_problem.one_writer = false;
    child_problem.window.clear();
    child_problem.power = false;
    child_problem.reads_once = false;  // each rank reads its box once
    child_problem.store.reset();
    child_problem.load.reset();
    SPANFFT_ASSIGN(auto plan, planner.plan(child_problem));
    const index_t room = problem.memory_bytes - engine_bytes;
    if (const index_t beyond = plan->memory_beyond(room)) {  // the fastest does not fit, but another may
        auto other = planner.within(room).plan(child_problem);
        if (!other.ok()) return needs(problem, "", static_cast<double>(beyond + engine_bytes));
        plan = std::move(other).value();
    }
    return plan;
}

}  // namespace

Result<std::unique_ptr<Plan>> solve_file_in_memory(const Problem& problem, const Planner& planner) {
    if (problem.memory_bytes == 0) return error(Code::unsupported, "file_in_memory is for files; give memory=");
    auto child = plan_child(problem, planner, false);
    const bool in_place = child.status().code() == Code::unsupported && !problem.pads();
    if (in_place) {
        auto other = plan_child(problem, planner, true);
        if (other.ok() || other.status().code() == Code::unsupported) child = std::move(other);
    }
    SPANFFT_TRY(child.status());
    auto plan = std::move(child).value();
    const Slot read = in_place ? Slot::output : Slot::input;
    const double child_seconds = plan->predicted_seconds();
    plan->problem.in_place = false;
    plan->problem.memory_bytes = problem.memory_bytes;
    plan->problem.method = problem.method;
    plan->problem.io = problem.io;
    plan->problem.disks = problem.disks;
    plan->problem.window = problem.window;
    plan->problem.power = problem.power;
    plan->problem.reads_once = problem.reads_once;
    plan->problem.store = problem.store;
    plan->problem.load = problem.load;
    plan->solver = std::string("file_in_memory + ") + plan->solver;
    plan->problem.input_chunk = problem.input_chunk;
    plan->problem.output_chunk = problem.output_chunk;
    plan->problem.one_writer = problem.one_writer;
    if (problem.ranks == 1) {
        plan->input_box = planes_box(problem.input_shape(), problem.input_chunk, plan->input.elem);
        plan->output_box = planes_box(problem.output_shape(), problem.output_chunk, plan->output.elem);
    }
    const auto request_bytes = [](const Extents& box, const ElemType& elem) {
        return box.empty() ? kBoxRequestBytes : product(box) * static_cast<index_t>(elem.bytes());
    };
    plan->steps.insert(plan->steps.begin(),
                       make_read_box_step(plan->input, read, planner.machine(),
                                          request_bytes(plan->input_box, plan->input.elem), problem.loaded_bytes()));
    // A file that a chunked array is copied from holds numbers as they are computed.
    const bool copied = !problem.output_chunk.empty() && plan->output_box.empty();
    const auto stored_bytes = static_cast<index_t>((copied ? problem.output_elem() : problem.stored_elem()).bytes());
    plan->steps.push_back(make_write_box_step(plan->output, Slot::output, planner.machine(),
                                              request_bytes(plan->output_box, plan->output.elem), stored_bytes));
    plan->slot_bytes.hold(read, plan->input);
    plan->slot_bytes.hold(Slot::output, plan->output);
    plan->output_file_bytes = product(problem.output_shape()) * stored_bytes;
    plan->sweeps = 1;
    // The child's ways lack the disk, which is the same for all of them.
    const double disk_seconds = plan->predicted_seconds() - child_seconds;
    for (Alternative& each : plan->alternatives) {
        each.solver = "file_in_memory + " + each.solver;
        each.seconds += disk_seconds;
        each.disk_seconds += disk_seconds;
        each.sweeps = 1;
    }
    return plan;
}

}  // namespace spanfft
