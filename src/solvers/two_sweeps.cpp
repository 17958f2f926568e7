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
// of the output, which all ranks see, there is nothing to exchange. Each rank has so much memory. The axes before the
// one that is split are an outer loop. All that lies behind it are rows, which take the place of elements: the runs are
// of whole rows, and each number of a row has a column of its own. Of c2c other axes behind it may be transformed too,
// row by row, where the first sweep has read them. Worked: 16384 x 16384 complex floats in 512 MiB: axis_sweeps has
// columns of 16384 points, so runs of 8 KiB; here 128 rows of 128 KiB are 16 MiB.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "engine/trust.hpp"
#include "solvers/disk_sweeps.hpp"
#include "solvers/table.hpp"
#include "steps/transform_step.hpp"
#include "sweeps/exchange_geometry.hpp"

namespace spanfft {

namespace {

// n is the length that is split: for DCT and DST the logical one, N, with the stored points in the chirp.
struct Job : LongAxis {
    Chirp chirp;
    std::vector<SweepStage> row_stages;  // of the axes behind the one that is split
    double row_flops = 0;
    std::string row_title;
    index_t engine_bytes = 0;  // at large prime factors: tables for all threads, scratch for each
    void set_budget(index_t bytes) { budget_bytes = bytes - engine_bytes; }
    index_t inputs() const { return chirp.length > 0 ? chirp.inputs : halves && !forward ? half() : n; }
    index_t outputs() const { return chirp.length > 0 ? chirp.outputs : halves && forward ? half() : n; }
};

struct Split {
    SweepSpec first, second;
    double seconds = 0;  // of requests
};

// So many elements of each array as rows of `row_elems`, of which the last may be cut off.
ColumnPanels matrix(const Job& job, index_t elems, index_t row_elems, bool complex) {
    ColumnPanels panels = column_panels(job, job.outer, ceil_div(elems, row_elems), row_elems, complex);
    panels.last_row_elems = elems - (panels.rows - 1) * row_elems;
    return panels;
}

// The two sweeps for n1*n2, without panels yet.
Split outline(const Job& job, index_t n1, index_t n2, index_t lanes, index_t tile_columns, index_t tile_rows) {
    Split split;
    const bool real_in = job.halves && job.forward, real_out = job.halves && !job.forward;
    split.first = split.second = blank_sweep(job, lanes);
    SweepSpec& first = split.first;
    // c2r reads the half spectrum as rows of n1; the others read rows of n2.
    ColumnPanels in = matrix(job, job.inputs(), real_out ? n1 : n2, job.problem.input_elem().complex);
    if (real_out) in.besides = ColumnPanels::Mirrored{n1};
    in.columns = real_out ? n1 / 2 + 1 : n2;
    first.source.array = in;
    first.source.complex = !real_in;
    first.source.factors = job.chirp;
    first.work = TileWork{job.row_stages, job.row_flops, {}};
    first.twiddles.roots_n = job.n;
    first.scale = job.problem.scale();
    first.points = real_out ? n2 : n1;
    first.out_points = real_in ? n1 / 2 + 1 : first.points;
    first.flops_each = column_flops(first.points, real_in);

    SweepSpec& second = split.second;
    ColumnPanels out = written(matrix(job, job.outputs(), real_out ? n2 : n1, job.problem.output_elem().complex));
    if (real_in) out.besides = ColumnPanels::Mirrored{n1};
    out.columns = first.out_points;
    out.share = ColumnPanels::Share::in_blocks;  // the rows that a rank keeps of a tile lie together
    second.target.array = out;
    second.target.complex = !real_out;
    second.target.factors = job.chirp;
    second.points = in.columns;
    second.out_points = real_out ? n1 : second.points;
    second.flops_each = column_flops(real_out ? n1 : n2, real_out);

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
    return split;
}

bool aligned_rows(const ColumnPanels& panels) {
    return panels.row_elems * panels.elem_bytes % kDirectBytes == 0 &&
           panels.panel * panels.elem_bytes % kDirectBytes == 0;
}

// Panels as wide as there is room for; false: there is none. The second sweep's say which rows of blocks each rank
// keeps, and so what the first one's slots hold.
bool widen_both(const Job& job, Split& split) {
    const index_t room = job.budget_bytes - split.first.own_bytes() - split.second.own_bytes() - 2 * 4096;
    const index_t second_room = room - 2 * split.second.read_slot_bytes();  // slots are rounded to pages
    if (second_room <= 0) return false;
    // Whole blocks of the file system, if panels are that wide: then every write can be direct.
    ColumnPanels& out = split.second.target.columns();
    const index_t tile_rows = split.second.source.blocks().tile_rows;
    const index_t block = block_elems(out);
    const bool can_align = out.row_elems % block == 0 && tile_rows % block != 0 && out.columns > block;
    const index_t unit = can_align ? std::lcm(tile_rows, block) : tile_rows;
    if (!widen(out, unit, 2, second_room) && (unit == tile_rows || !widen(out, tile_rows, 2, second_room)))
        return false;
    if (job.ranks > 1) split.first.sharing.kept = Sharing::Rows{out.panels_per_matrix() * out.panel};
    const index_t first_room = room - 2 * split.first.write_slot_bytes() - split.first.exchange_bytes();
    return first_room > 0 &&
           widen(split.first.source.columns(), split.first.target.blocks().tile_columns, 2, first_room);
}

std::optional<Split> fit(const Job& job, Split split, const Machine& machine) {
    if (!widen_both(job, split)) return std::nullopt;
    const ColumnPanels& out = split.second.target.columns();
    const BlockGrid& blocks = split.first.target.blocks();
    const auto reads = static_cast<double>(split.first.source.total_requests() + blocks.total_reads());
    const auto writes = static_cast<double>(blocks.total_writes() + out.total_requests());
    split.seconds = reads * machine.disk_short_read_seconds + writes * machine.disk_short_write_seconds;
    if (!aligned_rows(out))
        split.seconds += static_cast<double>(out.payload_bytes()) * machine.disk_unaligned_write_seconds_per_byte;
    // A tile step should give every thread several tiles to do.
    const index_t share = std::min(blocks.tile_columns, blocks.tile_rows);
    if (share * job.row < 2 * job.threads * split.first.lanes) split.seconds *= 1.5;
    return split;
}

// c2c by way of the output file alone: blocks become whole columns, the second sweep works in place.
std::optional<Split> fit_in_place(const Job& job, Split split, const Machine& machine) {
    SweepSpec &first = split.first, &second = split.second;
    BlockGrid& blocks = first.target.blocks();
    blocks.natural = true;
    blocks.tile_rows = blocks.rows;
    ColumnPanels columns = of_numbers(second.target.columns());
    columns.share = ColumnPanels::Share::by_turns;
    first.target.place = second.source.place = Place::output;
    second.source.array = columns;
    second.target.array = InPlace{columns};
    ColumnPanels &in = first.source.columns(), &rows = second.source.columns();
    const index_t room = job.budget_bytes - first.own_bytes() - second.own_bytes();
    if (job.row > 1) {
        if (!widen_columns(first, room, machine) || !widen_columns(second, room, machine)) return std::nullopt;
        split.seconds = seconds_of_choice({&first, &second}, machine);
        return split;
    }
    const index_t first_room = room - 2 * first.write_slot_bytes() - 2 * 4096;
    const index_t block = block_elems(rows), second_room = room - 3 * 4096;
    if (rows.row_elems % block != 0 || std::min(first_room, second_room) <= 0) return std::nullopt;
    if (!widen(in, blocks.tile_columns, 2, first_room)) return std::nullopt;
    if (!widen(rows, block, 3, second_room)) return std::nullopt;
    set_panel_width(second, rows.panel);
    const auto reads = static_cast<double>(in.total_requests() + rows.total_requests());
    const auto writes = static_cast<double>(blocks.total_writes() + rows.total_requests());
    split.seconds = reads * machine.disk_short_read_seconds + writes * machine.disk_short_write_seconds;
    if (blocks.tile_columns < 2 * job.threads * first.lanes) split.seconds *= 1.5;
    return split;
}

// Columns of elements that are so many of numbers at least, doubled up to 512 of numbers.
std::vector<index_t> widths_from(const Job& job, index_t numbers) {
    std::vector<index_t> widths;
    for (index_t c = job.fewest(numbers), most = job.fewest(std::max<index_t>(numbers, 512)); c <= most; c *= 2)
        widths.push_back(c);
    return widths;
}

std::optional<Split> best_in_place(const Job& job, const Machine& machine) {
    std::optional<Split> best;
    if (job.halves || job.chirp.length > 0 || job.problem.stores_other()) return best;
    for (index_t n1 : first_factors(job.n)) {
        const index_t lanes = lanes_for(job, std::max(n1, job.n / n1));
        for (index_t c : widths_from(job, 2 * job.threads * lanes)) {
            const auto split = fit_in_place(job, outline(job, n1, job.n / n1, lanes, c, c), machine);
            if (!split) break;  // nor does a wider one fit
            if (!best || split->seconds < best->seconds) best = split;
            if (job.searches) return best;
        }
    }
    return best;
}

// Whether this factor fits, by the narrowest tiles.
bool splits_at(const Job& job, index_t n1) {
    Split split = outline(job, n1, job.n / n1, 1, 1, 1);
    return widen_both(job, split);
}

std::optional<Split> best_split(const Job& job, const Machine& machine) {
    std::optional<Split> best;
    if (best = best_in_place(job, machine); best) return best;
    for (index_t n1 : first_factors(job.n)) {
        if (!splits_at(job, n1)) continue;
        index_t lanes = lanes_for(job, std::max(n1, job.n / n1));
        for (bool found = false; lanes >= 1 && !found; lanes /= 2) {  // narrower tiles only where memory is that tight
            for (index_t c : widths_from(job, lanes)) {
                for (index_t d : widths_from(job, lanes)) {
                    const auto split = fit(job, outline(job, n1, job.n / n1, lanes, c, d), machine);
                    if (!split) break;
                    found = true;
                    if (!best || split->seconds < best->seconds) best = split;
                    if (job.searches) return best;
                }
            }
        }
    }
    return best;
}

// c2c whose output stays in the order in which the second sweep finds it: columns, then contiguous rows in place. Ranks
// share both out, by way of the output.
std::optional<Split> fit_exchanged(const Job& job, index_t n1, index_t lanes, const Machine& machine) {
    Split split = outline(job, n1, job.n / n1, lanes, 1, 1);
    SweepSpec &first = split.first, &second = split.second;
    const ColumnPanels in = first.source.columns();
    first.target.place = second.source.place = job.problem.stores_other() ? Place::scratch : Place::output;
    first.target.array = written(in);
    second.work = SlabWork();
    second.lanes = 1;
    ColumnPanels rows_of_all = in;
    rows_of_all.outer = rows_of_all.rows = 1;
    rows_of_all.row_elems = rows_of_all.last_row_elems = rows_of_all.columns = job.outer * job.n;
    const auto set_slabs = [&](index_t slabs) {
        rows_of_all.panel = slabs * second.points;
        second.source.array = rows_of_all;
        second.target.array = written(rows_of_all);
    };
    set_slabs(1);
    const index_t room = job.budget_bytes - first.own_bytes() - second.own_bytes();
    const index_t width = largest_that(in.columns, [&](index_t columns) {
        set_panel_width(first, columns);
        return first.panel_bytes() <= room;
    });
    constexpr index_t kSlabPanelBytes = index_t{32} << 20;  // more a panel only lengthens the pipeline's ends
    const index_t rows = job.outer * n1;
    const index_t most =
        std::clamp<index_t>(kSlabPanelBytes / (second.points * job.elem(true)), 1, ceil_div(rows, job.ranks));
    const index_t slabs = largest_that(most, [&](index_t count) {
        set_slabs(count);
        return second.panel_bytes() <= room;
    });
    if (width == 0 || slabs == 0) return std::nullopt;
    const index_t unit = std::max<index_t>(1, kDirectBytes / job.elem(true));
    const index_t even = even_width(in.columns, width, job.ranks), whole = round_up(even, unit);
    set_panel_width(first, whole <= width ? whole : width >= unit ? width - width % unit : even);
    // More panels than before may want another slot.
    if (first.panel_bytes() > room) set_panel_width(first, even);
    set_slabs(job.ranks == 1 ? slabs : even_width(rows, slabs, job.ranks));
    split.seconds = SweepStep(first, machine).predict(0).seconds + SweepStep(second, machine).predict(0).seconds;
    if (slabs < 2 * job.threads) split.seconds *= 1.2;  // one row at a time, by all threads
    return split;
}

std::optional<Split> best_exchanged(const Job& job, const Machine& machine) {
    std::optional<Split> best;
    for (index_t n1 : first_factors(job.n)) {
        const auto split = fit_exchanged(job, n1, lanes_for(job, n1), machine);
        if (split && (!best || split->seconds < best->seconds)) best = split;
        if (best && job.searches) break;
    }
    return best;
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

// The other axes, which lie in rows.
void add_rows(Job& job) {
    const Problem& problem = job.problem;
    std::vector<int> axes = problem.axes;
    std::sort(axes.begin(), axes.end());
    if (axes.size() == 1) return;
    StageRequest request;
    request.shape = Extents(problem.shape.begin() + axes[0] + 1, problem.shape.end());
    for (size_t i = 1; i < axes.size(); ++i) {
        const index_t length = problem.shape[static_cast<size_t>(axes[i])];
        request.axes.push_back(axes[i] - axes[0] - 1);
        request.kernels.push_back(job.forward ? Kernel::c2c_forward : Kernel::c2c_backward);
        job.row_flops += column_flops(length, false) * static_cast<double>(job.row / length);
        job.row_title += cat(i == 1 ? " axis " : ", ", axes[i]);
    }
    request.precision = problem.precision;
    request.across = false;
    job.row_stages = make_stages(request);
    job.row_title += ", then";
}

Result<Job> examine(const Problem& problem, const Planner& planner) {
    SPANFFT_ASSIGN(const LongAxis line, examine_long_axis(problem, planner, "two_sweeps"));
    Job job;
    static_cast<LongAxis&>(job) = line;
    const auto count_engines = [&] {
        index_t most = convolution_bytes(Kernel::c2c_forward, problem.precision, job.n);
        if (problem.axes.size() > 1) {  // the others are transformed in rows
            for (const int axis : problem.axes)
                most = std::max(most, convolution_bytes(Kernel::c2c_forward, problem.precision,
                                                        problem.shape[static_cast<size_t>(axis)]));
        }
        job.engine_bytes = most / 2 * (1 + job.threads);
        job.set_budget(line.budget_bytes);
    };
    count_engines();
    const bool complex =
        std::all_of(problem.kinds.begin(), problem.kinds.end(), [](AxisKind kind) { return kind == AxisKind::c2c; });
    if (!complex) SPANFFT_TRY(expect_one_axis(problem, "two_sweeps"));
    add_rows(job);
    if (!is_r2r(problem.kinds[0])) return job;
    if (problem.norm == Norm::ortho) {
        return error(Code::unsupported, "two_sweeps does not know norm=ortho of ", axis_kind_name(problem.kinds[0]),
                     "; use norm=backward and scale, or more memory");
    }
    // As r2c where only the outputs have factors, as c2r where only the inputs have, else as c2c.
    job.chirp = make_chirp(kernel_of(problem.kinds[0], problem.direction), job.n);
    job.chirp.square = 0;
    job.n = job.chirp.length;
    job.halves = job.chirp.a == 0 || (job.chirp.b == 0 && job.chirp.c == 0);
    job.forward = !job.halves || job.chirp.a == 0;
    count_engines();
    return job;
}

bool any_split(const Job& job, const Machine& machine) {
    const std::vector<index_t> factors = first_factors(job.n);
    return std::any_of(factors.begin(), factors.end(), [&](index_t n1) { return splits_at(job, n1); }) ||
           best_in_place(job, machine);
}

Status decline(Job job, bool exchanges, const Machine& machine) {
    if (job.searches) return too_little_memory();
    const index_t n = job.n;
    const auto text = [](index_t bytes) { return bytes_string(static_cast<double>(bytes)); };
    const double whole = 2.1 * static_cast<double>(n * job.elem(true));
    const index_t largest = largest_prime_factor(n);
    if (largest == n) {
        return error(Code::unsupported, "length ", n, n == 1 ? " is 1" : " is prime",
                     ", and two_sweeps needs two factors; a budget of about ", bytes_string(whole),
                     " holds it whole, and length ", near_length(n + 1), " can be split");
    }
    job.searches = true;  // any split will do
    const index_t needed = smallest_budget(job.problem.memory_bytes, [&](index_t bytes) {
        job.set_budget(bytes);
        return any_split(job, machine) || (exchanges && best_exchanged(job, machine));
    });
    const bool too_long = largest > 13 && largest > n / largest;  // for one of two factors
    return error(Code::out_of_memory, "length ", n, " can't be split in ", text(job.problem.memory_bytes),
                 too_long ? cat(": its prime factor ", largest, " is too long") : std::string(),
                 "; two_sweeps needs at least ", text(needed), " (", needed, " bytes)",
                 too_long ? cat("; or take length ", near_length(n)) : std::string());
}

void finish(const Job& job, Split& split) {
    const Kernel across = job.halves ? (job.forward ? Kernel::r2c : Kernel::c2r)
                                     : (job.forward ? Kernel::c2c_forward : Kernel::c2c_backward);
    const Kernel plain = job.forward ? Kernel::c2c_forward : Kernel::c2c_backward;
    const bool real_out = job.halves && !job.forward;
    const Kernel first = real_out ? plain : across, second = real_out ? across : plain;
    split.first.stages = column_stages(split.first, first, split.first.points);
    split.second.stages = std::holds_alternative<SlabWork>(split.second.work)
                              ? row_stages(split.second, second)
                              : column_stages(split.second, second, split.second.out_points);
    const index_t other = job.n / split.first.points;
    const Kernel asked = kernel_of(job.problem.kinds[0], job.problem.direction);
    const std::string as = job.chirp.length > 0 ? cat(kernel_name(asked), " as ") : std::string();
    const char* const points = job.row > 1 ? " rows" : " points";
    split.first.title = cat(as, kernel_name(first), job.row_title, " over ", split.first.points, " of ", job.n, " = ",
                            split.first.points, "*", other, points, ", twiddle");
    split.second.title = cat(kernel_name(second), " over ", other, points);
}

}  // namespace

Result<std::unique_ptr<Plan>> solve_two_sweeps(const Problem& problem, const Planner& planner) {
    SPANFFT_ASSIGN(const Job job, examine(problem, planner));
    const bool exchanges = problem.output == SpectrumOrder::exchanged && job.forward && !job.halves &&
                           !is_r2r(problem.kinds[0]) && job.row == 1 && (job.ranks == 1 || !problem.stores_other());
    auto split = exchanges ? best_exchanged(job, planner.machine()) : std::nullopt;
    const bool exchanged = split.has_value();
    if (!split) split = best_split(job, planner.machine());
    if (!split) return decline(job, exchanges, planner.machine());
    const index_t n1 = split->first.points;
    const index_t own_bytes = split->first.own_bytes() + split->second.own_bytes() + 2 * 4096;
    read_together_if_faster(split->first, job.budget_bytes - own_bytes, planner.machine());
    finish(job, *split);

    const SweepTarget& between = split->first.target;
    const bool exchanges_blocks = split->first.exchanges();
    const index_t kept_bytes =  // rank 0 keeps the most
        exchanges_blocks ? ExchangeGeometry(split->first).kept_blocks(0).scratch_bytes() : 0;
    const index_t between_bytes =
        between.is_blocks() ? between.blocks().scratch_bytes() : between.columns().payload_bytes();
    const index_t scratch_bytes = between.place == Place::scratch ? between_bytes : 0;
    auto plan =
        plan_of_sweeps(job, "two_sweeps", {std::move(split->first), std::move(split->second)}, planner.machine());
    plan->scratch_bytes = scratch_bytes;
    if (exchanges_blocks) plan->scratch_of_each_rank_bytes = kept_bytes;
    plan->leaves_exchanged = exchanged;
    if (exchanged) {
        plan->notes.push_back(cat("the output is in exchanged order: its element k1*n2 + k2 is X[k1 + n1*k2], n1 = ",
                                  n1, ", n2 = ", job.n / n1));
    }
    return plan;
}

}  // namespace spanfft
