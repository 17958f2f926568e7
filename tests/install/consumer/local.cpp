// An impulse at the origin has a spectrum of ones; its inverse has the impulse again. 6 x 5, this process alone.
#include <spanfft/spanfft.h>

#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

namespace {

using Array = std::vector<std::complex<double>>;

void check(bool good, const char* what) {
    if (good) return;
    std::printf("%s: %s\n", what, spanfft_last_error());
    std::exit(1);
}

Array transform(const Array& in, int direction) {
    const int64_t shape[] = {6, 5};
    spanfft_problem problem;
    spanfft_problem_init(&problem, 2, shape);
    problem.direction = direction;
    spanfft_plan* plan = nullptr;
    check(spanfft_plan_create(&problem, nullptr, &plan) == SPANFFT_OK, "plan");
    Array out(in.size());
    check(spanfft_execute(plan, in.data(), out.data()) == SPANFFT_OK, "execute");
    spanfft_plan_free(plan);
    return out;
}

// docs/accuracy.md: a relative L2 error of 0.6 eps sqrt(log2 N) at most.
void check_rule(const Array& found, const Array& exact, const char* what) {
    double difference = 0, norm = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
        difference += std::norm(found[i] - exact[i]);
        norm += std::norm(exact[i]);
    }
    const double rule = 0.6 * std::numeric_limits<double>::epsilon() * std::sqrt(std::log2(exact.size()));
    check(std::sqrt(difference / norm) <= rule, what);
}

}  // namespace

int main() {
    Array impulse(30);
    impulse[0] = 1;
    const Array ones(30, 1);
    check_rule(transform(impulse, SPANFFT_FORWARD), ones, "spectrum");
    check_rule(transform(ones, SPANFFT_BACKWARD), impulse, "inverse");
    std::printf("spanfft %s works\n", spanfft_version());
}
