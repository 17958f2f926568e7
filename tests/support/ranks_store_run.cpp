// Plans for files on ranks that are threads; see ranks_store_run.hpp.
#include "support/ranks_store_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>

#include "core/buffer.hpp"
#include "support/expect_counted.hpp"
#include "sweeps/fused_stores.hpp"
#include "sweeps/sweep_run.hpp"
#include "sweeps/sweep_step.hpp"

namespace spanfft::test {

namespace {

// How often the plan's sweeps write a byte of a place, at most: by where in it they begin to write.
std::map<index_t, index_t> sweeps_over(const Plan& plan, Place place) {
    std::map<index_t, index_t> sweeps;
    for (const SweepOutline& sweep : examine_sweeps(plan).sweeps) {
        if (sweep.target.place == place) ++sweeps[sweep.target.begin_bytes];
    }
    return sweeps;
}

index_t most_of(const std::map<index_t, index_t>& sweeps) {
    index_t most = 0;
    for (const auto& [begin, count] : sweeps) most = std::max(most, count);
    return most;
}

// Stores that all ranks share, and what they are filled with.
struct SharedStores {
    SharedStores(const RanksSetting& setting, const Plan& plan, const std::string& bytes)
        : input(setting.input_offset + static_cast<index_t>(bytes.size())),
          output(setting.output_offset + plan.output_file_bytes + plan.output_extra_bytes) {
        std::memcpy(input.data() + setting.input_offset, bytes.data(), bytes.size());
    }
    MemoryStore input, output;
};

// A store of one rank of those that may die.
class MortalStore : public Store {
  public:
    MortalStore(Store& inner, RanksDisks* disks) : inner_(inner), disks_(disks) {}
    Status sync() override { return dead() ? error(Code::io_error, "dead") : inner_.sync(); }
    index_t size_bytes() const override { return inner_.size_bytes(); }
    std::string describe() const override { return inner_.describe(); }

  protected:
    Status do_read(const Run& run) override { return inner_.read(run); }
    Status do_write(const Run& run) override {
        if (dead()) return error(Code::io_error, "dead");
        if (disks_) ++disks_->writes;
        return inner_.write(run);
    }

  private:
    bool dead() const { return disks_ && disks_->dead(); }
    Store& inner_;
    RanksDisks* disks_;
};

// One rank's journal. It is slow, so that a rank that did not wait for the others' would be ahead of them.
class MortalJournal : public LineSink {
  public:
    MortalJournal(RanksDisks& disks, int rank) : disks_(disks), rank_(rank) {}
    Status append(const std::string& line) override {
        std::this_thread::sleep_for(std::chrono::microseconds(200 * (rank_ % 3)));
        if (disks_.dead()) return error(Code::io_error, "dead");
        disks_.lines[static_cast<size_t>(rank_)].push_back(line);
        return {};
    }

  private:
    RanksDisks& disks_;
    const int rank_;
};

// Bytes that the last sweep computes beyond those that are stored of them, on one rank; less than 0 where more are.
index_t unstored_bytes(const Plan& plan, const BlockWork& work, int rank) {
    const Step& last = *plan.steps.back();
    const index_t stored = dynamic_cast<const SweepStep*>(&last)
                               ? last.predict(rank).disk_written_bytes / work.stored_bytes()
                               : plan.output.layout.local_elems(rank);
    return stored * (work.computed_bytes() - work.stored_bytes());
}

// Of each rank; of one process, which has all of it, what the plan asks for.
index_t scratch_bytes(const Plan& plan) {
    return plan.problem.ranks > 1 ? plan.scratch_of_each_rank_bytes : plan.scratch_bytes;
}

// One rank, from binding the steps to the end of the last one.
Status run_rank(const Plan& plan, const RanksSetting& setting, SharedStores& shared, Comm& comm, RankSeen& seen) {
    const int rank = comm.rank();
    FaultPlan faults;
    faults.code = setting.fault_code;
    faults.persistent = setting.persistent;
    if (rank == setting.fault_rank) faults.fail_at = setting.fail_at;
    RanksDisks* const disks = setting.disks;
    MemoryStore own_scratch(scratch_bytes(plan));
    MemoryStore& scratch = disks ? *disks->scratch[static_cast<size_t>(rank)] : own_scratch;
    MortalStore mortal_output(disks ? *disks->output : shared.output, disks), mortal_scratch(scratch, disks);
    FaultyStore input_view(shared.input, faults), output_view(mortal_output, faults),
        scratch_view(mortal_scratch, faults);

    RunContext context;
    std::vector<Buffer> slots(kSlots);
    for (size_t i = 0; i < slots.size(); ++i) {
        SPANFFT_ASSIGN(slots[i], Buffer::allocate(static_cast<size_t>(plan.slot_bytes[static_cast<size_t>(rank)][i])));
        context.slots[i] = slots[i].data();
    }
    context.arrays.input = {&input_view, setting.input_offset};
    context.arrays.output = {&output_view, setting.output_offset};
    if (scratch_bytes(plan) > 0) context.arrays.scratch.store = &scratch_view;
    SPANFFT_ASSIGN(const auto work, BlockWork::make(plan.problem, {}));
    FusedReads reads(input_view, setting.input_offset, *work);
    FusedWrites writes(output_view, setting.output_offset, product(plan.problem.output_shape()), *work);
    if (work->on_way_in()) context.arrays.input.store = &reads;
    if (work->on_way_out()) context.arrays.result = {&writes, setting.output_offset};
    const Counts all = plan.predict(rank);
    context.total_bytes = all.disk_read_bytes + all.disk_written_bytes + unstored_bytes(plan, *work, rank);
    context.progress = [&](index_t done, index_t total) {
        seen.progress_bytes = done;
        seen.progress_total = total;
        return seen.progress_calls++ < setting.stop_after || rank != setting.stop_rank;
    };

    Binding binding(comm);
    binding.sweep_team = team_of_rank(rank, plan.problem.threads);
    for (const auto& step : plan.steps) {
        const std::vector<int> group = step->group(rank);
        if (!group.empty()) SPANFFT_TRY(agree(comm, binding.group(group).status()));
    }
    std::vector<std::unique_ptr<Task>> tasks;
    for (const auto& step : plan.steps) {
        auto task = step->bind(binding);
        SPANFFT_TRY(agree(comm, task.status()));
        tasks.push_back(std::move(task).value());
        seen.predicted.push_back(step->predict(rank));
    }
    const auto journal = disks ? std::make_unique<MortalJournal>(*disks, rank) : nullptr;
    SweepRun sweeps(plan, examine_sweeps(plan, false, rank), context.arrays, true, journal.get());
    if (disks) {
        SPANFFT_TRY(agree(comm, sweeps.resume(disks->lines[static_cast<size_t>(rank)])));
        SPANFFT_TRY(sweeps.align(comm));
    }
    Status status;
    for (size_t i = 0; status.ok() && i < tasks.size(); ++i) {
        if (static_cast<int>(i) == setting.flip_before_step) {
            if (rank == 0) shared.output.data()[setting.output_offset + setting.flip_byte] ^= std::byte{4};
            SPANFFT_TRY(comm.barrier());
        }
        context.sweep = sweeps.sweep(i);
        status = sweeps.share_sums(i, comm);
        if (status.ok()) status = agree(comm, tasks[i]->run(context));
        if (status.ok()) seen.counted.push_back(tasks[i]->counted());
    }
    seen.operations = faults.operations.load();
    const index_t most = most_of(sweeps_over(plan, Place::scratch));
    seen.writes_off_blocks = scratch.writes_off_blocks();
    for (index_t i = 0; i < scratch.size_bytes(); ++i)
        seen.scratch_at_most_once = seen.scratch_at_most_once && scratch.writes_of(i) <= most;
    return status;
}

}  // namespace

RanksDisks::RanksDisks(const Plan& plan, int ranks) : lines(static_cast<size_t>(ranks)) {
    index_t extra = plan.output_extra_bytes, scratch_extra = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        const PlannedSweeps planned = examine_sweeps(plan, false, rank);
        extra = std::max(extra, plan.output_extra_bytes + planned.output_extra_bytes);
        scratch_extra = std::max(scratch_extra, planned.scratch_extra_bytes);
    }
    output = std::make_unique<MemoryStore>(plan.output_file_bytes + extra);
    for (int rank = 0; rank < ranks; ++rank)
        scratch.push_back(std::make_unique<MemoryStore>(scratch_bytes(plan) + scratch_extra));
}

RanksRun run_on_ranks(const std::string& text, SolverFunction solve, const RanksSetting& setting) {
    RanksRun run;
    if (setting.disks) setting.disks->writes = 0;
    auto plan = plan_on_two_cores(text, solve, setting.slow_messages, setting.fast_scratch);
    run.planned = plan.status();
    if (!run.planned.ok()) return run;
    run.plan = std::move(plan).value();
    const Problem& p = run.plan->problem;
    run.input = random_input(p, 7);
    const std::string bytes = to_bytes(run.input, p.input_elem());
    SharedStores shared(setting, *run.plan, bytes);
    run.ranks.resize(static_cast<size_t>(p.ranks));
    run.plan->checksum_bytes = examine_sweeps(*run.plan).memory_bytes;  // in any budget: they are to be right
    ThreadWorld own_world(p.ranks);
    ThreadWorld& world = setting.world ? *setting.world : own_world;
    world.run([&](int rank, Comm& comm) {
        RankSeen& seen = run.ranks[static_cast<size_t>(rank)];
        seen.status = run_rank(*run.plan, setting, shared, comm, seen);
    });
    run.plan->checksum_bytes = 0;
    for (int rank = 0; rank < p.ranks; ++rank) run.ranks[static_cast<size_t>(rank)].delivered = world.sent_by(rank);
    EXPECT_EQ(world.open_comms(), 0) << "communicators are left over";
    run.input_untouched = std::memcmp(shared.input.data() + setting.input_offset, bytes.data(), bytes.size()) == 0;
    MemoryStore& output = setting.disks ? *setting.disks->output : shared.output;
    run.output = from_bytes(std::string(reinterpret_cast<char*>(output.data()) + setting.output_offset,
                                        static_cast<size_t>(run.plan->output_file_bytes)),
                            p.stored_elem());
    run.writes_off_blocks = output.writes_off_blocks();
    if (setting.disks) return run;  // what is displaced, or written again, is not written as often
    const std::map<index_t, index_t> over_output = sweeps_over(*run.plan, Place::output);
    const index_t sweeps = over_output.begin()->second, end = setting.output_offset + run.plan->output_file_bytes;
    const index_t behind = over_output.size() > 1 ? most_of(over_output) : sweeps - 1;
    for (index_t i = 0; i < shared.output.size_bytes(); ++i) {
        const index_t writes = shared.output.writes_of(i);
        // Behind the output there is what does not stay.
        const bool good = i >= end ? writes <= behind : writes == (i < setting.output_offset ? 0 : sweeps);
        run.each_byte_once = run.each_byte_once && good;
    }
    return run;
}

namespace {

// Of all ranks in one step.
Counts sum_of(const RanksRun& run, size_t step) {
    Counts sum;
    for (const RankSeen& seen : run.ranks) sum += seen.counted[step];
    return sum;
}

// The filter of a convolution is read with each array of a batch.
index_t filter_read_again_bytes(const SweepSpec& sweep) {
    if (sweep.source.is_blocks() || !sweep.source.columns().twin()) return 0;
    const ColumnPanels& array = sweep.source.columns();
    return (array.outer - 1) * array.matrix_elems() * array.elem_bytes;
}

bool reads_some_twice(const SweepSpec& sweep) {
    return !sweep.source.is_blocks() && sweep.source.columns().mirrors_all();
}

// What the whole array is on the way into step `step`, and out of it: the input, what lies between, the output.
void expect_one_payload(const RanksRun& run) {
    const Problem& p = run.plan->problem;
    const index_t input_bytes = product(p.input_shape()) * p.loaded_bytes();
    const size_t steps = run.plan->steps.size();
    if (run.plan->sweeps > std::ssize(run.plan->steps)) {  // steps of several sweeps of the same array
        Counts all;
        for (size_t i = 0; i < steps; ++i) all += sum_of(run, i);
        EXPECT_EQ(all.disk_read_bytes, run.plan->sweeps * input_bytes);
        EXPECT_EQ(all.disk_written_bytes, (run.plan->sweeps - 1) * input_bytes + run.plan->output_file_bytes);
        return;
    }
    const index_t read_bytes = sum_of(run, 0).disk_read_bytes;
    EXPECT_TRUE(run.plan->reads_twice ? read_bytes >= input_bytes : read_bytes == input_bytes) << read_bytes;
    EXPECT_EQ(sum_of(run, steps - 1).disk_written_bytes, run.plan->output_file_bytes);
    for (size_t i = 0; i + 1 < steps; ++i) {
        const auto* const sweep = dynamic_cast<const SweepStep*>(run.plan->steps[i].get());
        const auto* const next = dynamic_cast<const SweepStep*>(run.plan->steps[i + 1].get());
        const index_t again = next ? filter_read_again_bytes(next->spec()) : 0;
        const index_t made = sum_of(run, i).disk_written_bytes + again, read = sum_of(run, i + 1).disk_read_bytes;
        EXPECT_TRUE(next && reads_some_twice(next->spec()) ? read >= made : read == made)
            << "between step " << i << ": " << made << ", " << read;
        if (!sweep) continue;
        if (const auto& spec = sweep->spec();
            spec.sharing.own_part && !spec.target.is_blocks() && spec.target.columns().mirrored()) {
            // Of half a spectrum parts are not alike.
            EXPECT_EQ(sum_of(run, i).disk_written_bytes, spec.target.columns().array_bytes());
            continue;
        }
        SweepSpec alone = sweep->spec();  // the same sweep by one process
        index_t parts = 1, of_parts = 1;  // or what rank 0 has of it
        if (const auto& part = alone.sharing.own_part) parts = part->all, of_parts = part->a_rank;
        if (!alone.source.is_blocks()) alone.source.columns().ranks = 1;
        if (!alone.target.is_blocks()) alone.target.columns().ranks = 1;
        alone.sharing = Sharing();
        EXPECT_EQ(sum_of(run, i).disk_written_bytes,
                  SweepStep(alone, Machine()).predict(0).disk_written_bytes / of_parts * parts);
    }
}

}  // namespace

void expect_shared_out(const RanksRun& run) {
    EXPECT_TRUE(run.each_byte_once);
    EXPECT_EQ(run.writes_off_blocks, 0);
    EXPECT_TRUE(run.input_untouched);
    for (size_t rank = 0; rank < run.ranks.size(); ++rank) {
        SCOPED_TRACE(cat("rank ", rank));
        const RankSeen& seen = run.ranks[rank];
        ASSERT_TRUE(seen.status.ok()) << seen.status.message();
        expect_counted(seen.predicted, seen.counted);
        index_t messages = 0, sent_bytes = 0;
        for (const Counts& counts : seen.counted) messages += counts.messages, sent_bytes += counts.sent_bytes;
        EXPECT_EQ(seen.delivered.messages, messages);
        EXPECT_EQ(seen.delivered.bytes, sent_bytes);
        EXPECT_LE(run.plan->peak_memory_bytes(static_cast<int>(rank)), run.plan->problem.memory_bytes);
        EXPECT_EQ(seen.progress_bytes, seen.progress_total);
        EXPECT_TRUE(seen.scratch_at_most_once);
        EXPECT_EQ(seen.writes_off_blocks, 0);
    }
    expect_one_payload(run);
}

}  // namespace spanfft::test
