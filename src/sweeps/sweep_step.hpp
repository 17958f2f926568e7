// SweepStep: one sweep of a disk. It reads panels, transforms, and writes panels, all three at the same time.
//
// Method: the parts of a SweepSpec (sweep_spec.hpp) say what is done; predicting and describing asks each of them, and
// so does running (sweep_task.cpp). Panels lie in the executor's work0, which all sweeps of a plan share; tiles, tables
// and engines are the task's.
// Invariant: predict() is computed from the geometry alone; counted() comes from the Stores and the loops themselves.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plan/machine.hpp"
#include "plan/step.hpp"
#include "plan/sweep_outline.hpp"
#include "sweeps/sweep_spec.hpp"

namespace spanfft {

// What a step of this sweep predicts; for those who compare thousands of sweeps.
Counts predict_sweep(const SweepSpec& sweep, const Machine& machine, int rank = 0);

class SweepStep : public Step {
  public:
    SweepStep(SweepSpec spec, Machine machine) : spec_(std::move(spec)), machine_(std::move(machine)) {}
    const char* type() const override { return "Sweep"; }
    std::string describe() const override;
    Counts price(int rank) const override { return predict_sweep(spec_, machine_, rank); }
    index_t progress_bytes(int rank) const override;
    index_t own_memory_bytes(int) const override { return spec_.own_bytes(); }
    std::vector<int> group(int rank) const override;
    Result<std::unique_ptr<Task>> bind(Binding& binding) const override;
    std::vector<SweepOutline> sweep_outlines(int rank) const override;
    const SweepSpec& spec() const { return spec_; }

  private:
    SweepSpec spec_;
    Machine machine_;
};

}  // namespace spanfft
