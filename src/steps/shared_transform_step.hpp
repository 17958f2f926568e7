// SharedTransform: a transform along a divided axis of an array that all ranks of a node see, so that an exchange and a
// transform are one sweep over memory.
//
// Method: each rank takes a share of the lines along the axis, as an exchange would give it. It gathers tiles of lines
// from wherever their pieces lie (the windows of the ranks that own them), transforms them in cache, and puts the
// pieces where the next step wants them: back into the same windows (natural order), or into its own array (the layout
// after an exchange). Nothing is packed, sent or received. Barriers before and after keep ranks from reading what is
// not there yet and from overwriting what others still read. Cost: one read and one write of the share, which is what
// the transform alone would move. Source: spanfft (docs/strategies.md); the share is that of P4's exchange. Worked
// numbers: 256^3 of 16 bytes in 2 slabs of axis 0. Rank 0's share is columns 0-127 of axis 1: 32768 lines of 256
// points, in 512 tiles of 64 lines; of each tile points 0-127 come from rank 0's window, 128-255 from rank 1's.
//
// Beside it, in the same sweep: where pencils divide two axes, a transform along a whole axis comes before (or after)
// this one, and both leave the planes across a third axis apart. So a block of planes is transformed along the one axis
// by the ranks that have its parts, these wait for one another, and transform it along the other while it is in the
// third-level cache: one sweep of memory instead of two. What the second reads of the first is not counted as memory.
// Worked numbers: 256^3 on 2x2 ranks: of a plane across axis 0 a rank has 128 x 256 points, 512 KiB; a block of 4
// planes is 2 MiB a rank and 4 MiB of the pair that has them; 32 blocks, so 32 times the pair waits.
#pragma once

#include "engine/engine.hpp"
#include "plan/step.hpp"
#include "steps/transform_step.hpp"

namespace spanfft {

// One side of a SharedTransform: the array before, or after. `shared`: in the windows of slot `slot`, divided as
// `layout`; else in this rank's own slot memory, and then layout is the share's. `turned`: there the lines are rows,
// one after the other (the transformed axis and the last one, which is behind it, change places), and element k of line
// j is multiplied by w_n^(j k) on the way out of the tile, or by its conjugate on the way in: n is the product of the
// two axes' lengths, whose transform (P2, section 2.1) this is one half of.
struct SharedSide {
    Layout layout;
    Slot slot = Slot::work0;
    bool shared = true;
    bool turned = false;
};

// A transform or a copy of each rank's part that goes block by block with the lines of all ranks.
struct BesideTransform {
    TransformSpec transform;
    bool before = true;  // it leaves the planes that the lines are taken from; else it takes those they are put into
    int axis = 0;        // across the planes, along which neither transforms
    index_t planes = 1;  // of a block
};

struct SharedTransformSpec {
    ElemType elem;
    Kernel kernel = Kernel::c2c_forward;  // c2c, DCT or DST
    int axis = 0;
    Layout share;  // whole along axis: which lines each rank transforms
    SharedSide from, to;
    bool twiddled = true;  // a turned side multiplies; if not, scale is 1
    long double scale = 1;
    std::string engine;  // forced, or ""
    RateTable rates;     // of the machine that is planned for, by which the engine is chosen
    Caches caches;       // of it, a rank's share
    int threads = 1;
    bool measure = false;
    std::optional<BesideTransform> beside = {};
};

// All layouts must be boxes (no cyclic parts), and a shared side's slot must be a work slot or the plan's own array.
Result<std::unique_ptr<Step>> make_shared_transform_step(SharedTransformSpec spec, const Machine& machine,
                                                         std::vector<std::string>& notes);

// The transform as one that goes beside the lines, block by block, where that saves a sweep: there are planes that both
// leave apart, a block of them fits the caches, and all of them don't.
std::optional<BesideTransform> beside_lines(const SharedTransformSpec& lines, const TransformSpec& transform,
                                            bool before);

}  // namespace spanfft
