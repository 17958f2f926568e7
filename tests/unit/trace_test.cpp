// Traces: what is recorded, where it lies, that it adds up to what the steps counted, and that clocks are aligned.
//
// Oracle: the events of the first track of a rank must nest like brackets, runs around steps around phases, and so must
// those of a communication thread; the bytes of the transfers of a step must be those that its task counted; each chunk
// of a step is there once; what the categories take can't be more than the run. Offsets of simulated clocks are known.
#include "core/trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>

#include "exchange/exchange.hpp"
#include "exec/executor.hpp"
#include "plan/planner.hpp"
#include "support/oracle.hpp"
#include "support/thread_comm.hpp"

namespace spanfft::test {
namespace {

TEST(Trace, DropsWhatDoesNotFitAndKeepsRoomForStepsAndRuns) {
    auto trace = std::move(Trace::make(16)).value();
    for (int i = 0; i < 20; ++i) trace->record({"phase", TraceCategory::compute});
    EXPECT_EQ(trace->size(), 14);
    EXPECT_EQ(trace->dropped(), 6);
    for (int i = 0; i < 3; ++i) trace->record({"step", TraceCategory::step});
    EXPECT_EQ(trace->size(), 16);
    EXPECT_EQ(trace->dropped(), 7);
    EXPECT_STREQ(trace->at(13).name, "phase");
    EXPECT_STREQ(trace->at(14).name, "step");
}

TEST(Trace, ScopesWriteOnceWhenTheyEndAndNothingWithoutATrace) {
    auto trace = std::move(Trace::make(0)).value();
    trace->enter_step(3);
    {
        const TraceScope none(nullptr, "none", TraceCategory::compute);
        TraceScope outer(trace.get(), "outer", TraceCategory::communication, 5);
        {
            const TraceScope inner(trace.get(), "inner", TraceCategory::wait);
        }
        EXPECT_EQ(trace->size(), 1);
        outer.moved(7);
    }
    ASSERT_EQ(trace->size(), 2);
    const TraceEvent &inner = trace->at(0), &outer = trace->at(1);
    EXPECT_STREQ(inner.name, "inner");
    EXPECT_STREQ(outer.name, "outer");
    EXPECT_EQ(outer.moved_bytes, 7);
    EXPECT_EQ(inner.moved_bytes, -1);
    EXPECT_EQ(outer.step, 3);
    EXPECT_LE(outer.start_ns, inner.start_ns);
    EXPECT_LE(inner.start_ns, inner.end_ns);
    EXPECT_LE(inner.end_ns, outer.end_ns);
}

TEST(Trace, WhatAnotherThreadDoesHasATrackOfItsOwn) {
    auto trace = std::move(Trace::make(0)).value();
    std::thread([&] { const TraceScope scope(trace.get(), "wait", TraceCategory::wait); }).join();
    {
        const TraceScope scope(trace.get(), "wait", TraceCategory::wait);
    }
    std::thread([&] {
        trace->begin_run();
        const TraceScope scope(trace.get(), "wait", TraceCategory::wait);
    }).join();
    EXPECT_EQ(trace->at(0).track, TraceTrack::calls);
    EXPECT_EQ(trace->at(1).track, TraceTrack::steps);
    EXPECT_EQ(trace->at(2).track, TraceTrack::steps);
}

TEST(Trace, PhasesKnowTheChunkThatTheirThreadIsIn) {
    auto trace = std::move(Trace::make(0)).value();
    trace->enter_step(1);
    trace->record({"before", TraceCategory::compute});
    trace->enter_chunk(4);
    trace->record({"inside", TraceCategory::compute});
    trace->record({"step", TraceCategory::step});
    std::thread([&] { trace->record({"call", TraceCategory::communication}); }).join();
    trace->enter_step(2);
    trace->record({"after", TraceCategory::compute});
    for (const auto& [at, chunk] : {std::pair{0, -1}, {1, 4}, {2, -1}, {3, -1}, {4, -1}})
        EXPECT_EQ(trace->at(at).chunk, chunk) << trace->at(at).name;
}

TEST(Trace, RefusesSizesThatCanOnlyBeMistakes) {
    EXPECT_EQ(Trace::make(-1).status().code(), Code::invalid_argument);
    EXPECT_EQ(Trace::make(index_t{1} << 40).status().code(), Code::invalid_argument);
}

// --- clocks
// -----------------------------------------------------------------------------------------------------------

TEST(AlignClocks, FindsTheOffsetsOfOtherHostsWithinTheAccuracyThatItStates) {
    for (int ranks : {2, 3, 5, 8}) {
        ThreadWorld world(ranks);
        std::mutex mutex;
        world.run([&](int rank, Comm& comm) {
            // Two hosts: even ranks read rank 0's clock, odd ones one that is hours behind or ahead.
            const int64_t skew = rank % 2 == 0 ? 0 : (rank % 4 == 1 ? -1 : 1) * (int64_t{3'600'000'000'000} + rank);
            const ClockSource clock{rank % 2 == 0 ? "a" : "b", [=] { return trace_clock_ns() + skew; }};
            const auto found = align_clocks(comm, clock);
            const std::lock_guard lock(mutex);
            ASSERT_TRUE(found.ok()) << found.status().message();
            EXPECT_LE(std::abs(found.value().offset_ns + skew), found.value().accuracy_ns) << rank;
            if (rank % 2 == 0) {
                EXPECT_EQ(found.value().offset_ns, 0);
                EXPECT_EQ(found.value().accuracy_ns, 0);
            }
        });
    }
}

TEST(AlignClocks, RanksThatShareAClockNeedNoRounds) {
    ThreadWorld world(4);
    world.run([&](int, Comm& comm) {
        const auto found = align_clocks(comm, this_clock());
        ASSERT_TRUE(found.ok());
        EXPECT_EQ(found.value().offset_ns, 0);
        EXPECT_EQ(found.value().accuracy_ns, 0);
    });
    EXPECT_EQ(world.calls(0, CommCall::barrier), 0);
    EXPECT_FALSE(this_clock().identity.empty());
}

TEST(AlignClocks, ClocksWithoutAnIdentityAreNotTakenForOne) {
    ThreadWorld world(2);
    world.run([&](int, Comm& comm) { ASSERT_TRUE(align_clocks(comm, ClockSource{"", trace_clock_ns}).ok()); });
    EXPECT_GT(world.calls(1, CommCall::barrier), 0);
}

// --- executors
// --------------------------------------------------------------------------------------------------------

std::vector<TraceEvent> events_of(const Trace& trace) {
    std::vector<TraceEvent> events;
    for (index_t i = 0; i < trace.size(); ++i) events.push_back(trace.at(i));
    return events;
}

bool inside(const TraceEvent& inner, const TraceEvent& outer) {
    return outer.start_ns <= inner.start_ns && inner.end_ns <= outer.end_ns;
}

// Events of one thread end in the order in which they are recorded: an event's insides are before it and end before it
// does; everything else before it ended before it began. Returns what is in no other.
std::vector<TraceEvent> expect_nested(const std::vector<TraceEvent>& events, TraceTrack track) {
    std::vector<TraceEvent> open;
    for (const auto& event : events) {
        EXPECT_LE(event.start_ns, event.end_ns) << event.name;
        if (event.track != track) continue;
        while (!open.empty() && open.back().start_ns >= event.start_ns) {
            EXPECT_TRUE(inside(open.back(), event)) << open.back().name << " in " << event.name;
            open.pop_back();
        }
        if (!open.empty()) {
            EXPECT_LE(open.back().end_ns, event.start_ns) << open.back().name << " crosses " << event.name;
        }
        open.push_back(event);
    }
    return open;
}

// Of nested events, what each category takes by itself is its events' time less that of the events inside them.
void expect_shares_within(const std::vector<TraceEvent>& events, TraceTrack track, int64_t wall_ns) {
    std::map<TraceCategory, int64_t> share_ns;
    for (const auto& event : events) {
        if (event.track != track) continue;
        share_ns[event.category] += event.end_ns - event.start_ns;
        const TraceEvent* around = nullptr;  // the shortest one that was recorded later and holds it
        for (const TraceEvent* other = &event + 1; other != events.data() + events.size(); ++other) {
            if (other->track == track && inside(event, *other) && !around) around = other;
        }
        if (around) share_ns[around->category] -= event.end_ns - event.start_ns;
    }
    int64_t sum_ns = 0;
    for (const auto& [category, ns] : share_ns) {
        EXPECT_GE(ns, 0) << static_cast<int>(category);
        sum_ns += ns;
    }
    EXPECT_LE(sum_ns, wall_ns);
}

// Chunks of a step, by what explain says; 0: it has none.
int chunks_of(const Step& step) {
    int chunks = 0;
    const std::string text = step.describe();
    const size_t at = text.find(" in ");
    return std::string(step.type()) == "TransformExchange" &&
                   std::sscanf(text.c_str() + at, " in %d chunks", &chunks) == 1
               ? chunks
               : 0;
}

// Every chunk of every step is transformed (where this rank has rows of it), packed and unpacked once in each run.
void expect_chunks(const std::vector<TraceEvent>& events, const Plan& plan, int runs, bool all_have_rows) {
    for (size_t i = 0; i < plan.steps.size(); ++i) {
        const int chunks = chunks_of(*plan.steps[i]);
        for (const char* phase : {"transform", "pack", "unpack"}) {
            std::map<int, int> times;
            for (const auto& event : events) {
                if (event.step == static_cast<int>(i) && event.name == std::string(phase)) ++times[event.chunk];
            }
            if (chunks == 0) continue;
            if (all_have_rows || phase != std::string("transform")) {
                EXPECT_EQ(static_cast<int>(times.size()), chunks) << phase;
            }
            for (const auto& [chunk, n] : times) {
                EXPECT_TRUE(chunk >= 0 && chunk < chunks) << phase << " of chunk " << chunk;
                EXPECT_EQ(n, runs) << phase << " of chunk " << chunk;
            }
        }
    }
}

const TraceEvent* run_around(const std::vector<TraceEvent>& events, const TraceEvent& event) {
    for (const auto& run : events) {
        if (run.category == TraceCategory::run && inside(event, run)) return &run;
    }
    return nullptr;
}

void expect_whole(const std::vector<TraceEvent>& events, const Executor& executor, int runs) {
    const auto& steps = executor.plan().steps;
    const auto& counted = *executor.counted();
    std::vector<int> times(steps.size());
    std::vector<index_t> sent(steps.size()), posts(steps.size()), waits(steps.size()), barriers(steps.size());
    int whole = 0;
    for (const auto& event : events) {
        EXPECT_NE(run_around(events, event), nullptr) << event.name;
        whole += event.category == TraceCategory::run;
        if (event.step < 0) continue;
        const auto i = static_cast<size_t>(event.step);
        ASSERT_LT(i, steps.size());
        if (event.category == TraceCategory::step) {
            ++times[i];
            EXPECT_STREQ(event.name, steps[i]->type());
        }
        if (event.track == TraceTrack::messages) sent[i] += event.moved_bytes;
        posts[i] += std::string(event.name) == "post" || std::string(event.name) == "call";
        waits[i] += std::string(event.name) == "wait";
        barriers[i] += std::string(event.name) == "barrier";
    }
    EXPECT_EQ(whole, runs);
    for (size_t i = 0; i < steps.size(); ++i) {
        EXPECT_EQ(times[i], runs) << steps[i]->describe();
        EXPECT_EQ(sent[i], runs * counted[i].sent_bytes) << steps[i]->describe();
        EXPECT_EQ(posts[i], waits[i]) << steps[i]->describe();
        if (std::string(steps[i]->type()) == "Exchange") {
            EXPECT_GE(posts[i] + barriers[i], runs) << steps[i]->describe();
        }
        if (std::string(steps[i]->type()) == "SharedTransform") {
            EXPECT_EQ(barriers[i], 2 * runs) << steps[i]->describe();
        }
    }
}

void expect_good_trace(const std::string& text, bool all_have_rows) {
    SCOPED_TRACE(text);
    auto planned = Planner(this_machine()).plan(Problem::parse(text).value());
    ASSERT_TRUE(planned.ok()) << planned.status().message();
    const std::shared_ptr<const Plan> plan = std::move(planned).value();
    ThreadWorld world(plan->problem.ranks);
    std::mutex mutex;
    world.run([&](int rank, Comm& comm) {
        auto executor = Executor::make(plan, comm.duplicate().value());
        ASSERT_TRUE(executor.ok()) << executor.status().message();
        LocalArray in(plan->input.local_bytes(rank), 8), out(plan->output.local_bytes(rank), 8);
        const auto execute = [&] { ASSERT_TRUE(executor.value()->execute(in.data(), out.data()).ok()); };
        execute();
        EXPECT_EQ(executor.value()->trace(), nullptr);
        ASSERT_TRUE(executor.value()->start_trace(0).ok());
        execute();
        execute();
        executor.value()->stop_trace();
        execute();
        const std::lock_guard lock(mutex);
        const Trace& trace = *executor.value()->trace();
        EXPECT_EQ(trace.dropped(), 0);
        const auto events = events_of(trace);
        int64_t wall_ns = 0;
        for (const auto& event : expect_nested(events, TraceTrack::steps)) {
            EXPECT_EQ(event.category, TraceCategory::run) << event.name;
            wall_ns += event.end_ns - event.start_ns;
        }
        expect_nested(events, TraceTrack::calls);
        expect_shares_within(events, TraceTrack::steps, wall_ns);
        expect_shares_within(events, TraceTrack::calls, wall_ns);
        expect_whole(events, *executor.value(), 2);
        expect_chunks(events, *plan, 2, all_have_rows);
        const bool by_thread = text.ends_with("thread");
        EXPECT_EQ(by_thread, std::any_of(events.begin(), events.end(),
                                         [](const TraceEvent& e) { return e.track == TraceTrack::calls; }));
    });
}

TEST(ExecutorTrace, EveryStepOfEveryRunIsThereOnceAndHoldsItsPhases) {
    for (const char* text : {
             "c2c 12x10x8 threads=1 engine=ducc0",
             "r2c 7x9x5 ranks=2 threads=1 engine=ducc0 exchange=alltoallv",
             "c2c 8x6x10 ranks=3 grid=3 threads=1 engine=ducc0 exchange=alltoallw",
             "r2c 13x11x6 ranks=6 grid=3x2 threads=1 engine=ducc0 exchange=alltoallv output=exchanged",
             "c2c 9x6x10 ranks=3 threads=1 engine=ducc0 exchange=shared",
             "c2c 3x5x2 ranks=8 grid=8 threads=1 engine=ducc0 exchange=alltoallw backward",
             "c2c 36x36x6 ranks=6 grid=3x2 threads=1 engine=ducc0 exchange=alltoallv layout=cyclic",
         })
        expect_good_trace(text, false);
}

TEST(ExecutorTrace, EveryStrategyShowsWhatItDoesChunkByChunk) {
    std::vector<std::string> exchanges{"overlap:3",  "oneplane:2",    "standard:all",         "replace:2",
                                       "phased:2x2", "blockvector:3", "blockvector:4,thread", "blockvector:thread"};
    for (const ExchangeStrategy& strategy : exchange_table()) exchanges.emplace_back(strategy.name);
    for (const std::string& exchange : exchanges) {
        expect_good_trace(cat("c2c 16x16x6 ranks=4 grid=4 threads=1 engine=ducc0 exchange=", exchange), true);
        expect_good_trace(cat("r2c 7x5x6 ranks=4 grid=4 threads=1 engine=ducc0 backward exchange=", exchange), false);
    }
}

TEST(ExecutorTrace, TransformsBetweenTheChunksOfAnExchangeAreChunks) {
    for (const std::string exchange : {"overlap:2", "oneplane", "blockvector:4", "blockvector:4,thread"}) {
        const auto text = cat("c2c 16x16x6 ranks=4 grid=4 threads=1 engine=ducc0 exchange=", exchange);
        auto planned = Planner(this_machine()).plan(Problem::parse(text).value());
        ASSERT_TRUE(planned.ok()) << planned.status().message();
        int chunks = 0;
        for (const auto& step : planned.value()->steps) chunks = std::max(chunks, chunks_of(*step));
        EXPECT_GT(chunks, 1) << text;
    }
}

TEST(ExecutorTrace, IsStartedOnAllRanksOrOnNone) {
    ThreadWorld world(3);
    auto planned = Planner(this_machine()).plan(Problem::parse("c2c 8x8 ranks=3 engine=ducc0").value());
    ASSERT_TRUE(planned.ok()) << planned.status().message();
    const std::shared_ptr<const Plan> plan = std::move(planned).value();
    world.run([&](int rank, Comm& comm) {
        auto executor = Executor::make(plan, comm.duplicate().value());
        ASSERT_TRUE(executor.ok());
        const Status status = executor.value()->start_trace(rank == 1 ? -5 : 100);
        EXPECT_EQ(status.code(), Code::invalid_argument);
        EXPECT_NE(status.message().find("rank 1: a trace of -5 events"), std::string::npos) << status.message();
        EXPECT_EQ(executor.value()->trace(), nullptr);
    });
}

}  // namespace
}  // namespace spanfft::test
