// Memory that the processes of one node share, of our own making: a file in memory without a name (memfd).
//
// Method: rank 0 makes the file and tells the others its number; they open it by /proc/PID/fd/NUMBER, look whether it
// is the same file, and all map it. Every part begins at a multiple of 2 MiB, in memory and in the file, so that
// engines and streamed stores may count on any alignment and whole huge pages fit. Its rank touches a part first, so
// that it lies near that rank's core, and asks for huge pages. Invariant: nothing has a name and no descriptor stays
// open once the window is made, so that whatever ends a process, the system takes the memory back. What the system
// can't give is said before it is touched: no SIGBUS, no SIGXFSZ. Cost: address space of 2 MiB more a rank; memory of
// the pages that are touched and no more.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "comm/comm.hpp"
#include "comm/node_barrier.hpp"

namespace spanfft {

constexpr index_t kWindowAlignment = index_t{2} << 20;

// Collective over comm, whose ranks are processes of one node. Code::unsupported, on all ranks, where it can't be done
// here, with the reason: another sort of window may work. progress: as NodeBarrier has it.
Result<std::unique_ptr<SharedWindow>> make_node_window(Comm& comm, index_t bytes, std::function<void()> progress = {});

// SPANFFT_WINDOWS: "own", "mpi" or "none" leave one way to make windows, or none; empty: own ones, else MPI's.
std::string windows_asked_for();

// Gives pages to zeroed memory of whole pages, without a signal where there are none.
Status populate(void* start, index_t bytes);

// Whether files in memory of so many bytes may be made: the limit on file sizes (ulimit -f).
Status file_size_allowed(index_t bytes);

// Collective. Whether every rank of comm, all on one node, may have a core of its own.
Result<bool> has_core_for_each(Comm& comm);

// How windows are made in this process, for people: "memory of our own (memfd), pages of 2 MiB".
std::string describe_windows();

}  // namespace spanfft
