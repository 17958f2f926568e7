// Route: what a solver for arrays in memory finds; which operations, in order, lead from one array state to another.
//
// Method: a solver makes the forward route, from real space to the spectrum. The backward transform is the same route
// undone, so only forward routes are ever searched for (route_search.hpp). A route says what happens, not how: which
// slots the array passes through, and by which strategy a move is done, is decided when it is lowered to steps
// (lower.hpp).
//     view       the same memory under another shape: an axis of n points as two, of n1 and n2
//     transform  along axes that are whole; or, with `share`, along one divided axis of an array that all ranks see;
//                or, with `modes`, along one axis of whose spectrum only so many modes are kept, the others zero
//     twiddle    each element times roots of unity, between the two halves of a transform of n1 n2 points
//     columns    a transform along an axis and the twiddles behind it, in one sweep of memory, which may leave the
//                columns in the parts that a move then deals out (columns_step.hpp)
//     butterfly  a twiddle and the short transform beside it, in one sweep of memory
//     move       to another division among the ranks
//     transpose  two neighbouring axes of each rank's part change places
//     halve      real numbers around a complex transform (halve_step.hpp, split_step.hpp)
//     chirp      what makes a transform a convolution (chirp_step.hpp)
//     convolve   rows become sums of the rows near them, and
//     demodulate columns are cut and divided by the window's spectrum: both of SOI (segment_step.hpp)
//     copy       the array as it is, elsewhere
#pragma once

#include <optional>

#include "plan/planner.hpp"
#include "steps/chirp_step.hpp"
#include "steps/halve_step.hpp"
#include "steps/segment_window.hpp"
#include "steps/transform_step.hpp"
#include "steps/twiddle_step.hpp"

namespace spanfft {

// Whether a transform with a share finds, or leaves, the lines that a rank takes as rows of its own array: the axis and
// the one behind it change places, and between the two lie the twiddles of a transform of both their lengths (unless
// RouteOp::twiddled says otherwise).
enum class Turned { neither, from, to };

struct RouteOp {
    enum class Type {
        view,
        transform,
        twiddle,
        columns,
        butterfly,
        move,
        transpose,
        halve,
        chirp,
        convolve,
        demodulate,
        copy,
    };
    Type type = Type::transform;
    ArrayState from, to;
    Kernel kernel = Kernel::c2c_forward;  // of a transform; of a chirp's line; of a twiddle or columns its direction
    std::vector<int> axes =
        {};  // of the layouts (a batch axis counts); a transform's; a transposition's or matrix' first
    std::vector<TwiddlePair> pairs = {};  // of a twiddle; of a butterfly one
    std::optional<Layout> share = {};     // of a transform along a divided axis: the lines that each rank takes
    // Of rows with a share that are the rows of one axis, whose blocks begin anywhere: their shape. The state on the
    // side that is not turned is that axis; where none is, the one that it leaves forward and takes backward.
    std::optional<Layout> matrix = {};
    Halving halving = Halving::widen;  // of a halve
    index_t modes = 0;                 // of a transform along one axis: those it keeps, fewer than points; 0: all
    SegmentWindow window = {};         // of convolve and demodulate
    Chirping chirping = Chirping::in;  // of a chirp

    Turned turned = Turned::neither;  // of a transform with a share
    bool twiddled = true;             // of a turned one
    bool rows = false;                // of one with a share: its lines become rows of a tile, as suits few long ones
    bool folded = false;              // of rows: of pairs of real numbers, whose spectrum it leaves (undone: takes)
    // Of rows: the transform is followed by a product with the chirp's spectrum of a line of this kind, and undone. The
    // route undone has the product of the inverse kind.
    std::optional<Kernel> filter = {};
    bool dealt = false;  // of columns in parts: row by row

    // Can leave its result where its source is.
    bool can_stay() const;
    // A transform of a line alone, which may become half a spectrum, or the reverse, where it lies if there is room for
    // both: of several lines, one would overwrite the next.
    bool is_one_line() const;
    // A transform with a share reads its lines from, and puts them into, the parts of all ranks, unless the array is
    // divided as the share is or the lines are rows of the rank's own array.
    bool reads_all_parts() const { return share && turned != Turned::from && !shared_out(from.layout); }
    bool writes_all_parts() const { return share && turned != Turned::to && !shared_out(to.layout); }

  private:
    // Whether an array of this layout is divided as the lines are; of lines with `modes` it may have those alone.
    bool shared_out(const Layout& layout) const;
};
using Route = std::vector<RouteOp>;

// The array of the problem with the batch, if any, as a leading axis: axis i of the problem is axis i + batch_axes(p).
int batch_axes(const Problem& problem);
Layout with_batch(const Problem& problem, Layout layout);
// Dimension i of the grid, where it is not 1, divides axis i of the shape (of one array; the batch is added).
Layout divided(const Problem& problem, const Extents& shape, const Extents& grid, Division division);
// What the caller has or wants: balanced blocks of the grid, or boxes.
Result<Layout> callers_blocks(const Problem& problem, const Extents& shape, const std::vector<Patch>& boxes,
                              const Extents& grid);
// The element type of real space, where routes begin.
ElemType real_elem(const Problem& problem);

// Appends transforms of those axes of `pending` that are whole in `state` and may be done now, with the fewest engine
// calls; updates state and pending. An r2c axis goes before any c2c axis. Axes that don't keep all modes go one by one,
// the last first, and before those that do, so that what follows has less to do.
struct PendingAxis {
    int axis;
    AxisKind kind;
    index_t modes = 0;  // that it keeps, fewer than its points; 0: all
};
void transform_whole_axes(Route& route, ArrayState& state, std::vector<PendingAxis>& pending);
std::vector<PendingAxis> pending_axes(const Problem& problem);

// These append an operation, unless it would change nothing, and update the state.
void move_to(Route& route, ArrayState& state, Layout layout);
void view_as(Route& route, ArrayState& state, Layout layout);
void transpose(Route& route, ArrayState& state, int axis, Layout layout);
// The columns of axes `axis` and `axis` + 1, which stay where they are.
void columns(Route& route, ArrayState& state, int axis);
void halve(Route& route, ArrayState& state, Halving halving, ArrayState to);
void chirp(Route& route, ArrayState& state, Chirping chirping, Kernel line, ArrayState to);

RouteOp copy_of(const ArrayState& state);

// The same route undone: from its end to its start, each operation by its inverse.
Route reversed(const Route& forward);
// As the problem's direction has it.
inline Route directed(const Problem& problem, Route forward) {
    return problem.forward() ? std::move(forward) : reversed(forward);
}

}  // namespace spanfft
