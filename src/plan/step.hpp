// Step: one node of a plan. Every step can run, predict its cost and describe itself in a line.
//
// A Step is an immutable value for all ranks: predict(rank) needs no communicator, so that a plan can be explained
// for a machine that is not there. bind() makes a Task for this rank: all allocation, datatype creation and
// FFT planning happens there; Task::run allocates nothing and counts what it really did.
// Arrays live in slots: the user's input (read only) and output, and two work areas that the executor owns.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "core/counts.hpp"
#include "core/dtype.hpp"
#include "core/status.hpp"
#include "core/trace.hpp"
#include "layout/layout.hpp"

namespace spanfft {

class FirstTouch;
class Store;

enum class Slot : int { input = 0, output = 1, work0 = 2, work1 = 3 };
constexpr int kSlots = 4;
const char* slot_name(Slot slot);

// The array between two steps: who owns what (a batch, if any, is the leading whole axis) and of which type.
struct ArrayState {
    Layout layout;
    ElemType elem = {};
    index_t record_bytes = 0;  // > 0: no numbers, but records of so many bytes, which are moved as they lie
    index_t elem_bytes() const { return record_bytes > 0 ? record_bytes : static_cast<index_t>(elem.bytes()); }
    index_t local_bytes(int rank) const { return layout.local_elems(rank) * elem_bytes(); }
};

// A communicator of some of the plan's ranks, whose transfers are counted in *counts.
struct GroupComm {
    Comm* comm = nullptr;
    std::shared_ptr<Counts> counts;
};

class SweepTeam;      // sweeps/sweep_team.hpp
struct RunningSweep;  // sweeps/sweep_run.hpp
struct SweepOutline;  // plan/sweep_outline.hpp

// What bind() may use; it outlives the tasks. Collective where it makes communicators.
class Binding {
  public:
    explicit Binding(Comm& whole) : comm(whole) {}
    Comm& comm;
    // Collective over comm. The communicator of these ranks (rising, this one among them), one for each list.
    Result<GroupComm> group(const std::vector<int>& ranks);
    // Reported by transforms, for plan queries: "mkl, ducc0".
    void engine_ran(const std::string& name);
    const std::string& engines() const { return engines_; }
    // Memory of a slot that all ranks share (Step::shared_slots); nullptr for the others. Made before any step is
    // bound.
    SharedWindow* window(Slot slot) const { return windows[static_cast<size_t>(slot)].get(); }
    std::array<std::unique_ptr<SharedWindow>, kSlots> windows;
    // What transfers of the groups record into; the executor sets it for each run.
    const std::shared_ptr<TraceSwitch> trace = std::make_shared<TraceSwitch>();
    // Compute threads and I/O of sweeps; the first one that is bound makes it, as `io` (Problem::io) says.
    std::shared_ptr<SweepTeam> sweep_team;
    std::string io;

  private:
    std::vector<std::pair<std::vector<int>, std::unique_ptr<Comm>>> groups_;
    std::vector<std::shared_ptr<Counts>> group_counts_;
    std::string engines_;
};

// done and total bytes of the disk work (all sweeps); false asks to stop: the run ends with Code::interrupted.
using Progress = std::function<bool(index_t done_bytes, index_t total_bytes)>;

// An array on disk: the store, and where in it the array begins.
struct StoredArray {
    Store* store = nullptr;
    index_t offset_bytes = 0;
};

// The arrays of a run on disk, each resolved once, before the first step.
struct RunArrays {
    StoredArray input, output;
    StoredArray scratch;  // as large as Plan::scratch_bytes asks, or none when it asks for none
    // The output for the step that writes it as it stays: with work on its blocks, or in place, which is the input.
    // Without a store: `output`.
    StoredArray result;
    // Chunked ones that pass through a file (sweeps/staging.hpp); input and output are the files then.
    StoredArray chunked_input, chunked_output;
    StoredArray memory = {};  // scratch, as large as Plan::held_scratch_bytes asks
    const StoredArray& as_it_stays() const { return result.store ? result : output; }
};

// What a run works on. Slots hold this rank's part in C order.
struct RunContext {
    std::array<void*, kSlots> slots{};
    RunArrays arrays;  // of plans on disk
    // Of the step that runs, the first of its sweeps (sweeps/sweep_run.hpp); nullptr: it has none.
    const RunningSweep* sweep = nullptr;
    FirstTouch* first_touch = nullptr;        // of the memory for panels, work0; nullptr: it is there
    Progress progress;                        // may be empty
    Trace* trace = nullptr;                   // nullptr: nothing is recorded
    index_t done_bytes = 0, total_bytes = 0;  // of the disk work so far; the executor sets both before the first step

    void* at(Slot slot) const { return slots[static_cast<size_t>(slot)]; }
    bool advance(index_t bytes) {  // false: stop
        done_bytes += bytes;
        return !progress || progress(done_bytes, total_bytes);
    }
};

class Task {
  public:
    virtual ~Task() = default;
    virtual Status run(RunContext& context) = 0;
    // What the last run did on this rank, counted where it happened (not copied from the prediction); seconds are the
    // executor's.
    virtual Counts counted() const = 0;
};

class Step {
  public:
    virtual ~Step() = default;
    virtual const char* type() const = 0;  // "Transform", "Exchange", "Sweep", ...
    virtual std::string describe() const = 0;
    // Seconds too, by the Machine it was planned for.
    Counts predict(int rank) const {
        Counts counts = price(rank);
        counts.seconds *= slowness_;
        return counts;
    }
    // What machines know such steps by (Machine::slowness): the type, or a sort of it.
    virtual const char* sort() const { return type(); }
    double slowness() const { return slowness_; }
    void set_slowness(double ratio) { slowness_ = ratio; }
    virtual index_t own_memory_bytes(int /*rank*/) const { return 0; }  // beyond the slots: packing buffers, panels
    // Its sweeps of disks on this rank, for sums and a journal of them; empty: it has none.
    virtual std::vector<SweepOutline> sweep_outlines(int rank) const;
    // Payload of its disk work as it is computed, whatever files store of it: what it tells RunContext::advance.
    virtual index_t progress_bytes(int rank) const;
    // Work slots whose memory this step wants all ranks of the plan (which share a node) to see.
    virtual std::vector<Slot> shared_slots() const { return {}; }
    // The ranks that bind() makes use of by binding.group(), for this rank; empty: none. The executor makes the
    // communicators of all steps before it binds any, so that one agreement serves them all.
    virtual std::vector<int> group(int /*rank*/) const { return {}; }
    // Collective over group(). A step that fails on one rank leaves no other one waiting: what it does with the group
    // is agreed on there, and all ranks go on to bind the next step.
    virtual Result<std::unique_ptr<Task>> bind(Binding& binding) const = 0;
    virtual std::vector<const Step*> children() const { return {}; }  // for explain: what happens inside

  private:
    // By the rates of engines, memory and wires, each measured by itself.
    virtual Counts price(int rank) const = 0;

    double slowness_ = 1;
};

}  // namespace spanfft
