// The network model; see network.hpp.
#include "plan/network.hpp"

#include <algorithm>
#include <cmath>

namespace spanfft {

namespace {

// Extents whose product is at least `nodes`, none longer than the machine's, the longest as short as possible: doubled
// dimension by dimension, the shortest one that may still grow first. Partitions of tori are boxes of such shapes.
std::vector<double> box_of(const Extents& torus, double nodes) {
    std::vector<double> box(torus.size(), 1);
    double held = 1;
    while (held < nodes) {
        size_t grown = torus.size();
        for (size_t dim = torus.size(); dim-- > 0;) {
            if (box[dim] < static_cast<double>(torus[dim]) && (grown == torus.size() || box[dim] < box[grown]))
                grown = dim;
        }
        if (grown == torus.size()) break;
        const double others = held / box[grown];
        // Not further than needed: 12 nodes on a ring are 12, not 16.
        const double enough = std::ceil(nodes / others);
        box[grown] = std::min({2 * box[grown], static_cast<double>(torus[grown]), std::max(enough, box[grown] + 1)});
        held = others * box[grown];
    }
    return box;
}

// Mean distance of c places on a ring, to all of them (itself included).
double mean_hops(double c) {
    const double rounded = std::round(c);
    if (std::abs(c - rounded) < 1e-9 && std::fmod(rounded, 2) == 1) return (c * c - 1) / (4 * c);
    return c / 4;
}

// How many of a span's ranks lie in a rank's own block of so many ranks in a row, on average.
double in_block(const RankSpan& span, double block) {
    const double g = static_cast<double>(span.count), stride = static_cast<double>(span.stride), window = g * stride;
    if (stride >= block) return 1;
    if (std::fmod(block, window) == 0) return g;
    if (std::fmod(window, block) == 0) return std::max(1.0, block / stride);
    // The blocks cut the groups anywhere: ranks delta places apart share one with probability 1 - delta stride/block.
    const double a = stride / block, most = std::min(g - 1, std::floor(block / stride));
    const double pairs = g * most - (1 + g * a) * most * (most + 1) / 2 + a * most * (most + 1) * (2 * most + 1) / 6;
    return std::min(g, 1 + 2 * pairs / g);
}

}  // namespace

index_t ranks_of(const RankGroup& group) {
    index_t ranks = 1;
    for (const RankSpan& span : group) ranks *= span.count;
    return ranks;
}

double NetworkTimes::longest() const { return std::max({links, injection, rate, memory}); }

Network::Network(const DataSheet& sheet, int ranks, int ranks_per_node)
    : sheet_(sheet),
      ranks_(ranks),
      ranks_per_node_(std::min(std::max(ranks_per_node, 1), std::max(ranks, 1))),
      nodes_(std::ceil(ranks_ / ranks_per_node_)) {
    if (sheet.network == NetworkKind::torus) torus_ = box_of(sheet.torus, nodes_);
}

double Network::share_leaving(const RankGroup& group, double block_ranks) const {
    const double g = static_cast<double>(ranks_of(group));
    if (g <= 1) return 0;
    double inside = 1;
    for (const RankSpan& span : group) inside *= in_block(span, block_ranks);
    return std::clamp((g - inside) / (g - 1), 0.0, 1.0);
}

double Network::bytes_on_wire(double bytes, double message_bytes) const {
    if (sheet_.packet_payload_bytes <= 0 || message_bytes <= 0) return bytes;
    const double packets = std::ceil(message_bytes / sheet_.packet_payload_bytes);
    return bytes * (1 + packets * sheet_.packet_overhead_bytes / message_bytes);
}

double Network::torus_load(const RankGroup& group) const {
    // Where ranks share nodes, the nodes of the group.
    struct Places {
        double count = 1, step = 0;
    };
    std::vector<Places> places(torus_.size());
    for (const RankSpan& span : group) {
        const double first = std::max(1.0, static_cast<double>(span.stride) / ranks_per_node_);
        const double last = static_cast<double>(span.stride) * static_cast<double>(span.count) / ranks_per_node_;
        double weight = 1;  // nodes between neighbours of the dimension
        for (size_t dim = torus_.size(); dim-- > 0;) {
            const double low = std::max(first, weight), high = std::min(last, weight * torus_[dim]);
            if (high > low * (1 + 1e-12)) {
                if (places[dim].count == 1) places[dim].step = low / weight;
                places[dim].count *= high / low;
            }
            weight *= torus_[dim];
        }
    }
    double most = 0;
    for (size_t dim = 0; dim < torus_.size(); ++dim) {
        const auto [count, step] = places[dim];
        if (count <= 1) continue;
        const bool around = count * step >= torus_[dim] * (1 - 1e-9) && torus_[dim] > 2;
        // Two nodes have one link between them, each way, not two.
        most = std::max(most, step * (around ? mean_hops(count) / 2 : count / 4));
    }
    return most;
}

NetworkTimes Network::times_of(const GroupTraffic& traffic, double share, bool packets) const {
    NetworkTimes times;
    const double g = static_cast<double>(ranks_of(traffic.group));
    if (g <= 1 || traffic.bytes <= 0) return times;
    const double message = traffic.bytes / std::max(1.0, traffic.messages);
    const double leaving_node = share_leaving(traffic.group, ranks_per_node_);
    const double node_bytes = traffic.bytes * ranks_per_node_;  // of all its ranks, to others
    const double wire = packets ? bytes_on_wire(node_bytes, message) : node_bytes;
    const double link = sheet_.link_bytes_per_second;
    // Read by the one, written by the other.
    times.memory = 2 * node_bytes * (1 - leaving_node) / sheet_.node_memory_bytes_per_second;
    times.injection = wire * leaving_node / sheet_.injection() / share;
    if (sheet_.node_messages_per_second > 0)
        times.rate = traffic.messages * ranks_per_node_ * leaving_node / sheet_.node_messages_per_second;
    if (leaving_node <= 0) return times;
    switch (sheet_.network) {
        case NetworkKind::torus:
            // Of a rank's part of the array one g-th stays with it: P2 counts it as sent.
            times.links = wire * g / (g - 1) * torus_load(traffic.group) / link;
            break;
        case NetworkKind::fat_tree:
            times.links =
                wire * share_leaving(traffic.group, sheet_.leaf_nodes * ranks_per_node_) * sheet_.taper / link;
            break;
        case NetworkKind::dragonfly: {
            const double group = std::min(nodes_, sheet_.group_nodes);
            times.links = wire * group * share_leaving(traffic.group, sheet_.group_nodes * ranks_per_node_) /
                          sheet_.group_bytes_per_second;
            break;
        }
        case NetworkKind::one_switch:
            if (sheet_.switch_bytes_per_second > 0)
                times.links = wire * leaving_node * nodes_ / sheet_.switch_bytes_per_second;
            break;
    }
    times.links /= share;
    return times;
}

NetworkTimes Network::times(const GroupTraffic& traffic, double share) const { return times_of(traffic, share, true); }

NetworkTimes Network::bounds(const GroupTraffic& traffic) const { return times_of(traffic, 1, false); }

double Network::barrier_seconds() const {
    if (ranks_ <= 1) return 0;
    if (sheet_.barrier_seconds > 0) return sheet_.barrier_seconds;
    return sheet_.latency_seconds * std::ceil(std::log2(ranks_));
}

double Network::longest_in_pairs(const NetworkTimes& times, const RankGroup& group) const {
    if (sheet_.network != NetworkKind::fat_tree) return times.longest();
    const double leaving = share_leaving(group, sheet_.leaf_nodes * ranks_per_node_);
    return std::max(times.longest(),
                    std::max(times.links, leaving * times.injection) + (1 - leaving) * times.injection);
}

double Network::one_link_seconds(const GroupTraffic& traffic) const {
    if (traffic.messages <= 0) return 0;
    return bytes_on_wire(traffic.bytes, traffic.bytes / traffic.messages) *
           share_leaving(traffic.group, ranks_per_node_) / sheet_.link_bytes_per_second;
}

double Network::agreement_seconds() const {
    return nodes_ > 1 ? sheet_.latency_seconds * std::ceil(std::log2(ranks_)) : 0;
}

double TorusLine::computing_seconds() const { return 5 * c * n / p * std::log2(n); }

double TorusLine::alltoall_seconds() const { return n * b / (4 * 2 * l * std::pow(p, (d - 1) / d)); }

double TorusLine::flops_without_headers() const {
    return 5 * p / (5 * c + 3.0 / 8 * b / l * std::pow(p, 1 / d) / std::log2(n));
}

double TorusLine::flops_with_headers() const {
    return 5 * p / (5 * c + 3.0 / 8 * (b / l + h * p * p / (n * l)) * std::pow(p, 1 / d) / std::log2(n));
}

}  // namespace spanfft
