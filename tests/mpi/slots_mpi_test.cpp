// Where the memory of plans lies on real ranks: every slot that a plan owns begins on a page, whether it is a buffer or
// a part of a window, of this rank or of another as this rank sees it. Engines and streamed stores count on that;
// Open MPI 4.1 aligns what it allocates to 8 bytes.
//
// Method: a last step that transforms nothing looks at what the executor gives to every step.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdint>
#include <cstdlib>

#include "comm/mpi/mpi_comm.hpp"
#include "exchange/exchange.hpp"
#include "exec/executor.hpp"
#include "plan/planner.hpp"
#include "plan/topology.hpp"

namespace spanfft::test {
namespace {

constexpr std::uintptr_t kPage = 4096;

struct Seen {
    int buffers = 0, parts = 0;  // of windows
};

void expect_on_page(const void* memory, const std::string& what) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % kPage, 0U) << what;
}

class LookingTask final : public Task {
  public:
    LookingTask(const Binding& binding, bool owns_output, Seen& seen)
        : binding_(binding), owns_output_(owns_output), seen_(seen) {}
    Status run(RunContext& context) override {
        for (const Slot slot : {Slot::output, Slot::work0, Slot::work1}) {
            if (slot == Slot::output && !owns_output_) continue;  // the caller's
            expect_on_page(context.at(slot), slot_name(slot));
            const SharedWindow* window = binding_.window(slot);
            if (!window) {
                seen_.buffers += context.at(slot) != nullptr;
                continue;
            }
            EXPECT_EQ(window->part(binding_.comm.rank()), context.at(slot)) << slot_name(slot);
            for (int rank = 0; rank < binding_.comm.size(); ++rank)
                expect_on_page(window->part(rank), cat(slot_name(slot), " of rank ", rank));
            ++seen_.parts;
        }
        return Status();
    }
    Counts counted() const override { return {}; }

  private:
    const Binding& binding_;
    bool owns_output_;
    Seen& seen_;
};

class LookingStep final : public Step {
  public:
    LookingStep(bool owns_output, Seen& seen) : owns_output_(owns_output), seen_(seen) {}
    const char* type() const override { return "Look"; }
    std::string describe() const override { return "looks at the slots"; }
    Counts price(int) const override { return {}; }
    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        return std::unique_ptr<Task>(new LookingTask(binding, owns_output_, seen_));
    }

  private:
    bool owns_output_;
    Seen& seen_;
};

// Runs a plan with that step behind its own, where these ranks can have it.
void look_at(Comm& comm, const std::string& text, Seen& seen) {
    SCOPED_TRACE(text);
    Problem problem = Problem::parse(text).value();
    problem.ranks = comm.size();
    Machine machine = this_machine();
    machine.persistent_collectives = comm.persistent_collectives();
    ASSERT_TRUE(find_topology(comm, machine).ok());
    auto planned = Planner(machine).plan(problem);
    if (planned.status().code() == Code::unsupported) return;  // persistent, before MPI 4
    ASSERT_TRUE(planned.ok()) << planned.status().message();
    std::shared_ptr<Plan> plan = std::move(planned).value();
    plan->steps.push_back(std::make_unique<LookingStep>(plan->problem.own_output, seen));
    auto made = Executor::make(plan, comm.duplicate().value());
    ASSERT_TRUE(made.ok()) << made.status().message();
    Executor& executor = *made.value();
    const auto bytes =
        static_cast<size_t>(std::max(plan->input.local_bytes(comm.rank()), plan->output.local_bytes(comm.rank())));
    std::vector<long double> in(bytes / sizeof(long double) + 1), out(in.size());
    void* const target = plan->problem.own_output ? executor.own_output()
                         : plan->problem.in_place ? in.data()
                                                  : out.data();
    const Status ran = executor.execute(in.data(), target);
    EXPECT_TRUE(ran.ok()) << ran.message();
}

Seen look_at_every_exchange(Comm& comm) {
    Seen seen;
    for (const auto& strategy : exchange_table()) {
        for (const char* problem : {"c2c 9x7x6", "r2c 7x6x5 float backward output=exchanged", "c2c 4x3x5 in_place",
                                    "c2c 6x7x4 own_output", "r2c 2x11x1x13 longdouble own_output backward"})
            look_at(comm, cat(problem, " exchange=", strategy.name), seen);
    }
    return seen;
}

TEST(MpiSlots, AllThatAPlanOwnsBeginOnPagesInWindowsOfOurOwn) {
    const auto comm = make_mpi_comm(MPI_COMM_WORLD).value();
    const Seen seen = look_at_every_exchange(*comm);
    EXPECT_GT(seen.buffers, 0);
    EXPECT_TRUE(seen.parts > 0 || comm->size() == 1);
}

TEST(MpiSlots, AllThatAPlanOwnsBeginOnPagesInWindowsOfMpi) {
    const auto comm = make_mpi_comm(MPI_COMM_WORLD).value();
    setenv("SPANFFT_WINDOWS", "mpi", 1);
    const Seen seen = look_at_every_exchange(*comm);
    unsetenv("SPANFFT_WINDOWS");
    EXPECT_GT(seen.buffers, 0);
    EXPECT_TRUE(seen.parts > 0 || comm->size() == 1);
}

}  // namespace
}  // namespace spanfft::test
