// An engine for simulated ranks: what a transform takes by 5 n log2 n passes on SimGrid's clock.
//
// Method: spanfft opens this as FFTW (SPANFFT_FFTW_LIBRARY). A plan keeps its operations; running it tells SMPI of
// them, which lets the host's time pass at the sheet's core_fft_gflops while messages travel, if SIMULATED_COMPUTING
// is 1. The true FFTW computes the values, which spanfft checks before it trusts an engine, until SIMULATED_VALUES is
// 0: in folded memory there is nothing to compute once plans are made.
// Source: the FFTW 3.3 manual, "64-bit Guru Interface"; smpi_execute_flops of SimGrid's SMPI.
#include <dlfcn.h>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <type_traits>

extern "C" void smpi_execute_flops(double flops);

namespace {

struct Dim {
    std::ptrdiff_t n, in_stride, out_stride;
};
struct Timed {
    double flops;
    void* plan;  // FFTW's
};

bool is(const char* variable, const char* wanted) {
    const char* value = std::getenv(variable);
    return value && std::strcmp(value, wanted) == 0;
}

struct Fftw {
    void* (*plan)(int, const Dim*, int, const Dim*, void*, void*, int, unsigned) = nullptr;
    void (*execute)(void*, void*, void*) = nullptr;
    void (*destroy)(void*) = nullptr;
};

const Fftw& fftw() {
    static const Fftw found = [] {
        Fftw made;
        void* handle = dlopen("libfftw3.so.3", RTLD_NOW | RTLD_LOCAL);
        if (!handle) return made;
        const auto find = [&](auto& target, const char* name) {
            target = reinterpret_cast<std::remove_reference_t<decltype(target)>>(dlsym(handle, name));
        };
        find(made.plan, "fftw_plan_guru64_dft");
        find(made.execute, "fftw_execute_dft");
        find(made.destroy, "fftw_destroy_plan");
        return made;
    }();
    return found;
}

}  // namespace

extern "C" {

extern const char fftw_version[];
const char fftw_version[] = "simulated";

void* fftw_plan_guru64_dft(int rank, const Dim* dims, int howmany_rank, const Dim* howmany, void* in, void* out,
                           int sign, unsigned flags) {
    double points = 1, lines = 1;
    for (int i = 0; i < rank; ++i) points *= static_cast<double>(dims[i].n);
    for (int i = 0; i < howmany_rank; ++i) lines *= static_cast<double>(howmany[i].n);
    if (!fftw().plan) return nullptr;
    void* plan = fftw().plan(rank, dims, howmany_rank, howmany, in, out, sign, flags);
    if (!plan) return nullptr;
    return new Timed{5 * points * std::log2(points) * lines, plan};
}

void fftw_execute_dft(void* timed, void* in, void* out) {
    const auto* mine = static_cast<const Timed*>(timed);
    if (!is("SIMULATED_VALUES", "0")) fftw().execute(mine->plan, in, out);
    static const bool takes_time = is("SIMULATED_COMPUTING", "1");
    if (takes_time) smpi_execute_flops(mine->flops);
}

void fftw_destroy_plan(void* timed) {
    const auto* mine = static_cast<const Timed*>(timed);
    fftw().destroy(mine->plan);
    delete mine;
}

}  // extern "C"
