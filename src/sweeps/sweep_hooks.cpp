// Sums and logs around a pipeline's steps; see sweep_hooks.hpp.
#include "sweeps/sweep_hooks.hpp"

#include <atomic>

namespace spanfft {

namespace {

// All runs of a group, shared among the threads.
template <class Visit>
void each_run(ThreadTeam& team, index_t count, const Visit& visit) {
    std::atomic<index_t> next{0};
    const auto job = [&](int member) {
        for (index_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) visit(member, i);
    };
    team.run(job);
}

index_t reads_a_panel(const PipelineSpec& pipeline, index_t tiles) {
    return tiles / pipeline.steps_per_read * pipeline.parts;
}

// Of the panel that ends with this group of reads.
Status check_panel(const PipelineSpec& pipeline, const RunningSweep& sweep, index_t tiles, index_t group,
                   index_t slot) {
    const index_t groups = reads_a_panel(pipeline, tiles);
    if ((group + 1) % groups != 0) return {};
    return sweep.read_sums->check(group / groups, *pipeline.source, [&](const PanelSums::EachRun& found) {
        for (index_t g = group + 1 - groups; g <= group; ++g)
            for (index_t i = 0; i < pipeline.read_count(g); ++i)
                found(pipeline.read_run(g, pipeline.parts > 1 ? g % pipeline.parts : slot, i));
    });
}

// Checksums of what was read before it is used, and of what was made before it is written.
void sum_up(PipelineSpec& pipeline, const RunningSweep& sweep, index_t tiles, ThreadTeam& team) {
    if (!sweep.read_sums && !sweep.sums && !sweep.input_sum) return;
    const bool sums_reads = sweep.read_sums || sweep.input_sum, takes = static_cast<bool>(pipeline.take);
    const auto sum_read = [&pipeline, &sweep, &team, tiles](index_t group, index_t slot) -> Status {
        const index_t panel = group / reads_a_panel(pipeline, tiles);
        each_run(team, pipeline.read_count(group), [&](int member, index_t i) {
            const Run run = pipeline.read_run(group, slot, i);
            if (sweep.read_sums) sweep.read_sums->add_read(member, panel, i, run);
            if (sweep.input_sum) sweep.input_sum->add(member, panel, i, run);
        });
        return sweep.read_sums ? check_panel(pipeline, sweep, tiles, group, slot) : Status();
    };
    if (takes && sums_reads) {  // before it is taken out of its slot
        pipeline.take = [sum_read, take = pipeline.take](index_t group, index_t slot) -> Status {
            SPANFFT_TRY(sum_read(group, slot));
            return take(group, slot);
        };
    }
    const auto sum_made = [&pipeline, &sweep, &team, tiles](index_t step, index_t slot) {
        if (!sweep.sums || (step + 1) % pipeline.steps_per_write != 0) return;
        const index_t group = step / pipeline.steps_per_write;
        each_run(team, pipeline.write_count(group),
                 [&](int member, index_t i) { sweep.sums->add_written(member, pipeline.write_run(group, slot, i)); });
        if ((step + 1) % tiles == 0) sweep.sums->end_written(step / tiles);
    };
    if (sums_reads && pipeline.fetch) {
        pipeline.fetch = [&pipeline, sum_read, fetch = pipeline.fetch](index_t step, index_t slot) -> Status {
            if (step % pipeline.steps_per_read == 0) SPANFFT_TRY(sum_read(step / pipeline.steps_per_read, slot));
            return fetch(step, slot);
        };
    }
    const bool sums_in_compute = sums_reads && !takes && !pipeline.fetch,
               hands_on = static_cast<bool>(pipeline.hand_on);
    pipeline.compute = [&, tiles, sum_read, sum_made, sums_in_compute, hands_on, compute = pipeline.compute](
                           index_t step, index_t read, index_t write) -> Status {
        if (sums_in_compute && step % pipeline.steps_per_read == 0)
            SPANFFT_TRY(sum_read(step / pipeline.steps_per_read, read));
        SPANFFT_TRY(compute(step, read, write));
        if (sweep.input_sum && (step + 1) % tiles == 0) sweep.input_sum->end_read(step / tiles);
        if (!hands_on) sum_made(step, write);
        return {};
    };
    if (!hands_on) return;
    pipeline.handed_on = [&pipeline, sum_made, handed_on = pipeline.handed_on](index_t step, index_t slot) -> Status {
        SPANFFT_TRY(handed_on(step, slot));
        sum_made(step, slot);
        return {};
    };
}

// What the journal wants to know, and what it wants to be waited for.
void log_panels(PipelineSpec& pipeline, const RunningSweep& sweep, index_t tiles) {
    const index_t groups = tiles / pipeline.steps_per_write;  // of writes, a panel
    pipeline.written = [&sweep, groups](index_t group) -> Status {
        if ((group + 1) % groups != 0 || sweep.done_before(group / groups)) return {};
        if (sweep.input_sum) sweep.input_sum->settle(group / groups);
        if (sweep.log) return sweep.log->written(group / groups);
        if (sweep.sums) sweep.sums->settle(group / groups);
        return {};
    };
    if (!sweep.log || !sweep.needs) return;
    pipeline.writes_before = [&sweep, groups](index_t group) { return sweep.needs(group / groups) * groups; };
    pipeline.before_write = [&sweep, groups](index_t group) { return sweep.log->before_write(group / groups); };
}

}  // namespace

void watch_panels(PipelineSpec& pipeline, const RunningSweep& sweep, index_t tiles, RunContext& context,
                  SweepTeam& team) {
    pipeline.first_touch = context.first_touch;
    pipeline.team = &team.compute;
    pipeline.trace = context.trace;
    if (context.progress) pipeline.progress = [&context](index_t bytes) { return context.advance(bytes); };
    sum_up(pipeline, sweep, tiles, team.compute);
    log_panels(pipeline, sweep, tiles);
}

Status run_logged(const RunningSweep& sweep, const std::function<Status()>& run) {
    if (!sweep.log) return run();
    sweep.log->begin(sweep);
    Status status = run();
    if (status.ok()) return sweep.log->finish();
    sweep.log->stop();
    return status;
}

Result<Counts> run_panels(PipelineSpec& pipeline, index_t tiles, RunContext& context, SweepTeam& team) {
    const RunningSweep& sweep = *context.sweep;
    pipeline.source = sweep.source.store;
    pipeline.target = sweep.target.store;
    if (!pipeline.source || !pipeline.target || !pipeline.memory)
        return error(Code::internal, "a sweep was run without its stores or its work space");
    pipeline.first_step = sweep.begins_at * tiles;
    watch_panels(pipeline, sweep, tiles, context, team);
    const StoreCounter moved(*pipeline.source, *pipeline.target);
    SPANFFT_TRY(run_logged(sweep, [&] { return team.pipeline.run(pipeline); }));
    return moved.counted();
}

}  // namespace spanfft
