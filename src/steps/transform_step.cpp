// Local transforms as a plan step; see transform_step.hpp.
#include "steps/transform_step.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <map>

#include "engine/trust.hpp"

namespace spanfft {

Kernel inverse_kernel(Kernel kernel) {
    switch (kernel) {
        case Kernel::c2c_forward:
            return Kernel::c2c_backward;
        case Kernel::c2c_backward:
            return Kernel::c2c_forward;
        case Kernel::r2c:
            return Kernel::c2r;
        case Kernel::c2r:
            return Kernel::r2c;
        case Kernel::dct2:
            return Kernel::dct3;
        case Kernel::dct3:
            return Kernel::dct2;
        case Kernel::dst2:
            return Kernel::dst3;
        case Kernel::dst3:
            return Kernel::dst2;
        default:
            return kernel;
    }
}

Kernel kernel_of(AxisKind kind, Direction direction) {
    Kernel kernel = Kernel::c2c_forward;
    if (kind == AxisKind::r2c) kernel = Kernel::r2c;
    if (is_r2r(kind))
        kernel = static_cast<Kernel>(static_cast<int>(Kernel::dct1) + static_cast<int>(kind) -
                                     static_cast<int>(AxisKind::dct1));
    return direction == Direction::forward ? kernel : inverse_kernel(kernel);
}

namespace {

bool transforms(const TransformSpec& spec, int axis) {
    return std::find(spec.axes.begin(), spec.axes.end(), axis) != spec.axes.end();
}

// Adds a loop, joined with the one before it where both sides are contiguous.
void add_loop(std::vector<LoopDim>& loops, const LoopDim& dim) {
    if (dim.n == 1) return;
    if (!loops.empty()) {
        LoopDim& last = loops.back();
        if (last.in_stride == dim.n * dim.in_stride && last.out_stride == dim.n * dim.out_stride) {
            last = {last.n * dim.n, dim.in_stride, dim.out_stride};
            return;
        }
    }
    loops.push_back(dim);
}

LocalSpec rows_spec(const TransformSpec& spec, int rank, const TransformRows& rows) {
    const Patch in = spec.from.layout.patch(rank), out = spec.to.layout.patch(rank);
    const Extents in_strides = row_major_strides(patch_shape(in)), out_strides = row_major_strides(patch_shape(out));
    LocalSpec local;
    local.caches = spec.caches;
    local.memory_bytes_per_second = spec.memory_bytes_per_second;
    local.kernel = spec.kernel;
    local.precision = spec.from.elem.precision;
    local.in_place = spec.in_place();
    local.threads = spec.threads;
    local.measure = spec.measure;
    local.sweeps = rows.axis < 0;
    // DCT/DST of complex data: the same transform of real and imaginary parts, which lie 1 apart in reals.
    const index_t unit = is_r2r(spec.kernel) && spec.from.elem.complex ? 2 : 1;
    for (int axis : spec.axes) {
        const auto i = static_cast<size_t>(axis);
        local.transform.push_back({std::max(in[i].count, out[i].count), in_strides[i] * unit, out_strides[i] * unit});
    }
    // A halved axis counts by its real length, on whichever side that is; `max` above found it (n >= n/2+1),
    // except that for n = 1 both are 1.
    for (int axis = 0; axis < spec.from.layout.ndim(); ++axis) {
        const auto i = static_cast<size_t>(axis);
        if (transforms(spec, axis)) continue;
        const index_t n = axis == rows.axis ? rows.count : in[i].count;
        add_loop(local.batch, {n, in_strides[i] * unit, out_strides[i] * unit});
    }
    if (unit == 2) add_loop(local.batch, {2, 1, 1});
    return local;
}

}  // namespace

LocalSpec local_spec(const TransformSpec& spec, int rank) { return rows_spec(spec, rank, {}); }

double transform_flops(const LocalSpec& spec) {
    double points = 1, logs = 0;
    for (const auto& dim : spec.transform) {
        points *= static_cast<double>(dim.n);
        logs += dim.n > 1 ? std::log2(static_cast<double>(dim.n)) : 0;
    }
    for (const auto& dim : spec.batch) points *= static_cast<double>(dim.n);
    const bool complex = spec.kernel == Kernel::c2c_forward || spec.kernel == Kernel::c2c_backward;
    return (complex ? 5 : 2.5) * points * logs;
}

namespace {

// out[i] *= factor over a contiguous array of reals.
template <class Real>
index_t scale_reals(void* data, index_t count, long double factor) {
    auto* x = static_cast<Real*>(data);
    const auto f = static_cast<Real>(factor);
    index_t i = 0;
    for (; i < count; ++i) x[i] *= f;
    return 2 * i * static_cast<index_t>(sizeof(Real));
}

}  // namespace

index_t scale_reals(Precision precision, void* data, index_t count, long double factor) {
    return with_real(precision, [&](auto real) { return scale_reals<decltype(real)>(data, count, factor); });
}

namespace {

// scipy's orthogonalize: which points are scaled before and after, relative to 1/sqrt(logical length).
// DCT-I: first and last by sqrt(2) before, 1/sqrt(2) after. DCT-II: first by 1/sqrt(2) after; DCT-III: first by
// sqrt(2) before. DST-II and -III the same with the last point. The others need nothing.
struct EndScales {
    bool first = false, last = false;
    long double before = 1, after = 1;
};

EndScales end_scales(Kernel kernel) {
    const long double root = std::sqrt(2.0L);
    switch (kernel) {
        case Kernel::dct1:
            return {true, true, root, 1 / root};
        case Kernel::dct2:
            return {true, false, 1, 1 / root};
        case Kernel::dct3:
            return {true, false, root, 1};
        case Kernel::dst2:
            return {false, true, 1, 1 / root};
        case Kernel::dst3:
            return {false, true, root, 1};
        default:
            return {};
    }
}

// Multiplies a local C-order array: the planes that `ends` names along `axis` by end_factor, the others by factor. One
// multiplication a number: where two factors meet, their product was rounded once, not each of them. Returns the bytes
// that it read and wrote.
index_t scale_planes(const Extents& shape, const ElemType& elem, int axis, const EndScales& ends,
                     long double end_factor, long double factor, void* data) {
    const index_t outer = product(shape, 0, axis), n = shape[static_cast<size_t>(axis)];
    const index_t reals =
        product(shape, axis + 1, static_cast<int>(shape.size())) * (elem.complex ? 2 : 1);  // of a plane
    const auto plane_bytes = reals * static_cast<index_t>(real_bytes(elem.precision));
    const auto multiply = [&](index_t first, index_t end, index_t block, long double by) {
        if (by == 1 || first >= end) return index_t{0};
        return scale_reals(elem.precision, static_cast<char*>(data) + (block * n + first) * plane_bytes,
                           (end - first) * reals, by);
    };
    index_t swept_bytes = 0;
    for (index_t block = 0; block < outer; ++block) {
        // A single point can be first and last: DCT-I has two at least, the others have one end.
        const index_t from = ends.first ? 1 : 0, to = ends.last ? n - 1 : n;
        if (ends.first) swept_bytes += multiply(0, 1, block, end_factor);
        swept_bytes += multiply(from, to, block, factor);
        if (ends.last) swept_bytes += multiply(n - 1, n, block, end_factor);
    }
    return swept_bytes;
}

// Whether the engine that is expected for `local` multiplies by the scale while it writes.
Result<bool> engine_scales(const TransformSpec& spec, LocalSpec local) {
    if (spec.scale == 1 || spec.axes.empty() || spec.orthogonal || spec.in_chunks) return false;
    local.scale = spec.scale;
    SPANFFT_ASSIGN(const EngineForecast forecast, forecast_local(local, spec.engine, spec.rates));
    return forecast.scaled;
}

// DCT/DST with the ends scaled before the transform, in the output, where it is then transformed in place.
bool scales_before(const TransformSpec& spec) {
    return spec.orthogonal && !spec.axes.empty() && end_scales(spec.kernel).before != 1;
}

// What the sweeps around the engine read and write: with `scaled` the normalisation, which the engine leaves to them,
// and for orthogonal DCT/DST the copy of the input and the end planes, before and after.
index_t swept_bytes(const TransformSpec& spec, int rank, bool scaled) {
    const index_t in_bytes = spec.from.local_bytes(rank), out_bytes = spec.to.local_bytes(rank);
    const EndScales ends = spec.orthogonal && !spec.axes.empty() ? end_scales(spec.kernel) : EndScales();
    index_t end_bytes = 0;
    if (ends.first || ends.last) {
        const index_t planes = spec.to.layout.range(rank, spec.axes[0]).count;
        end_bytes = out_bytes / planes * ((ends.first ? 1 : 0) + (ends.last ? 1 : 0));
    }
    index_t bytes = 0;
    if (scales_before(spec)) bytes += (spec.in_place() ? 0 : in_bytes + out_bytes) + 2 * end_bytes;
    const long double rest = scaled ? spec.scale : 1, end = ends.after * rest;
    if (rest != 1) bytes += 2 * (out_bytes - end_bytes);
    if (end != 1) bytes += 2 * end_bytes;
    return bytes;
}

}  // namespace

Result<RowsTransform> RowsTransform::make(const TransformSpec& spec, int rank, const TransformRows& rows) {
    const Extents in_shape = patch_shape(spec.from.layout.patch(rank)),
                  out_shape = patch_shape(spec.to.layout.patch(rank));
    const bool all = rows.axis < 0;
    const auto axis = static_cast<size_t>(all ? 0 : rows.axis);
    const auto in_elem = static_cast<index_t>(spec.from.elem.bytes()),
               out_elem = static_cast<index_t>(spec.to.elem.bytes());
    const int ndim = spec.from.layout.ndim();
    RowsTransform made;
    made.spec_ = spec;
    made.outer_ = product(out_shape, 0, static_cast<int>(axis));
    made.in_row_bytes_ = product(in_shape, static_cast<int>(axis) + 1, ndim) * in_elem;
    made.out_row_bytes_ = product(out_shape, static_cast<int>(axis) + 1, ndim) * out_elem;
    made.in_outer_bytes_ = in_shape[axis] * made.in_row_bytes_;
    made.out_outer_bytes_ = out_shape[axis] * made.out_row_bytes_;
    made.in_block_bytes_ = (all ? in_shape[axis] : rows.count) * made.in_row_bytes_;
    made.out_block_bytes_ = (all ? out_shape[axis] : rows.count) * made.out_row_bytes_;
    made.block_shape_.assign(out_shape.begin() + static_cast<std::ptrdiff_t>(axis), out_shape.end());
    if (!all) made.block_shape_[0] = rows.count;
    if (!spec.axes.empty() && spec.axes[0] < static_cast<int>(axis)) {
        made.planes_ = out_shape[static_cast<size_t>(spec.axes[0])];
        made.planes_inner_ = product(out_shape, spec.axes[0] + 1, static_cast<int>(axis));
    }
    if (made.outer_ * made.out_block_bytes_ == 0) {  // nothing to plan for
        made.outer_ = 0;
        return made;
    }
    const LocalSpec local = rows_spec(spec, rank, rows);
    made.scale_ = spec.scale;
    if (!spec.axes.empty()) SPANFFT_TRY(made.plan(local));
    return made;
}

Status RowsTransform::plan(const LocalSpec& local) {
    LocalSpec planned = local;
    SPANFFT_ASSIGN(const bool scaled, engine_scales(spec_, local));
    if (scaled) planned.scale = spec_.scale;
    // The points before the transform are scaled in the output, which is then transformed in place.
    if (scales_before(spec_)) planned.in_place = true;
    SPANFFT_ASSIGN(EngineChoice choice, plan_local(planned, spec_.engine, spec_.rates));
    if (scaled && choice.scaled) scale_ = 1;
    engine_ = choice.engine;
    fft_ = std::move(choice.fft);
    return {};
}

// Both arrays have one shape here.
index_t RowsTransform::copy_rows(const char* in, char* out) const {
    index_t copied_bytes = 0;
    if (in == out) return copied_bytes;
    for (index_t i = 0; i < outer_; ++i) {
        std::memcpy(out + i * out_outer_bytes_, in + i * in_outer_bytes_, static_cast<size_t>(in_block_bytes_));
        copied_bytes += in_block_bytes_;
    }
    return 2 * copied_bytes;
}

// Before the transform: its ends. After it: its ends, and everything by the normalisation.
index_t RowsTransform::scale_rows(char* out, bool before) const {
    const EndScales ends = spec_.orthogonal ? end_scales(spec_.kernel) : EndScales();
    const long double end = before ? ends.before : ends.after, rest = before ? 1 : scale_;
    index_t swept_bytes = 0;
    if (end == 1 && rest == 1) return swept_bytes;
    const ElemType& elem = spec_.to.elem;
    const index_t reals = out_block_bytes_ / static_cast<index_t>(real_bytes(elem.precision));
    for (index_t i = 0; i < outer_; ++i) {
        char* block = out + i * out_outer_bytes_;
        const int axis = static_cast<int>(spec_.to.layout.ndim()) - static_cast<int>(block_shape_.size());
        if (end == 1) {
            swept_bytes += scale_reals(elem.precision, block, reals, rest);
        } else if (spec_.axes[0] >= axis) {
            swept_bytes += scale_planes(block_shape_, elem, spec_.axes[0] - axis, ends, end * rest, rest, block);
        } else {  // the whole block is of one plane
            const index_t plane = i / planes_inner_ % planes_;
            const bool is_end = (ends.first && plane == 0) || (ends.last && plane == planes_ - 1);
            const long double by = is_end ? end * rest : rest;
            if (by != 1) swept_bytes += scale_reals(elem.precision, block, reals, by);
        }
    }
    return swept_bytes;
}

Counts RowsTransform::run(const void* in, void* out, index_t first_row, Trace* trace) const {
    Counts counts;
    if (outer_ == 0) return counts;
    TraceScope scope(trace, fft_ ? "transform" : "copy", TraceCategory::compute);
    const char* from = static_cast<const char*>(in) + first_row * in_row_bytes_;
    char* to = static_cast<char*>(out) + first_row * out_row_bytes_;
    if (scales_before(spec_)) {
        counts.memory_bytes += copy_rows(from, to);  // a foreign input may not be touched
        counts.memory_bytes += scale_rows(to, true);
        from = to;
    }
    if (fft_) {
        const LocalWork before = fft_->done();
        fft_->execute(from, to);
        const LocalWork work = fft_->done() - before;
        counts.flops = work.flops;
        counts.memory_bytes += work.memory_bytes;
    } else {
        counts.memory_bytes += copy_rows(from, to);
    }
    counts.memory_bytes += scale_rows(to, false);
    scope.moved(counts.memory_bytes);
    return counts;
}

namespace {

class TransformTask final : public Task {
  public:
    TransformTask(RowsTransform all, Slot source, Slot target)
        : all_(std::move(all)), source_(source), target_(target) {}
    Status run(RunContext& context) override {
        counts_ = all_.run(context.at(source_), context.at(target_), 0, context.trace);
        return Status();
    }
    Counts counted() const override { return counts_; }

  private:
    RowsTransform all_;
    Slot source_, target_;
    Counts counts_;
};

class TransformStep final : public Step {
  public:
    TransformStep(TransformSpec spec, std::string engine, std::string form, double seconds_of_rank0)
        : spec_(std::move(spec)),
          engine_(std::move(engine)),
          form_(std::move(form)),
          seconds_of_rank0_(seconds_of_rank0) {}
    const char* type() const override { return spec_.axes.empty() ? "Copy" : "Transform"; }
    const char* sort() const override { return spec_.sort(); }

    std::string describe() const override {
        std::string text = spec_.axes.empty() ? "the array" : std::string(kernel_name(spec_.kernel)) + " axes";
        for (size_t i = 0; i < spec_.axes.size(); ++i) text += (i ? "," : " ") + std::to_string(spec_.axes[i]);
        if (!spec_.axes.empty()) text += " by " + engine_;
        if (!form_.empty()) text += " in " + form_;
        if (spec_.threads > 1) text += cat(" on ", spec_.threads, " threads");
        if (spec_.scale != 1) text += ", scaled";
        text += cat(", ", spec_.from.layout.describe(), " ", slot_name(spec_.source), " -> ", slot_name(spec_.target));
        return text;
    }

    Counts price(int rank) const override {
        Counts counts;
        const index_t in_bytes = spec_.from.local_bytes(rank), out_bytes = spec_.to.local_bytes(rank);
        if (out_bytes == 0) return counts;
        counts.flops = transform_flops(local_spec(spec_, rank));
        counts.memory_bytes = swept_bytes(spec_, rank, has_scale_sweep(rank));
        // The engine's own, or the copy that stands for it.
        if (!spec_.axes.empty() || !spec_.in_place())
            counts.memory_bytes += (scales_before(spec_) ? out_bytes : in_bytes) + out_bytes;
        const index_t most = spec_.to.local_bytes(0);
        counts.seconds = most ? seconds_of_rank0_ * static_cast<double>(out_bytes) / static_cast<double>(most) : 0;
        return counts;
    }

    index_t own_memory_bytes(int rank) const override {
        if (form_.empty()) return 0;
        const CheckAllowance as_planned(allowed_bytes_);
        const auto forecast = forecast_local(local_spec(spec_, rank), spec_.engine, spec_.rates);
        return forecast.ok() ? forecast.value().own_bytes : 0;
    }

    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        SPANFFT_ASSIGN(auto all, RowsTransform::make(spec_, binding.comm.rank(), {}));
        if (!all.engine().empty()) binding.engine_ran(all.engine());
        return std::unique_ptr<Task>(new TransformTask(std::move(all), spec_.source, spec_.target));
    }

  private:
    bool has_scale_sweep(int rank) const {
        if (spec_.scale == 1) return false;
        // A question about other ranks, of an imagined plan too: what planning found out is known, more isn't asked.
        const CheckAllowance checks(CheckAllowance::bytes(), kImaginedLongest);
        const auto scaled = engine_scales(spec_, local_spec(spec_, rank));
        return !scaled.ok() || !scaled.value();
    }

    TransformSpec spec_;
    std::string engine_, form_;
    double seconds_of_rank0_;
    index_t allowed_bytes_ = CheckAllowance::bytes();  // under which the form was chosen
};

}  // namespace

Result<std::unique_ptr<Step>> make_transform_step(TransformSpec spec, const Machine& machine,
                                                  std::vector<std::string>& notes) {
    for ([[maybe_unused]] int axis : spec.axes)
        assert(spec.from.layout.is_whole(axis) && spec.to.layout.is_whole(axis));
    std::string engine = "copy", form;
    double seconds = 0;
    bool sweep = spec.axes.empty() || spec.scale != 1;
    if (!spec.axes.empty()) {
        const LocalSpec local = local_spec(spec, 0);
        SPANFFT_ASSIGN(const EngineForecast forecast, forecast_local(local, spec.engine, spec.rates));
        SPANFFT_ASSIGN(const bool scaled, engine_scales(spec, local));
        sweep = sweep && !scaled;
        engine = forecast.engine;
        form = forecast.form;
        seconds = forecast.seconds;
        for (const auto& note : forecast.passed_over) {
            if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
        }
    }
    if (sweep) {
        seconds += static_cast<double>(spec.to.local_bytes(0)) / machine.memory_bytes_per_second;
    }
    return std::unique_ptr<Step>(new TransformStep(std::move(spec), engine, form, seconds));
}

namespace {

class BoundRowsTransforms final : public BoundRowWork {
  public:
    Status add(const TransformSpec& spec, int axis, index_t count, Binding& binding) {
        if (transforms_.count(count)) return {};
        SPANFFT_ASSIGN(auto made, RowsTransform::make(spec, binding.comm.rank(), {axis, count}));
        if (!made.engine().empty()) binding.engine_ran(made.engine());
        transforms_.emplace(count, std::move(made));
        return {};
    }
    Counts run(const void* in, void* out, const AxisRange& rows, Trace* trace) const override {
        return transforms_.at(rows.count).run(in, out, rows.start, trace);
    }

  private:
    std::map<index_t, RowsTransform> transforms_;  // by number of rows
};

class TransformRowWork final : public RowWork {
  public:
    explicit TransformRowWork(TransformSpec spec) : spec_(std::move(spec)) { spec_.in_chunks = true; }
    Slot source() const override { return spec_.source; }
    Slot target() const override { return spec_.target; }
    bool cuts(int axis) const override { return !spec_.axes.empty() && !transforms(spec_, axis); }
    Result<std::unique_ptr<Step>> step(const Machine& machine, std::vector<std::string>& notes) const override {
        return make_transform_step(spec_, machine, notes);
    }
    Result<std::unique_ptr<BoundRowWork>> bind(Binding& binding, int axis,
                                               const std::vector<index_t>& counts) const override {
        auto bound = std::make_unique<BoundRowsTransforms>();
        for (const index_t count : counts) SPANFFT_TRY(bound->add(spec_, axis, count, binding));
        return std::unique_ptr<BoundRowWork>(std::move(bound));
    }

  private:
    TransformSpec spec_;
};

}  // namespace

std::unique_ptr<RowWork> transform_in_rows(TransformSpec spec) {
    return std::make_unique<TransformRowWork>(std::move(spec));
}

}  // namespace spanfft
