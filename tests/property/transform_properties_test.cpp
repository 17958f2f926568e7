// Properties that every transform has whatever its size, over random problems on random numbers of ranks: they need no
// second implementation. One seed a test; a failure prints it with the problem (SPANFFT_TEST_SEED repeats or varies
// it).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/oracle.hpp"
#include "support/random.hpp"
#include "support/sanitized.hpp"

namespace spanfft::test {
namespace {

double norm_squared(const Wides& x) {
    Wide sum = 0;
    for (const auto& v : x) sum += v.re * v.re + v.im * v.im;
    return static_cast<double>(sum);
}

// The output, or nothing after a failure has been reported.
Wides transform(const Problem& problem, const Wides& input) {
    PlanRun run = run_on_threads(problem, input);
    EXPECT_TRUE(run.status.ok()) << run.status.message();
    return run.status.ok() ? std::move(run.output) : Wides();
}

// Calls body on `cases` random problems until one fails.
void for_random_problems(uint64_t seed, int cases, const ProblemLimits& limits,
                         const std::function<void(Random&, const Problem&)>& body) {
    Random random(seed);
    for (int i = 0; i < cases / kPointStep && !testing::Test::HasFailure(); ++i) {
        const Problem problem = random_solvable(random, limits);
        SCOPED_TRACE(cat("seed ", random.seed(), ", case ", i, ": '", problem.print(), "'"));
        body(random, problem);
    }
}

bool only(const Problem& p, const std::vector<AxisKind>& kinds) {
    return std::all_of(p.kinds.begin(), p.kinds.end(),
                       [&](AxisKind k) { return std::find(kinds.begin(), kinds.end(), k) != kinds.end(); });
}

TEST(RandomTransform, EqualsItsDefinition) {
    for_random_problems(101, 1200, {}, [](Random& random, const Problem& p) { check_plan(p, random.bits()); });
}

TEST(RandomTransform, OfFiveAndSixAxesEqualsItsDefinition) {
    ProblemLimits limits;
    limits.max_ndim = 6;
    limits.max_elems = 200;
    for_random_problems(102, 200, limits, [](Random& random, const Problem& p) { check_plan(p, random.bits()); });
}

TEST(RandomTransform, OfThousandsOfElementsEqualsItsDefinition) {
    ProblemLimits limits;
    limits.max_elems = 6000;
    for_random_problems(103, 30, limits, [](Random& random, const Problem& p) { check_plan(p, random.bits()); });
}

TEST(RandomTransform, IsLinear) {
    for_random_problems(104, 150, {}, [](Random& random, const Problem& p) {
        const Wides x = random_input(random, p), y = random_input(random, p);
        Wides sum(x.size());
        for (size_t i = 0; i < x.size(); ++i) sum[i] = {(x[i].re + y[i].re) / 2, (x[i].im + y[i].im) / 2};
        const Wides tx = transform(p, x), ty = transform(p, y), t_sum = transform(p, sum);
        Wides sum_t(tx.size());
        for (size_t i = 0; i < tx.size(); ++i) sum_t[i] = {(tx[i].re + ty[i].re) / 2, (tx[i].im + ty[i].im) / 2};
        // Both sides err; the halved sum of two independent inputs is shorter than each by sqrt(2).
        EXPECT_LE(relative_error(t_sum, sum_t), 4 * tolerance(p));
    });
}

TEST(RandomTransform, OfAnImpulseHasTheSameModulusEverywhere) {
    for_random_problems(105, 300, {}, [](Random& random, const Problem& given) {
        Problem p = given;
        if (!only(p, {AxisKind::c2c, AxisKind::r2c}) || (p.halves() && !p.forward())) return;
        Wides x(static_cast<size_t>(product(p.input_shape()) * p.batch));
        const index_t each = product(p.input_shape());
        for (index_t b = 0; b < p.batch; ++b) x[static_cast<size_t>(b * each + random.below(each))].re = 1;
        const Wides t = transform(p, x);
        // Along axes that are not transformed, other lines stay zero.
        const auto scale = static_cast<Wide>(p.scale());
        index_t ones = 0;
        for (const auto& v : t) {
            const auto excess = static_cast<double>((v.re * v.re + v.im * v.im) / (scale * scale) - 1);
            EXPECT_TRUE(excess == -1 || std::abs(excess) < 10 * precision_eps(p.precision)) << excess;
            ones += excess != -1;
        }
        index_t line = p.batch;
        for (int axis : p.axes) line *= p.spectrum_shape()[static_cast<size_t>(axis)];
        EXPECT_EQ(ones, line);
    });
}

TEST(RandomTransform, OfAShiftedArrayIsTurnedByItsPhase) {
    for_random_problems(106, 300, {}, [](Random& random, const Problem& p) {
        if (!only(p, {AxisKind::c2c, AxisKind::r2c}) || !p.forward()) return;
        const Wides x = random_input(random, p);
        const auto axis = static_cast<size_t>(random.pick(p.axes));
        const index_t n = p.shape[axis], shift = random.below(n);
        const index_t after = product(p.shape, static_cast<int>(axis) + 1, p.ndim());
        Wides shifted(x.size());
        for (index_t i = 0; i < static_cast<index_t>(x.size()); ++i) {
            const index_t at = i / after % n, to = (at + shift) % n;
            shifted[static_cast<size_t>(i + (to - at) * after)] = x[static_cast<size_t>(i)];
        }
        Wides turned = transform(p, x);
        const Extents out_shape = p.output_shape();
        const index_t out_after = product(out_shape, static_cast<int>(axis) + 1, p.ndim());
        for (index_t i = 0; i < static_cast<index_t>(turned.size()); ++i) {
            const index_t k = i / out_after % out_shape[axis];
            const long double angle = -2 * 3.141592653589793238462643383279502884L *
                                      static_cast<long double>(k * shift % n) / static_cast<long double>(n);
            const Wide c = std::cos(angle), s = std::sin(angle);
            auto& v = turned[static_cast<size_t>(i)];
            v = {v.re * c - v.im * s, v.re * s + v.im * c};
        }
        EXPECT_LE(relative_error(transform(p, shifted), turned), 3 * tolerance(p));
    });
}

TEST(RandomTransform, KeepsTheSumOfSquaresWhenOrthonormal) {
    for_random_problems(107, 300, {}, [](Random& random, const Problem& given) {
        Problem p = given;
        if (p.halves() && !p.forward()) return;  // a random half spectrum is no real array's
        p.norm = Norm::ortho;
        const Wides x = random_input(random, p);
        Wides t = transform(p, x);
        if (p.halves()) {  // the half that is left out counts too
            const Extents out = p.output_shape();
            const index_t after = product(out, p.halved_axis() + 1, p.ndim());
            const index_t n = p.shape[static_cast<size_t>(p.halved_axis())], half = n / 2 + 1;
            for (index_t i = 0; i < static_cast<index_t>(t.size()); ++i) {
                const index_t k = i / after % half;
                const Wide root = k == 0 || 2 * k == n ? 1 : std::sqrt(2.0L);
                t[static_cast<size_t>(i)] = {t[static_cast<size_t>(i)].re * root, t[static_cast<size_t>(i)].im * root};
            }
        }
        EXPECT_NEAR(norm_squared(t) / norm_squared(x), 1, 4 * tolerance(p) + 1e-15);
    });
}

TEST(RandomTransform, ForwardThenBackwardIsTheInput) {
    for_random_problems(108, 200, {}, [](Random& random, const Problem& given) {
        Problem p = given;
        p.direction = Direction::forward;
        const Wides x = random_input(random, p);
        const Wides spectrum = transform(p, x);
        p.direction = Direction::backward;
        const Wides back = transform(p, spectrum);
        EXPECT_LE(relative_error(back, x), 3 * tolerance(p) + 2 * precision_eps(p.precision));
    });
}

TEST(RandomTransform, DoesNotDependOnHowTheArrayIsDivided) {
    for_random_problems(109, 120, {}, [](Random& random, const Problem& p) {
        Problem alone = p;
        alone.ranks = 1;
        alone.grid.clear();
        alone.real_boxes.clear();
        alone.spectrum_boxes.clear();
        alone.output = SpectrumOrder::natural;
        alone.exchange.clear();
        const Wides x = random_input(random, p);
        EXPECT_LE(relative_error(transform(p, x), transform(alone, x)), 3 * tolerance(p));
    });
}

}  // namespace
}  // namespace spanfft::test
