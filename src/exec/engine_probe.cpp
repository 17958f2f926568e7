// Timing engines at a grid of lengths and batches; see engine_probe.hpp.
#include "exec/engine_probe.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "core/limits.hpp"
#include "engine/engine.hpp"
#include "engine/scratch.hpp"
#include "engine/spec.hpp"

namespace spanfft {

namespace {

constexpr double kSampleSeconds = 2e-3;  // a sample has as many runs as take this long
constexpr size_t kSamplesOfWork = 5;
constexpr double kWorkSeconds = 12e-3;  // about what one row may take
constexpr index_t kApart = 1024;        // elements between the points of a strided transform
constexpr index_t kMostPoints = index_t{1} << 22;

constexpr index_t kAlone[] = {8,  16, 64, 256, 1024, 4096, 16384, 65536, 1 << 18, 1 << 21,
                              10, 24, 60, 210, 420,  1260, 5040,  30240, 302400,  2016000};

struct Work {
    RateShape shape = RateShape::line;
    index_t n = 1, batch_points = 0;  // as in RateRow
    RateKernel kernel = RateKernel::c2c;
    Precision precision = Precision::dbl;
    int most_threads = kMostThreads;
};

// Cubes and lines alone, and batches at three sizes: of the second-level cache, the third, and beyond it. Powers of two
// are common; the others are products of 2, 3, 5 and 7. Powers of the odd ones say what lengths are made of.
std::vector<Work> works_for(const Caches& caches) {
    const auto points_in = [](index_t bytes) { return std::min(kMostPoints, std::max<index_t>(bytes / 32, 1 << 13)); };
    const index_t sizes[] = {points_in(caches.l2_bytes / 2), points_in(caches.l3_bytes / 4),
                             points_in(4 * caches.l3_bytes)};
    std::vector<Work> works;
    for (const Precision precision : {Precision::dbl, Precision::single}) {
        for (const RateKernel kernel : {RateKernel::c2c, RateKernel::half}) {
            for (const index_t n : kAlone) works.push_back({RateShape::line, n, 0, kernel, precision});
            for (const index_t edge : {8, 16, 32, 64, 128, 6, 15, 28, 60, 120})
                works.push_back({RateShape::several, edge * edge * edge, 0, kernel, precision});
            for (const index_t points : sizes) {
                for (const index_t n : {8, 16, 128, 1024, 8192, 12, 60, 420, 5040})
                    works.push_back({RateShape::line, n, points, kernel, precision});
                if (kernel == RateKernel::half) continue;  // in plans real lines lie side by side
                if (points == sizes[0])
                    for (const index_t n : {9, 81, 729, 25, 625, 49, 343})
                        works.push_back({RateShape::line, n, points, kernel, precision, 1});
                for (const index_t n : {32, 256, 2048})
                    if (n * kApart <= points) works.push_back({RateShape::strided, n, points, kernel, precision});
            }
        }
    }
    for (const index_t n : {64, 1024, 16384}) works.push_back({RateShape::line, n, sizes[0], RateKernel::r2r});
    return works;
}

// Out of place, forward.
LocalSpec spec_of(const Work& work, int threads) {
    LocalSpec spec;
    spec.precision = work.precision;
    spec.threads = threads;
    spec.kernel = work.kernel == RateKernel::c2c    ? Kernel::c2c_forward
                  : work.kernel == RateKernel::half ? Kernel::r2c
                                                    : Kernel::dct2;
    const bool half = work.kernel == RateKernel::half;
    if (work.shape == RateShape::several) {
        const auto edge = static_cast<index_t>(std::llround(std::cbrt(static_cast<double>(work.n))));
        const index_t row = half ? edge / 2 + 1 : edge;  // of the output
        spec.transform = {{edge, edge * edge, edge * row}, {edge, edge, row}, {edge, 1, 1}};
    } else if (work.shape == RateShape::strided) {
        const index_t planes = std::max<index_t>(1, work.batch_points / (work.n * kApart)), plane = work.n * kApart;
        spec.transform = {{work.n, kApart, kApart}};
        spec.batch = {{planes, plane, plane}, {kApart, 1, 1}};
    } else {
        const index_t lines = std::max<index_t>(1, work.batch_points / work.n);
        spec.transform = {{work.n, 1, 1}};
        if (lines > 1) spec.batch = {{lines, work.n, half ? work.n / 2 + 1 : work.n}};
    }
    return spec;
}

// Seconds of a run as programs have it that transform one array after another: the median of some samples, each the
// mean of many runs, once everything is warm. The least would leave out what several threads wait for one another.
Result<double> typical_seconds(const LocalFft& fft, const LocalSpec& spec) {
    using Clock = std::chrono::steady_clock;
    SPANFFT_ASSIGN(Scratch scratch, make_scratch(spec));
    const auto sample = [&](index_t runs) {
        const auto start = Clock::now();
        for (index_t i = 0; i < runs; ++i) fft.execute(scratch.in, scratch.out);
        return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(runs);
    };
    const double first = sample(1), warm = std::min(first, sample(1));
    const auto runs = static_cast<index_t>(std::max(1.0, std::ceil(kSampleSeconds / std::max(warm, 1e-9))));
    std::vector<double> samples;
    for (double spent = first; samples.empty() || (samples.size() < kSamplesOfWork && spent < kWorkSeconds);) {
        samples.push_back(sample(runs));
        spent += samples.back() * static_cast<double>(runs);
    }
    std::sort(samples.begin(), samples.end());
    return samples[(samples.size() - 1) / 2];
}

// Of the slowest rank; infinite where one can't.
Result<double> measured(Comm& comm, const std::string& name, const LocalSpec& spec) {
    double seconds = INFINITY;
    SPANFFT_TRY(comm.barrier());
    const Engine* engine = find_engine(name);
    if (engine && engine->supports(spec).ok()) {
        auto fft = engine->plan(spec);
        const auto found = fft.ok() ? typical_seconds(*fft.value(), spec) : Result<double>(fft.status());
        if (found.ok()) seconds = found.value();
    }
    std::vector<double> all(static_cast<size_t>(comm.size()));
    SPANFFT_TRY(comm.allgather(&seconds, sizeof seconds, all.data()));
    return *std::max_element(all.begin(), all.end());
}

}  // namespace

Result<RateTable> probe_engines(Comm& comm, const Caches& caches, int most_threads,
                                const std::function<Result<bool>()>& time_is_left) {
    std::string names = engine_names();  // rank 0's: what the others lack is left out
    SPANFFT_TRY(broadcast_text(comm, names));
    RateTable table;
    for (const Work& work : works_for(caches)) {
        for (int threads = 1; threads <= std::min(most_threads, work.most_threads); ++threads) {
            TextReader list(names);
            for (std::string name; std::getline(list >> std::ws, name, ',');) {
                SPANFFT_ASSIGN(const bool left, time_is_left());
                if (!left) return table;
                const LocalSpec spec = spec_of(work, threads);
                SPANFFT_ASSIGN(const double seconds, measured(comm, name, spec));
                if (!std::isfinite(seconds) || seconds <= 0) continue;
                table.push_back({name, work.precision, work.shape, threads, static_cast<double>(work.n),
                                 spec_flops(spec) / seconds / 1e9, work.kernel,
                                 static_cast<double>(work.batch_points)});
            }
        }
    }
    return table;
}

}  // namespace spanfft
