// Running a sweep of a disk: panels are read, their columns transformed by a team of threads, and written, all at the
// same time (disk/pipeline.hpp). What is gathered from where: sweep_tiles.hpp; what a sweep is: sweep_spec.hpp.
// Invariant: everything is allocated when the task is made; a compute thread touches its own lane's tiles only.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>

#include "steps/tile_kernels.hpp"
#include "sweeps/block_exchange.hpp"
#include "sweeps/sweep_hooks.hpp"
#include "sweeps/sweep_step.hpp"
#include "sweeps/sweep_tiles.hpp"

namespace spanfft {

namespace {

using Ffts = std::vector<std::unique_ptr<CountedFft>>;

template <class T>
class SweepTask : public Task {
  public:
    // `exchange`: of a sweep in which ranks exchange, else nullptr.
    SweepTask(const SweepSpec& spec, std::shared_ptr<SweepTeam> team, std::unique_ptr<BlockExchange> exchange)
        : spec_(spec), team_(std::move(team)), exchange_(std::move(exchange)) {}
    Status prepare(Binding& binding, const RateTable& rates);
    Status run(RunContext& context) override;
    Counts counted() const override { return counts_; }

  private:
    using C = Pair<T>;
    struct Lane {  // what one compute thread owns
        void* source_tile = nullptr;
        void* target_tile = nullptr;
        typename ColumnTwiddles<T>::Thread twiddles;
        Ffts stages, other_stages;  // other: of rows, of last slabs, or on the way back from a product
        index_t moved_bytes = 0;    // through memory, by its loops, in all runs
    };

    const std::vector<SweepStage>& other_stages() const;
    Status plan_stages(const std::vector<SweepStage>& stages, Ffts& ffts, Binding& binding, const RateTable& rates);
    void execute(const std::vector<SweepStage>& stages, const Ffts& ffts, void* source, void* target) const;
    Counts done() const;  // of flops and memory, in all runs
    char* read_slot(index_t slot) const { return base_ + slot * spec_.read_slot_bytes(); }
    char* write_slot(index_t slot) const {
        if (spec_.target.is_in_place()) return read_slot(slot);
        return base_ + spec_.read_slots() * spec_.read_slot_bytes() + slot * spec_.write_slot_bytes();
    }
    void describe_pipeline(PipelineSpec& pipeline, const RunningSweep& sweep);
    void describe_reads(PipelineSpec& pipeline);
    void describe_reads_together(PipelineSpec& pipeline);
    void describe_writes(PipelineSpec& pipeline);
    void describe_kept(PipelineSpec& pipeline);
    SweepWhere locate(index_t step, index_t read, index_t write) const;
    Status compute(index_t step, index_t read, index_t write);
    BlockExchange::Rows rows_together(index_t panel, index_t slot) const {  // that were read
        BlockExchange::Rows rows{};
        for (int which = 0; which < exchange_->geometry().taken_groups(); ++which)
            rows[static_cast<size_t>(which)] = together_.map(panel, which, tiles_.in_offset, read_slot(slot)).row(0);
        return rows;
    }
    void put_side_by_side(index_t step, index_t call, char* slot);
    void transform(const TileWork& work, const SweepWhere& where);
    void transform(const SlabWork& work, const SweepWhere& where);
    void transform(const ProductWork& work, const SweepWhere& where);
    void transform_rows(const RowTransforms& work, const SweepWhere& where, bool of_panel);
    void transform_columns(const TileWork& work, const SweepWhere& where, Lane& lane, index_t first, index_t count);

    const SweepSpec spec_;
    std::shared_ptr<SweepTeam> team_;
    std::unique_ptr<BlockExchange> exchange_;
    std::vector<Lane> lanes_;
    Buffer tile_memory_;
    SweepTiles<T> tiles_{spec_};
    char* base_ = nullptr;   // work0, during a run
    ColumnPanels together_;  // the rows that this rank reads of all panels
    Counts counts_;
};

template <class T>
const std::vector<SweepStage>& SweepTask<T>::other_stages() const {
    if (const auto* slabs = std::get_if<SlabWork>(&spec_.work)) return slabs->last_stages;
    if (const auto* product = std::get_if<ProductWork>(&spec_.work)) return product->back;
    return spec_.rows()->stages;
}

template <class T>
Status SweepTask<T>::plan_stages(const std::vector<SweepStage>& stages, Ffts& ffts, Binding& binding,
                                 const RateTable& rates) {
    for (const SweepStage& stage : stages) {
        SPANFFT_ASSIGN(EngineChoice choice, plan_local(stage.spec, spec_.engine, rates));
        binding.engine_ran(choice.engine);
        ffts.push_back(std::move(choice.fft));
    }
    return {};
}

template <class T>
Status SweepTask<T>::prepare(Binding& binding, const RateTable& rates) {
    const index_t lanes = spec_.shared_slab() ? 1 : team_->compute.size();
    const index_t source_bytes = round_up(spec_.lanes * spec_.source_pitch() * spec_.source_elem_bytes(), 4096);
    const index_t target_bytes = spec_.source.complex == spec_.target.complex
                                     ? 0
                                     : round_up(spec_.lanes * spec_.target_pitch() * spec_.target_elem_bytes(), 4096);
    const index_t tile_bytes = spec_.tiled() ? source_bytes + target_bytes : 0;
    const index_t lane_bytes = tile_bytes + spec_.twiddle_bytes();
    SPANFFT_ASSIGN(tile_memory_, Buffer::allocate(static_cast<size_t>(lanes * lane_bytes)));
    if (spec_.twiddles.roots_n > 0) {
        SPANFFT_ASSIGN(tiles_.twiddles, ColumnTwiddles<T>::make(spec_.twiddle_form()));
    }
    if (spec_.source.factors.length > 0) {
        SPANFFT_ASSIGN(tiles_.source_roots, RootTable::make(spec_.source.factors.order()));
    }
    if (spec_.target.factors.length > 0) {
        SPANFFT_ASSIGN(tiles_.target_roots, RootTable::make(spec_.target.factors.order()));
    }
    lanes_.resize(static_cast<size_t>(lanes));
    char* next = tile_memory_.as<char>();
    // Columns of a tile that a narrow last panel leaves unused are transformed too: they must hold numbers.
    if (next) std::memset(next, 0, tile_memory_.bytes());
    for (Lane& lane : lanes_) {
        SPANFFT_TRY(plan_stages(spec_.stages, lane.stages, binding, rates));
        SPANFFT_TRY(plan_stages(other_stages(), lane.other_stages, binding, rates));
        lane.source_tile = next;
        lane.target_tile = target_bytes > 0 ? next + source_bytes : next;
        lane.twiddles = tiles_.twiddles.in_memory(next + tile_bytes);
        next += lane_bytes;
    }
    return {};
}

template <class T>
void SweepTask<T>::execute(const std::vector<SweepStage>& stages, const Ffts& ffts, void* source, void* target) const {
    for (size_t i = 0; i < stages.size(); ++i) {
        const void* from = stages[i].on == SweepStage::On::target ? target : source;
        void* to = stages[i].on == SweepStage::On::source ? source : target;
        ffts[i]->execute(from, to);
    }
}

template <class T>
SweepWhere SweepTask<T>::locate(index_t step, index_t read, index_t write) const {
    SweepWhere where;
    where.panel = step / spec_.tile_steps();
    where.read = spec_.sharing.reads_together ? exchange_->taken(step) : read_slot(read);
    where.write = spec_.gives_back() ? exchange_->taken(step) : write_slot(write);
    where.apart = base_ + spec_.panel_bytes() - spec_.exchange_bytes() - spec_.apart_bytes();
    const index_t tile_step = step % spec_.tile_steps(), width = spec_.tile_width();
    const ColumnPanels& panels = spec_.walked();
    where.matrix = where.panel / panels.panels_per_matrix();
    const index_t in_matrix = where.panel % panels.panels_per_matrix();
    where.tile = in_matrix * spec_.tile_steps() + tile_step;
    const index_t of_group = panels.halved() > 0 ? spec_.tile_steps() / 2 : spec_.tile_steps();
    const ColumnPanels::Group computed = panels.computed(where.panel, tile_step < of_group ? 0 : 1);
    where.first = computed.first + tile_step % of_group * width;
    where.count = std::clamp<index_t>(computed.first + computed.width - where.first, 0, width);
    if (panels.reflected()) where.count += panels.group(where.panel, 1).width;
    if (spec_.target.is_blocks()) where.tile = spec_.target.blocks().tile_at(where.first);
    if (const TurnedRows* turned = spec_.target.turned()) {
        where.tile = tile_step;
        where.first = computed.first;
        where.count = computed.width / turned->panels.rows * turned->rows_in(tile_step);
    }
    return where;
}

template <class T>
Status SweepTask<T>::compute(index_t step, index_t read, index_t write) {
    SweepWhere where = locate(step, read, write);
    if (spec_.exchanges()) where.write = exchange_->tile(step);
    const BlockExchange::Rows rows = spec_.gives_back() ? rows_together(where.panel, read) : BlockExchange::Rows();
    if (spec_.gives_back()) SPANFFT_TRY(exchange_->take(where.panel, 0, rows));
    if (where.count > 0)  // the last panel of a matrix may have fewer tiles
        std::visit([&](const auto& work) { transform(work, where); }, spec_.work);
    if (spec_.gives_back()) return exchange_->give_back(where.panel, rows);
    if (!spec_.exchanges() || spec_.hands_on_ahead()) return {};
    char* const slot = write_slot(write);
    if (!exchange_->geometry().of_columns()) return exchange_->round(step, slot);
    SPANFFT_TRY(exchange_->round(step, exchange_->received()));
    for (index_t call = 0; call < exchange_->geometry().calls_in_round(step); ++call)
        put_side_by_side(step, call, slot);
    return {};
}

// What came of a call: the panels of all ranks, or their twins, each with the rows that this one keeps.
template <class T>
void SweepTask<T>::put_side_by_side(index_t step, index_t call, char* slot) {
    const ExchangeGeometry& geometry = exchange_->geometry();
    const ColumnPanels kept = geometry.kept_columns(spec_.rank());
    const index_t panel_bytes = spec_.target.columns().panel * kept.elem_bytes;
    const RowMap rows = kept.map(step, static_cast<int>(call), tiles_.out_offset, slot);
    const char* const received = exchange_->received() + call * geometry.received_bytes_a_call();
    std::atomic<index_t> next{0};
    const auto job = [&](int member) {
        for (index_t r = next.fetch_add(1); r < kept.rows; r = next.fetch_add(1)) {
            for (int rank = 0; rank < spec_.ranks(); ++rank) {
                const index_t row_bytes = geometry.round_tile(step, rank).columns * kept.elem_bytes;
                const char* const from = received + geometry.place_bytes(rank);
                std::memcpy(rows.row(r) + rank * panel_bytes, from + r * row_bytes, static_cast<size_t>(row_bytes));
                lanes_[static_cast<size_t>(member)].moved_bytes += 2 * row_bytes;
            }
        }
    };
    team_->compute.run(job);
}

template <class T>
void SweepTask<T>::transform(const TileWork& work, const SweepWhere& where) {
    if (!work.rows.last && !spec_.takes_rows()) transform_rows(work.rows, where, false);
    const index_t numbers = spec_.numbers(), columns = spec_.columns_of(where.count) * numbers;
    // All columns of the step lie side by side, or those of some of every so many.
    index_t first = spec_.columns_of(where.first) * numbers, together = columns, pitch = 0;
    if (const TurnedRows* turned = spec_.target.turned()) {
        first += where.tile * turned->tile_rows * numbers;
        together = turned->rows_in(where.tile) * numbers;
        pitch = turned->panels.rows * numbers;
    }
    const index_t lots = ceil_div(together, spec_.lanes), all = columns / together * lots;
    std::atomic<index_t> next{0};
    const auto job = [&](int member) {
        for (index_t i = next.fetch_add(1); i < all; i = next.fetch_add(1)) {
            const index_t at = i % lots * spec_.lanes;
            transform_columns(work, where, lanes_[static_cast<size_t>(member)], first + i / lots * pitch + at,
                              std::min(spec_.lanes, together - at));
        }
    };
    team_->compute.run(job);
    if (work.rows.last) transform_rows(work.rows, where, false);
}

template <class T>
void SweepTask<T>::transform_columns(const TileWork& work, const SweepWhere& where, Lane& lane, index_t first,
                                     index_t count) {
    C* const tile = static_cast<C*>(lane.target_tile);
    const auto stages = [&] {
        execute(spec_.stages, lane.stages, lane.source_tile, lane.target_tile);
        if (spec_.twiddles.roots_n > 0 && !spec_.target.twiddles_on_the_way())
            tiles_.twiddle(first, count, tile, lane.twiddles);
    };
    lane.moved_bytes += tiles_.gather(where, first, count, lane.source_tile);
    stages();
    lane.moved_bytes += tiles_.scatter(where, first, count, lane.target_tile, lane.twiddles);
    if (!work.filter_scale || where.matrix > 0) return;
    tiles_.make_filter(first, count, tile);
    stages();
    lane.moved_bytes += tiles_.scatter_filter(where, first, count, tile);
}

// The elements of a compute step, or of a panel, which are rows of numbers: each where it was read, or to or from where
// it lies apart.
template <class T>
void SweepTask<T>::transform_rows(const RowTransforms& work, const SweepWhere& where, bool of_panel) {
    if (work.stages.empty()) return;
    const ColumnPanels& panels = spec_.row_panels();
    const std::array<index_t, 2> row_bytes = spec_.row_bytes();
    for (int which = 0; which < panels.groups(); ++which) {
        const ColumnPanels::Group all = panels.group(where.panel, which), own{where.first, where.count};
        const ColumnPanels::Group tile = of_panel ? all : which == 0 ? own : panels.images(own);
        const index_t at = tile.first - all.first, elements = panels.rows * tile.width;
        const RowMap sides[] = {work.last ? tiles_.rows_scattered(where) : tiles_.rows_read(where, which),
                                work.last ? tiles_.rows_written(where) : tiles_.rows_gathered(where, which)};
        std::atomic<index_t> next{0};
        const auto job = [&](int member) {
            for (index_t i = next.fetch_add(1); i < elements; i = next.fetch_add(1)) {
                const index_t r = i / tile.width, c = i % tile.width;
                if (r + 1 == panels.rows && tile.first + c >= panels.last_row_elems) continue;  // not in the file
                const auto row = [&](size_t side) { return sides[side].row(r) + (at + c) * row_bytes[side]; };
                execute(work.stages, lanes_[static_cast<size_t>(member)].other_stages, row(0), row(1));
            }
        };
        team_->compute.run(job);
    }
}

template <class T>
void SweepTask<T>::transform(const SlabWork& work, const SweepWhere& where) {
    const index_t slabs = where.count / spec_.points, calls = ceil_div(slabs, spec_.lanes);
    const index_t in_bytes = spec_.points * spec_.source_elem_bytes();
    const index_t out_bytes = spec_.out_points * spec_.target_elem_bytes();
    char* source = spec_.source.columns().map(where.panel, 0, tiles_.in_offset, where.read).row(0);
    char* target = tiles_.panels_in_memory().map(where.panel, 0, tiles_.offset_in_memory(), where.write).row(0);
    std::atomic<index_t> next{0};
    const auto scaled = [&](char* slab, index_t bytes) -> index_t {
        if (spec_.scale == 1) return 0;
        T* reals = reinterpret_cast<T*>(slab);
        const T scale = static_cast<T>(spec_.scale);
        index_t i = 0;
        for (; i < bytes / static_cast<index_t>(sizeof(T)); ++i) reals[i] *= scale;
        return 2 * i * static_cast<index_t>(sizeof(T));
    };
    const auto job = [&](int member) {
        Lane& lane = lanes_[static_cast<size_t>(member)];
        for (index_t call = next.fetch_add(1); call < calls; call = next.fetch_add(1)) {
            const index_t first = call * spec_.lanes, count = std::min(spec_.lanes, slabs - first);
            if (count == spec_.lanes) {
                execute(spec_.stages, lane.stages, source + first * in_bytes, target + first * out_bytes);
            } else {
                for (index_t i = first; i < slabs; ++i)
                    execute(work.last_stages, lane.other_stages, source + i * in_bytes, target + i * out_bytes);
            }
            lane.moved_bytes += scaled(target + first * out_bytes, count * out_bytes);
        }
    };
    if (spec_.shared_slab()) {
        job(0);  // the engine shares the work out itself
    } else {
        team_->compute.run(job);
    }
}

template <class T>
void SweepTask<T>::transform(const ProductWork& work, const SweepWhere& where) {
    const index_t points = spec_.points, slabs = where.count / points, row = where.first / points;
    const index_t numbers = spec_.numbers(), slab = points * numbers;
    const ColumnPanels &in = spec_.source.columns(), &out = spec_.target.columns();
    C* const data = reinterpret_cast<C*>(in.map(where.panel, 0, tiles_.in_offset, where.read).row(0));
    C* const filter = reinterpret_cast<C*>(in.map(where.panel, 1, tiles_.in_offset, where.read).row(0));
    C* const target = reinterpret_cast<C*>(out.map(where.panel, 0, tiles_.out_offset, where.write).row(0));
    std::atomic<index_t> next{0};
    const std::function<void(int)> job = [&](int member) {
        Lane& lane = lanes_[static_cast<size_t>(member)];
        for (index_t i = next.fetch_add(1); i < slabs; i = next.fetch_add(1)) {
            C *const x = data + i * slab, *const b = filter + i * slab, *const y = target + i * slab;
            execute(spec_.stages, lane.stages, x, x);
            execute(spec_.stages, lane.stages, b, b);
            lane.moved_bytes += multiply_rows(x, b, slab, y);
            execute(work.back, lane.other_stages, y, y);
            const C* const factors = tiles_.twiddles.of_column(row + i, lane.twiddles);
            lane.moved_bytes += twiddle_numbers_in_place(factors, points, numbers, y, spec_.twiddle_form().chunk());
        }
    };
    team_->compute.run(job);
}

template <class T>
void SweepTask<T>::describe_pipeline(PipelineSpec& pipeline, const RunningSweep& sweep) {
    const index_t tiles = spec_.tile_steps();
    pipeline.steps = spec_.walked().panels() * tiles;
    pipeline.steps_per_read = spec_.source.is_blocks() ? 1 : tiles;
    pipeline.steps_per_write = spec_.target.in_tiles() ? 1 : tiles;
    pipeline.read_slots = spec_.read_slots();
    pipeline.write_slots = spec_.write_slots();
    pipeline.in_place = spec_.target.is_in_place();
    pipeline.memory = base_;
    pipeline.memory_bytes = spec_.panel_bytes();
    tiles_.in_offset = sweep.source.offset_bytes;
    tiles_.out_offset = sweep.target.offset_bytes;
    describe_reads(pipeline);
    if (spec_.exchanges()) {
        describe_kept(pipeline);
    } else {
        describe_writes(pipeline);
    }
    if (exchange_) {  // what this rank had done in an earlier run is there, and only the others need it again
        pipeline.write_count = [&sweep, tiles, count = pipeline.write_count](index_t step) {
            return sweep.done_before(step / tiles) ? 0 : count(step);
        };
    }
    if (spec_.hands_on_ahead()) {
        pipeline.hand_on = [this](index_t step, index_t slot) {
            return exchange_->start_round(step, write_slot(slot));
        };
        pipeline.handed_on = [this](index_t, index_t) { return exchange_->finish_round(); };
    }
    pipeline.compute = [this](index_t step, index_t read, index_t write) { return compute(step, read, write); };
}

template <class T>
void SweepTask<T>::describe_reads(PipelineSpec& pipeline) {
    if (spec_.source.is_blocks()) {
        pipeline.read_count = [this](index_t step) {
            return locate(step, 0, 0).count > 0 ? spec_.source.blocks().column_tiles() : 0;
        };
        pipeline.read_run = [this](index_t step, index_t slot, index_t i) {
            const SweepWhere where = locate(step, slot, 0);
            return spec_.source.blocks().read_run(where.matrix, where.tile, i, where.read);
        };
        return;
    }
    if (spec_.sharing.reads_together) return describe_reads_together(pipeline);
    const ColumnPanels& panels = spec_.source.columns();
    const index_t begin = tiles_.in_offset;
    pipeline.read_count = [panels](index_t panel) { return panels.requests(panel); };
    pipeline.read_run = [this, panels, begin](index_t panel, index_t slot, index_t i) {
        return panels.run(panel, i, begin, read_slot(slot));
    };
    if (!spec_.takes_rows()) return;
    pipeline.take = [this, &pipeline](index_t panel, index_t slot) -> Status {
        const TraceScope scope(pipeline.trace, "compute", TraceCategory::compute);
        transform_rows(*spec_.rows(), locate(panel * spec_.tile_steps(), slot, 0), true);
        return {};
    };
}

template <class T>
void SweepTask<T>::describe_reads_together(PipelineSpec& pipeline) {
    const ExchangeGeometry& geometry = exchange_->geometry();
    together_ = geometry.together(spec_.rank());
    const index_t parts = pipeline.parts = geometry.parts();
    const auto before = [this, &geometry](index_t panel, index_t part, int which) {
        return together_.requests_of_rows(panel, which, geometry.rows_before_part(spec_.rank(), part));
    };
    const auto count = [before](index_t panel, index_t part, int which) {
        return before(panel, part + 1, which) - before(panel, part, which);
    };
    if (spec_.takes_ahead()) {
        pipeline.fetch = [this](index_t step, index_t slot) {
            return exchange_->start_take(step, rows_together(step / spec_.tile_steps(), slot));
        };
        pipeline.fetched = [this](index_t, index_t) { return exchange_->finish_take(); };
    } else if (!spec_.gives_back()) {  // else taken in the compute step, so that what is done to it can be handed back
        pipeline.take = [this, parts](index_t group, index_t part) {
            return exchange_->take(group / parts, part, rows_together(group / parts, 0));
        };
    }
    pipeline.read_count = [count, parts](index_t group) {
        return count(group / parts, group % parts, 0) + count(group / parts, group % parts, 1);
    };
    pipeline.read_run = [this, before, count, parts](index_t group, index_t slot, index_t i) {
        const index_t panel = group / parts, part = group % parts, own = count(panel, part, 0);
        const index_t request =
            i < own ? before(panel, part, 0) + i : together_.walked_requests(panel) + before(panel, part, 1) + i - own;
        char* const rows = read_slot(parts > 1 ? 0 : slot);  // parts lie in one slot
        return together_.run(panel, request, tiles_.in_offset, rows);
    };
}

template <class T>
void SweepTask<T>::describe_writes(PipelineSpec& pipeline) {
    if (spec_.target.is_blocks()) {
        pipeline.write_count = [this](index_t step) {
            const SweepWhere where = locate(step, 0, 0);
            return where.count > 0 ? spec_.target.blocks().requests_of(where.count) : 0;
        };
        pipeline.write_run = [this](index_t step, index_t slot, index_t i) {
            const SweepWhere where = locate(step, 0, slot);
            return spec_.target.blocks().write_run(where.matrix, {where.first, where.count}, i, tiles_.out_offset,
                                                   where.write);
        };
        return;
    }
    if (const TurnedRows* turned = spec_.target.turned()) {
        const auto before = [turned, tiles = spec_.tile_steps()](index_t step) {  // in the panel
            return turned->panels.requests_of_rows(step / tiles, 0, step % tiles * turned->tile_rows);
        };
        pipeline.write_count = [this, turned, before](index_t step) {
            const index_t next = step + 1;
            const bool last = next % spec_.tile_steps() == 0;
            return (last ? turned->panels.requests(step / spec_.tile_steps()) : before(next)) - before(step);
        };
        pipeline.write_run = [this, turned, before](index_t step, index_t slot, index_t i) {
            const index_t panel = step / spec_.tile_steps(), tile = step % spec_.tile_steps();
            Run run = turned->panels.run(panel, before(step) + i, tiles_.out_offset,
                                         turned->first_row(tile, write_slot(slot)));
            run.slack = false;
            return run;
        };
        return;
    }
    if (spec_.gives_back()) {
        pipeline.needs_before_compute = true;  // of all ranks, who agree before they hand rows on
        pipeline.write_count = pipeline.read_count;
        pipeline.write_run = [this](index_t panel, index_t slot, index_t i) {
            Run run = together_.run(panel, i, tiles_.out_offset, together_, tiles_.in_offset, write_slot(slot));
            run.slack = false;
            return run;
        };
        return;
    }
    pipeline.write_count = [this](index_t panel) { return spec_.target.columns().requests(panel); };
    pipeline.write_run = [this](index_t panel, index_t slot, index_t i) {
        Run run = spec_.target.columns().run(panel, i, tiles_.out_offset, tiles_.panels_in_memory(),
                                             tiles_.offset_in_memory(), write_slot(slot));
        run.slack = false;  // other panels' columns are next to it
        return run;
    };
}

// Of the tiles of all ranks in a round, what this one keeps.
template <class T>
void SweepTask<T>::describe_kept(PipelineSpec& pipeline) {
    const ExchangeGeometry& geometry = exchange_->geometry();
    if (geometry.of_columns()) {
        const ColumnPanels kept = geometry.kept_columns(spec_.rank());
        pipeline.write_count = [kept](index_t panel) { return kept.requests(panel); };
        pipeline.write_run = [this, kept](index_t panel, index_t slot, index_t i) {
            Run run = kept.run(panel, i, tiles_.out_offset, write_slot(slot));
            run.slack = false;  // other rows are next to it
            return run;
        };
        return;
    }
    const BlockGrid kept = geometry.kept_blocks(spec_.rank());
    const auto part_of = [this, &geometry](index_t step, int rank) {
        return geometry.part_kept(geometry.round_tile(step, rank), spec_.rank());
    };
    const auto requests = [kept](const KeptPart& part) { return part.bytes > 0 ? kept.write_requests(part.tile) : 0; };
    pipeline.write_count = [this, requests, part_of](index_t step) {
        index_t count = 0;
        for (int rank = 0; rank < spec_.ranks(); ++rank) count += requests(part_of(step, rank));
        return count;
    };
    pipeline.write_run = [this, kept, requests, part_of, &geometry](index_t step, index_t slot, index_t i) {
        int rank = 0;
        KeptPart part = part_of(step, rank);
        for (index_t count; i >= (count = requests(part)); part = part_of(step, ++rank)) i -= count;
        const index_t matrix = step / spec_.tile_steps() / spec_.walked().panels_per_matrix();
        char* const data = write_slot(slot) + exchange_->landing_bytes(step, rank);
        return kept.write_run(matrix, part.tile, i, tiles_.out_offset, data);
    };
}

template <class T>
Status SweepTask<T>::run(RunContext& context) {
    const RunningSweep& sweep = *context.sweep;
    counts_ = Counts();
    if (sweep.done()) return {};
    base_ = static_cast<char*>(context.at(Slot::work0));
    PipelineSpec pipeline;
    describe_pipeline(pipeline, sweep);
    const Counts before = done();
    if (exchange_)
        exchange_->begin(base_ + spec_.panel_bytes() - spec_.exchange_bytes(), sweep.target.offset_bytes,
                         sweep.begins_at);
    const Result<Counts> moved = run_panels(pipeline, spec_.tile_steps(), context, *team_);
    SPANFFT_TRY(exchange_ ? exchange_->end(moved.status(), base_) : moved.status());
    const Counts after = done();
    counts_ = moved.value();
    counts_.memory_bytes = after.memory_bytes - before.memory_bytes;
    counts_.flops = after.flops - before.flops;
    if (exchange_) counts_ += exchange_->counted();
    return {};
}

// What engines did in a tile is flops; what they did where a panel lies went through memory too.
template <class T>
Counts SweepTask<T>::done() const {
    Counts counts;
    const auto add = [&](const std::vector<std::unique_ptr<CountedFft>>& ffts, bool in_tile) {
        for (const auto& fft : ffts) {
            const LocalWork work = fft->done();
            counts.flops += work.flops;
            if (!in_tile) counts.memory_bytes += work.memory_bytes;
        }
    };
    for (const Lane& lane : lanes_) {
        add(lane.stages, spec_.tiled());
        add(lane.other_stages, false);  // rows of numbers lie in a panel too
        counts.memory_bytes += lane.moved_bytes;
    }
    return counts;
}

template <class T>
Result<std::unique_ptr<Task>> make_task(const SweepSpec& spec, const Machine& machine, Binding& binding,
                                        std::unique_ptr<BlockExchange> exchange) {
    SPANFFT_ASSIGN(auto team, team_of(binding, spec.threads));
    auto task = std::make_unique<SweepTask<T>>(spec, std::move(team), std::move(exchange));
    SPANFFT_TRY(task->prepare(binding, machine.engine_rates));
    return std::unique_ptr<Task>(std::move(task));
}

}  // namespace

Result<std::unique_ptr<Task>> SweepStep::bind(Binding& binding) const {
    const SweepSpec spec = spec_.of_rank(binding.comm.rank());
    std::unique_ptr<BlockExchange> exchange;  // first: what is collective is done whatever fails here
    if (spec.has_rounds()) {
        SPANFFT_ASSIGN(exchange, BlockExchange::make(spec, binding));
    }
    return with_real(spec.precision, [&](auto real) {
        return make_task<decltype(real)>(spec, machine_, binding, std::move(exchange));
    });
}

}  // namespace spanfft
