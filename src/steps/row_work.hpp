// RowWork: a computation on a local array that can be done some rows at a time, so that what is done may travel while
// the rest is computed (pipelined_step.hpp).
//
// Invariant: rows are cut along one axis of the result; whatever the cut, the same numbers are computed, and the counts
// of all cuts sum to those of the whole, but for the last digits of flops.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plan/machine.hpp"
#include "plan/step.hpp"

namespace spanfft {

// Bound to a rank. Allocates nothing when it runs.
class BoundRowWork {
  public:
    virtual ~BoundRowWork() = default;
    // in and out are the whole local arrays; rows.count is one of those that were bound. Returns what was done; no
    // seconds.
    virtual Counts run(const void* in, void* out, const AxisRange& rows, Trace* trace) const = 0;
};

class RowWork {
  public:
    virtual ~RowWork() = default;
    virtual Slot source() const = 0;
    virtual Slot target() const = 0;
    // Whether it leaves rows along this axis of its result alone, so that they can be done one after another.
    virtual bool cuts(int axis) const = 0;
    // The step that does so: it predicts and describes what happens.
    virtual Result<std::unique_ptr<Step>> step(const Machine& machine, std::vector<std::string>& notes) const = 0;
    // For calls of each of these numbers of rows along the axis, none of them 0.
    virtual Result<std::unique_ptr<BoundRowWork>> bind(Binding& binding, int axis,
                                                       const std::vector<index_t>& counts) const = 0;
};

}  // namespace spanfft
