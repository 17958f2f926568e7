// Ranks by node; see topology.hpp.
#include "plan/topology.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace spanfft {

namespace {

constexpr size_t kWords = 16;  // bits of the first 1024 cores
using Cores = std::array<uint64_t, kWords>;

Cores my_cores() {
    Cores cores{};
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cores;
    for (size_t core = 0; core < std::min<size_t>(CPU_SETSIZE, 64 * kWords); ++core) {
        if (CPU_ISSET(core, &allowed)) cores[core / 64] |= uint64_t{1} << core % 64;
    }
    return cores;
}

}  // namespace

Status find_topology(Comm& comm, Machine& machine) {
    SPANFFT_ASSIGN(std::vector<int> node_of_rank, comm.nodes());
    if (node_of_rank.empty()) node_of_rank.assign(static_cast<size_t>(comm.size()), 0);
    const Cores mine = my_cores();
    std::vector<Cores> all(static_cast<size_t>(comm.size()));
    SPANFFT_TRY(comm.allgather(&mine, sizeof mine, all.data()));
    std::vector<Cores> nodes;  // of all their ranks
    for (size_t rank = 0; rank < all.size(); ++rank) {
        const auto node = static_cast<size_t>(node_of_rank[rank]);
        if (node >= nodes.size()) nodes.resize(node + 1);
        for (size_t i = 0; i < kWords; ++i) nodes[node][i] |= all[rank][i];
    }
    machine.topology.node_of_rank = std::make_shared<const std::vector<int>>(std::move(node_of_rank));
    int fewest = 0;
    for (const Cores& node : nodes) {
        int cores = 0;
        for (uint64_t word : node) cores += __builtin_popcountll(word);
        if (cores > 0 && (fewest == 0 || cores < fewest)) fewest = cores;
    }
    if (fewest > 0) machine.cores = fewest;
    return Status();
}

}  // namespace spanfft
