// Solver `two_sweeps`: an axis whose lines no memory holds, or too few of them, in two sweeps: two reads and two writes
// a byte.
//
// Method: n = n1*n2, after P1's superlevels but for any factors and straight into natural order. With j = j1*n2 + j2
// and k = k1 + n1*k2, W^(jk) = W1^(j1 k1) * W^(j2 k1) * W2^(j2 k2): sweep 1 transforms the n2 columns of length n1 and
// multiplies by the twiddles W^(j2 k1); sweep 2 transforms the n1 rows k1 over j2 and writes row k1 as column k1 of
// the n2 x n1 matrix that the natural order is. r2c keeps k1 <= n1/2 in between and gets the rest of X[0..n/2]
// from X[n-k] = conj X[k]; c2r is r2c backwards: columns k1 <= n1/2 over k2, twiddle, then c2r over k1.
// Between the sweeps scratch holds blocks of c columns x d rows, so both sweeps move long runs: w elements are read at
// a time, c*n1 written, c*d read, h written, with w*n1 and h*n2 elements of memory twice (P1's bound n <= (M/B)^2).
// c2c needs no scratch: sweep 1 writes its columns one after the other as rows of the output file, sweep 2 transforms
// the columns of that in place. It reads h elements at a time instead of c*d, but half the disk space is needed,
// nothing has to be freed and no fresh blocks of a file are written in small runs; where rows are whole blocks it is
// chosen. DCT and DST are a Fourier transform of N = 2n (2n-2, 2n+2) points of the input padded with zeros, with
// factors on the way in and out (steps/chirp.hpp): r2c for dct1 and dct2, c2r for dct3, c2c for the others; 6 or 10
// times n reals move where r2c of n moves 4. On several ranks each transforms columns of its own and keeps rows of its
// own, in scratch that is its own: between the two all ranks exchange, tile by tile (sweeps/block_exchange.hpp). By way
// of the output, which all ranks see, there is nothing to exchange between the two. Each rank has so much memory. The
// axes before the one that is split are an outer loop. All that lies behind it are rows, which take the place of
// elements: the runs are of whole rows, and each number of a row has a column of its own. Where the split axis is c2c,
// or all are DCTs and DSTs, others behind it may be transformed too, row by row: where the first sweep has read them,
// or, of c2r, where the second one will write them. Worked: 16384 x 16384 complex floats in 512 MiB: axis_sweeps has
// columns of 16384 points, so runs of 8 KiB; here 128 rows of 128 KiB are 16 MiB. Of real rows half spectra are
// computed, in memory beside the panel (RowTransforms::apart).
#include <algorithm>

#include "solvers/sweep_search.hpp"
#include "solvers/table.hpp"
#include "steps/transform_step.hpp"
#include "sweeps/exchange_geometry.hpp"

namespace spanfft {

namespace {

// n is the length that is split: for DCT and DST the logical one, N, with the stored points in the chirp.
struct SplitAxis : LongAxis {
    Chirp chirp;
    RowTransforms rows;    // of the axes behind the one that is split
    index_t real_row = 0;  // > 0: which are c2r or r2c, of so many real numbers
    std::string row_title;
    index_t inputs() const { return chirp.length > 0 ? chirp.inputs : halves && !forward ? half() : n; }
    index_t outputs() const { return chirp.length > 0 ? chirp.outputs : halves && forward ? half() : n; }
    // Columns of elements that are so many of numbers at least, doubled up to 512 of numbers.
    std::vector<index_t> widths_from(index_t numbers) const {
        std::vector<index_t> widths;
        for (index_t c = fewest(numbers), most = fewest(std::max<index_t>(numbers, 512)); c <= most; c *= 2)
            widths.push_back(c);
        return widths;
    }
};

// So many elements of each array as rows of `row_elems`, of which the last may be cut off.
ColumnPanels matrix(const SplitAxis& job, index_t elems, index_t row_elems, bool complex) {
    return cut_off(column_panels(job, job.outer, 1, row_elems, complex), elems);
}

// Lets the first sweep transform rows that it reads, or the second one those that it writes. Where these are real in
// the file, half spectra lie apart.
void put_rows(const SplitAxis& job, SweepRoute& route) {
    RowTransforms rows = job.rows;
    SweepSpec& sweep = rows.last ? route.sweeps[1] : route.sweeps[0];
    if (job.real_row > 0) {
        ColumnPanels& file = rows.last ? sweep.target.columns() : sweep.source.columns();
        rows.apart = file;
        rows.apart->use = ColumnPanels::Use::read;
        file.elem_bytes = job.real_row * job.number(false);
        file.numbers = job.real_row;
    }
    sweep.work = TileWork{std::move(rows), {}};
}

// The two sweeps for n1*n2, by way of blocks, without panels yet.
SweepRoute outline(const SplitAxis& job, index_t n1, index_t lanes, index_t tile_columns, index_t tile_rows) {
    const index_t n2 = job.n / n1;
    SweepRoute route;
    route.sweeps = {blank_sweep(job, lanes), blank_sweep(job, lanes)};
    const bool real_in = job.halves && job.forward, real_out = job.halves && !job.forward;
    SweepSpec &first = route.sweeps[0], &second = route.sweeps[1];
    // c2r reads the half spectrum as rows of n1; the others read rows of n2.
    const bool real_rows = job.real_row > 0;
    ColumnPanels in = matrix(job, job.inputs(), real_out ? n1 : n2, real_rows || job.problem.input_elem().complex);
    if (real_out) in.besides = ColumnPanels::Mirrored{n1};
    in.columns = real_out ? n1 / 2 + 1 : n2;
    first.source.array = in;
    first.source.complex = !real_in;
    first.source.factors = job.chirp;
    first.twiddles.roots_n = job.n;
    first.scale = job.problem.scale();
    first.points = real_out ? n2 : n1;
    first.out_points = real_in ? n1 / 2 + 1 : first.points;
    first.flops_each = column_flops(first.points, real_in);

    ColumnPanels out =
        written(matrix(job, job.outputs(), real_out ? n2 : n1, real_rows || job.problem.output_elem().complex));
    if (real_in) out.besides = ColumnPanels::Mirrored{n1};
    out.columns = first.out_points;
    out.share = ColumnPanels::Share::in_blocks;  // the rows that a rank keeps of a tile lie together
    second.target.array = out;
    second.target.complex = !real_out;
    second.target.factors = job.chirp;
    second.points = in.columns;
    second.out_points = real_out ? n1 : second.points;
    second.flops_each = column_flops(real_out ? n1 : n2, real_out);
    put_rows(job, route);

    BlockGrid blocks;
    blocks.outer = job.outer;
    blocks.columns = in.columns;
    blocks.rows = first.out_points;
    blocks.tile_columns = std::min(tile_columns, blocks.columns);
    blocks.tile_rows = std::min(tile_rows, blocks.rows);
    blocks.elem_bytes = job.elem(true);
    first.target.place = second.source.place = Place::scratch;
    first.target.array = blocks;
    second.source.array = blocks;
    return route;
}

// The second sweep's panels say which rows of blocks each rank keeps, and so what the first one's slots hold.
std::optional<SweepRoute> fit(const SplitAxis& job, SweepRoute route, const Machine& machine) {
    SweepSpec &first = route.sweeps[0], &second = route.sweeps[1];
    if (job.holds_scratch) {
        first.target.place = second.source.place = Place::memory;
        route.held_scratch_bytes = first.target.blocks().scratch_bytes();
    }
    const index_t room = route.room(job);
    if (!widen_columns(second, room, machine)) return std::nullopt;
    const ColumnPanels& out = second.target.columns();
    if (job.ranks > 1) first.sharing.kept = Sharing::Rows{out.panels_per_matrix() * out.panel};
    if (!widen_columns(first, room, machine)) return std::nullopt;
    if (!job.holds_scratch) route.scratch_bytes = first.target.blocks().scratch_bytes();
    if (job.ranks > 1)  // rank 0 keeps the most
        route.scratch_of_each_rank_bytes = ExchangeGeometry(first).kept_blocks(0).scratch_bytes();
    return route;
}

// c2c by way of the output file alone: blocks become whole columns, the second sweep works in place.
std::optional<SweepRoute> fit_in_place(const SplitAxis& job, SweepRoute route, const Machine& machine) {
    SweepSpec &first = route.sweeps[0], &second = route.sweeps[1];
    BlockGrid& blocks = first.target.blocks();
    blocks.natural = true;
    blocks.tile_rows = blocks.rows;
    ColumnPanels columns = of_numbers(second.target.columns());
    columns.share = ColumnPanels::Share::by_turns;
    first.target.place = second.source.place = Place::output;
    second.source.array = columns;
    second.target.array = InPlace{columns};
    const index_t room = route.room(job), block = block_elems(columns);
    if (job.row == 1 && columns.row_elems % block != 0) return std::nullopt;
    if (!widen_columns(first, room, machine) || !widen_columns(second, room, machine)) return std::nullopt;
    if (job.row == 1 && second.walked().panel % block != 0) return std::nullopt;
    return route;
}

// c2c whose output stays in the order in which the second sweep finds it: columns, then contiguous rows in place. Ranks
// share both out, by way of the output.
std::optional<SweepRoute> fit_exchanged(const SplitAxis& job, SweepRoute route, const Machine& machine) {
    SweepSpec &first = route.sweeps[0], &second = route.sweeps[1];
    const ColumnPanels in = first.source.columns();
    first.target.place = second.source.place = job.problem.stores_other() ? Place::scratch : Place::output;
    first.target.array = written(in);
    second.work = SlabWork();
    second.lanes = 1;
    ColumnPanels rows = in;
    rows.outer = rows.rows = 1;
    rows.row_elems = rows.last_row_elems = rows.columns = job.outer * job.n;
    second.source.array = rows;
    second.target.array = written(rows);
    if (!widen_columns(first, route.room(job), machine) || !widen_slabs(second, route.room(job))) return std::nullopt;
    route.leaves_exchanged = true;
    if (first.target.place == Place::scratch) route.scratch_bytes = first.target.columns().payload_bytes();
    return route;
}

// Proper divisors of n, rising, as first factors of n = n1*n2: all of them, or of very many those around the root and
// some of the others, so that what is tried for each stays within a second.
std::vector<index_t> first_factors(index_t n) {
    constexpr size_t kNear = 48, kOthers = 48;
    std::vector<index_t> all = divisors(n);
    all.erase(std::remove_if(all.begin(), all.end(), [&](index_t d) { return d == 1 || d == n; }), all.end());
    if (all.size() <= kNear + kOthers) return all;
    const size_t from = (all.size() - kNear) / 2, step = ceil_div(static_cast<index_t>(all.size() - kNear), kOthers);
    std::vector<index_t> some;
    for (size_t i = 0; i < all.size(); ++i) {
        if ((i >= from && i < from + kNear) || i % step == 0) some.push_back(all[i]);
    }
    return some;
}

bool may_leave_exchanged(const SplitAxis& job) {
    return job.problem.output == SpectrumOrder::exchanged && !job.holds_scratch && !job.spares_output && job.forward &&
           !job.halves && job.chirp.length == 0 && job.row == 1 && (job.ranks == 1 || !job.problem.stores_other());
}

// In exchanged order if that is asked for, else by way of the output file, else by way of scratch.
void offer_splits(const SplitAxis& job, SweepSearch& search) {
    const Machine& machine = search.machine();
    const std::vector<index_t> factors = first_factors(job.n);
    const auto lanes_of = [&](index_t n1) { return lanes_for(job, std::max(n1, job.n / n1)); };
    for (size_t i = 0; may_leave_exchanged(job) && i < factors.size() && !search.ended(); ++i)
        search.offer(fit_exchanged(job, outline(job, factors[i], lanes_for(job, factors[i]), 1, 1), machine));
    if (search.found()) return;
    const bool has_room = !job.problem.stores_other() && !(job.real_row > 0 && job.rows.last);
    const bool in_place = !job.halves && job.chirp.length == 0 && has_room && !job.holds_scratch && !job.spares_output;
    for (size_t i = 0; in_place && i < factors.size() && !search.ended(); ++i) {
        for (index_t c : job.widths_from(2 * job.threads * lanes_of(factors[i]))) {
            const SweepRoute route = outline(job, factors[i], lanes_of(factors[i]), c, c);
            if (!search.offer(fit_in_place(job, route, machine))) break;  // nor does a wider one fit
        }
    }
    if (search.found()) return;
    for (index_t n1 : factors) {
        if (search.ended()) return;
        if (!fit(job, outline(job, n1, 1, 1, 1), machine)) continue;  // nor do wider tiles
        index_t lanes = lanes_of(n1);
        for (bool fits = false; lanes >= 1 && !fits; lanes /= 2) {  // narrower tiles only where memory is that tight
            for (index_t c : job.widths_from(lanes)) {
                for (index_t d : job.widths_from(lanes)) {
                    if (!search.offer(fit(job, outline(job, n1, lanes, c, d), machine))) break;
                    fits = true;
                }
            }
        }
    }
}

// The next longer length without prime factors above 13: it has factors of every size.
index_t near_length(index_t n) {
    index_t nearest = 1;
    while (nearest < n) nearest *= 2;
    std::vector<index_t> odd{1};  // products of 3, 5, 7, 11, 13: 57,000 at most
    for (index_t p : {3, 5, 7, 11, 13}) {
        for (size_t i = 0; i < odd.size(); ++i) {
            if (odd[i] <= nearest / p) odd.push_back(odd[i] * p);
        }
    }
    for (index_t product : odd) {
        while (product < n) product *= 2;
        nearest = std::min(nearest, product);
    }
    return nearest;
}

// Of the first axis.
AxisKind split_kind(const Problem& problem) {
    const auto split = std::min_element(problem.axes.begin(), problem.axes.end()) - problem.axes.begin();
    return problem.kinds[static_cast<size_t>(split)];
}

// The other axes, which lie in rows.
void add_rows(SplitAxis& job) {
    const Problem& problem = job.problem;
    if (problem.axes.size() == 1) return;
    std::vector<size_t> order(problem.axes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return problem.axes[a] < problem.axes[b]; });
    const int split = problem.axes[order[0]];
    const Extents spectrum_shape = problem.spectrum_shape();
    const bool spectrum_complex = problem.spectrum_is_complex();
    StageRequest request;
    request.shape = Extents(problem.shape.begin() + split + 1, problem.shape.end());
    if (job.halves) {  // one of these axes; the one that is split is c2c
        job.real_row = job.row;
        job.row = product(spectrum_shape, split + 1, problem.ndim());
        job.halves = false;
        job.rows.last = !job.forward;
    }
    for (size_t i = 1; i < order.size(); ++i) {
        const int axis = problem.axes[order[i]];
        const Kernel kernel = kernel_of(problem.kinds[order[i]], problem.direction);
        const index_t length = problem.shape[static_cast<size_t>(axis)];
        const bool joint = job.real_row > 0 && !is_r2r(kernel);  // of real rows, halved by one call
        const bool real = joint || !spectrum_complex;
        request.axes.push_back(axis - split - 1);
        request.kernels.push_back(kernel);
        const auto numbers = static_cast<double>(joint ? job.real_row : job.row);
        job.rows.flops += column_flops(length, real) * numbers / static_cast<double>(length);
        job.row_title += cat(i == 1 ? "" : ", ", kernel_name(kernel), " axis ", axis);
        job.add_engine(kernel, length);
    }
    request.precision = problem.precision;
    request.across = job.real_row > 0;
    request.source_complex = request.across ? job.rows.last : spectrum_complex;
    request.target_complex = request.across ? !job.rows.last : spectrum_complex;
    request.source_pitch = request.source_complex ? job.row : job.real_row;
    request.target_pitch = request.target_complex ? job.row : job.real_row;
    job.rows.stages = make_stages(request);
}

Result<SplitAxis> examine(const Problem& problem, const Planner& planner) {
    SPANFFT_ASSIGN(const LongAxis line, examine_long_axis(problem, planner, "two_sweeps"));
    SplitAxis job;
    static_cast<LongAxis&>(job) = line;
    const AxisKind kind = split_kind(problem);
    const bool real = !problem.halves() && !problem.real_is_complex();  // DCT and DST alone
    if (problem.axes.size() > 1 && kind != AxisKind::c2c && !real) {
        return error(Code::unsupported, "two_sweeps splits the first axis, which is ", axis_kind_name(kind),
                     " here; it transforms others too if that is c2c, or if all are DCTs and DSTs; leave method= out");
    }
    SPANFFT_TRY(expect_no_ortho(problem, "two_sweeps"));
    add_rows(job);
    if (is_r2r(kind)) {
        // As r2c where only the outputs have factors, as c2r where only the inputs have, else as c2c.
        job.chirp = make_chirp(kernel_of(kind, problem.direction), job.n);
        job.chirp.square = 0;
        job.n = job.chirp.length;
        job.halves = job.chirp.a == 0 || (job.chirp.b == 0 && job.chirp.c == 0);
        job.forward = !job.halves || job.chirp.a == 0;
    }
    job.add_engine(Kernel::c2c_forward, job.n);
    job.set_memory(problem.memory_bytes);
    if (largest_prime_factor(job.n) == job.n) {
        const double whole = 2.1 * static_cast<double>(job.n * job.elem(true));
        return error(Code::unsupported, "length ", job.n, job.n == 1 ? " is 1" : " is prime",
                     ", and two_sweeps needs two factors; a budget of about ", bytes_string(whole),
                     " holds it whole, and length ", near_length(job.n + 1), " can be split");
    }
    return job;
}

SweepRefusal refusal(const SplitAxis& job) {
    const index_t largest = largest_prime_factor(job.n);
    if (largest <= 13 || largest <= job.n / largest) return {cat("length ", job.n, " can't be split"), ""};
    // Too long for one of two factors.
    return {cat("length ", job.n, ", whose prime factor ", largest, " is too long, can't be split"),
            cat("; or take length ", near_length(job.n))};
}

void finish(const SplitAxis& job, SweepRoute& route) {
    SweepSpec &in = route.sweeps[0], &out = route.sweeps[1];
    const Kernel across = job.halves ? (job.forward ? Kernel::r2c : Kernel::c2r)
                                     : (job.forward ? Kernel::c2c_forward : Kernel::c2c_backward);
    const Kernel plain = job.forward ? Kernel::c2c_forward : Kernel::c2c_backward;
    const bool real_out = job.halves && !job.forward;
    const Kernel first = real_out ? plain : across, second = real_out ? across : plain;
    in.stages = column_stages(in, first, in.points);
    out.stages = out.tiled() ? column_stages(out, second, out.out_points) : row_stages(out, second);
    const index_t other = job.n / in.points;
    const Kernel asked = kernel_of(split_kind(job.problem), job.problem.direction);
    const std::string as = job.chirp.length > 0 ? cat(kernel_name(asked), " as ") : std::string();
    const char* const points = job.row > 1 ? " rows" : " points";
    const std::string before = job.row_title.empty() || job.rows.last ? "" : cat(job.row_title, ", then ");
    const std::string behind = job.row_title.empty() || !job.rows.last ? "" : cat(", then ", job.row_title);
    in.title = cat(as, before, kernel_name(first), " over ", in.points, " of ", job.n, " = ", in.points, "*", other,
                   points, ", twiddle");
    out.title = cat(kernel_name(second), " over ", other, points, behind);
    if (route.leaves_exchanged)
        route.note = cat("the output is in exchanged order: its element k1*n2 + k2 is X[k1 + n1*k2], n1 = ", in.points,
                         ", n2 = ", other);
}

constexpr SweepMethod<SplitAxis> kTwoSweeps{"two_sweeps", offer_splits, finish, refusal};

}  // namespace

std::optional<SweepRoute> two_sweeps_as_part(const Problem& problem, const SweepJob& whole, index_t own_bytes,
                                             const SweepSearch& search) {
    return part_of_plan<SplitAxis>(examine(problem, search.planner()), kTwoSweeps, whole, own_bytes, search);
}

Result<std::unique_ptr<Plan>> solve_two_sweeps(const Problem& problem, const Planner& planner) {
    SPANFFT_ASSIGN(const SplitAxis job, examine(problem, planner));
    if (problem.method.empty() && job.row > 1 && 3 * job.n * kLongRunBytes <= job.budget_bytes) {
        return error(Code::unsupported, "two_sweeps gains nothing: by axis_sweeps panels with whole lines of ", job.n,
                     " points have runs of ", bytes_string(static_cast<double>(kLongRunBytes)), " and more");
    }
    return plan_sweeps<SplitAxis>(job, planner, kTwoSweeps);
}

Result<std::unique_ptr<Plan>> hold_two_sweeps(const Problem& problem, const Planner& planner) {
    SPANFFT_ASSIGN(SplitAxis job, examine(problem, planner));
    job.holds_scratch = true;
    return plan_sweeps<SplitAxis>(job, planner, kTwoSweeps);
}

}  // namespace spanfft
