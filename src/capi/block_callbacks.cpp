// Callbacks on the blocks of file transforms; see include/spanfft/spanfft.h and plan/block_work.hpp.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "capi/handles.hpp"

using namespace spanfft;

namespace {

// `shape` is that of the array whose blocks these are.
std::function<Status(Block&)> wrap(spanfft_block_callback callback, void* user, const Extents& shape,
                                   const char* side) {
    if (!callback) return {};
    return [=](Block& block) -> Status {
        spanfft_block c;
        std::memset(&c, 0, sizeof c);
        c.size = sizeof c;
        c.first = block.first;
        c.count = block.count;
        c.ndim = static_cast<int32_t>(std::min<size_t>(shape.size(), SPANFFT_MAX_NDIM));
        index_t rest = block.first;
        for (int axis = c.ndim - 1; axis >= 0; --axis) {
            const index_t n = shape[static_cast<size_t>(axis)];
            c.index[axis] = rest % n;
            rest /= n;
        }
        c.data = block.data;
        c.stored = block.stored;
        const int failed = callback(&c, user);
        block.filled = c.filled != 0;
        if (failed == 0) return Status();
        c.message[sizeof c.message - 1] = 0;
        return error(Code::callback_failed, "the callback on the ", side, " ended the run at element ", block.first,
                     c.message[0] ? ": " : "", c.message);
    };
}

}  // namespace

int spanfft_plan_set_callbacks(spanfft_plan* plan, const spanfft_block_callbacks* callbacks) {
    return report([&]() -> Status {
        if (!plan || !plan->executor)
            return error(Code::invalid_argument, "the plan is NULL or only imagined; make it with spanfft_plan_create");
        plan->callbacks = BlockCallbacks();
        if (!callbacks) return Status();
        const bool named = callbacks->size >= offsetof(spanfft_block_callbacks, name) + sizeof callbacks->name;
        if (callbacks->size < offsetof(spanfft_block_callbacks, name))  // as it was before there were names
            return error(Code::invalid_argument, "the callbacks' size field is ", callbacks->size,
                         "; set it to sizeof(spanfft_block_callbacks)");
        const Problem& problem = plan->plan->problem;
        if (problem.memory_bytes == 0)
            return error(Code::invalid_argument,
                         "callbacks are for blocks of files, and this plan is for arrays in memory; plan with memory=");
        plan->callbacks.on_input = wrap(callbacks->on_input, callbacks->user, problem.input_shape(), "input");
        plan->callbacks.on_output = wrap(callbacks->on_output, callbacks->user, problem.output_shape(), "output");
        plan->callbacks.concurrent = callbacks->thread_safe != 0;
        if (named && callbacks->name) plan->callbacks.name = callbacks->name;
        return Status();
    });
}
