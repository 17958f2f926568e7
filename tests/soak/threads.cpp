// soak_threads FIRST SECONDS COUNT: random plans on 1 to 9 ranks that are threads, each held against the definition in
// __float128. Says what tests/soak/worker.py says: a line when a case begins, one when it ends.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "support/oracle.hpp"
#include "support/random.hpp"

namespace spanfft::test {
namespace {

constexpr size_t kFew = 256;  // numbers; the error of one draw of fewer strays from its mean, of which the rule speaks

Problem drawn(Random& random) {
    ProblemLimits limits;
    limits.max_ndim = 5;
    limits.max_elems = random.chance(0.1) ? 2000 : 400;
    limits.max_ranks = 9;
    return random_solvable(random, limits);
}

// Empty, or what was wrong.
std::string wrong(const Problem& problem, Random& random, int ranks_per_node) {
    double squares = 0;
    size_t draws = 0, outputs = 0;
    while (draws == 0 || outputs < kFew) {
        const Wides input = random_input(random, problem);
        const PlanRun run = run_on_threads(problem, input, draws == 0 ? 2 : 1, ranks_per_node);
        if (!run.status.ok()) return run.status.message();
        if (!run.statuses_agree) return "ranks have different errors";
        if (!run.input_preserved) return "the input was changed";
        if (!run.guards_intact) return "something was written beside an array";
        if (!run.wrong_counts.empty()) return run.wrong_counts.front();
        const double error = relative_error(run.output, expected(problem, input));
        if (!(error < 1)) return cat("relative error ", error);
        squares += error * error;
        ++draws;
        outputs += std::max<size_t>(run.output.size(), 1);
    }
    const double error = std::sqrt(squares / static_cast<double>(draws));
    return error <= tolerance(problem) ? "" : cat("relative error ", error, ", allowed ", tolerance(problem));
}

void run_case(uint64_t seed) {
    std::printf("{\"begin\": %llu}\n", static_cast<unsigned long long>(seed));
    std::fflush(stdout);
    Random random(seed * 0x9E3779B97F4A7C15u + 1);
    const Problem problem = drawn(random);
    const int per_node = random.chance(0.3) ? static_cast<int>(random.between(1, 4)) : 0;
    std::string what = wrong(problem, random, per_node);
    for (char& c : what)
        if (c == '"' || c == '\\' || c == '\n') c = '\'';
    const std::string failure = what.empty() ? "null" : cat("[\"wrong\", \"", what, "\"]");
    std::printf("{\"end\": %llu, \"counts\": {\"problems\": 1}, \"text\": \"%s, %d ranks a node\", \"failure\": %s}\n",
                static_cast<unsigned long long>(seed), problem.print().c_str(), per_node, failure.c_str());
    std::fflush(stdout);
}

}  // namespace
}  // namespace spanfft::test

int main(int count, char** words) {
    if (count != 4) {
        std::fprintf(stderr, "usage: soak_threads FIRST SECONDS COUNT\n");
        return 2;
    }
    unsetenv("SPANFFT_TEST_SEED");  // which would make all cases one
    const uint64_t first = std::strtoull(words[1], nullptr, 10), cases = std::strtoull(words[3], nullptr, 10);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::strtod(words[2], nullptr));
    for (uint64_t seed = first; seed < first + cases && std::chrono::steady_clock::now() < end; ++seed)
        spanfft::test::run_case(seed);
    return 0;
}
