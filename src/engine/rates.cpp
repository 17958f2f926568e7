// Expected engine rates; see rates.hpp. What a table has no row of is scaled from what it has: the factors are named
// below.
#include "engine/rates.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/scratch.hpp"
#include "engine/spec.hpp"

namespace spanfft {

namespace {

constexpr double kUnknownGflops = 2.0;           // an engine without any row
constexpr double kSingleFactor = 2.0;            // float beside double: half the bytes, twice the lanes
constexpr double kExtendedFactor = 0.1;          // long double: no SIMD
constexpr double kRealFactor = 0.8;              // r2c, c2r: their flops are counted as half
constexpr double kOddRealFactor = 0.4;           // of odd lengths, which only ducc0 does as fast as others
constexpr double kR2rFactor = 0.5;               // dct, dst: extra sweeps around a half-length transform
constexpr double kThreadGain = 1.8;              // by doubling threads, where only one thread was measured
constexpr double kThreadsWorthFlops = 2e6;       // below this, threads gain nothing
constexpr index_t kFarBytes = 1024;              // points further apart than this make a strided transform...
constexpr index_t kStridedReachBytes = 1 << 18;  // ...once they reach over more than this

RateShape shape_of(const LocalSpec& spec) {
    if (spec.transform.size() > 1) return spec.transform.size() == 2 ? RateShape::plane : RateShape::several;
    if (spec.transform.empty()) return RateShape::line;
    const LoopDim& axis = spec.transform[0];
    auto far = [&](index_t stride, size_t bytes) {
        const index_t step = std::abs(stride) * static_cast<index_t>(bytes);
        return step > kFarBytes && step * axis.n > kStridedReachBytes;
    };
    return far(axis.in_stride, input_type(spec).bytes()) || far(axis.out_stride, output_type(spec).bytes())
               ? RateShape::strided
               : RateShape::line;
}

RateKernel rate_kernel(Kernel kernel) {
    return is_c2c(kernel) ? RateKernel::c2c : is_r2r(kernel) ? RateKernel::r2r : RateKernel::half;
}

using RowValue = std::function<double(const RateRow&)>;

// What a rate is asked for.
struct Wanted {
    std::string_view engine;
    Precision precision = Precision::dbl;
    RateKernel kernel = RateKernel::c2c;
    RateShape shape = RateShape::line;
    int threads = 1;
    double n = 1, batch_points = 0;   // as in RateRow
    bool power_of_two = true;         // of n: engines are faster there
    bool composed = false;            // whether n's own factors count, or those of lengths like it on the average
    double odd_share = 0;             // of the axes that are reals of odd length: one of them all, or none
    const RowValue* value = nullptr;  // of rows, instead of their rates
    RateKey key() const { return {std::string(engine), precision, shape, threads, kernel}; }
};

bool power_of_two(double n) {
    int exponent = 0;
    return std::frexp(n, &exponent) == 0.5;
}

// Between two places of a scale, in the logarithm of both.
double between(double x, double below, double above, double at_below, double at_above) {
    if (below == above) return at_below;
    const double t = std::log(x / below) / std::log(above / below);
    return at_below * std::pow(at_above / at_below, t);
}

// The rows around n.
struct Neighbours {
    const RateRow* below = nullptr;
    const RateRow* above = nullptr;
    void take(const RateRow& row, double n) {
        if (row.n <= n && (!below || row.n > below->n)) below = &row;
        if (row.n >= n && (!above || row.n < above->n)) above = &row;
    }
    bool found() const { return below || above; }
    template <class Rate>
    double at(double n, Rate rate) const {
        if (!below || !above) return rate(*(below ? below : above));
        return between(n, below->n, above->n, rate(*below), rate(*above));
    }
};

constexpr double kPrimes[] = {2, 3, 5, 7};

// The prime that n is a power of, as its place in kPrimes.
std::optional<size_t> prime_of_power(double n) {
    auto left = static_cast<index_t>(n);
    if (left <= 1) return std::nullopt;
    for (size_t i = 0; i < std::size(kPrimes); ++i) {
        const auto prime = static_cast<index_t>(kPrimes[i]);
        if (left % prime != 0) continue;
        while (left % prime == 0) left /= prime;
        return left == 1 ? std::optional(i) : std::nullopt;
    }
    return std::nullopt;
}
bool odd_power(double n) { return prime_of_power(n).value_or(0) > 0; }
bool is_odd(double n) { return std::fmod(n, 2) == 1; }

// What a length's own rate is beside that of others: as measured in batches of such lines on one thread, or else by
// what powers of each prime were measured at there, of complex ones.
class FactorRates {
  public:
    FactorRates(const RateTable& table, const Wanted& wanted) {
        const auto lines = [&](RateKernel kernel) -> const std::vector<RateRow>& {
            return table.alike({std::string(wanted.engine), wanted.precision, RateShape::line, 1, kernel});
        };
        for (const RateRow& row : lines(RateKernel::c2c))
            if (row.batch_points > 0 && odd_power(row.n)) batch_points_ = row.batch_points;
        for (const RateRow& row : lines(RateKernel::c2c)) {
            if (row.batch_points != batch_points_) continue;
            if (const auto prime = prime_of_power(row.n)) rows_[*prime].push_back(&row);
        }
        for (const RateRow& row : lines(wanted.kernel))
            if (row.batch_points == batch_points_) measured_[row.n] = row.gflops;
    }
    bool known() const {
        return batch_points_ > 0 && std::none_of(std::begin(rows_), std::end(rows_), [](auto& r) { return r.empty(); });
    }
    bool measured(double n) const { return measured_.count(n) > 0; }
    double of(double n, bool measured) const { return measured ? measured_.at(n) : composed(n); }

  private:
    // Of a line of n: each factor takes its share of the operations, at the rate of a power of it that is as long.
    // Factors above 7 are taken as sevens.
    double composed(double n) const {
        double seconds = 0, left = n;
        for (size_t i = 0; i < std::size(kPrimes); ++i) {
            double part = 1;
            for (; std::fmod(left, kPrimes[i]) == 0; left /= kPrimes[i]) part *= kPrimes[i];
            if (i + 1 == std::size(kPrimes)) part *= left;
            if (part > 1) seconds += std::log2(part) / power(i, n);
        }
        return std::log2(n) / seconds;
    }
    double power(size_t prime, double n) const {
        Neighbours near;
        for (const RateRow* row : rows_[prime]) near.take(*row, n);
        return near.at(n, [](const RateRow& row) { return row.gflops; });
    }
    double batch_points_ = 0;
    std::map<double, double> measured_;  // lengths and their rates
    std::vector<const RateRow*> rows_[std::size(kPrimes)];
};

// Looked up when a rate is asked for whose own length was not measured; most were.
class FactorsWhenAsked {
  public:
    FactorsWhenAsked(const RateTable& table, const Wanted& wanted) : table_(table), wanted_(wanted) {}
    const FactorRates* get() {  // nullptr: they say nothing
        if (!wanted_.composed || wanted_.power_of_two || table_.empty()) return nullptr;
        if (!rates_) rates_.emplace(table_, wanted_);
        return rates_->known() ? &*rates_ : nullptr;
    }

  private:
    const RateTable& table_;
    const Wanted& wanted_;
    std::optional<FactorRates> rates_;
};

// Rate at log2 n between rows; nothing without one. Where powers of two and other lengths were measured, each is asked
// of its own sort; and of another length it is corrected by what its factors say beside those of the rows around it.
// Powers of odd primes serve that alone. Where lines do not fill registers, or are real, odd lengths are a sort too:
// 63 and 105 real doubles run at 7 and 5 GF/s by FFTW, 64 and 100 at 10 and 15.
std::optional<double> along_n(const std::vector<const RateRow*>& rows, const Wanted& wanted,
                              FactorsWhenAsked& factors_when_asked, bool by_parity) {
    const double n = wanted.n;
    for (const RateRow* row : rows)
        if (row->n == n && wanted.composed) return row->gflops;
    const auto is_like = [&](const RateRow* row) {
        return power_of_two(row->n) == wanted.power_of_two && !odd_power(row->n) &&
               (!by_parity || is_odd(row->n) == is_odd(n));
    };
    const bool told = std::any_of(rows.begin(), rows.end(), is_like);
    Neighbours near;
    for (const RateRow* row : rows) {
        if (!told || is_like(row)) near.take(*row, n);
    }
    if (!near.found()) return std::nullopt;
    const double rate =
        near.at(n, [&](const RateRow& row) { return wanted.value ? (*wanted.value)(row) : row.gflops; });
    const FactorRates* const factors = factors_when_asked.get();
    if (!factors) return rate;
    const auto is_measured = [&](const RateRow* row) { return !row || factors->measured(row->n); };
    const bool measured = factors->measured(n) && is_measured(near.below) && is_measured(near.above);
    return rate * factors->of(n, measured) /
           near.at(n, [&](const RateRow& row) { return factors->of(row.n, measured); });
}

// Of batches: along n at the two sizes of batches that lie around the one that is asked for. Lines longer than any in a
// batch, and all where no batch was measured, are as fast as alone.
std::optional<double> interpolate(const RateTable& table, const Wanted& wanted) {
    std::vector<const RateRow*> alone, batched;
    double longest = 0;
    for (const RateRow& row : table.alike(wanted.key())) {
        const bool in_batch = row.batch_points > 0 && !is_few(row.shape);
        (in_batch ? batched : alone).push_back(&row);
        if (in_batch) longest = std::max(longest, row.n);
    }
    FactorsWhenAsked factors(table, wanted);
    const bool in_batch = wanted.batch_points > wanted.n && wanted.n <= longest;
    const bool lines = wanted.shape == RateShape::line, real = lines && wanted.kernel == RateKernel::half;
    if ((!in_batch && !alone.empty()) || batched.empty()) return along_n(alone, wanted, factors, lines);
    double below = 0, above = std::numeric_limits<double>::infinity();
    for (const RateRow* row : batched) {
        if (row->batch_points <= wanted.batch_points) below = std::max(below, row->batch_points);
        if (row->batch_points >= wanted.batch_points) above = std::min(above, row->batch_points);
    }
    const auto at = [&](double points) {
        std::vector<const RateRow*> rows;
        for (const RateRow* row : batched)
            if (row->batch_points == points) rows.push_back(row);
        return along_n(rows, wanted, factors, real);
    };
    if (below == 0) return at(above);
    if (std::isinf(above)) return at(below);
    return between(wanted.batch_points, below, above, *at(below), *at(above));
}

// Rate for any thread count: rows of one and two threads give the gain by doubling.
std::optional<double> with_threads(const RateTable& table, Wanted wanted) {
    if (auto exact = interpolate(table, wanted)) return exact;
    const int threads = wanted.threads;
    wanted.threads = 1;
    const auto one = interpolate(table, wanted);
    if (!one) return std::nullopt;
    wanted.threads = 2;
    const auto two = interpolate(table, wanted);
    const double gain = two ? *two / *one : kThreadGain;
    return *one * std::pow(gain, std::log2(static_cast<double>(threads)));
}

double precision_factor(Precision precision) {
    return precision == Precision::single ? kSingleFactor : precision == Precision::dbl ? 1.0 : kExtendedFactor;
}

double kernel_factor(const Wanted& wanted) {
    if (wanted.kernel == RateKernel::c2c) return 1;
    if (wanted.kernel == RateKernel::r2r) return kR2rFactor;
    const double odd = wanted.engine == "ducc0" ? 0 : wanted.odd_share;
    return 1 / (odd / kOddRealFactor + (1 - odd) / kRealFactor);
}

double base_rate(const RateTable& rates, const Wanted& wanted) {
    const double of_precision = precision_factor(wanted.precision), of_kernel = kernel_factor(wanted);
    for (const RateTable* table : {&rates, &prior_rates()}) {
        Wanted nearest = wanted;
        if (auto rate = with_threads(*table, nearest)) return *rate;
        nearest.precision = Precision::dbl;
        if (auto rate = with_threads(*table, nearest)) return *rate * of_precision;
        nearest.precision = wanted.precision;
        nearest.kernel = RateKernel::c2c;
        if (auto rate = with_threads(*table, nearest)) return *rate * of_kernel;
        nearest.precision = Precision::dbl;
        if (auto rate = with_threads(*table, nearest)) return *rate * of_precision * of_kernel;
    }
    return kUnknownGflops * of_precision * of_kernel;
}

// How fast an engine is at one shape beside another one of the same length; 1 where that was not measured. Both are of
// one table: what is built in says nothing of an engine of another machine. Of float like of double where only that was
// measured.
double gain_of(RateShape shape, RateShape beside, const RateTable& rates, const Wanted& wanted) {
    Wanted small = wanted;
    small.threads = 1;
    small.batch_points = small.n + 1;  // the smallest batch that was measured
    for (const RateTable* table : {&rates, &prior_rates()}) {
        for (const Precision precision : {wanted.precision, Precision::dbl}) {
            small.precision = precision;
            small.shape = beside;
            const auto known = interpolate(*table, small);
            if (!known) continue;
            small.shape = shape;
            const auto rate = interpolate(*table, small);
            return rate ? *rate / *known : 1;
        }
    }
    return 1;
}

// How many lines an engine transforms at once: twice as many as were measured as few. 1 where none were.
index_t lines_at_once(const RateTable& rates, const Wanted& wanted) {
    for (const RateTable* table : {&rates, &prior_rates()}) {
        for (const Precision precision : {wanted.precision, Precision::dbl}) {
            const auto& rows = table->alike({std::string(wanted.engine), precision, RateShape::few_lines, 1});
            if (rows.empty()) continue;
            const bool of_floats = wanted.precision == Precision::single && precision == Precision::dbl;
            return std::max<index_t>(1, static_cast<index_t>((of_floats ? 4 : 2) * rows[0].batch_points / rows[0].n));
        }
        if (!table->empty()) break;
    }
    return 1;
}

// As lines lie in tiles.
bool side_by_side(const LocalSpec& spec) {
    return spec.in_place && spec.transform.size() == 1 && spec.transform[0].in_stride != 1 &&
           std::any_of(spec.batch.begin(), spec.batch.end(),
                       [](const LoopDim& loop) { return loop.n > 1 && loop.in_stride == 1 && loop.out_stride == 1; });
}

// What a batch takes beside one that fills all registers: what is left over goes line by line, or, side by side in a
// tile with room for it, as if it filled one more.
double register_gain(const RateTable& rates, Wanted wanted, const LocalSpec& spec, index_t lines, bool in_tile) {
    const index_t at_once = lines_at_once(rates, wanted), filled = filled_lines(lines, at_once, spec.spare_lines);
    const index_t left = filled % at_once, whole = filled - left;
    if (left == 0) return filled == 0 ? 1 : static_cast<double>(lines) / static_cast<double>(filled);
    wanted.kernel = RateKernel::c2c;
    const double few = in_tile ? gain_of(RateShape::few_lanes, RateShape::tile, rates, wanted)
                               : gain_of(RateShape::few_lines, RateShape::line, rates, wanted);
    return static_cast<double>(lines) / (static_cast<double>(whole) + static_cast<double>(left) / std::min(1.0, few));
}

// Of transforms along several axes at once, by the rates of lines of the axes' lengths: what there is to say of shapes
// that were not measured. Of real data only the last axis is real.
double rate_by_axes(const RateTable& rates, const Wanted& whole, const std::vector<double>& lengths, bool box) {
    double operations = 0, seconds = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
        Wanted lines = whole;
        lines.shape = RateShape::line;
        lines.n = std::max(2.0, lengths[i]);
        if (i + 1 < lengths.size()) lines.kernel = RateKernel::c2c;
        lines.odd_share = is_odd(lines.n) ? 1 : 0;
        if (!box) lines.power_of_two = power_of_two(lines.n);
        lines.composed = !box;
        operations += std::log2(lines.n);
        const double gain = i + 1 < lengths.size() ? gain_of(RateShape::tile, RateShape::line, rates, lines) : 1;
        seconds += std::log2(lines.n) / (gain * base_rate(rates, lines));
    }
    return operations / seconds;
}

std::vector<double> lengths_of(const RateRow& row) {
    if (!row.box.empty()) return {row.box.begin(), row.box.end()};
    const size_t axes = row.shape == RateShape::plane ? 2 : 3;
    return std::vector<double>(axes, std::pow(row.n, 1.0 / static_cast<double>(axes)));
}

// Of several axes at once: lines of their lengths say how fast a shape is beside another one, and boxes that were
// measured what a box takes beside its lines.
double box_rate(const RateTable& rates, Wanted wanted, const LocalSpec& spec) {
    std::vector<double> lengths;
    for (const LoopDim& axis : spec.transform) lengths.push_back(static_cast<double>(axis.n));
    const RowValue beside_lines = [&](const RateRow& row) {
        const Wanted box{row.engine,  row.precision, row.kernel, row.shape,
                         row.threads, row.n,         row.n,      power_of_two(row.n)};
        return row.gflops / rate_by_axes(rates, box, lengths_of(row), row.box.empty());
    };
    const double by_lines = rate_by_axes(rates, wanted, lengths, false);
    wanted.value = &beside_lines;
    for (const RateKernel kernel : {wanted.kernel, RateKernel::c2c}) {
        for (const Precision precision : {wanted.precision, Precision::dbl}) {
            wanted.kernel = kernel;
            wanted.precision = precision;
            if (const auto ratio = with_threads(rates, wanted)) return *ratio * by_lines;
        }
    }
    return by_lines;
}

// The shape whose rows serve: what was measured of two axes, if anything was.
RateShape shape_in(const RateTable& rates, const std::string& engine, const LocalSpec& spec) {
    const RateShape shape = shape_of(spec);
    const auto is_row = [&](const RateRow& row) { return row.shape == shape && row.engine == engine; };
    return shape == RateShape::plane && std::none_of(rates.begin(), rates.end(), is_row) ? RateShape::several : shape;
}

// Whether a table has measured what threads gain where there is little to do: then no rule has to say it.
bool knows_small_work(const RateTable& rates, const std::string& engine, int threads) {
    return std::any_of(rates.begin(), rates.end(), [&](const RateRow& row) {
        return row.batch_points > 0 && row.threads == threads && row.engine == engine;
    });
}

}  // namespace

double expected_gflops(const RateTable& rates, const std::string& engine, const LocalSpec& asked,
                       index_t lines_a_call) {
    const LocalSpec spec = canonical(asked);
    double n = 1;
    bool convolved = false;  // an axis, as its length has a large prime factor
    for (const LoopDim& axis : spec.transform) {
        n *= static_cast<double>(axis.n);
        convolved |= largest_prime_factor(logical_length(spec.kernel, axis.n)) > 13;
    }
    const bool odd = rate_kernel(spec.kernel) == RateKernel::half && spec.transform.back().n % 2 == 1;
    n = std::max(n, 2.0);
    // A convolution is two transforms of twice as many points at least, and of a single line engines do it with one
    // thread: ducc0 takes 0.62 s for 4194301 points with two, and this says 0.65.
    const bool alone = spec.transform.size() == 1 && spec_elems(spec) == spec.transform[0].n;
    const bool small = spec_flops(spec) < kThreadsWorthFlops && !knows_small_work(rates, engine, spec.threads);
    const int threads = small || (convolved && alone) ? 1 : spec.threads;
    const double length = convolved ? 2 * n : n;
    const Wanted wanted{engine,
                        spec.precision,
                        rate_kernel(spec.kernel),
                        shape_in(rates, engine, spec),
                        threads,
                        length,
                        std::max(1.0, static_cast<double>(batch_count(spec))) * length,
                        power_of_two(length),
                        spec.transform.size() == 1 && !convolved,
                        odd && !convolved ? 1 / static_cast<double>(spec.transform.size()) : 0};
    const bool several = spec.transform.size() > 1 && knows_small_work(rates, engine, threads);
    double rate = several ? box_rate(rates, wanted, spec) : base_rate(rates, wanted);
    if (wanted.shape == RateShape::line && spec.transform.size() == 1) {
        const bool in_tile = side_by_side(spec);
        if (in_tile) rate *= gain_of(RateShape::tile, RateShape::line, rates, wanted);
        const index_t lines = lines_a_call > 0 ? lines_a_call : ceil_div(batch_count(spec), spec.threads);
        if (batch_count(spec) > 1) rate *= register_gain(rates, wanted, spec, lines, in_tile);
    }
    return convolved ? rate * std::log2(n) / (4 * std::log2(2 * n)) : rate;
}

double expected_seconds(const RateTable& rates, const std::string& engine, const LocalSpec& spec,
                        index_t lines_a_call) {
    // A transform of no flops (length 1, or a copy) still moves its data: one flop an element stands for that.
    const double flops = std::max(spec_flops(spec), static_cast<double>(spec_elems(spec)));
    return flops / (expected_gflops(rates, engine, spec, lines_a_call) * 1e9);
}

std::optional<double> two_sweeps_seconds(const RateTable& rates, const std::string& engine, const LocalSpec& spec) {
    const auto n = static_cast<double>(spec.transform[0].n);
    const auto rate = with_threads(rates, {engine, spec.precision, rate_kernel(spec.kernel), RateShape::two_sweeps,
                                           spec.threads, n, n, power_of_two(n)});
    if (!rate) return std::nullopt;
    return spec_flops(spec) / (*rate * 1e9);
}

int useful_threads(const RateTable& rates, const std::string& engine, const LocalSpec& spec) {
    // What they should be expected to gain. Where they save little they wait for one another: 504 x 90 points take
    // ducc0 0.17 ms with one thread and 0.23 with two, between sizes of which 0.15 and 0.13 follow. Of less than that
    // the gain is another one from shape to shape: 12 x 15 x 20 points take MKL 15 us with one thread and 10 with two,
    // 28 x 10 x 14 take it 17 and 29. Of next to nothing they gain microseconds at best, and lose more where two
    // processors of a virtual machine hear of one another late: of 14 x 28 x 16 real doubles 7 us were
    // predicted with two threads of MKL, and they took 15 to 18, and 48 a quarter of an hour later; one takes 12.
    constexpr double kWorthThreads = 1.2, kWorthThreadsOfLittle = 1.6, kLittleSeconds = 2e-4, kNothingSeconds = 2e-5;
    if (spec.threads == 1 || !knows_small_work(rates, engine, spec.threads)) return spec.threads;
    LocalSpec alone = spec;
    alone.threads = 1;
    const double seconds = expected_seconds(rates, engine, alone);
    if (seconds < kNothingSeconds) return 1;
    const double worth = seconds < kLittleSeconds ? kWorthThreadsOfLittle : kWorthThreads;
    return seconds < worth * expected_seconds(rates, engine, spec) ? 1 : spec.threads;
}

double peak_gflops(const RateTable& rates, Precision precision, int threads) {
    const RateRow* best = nullptr;
    for (const Precision measured : {precision, Precision::dbl}) {
        for (const RateRow& row : rates.empty() ? prior_rates() : rates) {
            if (row.precision != measured || row.kernel != RateKernel::c2c || row.threads > threads) continue;
            if (!best || row.gflops > best->gflops) best = &row;
        }
        if (best) break;
    }
    if (!best) return kUnknownGflops * precision_factor(precision);
    const auto with = [&](int count) {
        return base_rate(rates, {best->engine, precision, RateKernel::c2c, best->shape, count, best->n,
                                 best->batch_points, power_of_two(best->n)});
    };
    return std::max(with(best->threads), with(threads));
}

Result<double> measure_seconds(const LocalFft& fft, const LocalSpec& spec, double limit_seconds) {
    using Clock = std::chrono::steady_clock;
    constexpr size_t kRuns = 5;
    SPANFFT_ASSIGN(Scratch scratch, make_scratch(spec));
    std::vector<double> seconds;
    const auto begin = Clock::now();
    auto since = [](Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); };
    // The first run fills caches and starts threads; it only counts when the limit leaves no second.
    while (seconds.size() <= kRuns && (seconds.empty() || since(begin) + seconds.back() < limit_seconds)) {
        const auto start = Clock::now();
        fft.execute(scratch.in, scratch.out);
        seconds.push_back(since(start));
    }
    if (seconds.size() > 1) seconds.erase(seconds.begin());
    std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2), seconds.end());
    return seconds[seconds.size() / 2];
}

}  // namespace spanfft
