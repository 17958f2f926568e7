// Counting nodes; see nodes.hpp.
#include "core/nodes.hpp"

#include <algorithm>

#include "core/extents.hpp"

namespace spanfft {

int Topology::nodes(int ranks) const {
    if (!node_of_rank) return ranks_per_node > 0 ? static_cast<int>(ceil_div(ranks, ranks_per_node)) : 1;
    // Nodes are numbered as their first ranks are: the highest number is one less than how many there are.
    return *std::max_element(node_of_rank->begin(), node_of_rank->end()) + 1;
}

int Topology::most_ranks_on_a_node(int ranks) const {
    if (!node_of_rank) return ranks_per_node > 0 ? std::min(ranks, ranks_per_node) : ranks;
    std::vector<int> count(static_cast<size_t>(nodes(ranks)));
    for (int node : *node_of_rank) ++count[static_cast<size_t>(node)];
    return *std::max_element(count.begin(), count.end());
}

}  // namespace spanfft
