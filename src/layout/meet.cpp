// Intersections of two layouts; see meet.hpp.
#include "layout/meet.hpp"

#include <cassert>
#include <numeric>

namespace spanfft {

namespace {

// Index progression `part` of global indices, as positions in the local axis that holds `whole`.
AxisRange to_local(const AxisRange& part, const AxisRange& whole) {
    if (part.count == 0) return {0, 0, 1};
    const index_t step = part.count == 1 ? 1 : part.step / whole.step;
    return {(part.start - whole.start) / whole.step, part.count, step};
}

bool same_grid(const Layout& a, const Layout& b) {
    if (!a.has_grid() || !b.has_grid() || a.grid().size() != b.grid().size()) return false;
    for (size_t i = 0; i < a.grid().size(); ++i) {
        if (a.grid()[i].parts != b.grid()[i].parts) return false;
    }
    return true;
}

// Which ranks of a block division can hold something of a box, by coordinate: what keeps exchanges among thousands of
// ranks, most of which never meet, cheap to describe.
class Meeting {
  public:
    Meeting(const Layout& theirs, const Patch& mine) : grid_(theirs.grid()) {
        if (!theirs.has_grid() || patch_elems(mine) == 0) return;
        for (const GridDim& dim : grid_) {
            first_.push_back(0);
            last_.push_back(dim.parts - 1);
            if (dim.axis < 0 || dim.division != Division::block) continue;
            const AxisRange& range = mine[static_cast<size_t>(dim.axis)];
            const index_t n = theirs.shape()[static_cast<size_t>(dim.axis)];
            first_.back() = block_part(n, dim.parts, range.start);
            last_.back() = block_part(n, dim.parts, range.at(range.count - 1));
        }
    }
    bool possible(int rank) const {
        index_t rest = rank;
        for (size_t dim = first_.size(); dim-- > 0;) {
            const index_t coord = rest % grid_[dim].parts;
            if (coord < first_[dim] || coord > last_[dim]) return false;
            rest /= grid_[dim].parts;
        }
        return true;
    }

  private:
    const std::vector<GridDim>& grid_;
    Extents first_, last_;
};

std::vector<Piece> pieces(const Layout& ours, const Layout& theirs, const std::vector<int>& group, int rank) {
    const Patch mine = ours.patch(rank);
    const Meeting meeting(theirs, mine);
    const Patch nothing(mine.size(), AxisRange{0, 0, 1});
    std::vector<Piece> all;
    all.reserve(group.size());
    for (int peer : group) {
        all.push_back(meeting.possible(peer) ? make_piece(peer, mine, theirs.patch(peer)) : Piece{peer, nothing});
    }
    return all;
}

}  // namespace

Piece make_piece(int peer, const Patch& mine, const Patch& theirs) {
    const Patch common = intersect(mine, theirs);
    Piece piece{peer, Patch(mine.size(), AxisRange{0, 0, 1})};
    if (patch_elems(common) == 0) return piece;
    for (size_t axis = 0; axis < mine.size(); ++axis) piece.local[axis] = to_local(common[axis], mine[axis]);
    return piece;
}

std::vector<int> exchange_group(const Layout& from, const Layout& to, int rank) {
    assert(from.shape() == to.shape() && from.nranks() == to.nranks());
    std::vector<int> group;
    if (!same_grid(from, to)) {
        group.resize(static_cast<size_t>(from.nranks()));
        std::iota(group.begin(), group.end(), 0);
        return group;
    }
    // Walk the grid dimensions that change; the others keep this rank's coordinate.
    const Extents coords = from.grid_coords(rank);
    group.push_back(0);
    for (size_t dim = 0; dim < coords.size(); ++dim) {
        const index_t parts = from.grid()[dim].parts;
        const bool changes = !(from.grid()[dim] == to.grid()[dim]);
        std::vector<int> next;
        for (int prefix : group) {
            for (index_t c = changes ? 0 : coords[dim]; c < (changes ? parts : coords[dim] + 1); ++c) {
                next.push_back(static_cast<int>(prefix * parts + c));
            }
        }
        group = std::move(next);
    }
    return group;
}

std::vector<Piece> pieces_to_send(const Layout& from, const Layout& to, int rank) {
    return pieces(from, to, exchange_group(from, to, rank), rank);
}

std::vector<Piece> pieces_to_receive(const Layout& from, const Layout& to, int rank) {
    return pieces(to, from, exchange_group(from, to, rank), rank);
}

}  // namespace spanfft
