// What this process really asks MPI to send: a layer between the library and MPI, by MPI's own profiling interface.
//
// Method: the test program defines the MPI functions that carry data; the library's calls come here, are counted from
// their arguments alone (counts times the sizes of datatypes, to other ranks of the communicator) and go on to PMPI.
// Invariant: nothing of spanfft's is used, so that its counts can be held against these. What MPI does beneath is not
// seen: how it carries a collective is its own business.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace spanfft::test {

struct WireCounts {
    int64_t messages = 0;                        // not empty, to other ranks
    int64_t bytes = 0;                           // in them
    int64_t calls = 0;                           // that send or receive data: a collective is one
    std::map<std::string, int64_t> by_function;  // calls, of these and of all others that are watched
};

// Since the process began; thread-safe.
WireCounts wire_counts();
WireCounts operator-(const WireCounts& after, const WireCounts& before);

}  // namespace spanfft::test
