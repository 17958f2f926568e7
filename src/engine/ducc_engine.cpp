// LocalSpecs on ducc0; see ducc_engine.hpp.
//
// Invariant: nothing here throws: what ducc0 would object to has been refused by check_spec, and DCT and DST are
// called without normalisation or orthogonalisation, which gives FFTW's and scipy.fft's unnormalised kinds.
#include "engine/ducc_engine.hpp"

#include <type_traits>
#include <utility>

#include "core/vector_width.hpp"
#include "ducc_transform.hpp"
#include "engine/short_r2r.hpp"
#include "engine/spec.hpp"

#ifndef SPANFFT_DUCC0_VERSION
#define SPANFFT_DUCC0_VERSION "0.42.0"
#endif

namespace spanfft {

namespace {

ducc::Kind kind_of(Kernel kernel) {
    if (is_c2c(kernel)) return ducc::Kind::c2c;
    if (kernel == Kernel::r2c) return ducc::Kind::r2c;
    if (kernel == Kernel::c2r) return ducc::Kind::c2r;
    return kernel <= Kernel::dct4 ? ducc::Kind::dct : ducc::Kind::dst;
}

// The views of both sides: batch loops first, then the transform axes.
ducc::Call make_call(const LocalSpec& spec) {
    ducc::Call call;
    call.kind = kind_of(spec.kernel);
    call.forward = spec.kernel == Kernel::c2c_forward;
    if (is_r2r(spec.kernel)) {
        const Kernel first = call.kind == ducc::Kind::dct ? Kernel::dct1 : Kernel::dst1;
        call.type = static_cast<int>(spec.kernel) - static_cast<int>(first) + 1;
    }
    call.threads = static_cast<size_t>(spec.threads);
    for (const LoopDim& loop : spec.batch) {
        call.in_shape.push_back(static_cast<size_t>(loop.n));
        call.out_shape.push_back(static_cast<size_t>(loop.n));
        call.in_strides.push_back(loop.in_stride);
        call.out_strides.push_back(loop.out_stride);
    }
    for (size_t i = 0; i < spec.transform.size(); ++i) {
        call.axes.push_back(call.in_shape.size());
        call.in_shape.push_back(static_cast<size_t>(input_points(spec, i)));
        call.out_shape.push_back(static_cast<size_t>(output_points(spec, i)));
        call.in_strides.push_back(spec.transform[i].in_stride);
        call.out_strides.push_back(spec.transform[i].out_stride);
    }
    return call;
}

// With the spare lines that fill the last register, where more than half of its lanes are taken: half of them one by
// one take about as long (96 doubles 4 of 8: 0.50 and 0.50; 480 doubles 0.29 and 0.38; 60 floats 8 of 16: 0.89 and
// 0.89, in units of what one line takes at 1 GF/s).
LocalSpec with_whole_registers(LocalSpec spec, int register_bytes) {
    if (spec.batch.size() != 1 || spec.batch[0].in_stride != 1 || spec.batch[0].out_stride != 1) return spec;
    const index_t at_once = ducc_lines_at_once(spec.precision, register_bytes);
    spec.batch[0].n = filled_lines(spec.batch[0].n, at_once, spec.spare_lines);
    return spec;
}

// ducc0 has no registers for long double: it is compiled once.
template <class T>
ducc::Transform<T>* transform_for(int register_bytes) {
#if defined(__x86_64__)
    if constexpr (!std::is_same_v<T, long double>) {
        if (register_bytes == 64) return ducc::avx512::transform<T>;
        if (register_bytes == 32) return ducc::avx2::transform<T>;
    }
#endif
    return ducc::baseline::transform<T>;
}

template <class T>
class DuccFft : public LocalFft {
  public:
    DuccFft(const LocalSpec& spec, int register_bytes)
        : transform_(transform_for<T>(register_bytes)), scale_(static_cast<T>(spec.scale)), call_(make_call(spec)) {}

    void execute(const void* in, void* out) const override { transform_(call_, scale_, in, out); }

  private:
    ducc::Transform<T>* transform_;
    T scale_;
    ducc::Call call_;
};

class DuccEngine : public Engine {
  public:
    explicit DuccEngine(int register_bytes) : register_bytes_(register_bytes) {}

    std::string name() const override { return "ducc0"; }
    std::string version() const override {
        const char* width = register_bytes_ == 64 ? "-avx512" : register_bytes_ == 32 ? "-avx2" : "";
        return std::string(SPANFFT_DUCC0_VERSION) + width;
    }
    std::string path() const override { return "built in"; }
    bool has_precision(Precision) const override { return true; }
    Status supports(const LocalSpec&) const override { return {}; }
    bool scales(const LocalSpec& spec) const override { return !canonical(spec).transform.empty(); }

    Result<std::unique_ptr<LocalFft>> plan(const LocalSpec& asked) const override {
        const LocalSpec spec = canonical(asked);
        if (is_empty(spec) || spec.transform.empty()) return make_copy(spec);
        if (is_short_r2r(spec)) return make_short_r2r(spec);
        return with_real(spec.precision, [&](auto real) -> std::unique_ptr<LocalFft> {
            const LocalSpec whole = with_whole_registers(spec, register_bytes_);
            return std::make_unique<DuccFft<decltype(real)>>(whole, register_bytes_);
        });
    }

  private:
    int register_bytes_;
};

}  // namespace

index_t ducc_lines_at_once(Precision precision, int register_bytes) {
    if (precision == Precision::extended) return 1;
    return register_bytes / (precision == Precision::single ? 4 : 8);
}

std::unique_ptr<Engine> make_ducc_engine(int register_bytes) { return std::make_unique<DuccEngine>(register_bytes); }

std::unique_ptr<Engine> make_ducc_engine() { return make_ducc_engine(vector_bytes()); }

}  // namespace spanfft
