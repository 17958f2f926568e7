// Runs over arrays in memory; see executor.hpp. Over files: file_run.cpp.
#include "exec/executor.hpp"

#include "exec/file_run.hpp"

namespace spanfft {

Result<std::unique_ptr<Executor>> Executor::make(std::shared_ptr<const Plan> plan, std::unique_ptr<Comm> comm,
                                                 const Executor* undone) {
    SPANFFT_ASSIGN(auto bound,
                   BoundPlan::make(std::move(plan), std::move(comm), undone ? undone->bound_.get() : nullptr));
    return std::unique_ptr<Executor>(new Executor(std::move(bound)));
}

Status Executor::check_pointers(const void* in, void* out) const {
    const index_t in_bytes = bound_->in_bytes(), out_bytes = bound_->out_bytes();
    if (in_bytes && !in)
        return error(Code::invalid_argument, "the input is NULL but this rank's box has ", in_bytes, " bytes");
    if (out_bytes && !out)
        return error(Code::invalid_argument, "the output is NULL but this rank's box has ", out_bytes, " bytes");
    const auto* a = static_cast<const char*>(in);
    const auto* b = static_cast<const char*>(out);
    if (plan().problem.own_output && out_bytes && out != own_output()) {
        return error(Code::invalid_argument,
                     "the plan owns its output (own_output), but another array was given for it; pass the plan's");
    }
    if (plan().problem.own_input && in_bytes && in != own_input()) {
        return error(
            Code::invalid_argument,
            "the plan owns its input (own_input), but another array was given for it; fill and pass the plan's");
    }
    if (plan().problem.in_place) {
        if (in_bytes && out_bytes && a != b)
            return error(Code::invalid_argument,
                         "the plan is in_place, but input and output are different memory; pass the same pointer");
    } else if (in_bytes && out_bytes && a < b + out_bytes && b < a + in_bytes) {
        return error(Code::invalid_argument, "input and output overlap; use two arrays, or plan with in_place");
    }
    return Status();
}

Status Executor::execute(const void* in, void* out, const Status& ready) {
    RunContext context = bound_->make_context();
    const TraceScope scope(context.trace, "execute", TraceCategory::run);
    Status status;
    if (plan().problem.memory_bytes > 0) {
        status = error(Code::invalid_argument,
                       "this plan was made with memory= for files; use transform_file, or plan without memory=");
    } else if (!failed_run_.ok()) {
        status = failed_run_;
    } else {
        status = ready.ok() ? check_pointers(in, out) : ready;
    }
    failed_run_ = Status();
    SPANFFT_TRY(bound_->agree_traced(context, status));
    // Slots are written only if they are the target of a step, which Slot::input never is.
    context.slots[static_cast<size_t>(Slot::input)] = const_cast<void*>(in);
    // In place a rank may have an input only, which is the array then.
    context.slots[static_cast<size_t>(Slot::output)] =
        plan().problem.in_place && bound_->in_bytes() > 0 ? const_cast<void*>(in) : out;
    const Status ran = bound_->run_steps(context, nullptr);
    if (!ran.ok() && bound_->comm().size() > 1) {
        failed_run_ =
            error(ran.code(), "the execution before this one failed, and its output is not to be used on any ",
                  "rank: ", ran.message());
    }
    return ran;
}

Result<std::unique_ptr<Halo>> Executor::make_halo(const std::vector<HaloWidth>& widths, const Status& ready) const {
    const Problem& problem = plan().problem;
    const bool forward = problem.forward();
    ArrayState array = forward ? plan().input : plan().output;
    Status status = ready;
    if (status.ok() && problem.memory_bytes > 0)
        status = error(Code::unsupported, "a halo is of arrays in memory, and the plan is for files (memory=)");
    if (status.ok() && problem.layout == Division::cyclic)
        status = error(Code::unsupported, "layout=cyclic has no neighbours; a halo needs layout=block");
    for (const HaloWidth& width : widths) {
        if (!status.ok()) break;
        if (width.before < 0 || width.after < 0)
            status = error(Code::invalid_argument, "the halo's width is ", width.before, " before and ", width.after,
                           " after; it has at least 0 elements on each side");
    }
    // Of an extended part each axis fits 63 bits, and so do its bytes.
    index_t bytes = static_cast<index_t>(array.elem.bytes());
    for (size_t axis = 0; status.ok() && axis < widths.size(); ++axis) {
        index_t length = problem.shape[axis];
        const bool too_long = __builtin_add_overflow(length, widths[axis].before, &length) ||
                              __builtin_add_overflow(length, widths[axis].after, &length);
        const auto product = too_long ? std::nullopt : checked_mul(bytes, length);
        if (!product || !checked_mul(*product, problem.batch))
            status = error(Code::invalid_argument, "the halo's width along axis ", axis,
                           " makes more bytes than 63 bits can count");
        else
            bytes = *product;
    }
    SPANFFT_TRY(agree(bound_->comm(), status));
    std::string text;
    for (const HaloWidth& width : widths) text += cat(" ", width.before, ",", width.after);
    SPANFFT_TRY(agree_on_text(bound_->comm(), "halo's width", text));
    std::vector<HaloWidth> all = widths;
    if (problem.batch > 1) all.insert(all.begin(), HaloWidth());
    SPANFFT_ASSIGN(auto comm, bound_->comm().duplicate());
    return Halo::make(std::move(array), std::move(all), std::move(comm),
                      bound_->window(forward ? Slot::input : Slot::output));
}

Status Executor::transform_file(const FileRequest& request) {
    FileRun run(*bound_, request);
    const Status status = run.run();
    resumed_bytes_ = run.resumed_bytes();
    run_notes_ = run.notes();
    return status;
}

}  // namespace spanfft
