// Fabric: the links of a machine that a data sheet describes, and the way of a message through them.
//
// Method: nodes are numbered as plan/network.hpp does it, and links carry what the sheet says, each way by itself. A
// message leaves by its node's injection link and arrives by another one's. Between them lie, on a torus, the hops of
// each dimension after the other, the shorter way round; elsewhere what its leaf, its group or the switch shares.
// Inside a node it goes through the node's memory, which it is read from and written to. Half-way round a ring both
// ways are as long: from even places one goes up, from odd ones down, so that neither way is fuller. (A router that
// adapts, as Blue Gene/L's, does as much; SimGrid's own torus would always go up.) Nothing here depends on SimGrid, so
// that tests need none. Source: P2, section 4.1; SimGrid 3.32's TorusZone.
#pragma once

#include <string>
#include <vector>

#include "plan/data_sheet.hpp"

namespace spanfft::simulation {

struct FabricLink {
    std::string name;
    double bytes_per_second;
};

class Fabric {
  public:
    // Of as many nodes as so many ranks need.
    Fabric(const DataSheet& sheet, int ranks, int ranks_per_node);

    int nodes() const { return nodes_; }
    const std::vector<FabricLink>& links() const { return links_; }
    const Extents& torus() const { return torus_; }     // that the nodes fill; else empty
    std::vector<size_t> route(int from, int to) const;  // places in links(), in their order

  private:
    enum Port { out, in, memory, ports };
    size_t port(int node, Port which) const { return static_cast<size_t>(node) * ports + which; }
    size_t hop(int node, size_t dim, bool down) const {
        return first_ + 2 * (static_cast<size_t>(node) * torus_.size() + dim) + (down ? 1 : 0);
    }
    void go_around(int from, int to, std::vector<size_t>& way) const;

    int nodes_;
    Extents torus_;
    int block_ = 0;     // nodes that share links to the others: of a leaf, a group or a switch; 0: none
    size_t first_ = 0;  // of the links that belong to no node
    bool backplane_ = false;
    std::vector<FabricLink> links_;
};

}  // namespace spanfft::simulation
