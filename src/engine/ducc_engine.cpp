// LocalSpecs on ducc0; see ducc_engine.hpp. The only file that sees ducc0's headers, which are slow to compile.
//
// Invariant: nothing here throws: what ducc0 would object to has been refused by check_spec, and DCT and DST are
// called without normalisation or orthogonalisation, which gives FFTW's and scipy.fft's unnormalised kinds.
#include "engine/ducc_engine.hpp"

#include <complex>
#include <utility>

#include "ducc0/fft/fft.h"
#include "engine/spec.hpp"

#ifndef SPANFFT_DUCC0_VERSION
#define SPANFFT_DUCC0_VERSION "0.42.0"
#endif

namespace spanfft {

namespace {

using Shape = ducc0::fmav_info::shape_t;
using Strides = ducc0::fmav_info::stride_t;

// The views of both sides: batch loops first, then the transform axes.
struct Views {
    Shape in_shape, out_shape, axes;
    Strides in_strides, out_strides;
};

Views make_views(const LocalSpec& spec) {
    Views views;
    for (const LoopDim& loop : spec.batch) {
        views.in_shape.push_back(static_cast<size_t>(loop.n));
        views.out_shape.push_back(static_cast<size_t>(loop.n));
        views.in_strides.push_back(loop.in_stride);
        views.out_strides.push_back(loop.out_stride);
    }
    for (size_t i = 0; i < spec.transform.size(); ++i) {
        views.axes.push_back(views.in_shape.size());
        views.in_shape.push_back(static_cast<size_t>(input_points(spec, i)));
        views.out_shape.push_back(static_cast<size_t>(output_points(spec, i)));
        views.in_strides.push_back(spec.transform[i].in_stride);
        views.out_strides.push_back(spec.transform[i].out_stride);
    }
    return views;
}

template <class T>
class DuccFft : public LocalFft {
  public:
    explicit DuccFft(const LocalSpec& spec)
        : kernel_(spec.kernel),
          scale_(static_cast<T>(spec.scale)),
          threads_(static_cast<size_t>(spec.threads)),
          views_(make_views(spec)) {}

    void execute(const void* in, void* out) const override {
        if (is_c2c(kernel_)) {
            ducc0::c2c(source<std::complex<T>>(in), target<std::complex<T>>(out), views_.axes,
                       kernel_ == Kernel::c2c_forward, scale_, threads_);
        } else if (kernel_ == Kernel::r2c) {
            ducc0::r2c(source<T>(in), target<std::complex<T>>(out), views_.axes, true, scale_, threads_);
        } else if (kernel_ == Kernel::c2r) {
            const ducc0::vfmav<std::complex<T>> mutable_source(static_cast<std::complex<T>*>(const_cast<void*>(in)),
                                                               views_.in_shape, views_.in_strides);
            ducc0::c2r_mut(mutable_source, target<T>(out), views_.axes, false, scale_, threads_);
        } else if (kernel_ <= Kernel::dct4) {
            const int type = static_cast<int>(kernel_) - static_cast<int>(Kernel::dct1) + 1;
            ducc0::dct(source<T>(in), target<T>(out), views_.axes, type, scale_, false, threads_);
        } else {
            const int type = static_cast<int>(kernel_) - static_cast<int>(Kernel::dst1) + 1;
            ducc0::dst(source<T>(in), target<T>(out), views_.axes, type, scale_, false, threads_);
        }
    }

  private:
    template <class U>
    ducc0::cfmav<U> source(const void* data) const {
        return {static_cast<const U*>(data), views_.in_shape, views_.in_strides};
    }
    template <class U>
    ducc0::vfmav<U> target(void* data) const {
        return {static_cast<U*>(data), views_.out_shape, views_.out_strides};
    }

    Kernel kernel_;
    T scale_;
    size_t threads_;
    Views views_;
};

class DuccEngine : public Engine {
  public:
    std::string name() const override { return "ducc0"; }
    std::string version() const override { return SPANFFT_DUCC0_VERSION; }
    std::string path() const override { return "built in"; }
    bool has_precision(Precision) const override { return true; }
    Status supports(const LocalSpec&) const override { return {}; }
    bool scales(const LocalSpec& spec) const override { return !canonical(spec).transform.empty(); }

    Result<std::unique_ptr<LocalFft>> plan(const LocalSpec& asked) const override {
        const LocalSpec spec = canonical(asked);
        if (is_empty(spec) || spec.transform.empty()) return make_copy(spec);
        return with_real(spec.precision, [&](auto real) -> std::unique_ptr<LocalFft> {
            return std::make_unique<DuccFft<decltype(real)>>(spec);
        });
    }
};

}  // namespace

std::unique_ptr<Engine> make_ducc_engine() { return std::make_unique<DuccEngine>(); }

}  // namespace spanfft
