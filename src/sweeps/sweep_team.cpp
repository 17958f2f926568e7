// Making teams, and saying how they do I/O; see sweep_team.hpp.
#include "sweeps/sweep_team.hpp"

namespace spanfft {

Result<std::shared_ptr<SweepTeam>> make_sweep_team(int threads, const std::string& io) {
    IoChoice choice;
    SPANFFT_ASSIGN(choice.backend, choose_io_backend(io));
    return std::make_shared<SweepTeam>(threads, choice);
}

Result<std::shared_ptr<SweepTeam>> team_of(Binding& binding, int threads) {
    if (!binding.sweep_team) {
        SPANFFT_ASSIGN(binding.sweep_team, make_sweep_team(threads, binding.io));
    }
    SPANFFT_TRY(binding.sweep_team->pipeline.started());
    return binding.sweep_team;
}

std::string describe_io(const SweepTeam& team) {
    const std::string reads = team.pipeline.describe_reads(), writes = team.pipeline.describe_writes();
    if (reads.empty() || reads == writes) return reads;
    return "reads " + reads + "; writes " + writes;
}

Result<std::string> describe_machine_io(const std::string& io) {
    IoChoice choice;
    SPANFFT_ASSIGN(choice.backend, choose_io_backend(io));
    return describe_disk_io(choice, kSweepIoThreads);
}

}  // namespace spanfft
