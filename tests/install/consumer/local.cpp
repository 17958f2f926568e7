// An impulse at the origin has a spectrum of ones; its inverse has the impulse again. 6 x 5, this process alone.
#include <spanfft/spanfft.h>

#include <complex>
#include <cstdio>
#include <cstdlib>
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

void check_equal(const Array& a, const Array& b, const char* what) {
    for (size_t i = 0; i < a.size(); ++i) check(std::abs(a[i] - b[i]) < 1e-14, what);
}

}  // namespace

int main() {
    Array impulse(30);
    impulse[0] = 1;
    const Array spectrum = transform(impulse, SPANFFT_FORWARD);
    check_equal(spectrum, Array(30, 1), "spectrum");
    check_equal(transform(spectrum, SPANFFT_BACKWARD), impulse, "inverse");
    std::printf("spanfft %s works\n", spanfft_version());
}
