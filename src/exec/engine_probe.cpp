// Timing engines at a grid of lengths and batches; see engine_probe.hpp.
#include "exec/engine_probe.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "core/limits.hpp"
#include "core/median.hpp"
#include "core/vector_width.hpp"
#include "engine/ducc_engine.hpp"
#include "engine/engine.hpp"
#include "engine/long_line.hpp"
#include "engine/scratch.hpp"
#include "engine/spec.hpp"
#include "engine/tile.hpp"

namespace spanfft {

namespace {

constexpr double kSampleSeconds = 1e-3;  // a sample has as many runs as take this long
constexpr size_t kSamplesOfWork = 2;     // in a round
constexpr double kWorkSeconds = 2e-3;    // about what one row may take in a round
constexpr double kLongSeconds = 5e-3;    // a run that takes so long is a long sample, and timed in every third round
constexpr index_t kApart = 1024;         // elements between the points of a strided transform
constexpr index_t kMostPoints = index_t{1} << 22;

constexpr index_t kAlone[] = {8,  16, 64, 256, 1024, 4096, 16384, 65536, 1 << 18, 1 << 21,
                              10, 24, 60, 210, 420,  1260, 5040,  30240, 302400,  2016000};

// Odd lengths, which have kernels of their own or none.
constexpr index_t kOdd[] = {15, 105, 945, 3675, 11025, 99225, 893025};

// Lines that are so long that two sweeps of memory may be faster than a library's own way, points of complex ones.
constexpr index_t kLong[] = {1 << 18, 1 << 20, 1 << 23, 302400, 2016000};

// Short lines, which boxes are made of: libraries have kernels for some lengths and put others together, FFTW some well
// and some badly. 144 and 400 points run at 19 and 42 GF/s, which no rule of their factors tells.
constexpr index_t kLongestShort = 1024;
std::vector<index_t> short_lengths() {
    std::vector<index_t> lengths;
    for (index_t n = 2; n <= kLongestShort; ++n)
        if (largest_prime_factor(n) <= 7) lengths.push_back(n);
    return lengths;
}

// Few lines, which ducc0 transforms one by one.
constexpr index_t kFew[] = {8, 16, 32, 64, 128, 256, 1024, 4096, 12, 24, 60, 120, 336, 1260};

using Box = std::array<index_t, 3>;  // of two axes the last extent is 0

struct Work {
    RateShape shape = RateShape::line;
    index_t n = 1, batch_points = 0;  // as in RateRow
    RateKernel kernel = RateKernel::c2c;
    Precision precision = Precision::dbl;
    int most_threads = kMostThreads;
    Box box = {};         // of several axes
    bool seldom = false;  // one of so many that it is timed in every third round
};

// Boxes of two or three axes whose edges differ. Of equal edges MKL transforms up to 16^3 points two to four times as
// fast as anything else of their size, which would be no guide to the rest.
constexpr Box kBoxes[] = {
    {4, 8, 16},   {8, 16, 32},  {16, 32, 64},   {32, 64, 128}, {64, 128, 256}, {5, 6, 7},    {12, 15, 20},
    {24, 28, 35}, {48, 60, 75}, {96, 120, 150}, {16, 32},      {32, 128},      {128, 256},   {256, 1024},
    {1024, 2048}, {14, 15},     {50, 72},       {140, 168},    {420, 500},     {1260, 1400},
};

// Those that are not there already: in batches of so many points, and as tiles.
void add_short_lines(index_t points, std::vector<Work>& works) {
    const auto is_there = [&](const Work& work) {
        return std::any_of(works.begin(), works.end(), [&](const Work& other) {
            return other.shape == work.shape && other.n == work.n && other.kernel == work.kernel &&
                   other.precision == work.precision && other.batch_points == work.batch_points;
        });
    };
    const auto add = [&](const Work& work) {
        if (!is_there(work)) works.push_back(work);
    };
    for (const Precision precision : {Precision::dbl, Precision::single}) {
        for (const index_t n : short_lengths()) {
            for (const RateKernel kernel : {RateKernel::c2c, RateKernel::half})
                add({RateShape::line, n, points, kernel, precision, 1, {}, true});
            add({RateShape::tile, n, 0, RateKernel::c2c, precision, 1, {}, true});
        }
    }
}

// Boxes and lines alone, and batches at three sizes: of the second-level cache, the third, and beyond it. Powers of two
// are common; the others are products of 2, 3, 5 and 7. Powers of the odd ones say what lengths are made of.
std::vector<Work> works_for(const Caches& caches, int register_bytes) {
    const auto points_in = [](index_t bytes) { return std::min(kMostPoints, std::max<index_t>(bytes / 32, 1 << 13)); };
    const index_t sizes[] = {points_in(caches.l2_bytes / 2), points_in(caches.l3_bytes / 4),
                             points_in(4 * caches.l3_bytes)};
    std::vector<Work> works;
    for (const Precision precision : {Precision::dbl, Precision::single}) {
        for (const RateKernel kernel : {RateKernel::c2c, RateKernel::half}) {
            for (const index_t n : kAlone) works.push_back({RateShape::line, n, 0, kernel, precision});
            for (const index_t n : kLong)
                works.push_back({RateShape::two_sweeps, kernel == RateKernel::half ? 2 * n : n, 0, kernel, precision});
            for (const Box& box : kBoxes) {
                const auto [a, b, c] = box;
                const RateShape shape = c > 0 ? RateShape::several : RateShape::plane;
                works.push_back({shape, a * b * std::max<index_t>(c, 1), 0, kernel, precision, kMostThreads, box});
            }
            for (const index_t n : kOdd) works.push_back({RateShape::line, n, 0, kernel, precision});
            for (const index_t points : sizes) {
                for (const index_t n : {8, 16, 128, 1024, 8192, 12, 60, 420, 5040})
                    works.push_back({RateShape::line, n, points, kernel, precision});
                for (const index_t n : kOdd)
                    if (kernel == RateKernel::half && n < 1000)
                        works.push_back({RateShape::line, n, points, kernel, precision});
                if (kernel == RateKernel::half) continue;  // in plans real lines lie side by side
                if (points == sizes[0]) {
                    for (const index_t n : {1260, 2048}) works.push_back({RateShape::tile, n, 0, kernel, precision, 1});
                    const index_t few = ducc_lines_at_once(precision, register_bytes) / 2;
                    for (const index_t n : kFew) {
                        if (few == 1) break;
                        works.push_back({RateShape::few_lines, n, few * n, kernel, precision, 1});
                        works.push_back({RateShape::few_lanes, n, few * n, kernel, precision, 1});
                    }
                }
                for (const index_t n : {32, 256, 2048})
                    if (n * kApart <= points) works.push_back({RateShape::strided, n, points, kernel, precision});
            }
        }
    }
    for (const index_t n : {64, 1024, 16384}) works.push_back({RateShape::line, n, sizes[0], RateKernel::r2r});
    add_short_lines(sizes[0], works);
    return works;
}

Extents box_of(const Work& work) {
    Extents box;
    for (const index_t n : work.box)
        if (n > 0) box.push_back(n);
    return box;
}

// Forward, and out of place but for tiles.
LocalSpec spec_of(const Work& work, const Caches& caches, int threads) {
    if (work.shape == RateShape::tile || work.shape == RateShape::few_lanes) {
        TileSpec tile{Kernel::c2c_forward, {work.precision, true}, work.n, work.batch_points / work.n};
        if (work.shape == RateShape::tile)
            tile.lanes = tile_lanes(caches, tile.points, static_cast<index_t>(tile.elem.bytes()), INT32_MAX);
        return tile_lines(tile);
    }
    LocalSpec spec;
    spec.precision = work.precision;
    spec.threads = threads;
    spec.kernel = work.kernel == RateKernel::c2c    ? Kernel::c2c_forward
                  : work.kernel == RateKernel::half ? Kernel::r2c
                                                    : Kernel::dct2;
    const bool half = work.kernel == RateKernel::half;
    if (work.shape == RateShape::several) {
        const auto [a, b, c] = work.box;
        const index_t row = half ? c / 2 + 1 : c;  // of the output
        spec.transform = {{a, b * c, b * row}, {b, c, row}, {c, 1, 1}};
    } else if (work.shape == RateShape::plane) {
        const auto [a, b, none] = work.box;
        spec.transform = {{a, b, half ? b / 2 + 1 : b}, {b, 1, 1}};
    } else if (work.shape == RateShape::strided) {
        const index_t plane = work.n * kApart;
        spec.transform = {{work.n, kApart, kApart}};
        spec.batch = {{std::max<index_t>(1, work.batch_points / plane), plane, plane}, {kApart, 1, 1}};
    } else {
        const index_t lines = std::max<index_t>(1, work.batch_points / work.n);
        spec.transform = {{work.n, 1, 1}};
        if (lines > 1) spec.batch = {{lines, work.n, half ? work.n / 2 + 1 : work.n}};
    }
    return spec;
}

// Seconds of a run as programs have it that transform one array after another: the median of some samples, each the
// mean of many runs, once everything is warm. The least would leave out what several threads wait for one another.
double typical_seconds(const LocalFft& fft, const Scratch& scratch) {
    using Clock = std::chrono::steady_clock;
    const auto sample = [&](index_t runs) {
        const auto start = Clock::now();
        for (index_t i = 0; i < runs; ++i) fft.execute(scratch.in, scratch.out);
        return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(runs);
    };
    const double first = sample(1), warm = sample(1);
    if (warm > kWorkSeconds) return warm;  // long enough to be a sample
    const auto runs =
        static_cast<index_t>(std::max(1.0, std::ceil(kSampleSeconds / std::max(std::min(first, warm), 1e-9))));
    std::vector<double> samples;
    for (double spent = first; samples.empty() || (samples.size() < kSamplesOfWork && spent < kWorkSeconds);) {
        samples.push_back(sample(runs));
        spent += samples.back() * static_cast<double>(runs);
    }
    return median(std::move(samples));
}

// A row of the table to be, and what its rounds took.
struct Timing {
    const Work* work;
    int threads = 1;
    std::string engine;
    std::vector<double> seconds = {};
};

std::vector<Timing> timings_of(const std::vector<Work>& works, const std::string& names, int most_threads) {
    std::vector<Timing> timings;
    for (const Work& work : works) {
        for (int threads = 1; threads <= std::min(most_threads, work.most_threads); ++threads) {
            TextReader list(names);
            for (std::string name; std::getline(list >> std::ws, name, ',');)
                if (!is_few(work.shape) || name == "ducc0") timings.push_back({&work, threads, name});
        }
    }
    return timings;
}

Result<std::unique_ptr<LocalFft>> plan_of(const Engine& engine, const LocalSpec& spec, RateShape shape) {
    if (shape != RateShape::two_sweeps) return engine.plan(spec);
    const auto form = long_line_form(engine, spec, {});
    if (!form) return Status(Code::unsupported, "no line for two sweeps");
    return plan_long_line(engine, spec, *form);
}

// Of the slowest rank; infinite where one can't. `scratch` is nullptr where there was no memory for it.
Result<double> measured(Comm& comm, const std::string& name, const LocalSpec& spec, RateShape shape,
                        const Scratch* scratch) {
    double seconds = INFINITY;
    SPANFFT_TRY(comm.barrier());
    const Engine* engine = find_engine(name);
    if (scratch && engine && engine->supports(spec).ok()) {
        auto fft = plan_of(*engine, spec, shape);
        if (fft.ok()) seconds = typical_seconds(*fft.value(), *scratch);
    }
    std::vector<double> all(static_cast<size_t>(comm.size()));
    SPANFFT_TRY(comm.allgather(&seconds, sizeof seconds, all.data()));
    return *std::max_element(all.begin(), all.end());
}

// All rows once but for those that can wait, as long as time is left. Engines and threads of one work, which follow one
// another, share arrays.
Result<bool> time_round(Comm& comm, const Caches& caches, int number, std::vector<Timing>& timings,
                        const std::function<Result<bool>()>& time_is_left) {
    const Work* work = nullptr;
    Result<Scratch> scratch = Scratch();
    for (Timing& timing : timings) {
        const bool seldom = timing.work->seldom || (!timing.seconds.empty() && timing.seconds.back() > kLongSeconds);
        if (number % 3 > 0 && seldom && !timing.seconds.empty()) continue;
        SPANFFT_ASSIGN(const bool left, time_is_left());
        if (!left) return false;
        LocalSpec spec = spec_of(*timing.work, caches, timing.threads);
        spec.caches = caches;
        if (timing.work != work) {
            scratch = Scratch();  // before there is another
            scratch = make_scratch(spec);
            work = timing.work;
        }
        SPANFFT_ASSIGN(const double seconds, measured(comm, timing.engine, spec, timing.work->shape,
                                                      scratch.ok() ? &scratch.value() : nullptr));
        if (std::isfinite(seconds) && seconds > 0) timing.seconds.push_back(seconds);
    }
    return true;
}

}  // namespace

Result<RateTable> probe_engines(Comm& comm, const Caches& caches, int most_threads,
                                const std::function<Result<bool>()>& time_is_left, int most_rounds) {
    std::string names = engine_names();  // rank 0's: what the others lack is left out
    SPANFFT_TRY(broadcast_text(comm, names));
    int register_bytes = vector_bytes();
    SPANFFT_TRY(comm.broadcast(&register_bytes, sizeof register_bytes, 0));
    const std::vector<Work> works = works_for(caches, register_bytes);
    std::vector<Timing> timings = timings_of(works, names, most_threads);
    bool goes_on = true;
    for (int i = 0; i < most_rounds && goes_on; ++i) {
        SPANFFT_ASSIGN(goes_on, time_round(comm, caches, i, timings, time_is_left));
    }
    RateTable table;
    for (Timing& timing : timings) {
        if (timing.seconds.empty()) continue;
        const Work& work = *timing.work;
        const double flops = spec_flops(spec_of(work, caches, timing.threads));
        table.push_back({timing.engine, work.precision, work.shape, timing.threads, static_cast<double>(work.n),
                         flops / median(std::move(timing.seconds)) / 1e9, work.kernel,
                         static_cast<double>(work.batch_points), box_of(work)});
    }
    return table;
}

}  // namespace spanfft
