// Ranks by node; see topology.hpp.
#include "plan/topology.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

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

int count(const Cores& cores) {
    int n = 0;
    for (uint64_t word : cores) n += __builtin_popcountll(word);
    return n;
}

// Cores of the rank that has fewest, where ranks of a node that have the same ones divide them; 0: not known.
int smallest_share(const std::vector<Cores>& all, const std::vector<int>& nodes) {
    std::map<std::pair<int, Cores>, int> sharers;
    for (size_t rank = 0; rank < all.size(); ++rank) ++sharers[{nodes[rank], all[rank]}];
    int smallest = 0;
    for (const auto& [set, ranks] : sharers) {
        if (count(set.second) == 0) return 0;
        const int share = std::max(1, count(set.second) / ranks);
        smallest = smallest == 0 ? share : std::min(smallest, share);
    }
    return smallest;
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
        const int cores = count(node);
        if (cores > 0 && (fewest == 0 || cores < fewest)) fewest = cores;
    }
    if (fewest > 0) machine.cores = fewest;
    const int most_ranks = machine.topology.most_ranks_on_a_node(comm.size());
    const int share = smallest_share(all, *machine.topology.node_of_rank);
    if (share > 0 && machine.cores / most_ranks > share) machine.cores = share * most_ranks;  // bound, but not alike
    return Status();
}

}  // namespace spanfft
