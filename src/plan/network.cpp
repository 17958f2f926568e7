// The network model; see network.hpp.
#include "plan/network.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>

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

double in_block(const RankGroup& group, double block) {
    double ranks = 1;
    for (const RankSpan& span : group) ranks *= in_block(span, block);
    return ranks;
}

bool is_power_of_two(double x) {
    const double whole = std::round(x);
    return std::abs(x - whole) < 1e-9 && std::has_single_bit(static_cast<uint64_t>(whole));
}

// Rounds along a dimension of a torus: how many load no link with more than so many messages. In round s a place sends
// to the one s further on; where its rank has carried over from faster dimensions, to s + 1. Links carry
// min(s, count - s), as much each way on a part of a ring; half-way round, half of it each way. Pairs (place xor m)
// cross the middle of blocks of twice 2^h places, h the highest bit of m: 2^h messages each way, and no more than a
// quarter of the places where half of the pairs are nearer the other way round.

// Of a ring whose ranks have not carried over, the round of no hop included.
double rounds_not_carried(const Network::Places& places, double load, bool pairs) {
    const double x = load / places.step * (1 + 1e-12), count = places.count;
    if (pairs) {
        if (places.around && x >= count / 4) return count;
        return x < 1 ? 1 : std::min(count, std::exp2(std::floor(std::log2(x)) + 1));
    }
    const bool half = places.around && std::fmod(count, 2) == 0;
    return std::min(count - half, 2 * std::floor(x) + 1) + (half && x >= count / 4);
}

// Where some have and some have not, which is so in every round but those that move nothing along faster dimensions.
double rounds_carried(const Network::Places& places, double load, bool pairs) {
    if (pairs) return rounds_not_carried(places, load, pairs);  // nothing is carried
    const double x = load / places.step * (1 + 1e-12), count = places.count;
    const bool half = places.around && std::fmod(count, 2) == 0;
    const double all = half ? std::max(count / 2 - 1, count / 4) : std::floor(count / 2);
    return x >= all ? count : std::min(count, 2 * std::floor(x));
}

// How much more the fullest link carries where half of a dimension's rounds are together than where all are. One after
// the other, the first half goes up a ring and the second one down, and on a part of a ring both are alike. Pairs of
// the first half stay within halves of the places, (c/2)^2/4 on their middle, those of the second cross all of them.
double half_together(const Network::Places& places, bool pairs) {
    return places.around ? (pairs ? 1.5 : 2) : (pairs ? 1.25 : 1);
}

// Adds every load that a round may have. Of long rings some hundreds: the rounds between two are taken for the larger.
void add_loads(const Network::Places& places, std::vector<double>& loads) {
    constexpr double kMost = 512;
    const double most = std::floor(places.count / 2), stride = std::max(1.0, most / kMost);
    for (double x = 1; x < most; x += stride) loads.push_back(places.step * std::floor(x));
    if (places.around) loads.push_back(places.step * places.count / 4);
    loads.push_back(places.step * most);
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
    const double inside = in_block(group, block_ranks);
    return std::clamp((g - inside) / (g - 1), 0.0, 1.0);
}

double Network::bytes_on_wire(double bytes, double message_bytes) const {
    if (sheet_.packet_payload_bytes <= 0 || message_bytes <= 0) return bytes;
    const double packets = std::ceil(message_bytes / sheet_.packet_payload_bytes);
    return bytes * (1 + packets * sheet_.packet_overhead_bytes / message_bytes);
}

std::vector<Network::Places> Network::places_of(const RankGroup& group) const {
    // Where ranks share nodes, the nodes of the group.
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
    // Two nodes have one link between them, each way, not two: there is no other way round.
    for (size_t dim = 0; dim < torus_.size(); ++dim)
        places[dim].around = places[dim].count * places[dim].step >= torus_[dim] * (1 - 1e-9) && torus_[dim] > 2;
    return places;
}

double Network::torus_load(const RankGroup& group) const {
    double most = 0;
    for (const Places& places : places_of(group)) most = std::max(most, places.mean_load());
    return most;
}

// Of a ring about a quarter of the places are the pairs that cross a place of reflection, each way. Of an even number
// of places that is a node in even phases and a link in odd ones. On a part of a ring phase r reflects the first r + 1
// places and the others, each about their middle; this is the mean.
double Network::Places::pairs_load(bool odd_phase) const {
    if (count <= 1) return 0;
    if (around && std::fmod(count, 2) != 0) return step * std::floor((count + 2) / 4);
    if (around) return step * (count / 4 - (odd_phase ? 0 : 0.5));
    const double most = std::floor(count);
    double sum = 0;
    for (double r = 0; r < most; ++r) sum += std::max(std::floor((r + 1) / 2), std::floor((most - 1 - r) / 2));
    return step * sum / most;
}

double Network::Places::mean_load() const { return count > 1 ? step * (around ? mean_hops(count) / 2 : count / 4) : 0; }

std::vector<Network::Rounds> Network::torus_rounds(const RankGroup& group) const {
    std::vector<Places> dims;  // the fastest first
    bool pairs = sheet_.collective_pairs && is_power_of_two(static_cast<double>(ranks_of(group)));
    std::vector<Places> places = places_of(group);
    for (size_t dim = places.size(); dim-- > 0;) {
        if (places[dim].count <= 1) continue;
        pairs = pairs && is_power_of_two(places[dim].count);
        dims.push_back(places[dim]);
    }
    // Rounds along the first dimensions are together, so that links there carry `mean` in each.
    const auto fullest = [&](size_t fast, double mean) {
        double nodes = 1;
        std::vector<double> loads{mean};
        for (size_t dim = 0; dim < dims.size(); ++dim) {
            if (dim >= fast) add_loads(dims[dim], loads);
            nodes *= dims[dim].count;
        }
        std::sort(loads.begin(), loads.end());
        double sum = 0, below = 0;
        for (const double load : loads) {
            // Of the rounds that move something, those in which no link carries more than `below`.
            double few = 0, all = 1;
            for (size_t dim = 0; dim < dims.size(); ++dim) {
                if (dim < fast) {
                    all *= dims[dim].count;
                    few = below >= mean ? all - 1 : 0;
                } else {
                    few =
                        few * rounds_carried(dims[dim], below, pairs) + rounds_not_carried(dims[dim], below, pairs) - 1;
                }
            }
            sum += (load - below) * std::max(0.0, nodes - 1 - few);
            below = load;
        }
        return sum;
    };
    std::vector<Rounds> found{{1, fullest(0, 0)}};
    const auto add = [&](double together, size_t fast, double mean) {
        found.push_back({together, std::min(found.back().load, fullest(fast, mean))});
    };
    double together = 1, mean = 0;
    for (size_t dim = 0; dim < dims.size(); ++dim) {
        const double count = dims[dim].count, all = dims[dim].mean_load();
        if (count > 2) add(together * count / 2, dim + 1, std::max(mean, all * half_together(dims[dim], pairs)));
        together *= count;
        mean = std::max(mean, all);
        add(together, dim + 1, mean);
    }
    return found;
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

double Network::barrier_seconds(const RankGroup& group) const {
    const double ranks = static_cast<double>(ranks_of(group));
    if (ranks <= 1) return 0;
    if (sheet_.barrier_seconds > 0) return sheet_.barrier_seconds;
    return sheet_.latency_seconds * std::ceil(std::log2(ranks));
}

double Network::longest_in_pairs(const NetworkTimes& times, const RankGroup& group, double together) const {
    if (const double mean = torus_load(group); mean > 0) {
        double faster = 1;
        std::vector<double> fullest{mean};  // of phases that are even or odd along each dimension, any with any
        const std::vector<Places> places = places_of(group);
        for (size_t dim = places.size(); dim-- > 0;) {
            const Places& along = places[dim];
            if (along.count <= 1) continue;
            const double moved = std::clamp((together / faster - 1) / (along.count - 1), 0.0, 1.0);
            std::vector<double> both;
            for (const bool odd : {false, true}) {
                const double load = along.pairs_load(odd) + moved * (along.mean_load() - along.pairs_load(odd));
                for (const double before : fullest) both.push_back(std::max(before, load));
            }
            fullest = std::move(both);
            faster *= along.count;
        }
        NetworkTimes in_pairs = times;
        in_pairs.links *=
            std::accumulate(fullest.begin(), fullest.end(), 0.0) / static_cast<double>(fullest.size()) / mean;
        return in_pairs.longest();
    }
    if (sheet_.network != NetworkKind::fat_tree) return times.longest();
    const double leaving = share_leaving(group, sheet_.leaf_nodes * ranks_per_node_);
    return std::max(times.longest(),
                    std::max(times.links, leaving * times.injection) + (1 - leaving) * times.injection);
}

double Network::longest_in_rounds(const GroupTraffic& traffic, const NetworkTimes& times, double share,
                                  double under_way) const {
    const double partners = static_cast<double>(ranks_of(traffic.group)) - 1;
    if (under_way <= 0 || under_way >= partners || traffic.messages <= 0) return times.longest();
    const double message = bytes_on_wire(traffic.bytes, traffic.bytes / traffic.messages) / partners;
    const double inside = in_block(traffic.group, ranks_per_node_), link = sheet_.link_bytes_per_second * share;
    struct Point {
        double under_way, seconds;
    };
    std::vector<Point> points;
    if (sheet_.network == NetworkKind::torus) {
        // So often all ranks of a node send to those of one other node.
        const double bytes = ranks_per_node_ * inside * message;
        for (const Rounds& rounds : torus_rounds(traffic.group))
            points.push_back(
                {inside * rounds.together, times.memory + std::max(times.injection, bytes * rounds.load / link)});
        points.pop_back();  // all together
    } else {
        double block = ranks_per_node_;  // ranks, that share links to the others
        if (sheet_.network == NetworkKind::fat_tree) block *= sheet_.leaf_nodes;
        if (sheet_.network == NetworkKind::dragonfly) block *= sheet_.group_nodes;
        const double leaving_node = share_leaving(traffic.group, ranks_per_node_);
        const double leaving = leaving_node > 0 ? share_leaving(traffic.group, block) / leaving_node : 0;
        const double own = std::max(times.injection, one_link_seconds(traffic) / share);
        points.push_back({1, times.memory + (1 - leaving) * own + std::max(times.links, leaving * own)});
    }
    points.push_back({partners, times.longest()});
    Point before = points.front();
    for (const Point& point : points) {
        if (point.under_way > under_way)
            return before.seconds - std::max(0.0, before.seconds - std::max(point.seconds, times.longest())) *
                                        std::max(0.0, under_way - before.under_way) /
                                        std::max(1.0, point.under_way - before.under_way);
        before = {point.under_way, std::max(point.seconds, times.longest())};
    }
    return before.seconds;
}

double Network::waits(const GroupTraffic& traffic, double calls, double under_way) const {
    if (under_way <= 0) return calls;
    const double each = traffic.messages * share_leaving(traffic.group, ranks_per_node_) / calls;
    return calls * std::max(1.0, std::ceil(each / under_way * (1 - 1e-12)));
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
