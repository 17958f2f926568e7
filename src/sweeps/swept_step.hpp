// SweptStep: what a step that sweeps disks tells about each of its sweeps, so that sums and a journal can be kept of
// them (sweep_run.hpp).
#pragma once

#include <vector>

#include "sweeps/sweep_spec.hpp"

namespace spanfft {

// One sweep of a plan, as far as sums and the journal need to know it.
struct SweepOutline {
    const SweepSpec* spec = nullptr;  // nullptr: of a step on parallel disks, or of one that copies a chunked array
    Place source = Place::input, target = Place::output;
    index_t source_scratch_bytes = 0, target_scratch_bytes = 0;  // where in scratch the array begins
    index_t panels = 1;
    Partition written, read;  // of arrays at byte 0
    int threads = 1;          // that add to sums
    // Of several ranks: whether they exchange in it, and whether what each has written is its own to read.
    bool exchanges = false, keeps_own = false;
};

// A step that sweeps disks.
class SweptStep {
  public:
    virtual ~SweptStep() = default;
    virtual std::vector<SweepOutline> sweep_outlines(int rank) const = 0;
};

}  // namespace spanfft
