// Loads and seconds of exchanges; see exchange_cost.hpp.
#include "plan/exchange_cost.hpp"

#include <algorithm>

namespace spanfft {

namespace {

void add(ExchangeLoad& load, bool near, index_t bytes) {
    if (bytes == 0) return;
    (near ? load.near_peers : load.far_peers) += 1;
    (near ? load.near_bytes : load.far_bytes) += bytes;
}

// Any two layouts, peer by peer.
ExchangeLoad load_by_pieces(const ExchangeSpec& spec, int rank, const Topology& topology) {
    ExchangeLoad load;
    const Patch mine = spec.from.patch(rank);
    for (const int peer : spec.to.holders(mine)) {
        if (peer == rank) continue;
        add(load, topology.node_of(peer) == topology.node_of(rank),
            common_elems(mine, spec.to, peer) * spec.elem_bytes);
    }
    return load;
}

bool same_parts(const Layout& a, const Layout& b) {
    if (!a.has_grid() || !b.has_grid()) return false;
    return std::equal(a.grid().begin(), a.grid().end(), b.grid().begin(), b.grid().end(),
                      [](const GridDim& x, const GridDim& y) { return x.parts == y.parts; });
}

// How a rank's box meets the parts of one grid dimension of the target.
struct Meeting {
    index_t coord;  // in that dimension
    index_t count;  // indices in common
};

}  // namespace

ExchangeLoad exchange_load(const ExchangeSpec& spec, int rank, const Topology& topology) {
    if (!same_parts(spec.from, spec.to)) return load_by_pieces(spec, rank, topology);
    const Patch mine = spec.from.patch(rank);
    if (patch_elems(mine) == 0) return {};
    const Extents coords = spec.from.grid_coords(rank);
    const auto& grid = spec.to.grid();
    index_t base_bytes = patch_elems(mine) * spec.elem_bytes;  // of which each dimension's meeting takes a share
    std::vector<std::vector<Meeting>> meetings(grid.size());
    for (size_t dim = 0; dim < grid.size(); ++dim) {
        if (grid[dim] == spec.from.grid()[dim] || grid[dim].axis < 0) {
            meetings[dim] = {{coords[dim], 1}};
            continue;
        }
        const AxisRange& range = mine[static_cast<size_t>(grid[dim].axis)];
        const index_t n = spec.to.shape()[static_cast<size_t>(grid[dim].axis)];
        base_bytes /= range.count;
        const bool block = grid[dim].division == Division::block;
        const index_t first = block ? grid[dim].part(n, range.start) : 0;
        const index_t last = block ? grid[dim].part(n, range.at(range.count - 1)) : grid[dim].parts - 1;
        for (index_t c = first; c <= last; ++c) {
            const index_t count = intersect(range, grid[dim].range(n, c)).count;
            if (count > 0) meetings[dim].push_back({c, count});
        }
    }
    ExchangeLoad load;
    const int my_node = topology.node_of(rank);
    const auto walk = [&](auto&& self, size_t dim, index_t peer, index_t bytes) -> void {
        if (dim == grid.size()) {
            if (peer != rank) add(load, topology.node_of(static_cast<int>(peer)) == my_node, bytes);
            return;
        }
        for (const Meeting& m : meetings[dim]) self(self, dim + 1, peer * grid[dim].parts + m.coord, bytes * m.count);
    };
    walk(walk, 0, 0, base_bytes);
    return load;
}

double exchange_seconds(const ExchangeLoad& load, const Counts& counts, const ExchangeFigures& figures,
                        double copy_bytes_per_second) {
    double seconds = figures.includes_copies ? 0 : static_cast<double>(counts.memory_bytes) / 2 / copy_bytes_per_second;
    if (load.peers() == 0) return seconds;
    const double a_peer = static_cast<double>(counts.messages) / static_cast<double>(load.peers());
    // A strategy that sends fewer bytes than it moves (compressed, shared) is assumed to gain by that, or was measured.
    const double moved = static_cast<double>(load.near_bytes + load.far_bytes);
    const double sent = figures.includes_copies ? 1 : static_cast<double>(counts.sent_bytes) / moved;
    seconds += figures.near.seconds(a_peer * static_cast<double>(load.near_peers),
                                    sent * static_cast<double>(load.near_bytes));
    seconds +=
        figures.far.seconds(a_peer * static_cast<double>(load.far_peers), sent * static_cast<double>(load.far_bytes));
    return seconds;
}

}  // namespace spanfft
