// Intersections of two layouts; see meet.hpp.
#include "layout/meet.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <map>
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

std::vector<Piece> pieces(const Layout& ours, const Layout& theirs, const std::vector<int>& group, int rank) {
    const Patch mine = ours.patch(rank);
    const std::vector<int> holders = theirs.holders(mine);  // in rising order, as the group is
    const Patch nothing(mine.size(), AxisRange{0, 0, 1});
    std::vector<Piece> all;
    all.reserve(group.size());
    auto next = holders.begin();
    for (int peer : group) {
        next = std::lower_bound(next, holders.end(), peer);
        const bool holds = next != holders.end() && *next == peer;
        all.push_back(holds ? make_piece(peer, mine, theirs.patch(peer)) : Piece{peer, nothing});
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

index_t common_elems(const Patch& mine, const Layout& theirs, int rank) {
    index_t elems = 1;
    for (int axis = 0; axis < theirs.ndim() && elems > 0; ++axis)
        elems *= intersect(mine[static_cast<size_t>(axis)], theirs.range(rank, axis)).count;
    return elems;
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

int first_of_group(const Layout& from, const Layout& to, int rank) {
    if (!same_grid(from, to)) return 0;
    index_t first = 0, stride = 1, rest = rank;
    for (size_t dim = from.grid().size(); dim-- > 0;) {
        const index_t parts = from.grid()[dim].parts;
        if (from.grid()[dim] == to.grid()[dim]) first += rest % parts * stride;
        rest /= parts;
        stride *= parts;
    }
    return static_cast<int>(first);
}

std::vector<Piece> pieces_to_send(const Layout& from, const Layout& to, int rank) {
    return pieces(from, to, exchange_group(from, to, rank), rank);
}

std::vector<Piece> pieces_to_receive(const Layout& from, const Layout& to, int rank) {
    return pieces(to, from, exchange_group(from, to, rank), rank);
}

namespace {

// Coordinates of one grid dimension that meet a rank alike.
struct Run {
    index_t coord = 0, times = 0;
    index_t sent = 0, received = 0;  // indices in common along the axis that the dimension divides after, and before
    bool own = false;                // the rank's own coordinate
};

index_t in_common(const Layout& layout, const GridDim& dim, const Patch& patch, index_t coord) {
    if (dim.axis < 0) return 1;
    const auto axis = static_cast<size_t>(dim.axis);
    return intersect(patch[axis], dim.range(layout.shape()[axis], coord)).count;
}

// Where the number of indices in common may change, coordinate by coordinate. False: anywhere.
bool add_changes(const Layout& layout, const GridDim& dim, const Patch& patch, std::vector<index_t>& changes) {
    if (dim.axis < 0) return true;
    const AxisRange& range = patch[static_cast<size_t>(dim.axis)];
    if (range.count == 0) return true;
    if (range.step != 1) return false;
    const index_t n = layout.shape()[static_cast<size_t>(dim.axis)], last = range.start + range.count - 1;
    if (dim.division == Division::cyclic) {
        changes.insert(changes.end(), {range.start % dim.parts, (last + 1) % dim.parts});
        return true;
    }
    const index_t low = dim.part(n, range.start), high = dim.part(n, last);
    changes.insert(changes.end(),
                   {low, low + 1, high, high + 1, ceil_div(n, dim.row) % dim.parts});  // in this order: see runs_of
    return true;
}

std::vector<Run> runs_of(const Layout& from, const Layout& to, size_t dim, const Patch& sent, const Patch& mine,
                         index_t own, int apart) {
    const GridDim &before = from.grid()[dim], &after = to.grid()[dim];
    if (before == after) return {{own, 1, 1, 1, true}};
    std::vector<index_t> begins{0, own, own + 1}, met;
    const bool few = add_changes(to, after, sent, begins) && add_changes(from, before, mine, met);
    const bool each = apart >= 0 && before.axis == apart;
    begins.insert(begins.end(), met.begin(), met.end());
    if (!few || (each && before.division != Division::block)) {
        begins.resize(static_cast<size_t>(before.parts));
        std::iota(begins.begin(), begins.end(), 0);
    } else if (each && !met.empty()) {  // beyond those that are met nothing is received, and nobody is apart
        for (index_t coord = met[0]; coord < met[3]; ++coord) begins.push_back(coord);  // low, ..., high + 1
    }
    std::sort(begins.begin(), begins.end());
    begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
    std::vector<Run> runs;
    for (size_t i = 0; i < begins.size() && begins[i] < before.parts; ++i) {
        const index_t end = i + 1 < begins.size() ? std::min(begins[i + 1], before.parts) : before.parts;
        Run run{begins[i], end - begins[i], in_common(to, after, sent, begins[i]),
                in_common(from, before, mine, begins[i]), begins[i] == own};
        if (run.sent == 0 && run.received == 0) continue;
        const auto like = std::find_if(runs.begin(), runs.end(), [&](const Run& other) {
            return !run.own && !other.own && other.sent == run.sent && other.received == run.received &&
                   (!each || run.received == 0);
        });
        if (like == runs.end()) {
            runs.push_back(run);
        } else {
            like->times += run.times;
        }
    }
    return runs;
}

// Appends what a piece looks like; false: it is empty.
bool add_shape(const Patch& mine, const Layout& theirs, int peer, std::vector<index_t>& shape) {
    const size_t begin = shape.size();
    for (int axis = 0; axis < theirs.ndim(); ++axis) {
        const AxisRange common = intersect(mine[static_cast<size_t>(axis)], theirs.range(peer, axis));
        shape.insert(shape.end(), {common.count, common.step});
        if (common.count > 0) continue;
        shape.resize(begin);
        shape.push_back(0);
        return false;
    }
    return true;
}

// Peer by peer, by the shapes of both pieces. One that is asked about again costs no memory: of 10,000 most are alike.
std::vector<PeerKind> kinds_of_boxes(const Layout& from, const Layout& to, int rank, const Patch& sent,
                                     const Patch& mine, int apart) {
    std::vector<PeerKind> kinds;
    std::map<std::vector<index_t>, size_t> seen;
    std::vector<index_t> shapes;
    const std::vector<int> targets = to.holders(sent), sources = from.holders(mine);
    std::vector<int> met;
    std::set_union(targets.begin(), targets.end(), sources.begin(), sources.end(), std::back_inserter(met));
    for (const int peer : met) {
        shapes.assign(1, peer == rank);
        const bool sends = add_shape(sent, to, peer, shapes), receives = add_shape(mine, from, peer, shapes);
        if (!sends && !receives) continue;
        if (receives && apart >= 0) {
            const AxisRange rows = from.range(peer, apart);
            shapes.insert(shapes.end(), {rows.start, rows.count, rows.step});
        }
        const auto found = seen.find(shapes);
        if (found != seen.end()) {
            ++kinds[found->second].times;
        } else {
            seen.emplace(shapes, kinds.size());
            kinds.push_back({peer, 1});
        }
    }
    return kinds;
}

}  // namespace

std::vector<PeerKind> peer_kinds(const Layout& from, const Layout& to, int rank, const Patch& sent, int apart) {
    const Patch mine = to.patch(rank);
    if (!same_grid(from, to)) return kinds_of_boxes(from, to, rank, sent, mine, apart);
    const bool sends = patch_elems(sent) > 0, receives = patch_elems(mine) > 0;
    std::vector<PeerKind> kinds;
    // An axis is divided by one grid dimension at most, so what a member has in common with the rank along it depends
    // on one coordinate: kinds are products of runs of coordinates.
    struct Found {
        index_t peer, times;
        bool sends, receives;
    };
    std::vector<Found> found{{0, 1, sends, receives}};
    const Extents coords = from.grid_coords(rank);
    for (size_t dim = 0; dim < coords.size(); ++dim) {
        const auto runs = runs_of(from, to, dim, sent, mine, coords[dim], apart);
        std::vector<Found> next;
        for (const Found& prefix : found) {
            for (const Run& run : runs) {
                Found longer{prefix.peer * from.grid()[dim].parts + run.coord, prefix.times * run.times,
                             prefix.sends && run.sent > 0, prefix.receives && run.received > 0};
                if (longer.sends || longer.receives) next.push_back(longer);
            }
        }
        found = std::move(next);
    }
    for (const Found& each : found) kinds.push_back({static_cast<int>(each.peer), each.times});
    return kinds;
}

std::vector<PeerKind> peer_kinds(const Layout& from, const Layout& to, int rank) {
    return peer_kinds(from, to, rank, from.patch(rank));
}

}  // namespace spanfft
