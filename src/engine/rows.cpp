// Groups of lines, and lists of lists of them; see rows.hpp.
//
// Worked numbers: lines of 256 points of 16 bytes are 4 KiB, a group; 128 x 128 of them are one list of 16384 lines,
// which two threads take in 16 pieces of 1024. Groups are small because the processor can wait for some 20 cache lines
// at once: a fetch of more than a page holds up what comes after it (groups of 4, 16 and 64 KiB: 55, 71 and 78 ms for
// 256^3 double on one thread, without groups 78).
#include "engine/rows.hpp"

#include <algorithm>
#include <atomic>

#include "core/shared_team.hpp"
#include "core/stream_copy.hpp"
#include "engine/spec.hpp"
#include "engine/tile.hpp"

namespace spanfft {

namespace {

constexpr index_t kGroupBytes = 4096;
constexpr index_t kMostLineBytes = index_t{64} << 10;  // of a longer line the engine fetches most itself
constexpr index_t kFewestGroups = 8;                   // of a list
constexpr index_t kPiecesAThread = 8;

index_t line_bytes(const LocalSpec& spec) {
    return std::max(input_points(spec, 0) * static_cast<index_t>(input_type(spec).bytes()),
                    output_points(spec, 0) * static_cast<index_t>(output_type(spec).bytes()));
}

// The batch loop whose lines are done in groups: of the long ones that of the nearest lines.
std::vector<LoopDim>::const_iterator list_loop(const LocalSpec& spec) {
    const auto reach = [](const LoopDim& loop) { return std::abs(loop.in_stride) + std::abs(loop.out_stride); };
    auto found = spec.batch.end();
    for (auto loop = spec.batch.begin(); loop != spec.batch.end(); ++loop) {
        if (loop->n * line_bytes(spec) < kFewestGroups * kGroupBytes || loop->n < kFewestGroups) continue;
        if (found == spec.batch.end() || reach(*loop) < reach(*found)) found = loop;
    }
    return found;
}

// Lists of lines over outer loops; threads share pieces of the lists.
class RowsFft final : public LocalFft {
  public:
    RowsFft(const LocalSpec& spec, int threads)
        : in_bytes_(static_cast<index_t>(input_type(spec).bytes())),
          out_bytes_(static_cast<index_t>(output_type(spec).bytes())) {
        team_ = SharedTeam::of(threads);
    }

    Status plan(const Engine& engine, const LocalSpec& spec) {
        LocalSpec list = spec;
        const auto lines = list_loop(spec);
        list.batch = {*lines};
        list.threads = 1;
        for (auto loop = spec.batch.begin(); loop != spec.batch.end(); ++loop) {
            if (loop == lines) continue;
            outer_.push_back(*loop);
            lists_ *= loop->n;
        }
        const int members = team_ ? team_->size() : 1;
        for (int i = 0; i < members; ++i) {
            SPANFFT_ASSIGN(auto groups, RowGroups::make(engine, list, {true, !spec.in_place}));
            members_.push_back(std::move(groups));
        }
        lines_ = lines->n;
        const index_t pieces = members > 1 ? ceil_div(kPiecesAThread * members, lists_) : 1;
        piece_lines_ = round_up(ceil_div(lines_, pieces), members_[0].lines_a_group());
        return {};
    }

    void execute(const void* in, void* out) const override {
        const index_t pieces = ceil_div(lines_, piece_lines_), count = pieces * lists_;
        const auto run = [&](index_t i, int member) {
            const index_t first = i % pieces * piece_lines_;
            auto* from = static_cast<const char*>(in);
            auto* to = static_cast<char*>(out);
            index_t rest = i / pieces;
            for (size_t l = outer_.size(); l-- > 0; rest /= outer_[l].n) {
                from += rest % outer_[l].n * outer_[l].in_stride * in_bytes_;
                to += rest % outer_[l].n * outer_[l].out_stride * out_bytes_;
            }
            members_[static_cast<size_t>(member)].run(from, to, first, std::min(first + piece_lines_, lines_));
        };
        if (!team_) {
            for (index_t i = 0; i < count; ++i) run(i, 0);
            return;
        }
        std::atomic<index_t> next{0};
        team_->run([&](int member) {
            for (index_t i = next++; i < count; i = next++) run(i, member);
        });
    }

  private:
    const index_t in_bytes_, out_bytes_;  // of an element
    std::unique_ptr<SharedTeam> team_;    // nullptr: this thread alone
    std::vector<LoopDim> outer_;
    index_t lists_ = 1, lines_ = 0, piece_lines_ = 0;
    std::vector<RowGroups> members_;  // one for each thread
};

}  // namespace

Result<RowGroups> RowGroups::make(const Engine& engine, const LocalSpec& rows, RowsPath path) {
    const LoopDim& lines = rows.batch[0];
    RowGroups made;
    made.path_ = path;
    made.lines_ = lines.n;
    const auto in_elem = static_cast<index_t>(input_type(rows).bytes()),
               out_elem = static_cast<index_t>(output_type(rows).bytes());
    made.in_line_bytes_ = input_points(rows, 0) * in_elem;
    made.out_line_bytes_ = output_points(rows, 0) * out_elem;
    made.in_stride_bytes_ = lines.in_stride * in_elem;
    made.out_stride_bytes_ = lines.out_stride * out_elem;
    made.lines_a_group_ = std::clamp<index_t>(kGroupBytes / line_bytes(rows), 1, lines.n);
    made.precision_ = rows.precision;
    made.scale_ = rows.scale;
    LocalSpec group = rows;
    group.threads = 1;
    group.scale = 1;
    if (path.stream) {
        group.in_place = false;
        group.batch[0].out_stride = output_points(rows, 0);
        SPANFFT_ASSIGN(made.buffer_, Buffer::allocate(static_cast<size_t>(made.lines_a_group_ * made.out_line_bytes_)));
    }
    group.batch[0].n = made.lines_a_group_;
    SPANFFT_ASSIGN(made.group_, engine.plan(group));
    group.batch[0].n = lines.n % made.lines_a_group_;
    if (group.batch[0].n > 0) {
        SPANFFT_ASSIGN(made.last_, engine.plan(group));
    }
    return made;
}

void RowGroups::run(const void* in, void* out, index_t first, index_t end) const {
    for (index_t line = first; line < end; line += lines_a_group_) {
        const index_t count = std::min(lines_a_group_, end - line);
        const char* from = static_cast<const char*>(in) + line * in_stride_bytes_;
        char* to = static_cast<char*>(out) + line * out_stride_bytes_;
        for (index_t i = count; path_.fetch && i < count + lines_a_group_; ++i)
            prefetch(from + i * in_stride_bytes_, static_cast<size_t>(in_line_bytes_));
        (count == lines_a_group_ ? group_ : last_)->execute(from, path_.stream ? buffer_.data() : to);
        finish(to, count);
    }
    if (path_.stream) stream_fence();
}

// Out of the buffer, or, where there is none, scaled in place.
void RowGroups::finish(char* to, index_t count) const {
    if (!path_.stream && scale_ == 1) return;
    const bool adjacent = out_stride_bytes_ == out_line_bytes_;
    const index_t runs = adjacent ? 1 : count, run_bytes = adjacent ? count * out_line_bytes_ : out_line_bytes_;
    for (index_t i = 0; i < runs; ++i, to += out_stride_bytes_) {
        const char* from = path_.stream ? buffer_.as<const char>() + i * out_line_bytes_ : to;
        copy_out(precision_, scale_, path_.stream, to, from, static_cast<size_t>(run_bytes));
    }
}

bool worth_rows(const LocalSpec& asked) {
    const LocalSpec spec = canonical(asked);
    if (spec.transform.size() != 1 || is_r2r(spec.kernel) || is_empty(spec)) return false;
    if (spec.transform[0].in_stride != 1 || spec.transform[0].out_stride != 1) return false;
    const auto elem = static_cast<index_t>(ElemType{spec.precision, true}.bytes());
    if (spec_elems(spec) * elem < spec.caches.stream_worth_bytes() || line_bytes(spec) > kMostLineBytes) return false;
    return list_loop(spec) != spec.batch.end();
}

Result<std::unique_ptr<LocalFft>> plan_rows(const Engine& engine, const LocalSpec& asked) {
    const LocalSpec spec = canonical(asked);
    if (spec.transform.size() != 1 || list_loop(spec) == spec.batch.end())
        return error(Code::engine_error, "rows need a list of lines long enough for groups of them");
    auto fft = std::make_unique<RowsFft>(spec, spec.threads);
    SPANFFT_TRY(fft->plan(engine, spec));
    return std::unique_ptr<LocalFft>(std::move(fft));
}

}  // namespace spanfft
