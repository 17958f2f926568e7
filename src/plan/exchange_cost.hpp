// What an exchange costs one rank: who it sends how much to, from the layouts alone, and how long that takes.
//
// Method: between divisions of one process grid, the parts that a rank's box meets along an axis are found axis by axis
// (in blocks they are a range), so the peers are a product and nothing is asked of the ranks that are not met (4096
// ranks take microseconds).
// Invariant: peers and bytes are those of pieces_to_send; a test compares them.
#pragma once

#include "exchange/exchange.hpp"
#include "plan/machine.hpp"

namespace spanfft {

// What leaves a rank: to other ranks of its node, and to other nodes.
struct ExchangeLoad {
    index_t near_peers = 0, near_bytes = 0;
    index_t far_peers = 0, far_bytes = 0;
    index_t peers() const { return near_peers + far_peers; }
    bool operator==(const ExchangeLoad&) const = default;
};

ExchangeLoad exchange_load(const ExchangeSpec& spec, int rank, const Topology& topology);

// Seconds of one rank, where a strategy predicts `counts` (messages, bytes sent, bytes through memory by its own
// copies). Messages are shared out over near and far as the peers are.
double exchange_seconds(const ExchangeLoad& load, const Counts& counts, const ExchangeFigures& figures,
                        double copy_bytes_per_second);

}  // namespace spanfft
