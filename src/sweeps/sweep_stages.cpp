// The engine calls of a group of axes; see sweep_stages.hpp.
#include "sweeps/sweep_stages.hpp"

#include <utility>

namespace spanfft {

namespace {

using On = SweepStage::On;

class StageMaker {
  public:
    explicit StageMaker(const StageRequest& request)
        : request_(request),
          source_(request, request.source_complex, Kernel::c2r, request.source_pitch),
          target_(request, request.target_complex, Kernel::r2c, request.target_pitch) {}
    std::vector<SweepStage> make() {
        if (halves() && request_.source_complex) {
            add_real(On::source);
            add_joint();
        } else {
            add_joint();
            add_real(On::target);
        }
        return std::move(stages_);
    }

  private:
    // An array as it is before the transforms or after them.
    struct Side {
        Side(const StageRequest& request, bool side_is_complex, Kernel halves, index_t array_pitch)
            : shape(request.shape), is_complex(side_is_complex), pitch(array_pitch) {
            for (size_t i = 0; i < request.axes.size() && is_complex; ++i) {
                if (request.kernels[i] != halves) continue;
                index_t& n = shape[static_cast<size_t>(request.axes[i])];
                n = n / 2 + 1;
            }
            strides = row_major_strides(shape);
        }
        Extents shape, strides;
        bool is_complex;
        index_t pitch;
    };

    bool halves() const { return request_.source_complex != request_.target_complex; }
    const Side& read_from(On on) const { return on == On::target ? target_ : source_; }
    const Side& written_to(On on) const { return on == On::source ? source_ : target_; }
    SweepStage blank(Kernel kernel) const;
    void add_joint();
    void add_real(On side);
    void add_real(On side, size_t axis, Kernel kernel);
    void add_batch(SweepStage& stage, const std::vector<bool>& transformed, const Extents& shape) const;

    const StageRequest& request_;
    const Side source_, target_;
    std::vector<SweepStage> stages_;
};

SweepStage StageMaker::blank(Kernel kernel) const {
    SweepStage stage;
    stage.spec.kernel = kernel;
    stage.spec.precision = request_.precision;
    stage.spec.threads = request_.threads;
    return stage;
}

// All complex and halved axes, in one call.
void StageMaker::add_joint() {
    SweepStage joint = blank(Kernel::c2c_forward);
    std::vector<bool> transformed(request_.shape.size(), false);
    for (const bool halved_ones : {false, true}) {  // the engine wants the halved axis last
        for (size_t i = 0; i < request_.axes.size(); ++i) {
            const Kernel kernel = request_.kernels[i];
            const bool halved = kernel == Kernel::r2c || kernel == Kernel::c2r;
            if (is_r2r(kernel) || halved != halved_ones) continue;
            const auto axis = static_cast<size_t>(request_.axes[i]);
            joint.spec.transform.push_back({request_.shape[axis], source_.strides[axis], target_.strides[axis]});
            joint.spec.kernel = kernel;
            transformed[axis] = true;
        }
    }
    if (joint.spec.transform.empty()) return;
    joint.on = (stages_.empty() || halves()) && request_.across ? On::across : On::target;
    if (joint.on == On::target) {
        for (LoopDim& dim : joint.spec.transform) dim.in_stride = dim.out_stride;
    }
    add_batch(joint, transformed, (request_.source_complex ? source_ : target_).shape);
    stages_.push_back(std::move(joint));
}

// Every real-to-real axis, in a call of its own.
void StageMaker::add_real(On side) {
    for (size_t i = 0; i < request_.axes.size(); ++i) {
        if (is_r2r(request_.kernels[i])) add_real(side, static_cast<size_t>(request_.axes[i]), request_.kernels[i]);
    }
}

void StageMaker::add_real(On side, size_t axis, Kernel kernel) {
    SweepStage stage = blank(kernel);
    stage.on = side == On::target && stages_.empty() && request_.across ? On::across : side;
    const Side& array = read_from(side);
    stage.spec.transform.push_back({array.shape[axis], array.strides[axis], array.strides[axis]});
    std::vector<bool> transformed(array.shape.size(), false);
    transformed[axis] = true;
    add_batch(stage, transformed, array.shape);
    if (array.is_complex) {
        // Real and imaginary parts are transformed alike: strides in real numbers, twice as many transforms.
        for (auto* dims : {&stage.spec.transform, &stage.spec.batch}) {
            for (LoopDim& dim : *dims) dim.in_stride *= 2, dim.out_stride *= 2;
        }
        stage.spec.batch.push_back({2, 1, 1});
    }
    stages_.push_back(std::move(stage));
}

// The axes that the call leaves as they are, and the lanes.
void StageMaker::add_batch(SweepStage& stage, const std::vector<bool>& transformed, const Extents& shape) const {
    const Side &from = read_from(stage.on), &to = written_to(stage.on);
    std::vector<LoopDim>& batch = stage.spec.batch;
    if (request_.lanes > 1) batch.push_back({request_.lanes, from.pitch, to.pitch});
    for (size_t axis = 0; axis < shape.size(); ++axis) {
        if (!transformed[axis] && shape[axis] > 1) batch.push_back({shape[axis], from.strides[axis], to.strides[axis]});
    }
    stage.spec.in_place = stage.on != On::across || !request_.across;
}

}  // namespace

std::vector<SweepStage> make_stages(const StageRequest& request) { return StageMaker(request).make(); }

}  // namespace spanfft
