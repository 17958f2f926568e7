// What the opaque handles of the C interface hold, and how a Status leaves through it.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "core/status.hpp"
#include "exec/executor.hpp"
#include "exec/explain.hpp"
#include "spanfft/spanfft.h"

struct spanfft_comm {
    std::unique_ptr<spanfft::Comm> comm;
};

struct spanfft_plan {
    std::shared_ptr<const spanfft::Plan> plan;
    std::unique_ptr<spanfft::Executor> executor;  // nullptr for an imagined plan
    int rank = 0;
    std::vector<std::string> scratch_folders;  // empty: what transform_file is given
    spanfft::JournalMode journal = spanfft::JournalMode::off;
    bool checksums = true;
    spanfft::BlockCallbacks callbacks;  // of the file transforms that follow
    std::vector<spanfft::PlanLine> lines;
    std::vector<std::string> descriptions;  // of lines
    pid_t made_by = getpid();

    // Its threads (those of I/O too), and MPI, stayed with the process that made it: a child of fork has neither. Only
    // ducc0 starts its own again there.
    bool left_behind() const {
        const spanfft::Problem& p = plan->problem;
        const bool threads = p.threads > 1 && executor && executor->engines() != "ducc0";
        return executor && made_by != getpid() && (threads || p.ranks > 1 || p.memory_bytes > 0);
    }
};

namespace spanfft {

// Keeps the sentence for spanfft_last_error and returns the code.
SPANFFT_API int report_status(const Status& status);
SPANFFT_API spanfft_comm* wrap_comm(std::unique_ptr<Comm> comm);
// executor: nullptr for an imagined plan.
spanfft_plan* new_handle(std::shared_ptr<const Plan> plan, std::unique_ptr<Executor> executor);

spanfft_counts counts_to_c(const Counts& counts);  // query.cpp

// Scratch folders of a caller's.
Result<std::vector<std::string>> folder_names(int count, const char* const* folders);

// Ok for a plan that was made to be run, and can be in this process.
Status check_runs(const spanfft_plan* plan);

// Runs a body that returns a Status; what it throws (bad_alloc, above all) becomes one too: nothing leaves C.
template <class Body>
int report(Body body) {
    try {
        return report_status(body());
    } catch (const std::bad_alloc&) {
        return report_status(
            Status(Code::out_of_memory, "memory ran out; use fewer plans at once, more ranks, or a memory budget"));
    } catch (const std::exception& failure) {
        return report_status(Status(Code::internal, failure.what()));
    }
}

// Copies as much of `value` as the caller's struct is long, and keeps its size field.
template <class Struct>
Status give(const Struct& value, Struct* target) {
    if (!target) return error(Code::invalid_argument, "the result is NULL; pass where it shall go");
    const size_t size = target->size;
    if (size < sizeof(size_t) || size > 4096)
        return error(Code::invalid_argument, "the struct's size field is ", size, "; set it to sizeof first");
    std::memcpy(target, &value, std::min(size, sizeof value));
    target->size = size;
    return Status();
}

}  // namespace spanfft
