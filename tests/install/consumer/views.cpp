// A transform of arrays that are given by extents and strides: by std::mdspan where the standard library has it, by
// spanfft::View where not. The output lies column by column, as Fortran's would.
#include <complex>
#include <cstdio>
#include <spanfft/spanfft.hpp>
#include <vector>
#if __has_include(<mdspan>)
#include <mdspan>
#endif

int main() {
    std::vector<std::complex<double>> in(30, 0.0), out(30);
    in[0] = 1;
    const spanfft::Plan plan(spanfft::Problem({6, 5}));
#ifdef __cpp_lib_mdspan
    const char* kind = "std::mdspan";
    using Columns = std::mdspan<std::complex<double>, std::dextents<int, 2>, std::layout_left>;
    plan.execute(std::mdspan(in.data(), 6, 5), Columns(out.data(), 6, 5));
#else
    const char* kind = "spanfft::View";
    plan.execute(spanfft::View(in.data(), {6, 5}), spanfft::View(out.data(), {6, 5}, {1, 6}));
#endif
    for (const auto& z : out)
        if (std::abs(z - 1.0) > 1e-15) return 1;
    std::printf("spanfft takes %s\n", kind);
}
