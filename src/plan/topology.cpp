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

struct Report {
    Cores cores;
    Caches caches;
};

// Of all ranks; the machine's caches become the smallest that any rank found, so that all plan by the same.
Result<std::vector<Cores>> gather_cores(Comm& comm, Machine& machine) {
    const Report mine{my_cores(), cache_sizes()};
    std::vector<Report> reports(static_cast<size_t>(comm.size()));
    SPANFFT_TRY(comm.allgather(&mine, sizeof mine, reports.data()));
    machine.caches = reports.front().caches;
    std::vector<Cores> all;
    for (const Report& report : reports) {
        all.push_back(report.cores);
        machine.caches.l1_bytes = std::min(machine.caches.l1_bytes, report.caches.l1_bytes);
        machine.caches.l2_bytes = std::min(machine.caches.l2_bytes, report.caches.l2_bytes);
        machine.caches.l3_bytes = std::min(machine.caches.l3_bytes, report.caches.l3_bytes);
        machine.caches.l3_count = std::min(machine.caches.l3_count, report.caches.l3_count);
    }
    return all;
}

}  // namespace

Status find_topology(Comm& comm, Machine& machine) {
    SPANFFT_ASSIGN(std::vector<int> node_of_rank, comm.nodes());
    if (node_of_rank.empty()) node_of_rank.assign(static_cast<size_t>(comm.size()), 0);
    SPANFFT_ASSIGN(const std::vector<Cores> all, gather_cores(comm, machine));
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
