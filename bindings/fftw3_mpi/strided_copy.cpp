// See strided_copy.hpp. A plane is the last two axes that are no run; planes() goes through the axes before it.
#include "strided_copy.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace fftw3_mpi {
namespace {

constexpr std::ptrdiff_t tile = 16;

// Runs of a length that the compiler knows become one load and one store.
template <std::size_t bytes>
struct Run {
    void operator()(const char* from, char* to) const { std::memcpy(to, from, bytes); }
};
struct AnyRun {
    std::size_t bytes;
    void operator()(const char* from, char* to) const { std::memcpy(to, from, bytes); }
};

template <class Run>
void copy_plane(const CopyAxis& slow, const CopyAxis& fast, const char* from, char* to, const Run& run) {
    for (std::ptrdiff_t i0 = 0; i0 < slow.count; i0 += tile)
        for (std::ptrdiff_t j0 = 0; j0 < fast.count; j0 += tile)
            for (std::ptrdiff_t i = i0; i < std::min(i0 + tile, slow.count); ++i)
                for (std::ptrdiff_t j = j0; j < std::min(j0 + tile, fast.count); ++j)
                    run(from + i * slow.from_step + j * fast.from_step, to + i * slow.to_step + j * fast.to_step);
}

template <class Run>
void copy_planes(const CopyAxis* axes, std::size_t count, const char* from, char* to, const Run& run) {
    if (count == 2) return copy_plane(axes[0], axes[1], from, to, run);
    for (std::ptrdiff_t i = 0; i < axes->count; ++i)
        copy_planes(axes + 1, count - 1, from + i * axes->from_step, to + i * axes->to_step, run);
}

}  // namespace

StridedCopy::StridedCopy(std::vector<CopyAxis> axes, std::size_t element_bytes) : run_bytes_(element_bytes) {
    empty_ = std::any_of(axes.begin(), axes.end(), [](const CopyAxis& axis) { return axis.count == 0; });
    std::erase_if(axes, [](const CopyAxis& axis) { return axis.count == 1; });
    while (!axes.empty()) {
        const auto bytes = static_cast<std::ptrdiff_t>(run_bytes_);
        if (axes.back().from_step != bytes || axes.back().to_step != bytes) break;
        run_bytes_ *= static_cast<std::size_t>(axes.back().count);
        axes.pop_back();
    }
    while (axes.size() < 2) axes.insert(axes.begin(), CopyAxis{1, 0, 0});
    axes_ = std::move(axes);
}

void StridedCopy::operator()(const void* from, void* to) const {
    if (empty_) return;
    const auto* source = static_cast<const char*>(from);
    auto* target = static_cast<char*>(to);
    switch (run_bytes_) {
        case 4:
            return copy_planes(axes_.data(), axes_.size(), source, target, Run<4>());
        case 8:
            return copy_planes(axes_.data(), axes_.size(), source, target, Run<8>());
        case 16:
            return copy_planes(axes_.data(), axes_.size(), source, target, Run<16>());
        case 32:
            return copy_planes(axes_.data(), axes_.size(), source, target, Run<32>());
        default:
            return copy_planes(axes_.data(), axes_.size(), source, target, AnyRun{run_bytes_});
    }
}

}  // namespace fftw3_mpi
