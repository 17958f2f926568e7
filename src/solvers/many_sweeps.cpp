// Solver `many_sweeps`: a transform of one long axis in three sweeps or more, where two would need more memory or short
// runs. As in two_sweeps an element is a row of numbers, all that lies behind the axis.
//
// Method: n = f0*f1*...; sweep s transforms over its factor and multiplies by twiddles, in Stockham's order: what it
// reads as [f][rest][done] it writes as [rest][f][done], so that the last sweep ends in natural order. With j = the
// index over f and r over rest (m of them) the twiddles are W^(r k), W = exp(-+2 pi i/(f m)). Worked: n = 3*4*5: sweep
// 1 reads 3 x 20 and writes 20 x 3, sweep 2 reads 4 rows of 5 x 3 and writes 5 x (4 x 3), sweep 3 transforms the
// columns of 5 x 12 in place. A panel is w neighbours of rest x done, so runs are w elements; memory for w*f of them is
// needed, twice: n up to (M/B)^S in S sweeps. Where memory allows, panels between the first sweep and the last are
// whole ones of rest, of which several are one run as written; else they lie within one. r2c halves the factor of the
// first sweep (k0 <= f0/2 is kept, as in two_sweeps) and ends with the conjugates; c2r is the reverse and halves that
// of the last. c2c alternates between scratch and the output file and ends in place; r2c and c2r use two halves of
// scratch. In three sweeps c2c and r2c may have slabs in the middle instead (docs/adr/0119, 0121, 0123): the
// first sweep writes [f0][f1][f2] as [f2][f1][f0], the second transforms slabs of f1 f0 where they lie, and the third
// columns of [f2][f1 f0]; so c2c is in the output all the time, r2c and outputs of another type in one area of scratch,
// which ranks have behind the output, where all see it. Else ranks in three sweeps:
// of each section of [r1][f1][f0] that the second one writes a rank keeps, in scratch of its own, the columns of its
// panels of the third; panels of the second are whole sections. What the first sweep writes is in the output, for all;
// of half spectra it reaches beyond its end. Or it is in scratch too, as for outputs of another type: of [f1][r1][f0]
// each keeps the part of r1 that it transforms over f1; a tile of the first sweep lies in one r1 x f0, so its parts for
// all ranks lie one after the other, and panels are whole ones of these. Or, in any number of sweeps, a rank keeps part
// of the results over f0, of which it has all the rest to itself from then on: panels need not be whole sections of r1,
// so less memory will do, and nothing is sent any more, but runs of the output end where a rank's part of f0 does.
#include <algorithm>
#include <cmath>

#include "solvers/sweep_search.hpp"
#include "solvers/table.hpp"
#include "steps/transform_step.hpp"
#include "sweeps/exchange_geometry.hpp"

namespace spanfft {

namespace {

// One sweep: f points, `rest` columns still to be transformed and `done` that are, as stored; halving makes them less.
struct Stage {
    index_t f = 1, kept = 1;     // points, and as many as are stored on the halved side
    index_t rest = 1, done = 1;  // stored
    index_t whole_rest = 1;      // without halving
    index_t halved = 0;          // c2r: the factor among `rest` of which half is stored, or 0
    bool first = false, last = false;
};

using Factors = std::vector<index_t>;

std::vector<Stage> stages_of(const LongAxis& job, const Factors& factors) {
    const size_t count = factors.size(), halved = !job.halves ? count : job.forward ? 0 : count - 1;
    const auto stored = [&](size_t i) { return i == halved ? factors[i] / 2 + 1 : factors[i]; };
    std::vector<Stage> stages(count);
    for (size_t s = 0; s < count; ++s) {
        Stage& stage = stages[s];
        stage.f = factors[s];
        stage.kept = stored(s);
        stage.first = s == 0;
        stage.last = s + 1 == count;
        for (size_t i = 0; i < s; ++i) stage.done *= stored(i);
        for (size_t i = s + 1; i < count; ++i) stage.rest *= stored(i), stage.whole_rest *= factors[i];
        if (job.halves && !job.forward && !stage.last) stage.halved = factors[count - 1];
    }
    return stages;
}

// The half spectrum in rows of `row_elems`; panels walk over the stored half of every period.
ColumnPanels half_spectrum(const LongAxis& job, const ColumnPanels::Mirrored& mirrored, index_t row_elems) {
    ColumnPanels panels = column_panels(job, job.outer, ceil_div(job.half(), row_elems), row_elems, true);
    panels.last_row_elems = job.half() - (panels.rows - 1) * row_elems;
    panels.besides = mirrored;
    panels.columns = row_elems / mirrored.period * panels.section_columns();
    return panels;
}

// What the second of three sweeps leaves to be transformed, as stored.
index_t next_rest(const LongAxis& job, const Factors& factors) {
    return job.halves && !job.forward ? factors[2] / 2 + 1 : job.n / factors[0] / factors[1];
}

// One sweep without its panels' width and places.
SweepSpec outline(const LongAxis& job, const Stage& stage, const Factors& factors, index_t lanes, index_t tile) {
    SweepSpec sweep = blank_sweep(job, lanes);
    const bool real_in = job.halves && job.forward && stage.first, real_out = job.halves && !job.forward && stage.last;
    sweep.source.complex = !real_in;
    sweep.target.complex = !real_out;
    sweep.points = real_out ? stage.kept : stage.f;
    sweep.out_points = real_in ? stage.kept : stage.f;
    sweep.flops_each = column_flops(stage.f, real_in || real_out);
    if (!stage.last) sweep.twiddles.roots_n = stage.f * stage.whole_rest;
    if (stage.halved > 0) sweep.twiddles.kept = stage.halved / 2 + 1, sweep.twiddles.whole = stage.halved;
    ColumnPanels in = column_panels(job, job.outer, sweep.points, stage.rest * stage.done, !real_in);
    if (stage.first) {
        sweep.scale = job.problem.scale();
        if (stage.halved > 0) in = half_spectrum(job, {stage.halved, true}, stage.whole_rest);
        BlockGrid blocks;
        blocks.outer = job.outer;
        blocks.columns = in.columns;
        blocks.section = in.section_columns();
        blocks.rows = blocks.tile_rows = sweep.out_points;
        blocks.tile_columns = std::min(tile, in.section_columns());
        blocks.elem_bytes = job.elem(true);
        blocks.natural = true;
        sweep.target.array = blocks;
    } else if (!stage.last) {
        in.besides = ColumnPanels::Plain{stage.done};
        sweep.twiddles.section = stage.done;
        sweep.target.array = written(column_panels(job, job.outer * stage.rest, stage.f, stage.done, true));
    } else if (real_out) {
        sweep.target.array = written(column_panels(job, job.outer, stage.f, stage.done, false));
    } else if (job.halves) {
        in.besides = ColumnPanels::Plain{factors[0] / 2 + 1};
        sweep.target.array = written(half_spectrum(job, {factors[0]}, job.n / stage.f));
    } else {
        in = written(job.ranks > 1 ? in : of_numbers(in));  // ranks share rows of numbers out
        sweep.target.array = InPlace{in};
    }
    sweep.source.array = in;
    return sweep;
}

// All that lies between the sweeps in one place. Where it can't be the result's, ranks have it behind that in the
// output, where all see it, and one process in scratch.
void place_turned(const LongAxis& job, SweepRoute& route) {
    SweepSpec &first = route.sweeps[0], &second = route.sweeps[1], &third = route.sweeps[2];
    PlacedArray between{Place::output};
    const index_t bytes = round_up(first.target.columns().array_bytes(), kDirectBytes);
    if (job.halves || job.problem.stores_other()) {
        if (job.ranks > 1) {
            const index_t result_bytes = product(job.problem.output_shape()) * job.problem.stored_elem().bytes();
            between.begin_bytes = round_up(result_bytes, kDirectBytes);
            route.output_extra_bytes = between.begin_bytes - result_bytes + bytes;
        } else {
            between.place = Place::scratch;
            route.scratch_bytes = bytes;
        }
    }
    PlacedArray &turned = first.target, &slabs = second.source, &transformed = second.target, &columns = third.source;
    turned = slabs = transformed = columns = between;
}

// Where each sweep reads and writes: see above.
void place(const LongAxis& job, SweepRoute& route) {
    if (route.sweeps[0].target.turned()) return place_turned(job, route);
    const size_t count = route.sweeps.size();
    const bool by_output = job.ranks > 1 && !route.sweeps[0].exchanges();  // in the first sweep
    // Of scratch; else the output is one of them.
    const bool two_areas =
        !by_output && (job.halves || job.problem.stores_other() || job.ranks > 1 || job.spares_output);
    const BlockGrid& blocks = route.sweeps[0].target.blocks();
    if (by_output) {  // half spectra have one result more of each column
        const index_t output_bytes = product(job.problem.output_shape()) * job.problem.output_elem().bytes();
        route.output_extra_bytes = round_up(std::max<index_t>(0, blocks.payload_bytes() - output_bytes), kDirectBytes);
    }
    index_t most = job.ranks > 1 ? 0 : blocks.payload_bytes();
    for (const SweepSpec& sweep : route.sweeps)  // rank 0 keeps the most
        if (sweep.exchanges()) most = std::max(most, ExchangeGeometry(sweep).kept_blocks(0).payload_bytes());
    const index_t region = round_up(most, kDirectBytes), areas = two_areas ? 2 : 1;
    for (size_t s = 0; s < count; ++s) {
        SweepSpec& sweep = route.sweeps[s];
        const bool to_output = s + 1 == count || (!two_areas && (count - 2 - s) % 2 == (by_output ? 1 : 0));
        sweep.target.place = to_output ? Place::output : Place::scratch;
        if (two_areas) sweep.target.begin_bytes = static_cast<index_t>(s % 2) * region;
        if (s == 0) continue;
        sweep.source.place = route.sweeps[s - 1].target.place;
        sweep.source.begin_bytes = route.sweeps[s - 1].target.begin_bytes;
    }
    route.scratch_bytes = areas * round_up(blocks.payload_bytes(), kDirectBytes);
    if (job.ranks > 1) route.scratch_of_each_rank_bytes = areas * region;
}

// Sections of a tile between the first sweep and the last: so many that what is written of it in one go, by each rank,
// is long, and as short as that, because memory that tiles don't take makes longer runs of what is read; whole blocks
// of the file system where that is possible, and work for all threads.
index_t sections_a_tile(const LongAxis& job, const Stage& stage) {
    const index_t section_bytes = stage.done * stage.f * job.elem(true);
    const index_t enough = std::max(kLongRunBytes * job.ranks, job.budget_bytes / 32);
    const index_t idle_columns = 2 * job.threads * lanes_for(job, stage.f);
    const index_t least = std::max(ceil_div(enough, section_bytes), ceil_div(idle_columns, stage.done * job.row));
    const index_t whole = round_up(least, kDirectBytes / std::gcd(kDirectBytes, section_bytes));
    return whole <= stage.rest ? whole : std::min(least, stage.rest);
}

// The last sweep of r2c with panels of q whole sections: it takes with these those that mirror them; then q f0
// neighbours of the half spectrum are complete on either side.
SweepSpec reflected(const Stage& stage, SweepSpec sweep) {
    ColumnPanels& in = sweep.source.columns();
    Reflection whole{sweep.target.columns(), sweep.target.columns().section_pitch()};
    const index_t stored = whole.columns / 2 + 1, walked = ceil_div(stage.done / stored, 2);
    in.besides = whole.panels.besides = ColumnPanels::Reflected{};
    in.columns = walked * stored;
    whole.panels.columns = walked * whole.columns;
    sweep.target.array = whole;
    return sweep;
}

// The same sweep with panels of whole sections, as wide as there is room for, if it has panels that end with theirs.
// Between the first sweep and the last q sections are read in runs of q done elements, and written a tile of them at a
// time.
bool widen_by_whole_sections(const LongAxis& job, const Stage& stage, SweepSpec& sweep, index_t room,
                             const Machine& machine) {
    if (sweep.target.is_blocks() || sweep.source.columns().section() == 0) return false;
    if (stage.last) {
        SweepSpec whole = reflected(stage, sweep);
        if (!widen_by_sections(whole, room)) return false;
        sweep = std::move(whole);
        return true;
    }
    for (index_t sections = sections_a_tile(job, stage); sections > 0; sections /= 2) {
        SweepSpec whole = sweep;
        ColumnPanels& in = whole.source.columns();
        in.besides = ColumnPanels::Plain{};
        BlockGrid tiles;
        tiles.outer = job.outer;
        tiles.columns = in.columns;
        tiles.rows = tiles.tile_rows = stage.f;
        tiles.tile_columns = sections * stage.done;
        tiles.elem_bytes = job.elem(true);
        tiles.natural = true;
        whole.target.array = tiles;
        whole.target.section_columns = stage.done;
        if (!widen_columns(whole, room, machine)) continue;
        sweep = std::move(whole);
        return true;
    }
    return false;
}

// The first sweep of c2r with panels of whole sections of the half spectrum: panels walk over half of all columns and
// hold those that mirror them, and of both compute the stored half of every section. So runs are as long as memory
// allows, where panels of half a section end with it, and nothing is read twice. Where ranks exchange what they
// compute, each round is of one section.
std::optional<SweepSpec> reads_whole_sections(const LongAxis& job, const Stage& stage, SweepSpec sweep) {
    if (stage.halved == 0 || sweep.exchanges()) return std::nullopt;
    ColumnPanels::Mirrored mirrored{stage.whole_rest};
    mirrored.section = stage.halved;
    sweep.source.array = half_spectrum(job, mirrored, stage.whole_rest);
    sweep.target.blocks().section = 0;
    return sweep;
}

// The later sweeps on ranks, of which each has so many sections, one after the other, and keeps them of what the sweep
// before makes; by the output, the first sweep's results are there for all.
bool share_sections(const LongAxis& job, const Machine& machine, const std::vector<Stage>& stages, SweepRoute& route,
                    index_t room, bool by_output) {
    for (size_t s = 2; s > 0; --s) {
        SweepSpec& sweep = route.sweeps[s];
        if (s == 2 || !by_output) {
            sweep.source.columns().share = ColumnPanels::Share::own_file;
            sweep.target.columns().share = ColumnPanels::Share::in_blocks;
        }
        if (s == 1) sweep.sharing.kept = Sharing::Columns{route.sweeps[2].source.columns()};
        const bool in_sections = sweep.source.columns().section() > 0;  // the last sweep of r2c alone
        const bool whole = widen_by_whole_sections(job, stages[s], sweep, room, machine);
        if (!whole && (s == 1 || in_sections || !widen_columns(sweep, room, machine))) return false;
    }
    if (by_output) return true;
    const SweepSpec& second = route.sweeps[1];
    const ColumnPanels& in = second.source.columns();
    const index_t sections_a_panel = ExchangeGeometry(second).sections_a_panel();
    route.sweeps[0].sharing.kept = Sharing::Rows{in.panels_per_matrix() * sections_a_panel};
    return true;
}

// Panels of whole sections where memory allows, else of columns.
bool widen(const LongAxis& job, const Stage& stage, SweepSpec& sweep, index_t room, const Machine& machine) {
    if (!stage.first)
        return widen_by_whole_sections(job, stage, sweep, room, machine) || widen_columns(sweep, room, machine);
    auto whole = reads_whole_sections(job, stage, sweep);
    if (!whole || !widen_columns(*whole, room, machine)) return widen_columns(sweep, room, machine);
    sweep = std::move(*whole);
    return true;
}

template <bool by_output>
std::optional<SweepRoute> fit(const LongAxis& job, const Machine& machine, const Factors& factors, index_t lanes,
                              index_t tile) {
    SweepRoute route;
    const std::vector<Stage> stages = stages_of(job, factors);
    for (const Stage& stage : stages) {
        route.sweeps.push_back(outline(job, stage, factors, lanes, tile));
        SweepSpec& sweep = route.sweeps.back();
        if (job.ranks > 1 && stage.first && !by_output) {
            BlockGrid& blocks = sweep.target.blocks();
            blocks.section = blocks.shared_section = next_rest(job, factors);
        }
        set_panel_width(sweep, sweep.target.is_blocks() ? sweep.target.blocks().tile_columns : 1);
    }
    const index_t room = route.room(job);
    if (!route.fits(job)) return std::nullopt;
    if (job.ranks > 1 && !share_sections(job, machine, stages, route, room, by_output)) return std::nullopt;
    for (size_t s = 0; s < stages.size(); ++s) {
        const bool done = job.ranks > 1 && s > 0;
        if (!done && !widen(job, stages[s], route.sweeps[s], room, machine)) return std::nullopt;
    }
    place(job, route);
    return route;
}

// Of the last sweep, over a rank's part of the first factor's results, what is written: it lies in the whole array, so
// many numbers of each of that factor's sections, which no panel reaches across.
void place_part(const LongAxis& job, index_t first, index_t kept, SweepSpec& sweep) {
    ColumnPanels &in = sweep.source.columns(), &out = sweep.target.columns();
    const index_t numbers = job.row / in.numbers;  // an element each, in place
    in.besides = ColumnPanels::Plain{kept * numbers};
    if (auto* half = std::get_if<ColumnPanels::Mirrored>(&out.besides)) {
        half->own = kept;
        out.columns = out.row_elems / first * kept;
    } else {
        out.besides = in.besides;
        out.part = {kept * numbers, first * numbers, 0};
    }
}

// On ranks: of what the first sweep computes, results k0 of each column, each rank keeps some, and the other sweeps
// transform what it has without the others.
std::optional<SweepRoute> fit_parts(const LongAxis& job, const Machine& machine, const Factors& factors, index_t lanes,
                                    index_t tile) {
    SweepRoute route;
    std::vector<Stage> stages = stages_of(job, factors);
    const index_t all = stages[0].kept, kept = ceil_div(all, job.ranks);
    LongAxis alone = job;
    alone.ranks = 1;
    for (Stage& stage : stages) {
        if (!stage.first) stage.done = stage.done / all * kept;
        route.sweeps.push_back(outline(stage.first ? job : alone, stage, factors, lanes, tile));
        SweepSpec& sweep = route.sweeps.back();
        if (stage.first) {
            sweep.target.blocks().tile_rows = kept;  // what a rank keeps of a tile lies together
            sweep.sharing.kept = Sharing::Rows{kept};
        } else {
            sweep.sharing.own_part = Sharing::OwnPart{job.ranks, all, kept, true};
        }
        if (stage.last) place_part(job, factors[0], kept, sweep);
        set_panel_width(sweep, stage.first ? sweep.target.blocks().tile_columns : 1);
    }
    const index_t room = route.room(job);
    for (size_t s = 0; s < stages.size(); ++s) {
        SweepSpec& sweep = route.sweeps[s];
        const bool fits = stages[s].last ? widen_columns(sweep, room, machine)
                                         : widen(stages[s].first ? job : alone, stages[s], sweep, room, machine);
        if (!fits) return std::nullopt;
    }
    place(job, route);
    return route;
}

// Where a disk reads in front of them, tiles wait for tens of megabytes before they are written, so they are large
// where panels leave memory.
constexpr index_t kTurnedTileBytes = index_t{4} << 20;

// The first sweep, with tiles of a 32nd of a panel and of whole lots of columns; and then of more.
bool widen_turned(const LongAxis& job, SweepSpec& sweep, index_t room, const Machine& machine) {
    TurnedRows& turned = *std::get_if<TurnedRows>(&sweep.target.array);
    const index_t rows = turned.panels.rows, lot = job.fewest(sweep.lanes);
    turned.tile_rows = std::min(rows, round_up(ceil_div(rows, 32), lot));
    if (!widen_columns(sweep, room, machine)) return false;
    for (index_t most = rows / 2; sweep.target.slot_bytes() < kTurnedTileBytes && 2 * turned.tile_rows <= most;) {
        turned.tile_rows *= 2;
        if (sweep.panel_bytes() <= room) continue;
        turned.tile_rows /= 2;
        break;
    }
    return true;
}

// Runs beside slabs that are no reason for a longer second factor (2^29 floats on two ranks of 256 MiB: in runs of 186
// KiB around a factor of 8192 it took 8.3 s, in runs of 103 KiB around one of 2048 it took 9.5).
constexpr index_t kEnoughBesideSlabsBytes = index_t{192} << 10;

// Of the sweeps besides the second one, which has none.
index_t shortest_run_bytes(const SweepRoute& route) {
    const auto run = [](const ColumnPanels& panels) { return panels.panel * panels.elem_bytes; };
    const SweepSpec &first = route.sweeps.front(), &last = route.sweeps.back();
    return std::min({run(first.source.columns()), run(first.target.columns()), run(last.source.columns())});
}

// In three sweeps, of which the first writes all its results turned, so that the second works where its slabs lie, and
// c2c the third too. Each rank does panels of its own in all of them, and overwrites what it has done itself.
std::optional<SweepRoute> fit_turned(const LongAxis& job, const Machine& machine, const Factors& factors, index_t lanes,
                                     index_t /*tile*/) {
    SweepRoute route;
    const std::vector<Stage> stages = stages_of(job, factors);
    for (const Stage& stage : stages) route.sweeps.push_back(outline(job, stage, factors, lanes, 1));
    SweepSpec &first = route.sweeps[0], &second = route.sweeps[1];
    const index_t rows = stages[2].f, slab = stages[1].f * stages[1].done;
    first.target.array = TurnedRows{written(column_panels(job, job.outer, rows, slab, true))};
    const ColumnPanels slabs = written(column_panels(job, 1, 1, job.outer * rows * slab, true));
    second.source.array = slabs;
    second.target.array = InPlace{slabs};
    second.twiddles.sections = rows;
    std::get_if<TileWork>(&second.work)->slab_columns = stages[1].done;
    set_panel_width(first, rows);
    set_slabs(second, 1);
    set_panel_width(route.sweeps[2], 1);
    const index_t room = route.room(job);
    if (!route.fits(job)) return std::nullopt;
    const bool fits = widen_turned(job, first, room, machine) && widen_slabs(second, room) &&
                      widen(job, stages[2], route.sweeps[2], room, machine);
    // Shorter ones than a page go through the page cache, from which they would be read back where both ways do.
    if (!fits || shortest_run_bytes(route) < kLeanBytes) return std::nullopt;
    place(job, route);
    return route;
}

// Columns that the first sweep writes in one go: 512 of numbers, more where two of these are an eighth of the memory at
// most.
index_t widest_tile(const LongAxis& job, index_t points) {
    index_t tile = 2048;
    while (tile > 512 && tile * points * job.number(true) > job.budget_bytes / 16) tile /= 2;
    return job.fewest(tile);
}

// How a grouping is fitted: in sections, which ranks share out, in the first sweep too or by way of the output, or in
// parts of their own.
using Fit = std::optional<SweepRoute> (*)(const LongAxis& job, const Machine& machine, const Factors& factors,
                                          index_t lanes, index_t tile);

// Of the first sweep's tiles, falling: halves, or what sections that ranks share out are whole multiples of.
std::vector<index_t> tile_widths(const LongAxis& job, const Factors& factors, index_t least, Fit fits) {
    index_t widest = std::max(least, widest_tile(job, factors[0]));
    // Memory that tiles don't take makes longer runs of what all read together.
    const index_t column_bytes = factors[0] * job.elem(true), enough = std::max(kLongRunBytes, job.budget_bytes / 32);
    while (fits == fit<true> && widest / 2 >= least && widest / 2 * column_bytes >= enough) widest /= 2;
    std::vector<index_t> widths;
    if (fits == fit_turned) return {least};  // which has no such tiles
    // c2r has panels of one section each.
    if (job.ranks == 1 || fits == fit_parts || fits == fit<true> || (job.halves && !job.forward)) {
        for (index_t tile = widest; tile >= least; tile /= 2) widths.push_back(tile);
        return widths;
    }
    for (index_t tile : divisors(next_rest(job, factors)))
        if (tile <= widest && (tile >= least || tile == 1)) widths.push_back(tile);
    std::reverse(widths.begin(), widths.end());
    return widths;
}

// As wide tiles as there is memory for.
std::optional<SweepRoute> fit_tiles(const LongAxis& job, const Machine& machine, const Factors& factors, Fit fits) {
    const index_t longest = *std::max_element(factors.begin(), factors.end());
    for (index_t lanes = lanes_for(job, longest); lanes >= 1; lanes /= 2) {
        const index_t least = job.fewest(lanes);
        for (index_t tile : tile_widths(job, factors, least, fits)) {
            if (auto route = fits(job, machine, factors, lanes, tile)) return route;
        }
    }
    return std::nullopt;
}

// All ways to go on from so_far with `count` factors of rest, each within `spread` times the root of what is left; at
// most kMostWays. `sizes`: divisors of the whole length.
constexpr size_t kMostWays = 4096;
void add_factors(const std::vector<index_t>& sizes, index_t rest, int count, double spread, Factors& so_far,
                 std::vector<Factors>& all) {
    if (count == 1) {
        so_far.push_back(rest);
        all.push_back(so_far);
        so_far.pop_back();
        return;
    }
    const double even = std::pow(static_cast<double>(rest), 1.0 / count);
    for (index_t f : sizes) {
        const auto size = static_cast<double>(f);
        if (size > even * spread || all.size() >= kMostWays) break;
        if (f == 1 || f >= rest || rest % f != 0 || size * spread < even) continue;
        so_far.push_back(f);
        add_factors(sizes, rest / f, count - 1, spread, so_far, all);
        so_far.pop_back();
    }
}

// Ways to write n as so many factors: those with the smallest largest ones, whatever the budget.
std::vector<Factors> ways_to_split(index_t n, int count) {
    constexpr size_t kWays = 16;
    const std::vector<index_t> sizes = divisors(n);
    std::vector<Factors> all;
    // Near the root first: a length of a thousand divisors has millions of ways.
    for (double spread : {1.25, 4.0, static_cast<double>(n)}) {
        if (spread == 4.0 ? all.size() >= kWays : !all.empty()) break;
        all.clear();
        Factors so_far;
        add_factors(sizes, n, count, spread, so_far, all);
    }
    const auto longest = [](const Factors& factors) { return *std::max_element(factors.begin(), factors.end()); };
    std::stable_sort(all.begin(), all.end(),
                     [&](const Factors& a, const Factors& b) { return longest(a) < longest(b); });
    if (all.size() > kWays) all.resize(kWays);
    return all;
}

// Three factors of which the second one is about as long as the others, or twice as long, and so on, up to what a cache
// holds tiles of: its sweep has no runs, so the other two may be short, and theirs long. Of r2c, whose last sweep has
// half of them, tiles half as wide will do (2^29 floats on two ranks of 64 MiB: 8.4 s around 8192, 7.9 around 16384;
// but c2c of 2^27 on two of 32 MiB 3.3 and 3.6).
std::vector<Factors> ways_around_a_long_one(const LongAxis& job) {
    const std::vector<index_t> sizes = divisors(job.n);
    const auto largest = [&](index_t most, index_t of) {
        index_t found = 1;
        for (index_t size : sizes)
            if (size <= most && of % size == 0) found = size;
        return found;
    };
    std::vector<Factors> all;
    const auto n = static_cast<double>(job.n);
    const index_t least = std::max<index_t>(1, static_cast<index_t>(std::cbrt(n)));
    const index_t longest = std::min(kDiskTileBytes / (job.halves ? 64 : 128), job.n / 4);
    for (index_t most = least, before = 0; most < longest;) {
        most = std::min(2 * most, longest);
        const index_t middle = largest(most, job.n), rest = job.n / middle;
        if (middle == before || middle == 1) continue;
        before = middle;
        const index_t one = largest(static_cast<index_t>(std::sqrt(static_cast<double>(rest))), rest);
        if (one == 1) continue;
        all.push_back({rest / one, middle, one});
        if (one * one != rest) all.push_back({one, middle, rest / one});
        // The last sweep of r2c reads from both ends of what a panel writes, in runs half as long.
        if (const index_t fewer = largest(one / 2, rest); job.halves && fewer > 1)
            all.push_back({rest / fewer, middle, fewer});
    }
    return all;
}

// Whether the first of three sweeps may write its results turned. c2r reads its half spectrum in another order; and
// where scratch has disks of its own these are to be used.
bool may_turn(const LongAxis& job) { return (!job.halves || job.forward) && job.problem.disks == 0; }

constexpr int kMostSweeps = 4;

void offer_factors(const LongAxis& job, SweepSearch& search) {
    const int most = std::min(kMostSweeps, static_cast<int>(prime_factors(job.n).size()));
    const bool by_output = job.ranks > 1 && !job.problem.stores_other() && !job.spares_output;
    if (may_turn(job)) {
        for (const Factors& factors : ways_around_a_long_one(job)) {
            auto route = fit_tiles(job, search.machine(), factors, fit_turned);
            // Short columns, and tiles that fill a cache, take longer to compute than was predicted.
            const bool enough = route && shortest_run_bytes(*route) >= kEnoughBesideSlabsBytes;
            search.offer(std::move(route));
            if (search.ended()) return;
            if (enough) break;
        }
    }
    for (int count = 3; count <= most && !search.found(); ++count) {  // one sweep more costs more than shorter runs do
        for (const Factors& factors : ways_to_split(job.n, count)) {
            if (job.ranks == 1 || count == 3) search.offer(fit_tiles(job, search.machine(), factors, fit<false>));
            if (by_output && count == 3) search.offer(fit_tiles(job, search.machine(), factors, fit<true>));
            if (job.ranks > 1) search.offer(fit_tiles(job, search.machine(), factors, fit_parts));
            if (search.ended()) return;
        }
    }
}

void finish(const LongAxis& job, SweepRoute& route) {
    const Kernel plain = job.forward ? Kernel::c2c_forward : Kernel::c2c_backward;
    const size_t last = route.sweeps.size() - 1;
    for (size_t s = 0; s <= last; ++s) {
        SweepSpec& sweep = route.sweeps[s];
        const bool real = !sweep.source.complex || !sweep.target.complex;
        const Kernel kernel = !real ? plain : job.forward ? Kernel::r2c : Kernel::c2r;
        const index_t points = std::max(sweep.points, sweep.out_points);
        sweep.stages = column_stages(sweep, kernel, points);
        sweep.title = cat(kernel_name(kernel), " over ", points, s == 0 ? cat(" of ", job.n, " points") : std::string(),
                          s < last ? ", twiddle" : "");
    }
}

SweepRefusal refusal(const LongAxis& job) {
    return {cat("length ", job.n, " can't be done in ", kMostSweeps, " sweeps"), ""};
}

Result<LongAxis> examine(const Problem& problem, const Planner& planner) {
    SPANFFT_TRY(expect_one_axis(problem, "many_sweeps"));
    SPANFFT_ASSIGN(LongAxis job, examine_long_axis(problem, planner, "many_sweeps"));
    if (is_r2r(problem.kinds[0])) {
        return error(Code::unsupported, "many_sweeps knows c2c, r2c and c2r, not ", axis_kind_name(problem.kinds[0]));
    }
    if (const size_t count = prime_factors(job.n).size(); count < 3) {
        return error(Code::unsupported, "many_sweeps needs three factors, and length ", job.n, " has ", count);
    }
    // A chunked array is read once, into a file.
    if (job.halves && !job.forward && problem.reads_once && problem.input_chunk.empty()) {
        return error(Code::unsupported,
                     "many_sweeps may read some elements of half a spectrum twice, so no callback can have each once "
                     "(reads_once); give more memory, or method=two_sweeps");
    }
    job.add_engine(Kernel::c2c_forward, job.n);
    job.set_memory(problem.memory_bytes);
    return job;
}

constexpr SweepMethod<LongAxis> kManySweeps{"many_sweeps", offer_factors, finish, refusal};

}  // namespace

std::optional<SweepRoute> many_sweeps_as_part(const Problem& problem, const SweepJob& whole, index_t own_bytes,
                                              const SweepSearch& search) {
    return part_of_plan<LongAxis>(examine(problem, search.planner()), kManySweeps, whole, own_bytes, search);
}

Result<std::unique_ptr<Plan>> solve_many_sweeps(const Problem& problem, const Planner& planner) {
    SPANFFT_ASSIGN(const LongAxis job, examine(problem, planner));
    return plan_sweeps<LongAxis>(job, planner, kManySweeps);
}

}  // namespace spanfft
