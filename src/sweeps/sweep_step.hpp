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

#include "core/threads.hpp"
#include "disk/pipeline.hpp"
#include "plan/machine.hpp"
#include "plan/step.hpp"
#include "sweeps/swept_step.hpp"

namespace spanfft {

constexpr int kSweepIoThreads = 16;  // for reads, and as many for writes

// What a step of this sweep predicts; for those who compare thousands of sweeps.
Counts predict_sweep(const SweepSpec& sweep, const Machine& machine, int rank = 0);

class SweepStep : public Step, public SweptStep {
  public:
    SweepStep(SweepSpec spec, Machine machine) : spec_(std::move(spec)), machine_(std::move(machine)) {}
    const char* type() const override { return "Sweep"; }
    std::string describe() const override;
    Counts predict(int rank) const override { return predict_sweep(spec_, machine_, rank); }
    index_t own_memory_bytes(int) const override { return spec_.own_bytes(); }
    std::vector<int> group(int rank) const override;
    Result<std::unique_ptr<Task>> bind(Binding& binding) const override;
    std::vector<SweepOutline> sweep_outlines(int rank) const override;
    const SweepSpec& spec() const { return spec_; }

  private:
    SweepSpec spec_;
    Machine machine_;
};

// What the tasks of one executor share: compute threads and I/O threads. Made by the first sweep that is bound.
class SweepTeam {
  public:
    SweepTeam(int threads, const IoChoice& io) : compute(threads), pipeline(kSweepIoThreads, io) {}
    ThreadTeam compute;
    Pipeline pipeline;
};
Result<std::shared_ptr<SweepTeam>> make_sweep_team(int threads, const std::string& io);
std::string describe_io(const SweepTeam& team);  // who did the reads and writes so far; "" before the first
// What sweeps would do on this machine, asked for `io` (Problem::io).
Result<std::string> describe_machine_io(const std::string& io);

}  // namespace spanfft
