// DCT and DST of a few points; see short_r2r.hpp.
//
// Method: several neighbouring lines are gathered side by side, so that a multiplication does all of them at once; the
// lines of a group are whole before anything is written, which makes it right in place.
#include "engine/short_r2r.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "core/shared_team.hpp"
#include "engine/kernel_sum.hpp"
#include "engine/spec.hpp"

namespace spanfft {

namespace {

constexpr index_t kSide = 16;            // lines side by side
constexpr double kWorthThreads = 2e6;    // multiplications: below, waking a team costs more than it gains
constexpr index_t kGroupsAPiece = 1024;  // what a member takes at once

template <class T>
class ShortR2r final : public LocalFft {
  public:
    explicit ShortR2r(const LocalSpec& spec) : line_(spec.transform[0]), outer_(spec.batch) {
        const kernel_sum::Form form = kernel_sum::form_of(spec.kernel, line_.n);
        for (index_t k = 0; k < line_.n; ++k) {
            for (index_t j = 0; j < line_.n; ++j) {
                const index_t phase =
                    product_mod(form.a0 + form.a1 * j, form.b0 + form.b1 * k, form.circle) % form.circle;
                const kernel_sum::Complex root = kernel_sum::root_of(form, phase);
                const long double entry = form.part == kernel_sum::Part::real ? root.real() : root.imag();
                matrix_[static_cast<size_t>(k * line_.n + j)] =
                    static_cast<T>(spec.scale * kernel_sum::weight(form, j) * entry);
            }
        }
        // The lines that lie nearest to one another go side by side.
        const auto reach = [](const LoopDim& loop) { return std::abs(loop.in_stride) + std::abs(loop.out_stride); };
        const auto nearest = std::min_element(outer_.begin(), outer_.end(),
                                              [&](const LoopDim& a, const LoopDim& b) { return reach(a) < reach(b); });
        if (nearest != outer_.end()) {
            side_ = *nearest;
            outer_.erase(nearest);
        }
        groups_ = ceil_div(side_.n, kSide);
        for (const LoopDim& loop : outer_) groups_ *= loop.n;
        const double work = static_cast<double>(line_.n * line_.n * kSide) * static_cast<double>(groups_);
        if (spec.threads > 1 && work >= kWorthThreads) team_ = SharedTeam::of(spec.threads);
    }

    void execute(const void* in, void* out) const override {
        const T* from = static_cast<const T*>(in);
        T* to = static_cast<T*>(out);
        if (!team_) return do_groups(from, to, 0, groups_);
        std::atomic<index_t> next{0};
        team_->run([&](int) {
            for (index_t first; (first = next.fetch_add(kGroupsAPiece)) < groups_;)
                do_groups(from, to, first, std::min(groups_, first + kGroupsAPiece));
        });
    }

  private:
    using Lines = std::array<T, kShortR2rPoints * kSide>;

    void do_groups(const T* in, T* out, index_t begin, index_t end) const {
        const index_t groups_a_side = ceil_div(side_.n, kSide);
        for (index_t group = begin; group < end; ++group) {
            const index_t first = group % groups_a_side * kSide;
            index_t from = first * side_.in_stride, to = first * side_.out_stride, rest = group / groups_a_side;
            for (auto loop = outer_.rbegin(); loop != outer_.rend(); ++loop) {
                from += rest % loop->n * loop->in_stride;
                to += rest % loop->n * loop->out_stride;
                rest /= loop->n;
            }
            do_group(in + from, out + to, std::min(kSide, side_.n - first));
        }
    }

    void do_group(const T* in, T* out, index_t lines) const {
        const index_t n = line_.n;
        Lines x{};  // points that no line has stay zero
        for (index_t j = 0; j < n; ++j) {
            for (index_t i = 0; i < lines; ++i)
                x[static_cast<size_t>(j * kSide + i)] = in[j * line_.in_stride + i * side_.in_stride];
        }
        for (index_t k = 0; k < n; ++k) {
            std::array<T, kSide> sums{};
            for (index_t j = 0; j < n; ++j) {
                const T entry = matrix_[static_cast<size_t>(k * n + j)];
                for (index_t i = 0; i < kSide; ++i)
                    sums[static_cast<size_t>(i)] += entry * x[static_cast<size_t>(j * kSide + i)];
            }
            for (index_t i = 0; i < lines; ++i)
                out[k * line_.out_stride + i * side_.out_stride] = sums[static_cast<size_t>(i)];
        }
    }

    LoopDim line_, side_{1, 0, 0};
    std::vector<LoopDim> outer_;
    index_t groups_ = 1;
    std::array<T, kShortR2rPoints * kShortR2rPoints> matrix_{};
    std::unique_ptr<SharedTeam> team_;  // nullptr: this thread alone
};

}  // namespace

bool is_short_r2r(const LocalSpec& spec) {
    return is_r2r(spec.kernel) && !spec.transform.empty() && spec.transform[0].n <= kShortR2rPoints;
}

std::unique_ptr<LocalFft> make_short_r2r(const LocalSpec& spec) {
    return with_real(spec.precision, [&](auto real) -> std::unique_ptr<LocalFft> {
        return std::make_unique<ShortR2r<decltype(real)>>(spec);
    });
}

}  // namespace spanfft
