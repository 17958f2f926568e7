// SweepTeam: compute threads and I/O threads, which the sweeps of one executor share.
#pragma once

#include <memory>
#include <string>

#include "core/threads.hpp"
#include "disk/pipeline.hpp"
#include "plan/step.hpp"

namespace spanfft {

constexpr int kSweepIoThreads = 16;  // for reads, and as many for writes

class SweepTeam {
  public:
    SweepTeam(int threads, const IoChoice& io) : compute(threads), pipeline(kSweepIoThreads, io) {}
    ThreadTeam compute;
    Pipeline pipeline;
};
Result<std::shared_ptr<SweepTeam>> make_sweep_team(int threads, const std::string& io);
// The one of a binding, whose threads have started; the first step that asks makes it.
Result<std::shared_ptr<SweepTeam>> team_of(Binding& binding, int threads);

std::string describe_io(const SweepTeam& team);  // who did the reads and writes so far; "" before the first
// What sweeps would do on this machine, asked for `io` (Problem::io).
Result<std::string> describe_machine_io(const std::string& io);

}  // namespace spanfft
