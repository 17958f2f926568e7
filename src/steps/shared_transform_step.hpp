// SharedTransform: a transform along a divided axis of an array that all ranks of a node see, so that an exchange and a
// transform are one sweep over memory.
//
// Method: each rank takes a share of the lines along the axis, as an exchange would give it. It gathers tiles of lines
// from wherever their pieces lie (the windows of the ranks that own them), transforms them in cache, and puts the
// pieces where the next step wants them: back into the same windows (natural order), or into its own array (the layout
// after an exchange). Nothing is packed, sent or received. Barriers before and after keep ranks from reading what is
// not there yet and from overwriting what others still read. Lines lie side by side in the tile (engine/tile.hpp), or,
// as suits the halves of one long axis, as rows (engine/line_tile.hpp). Cost: one read and one write of the share,
// which is what the transform alone would move. Source: spanfft (docs/strategies.md); the share is that of P4's
// exchange. Worked numbers: 256^3 of 16 bytes in 2 slabs of axis 0. Rank 0's share is columns 0-127 of axis 1: 32768
// lines of 256 points, in 512 tiles of 64 lines; of each tile points 0-127 come from rank 0's window, 128-255 from
// rank 1's.
#pragma once

#include <optional>

#include "engine/engine.hpp"
#include "plan/step.hpp"
#include "steps/chirp_filter.hpp"
#include "steps/kept_modes.hpp"

namespace spanfft {

// One side of a SharedTransform: the array before, or after. `shared`: in the windows of slot `slot`, divided as
// `layout`; else in this rank's own slot memory, and then layout is the share's. `turned`: there the lines are rows,
// one after the other (the transformed axis and the last one, which is behind it, change places), and element k of line
// j is multiplied by w_n^(j k) on the way out of the tile, or by its conjugate on the way in: n is the product of the
// two axes' lengths, whose transform (P2, section 2.1) this is one half of.
// `own`: the rank's own part of the shared array lies, or is wanted, in this slot, which the others don't see. The rank
// reads and writes it there; what others take of it is copied into the window first, and what they put is copied out of
// the window last.
struct SharedSide {
    Layout layout;
    Slot slot = Slot::work0;
    bool shared = true;
    bool turned = false;
    std::optional<Slot> own = {};
    // Of a shared side whose rows are one long axis: how the ranks have that, in blocks that may begin and end in the
    // middle of a row. `layout` is its shape as rows then, and not how it is divided. The axis may end before the rows
    // do: what is missing is taken for zeros, and not put.
    std::optional<Layout> blocks = {};
};

struct SharedTransformSpec {
    ElemType elem;
    Kernel kernel = Kernel::c2c_forward;  // c2c, DCT or DST
    int axis = 0;
    Layout share;  // whole along axis, with all points: which lines each rank transforms
    SharedSide from, to;
    bool rows = false;  // lines become rows of the tile: c2c lines whose neighbours are adjacent; if a side is turned
    bool twiddled = true;  // a turned side multiplies
    // Rows of which the spectrum of real numbers becomes (forward) or is (backward): engine/line_fold.hpp. The lines
    // are columns of the last axis, shared out in pairs; `share` and both layouts are those of the pairs' spectrum, and
    // the side that has the numbers' is in blocks, of one number more, X[m].
    bool folded = false;
    index_t modes = 0;  // of c2c lines side by side: those of the spectrum's side; 0: all
    // Of rows in natural order: lines are transformed, multiplied by the rows of a filter that go with them, and
    // transformed back while they are in cache. A line is a row k1 of m1 x m2, across the last axis, whose index is k1.
    std::optional<ChirpFilterForm> filter = {};  // whose rows are those of a rank's share
    long double scale = 1;                       // 1 for rows without factors
    std::string engine;                          // forced, or ""
    RateTable rates;                             // of the machine that is planned for, by which the engine is chosen
    Caches caches;                               // of it, a rank's share
    double memory_bytes_per_second = 19e9;       // of it, copied by a thread
    double meeting_seconds = 0;                  // of it, Machine::shared_step_seconds
    int threads = 1;
    bool measure = false;

    bool folds(const SharedSide& side) const {  // whether there the spectrum is the real numbers'
        return folded && &side == (kernel == Kernel::c2c_forward ? &to : &from);
    }
    KeptModes kept() const { return {points(), modes > 0 ? modes : points(), false}; }
    bool cuts(const SharedSide& side) const {  // whether there only `modes` are
        return modes > 0 && &side == (kernel == Kernel::c2c_forward ? &to : &from);
    }
    index_t points_at(const SharedSide& side) const { return cuts(side) ? modes : points(); }
    ChirpFilterForm filter_of(int rank) const {
        ChirpFilterForm form = *filter;
        form.rows = share.patch(rank).back();
        return form;
    }
    bool turns() const { return from.turned || to.turned; }
    bool twiddles() const { return turns() && twiddled; }
    index_t points() const { return share.shape()[static_cast<size_t>(axis)]; }
};

// All layouts must be boxes (no cyclic parts), and a shared side's slot must be a work slot or the plan's own array.
Result<std::unique_ptr<Step>> make_shared_transform_step(SharedTransformSpec spec, std::vector<std::string>& notes);

}  // namespace spanfft
