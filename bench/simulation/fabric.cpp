// The links and routes of a data sheet; see fabric.hpp.
#include "fabric.hpp"

#include <algorithm>
#include <cmath>

#include "plan/network.hpp"

namespace spanfft::simulation {

Fabric::Fabric(const DataSheet& sheet, int ranks, int ranks_per_node)
    : nodes_((ranks + ranks_per_node - 1) / ranks_per_node) {
    const double link = sheet.link_bytes_per_second;
    if (sheet.network == NetworkKind::torus) {
        const Network network(sheet, ranks, ranks_per_node);
        for (const double extent : network.torus()) torus_.push_back(static_cast<index_t>(extent));
        nodes_ = static_cast<int>(product(torus_));
    }
    for (int node = 0; node < nodes_; ++node) {
        links_.push_back({cat("out", node), sheet.injection()});
        links_.push_back({cat("in", node), sheet.injection()});
        links_.push_back({cat("memory", node), sheet.node_memory_bytes_per_second / 2});  // read, and written
    }
    first_ = links_.size();
    double shared = 0;  // a second, each way, by the nodes of a block together
    switch (sheet.network) {
        case NetworkKind::torus:
            for (int node = 0; node < nodes_; ++node) {
                for (size_t dim = 0; dim < torus_.size(); ++dim) {
                    links_.push_back({cat("hop", node, ".", dim, "up"), link});
                    links_.push_back({cat("hop", node, ".", dim, "down"), link});
                }
            }
            return;
        case NetworkKind::fat_tree:
            block_ = static_cast<int>(sheet.leaf_nodes);
            shared = sheet.leaf_nodes * link / sheet.taper;
            break;
        case NetworkKind::dragonfly:
            block_ = static_cast<int>(sheet.group_nodes);
            shared = sheet.group_bytes_per_second;
            break;
        case NetworkKind::one_switch:
            backplane_ = sheet.switch_bytes_per_second > 0;
            if (backplane_) links_.push_back({"backplane", sheet.switch_bytes_per_second});
            return;
    }
    for (int block = 0; block * block_ < nodes_; ++block) {
        links_.push_back({cat("up", block), shared});
        links_.push_back({cat("down", block), shared});
    }
}

void Fabric::go_around(int from, int to, std::vector<size_t>& way) const {
    int weight = nodes_;  // nodes between neighbours of the dimension
    int node = from;
    for (size_t dim = 0; dim < torus_.size(); ++dim) {
        const int extent = static_cast<int>(torus_[dim]);
        weight /= extent;
        int at = node / weight % extent;
        const int end = to / weight % extent;
        const int up = (end - at + extent) % extent;
        const bool down = 2 * up > extent || (2 * up == extent && at % 2 == 1 && extent > 2);
        for (int step = down ? extent - up : up; step > 0; --step) {
            way.push_back(hop(node, dim, down));
            const int next = (at + (down ? extent - 1 : 1)) % extent;
            node += (next - at) * weight;
            at = next;
        }
    }
}

std::vector<size_t> Fabric::route(int from, int to) const {
    if (from == to) return {port(from, memory)};
    std::vector<size_t> way{port(from, out)};
    if (!torus_.empty()) {
        go_around(from, to, way);
    } else if (backplane_) {
        way.push_back(first_);
    } else if (block_ > 0 && from / block_ != to / block_) {
        way.push_back(first_ + 2 * static_cast<size_t>(from / block_));
        way.push_back(first_ + 2 * static_cast<size_t>(to / block_) + 1);
    }
    way.push_back(port(to, in));
    return way;
}

}  // namespace spanfft::simulation
