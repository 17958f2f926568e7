// BlockWork: what is done to the blocks of a file's array on their way into a transform and out of it, so that neither
// the input nor the spectrum need be read once more for it: callbacks, a window, power, a smaller type.
//
// Method: a block is a contiguous run of the row-major array. In: the callback, then the window. Out: the callback,
// then |x|^2, then the type that is stored (Problem::stored_elem), packed to the front of the block's own memory.
// What stands here is called by the threads that read and write (fused_stores.hpp), several at once. A callback that is
// not declared fit for that is called by one thread alone, made for it, whoever has the block.
// Invariant: nothing is allocated while a plan runs; blocks come in no order, each element once each way.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/buffer.hpp"
#include "exchange/call_thread.hpp"
#include "plan/problem.hpp"
#include "plan/window.hpp"

namespace spanfft {

struct Block {
    index_t first = 0;       // of the array, row-major, that is read or written
    index_t count = 0;       // elements
    void* data = nullptr;    // they are changed here,
    void* stored = nullptr;  // or (out, where another type is stored) `count` of these are filled instead
    bool filled = false;     // set where that was done
};

struct BlockCallbacks {
    std::function<Status(Block&)> on_input, on_output;  // empty: none
    bool concurrent = false;                            // may be called by several threads at once
    std::string name = {};                              // what they do; empty: no journal
    bool any() const { return on_input || on_output; }
};

class BlockWork {
  public:
    // For a problem with memory=, one array. Refuses what stores a real number of a complex one without saying how.
    static Result<std::unique_ptr<BlockWork>> make(const Problem& problem, const BlockCallbacks& callbacks);

    bool on_way_in() const { return callbacks_.on_input || window_; }
    bool on_way_out() const { return callbacks_.on_output || power_ || computed_ != stored_; }
    index_t read_bytes() const { return static_cast<index_t>(read_.bytes()); }  // of an element
    index_t loaded_bytes() const { return loaded_bytes_; }                      // of the same in the file
    index_t computed_bytes() const { return static_cast<index_t>(computed_.bytes()); }
    index_t stored_bytes() const { return static_cast<index_t>(stored_.bytes()); }

    Status inward(index_t first, index_t count, void* data);
    // Where in `data` the elements to store lie afterwards: as far past a multiple of kDirectBytes as file_bytes, if
    // there is room for that.
    Result<void*> outward(index_t first, index_t count, void* data, index_t file_bytes);

  private:
    BlockWork(const Problem& problem, const BlockCallbacks& callbacks);
    Status call(const std::function<Status(Block&)>& callback, Block& block);
    void apply_window(index_t first, index_t count, void* data) const;
    void convert(const void* from, index_t count, void* to) const;
    Status pack(index_t first, index_t count, char* data, char* to);

    BlockCallbacks callbacks_;
    ElemType read_, computed_, stored_;
    index_t loaded_bytes_ = 0;
    bool power_ = false;
    std::optional<Window> window_;
    index_t window_points_ = 1, window_inner_ = 1;  // points of the axis, and elements from one to the next

    std::mutex one_at_a_time_;  // over what follows
    std::unique_ptr<CallThread> thread_;
    const std::function<Status(Block&)>* called_ = nullptr;
    Block* block_ = nullptr;
    Buffer stored_block_;  // of kCallElems
};

}  // namespace spanfft
