// Real numbers around a complex transform; see halve_step.hpp.
#include "steps/halve_step.hpp"

#include <algorithm>
#include <cassert>

#include "core/root_of_unity.hpp"

namespace spanfft {

namespace {

const char* name_of(Halving halving) {
    switch (halving) {
        case Halving::widen:
            return "Widen";
        case Halving::narrow:
            return "Narrow";
        case Halving::cut:
            return "Cut";
        default:
            return "Extend";
    }
}

// Rows along the last axis of a rank's part: `rows` of them, of so many elements on either side.
struct Rows {
    index_t rows = 0, from_points = 0, to_points = 0;
    AxisRange points;  // of a row, in the last axis, on the side where it is longer
    index_t n = 0;     // of the whole axis there
};

Rows rows_of(const HalveSpec& spec, int rank) {
    const Patch from = spec.from.layout.patch(rank), to = spec.to.layout.patch(rank);
    Rows rows;
    rows.rows = product(patch_shape(from), 0, static_cast<int>(from.size()) - 1);
    rows.from_points = from.back().count;
    rows.to_points = to.back().count;
    rows.points = rows.from_points >= rows.to_points ? from.back() : to.back();
    rows.n = std::max(spec.from.layout.shape().back(), spec.to.layout.shape().back());
    return rows;
}

// Returns the bytes that it read and wrote.
template <class T>
index_t run_rows(Halving halving, const Rows& rows, const void* source, void* target) {
    const index_t m = rows.from_points, k = rows.to_points;
    const auto *reals = static_cast<const T*>(source), *end = reals + rows.rows * m;
    const auto* complexes = static_cast<const Pair<T>*>(source);
    auto* to_reals = static_cast<T*>(target);
    auto* to = static_cast<Pair<T>*>(target);
    if (halving == Halving::widen) {
        for (; reals != end; ++reals, ++to) *to = {*reals, 0};
        return rows.rows * m * static_cast<index_t>(sizeof(T) + sizeof(Pair<T>));
    }
    if (halving == Halving::narrow) {
        for (index_t i = 0; i < rows.rows * m; ++i) to_reals[i] = complexes[i].re;
        return rows.rows * m * static_cast<index_t>(sizeof(T) + sizeof(Pair<T>));
    }
    for (index_t row = 0; row < rows.rows; ++row, complexes += m, to += k) {
        if (halving == Halving::cut) {
            std::copy(complexes, complexes + k, to);
            continue;
        }
        for (index_t i = 0; i < m; ++i) {
            const index_t at = rows.points.at(i);
            const T times = at == 0 || 2 * at == rows.n ? T(1) : T(2);
            to[i] = {times * complexes[i].re, times * complexes[i].im};
        }
        std::fill(to + m, to + k, Pair<T>{0, 0});
    }
    return rows.rows * (halving == Halving::cut ? 2 * k : m + k) * static_cast<index_t>(sizeof(Pair<T>));
}

class HalveTask final : public Task {
  public:
    HalveTask(const HalveSpec& spec, int rank)
        : halving_(spec.halving),
          precision_(spec.from.elem.precision),
          rows_(rows_of(spec, rank)),
          source_(spec.source),
          target_(spec.target) {}
    Status run(RunContext& context) override {
        const TraceScope scope(context.trace, "halve", TraceCategory::compute);
        counts_ = Counts();
        counts_.memory_bytes = with_real(precision_, [&](auto real) {
            return run_rows<decltype(real)>(halving_, rows_, context.at(source_), context.at(target_));
        });
        return Status();
    }
    Counts counted() const override { return counts_; }

  private:
    Halving halving_;
    Precision precision_;
    Rows rows_;
    Slot source_, target_;
    Counts counts_;
};

class HalveStep final : public Step {
  public:
    HalveStep(HalveSpec spec, const Machine& machine)
        : spec_(std::move(spec)), bytes_per_second_(machine.memory_bytes_per_second) {}
    const char* type() const override { return name_of(spec_.halving); }

    std::string describe() const override {
        return cat(spec_.from.layout.describe(), spec_.from.elem.complex ? " complex" : " real", " -> ",
                   spec_.to.layout.describe(), spec_.to.elem.complex ? " complex" : " real", ", ",
                   slot_name(spec_.source), " -> ", slot_name(spec_.target));
    }

    Counts price(int rank) const override {
        const index_t in = spec_.from.local_bytes(rank), out = spec_.to.local_bytes(rank);
        Counts counts;
        counts.memory_bytes = (spec_.halving == Halving::cut ? out : in) + out;
        counts.seconds = static_cast<double>(counts.memory_bytes) / 2 / bytes_per_second_;
        return counts;
    }

    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        return std::unique_ptr<Task>(new HalveTask(spec_, binding.comm.rank()));
    }

  private:
    HalveSpec spec_;
    double bytes_per_second_;
};

}  // namespace

std::unique_ptr<Step> make_halve_step(HalveSpec spec, const Machine& machine) {
    assert(spec.source != spec.target);
    return std::make_unique<HalveStep>(std::move(spec), machine);
}

}  // namespace spanfft
