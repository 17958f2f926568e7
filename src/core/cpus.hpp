// CPUs: which ones this thread may use, how the ranks of a node share them, and where the threads of a team go.
//
// Method: the kernel says which CPUs a thread may use (sched_getaffinity) and which of them are one core (sysfs). CPUs
// are listed core by core, so that a share of consecutive ones is one of whole cores. A rank that a launcher bound has
// a set of its own and keeps all of it; ranks that were given the same set divide it.
// Worked numbers: 4 cores of two CPUs each are 0 4 1 5 2 6 3 7. Three ranks have 0 4, 1 5 2 and 6 3 7; the threads of
// the second go to 1, 2, 5: each core once before any twice.
// Invariant: the affinity of the caller's thread is as it was after every call; only a team's own threads keep what
// they are given here.
#pragma once

#include <sched.h>

#include <vector>

#include "core/status.hpp"

namespace spanfft {

struct Cpu {
    int number = 0;
    int package = 0, core = 0;  // alike for CPUs of one core
    bool operator==(const Cpu&) const = default;
};

cpu_set_t allowed_cpus();                          // of this thread; empty where the system does not say
std::vector<Cpu> list_cpus(const cpu_set_t& set);  // core by core
// Part `part` of `parts`: balanced, consecutive. With fewer CPUs than parts, one CPU, which several parts have.
std::vector<Cpu> share_of(const std::vector<Cpu>& cpus, int part, int parts);
std::vector<int> spread(const std::vector<Cpu>& cpus);  // numbers; each core once before any twice

// What SPANFFT_PIN asks for: "" (unset), the teams of a rank keep to its share where ranks divide a set of CPUs; "1",
// each thread of a team has a CPU of its own, while it works also the caller, which is one of them; "0", nothing.
enum class Pinning { shares, each, none };
Result<Pinning> pinning_asked_for();

// Where the teams go that are made by this thread while this exists.
class TeamCpus {
  public:
    // divided: whether `share` is a part of what the ranks were given together.
    TeamCpus(Pinning pinning, const std::vector<Cpu>& share, bool divided);
    ~TeamCpus();
    TeamCpus(const TeamCpus&) = delete;
    TeamCpus& operator=(const TeamCpus&) = delete;

    static const TeamCpus* now();  // nullptr: anywhere
    // Of the member of a team; may be empty: wherever the thread that made it may run.
    cpu_set_t of_member(int member) const;
    bool moves_caller() const { return pinning_ == Pinning::each && !order_.empty(); }

  private:
    Pinning pinning_;
    std::vector<int> order_;
    const TeamCpus* before_;
};

}  // namespace spanfft
