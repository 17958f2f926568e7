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

// The ranks that `rank` exchanges with, itself included, in rising order; the same list on each of them.
std::vector<int> exchange_group(const Layout& from, const Layout& to, int rank);

// One piece for each member of exchange_group (empty ones included, so that lists line up with the group).
std::vector<Piece> pieces_to_send(const Layout& from, const Layout& to, int rank);
std::vector<Piece> pieces_to_receive(const Layout& from, const Layout& to, int rank);

}  // namespace spanfft
