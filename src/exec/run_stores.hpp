// RunStores: where the arrays of one run lie: in files, packed or not, or behind functions of the caller's; and the
// files that chunked arrays pass through.
//
// Method: the plan says whether a chunked array is staged (sweeps/staging.hpp) or read to, and written from,
// memory. What it is staged in is scratch, striped over the scratch folders, and goes with its run, or is kept with it.
// Of several ranks, rank 0 makes it, beside the output, and all read and write it there.
// Invariant: nothing is written before check_stores() and open_input() were content on every rank.
#pragma once

#include <memory>

#include "disk/loaded_store.hpp"
#include "disk/memory_scratch.hpp"
#include "disk/output_file.hpp"
#include "disk/packed_store.hpp"
#include "exchange/call_thread.hpp"
#include "exec/file_request.hpp"
#include "plan/plan.hpp"
#include "sweeps/fused_stores.hpp"
#include "sweeps/sweep_run.hpp"

namespace spanfft {

// Whether the request fits the plan: functions where it has chunks, packed spectra of its kind.
Status check_stores(const FileRequest& request, const Plan& plan);

// "{rank}" and "{node}" in the name of a scratch folder are the numbers of the rank and of its node.
std::string scratch_name(std::string folder, int rank, int node);

// Calls functions that move boxes, by a thread of its own: formats' libraries want more stack than the threads that
// read and write have (LZF's tables are a MiB).
class BoxThread {
  public:
    static Result<std::unique_ptr<BoxThread>> start();
    BoxTransfer on_it(BoxTransfer move);  // which is called by one thread at a time, and lives as long as this

  private:
    struct Call {
        const BoxTransfer* move = nullptr;
        const index_t *first = nullptr, *extent = nullptr;
        void* data = nullptr;
    };
    Call call_;
    std::unique_ptr<CallThread> thread_;  // last: it stops first
};

class RunStores {
  public:
    RunStores(const FileRequest& request, const Plan& plan) : request_(request), plan_(plan) {}
    Status open_input();              // and checks its length
    void hold_scratch(void* memory);  // of Plan::held_scratch_bytes
    // After all was read: an error where the file's size or time of modification is not what it was when it was opened.
    Status check_input_unchanged() const;
    bool needs_file() const { return !request_.write_box || plan_.all_scratch_bytes() > 0; }
    // What OutputFile is to make, on rank 0: the output, or an empty file that has scratch alone.
    OutputRequest output_request() const;
    // Of another rank: scratch of its own, and no output.
    OutputRequest scratch_request() const;
    // In place, on rank 0: what the last sweep, or a copy, overwrites the input from.
    OutputRequest in_place_request(const PlannedSweeps& layout) const;
    // The file that it asked for, with its scratch: of a rank's own.
    void attach(OutputFile& output);
    // Whether there is an output in a file, and not behind a function.
    bool has_output_file() const { return !request_.write_box; }
    index_t output_offset_bytes() const { return arrays_.output.offset_bytes; }
    // Files of rank 0 that this one writes into too; those that there are.
    struct Shared {
        std::unique_ptr<FileStore> output, staged_input, staged_output;
        index_t output_offset_bytes = 0;
    };
    void attach_shared(const Shared& shared);
    void overwrite_input(Store& file) { arrays_.result = {&file, arrays_.input.offset_bytes}; }
    // After all these: arrays behind functions, and work on blocks. Then all arrays are what steps see.
    const RunArrays& dress(BlockWork& work);
    // When all ranks have written, on rank 0; before the file gets its name. Allowed again if it fails.
    Status finish(OutputFile& output) const;

  private:
    const FileRequest& request_;
    const Plan& plan_;
    RunArrays arrays_;
    std::unique_ptr<FileStore> input_file_;
    std::unique_ptr<BoxThread> box_thread_;  // nullptr: whoever runs the plan moves boxes itself
    std::unique_ptr<ArrayStore> input_array_, output_array_;
    std::unique_ptr<MemoryScratch> held_scratch_;
    std::unique_ptr<PackedStore> packed_input_;
    std::unique_ptr<LoadedStore> loaded_input_;
    std::unique_ptr<FusedStore> reads_, writes_;
};

}  // namespace spanfft
