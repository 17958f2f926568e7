// Running, predicting and describing a sweep of a disk; see pass_step.hpp.
#include "plan/pass_step.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>

#include "core/threads.hpp"
#include "disk/pipeline.hpp"
#include "plan/pass_kernels.hpp"
#include "plan/problem.hpp"

namespace spanfft {

Result<std::shared_ptr<PassTeam>> make_pass_team(int threads, const std::string& io) {
    IoChoice choice;
    SPANFFT_ASSIGN(choice.backend, choose_io_backend(io));
    return std::make_shared<PassTeam>(threads, choice);
}

std::string describe_io(const PassTeam& team) {
    const std::string reads = team.pipeline.describe_reads(), writes = team.pipeline.describe_writes();
    if (reads.empty() || reads == writes) return reads;
    return "reads " + reads + "; writes " + writes;
}

Result<std::string> describe_machine_io(const std::string& io) {
    IoChoice choice;
    SPANFFT_ASSIGN(choice.backend, choose_io_backend(io));
    return describe_disk_io(choice, kPassIoThreads);
}

namespace {

using Shape = PassSpec::Shape;

index_t elem_bytes(Precision precision, bool complex) {
    return static_cast<index_t>(ElemType{precision, complex}.bytes());
}

// A column's pitch in a tile: whole cache lines, and not a multiple of a page, or columns would fight for cache sets.
index_t tile_pitch(index_t points, index_t bytes) {
    const index_t line_elems = std::max<index_t>(1, 64 / bytes);
    return round_up(points, line_elems) + line_elems;
}

bool reads_blocks(const PassSpec& spec) { return spec.shape == Shape::blocks_to_columns; }
bool writes_blocks(const PassSpec& spec) { return spec.shape == Shape::columns_to_blocks; }
bool tiled(const PassSpec& spec) { return spec.shape != Shape::slabs && spec.shape != Shape::chirp_rows; }
// Bytes of twiddles and chirps: tables that all threads share, and the factors of a column for each.
index_t table_bytes(const PassSpec& spec) {
    index_t bytes = spec.roots_n > 0 ? RootTable::bytes(spec.roots_n) : 0;
    if (spec.chirp.length > 0) bytes += RootTable::bytes(spec.chirp.order());
    return bytes;
}
index_t twiddle_bytes(const PassSpec& spec) {
    return spec.roots_n > 0 ? round_up(twiddle_elems(spec.out_points) * elem_bytes(spec.precision, true), 4096) : 0;
}

}  // namespace

index_t PassSpec::tile_steps() const {
    if (shape == Shape::columns_to_blocks) return ceil_div(in.panel, blocks.tile_columns);
    if (shape == Shape::blocks_to_columns) return ceil_div(out.panel, blocks.tile_rows);
    return 1;
}

index_t PassSpec::read_slot_bytes() const {
    return round_up(reads_blocks(*this) ? blocks.read_slot_bytes() : in.slot_bytes(), 4096);
}

index_t PassSpec::write_slot_bytes() const {
    return round_up(writes_blocks(*this) ? blocks.write_slot_bytes() : out.slot_bytes(), 4096);
}

index_t PassSpec::panel_bytes() const { return read_slots() * read_slot_bytes() + write_slots() * write_slot_bytes(); }

bool PassSpec::shared_slab() const { return shape == Shape::slabs && in.panel / points < 2 * threads; }
index_t PassSpec::source_pitch() const { return tile_pitch(points, elem_bytes(precision, source_complex)); }
index_t PassSpec::target_pitch() const { return tile_pitch(out_points, elem_bytes(precision, target_complex)); }

// For each thread: a tile on the source side, one on the target side if that is another, and twiddles.
index_t PassSpec::own_bytes() const {
    if (!tiled(*this)) return table_bytes(*this) + threads * twiddle_bytes(*this);
    const index_t source_bytes = lanes * source_pitch() * elem_bytes(precision, source_complex);
    const index_t target_bytes = lanes * target_pitch() * elem_bytes(precision, target_complex);
    index_t bytes = threads * round_up(source_bytes, 4096);
    if (source_complex != target_complex) bytes += threads * round_up(target_bytes, 4096);
    return bytes + table_bytes(*this) + threads * twiddle_bytes(*this);
}

std::vector<PassStage> make_stages(const StageRequest& request) {
    const auto strides_of = [&](bool complex_side, bool source_side) {
        // The halved axis is shorter on its complex side.
        Extents shape = request.shape;
        for (size_t i = 0; i < request.axes.size(); ++i) {
            const bool halved = request.kernels[i] == (source_side ? Kernel::c2r : Kernel::r2c);
            if (halved && complex_side) {
                auto& n = shape[static_cast<size_t>(request.axes[i])];
                n = n / 2 + 1;
            }
        }
        return std::pair{shape, row_major_strides(shape)};
    };
    const auto [source_shape, source_strides] = strides_of(request.source_complex, true);
    const auto [target_shape, target_strides] = strides_of(request.target_complex, false);

    std::vector<PassStage> stages;
    const auto blank = [&](Kernel kernel) {
        PassStage stage;
        stage.spec.kernel = kernel;
        stage.spec.precision = request.precision;
        stage.spec.threads = request.threads;
        return stage;
    };
    // All complex and halved axes go into one call; every real-to-real axis gets its own.
    PassStage joint = blank(Kernel::c2c_forward);
    std::vector<bool> in_joint(request.shape.size(), false);
    const auto halved = [](Kernel kernel) { return kernel == Kernel::r2c || kernel == Kernel::c2r; };
    for (const bool halved_ones : {false, true}) {  // the engine wants the halved axis last
        for (size_t i = 0; i < request.axes.size(); ++i) {
            if (is_r2r(request.kernels[i]) || halved(request.kernels[i]) != halved_ones) continue;
            const auto axis = static_cast<size_t>(request.axes[i]);
            joint.spec.transform.push_back({request.shape[axis], source_strides[axis], target_strides[axis]});
            joint.spec.kernel = request.kernels[i];
            in_joint[axis] = true;
        }
    }
    const bool halves = request.source_complex != request.target_complex;
    const auto add_batch = [&](PassStage& stage, const std::vector<bool>& transformed, const Extents& shape) {
        const bool on_source = stage.on == PassStage::On::source, on_target = stage.on == PassStage::On::target;
        for (size_t axis = 0; axis < shape.size(); ++axis) {
            if (transformed[axis] || shape[axis] == 1) continue;
            stage.spec.batch.push_back({shape[axis], on_target ? target_strides[axis] : source_strides[axis],
                                        on_source ? source_strides[axis] : target_strides[axis]});
        }
        if (request.lanes > 1) {
            stage.spec.batch.insert(stage.spec.batch.begin(),
                                    {request.lanes, on_target ? request.target_pitch : request.source_pitch,
                                     on_source ? request.source_pitch : request.target_pitch});
        }
        stage.spec.in_place = stage.on != PassStage::On::across || !request.across;
    };
    const auto add_joint = [&] {
        if (joint.spec.transform.empty()) return;
        const bool first = stages.empty() || halves;
        joint.on = first && request.across ? PassStage::On::across : PassStage::On::target;
        if (joint.on == PassStage::On::target) {
            for (LoopDim& dim : joint.spec.transform) dim.in_stride = dim.out_stride;
        }
        add_batch(joint, in_joint, request.source_complex ? source_shape : target_shape);
        stages.push_back(joint);
    };
    const auto add_real = [&](PassStage::On side) {
        for (size_t i = 0; i < request.axes.size(); ++i) {
            if (!is_r2r(request.kernels[i])) continue;
            const auto axis = static_cast<size_t>(request.axes[i]);
            PassStage stage = blank(request.kernels[i]);
            stage.on = side == PassStage::On::target && stages.empty() && request.across ? PassStage::On::across : side;
            const bool on_source = side == PassStage::On::source;
            const Extents& shape = on_source ? source_shape : target_shape;
            const index_t stride = on_source ? source_strides[axis] : target_strides[axis];
            stage.spec.transform.push_back({shape[axis], stride, stride});
            std::vector<bool> transformed(shape.size(), false);
            transformed[axis] = true;
            add_batch(stage, transformed, shape);
            if (on_source ? request.source_complex : request.target_complex) {
                // Real and imaginary parts are transformed alike: strides in real numbers, twice as many transforms.
                for (auto* dims : {&stage.spec.transform, &stage.spec.batch}) {
                    for (LoopDim& dim : *dims) dim.in_stride *= 2, dim.out_stride *= 2;
                }
                stage.spec.batch.push_back({2, 1, 1});
            }
            stages.push_back(stage);
        }
    };
    if (halves && request.source_complex) {
        add_real(PassStage::On::source);
        add_joint();
    } else {
        add_joint();
        add_real(PassStage::On::target);
    }
    return stages;
}

std::string PassStep::describe() const {
    const auto place_name = [](Place place) {
        return place == Place::input ? "input" : place == Place::scratch ? "scratch" : "output";
    };
    const auto side = [&](const ColumnPanels& panels) {
        const double run = static_cast<double>(panels.panel * panels.elem_bytes);
        return cat(panels.panels(), panels.panels() == 1 ? " panel" : " panels", " in runs of ", bytes_string(run));
    };
    const auto blocks = [&] {
        if (spec_.blocks.natural) return cat(spec_.blocks.tile_columns, " columns at a time");
        return cat("blocks of ", spec_.blocks.tile_columns, "x", spec_.blocks.tile_rows);
    };
    return cat(spec_.title, ": reads ", place_name(spec_.source), " (", reads_blocks(spec_) ? blocks() : side(spec_.in),
               "), writes ", place_name(spec_.target), " (", writes_blocks(spec_) ? blocks() : side(spec_.out), ")");
}

namespace {

// Columns (or slabs) that are transformed in a whole sweep.
index_t total_columns(const PassSpec& spec) {
    switch (spec.shape) {
        case Shape::columns_to_blocks:
            return spec.blocks.outer * spec.blocks.columns;
        case Shape::blocks_to_columns:
            return spec.blocks.outer * spec.blocks.rows;
        case Shape::chirp_in:  // and the filter's
            return (spec.in.outer + 1) * spec.in.columns;
        case Shape::columns:
        case Shape::chirp_out:
            return spec.in.outer * spec.in.columns;
        case Shape::slabs:
        case Shape::chirp_rows:
            return spec.in.outer * (spec.in.row_elems / spec.points);
    }
    return 0;
}

}  // namespace

Counts PassStep::predict(int /*rank*/) const {
    Counts counts;
    counts.disk_read_bytes = reads_blocks(spec_) ? spec_.blocks.payload_bytes() : spec_.in.payload_bytes();
    counts.disk_reads = reads_blocks(spec_) ? spec_.blocks.total_reads() : spec_.in.total_requests();
    counts.disk_written_bytes = writes_blocks(spec_) ? spec_.blocks.payload_bytes() : spec_.out.payload_bytes();
    counts.disk_writes = writes_blocks(spec_) ? spec_.blocks.total_writes() : spec_.out.total_requests();
    counts.memory_bytes = counts.disk_read_bytes + counts.disk_written_bytes;
    counts.flops = spec_.flops_each * static_cast<double>(total_columns(spec_));
    const double requests = static_cast<double>(counts.disk_reads + counts.disk_writes);
    const double disk = static_cast<double>(counts.disk_read_bytes) / machine_.disk_read_bytes_per_second +
                        static_cast<double>(counts.disk_written_bytes) / machine_.disk_write_bytes_per_second +
                        requests * machine_.disk_request_seconds / machine_.disk_queue_depth;
    const double compute =
        (counts.flops / 6e9 + 2 * static_cast<double>(counts.memory_bytes) / machine_.memory_bytes_per_second) /
        spec_.threads;
    counts.seconds = std::max(disk, compute);
    return counts;
}

namespace {

template <class T>
class PassTask : public Task {
  public:
    PassTask(const PassSpec& spec, std::shared_ptr<PassTeam> team) : spec_(spec), team_(std::move(team)) {}
    Status prepare(Binding& binding);
    Status run(RunContext& context) override;
    Counts counted() const override { return counts_; }

  private:
    using C = Pair<T>;
    struct Lane {  // what one compute thread owns
        void* source_tile = nullptr;
        void* target_tile = nullptr;
        C* twiddles = nullptr;
        std::vector<std::unique_ptr<LocalFft>> stages, last_stages;
    };
    struct Where {                                // of a compute step
        index_t matrix = 0, panel = 0, tile = 0;  // tile: of the matrix, not of the panel
        index_t first = 0, count = 0;             // columns or slabs
        char* read = nullptr;
        char* write = nullptr;
    };

    Status plan_stages(const std::vector<PassStage>& stages, std::vector<std::unique_ptr<LocalFft>>& ffts,
                       Binding& binding);
    void execute(const std::vector<PassStage>& stages, const std::vector<std::unique_ptr<LocalFft>>& ffts, void* source,
                 void* target) const;
    char* read_slot(index_t slot) const { return base_ + slot * spec_.read_slot_bytes(); }
    char* write_slot(index_t slot) const {
        if (spec_.in_place) return read_slot(slot);
        return base_ + spec_.read_slots() * spec_.read_slot_bytes() + slot * spec_.write_slot_bytes();
    }
    void describe_pipeline(PipelineSpec& pipeline, RunContext& context);
    const ColumnPanels& walked() const { return reads_blocks(spec_) ? spec_.out : spec_.in; }
    Where locate(index_t step, index_t read, index_t write) const;
    Status compute(index_t step, index_t read, index_t write);
    void compute_columns(const Where& where, Lane& lane, index_t first, index_t count);
    void compute_slabs(const Where& where);
    void compute_chirp_in(const Where& where, Lane& lane, index_t first, index_t count);
    void compute_chirp_rows(const Where& where);
    void compute_chirp_out(const Where& where, Lane& lane, index_t first, index_t count);

    template <class E>
    void gather(const Where& where, index_t first, index_t count, E* tile) const;
    C spectrum_of_input(index_t k, const RowMap& rows, index_t row, index_t column) const;
    void gather_half_spectrum(const Where& where, index_t first, index_t count, C* tile) const;
    void gather_inputs(const Where& where, index_t first, index_t count, C* tile) const;
    void gather_padded(const Where& where, index_t first, index_t count, T* tile) const;
    void scatter_outputs(const Where& where, index_t first, index_t count, C* tile) const;
    template <class E>
    void scatter(const Where& where, index_t first, index_t count, E* tile) const;
    void scatter_half_spectrum(const Where& where, index_t first, index_t count, const C* tile) const;
    void scatter_blocks(const Where& where, index_t first, index_t count, const C* tile, C* twiddles) const;

    const PassSpec spec_;
    std::shared_ptr<PassTeam> team_;
    std::vector<Lane> lanes_;
    Buffer tiles_;
    RootTable roots_, chirp_roots_;
    char* base_ = nullptr;  // work0, during a run
    index_t in_offset_ = 0, out_offset_ = 0;
    std::atomic<index_t> columns_done_{0};
    Counts counts_;
};

template <class T>
Status PassTask<T>::plan_stages(const std::vector<PassStage>& stages, std::vector<std::unique_ptr<LocalFft>>& ffts,
                                Binding& binding) {
    for (const PassStage& stage : stages) {
        SPANFFT_ASSIGN(EngineChoice choice, plan_local(stage.spec, spec_.engine));
        binding.engine_ran(choice.engine);
        ffts.push_back(std::move(choice.fft));
    }
    return {};
}

template <class T>
Status PassTask<T>::prepare(Binding& binding) {
    const index_t lanes = spec_.shared_slab() ? 1 : team_->compute.size();
    const index_t source_bytes =
        round_up(spec_.lanes * spec_.source_pitch() * elem_bytes(spec_.precision, spec_.source_complex), 4096);
    const index_t target_bytes =
        spec_.source_complex == spec_.target_complex
            ? 0
            : round_up(spec_.lanes * spec_.target_pitch() * elem_bytes(spec_.precision, spec_.target_complex), 4096);
    const index_t tile_bytes = tiled(spec_) ? source_bytes + target_bytes : 0;
    const index_t lane_bytes = tile_bytes + twiddle_bytes(spec_);
    SPANFFT_ASSIGN(tiles_, Buffer::allocate(static_cast<size_t>(lanes * lane_bytes)));
    if (spec_.roots_n > 0) {
        SPANFFT_ASSIGN(roots_, RootTable::make(spec_.roots_n));
    }
    if (spec_.chirp.length > 0) {
        SPANFFT_ASSIGN(chirp_roots_, RootTable::make(spec_.chirp.order()));
    }
    lanes_.resize(static_cast<size_t>(lanes));
    char* next = tiles_.as<char>();
    // Columns of a tile that a narrow last panel leaves unused are transformed too: they must hold numbers.
    if (next) std::memset(next, 0, tiles_.bytes());
    for (Lane& lane : lanes_) {
        SPANFFT_TRY(plan_stages(spec_.stages, lane.stages, binding));
        SPANFFT_TRY(plan_stages(spec_.last_stages, lane.last_stages, binding));
        lane.source_tile = next;
        lane.target_tile = target_bytes > 0 ? next + source_bytes : next;
        lane.twiddles = reinterpret_cast<C*>(next + tile_bytes);
        next += lane_bytes;
    }
    return team_->pipeline.started();
}

template <class T>
void PassTask<T>::execute(const std::vector<PassStage>& stages, const std::vector<std::unique_ptr<LocalFft>>& ffts,
                          void* source, void* target) const {
    for (size_t i = 0; i < stages.size(); ++i) {
        const void* from = stages[i].on == PassStage::On::target ? target : source;
        void* to = stages[i].on == PassStage::On::source ? source : target;
        ffts[i]->execute(from, to);
    }
}

template <class T>
typename PassTask<T>::Where PassTask<T>::locate(index_t step, index_t read, index_t write) const {
    Where where;
    where.panel = step / spec_.tile_steps();
    where.read = read_slot(read);
    where.write = write_slot(write);
    const index_t tile_step = step % spec_.tile_steps();
    const ColumnPanels& panels = walked();
    where.matrix = where.panel / panels.panels_per_matrix();
    const index_t in_matrix = where.panel % panels.panels_per_matrix();
    where.tile = in_matrix * spec_.tile_steps() + tile_step;
    index_t width = panels.panel;
    if (writes_blocks(spec_)) width = spec_.blocks.tile_columns;
    if (reads_blocks(spec_)) width = spec_.blocks.tile_rows;
    const index_t begin = panels.first_column(where.panel), end = begin + panels.group(where.panel, 0).width;
    where.first = begin + tile_step * width;
    where.count = std::clamp<index_t>(end - where.first, 0, width);
    if (writes_blocks(spec_)) where.tile = spec_.blocks.tile_at(where.first);
    return where;
}

template <class T>
Status PassTask<T>::compute(index_t step, index_t read, index_t write) {
    const Where where = locate(step, read, write);
    if (where.count == 0) return {};  // the last panel of a matrix may have fewer tiles
    if (!tiled(spec_)) {
        if (spec_.shape == Shape::chirp_rows)
            compute_chirp_rows(where);
        else
            compute_slabs(where);
        return {};
    }
    std::atomic<index_t> next{0};
    const auto job = [&](int member) {
        for (index_t i = next.fetch_add(spec_.lanes); i < where.count; i = next.fetch_add(spec_.lanes)) {
            compute_columns(where, lanes_[static_cast<size_t>(member)], where.first + i,
                            std::min(spec_.lanes, where.count - i));
        }
    };
    team_->compute.run(job);
    return {};
}

template <class T>
void PassTask<T>::compute_columns(const Where& where, Lane& lane, index_t first, index_t count) {
    if (spec_.shape == Shape::chirp_in) return compute_chirp_in(where, lane, first, count);
    if (spec_.shape == Shape::chirp_out) return compute_chirp_out(where, lane, first, count);
    const bool sums = spec_.chirp.length > 0;  // a real kind as a Fourier transform
    if (!spec_.source_complex) {
        T* const tile = static_cast<T*>(lane.source_tile);
        if (sums)
            gather_padded(where, first, count, tile);
        else
            gather(where, first, count, tile);
    } else if (spec_.in.mirrored && !reads_blocks(spec_)) {
        gather_half_spectrum(where, first, count, static_cast<C*>(lane.source_tile));
    } else if (sums && !reads_blocks(spec_)) {
        gather_inputs(where, first, count, static_cast<C*>(lane.source_tile));
    } else {
        gather(where, first, count, static_cast<C*>(lane.source_tile));
    }
    execute(spec_.stages, lane.stages, lane.source_tile, lane.target_tile);
    if (spec_.shape == Shape::columns && spec_.roots_n > 0) {
        for (index_t j = 0, made = -1; j < count; ++j) {  // a section has one set of twiddles
            const index_t r = spec_.twiddle_index(first + j);
            if (r != made) make_twiddles(roots_, r, spec_.out_points, spec_.backward, 1, lane.twiddles);
            made = r;
            twiddle_rows_in_place(lane.twiddles, 0, spec_.out_points,
                                  static_cast<C*>(lane.target_tile) + j * spec_.target_pitch());
        }
    }
    if (writes_blocks(spec_)) {
        scatter_blocks(where, first, count, static_cast<const C*>(lane.target_tile), lane.twiddles);
    } else if (!spec_.target_complex) {
        scatter(where, first, count, static_cast<T*>(lane.target_tile));
    } else if (spec_.out.mirrored) {
        scatter_half_spectrum(where, first, count, static_cast<const C*>(lane.target_tile));
    } else if (sums) {
        scatter_outputs(where, first, count, static_cast<C*>(lane.target_tile));
    } else {
        scatter(where, first, count, static_cast<C*>(lane.target_tile));
    }
    columns_done_.fetch_add(count, std::memory_order_relaxed);
}

// Columns first, first+1, ... (count of them) of the matrix, from panel or blocks into the columns of a tile.
template <class T>
template <class E>
void PassTask<T>::gather(const Where& where, index_t first, index_t count, E* tile) const {
    const index_t pitch = spec_.source_pitch();
    if (reads_blocks(spec_)) {
        const BlockGrid& blocks = spec_.blocks;
        const index_t height = blocks.rows_in(where.tile), row = first - where.first;
        for (index_t t = 0, point = 0; t < blocks.column_tiles(); ++t) {
            const auto* block = static_cast<const E*>(blocks.read_run(where.matrix, where.tile, t, where.read).data);
            for (index_t c = 0; c < blocks.columns_in(t); ++c, ++point) {
                into_tile(block + c * height + row, count, tile, pitch, point);
            }
        }
        return;
    }
    const RowMap rows = spec_.in.map(where.panel, 0, in_offset_, where.read);
    const index_t at = first - spec_.in.first_column(where.panel);
    for (index_t r = 0; r < spec_.in.rows; ++r) {
        into_tile(reinterpret_cast<const E*>(rows.row(r)) + at, count, tile, pitch, r);
    }
}

// What is stored of a real kind's input as the half spectrum whose c2r is that kind: x e(ak/D); the rest is 0. Real
// data in the first place, so weights of 2 are the conjugate halves.
template <class T>
Pair<T> PassTask<T>::spectrum_of_input(index_t k, const RowMap& rows, index_t row, index_t column) const {
    if (k >= spec_.chirp.inputs) return {0, 0};
    const T x = reinterpret_cast<const T*>(rows.row(row))[column];
    const Pair<long double> root = linear_root(spec_.chirp, chirp_roots_, spec_.chirp.a, 0, k);
    return {x * static_cast<T>(root.re), x * static_cast<T>(root.im)};
}

// Column k1 of X[k1 + n1*k2], k2 = 0..n2-1, from the half that is stored: k = k1 + n1*k2 > n/2 is conj(X[n-k]), and
// n-k = (n1-k1) + n1*(n2-1-k2), or n1*(n2-k2) in column 0. Worked: n = 12 = 4*3, column 1 is X1, X5, conj(X3).
template <class T>
void PassTask<T>::gather_half_spectrum(const Where& where, index_t first, index_t count, C* tile) const {
    const index_t row_elems = spec_.in.row_elems, n2 = spec_.points, half = spec_.roots_n / 2;
    const bool sums = spec_.chirp.length > 0;
    const RowMap rows = spec_.in.map(where.panel, 0, in_offset_, where.read);
    const RowMap mirror_rows = spec_.in.map(where.panel, 1, in_offset_, where.read);
    const index_t at = spec_.in.group(where.panel, 0).first, mirror_at = spec_.in.group(where.panel, 1).first;
    for (index_t k2 = 0; k2 < n2; ++k2) {
        for (index_t j = 0; j < count; ++j) {
            const index_t k1 = at + first + j - spec_.in.first_column(where.panel);
            C& to = tile[j * spec_.source_pitch() + k2];
            const index_t k = k1 + row_elems * k2;
            if (k <= half) {
                to = sums ? spectrum_of_input(k, rows, k2, k1 - at) : reinterpret_cast<const C*>(rows.row(k2))[k1 - at];
                continue;
            }
            const bool own = k1 == 0 || (2 * k1 == row_elems && !spec_.in.mirrors_all);
            const RowMap& map = own ? rows : mirror_rows;
            const index_t row = k1 == 0 ? n2 - k2 : n2 - 1 - k2;
            const index_t column = k1 == 0 ? 0 : own ? k1 - at : row_elems - k1 - mirror_at;
            const C from = sums ? spectrum_of_input(row_elems * n2 - k, map, row, column)
                                : reinterpret_cast<const C*>(map.row(row))[column];
            to = {from.re, -from.im};
        }
    }
}

template <class T>
template <class E>
void PassTask<T>::scatter(const Where& where, index_t first, index_t count, E* tile) const {
    const index_t pitch = spec_.target_pitch();
    if (spec_.scale != 1 && !reads_blocks(spec_)) {
        const T scale = static_cast<T>(spec_.scale);
        for (index_t j = 0; j < count; ++j) {
            T* column = reinterpret_cast<T*>(tile + j * pitch);
            const index_t reals = spec_.out_points * static_cast<index_t>(sizeof(E) / sizeof(T));
            for (index_t i = 0; i < reals; ++i) column[i] *= scale;
        }
    }
    // In place the slot keeps the alignment with which it was read.
    const RowMap rows = spec_.in_place ? spec_.in.map(where.panel, 0, in_offset_, where.write)
                                       : spec_.out.map(where.panel, 0, out_offset_, where.write);
    const index_t at = first - walked().first_column(where.panel);
    for (index_t r = 0; r < spec_.out.rows; ++r) {
        from_tile(tile, pitch, r, count, reinterpret_cast<E*>(rows.row(r)) + at);
    }
}

// The reverse of gather_half_spectrum: what row k1 of the second pass gives of X[0..n/2], each element once. Columns
// 0 and n1/2 are their own mirror images; their upper part is not needed.
template <class T>
void PassTask<T>::scatter_half_spectrum(const Where& where, index_t first, index_t count, const C* tile) const {
    const index_t row_elems = spec_.out.row_elems, n2 = spec_.points, half = spec_.out.matrix_elems() - 1;
    const index_t section = spec_.out.section > 0 ? spec_.out.section_pitch : row_elems;
    const auto put = [&](index_t k, const C& value, char* row, index_t column) {
        if (spec_.chirp.length == 0)
            reinterpret_cast<C*>(row)[column] = value;
        else
            reinterpret_cast<T*>(row)[column] = real_output(spec_.chirp, chirp_roots_, k, value);
    };
    const RowMap rows = spec_.out.map(where.panel, 0, out_offset_, where.write);
    const RowMap mirror_rows = spec_.out.map(where.panel, 1, out_offset_, where.write);
    const index_t at = spec_.out.group(where.panel, 0).first, mirror_at = spec_.out.group(where.panel, 1).first;
    for (index_t k2 = 0; k2 < n2; ++k2) {
        for (index_t j = 0; j < count; ++j) {
            const index_t k1 = at + first + j - walked().first_column(where.panel);
            const C from = tile[j * spec_.target_pitch() + k2];
            const index_t k = k1 + row_elems * k2;
            const C conjugate{from.re, -from.im};
            if (k <= half) {
                put(k, from, rows.row(k2), k1 - at);
            } else if (k1 % section > 0 && 2 * (k1 % section) != section) {
                put(row_elems * n2 - k, conjugate, mirror_rows.row(n2 - 1 - k2), row_elems - k1 - mirror_at);
            }
        }
    }
}

template <class T>
void PassTask<T>::scatter_blocks(const Where& where, index_t first, index_t count, const C* tile, C* twiddles) const {
    const BlockGrid& blocks = spec_.blocks;
    for (index_t j = 0; j < count; ++j) {
        make_twiddles(roots_, spec_.twiddle_index(first + j), blocks.rows, spec_.backward, spec_.scale, twiddles);
        for (index_t t = 0; t < blocks.row_tiles(); ++t) {
            const index_t begin = t * blocks.tile_rows, height = blocks.rows_in(t);
            C* to = reinterpret_cast<C*>(where.write) + blocks.block_elems_before(where.tile, t) +
                    (first + j - where.first) * height;
            twiddle_rows(tile + j * spec_.target_pitch() + begin, twiddles, begin, begin + height, to);
        }
    }
}

template <class T>
void PassTask<T>::compute_slabs(const Where& where) {
    const index_t slabs = where.count / spec_.points, calls = ceil_div(slabs, spec_.lanes);
    const index_t in_bytes = spec_.points * elem_bytes(spec_.precision, spec_.source_complex);
    const index_t out_bytes = spec_.out_points * elem_bytes(spec_.precision, spec_.target_complex);
    char* source = spec_.in.map(where.panel, 0, in_offset_, where.read).row(0);
    char* target = spec_.out.map(where.panel, 0, out_offset_, where.write).row(0);
    std::atomic<index_t> next{0};
    const auto scaled = [&](char* slab, index_t bytes) {
        if (spec_.scale == 1) return;
        T* reals = reinterpret_cast<T*>(slab);
        const T scale = static_cast<T>(spec_.scale);
        for (index_t i = 0; i < bytes / static_cast<index_t>(sizeof(T)); ++i) reals[i] *= scale;
    };
    const auto job = [&](int member) {
        Lane& lane = lanes_[static_cast<size_t>(member)];
        for (index_t call = next.fetch_add(1); call < calls; call = next.fetch_add(1)) {
            const index_t first = call * spec_.lanes, count = std::min(spec_.lanes, slabs - first);
            if (count == spec_.lanes) {
                execute(spec_.stages, lane.stages, source + first * in_bytes, target + first * out_bytes);
            } else {
                for (index_t i = first; i < slabs; ++i) {
                    execute(spec_.last_stages, lane.last_stages, source + i * in_bytes, target + i * out_bytes);
                }
            }
            scaled(target + first * out_bytes, count * out_bytes);
        }
    };
    if (spec_.shared_slab()) {
        job(0);  // the engine shares the work out itself
    } else {
        team_->compute.run(job);
    }
    columns_done_.fetch_add(slabs, std::memory_order_relaxed);
}

// Columns of the input times the chirp, padded with zeros, transformed and twiddled; of the first array those of the
// filter besides. A row of the padded array is in.row_elems elements.
template <class T>
void PassTask<T>::compute_chirp_in(const Where& where, Lane& lane, index_t first, index_t count) {
    C* const tile = static_cast<C*>(lane.source_tile);
    const index_t pitch = spec_.source_pitch(), step = spec_.in.row_elems, m = spec_.roots_n;
    const auto put = [&](int which) {
        execute(spec_.stages, lane.stages, tile, tile);
        const RowMap rows = spec_.out.map(where.panel, which, out_offset_, where.write);
        const index_t at = first - walked().first_column(where.panel);
        for (index_t j = 0; j < count; ++j) {
            make_twiddles(roots_, first + j, spec_.points, false, 1, lane.twiddles);
            twiddle_rows_in_place(lane.twiddles, 0, spec_.points, tile + j * pitch);
        }
        for (index_t r = 0; r < spec_.points; ++r) {
            from_tile(tile, pitch, r, count, reinterpret_cast<C*>(rows.row(r)) + at);
        }
        columns_done_.fetch_add(count, std::memory_order_relaxed);
    };
    gather_inputs(where, first, count, tile);
    put(0);
    if (where.matrix > 0) return;
    for (index_t j = 0; j < count; ++j) {
        chirp_filter(spec_.chirp, chirp_roots_, m, spec_.scale, first + j, step, spec_.points, tile + j * pitch);
    }
    put(1);
}

// Rows of the array and of the filter: both transformed, multiplied, transformed back and untwiddled.
template <class T>
void PassTask<T>::compute_chirp_rows(const Where& where) {
    const index_t points = spec_.points, slabs = where.count / points, row = where.first / points;
    C* const data = reinterpret_cast<C*>(spec_.in.map(where.panel, 0, in_offset_, where.read).row(0));
    C* const filter = reinterpret_cast<C*>(spec_.in.map(where.panel, 1, in_offset_, where.read).row(0));
    C* const target = reinterpret_cast<C*>(spec_.out.map(where.panel, 0, out_offset_, where.write).row(0));
    std::atomic<index_t> next{0};
    const std::function<void(int)> job = [&](int member) {
        Lane& lane = lanes_[static_cast<size_t>(member)];
        for (index_t i = next.fetch_add(1); i < slabs; i = next.fetch_add(1)) {
            C *const x = data + i * points, *const b = filter + i * points, *const y = target + i * points;
            execute(spec_.stages, lane.stages, x, x);
            execute(spec_.stages, lane.stages, b, b);
            multiply_rows(x, b, points, y);
            execute(spec_.last_stages, lane.last_stages, y, y);
            make_twiddles(roots_, row + i, points, true, 1, lane.twiddles);
            twiddle_rows_in_place(lane.twiddles, 0, points, y);
        }
    };
    team_->compute.run(job);
    columns_done_.fetch_add(slabs, std::memory_order_relaxed);
}

// Columns of the convolution, transformed back, times the chirp.
template <class T>
void PassTask<T>::compute_chirp_out(const Where& where, Lane& lane, index_t first, index_t count) {
    C* const tile = static_cast<C*>(lane.source_tile);
    gather(where, first, count, tile);
    execute(spec_.stages, lane.stages, tile, tile);
    scatter_outputs(where, first, count, tile);
    columns_done_.fetch_add(count, std::memory_order_relaxed);
}

// Columns times the factors of the outputs, as many as there are; of real results the real part.
template <class T>
void PassTask<T>::scatter_outputs(const Where& where, index_t first, index_t count, C* tile) const {
    const index_t pitch = spec_.target_pitch();
    for (index_t j = 0; j < count; ++j) {
        chirp_outputs(spec_.chirp, chirp_roots_, first + j, spec_.out.row_elems, spec_.out.rows, tile + j * pitch);
    }
    const RowMap rows = spec_.out.map(where.panel, 0, out_offset_, where.write);
    const index_t at = first - walked().first_column(where.panel);
    for (index_t r = 0; r < spec_.out.rows; ++r) {
        if (spec_.out.elem_bytes == static_cast<index_t>(sizeof(C))) {
            from_tile(tile, pitch, r, count, reinterpret_cast<C*>(rows.row(r)) + at);
        } else {
            T* reals = reinterpret_cast<T*>(rows.row(r)) + at;
            for (index_t j = 0; j < count; ++j) reals[j] = tile[j * pitch + r].re;
        }
    }
}

// Columns of the input times its factors, with zeros behind it.
template <class T>
void PassTask<T>::gather_inputs(const Where& where, index_t first, index_t count, C* tile) const {
    const index_t pitch = spec_.source_pitch();
    if (spec_.in.elem_bytes == static_cast<index_t>(sizeof(C))) {
        gather(where, first, count, tile);
    } else {
        const RowMap rows = spec_.in.map(where.panel, 0, in_offset_, where.read);
        const index_t at = first - spec_.in.first_column(where.panel);
        for (index_t r = 0; r < spec_.in.rows; ++r) {
            const T* reals = reinterpret_cast<const T*>(rows.row(r)) + at;
            for (index_t j = 0; j < count; ++j) tile[j * pitch + r] = {reals[j], 0};
        }
    }
    for (index_t j = 0; j < count; ++j)
        chirp_inputs(spec_.chirp, chirp_roots_, first + j, spec_.in.row_elems, spec_.points, tile + j * pitch);
}

// The same where the factors are weights alone and the tile is real.
template <class T>
void PassTask<T>::gather_padded(const Where& where, index_t first, index_t count, T* tile) const {
    gather(where, first, count, tile);
    const Chirp& chirp = spec_.chirp;
    for (index_t j = 0; j < count; ++j) {
        T* const column = tile + j * spec_.source_pitch();
        for (index_t r = 0, i = first + j; r < spec_.points; ++r, i += spec_.in.row_elems) {
            if (i >= chirp.inputs)
                column[r] = 0;
            else
                column[r] *= static_cast<T>(chirp.weight_of(i));
        }
    }
}

template <class T>
void PassTask<T>::describe_pipeline(PipelineSpec& pipeline, RunContext& context) {
    const index_t tiles = spec_.tile_steps();
    const ColumnPanels& panels = walked();
    pipeline.steps = panels.panels() * tiles;
    pipeline.steps_per_read = reads_blocks(spec_) ? 1 : tiles;
    pipeline.steps_per_write = writes_blocks(spec_) ? 1 : tiles;
    pipeline.read_slots = spec_.read_slots();
    pipeline.write_slots = spec_.write_slots();
    pipeline.in_place = spec_.in_place;
    const auto store = [&](Place place) {
        return place == Place::input     ? context.input_store
               : place == Place::scratch ? context.scratch_store
                                         : context.output_store;
    };
    const auto offset = [&](Place place, index_t in_scratch) {
        return place == Place::input     ? context.input_offset_bytes
               : place == Place::scratch ? in_scratch
                                         : context.output_offset_bytes;
    };
    pipeline.source = store(spec_.source);
    pipeline.target = store(spec_.target);
    in_offset_ = offset(spec_.source, spec_.source_scratch_bytes);
    out_offset_ = offset(spec_.target, spec_.target_scratch_bytes);
    if (reads_blocks(spec_)) {
        pipeline.read_count = [this](index_t step) {
            return locate(step, 0, 0).count > 0 ? spec_.blocks.column_tiles() : 0;
        };
        pipeline.read_run = [this](index_t step, index_t slot, index_t i) {
            const Where where = locate(step, slot, 0);
            return spec_.blocks.read_run(where.matrix, where.tile, i, where.read);
        };
    } else {
        pipeline.read_count = [this](index_t panel) { return spec_.in.requests(panel); };
        pipeline.read_run = [this](index_t panel, index_t slot, index_t i) {
            return spec_.in.run(panel, i, in_offset_, read_slot(slot));
        };
    }
    if (writes_blocks(spec_)) {
        pipeline.write_count = [this](index_t step) {
            const Where where = locate(step, 0, 0);
            return where.count > 0 ? spec_.blocks.write_requests(where.tile) : 0;
        };
        pipeline.write_run = [this](index_t step, index_t slot, index_t i) {
            const Where where = locate(step, 0, slot);
            return spec_.blocks.write_run(where.matrix, where.tile, i, out_offset_, where.write);
        };
    } else {
        pipeline.write_count = [this](index_t panel) { return spec_.out.requests(panel); };
        pipeline.write_run = [this](index_t panel, index_t slot, index_t i) {
            Run run = spec_.out.run(panel, i, out_offset_, write_slot(slot));
            if (spec_.in_place) run.data = spec_.in.run(panel, i, in_offset_, write_slot(slot)).data;
            run.slack = false;  // other panels' columns are next to it
            return run;
        };
    }
    pipeline.compute = [this](index_t step, index_t read, index_t write) { return compute(step, read, write); };
}

template <class T>
Status PassTask<T>::run(RunContext& context) {
    counts_ = Counts();
    columns_done_ = 0;
    base_ = static_cast<char*>(context.at(Slot::work0));
    PipelineSpec pipeline;
    describe_pipeline(pipeline, context);
    pipeline.trace = context.trace;
    pipeline.memory = base_;
    pipeline.memory_bytes = spec_.panel_bytes();
    if (!base_ || !pipeline.source || !pipeline.target) {
        return error(Code::internal, "a disk pass was run without its stores or its work space");
    }
    if (context.progress) {
        pipeline.progress = [&context](index_t bytes) { return context.advance(bytes); };
    }
    const StoreCounts source_before = pipeline.source->counts(), target_before = pipeline.target->counts();
    const Status status = team_->pipeline.run(pipeline);
    const StoreCounts source_after = pipeline.source->counts(), target_after = pipeline.target->counts();
    counts_.disk_reads = source_after.reads - source_before.reads;
    counts_.disk_read_bytes = source_after.read_bytes - source_before.read_bytes;
    counts_.disk_writes = target_after.writes - target_before.writes;
    counts_.disk_written_bytes = target_after.written_bytes - target_before.written_bytes;
    counts_.memory_bytes = counts_.disk_read_bytes + counts_.disk_written_bytes;
    counts_.flops = spec_.flops_each * static_cast<double>(columns_done_.load());
    return status;
}

template <class T>
Result<std::unique_ptr<Task>> make_task(const PassSpec& spec, Binding& binding) {
    auto task = std::make_unique<PassTask<T>>(spec, binding.pass_team);
    SPANFFT_TRY(task->prepare(binding));
    return std::unique_ptr<Task>(std::move(task));
}

}  // namespace

Result<std::unique_ptr<Task>> PassStep::bind(Binding& binding) const {
    if (!binding.pass_team) {
        SPANFFT_ASSIGN(binding.pass_team, make_pass_team(spec_.threads, binding.io));
    }
    switch (spec_.precision) {
        case Precision::single:
            return make_task<float>(spec_, binding);
        case Precision::dbl:
            return make_task<double>(spec_, binding);
        case Precision::extended:
            return make_task<long double>(spec_, binding);
    }
    return error(Code::internal, "unknown precision");
}

}  // namespace spanfft
