// Clock offsets from barriers and broadcasts; see clock_alignment.hpp.
//
// Worked numbers: here t0 = 100, t1 = 140, and rank 0 read T = 1020 in between: the offset is in [880, 920], so 900
// within 20. A second round with t0 = 200, t1 = 230, T = 1112 gives [882, 912]; both together [882, 912]: 897
// within 15.
#include "exec/clock_alignment.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <limits>

#include "core/trace.hpp"

namespace spanfft {

namespace {

constexpr int kRounds = 32;
constexpr size_t kIdentityBytes = 128;

// Whether this rank's clock is rank 0's. Collective; `all` tells whether that is so on every rank.
Status compare_identities(Comm& comm, const std::string& mine, bool& same, bool& all) {
    std::array<char, kIdentityBytes> own{}, reference{};
    std::memcpy(own.data(), mine.data(), std::min(mine.size(), kIdentityBytes - 1));
    reference = own;
    SPANFFT_TRY(comm.broadcast(reference.data(), reference.size(), 0));
    same = comm.rank() == 0 || (!mine.empty() && own == reference);
    const char flag = same;
    std::vector<char> flags(static_cast<size_t>(comm.size()));
    SPANFFT_TRY(comm.allgather(&flag, 1, flags.data()));
    all = std::find(flags.begin(), flags.end(), char{0}) == flags.end();
    return Status();
}

}  // namespace

ClockSource this_clock() {
    std::string boot_id;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot_id;
    std::array<char, 64> name_space{};  // "time:[4026531834]"; "" on kernels that have one clock only
    if (readlink("/proc/self/ns/time", name_space.data(), name_space.size() - 1) < 0) name_space[0] = '\0';
    return {boot_id.empty() ? std::string() : boot_id + " " + name_space.data(), trace_clock_ns};
}

Result<ClockAlignment> align_clocks(Comm& comm, const ClockSource& clock) {
    if (comm.size() == 1) return ClockAlignment();
    bool same = false, all = false;
    SPANFFT_TRY(compare_identities(comm, clock.identity, same, all));
    if (all) return ClockAlignment();
    int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
    for (int round = 0; round < kRounds; ++round) {
        const int64_t before = clock.now_ns();
        SPANFFT_TRY(comm.barrier());
        int64_t there = clock.now_ns();
        SPANFFT_TRY(comm.broadcast(&there, sizeof there, 0));
        const int64_t after = clock.now_ns();
        least = std::max(least, there - after);
        most = std::min(most, there - before);
    }
    if (same) return ClockAlignment();
    return ClockAlignment{least + (most - least) / 2, std::max<int64_t>(0, (most - least + 1) / 2)};
}

}  // namespace spanfft
