// Rates of engines before anything was measured; see rates.hpp. Medians of out-of-place double c2c transforms.
//
// Sources: "xeon": 2 cores of a Sapphire Rapids class Xeon (FFTW as Debian builds it, MKL 2026.2, ducc0 0.42, with this
// engine layer), November 2026. "epyc": 2 cores of an EPYC of 2024 (Zen 5), same libraries, measured with this engine
// layer. In both ducc0 was compiled for SSE2 (kDuccGain). "epyc_avx2": 2 cores of an EPYC of 2021 (family 25, model 1:
// Zen 3), the same, and ducc0 for AVX2. "epyc_zen4": at its table.
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include <string_view>
#include <utility>

#include "core/vector_width.hpp"
#include "engine/rates.hpp"

namespace spanfft {

namespace {

constexpr double kFewLines = 4;    // half of the doubles of a register of 64 bytes
constexpr double kDuccGain = 1.3;  // of ducc0 for AVX2 beside SSE2: the least that was seen

struct Prior {
    const char* engine;
    RateShape shape;
    double n;
    double one_thread;
    double two_threads;
};

// Xeon: medians of five runs of `spanfft probe`; the lines of 2^24 points are the survey's.
constexpr Prior kXeon[] = {
    {"fftw", RateShape::line, 1 << 10, 34.8, 32.6},    {"fftw", RateShape::line, 1 << 16, 19.0, 17.0},
    {"fftw", RateShape::line, 1 << 20, 5.2, 12.0},     {"fftw", RateShape::line, 1 << 24, 3.2, 5.3},
    {"fftw", RateShape::several, 1 << 21, 16.6, 23.7}, {"fftw", RateShape::strided, 256, 10.0, 13.6},
    {"mkl", RateShape::line, 1 << 10, 46.7, 88.1},     {"mkl", RateShape::line, 1 << 16, 21.4, 27.9},
    {"mkl", RateShape::line, 1 << 20, 9.0, 20.8},      {"mkl", RateShape::line, 1 << 24, 8.4, 17.0},
    {"mkl", RateShape::several, 1 << 21, 18.6, 26.7},  {"mkl", RateShape::strided, 256, 14.5, 18.1},
    {"ducc0", RateShape::line, 1 << 10, 13.8, 13.9},   {"ducc0", RateShape::line, 1 << 16, 7.5, 6.7},
    {"ducc0", RateShape::line, 1 << 20, 5.8, 10.5},    {"ducc0", RateShape::line, 1 << 24, 3.5, 6.0},
    {"ducc0", RateShape::several, 1 << 21, 7.7, 16.8}, {"ducc0", RateShape::strided, 256, 9.9, 15.9},
};

// EPYC: one thread by processor seconds, for the machine was shared; two by the clock, while it was quiet. Equal rates
// mean that the library uses one thread there. FFTW's and MKL's strided and several-axes rates are with our tiles
// (tiled.hpp); FFTW's own estimated plans reach 1.6 and 1.9.
constexpr Prior kEpyc[] = {
    {"fftw", RateShape::line, 1 << 10, 20.0, 37.9},     {"fftw", RateShape::line, 1 << 16, 13.3, 20.4},
    {"fftw", RateShape::line, 1 << 20, 7.7, 16.7},      {"fftw", RateShape::line, 1 << 24, 6.8, 12.8},
    {"fftw", RateShape::several, 1 << 24, 21.0, 37.6},  {"fftw", RateShape::strided, 256, 14.1, 28.4},
    {"mkl", RateShape::line, 1 << 10, 13.7, 27.2},      {"mkl", RateShape::line, 1 << 16, 21.3, 21.6},
    {"mkl", RateShape::line, 1 << 20, 12.8, 12.9},      {"mkl", RateShape::line, 1 << 24, 12.0, 12.0},
    {"mkl", RateShape::several, 1 << 24, 18.8, 33.3},   {"mkl", RateShape::strided, 256, 14.0, 25.7},
    {"ducc0", RateShape::line, 1 << 10, 12.8, 24.7},    {"ducc0", RateShape::line, 1 << 16, 7.9, 8.1},
    {"ducc0", RateShape::line, 1 << 20, 9.4, 18.5},     {"ducc0", RateShape::line, 1 << 24, 7.4, 11.9},
    {"ducc0", RateShape::several, 1 << 24, 13.6, 22.0}, {"ducc0", RateShape::strided, 256, 11.6, 23.0},
};

// An EPYC without AVX-512: medians of five runs of `spanfft probe`; the lines of 2^24 points are medians of five of
// Plan((1 << 24,), engine=..., method="local").forward.
constexpr Prior kEpycAvx2[] = {
    {"fftw", RateShape::line, 1 << 10, 19.1, 20.1},    {"fftw", RateShape::line, 1 << 16, 8.9, 12.6},
    {"fftw", RateShape::line, 1 << 20, 4.2, 10.4},     {"fftw", RateShape::line, 1 << 24, 4.9, 7.2},
    {"fftw", RateShape::several, 1 << 21, 13.3, 20.8}, {"fftw", RateShape::strided, 256, 9.0, 13.6},
    {"mkl", RateShape::line, 1 << 10, 14.3, 18.1},     {"mkl", RateShape::line, 1 << 16, 14.1, 13.5},
    {"mkl", RateShape::line, 1 << 20, 7.1, 7.1},       {"mkl", RateShape::line, 1 << 24, 6.4, 8.4},
    {"mkl", RateShape::several, 1 << 21, 9.2, 15.2},   {"mkl", RateShape::strided, 256, 7.7, 12.3},
    {"ducc0", RateShape::line, 1 << 10, 11.1, 10.0},   {"ducc0", RateShape::line, 1 << 16, 10.6, 10.9},
    {"ducc0", RateShape::line, 1 << 20, 6.4, 9.8},     {"ducc0", RateShape::line, 1 << 24, 4.4, 7.5},
    {"ducc0", RateShape::several, 1 << 21, 7.8, 14.2}, {"ducc0", RateShape::strided, 256, 10.8, 16.5},
};

// An EPYC of 2022 (family 25, model 17: Zen 4), two threads of one core, ducc0 for AVX-512: medians of five runs of
// `spanfft probe`. Of lines of 2^24 points, medians of five: FFTW's by its own interface (FFTW_ESTIMATE), the others'
// by Plan((1 << 24,), engine=..., method="local").forward; MKL's for two threads is that for one, as at 2^20.
// Tiles have one thread each: the second column repeats the first. There FFTW is fast at some lengths up to 128 only.
// Few lines are medians of four probes.
constexpr Prior kEpycZen4[] = {
    {"fftw", RateShape::line, 1 << 10, 28.9, 30.9},    {"fftw", RateShape::line, 1 << 16, 11.3, 16.1},
    {"fftw", RateShape::line, 1 << 20, 8.0, 10.3},     {"fftw", RateShape::line, 1 << 24, 3.9, 5.5},
    {"fftw", RateShape::several, 1 << 21, 13.8, 22.9}, {"fftw", RateShape::strided, 256, 13.1, 17.4},
    {"mkl", RateShape::line, 1 << 10, 19.9, 26.5},     {"mkl", RateShape::line, 1 << 16, 15.3, 16.9},
    {"mkl", RateShape::line, 1 << 20, 8.1, 7.8},       {"mkl", RateShape::line, 1 << 24, 7.9, 7.9},
    {"mkl", RateShape::several, 1 << 21, 9.9, 15.9},   {"mkl", RateShape::strided, 256, 10.7, 15.3},
    {"ducc0", RateShape::line, 1 << 10, 15.9, 18.9},   {"ducc0", RateShape::line, 1 << 16, 13.1, 16.5},
    {"ducc0", RateShape::line, 1 << 20, 7.9, 12.4},    {"ducc0", RateShape::line, 1 << 24, 5.4, 7.2},
    {"ducc0", RateShape::several, 1 << 21, 9.6, 15.1}, {"ducc0", RateShape::strided, 256, 14.6, 15.9},
    {"fftw", RateShape::tile, 16, 38.1, 38.1},         {"fftw", RateShape::tile, 12, 35.1, 35.1},
    {"fftw", RateShape::tile, 64, 39.2, 39.2},         {"fftw", RateShape::tile, 36, 7.9, 7.9},
    {"fftw", RateShape::tile, 128, 36.7, 36.7},        {"fftw", RateShape::tile, 100, 16.4, 16.4},
    {"fftw", RateShape::tile, 256, 19.2, 19.2},        {"fftw", RateShape::tile, 420, 10.8, 10.8},
    {"fftw", RateShape::tile, 1024, 15.8, 15.8},       {"fftw", RateShape::tile, 1260, 12.7, 12.7},
    {"mkl", RateShape::tile, 16, 12.8, 12.8},          {"mkl", RateShape::tile, 12, 11.3, 11.3},
    {"mkl", RateShape::tile, 64, 14.0, 14.0},          {"mkl", RateShape::tile, 100, 11.5, 11.5},
    {"mkl", RateShape::tile, 1024, 16.1, 16.1},        {"mkl", RateShape::tile, 1260, 12.4, 12.4},
    {"ducc0", RateShape::tile, 16, 7.8, 7.8},          {"ducc0", RateShape::tile, 12, 6.2, 6.2},
    {"ducc0", RateShape::tile, 64, 17.3, 17.3},        {"ducc0", RateShape::tile, 100, 17.8, 17.8},
    {"ducc0", RateShape::tile, 1024, 21.2, 21.2},      {"ducc0", RateShape::tile, 1260, 20.4, 20.4},
    {"ducc0", RateShape::few_lines, 16, 2.2, 2.2},     {"ducc0", RateShape::few_lines, 64, 7.2, 7.2},
    {"ducc0", RateShape::few_lines, 256, 10.3, 10.3},  {"ducc0", RateShape::few_lines, 1024, 18.5, 18.5},
    {"ducc0", RateShape::few_lines, 12, 1.3, 1.3},     {"ducc0", RateShape::few_lines, 60, 6.7, 6.7},
    {"ducc0", RateShape::few_lines, 336, 15.1, 15.1},  {"ducc0", RateShape::few_lines, 1260, 15.9, 15.9},
    {"ducc0", RateShape::few_lanes, 16, 2.0, 2.0},     {"ducc0", RateShape::few_lanes, 64, 6.5, 6.5},
    {"ducc0", RateShape::few_lanes, 256, 8.8, 8.8},    {"ducc0", RateShape::few_lanes, 1024, 13.3, 13.3},
    {"ducc0", RateShape::few_lanes, 12, 1.4, 1.4},     {"ducc0", RateShape::few_lanes, 60, 5.9, 5.9},
    {"ducc0", RateShape::few_lanes, 336, 11.7, 11.7},  {"ducc0", RateShape::few_lanes, 1260, 12.9, 12.9},
};

template <size_t N>
RateTable table_of(const Prior (&priors)[N], double ducc_gain = 1) {
    RateTable table;
    for (const Prior& p : priors) {
        const double gain = std::string_view(p.engine) == "ducc0" ? ducc_gain : 1;
        const double points = is_few(p.shape) ? kFewLines * p.n : 0;
        for (const auto& [threads, gflops] : {std::pair{1, p.one_thread}, {2, p.two_threads}})
            table.push_back({p.engine, Precision::dbl, p.shape, threads, p.n, gain * gflops, RateKernel::c2c, points});
    }
    return table;
}

#if defined(__x86_64__) || defined(__i386__)
// As cpuid has it; __builtin_cpu_is knows families by names that older compilers lack.
unsigned processor_family() {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return 0;
    const unsigned base = eax >> 8 & 0xf, extended = eax >> 20 & 0xff;
    return base == 0xf ? base + extended : base;
}
#endif

RateTable priors_here() {
#if defined(__x86_64__) || defined(__i386__)
    const double gain = vector_bytes() > 16 ? kDuccGain : 1;
    constexpr unsigned kZen3And4 = 0x19;  // of which Zen 4 has AVX-512
    if (__builtin_cpu_is("amd") && vector_bytes() == 64 && processor_family() == kZen3And4) return table_of(kEpycZen4);
    if (__builtin_cpu_is("amd")) return vector_bytes() == 64 ? table_of(kEpyc, gain) : table_of(kEpycAvx2);
    return table_of(kXeon, gain);
#endif
    return table_of(kXeon);
}

}  // namespace

const RateTable& prior_rates() {
    static const RateTable priors = priors_here();
    return priors;
}

}  // namespace spanfft
