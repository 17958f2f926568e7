// Plan: an immutable, printable tree of steps that solves a Problem, the same value on all ranks; or that permutes the
// records of a file (solvers/permutation.hpp), for which executors, journals and reports are the same.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plan/alternative.hpp"
#include "plan/problem.hpp"
#include "plan/step.hpp"
#include "plan/step_limit.hpp"

namespace spanfft {

// Executor-owned memory of each slot, in bytes: whatever was asked for it, the most. It is told rank by rank from the
// layouts, so that a plan for thousands of ranks holds nothing for each of them.
class SlotBytes {
  public:
    void fix(Slot slot, index_t bytes) { at(fixed_, slot) = std::max(at(fixed_, slot), bytes); }  // on every rank
    void hold(Slot slot, ArrayState state) { held_.emplace_back(slot, std::move(state)); }        // each rank's part
    std::array<index_t, kSlots> operator[](size_t rank) const;

  private:
    static index_t& at(std::array<index_t, kSlots>& bytes, Slot slot) { return bytes[static_cast<size_t>(slot)]; }
    std::array<index_t, kSlots> fixed_{};
    std::vector<std::pair<Slot, ArrayState>> held_;
};

struct Plan {
    // With what the planner chose filled in (grid, exchange, threads). Of a permutation: the array, none of whose axes
    // is transformed, and the means (memory, disks, threads).
    Problem problem;
    std::string permutation;  // what is done to which records, in a line; empty: a transform
    std::string solver;       // name in the solver table, or "permutation"
    ArrayState input, output;
    std::vector<std::unique_ptr<Step>> steps;
    SlotBytes slot_bytes;  // input and output only where the plan reads and writes files; work0, work1 as steps need
    index_t scratch_bytes = 0;  // of disk, all ranks together
    // > 0: so much of it each rank has for itself, where the others need not see it; else rank 0 has it.
    index_t scratch_of_each_rank_bytes = 0;
    index_t held_scratch_bytes = 0;  // of scratch that is in memory instead, in Slot::work1
    // Blocks of scratch lie on disk after disk in this size, as P1 has it; 0: the plan does not mind, nor how many
    // disks.
    index_t scratch_block_bytes = 0;
    index_t output_file_bytes = 0;   // payload written under the output's name, for plans on disk
    index_t output_extra_bytes = 0;  // behind it, while sweeps have more there in between
    // Of chunked arrays (Problem::input_chunk): the boxes in which they are read and written, and the bytes of the
    // files that they pass through; 0: they are read into, or written from, memory directly.
    Extents input_box, output_box;
    index_t staged_input_bytes = 0, staged_output_bytes = 0;
    bool leaves_exchanged = false;   // of plans on disk: the output is not in natural order, and a note says in which
    index_t checksum_bytes = 0;      // of memory, for the sums of what sweeps hand on
    bool reads_twice = false;        // some elements of the input: then no callback can have each once
    int sweeps = 0;                  // reads (and writes) of the whole array on disk
    double call_seconds = 0;         // of a plan in memory: what a run takes beside its steps
    Peaks peaks;                     // what a rank can have at best of the machine that it was planned for
    std::vector<std::string> notes;  // engines passed over, runners-up and why they lost, whence the figures are
    // The ways that were compared, fewest predicted seconds first: the plan's own choice, then the runners-up. Empty
    // where there was nothing to choose.
    std::vector<Alternative> alternatives;

    bool permutes() const { return !permutation.empty(); }
    std::string task() const { return permutes() ? permutation : problem.print(); }  // as reports and journals have it
    // Bytes of an element: as it lies in the input file, as sweeps read it, as the output file holds it.
    index_t loaded_bytes() const { return permutes() ? input.record_bytes : problem.loaded_bytes(); }
    index_t read_bytes() const {
        return permutes() ? input.record_bytes : static_cast<index_t>(problem.input_elem().bytes());
    }
    index_t stored_bytes() const {
        return permutes() ? output.record_bytes : static_cast<index_t>(problem.stored_elem().bytes());
    }
    Counts predict(int rank) const;          // sum over steps, and the call
    index_t progress_bytes(int rank) const;  // sum over steps
    index_t all_scratch_bytes() const { return scratch_bytes + staged_input_bytes + staged_output_bytes; }
    // Of disk, for all that does not stay.
    index_t intermediate_bytes() const { return all_scratch_bytes() + output_extra_bytes; }
    index_t peak_memory_bytes(
        int rank) const;  // slots the executor owns + the steps' own + (in memory) the user's arrays
    // What the first rank that needs more than this needs; 0: all have enough. Rank 0 mostly needs the most, so that a
    // plan that does not fit is found out without asking ten thousand ranks.
    index_t memory_beyond(index_t most_bytes) const;
    double predicted_seconds() const;  // of the slowest rank
};

}  // namespace spanfft
