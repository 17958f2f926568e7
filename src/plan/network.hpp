// Network: how long the network of an imagined machine takes for an all-to-all of some ranks, in closed form.
//
// Method: an exchange goes on in many groups at once, and all of them load the links. A group is described by where its
// ranks lie among all ranks (spans of count and stride), so that nothing is asked of single ranks: a million of them
// take microseconds. Ranks fill nodes in the order of their numbers, and nodes the network, a torus with the last
// dimension fastest; on fewer nodes than the torus has, the most cubic box of it that holds them.
//   torus      in a dimension a group lies on c coordinates, k apart. Around the whole ring a message goes k c/4 hops
//              (c even; (c^2 - 1)/(4c) k if odd), and a node's V bytes load each of its two links there with half of V
//              times that. On a part of the ring it can't go around, and the middle link carries k c V/4. The slowest
//              dimension counts. A whole torus of extents up to p_m: V p_m/8 (P2, section 3.2.1: nb/(8 l p/p_m)).
//   fat tree   what leaves a leaf shares its uplinks, 1/taper of its nodes' links
//   dragonfly  what leaves a group of nodes shares the group's global links
//   switch     all that is sent shares the backplane
// Beside the links: a node's injection, its adapter's message rate, and copies inside a node through its memory. Each
// message is cut into packets, of which each adds its overhead (P2, section 3.2.2).
// Where a collective meets its partners one after the other, each round takes what its fullest link does: see
// longest_in_rounds().
// Source: P2, section 3. Invariant: no figure of a machine that gets better makes a time longer.
#pragma once

#include <vector>

#include "core/extents.hpp"
#include "plan/data_sheet.hpp"

namespace spanfft {

// Ranks base, base + stride, ..., count of them.
struct RankSpan {
    index_t count = 1, stride = 1;
    bool operator==(const RankSpan&) const = default;
};

// A group is the sum of its spans; all ranks of the plan are in such groups, side by side. Strides rise.
using RankGroup = std::vector<RankSpan>;
index_t ranks_of(const RankGroup& group);

// What the ranks of a group that have anything send to the others, in one exchange.
struct GroupTraffic {
    RankGroup group;
    double messages = 0, bytes = 0;  // of a rank, on average: nodes and links add up what many send
};

// Seconds that each part of the network needs for it: what works at once, so that the longest counts.
struct NetworkTimes {
    double links = 0;      // of the torus, the uplinks, the global links or the backplane
    double injection = 0;  // of a node
    double rate = 0;       // of a node's messages
    double memory = 0;     // between ranks of a node
    double longest() const;
};

class Network {
  public:
    // Of so many ranks, so many on each node; nodes are filled one after the other.
    Network(const DataSheet& sheet, int ranks, int ranks_per_node);

    // Places of a group along a dimension of the torus: so many, so far apart.
    struct Places {
        double count = 1, step = 0;
        bool around = false;                      // the whole ring
        double mean_load() const;                 // on a link, a byte that each node sends to all others in equal parts
        double pairs_load(bool odd_phase) const;  // on the fullest link, a byte that each sends to its partner
    };

    double nodes() const { return nodes_; }
    const std::vector<double>& torus() const { return torus_; }  // the box of it that the nodes fill; else empty

    // The share of a rank's messages that goes to other blocks of so many ranks in a row; on average, where the blocks
    // cut groups apart.
    double share_leaving(const RankGroup& group, double block_ranks) const;

    // What `bytes` in messages of `message_bytes` are with their packets.
    double bytes_on_wire(double bytes, double message_bytes) const;

    // share: of the peak of links and injection that the way of exchanging reaches (DataSheet::alltoall_share).
    NetworkTimes times(const GroupTraffic& traffic, double share) const;
    // The same at the links' peak and without packets: no exchange is faster.
    NetworkTimes bounds(const GroupTraffic& traffic) const;

    // Of a group's ranks, by dissemination (Hensgen, Finkel and Manber 1988), as MPICH and Open MPI do it, where the
    // sheet says nothing.
    double barrier_seconds(const RankGroup& group) const;
    // The longest of `times` where ranks meet in pairs, so many phases at once: in a phase either all messages leave a
    // leaf of a fat tree, and its uplinks count, or none does, and they are idle. In phase r rank k meets r - k, its
    // reflection: along a dimension of a torus all pairs cross one of two places, where links carry twice what they do
    // on average. The places move on from phase to phase, along slower dimensions when faster ones have gone round.
    double longest_in_pairs(const NetworkTimes& times, const RankGroup& group, double together) const;
    // The longest of `times` (of this traffic and share) where a rank has at most so many messages of a collective
    // under way at once; 0: all of them. With one, all ranks meet the k-th partner in round k: rank + k, or rank xor k
    // where the sheet has pairs; the round takes what its fullest link does. With more, partners are still met in the
    // order of their numbers. Those of one time then lie any way from a rank along the torus' fastest dimensions, whose
    // links they load evenly, and the same way along the others. Between as many as fill a dimension, or half of it,
    // time goes down by as much as their number goes up.
    double longest_in_rounds(const GroupTraffic& traffic, const NetworkTimes& times, double share,
                             double under_way) const;
    // How often a rank waits for messages that are under way at once, in so many such collectives; within a node
    // nothing is waited for.
    double waits(const GroupTraffic& traffic, double calls, double under_way) const;
    // Of what a rank's messages to other nodes take on a link that no other uses, one after the other.
    double one_link_seconds(const GroupTraffic& traffic) const;
    // Before each execution ranks learn by an all-gather that all of them can run: recursive doubling.
    double agreement_seconds() const;

  private:
    NetworkTimes times_of(const GroupTraffic& traffic, double share, bool packets) const;
    std::vector<Places> places_of(const RankGroup& group) const;  // along each dimension of the torus
    double torus_load(const RankGroup& group) const;              // on the fullest link, a byte that each node sends
    // What the fullest link of each round carries, all rounds together, where each node sends one message in each:
    // with one under way, and with as many as fill half of the fastest dimension, all of it, half of the next, ...,
    // all. That needs no loop over rounds: how many of them load a dimension's links with no more than x is a closed
    // form, and of all dimensions, whose shifts are any with any, the product.
    struct Rounds {
        double together, load;
    };
    std::vector<Rounds> torus_rounds(const RankGroup& group) const;

    const DataSheet& sheet_;
    double ranks_, ranks_per_node_, nodes_;
    std::vector<double> torus_;
};

// P2's equations in their own terms, for a transform of n points of b bytes on p nodes of a d-dimensional torus with
// equal extents: flops a second of a node 1/c, links of l bytes a second. What the model gives in their limits.
struct TorusLine {
    double n = 0, b = 16, p = 1, d = 3, l = 0, c = 0;
    double h = 0;                          // overhead of a packet, bytes
    double computing_seconds() const;      // section 3.1
    double alltoall_seconds() const;       // section 3.2.1: nb/(4B), B = 2 l p^((d-1)/d)
    double flops_without_headers() const;  // equation 3
    double flops_with_headers() const;     // equation 4: a message is one packet or less
};

}  // namespace spanfft
