// Meet: what must move between ranks to turn one layout of an array into another.
//
// Method: an element moves from its owner in `from` to its owner in `to`. So rank r sends to rank q exactly
// the intersection of r's patch in `from` and q's patch in `to` (P4, section 3.3, for arbitrary patches).
// Where both layouts use the same process grid, only ranks that differ in the grid dimensions whose division
// changes can meet; they form the exchange's group (P4's subgroups of the Cartesian topology).
#pragma once

#include <vector>

#include "layout/layout.hpp"

namespace spanfft {

// One side of a message: the part of a local C-order array that goes to, or comes from, `peer`.
struct Piece {
    int peer = 0;  // rank in the layouts' numbering
    Patch local;   // indices into the local array (start/count/step an axis)
    index_t elems() const { return patch_elems(local); }
};

// What the local array that holds `mine` has in common with `theirs`, both in global indices.
Piece make_piece(int peer, const Patch& mine, const Patch& theirs);

// Elements of `mine`, in global indices, that are in a rank's part of `theirs`; allocates nothing.
index_t common_elems(const Patch& mine, const Layout& theirs, int rank);

// The ranks that `rank` exchanges with, itself included, in rising order; the same list on each of them.
std::vector<int> exchange_group(const Layout& from, const Layout& to, int rank);
int first_of_group(const Layout& from, const Layout& to, int rank);  // its lowest member

// One piece for each member of exchange_group (empty ones included, so that lists line up with the group).
std::vector<Piece> pieces_to_send(const Layout& from, const Layout& to, int rank);
std::vector<Piece> pieces_to_receive(const Layout& from, const Layout& to, int rank);

// Members of a rank's group by what they have in common with it: those of a kind get pieces of one shape from it and
// give it pieces of one shape. Between divisions of one process grid thousands of members are a few kinds, so that an
// exchange is predicted without looking at each of them.
struct PeerKind {
    int peer = 0;       // one of them
    index_t times = 0;  // how many they are
};

// The kinds of those with whom anything is exchanged when `rank` sends only `sent` of its part (in global indices);
// `rank` itself, if it keeps anything, is a kind of its own. Members whose parts of `from` differ along the axis
// `apart` are never of one kind (for callers that cut members' parts along it).
std::vector<PeerKind> peer_kinds(const Layout& from, const Layout& to, int rank, const Patch& sent, int apart = -1);
std::vector<PeerKind> peer_kinds(const Layout& from, const Layout& to, int rank);  // of the whole part

}  // namespace spanfft
