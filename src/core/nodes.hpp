// Topology: which node each rank is on.
//
// Method: nodes of equally many ranks need no list, so that machines of any size can be imagined; ranks of a
// communicator have one, which copies share.
#pragma once

#include <memory>
#include <vector>

namespace spanfft {

// Cheap to copy: steps and exchanges keep one.
struct Topology {
    int ranks_per_node = 0;                                // 0: all ranks are on one node
    std::shared_ptr<const std::vector<int>> node_of_rank;  // of a communicator; null: by ranks_per_node
    int node_of(int rank) const {
        if (node_of_rank) return (*node_of_rank)[static_cast<size_t>(rank)];
        return ranks_per_node > 0 ? rank / ranks_per_node : 0;
    }
    int nodes(int ranks) const;
    int most_ranks_on_a_node(int ranks) const;
};

}  // namespace spanfft
