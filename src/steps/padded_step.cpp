// Tiles of lines, all points on the one side and the kept modes on the other; see padded_step.hpp.
#include "steps/padded_step.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>

#include "core/shared_team.hpp"
#include "core/stream_copy.hpp"
#include "engine/tile.hpp"
#include "steps/transform_step.hpp"

namespace spanfft {

namespace {

constexpr index_t kMostRows = 32;  // of a tile: enough for vectors that run across lines

// How a rank's lines lie in the arrays and in tiles. Rows: lines are contiguous, and `inner` is 1.
struct PaddedTiling {
    KeptModes kept;
    index_t outer = 0, inner = 1;  // loops before and behind the axis
    index_t point_bytes = 0, mode_bytes = 0;
    index_t width = 0;  // lines of a tile; 0: there are none
    index_t points_pitch_bytes = 0,
            pitch_bytes = 0;  // side by side: from a point, or mode, to the next; rows: of lines
    bool rows() const { return inner == 1; }
    bool in_place() const { return !rows() && !kept.halved; }
    index_t lanes() const { return rows() ? outer : inner; }  // among which tiles are cut
    index_t turns() const { return rows() ? 1 : outer; }
    index_t tiles() const { return width ? ceil_div(lanes(), width) : 0; }  // of a turn
    index_t last_width() const { return width ? lanes() - (tiles() - 1) * width : 0; }
    index_t modes_bytes() const { return (rows() ? width : kept.all()) * pitch_bytes; }
    index_t points_bytes() const { return rows() || in_place() ? 0 : kept.points * points_pitch_bytes; }
};

PaddedTiling padded_tiling(const PaddedSpec& spec, int rank) {
    const Extents shape = patch_shape(spec.real_space().layout.patch(rank));
    PaddedTiling tiling;
    tiling.kept = spec.kept();
    tiling.outer = product(shape, 0, spec.axis);
    tiling.inner = product(shape, spec.axis + 1, static_cast<int>(shape.size()));
    tiling.point_bytes = static_cast<index_t>(spec.real_space().elem.bytes());
    tiling.mode_bytes = static_cast<index_t>(spec.spectrum().elem.bytes());
    if (tiling.outer * tiling.inner == 0) return tiling;
    if (tiling.rows()) {
        tiling.pitch_bytes = row_pitch_bytes(tiling.kept.all() * tiling.mode_bytes);
        constexpr index_t kShare = 4;  // a tile has a quarter of the second-level cache, as others have
        const index_t fit = spec.caches.l2_bytes / kShare / tiling.pitch_bytes;
        tiling.width = std::min(std::clamp<index_t>(fit, 1, kMostRows), tiling.outer);
    } else {
        tiling.width = tile_lanes(spec.caches, tiling.kept.points, tiling.mode_bytes, tiling.inner);
        tiling.pitch_bytes = row_pitch_bytes(tiling.width * tiling.mode_bytes);
        tiling.points_pitch_bytes = row_pitch_bytes(tiling.width * tiling.point_bytes);
    }
    return tiling;
}

// What the engine is asked for, for a tile of so many lines.
LocalSpec padded_call(const PaddedSpec& spec, const PaddedTiling& tiling, index_t width) {
    LocalSpec call;
    call.kernel = spec.kernel;
    call.precision = spec.real_space().elem.precision;
    call.in_place = tiling.in_place();
    call.measure = spec.measure;
    call.caches = spec.caches;
    call.memory_bytes_per_second = spec.memory_bytes_per_second;
    const index_t n = tiling.kept.points, pitch = tiling.pitch_bytes / tiling.mode_bytes;
    const auto loop = [&](index_t count, index_t points_stride, index_t modes_stride) {
        return spec.forward() ? LoopDim{count, points_stride, modes_stride}
                              : LoopDim{count, modes_stride, points_stride};
    };
    if (tiling.rows()) {
        call.transform = {loop(n, 1, 1)};
        call.batch = {loop(width, n, pitch)};
    } else {
        const index_t points_pitch = tiling.in_place() ? pitch : tiling.points_pitch_bytes / tiling.point_bytes;
        call.transform = {loop(n, points_pitch, pitch)};
        call.batch = {loop(width, 1, 1)};
    }
    return call;
}

class PaddedTask final : public Task {
  public:
    static Result<std::unique_ptr<Task>> make(const PaddedSpec& spec, Binding& binding) {
        auto task = std::unique_ptr<PaddedTask>(new PaddedTask(spec, binding.comm.rank()));
        const PaddedTiling& tiling = task->tiling_;
        task->team_ = SharedTeam::of(spec.threads, task->source_bytes_);
        task->members_.resize(static_cast<size_t>(task->team_ ? task->team_->size() : 1));
        if (tiling.width == 0) return std::unique_ptr<Task>(std::move(task));
        for (Member& member : task->members_) {
            SPANFFT_ASSIGN(member.modes, tile_memory(tiling.modes_bytes()));
            if (tiling.points_bytes() > 0) {
                SPANFFT_ASSIGN(member.points, tile_memory(tiling.points_bytes()));
            }
            SPANFFT_ASSIGN(EngineChoice choice,
                           plan_local(padded_call(spec, tiling, tiling.width), spec.engine, spec.rates));
            binding.engine_ran(choice.engine);
            member.fft = std::move(choice.fft);
            if (tiling.last_width() == tiling.width) continue;
            SPANFFT_ASSIGN(EngineChoice last,
                           plan_local(padded_call(spec, tiling, tiling.last_width()), spec.engine, spec.rates));
            binding.engine_ran(last.engine);
            member.last_fft = std::move(last.fft);
        }
        return std::unique_ptr<Task>(std::move(task));
    }

    Status run(RunContext& context) override {
        const TraceScope scope(context.trace, "transform", TraceCategory::compute);
        const Counts before = done();
        const auto* source = static_cast<const char*>(context.at(spec_.source));
        auto* target = static_cast<char*>(context.at(spec_.target));
        const index_t jobs = tiling_.turns() * tiling_.tiles();
        if (team_) {
            std::atomic<index_t> next{0};
            team_->run([&](int member) {
                for (index_t i = next++; i < jobs; i = next++)
                    transform(i, source, target, members_[static_cast<size_t>(member)]);
                stream_fence();
            });
        } else {
            for (index_t i = 0; i < jobs; ++i) transform(i, source, target, members_[0]);
            stream_fence();
        }
        counts_ = done();
        counts_.flops -= before.flops;
        counts_.memory_bytes -= before.memory_bytes;
        return Status();
    }
    Counts counted() const override { return counts_; }

  private:
    struct alignas(64) Member {  // of one thread, in cache lines of its own
        Buffer modes, points;
        std::unique_ptr<CountedFft> fft, last_fft;  // of a whole tile, and of the last one where that is narrower
        index_t moved_bytes = 0;
    };
    struct Lines {
        index_t turn, first, width;
    };

    PaddedTask(const PaddedSpec& spec, int rank)
        : spec_(spec),
          precision_(spec.from.elem.precision),
          source_bytes_(spec.from.local_bytes(rank)),
          stream_(spec.to.local_bytes(rank) >= spec.caches.stream_worth_bytes()),
          tiling_(padded_tiling(spec, rank)) {}

    Counts done() const {
        Counts counts;
        for (const Member& member : members_) {
            if (member.fft) counts.flops += member.fft->done().flops;
            if (member.last_fft) counts.flops += member.last_fft->done().flops;
            counts.memory_bytes += member.moved_bytes;
        }
        return counts;
    }

    void transform(index_t job, const char* source, char* target, Member& member) const {
        const index_t turn = job / tiling_.tiles(), tile = job % tiling_.tiles();
        const bool narrow = tile + 1 == tiling_.tiles() && member.last_fft;
        const CountedFft& fft = narrow ? *member.last_fft : *member.fft;
        const Lines lines{turn, tile * tiling_.width, narrow ? tiling_.last_width() : tiling_.width};
        const ModeLines modes{precision_, member.modes.as<char>(),
                              tiling_.rows() ? tiling_.mode_bytes : tiling_.pitch_bytes,
                              tiling_.rows() ? tiling_.pitch_bytes : tiling_.mode_bytes, lines.width};
        char* const points = tiling_.in_place() ? modes.data : member.points.as<char>();
        if (spec_.forward()) {
            if (tiling_.rows()) {
                fft.execute(source + points_offset(lines, 0), modes.data);
            } else {
                move_points<true>(lines, points, const_cast<char*>(source));  // only read
                fft.execute(points, modes.data);
            }
            tiling_.kept.fold(modes);
            move_modes<false>(lines, modes, target);
        } else {
            move_modes<true>(lines, modes, const_cast<char*>(source));
            tiling_.kept.pad(modes);
            if (tiling_.rows()) {
                fft.execute(modes.data, target + points_offset(lines, 0));
            } else {
                fft.execute(modes.data, points);
                move_points<false>(lines, points, target);
            }
        }
        member.moved_bytes +=
            lines.width * (tiling_.kept.points * tiling_.point_bytes + tiling_.kept.kept() * tiling_.mode_bytes);
    }

    index_t points_offset(const Lines& lines, index_t point) const {
        if (tiling_.rows()) return lines.first * tiling_.kept.points * tiling_.point_bytes;
        return ((lines.turn * tiling_.kept.points + point) * tiling_.inner + lines.first) * tiling_.point_bytes;
    }

    // Between the array and the tile, of lines side by side.
    template <bool kIn>
    void move_points(const Lines& lines, char* tile, char* array) const {
        const auto bytes = static_cast<size_t>(lines.width * tiling_.point_bytes);
        const index_t stride = tiling_.inner * tiling_.point_bytes;
        const index_t pitch = tiling_.in_place() ? tiling_.pitch_bytes : tiling_.points_pitch_bytes;
        array += points_offset(lines, 0);
        for (index_t p = 0; p < tiling_.kept.points; ++p, tile += pitch, array += stride)
            move<kIn>(tile, array, bytes, stride, 1);
    }

    // The kept ones, between the array and the tile, times the normalisation.
    template <bool kIn>
    void move_modes(const Lines& lines, const ModeLines& modes, char* array) const {
        const KeptModes& kept = tiling_.kept;
        if (tiling_.rows()) {
            const index_t low = kept.low(), high = kept.kept() - low;
            array += lines.first * kept.kept() * tiling_.mode_bytes;
            for (index_t j = 0; j < lines.width; ++j, array += kept.kept() * tiling_.mode_bytes) {
                move<kIn>(modes.at(0, j), array, static_cast<size_t>(low * tiling_.mode_bytes), 0, spec_.scale);
                if (high == 0) continue;
                move<kIn>(modes.at(low + kept.gap(), j), array + low * tiling_.mode_bytes,
                          static_cast<size_t>(high * tiling_.mode_bytes), 0, spec_.scale);
            }
            return;
        }
        const auto bytes = static_cast<size_t>(lines.width * tiling_.mode_bytes);
        const index_t stride = tiling_.inner * tiling_.mode_bytes;
        array += (lines.turn * kept.kept() * tiling_.inner + lines.first) * tiling_.mode_bytes;
        for (index_t k = 0; k < kept.kept(); ++k, array += stride)
            move<kIn>(modes.at(kept.place(k)), array, bytes, stride, spec_.scale);
    }

    // A run of bytes into the tile, or out of it. `ahead_bytes`: to the run of the array that comes next.
    template <bool kIn>
    void move(char* tile, char* array, size_t bytes, index_t ahead_bytes, long double factor) const {
        if (!kIn) return copy_out(precision_, factor, stream_, array, tile, bytes);
        if (ahead_bytes > 0) prefetch(array + kTileAhead * ahead_bytes, bytes);
        copy_out(precision_, factor, false, tile, array, bytes);
    }

    const PaddedSpec spec_;
    const Precision precision_;
    const index_t source_bytes_;
    const bool stream_;  // the target leaves the cache before it is read again
    const PaddedTiling tiling_;
    std::vector<Member> members_;  // by thread
    std::unique_ptr<SharedTeam> team_;
    Counts counts_;
};

class PaddedStep final : public Step {
  public:
    PaddedStep(PaddedSpec spec, std::string engine, double seconds_a_line)
        : spec_(std::move(spec)), engine_(std::move(engine)), seconds_a_line_(seconds_a_line) {}
    const char* type() const override { return "Padded"; }

    std::string describe() const override {
        return cat(kernel_name(spec_.kernel), " axis ", spec_.axis, " by ", engine_,
                   spec_.threads > 1 ? cat(" on ", spec_.threads, " threads") : std::string(), ", ", spec_.modes,
                   " modes of ", spec_.kept().points, " points kept", spec_.scale != 1 ? ", scaled" : "", ", ",
                   spec_.from.layout.describe(), " ", slot_name(spec_.source), " -> ", spec_.to.layout.describe(), " ",
                   slot_name(spec_.target));
    }

    Counts price(int rank) const override {
        const PaddedTiling tiling = padded_tiling(spec_, rank);
        Counts counts;
        if (tiling.width == 0) return counts;
        const auto flops = [&](index_t width) { return transform_flops(padded_call(spec_, tiling, width)); };
        counts.flops = static_cast<double>(tiling.turns()) *
                       (static_cast<double>(tiling.tiles() - 1) * flops(tiling.width) + flops(tiling.last_width()));
        counts.memory_bytes = spec_.from.local_bytes(rank) + spec_.to.local_bytes(rank);
        const auto lines = static_cast<double>(tiling.outer * tiling.inner);
        counts.seconds = lines * seconds_a_line_ / std::max(1, spec_.threads);
        return counts;
    }

    index_t own_memory_bytes(int rank) const override {
        const PaddedTiling tiling = padded_tiling(spec_, rank);
        return spec_.threads * (tiling.modes_bytes() + tiling.points_bytes());
    }

    Result<std::unique_ptr<Task>> bind(Binding& binding) const override { return PaddedTask::make(spec_, binding); }

  private:
    PaddedSpec spec_;
    std::string engine_;
    double seconds_a_line_;  // by one thread
};

}  // namespace

Result<std::unique_ptr<Step>> make_padded_step(PaddedSpec spec, std::vector<std::string>& notes) {
    assert(spec.source != spec.target);
    assert(spec.from.layout.is_whole(spec.axis) && spec.to.layout.is_whole(spec.axis));
    const PaddedTiling tiling = padded_tiling(spec, 0);
    std::string engine = "copy";
    double seconds_a_line = 0;
    if (tiling.width > 0) {
        const LocalSpec call = padded_call(spec, tiling, tiling.width);
        SPANFFT_ASSIGN(const EngineForecast forecast, forecast_local(call, spec.engine, spec.rates));
        engine = forecast.engine;
        const auto lines = static_cast<double>(tiling.outer * tiling.inner);
        const auto moved_bytes = static_cast<double>(spec.from.local_bytes(0) + spec.to.local_bytes(0));
        seconds_a_line = forecast.seconds / static_cast<double>(tiling.width) +
                         moved_bytes / 2 / spec.memory_bytes_per_second / lines;
        for (const auto& note : forecast.passed_over) {
            if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
        }
    }
    return std::unique_ptr<Step>(new PaddedStep(std::move(spec), engine, seconds_a_line));
}

}  // namespace spanfft
