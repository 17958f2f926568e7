// The two sweeps; see long_line.hpp.
#include "engine/long_line.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/caches.hpp"
#include "core/shared_team.hpp"
#include "core/stream_copy.hpp"
#include "core/twiddles.hpp"
#include "engine/line_fold.hpp"
#include "engine/line_tile.hpp"
#include "engine/rates.hpp"
#include "engine/spec.hpp"
#include "engine/tile.hpp"
#include "engine/trust.hpp"
#include "engine/turn.hpp"

namespace spanfft {

namespace {

constexpr index_t kWorthBytes = index_t{1} << 20;  // a shorter line stays in the second cache, whole
constexpr double kCrowded = 1.45;                  // times as long takes a sweep whose tile fills the second cache
constexpr double kTurnCopies = 1.5;                // a turn takes so many copies
constexpr int kFormsTried = 3;                     // divisors next to the square root, each in both orders

index_t elem_bytes_of(const LocalSpec& spec) { return static_cast<index_t>(ElemType{spec.precision, true}.bytes()); }

// Where columns go in pairs, half of the tile is a run of neighbours: a tile may fill the cache for the sake of runs
// that are a cache line long.
LineTileForm tile_form(const LocalSpec& spec, index_t points, bool paired) {
    const LineTileForm form = line_tile_form(spec.caches, points, elem_bytes_of(spec));
    LineTileForm wider = form;
    wider.lines = 2 * form.lines;
    return paired && form.lines * form.elem_bytes <= 64 && share_of_cache(spec.caches, wider) <= 1 ? wider : form;
}

// Of the two sweeps.
LineTileForm columns_form(const LocalSpec& spec, const LongLineForm& form) {
    return tile_form(spec, form.first, spec.kernel == Kernel::c2r);
}
LineTileForm rows_form(const LocalSpec& spec, const LongLineForm& form) {
    return tile_form(spec, form.second, spec.kernel == Kernel::r2c);
}

LocalSpec call_of(const LocalSpec& spec, const LineTileForm& tile) {
    const bool backward = spec.kernel == Kernel::c2c_backward || spec.kernel == Kernel::c2r;
    return line_tile_call(tile, backward ? Kernel::c2c_backward : Kernel::c2c_forward, spec.precision, spec.measure);
}

ColumnGroups groups_of(const void* array, index_t columns, const LineTileForm& tile) {
    const auto address = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(array) % 64);
    return {columns, elems_before_line(address, tile.elem_bytes), tile.lines};
}

SquareTurn square_turn(const LongLineForm& form, index_t elem_bytes) {  // of an array that is named when it is turned
    const index_t side = std::min(form.first, form.second);
    return {nullptr, side, std::max(form.first, form.second) / side, elem_bytes};
}

index_t tile_bytes(const LongLineForm& form, const LineTileForm& columns, const LineTileForm& rows) {
    const index_t tile = std::max(columns.bytes(), rows.bytes());
    return form.turns ? std::max(tile, square_turn(form, columns.elem_bytes).buffer_bytes()) : tile;
}

// Of the rows that are multiplied by twiddle factors; where c2r turns, these are the second sweep's.
index_t twiddled_points(const LongLineForm& form) {
    return form.turns ? std::min(form.first, form.second) : form.first;
}

class LongLineFft final : public LocalFft {
  public:
    static Result<std::unique_ptr<LocalFft>> make(const Engine& engine, const LocalSpec& spec,
                                                  const LongLineForm& form) {
        auto made = std::unique_ptr<LongLineFft>(new LongLineFft(spec, form));
        const bool backward = spec.kernel == Kernel::c2c_backward || spec.kernel == Kernel::c2r;
        made->team_ = SharedTeam::of(spec.threads);
        SPANFFT_ASSIGN(made->twiddles_, Twiddles::make(made->points_, spec.precision, backward));
        if (!is_c2c(spec.kernel)) {
            const bool halves = spec.kernel == Kernel::r2c;
            SPANFFT_ASSIGN(made->fold_, LineFold::make(halves ? form.first : form.second,
                                                       halves ? form.second : form.first, spec.precision, halves));
        }
        if (spec.in_place && !form.turns) {
            SPANFFT_ASSIGN(made->between_, Buffer::allocate(static_cast<size_t>(made->points_ * made->elem_bytes_)));
        }
        for (int i = 0; i < (made->team_ ? made->team_->size() : 1); ++i) {
            Member member;
            SPANFFT_TRY(made->make_member(engine, spec, member));
            made->members_.push_back(std::move(member));
        }
        return std::unique_ptr<LocalFft>(std::move(made));
    }

    void execute(const void* in, void* out) const override {
        loop(0, static_cast<const char*>(in), static_cast<char*>(out));
    }

  private:
    struct Member {
        Buffer memory;
        LineTile columns, rows;  // of the two sweeps
        Twiddles::Row row, fold;
        std::unique_ptr<LocalFft> columns_fft, rows_fft;  // some lines of the tile
    };

    LongLineFft(const LocalSpec& spec, const LongLineForm& form)
        : form_(form),
          kernel_(spec.kernel),
          batch_(spec.batch),
          scale_(spec.scale),
          elem_bytes_(elem_bytes_of(spec)),
          in_bytes_(static_cast<index_t>(input_type(spec).bytes())),
          out_bytes_(static_cast<index_t>(output_type(spec).bytes())),
          points_(form.first * form.second),
          columns_(columns_form(spec, form)),
          rows_(rows_form(spec, form)),
          squares_(square_turn(form, elem_bytes_)) {}

    Status make_member(const Engine& engine, const LocalSpec& spec, Member& member) const {
        SPANFFT_ASSIGN(member.memory, tile_memory(tile_bytes(form_, columns_, rows_)));
        member.columns = LineTile(member.memory, columns_);
        member.rows = LineTile(member.memory, rows_);
        SPANFFT_ASSIGN(member.row, Twiddles::Row::make(twiddled_points(form_), spec.precision));
        if (!is_c2c(kernel_)) {
            SPANFFT_ASSIGN(member.fold,
                           Twiddles::Row::make(kernel_ == Kernel::r2c ? form_.second : form_.first, spec.precision));
        }
        SPANFFT_ASSIGN(member.columns_fft, engine.plan(call_of(spec, columns_)));
        SPANFFT_ASSIGN(member.rows_fft, engine.plan(call_of(spec, rows_)));
        return {};
    }

    void loop(size_t depth, const char* in, char* out) const {
        if (depth == batch_.size()) return one_line(in, out);
        for (index_t i = 0; i < batch_[depth].n; ++i) {
            loop(depth + 1, in + i * batch_[depth].in_stride * in_bytes_,
                 out + i * batch_[depth].out_stride * out_bytes_);
        }
    }

    template <class Job>
    void share(index_t count, const Job& job) const {
        if (!team_) {
            for (index_t i = 0; i < count; ++i) job(i, members_[0]);
            return stream_fence();
        }
        std::atomic<index_t> next{0};
        team_->run([&](int member) {
            for (index_t i = next++; i < count; i = next++) job(i, members_[static_cast<size_t>(member)]);
            stream_fence();
        });
    }

    void one_line(const char* in, char* out) const {
        char* between = between_.data() ? between_.as<char>() : out;
        if (kernel_ == Kernel::c2r) {
            const ColumnPairs pairs{form_.second, columns_.lines / 2};
            share(1 + pairs.groups(),
                  [&](index_t group, const Member& member) { unfold_1(pairs, group, in, between, member); });
        } else if (form_.turns) {
            turn(out);
            sweep_rows(out);
        } else {
            const ColumnGroups groups = groups_of(in, form_.second, columns_);
            share(groups.count(), [&](index_t group, const Member& member) {
                sweep_1(in, between, groups.begin(group), groups.end(group), member);
            });
        }
        if (kernel_ == Kernel::r2c) {
            const ColumnPairs pairs{form_.first, rows_.lines / 2};
            share(1 + pairs.groups(),
                  [&](index_t group, const Member& member) { fold_2(pairs, group, between, out, member); });
        } else if (kernel_ == Kernel::c2r && form_.turns) {
            sweep_rows(out);
            turn(out);
        } else {
            const ColumnGroups groups = groups_of(out, form_.first, rows_);
            share(groups.count(), [&](index_t group, const Member& member) {
                sweep_2(between, out, groups.begin(group), groups.end(group), member);
            });
        }
    }

    // Columns [begin, end) of the input, `second` columns wide, into rows [begin, end) of length `first`.
    void sweep_1(const char* in, char* between, index_t begin, index_t end, const Member& member) const {
        fetch_1(in, begin, end, member, 0);
        member.columns.transform(*member.columns_fft, end - begin);
        leave(between, begin, end, member, 0);
    }

    // Columns [begin, end) of what is between, `first` columns wide, where they come from.
    void sweep_2(const char* between, char* out, index_t begin, index_t end, const Member& member) const {
        fetch_2(between, begin, end, member, 0);
        member.rows.transform(*member.rows_fft, end - begin);
        put(out, begin, end, member, 0);
    }

    // In place: what is a column of `side` rows becomes a row, and the reverse.
    void turn(void* array) const {
        SquareTurn squares = squares_;
        squares.array = array;
        share(squares.jobs(), [&](index_t job, const Member& member) { squares.run(job, member.memory.data()); });
    }

    // Of a line that is turned, the sweep whose lines lie along memory, in groups of tiles: the second one of c2r, else
    // the first one.
    void sweep_rows(char* array) const {
        const bool last = kernel_ == Kernel::c2r;
        const LineTileForm& form = last ? rows_ : columns_;
        const index_t rows = points_ / form.points, row_bytes = form.points * elem_bytes_;
        share(ceil_div(rows, form.lines), [&](index_t group, const Member& member) {
            const LineTile& tile = last ? member.rows : member.columns;
            const index_t begin = group * form.lines, count = std::min(form.lines, rows - begin);
            for (index_t i = 0; i < count; ++i) {
                const LineFactors factors = last ? factors_of(number_of_row(begin + i), member) : LineFactors{};
                tile.take_rows(1, factors, array + (begin + i) * row_bytes, row_bytes, i);
            }
            tile.transform(last ? *member.rows_fft : *member.columns_fft, count);
            for (index_t i = 0; i < count; ++i) {
                const LineFactors factors = last ? LineFactors{} : factors_of(number_of_row(begin + i), member);
                tile.leave_rows(1, factors, array + (begin + i) * row_bytes, row_bytes, false, i);
            }
        });
    }

    LineFactors factors_of(index_t row, const Member& member) const { return {&twiddles_, &member.row, row, scale_}; }

    // Of what row i of a turned line holds, in the line's own order: point q * side + k is in row k * m + q.
    index_t number_of_row(index_t row) const { return row % squares_.between * squares_.side + row / squares_.between; }

    // Columns of a turned line, whose points lie in that order: move(points of a tile, where the first one is, from one
    // to the next).
    template <class Move>
    void each_turned(TilePart part, index_t row_bytes, const Move& move) const {
        part.points = squares_.side;
        for (index_t q = 0; q < squares_.between; ++q) {
            part.point = q * squares_.side;
            move(part, q * row_bytes, squares_.between * row_bytes);
        }
    }

    // Sweep 1 of c2r: the spectrum of real numbers becomes that of pairs of them. Group 0: the columns that go alone.
    void unfold_1(const ColumnPairs& pairs, index_t group, const char* in, char* between, const Member& member) const {
        if (group == 0) {
            alone_1(0, in, between, member);
            if (form_.second % 2 == 0) alone_1(form_.second / 2, in, between, member);
            return;
        }
        const auto [low, high, count] = pairs.at(group - 1);
        fetch_1(in, low, low + count, member, 0);
        fetch_1(in, high, high + count, member, count);
        for (index_t i = 0; i < count; ++i)
            fold_.pair(member.fold, low + i, member.columns.line(i), member.columns.line(2 * count - 1 - i));
        member.columns.transform(*member.columns_fft, 2 * count);
        leave(between, low, low + count, member, 0);
        leave(between, high, high + count, member, count);
    }

    void alone_1(index_t column, const char* in, char* between, const Member& member) const {
        fetch_1(in, column, column + 1, member, 0);
        char* line = member.columns.line(0);
        if (column == 0) fold_.ends(line, const_cast<char*>(in) + points_ * elem_bytes_);  // only read
        fold_.alone(column, line);
        member.columns.transform(*member.columns_fft, 1);
        leave(between, column, column + 1, member, 0);
    }

    // Sweep 2 of r2c: the spectrum of pairs of real numbers becomes that of the numbers.
    void fold_2(const ColumnPairs& pairs, index_t group, const char* between, char* out, const Member& member) const {
        if (group == 0) {
            alone_2(0, between, out, member);
            if (form_.first % 2 == 0) alone_2(form_.first / 2, between, out, member);
            return;
        }
        const auto [low, high, count] = pairs.at(group - 1);
        fetch_2(between, low, low + count, member, 0);
        fetch_2(between, high, high + count, member, count);
        member.rows.transform(*member.rows_fft, 2 * count);
        for (index_t i = 0; i < count; ++i)
            fold_.pair(member.fold, low + i, member.rows.line(i), member.rows.line(2 * count - 1 - i));
        put(out, low, low + count, member, 0);
        put(out, high, high + count, member, count);
    }

    void alone_2(index_t column, const char* between, char* out, const Member& member) const {
        fetch_2(between, column, column + 1, member, 0);
        member.rows.transform(*member.rows_fft, 1);
        char* line = member.rows.line(0);
        if (column == 0) fold_.ends(line, out + points_ * elem_bytes_);
        fold_.alone(column, line);
        put(out, column, column + 1, member, 0);
    }

    // Columns [begin, end) of the input, and of what is between, into lines of the tile from `line` on.
    void fetch_1(const char* in, index_t begin, index_t end, const Member& member, index_t line) const {
        member.columns.fetch(member.columns.all(end - begin, line), in + begin * elem_bytes_,
                             form_.second * elem_bytes_);
    }
    void fetch_2(const char* between, index_t begin, index_t end, const Member& member, index_t line) const {
        const char* const first = between + begin * elem_bytes_;
        const TilePart part = member.rows.all(end - begin, line);
        if (!form_.turns) return member.rows.fetch(part, first, form_.first * elem_bytes_);
        each_turned(part, form_.first * elem_bytes_, [&](const TilePart& piece, index_t at, index_t pitch_bytes) {
            member.rows.fetch(piece, first + at, pitch_bytes);
        });
    }

    // Lines of the tile from `line` on leave as rows [begin, end) of what is between; turned, where they came from.
    void leave(char* between, index_t begin, index_t end, const Member& member, index_t line) const {
        const index_t row_bytes = form_.first * elem_bytes_;
        if (!form_.turns)
            return member.columns.leave_rows(end - begin, factors_of(begin, member), between + begin * row_bytes,
                                             row_bytes, form_.stream, line);
        const TilePart part = member.columns.all(end - begin, line);
        each_turned(part, form_.second * elem_bytes_, [&](const TilePart& piece, index_t at, index_t pitch_bytes) {
            member.columns.put(piece, between + begin * elem_bytes_ + at, pitch_bytes, form_.stream);
        });
    }

    // Lines of the tile from `line` on become columns [begin, end) of the output.
    void put(char* out, index_t begin, index_t end, const Member& member, index_t line) const {
        member.rows.put(member.rows.all(end - begin, line), out + begin * elem_bytes_, form_.first * elem_bytes_,
                        form_.stream);
    }

    const LongLineForm form_;
    const Kernel kernel_;
    const std::vector<LoopDim> batch_;
    const long double scale_;
    const index_t elem_bytes_;            // of a complex number
    const index_t in_bytes_, out_bytes_;  // of an element
    const index_t points_;                // complex ones: half as many as real ones
    const LineTileForm columns_, rows_;   // of the two sweeps
    const SquareTurn squares_;            // of a line that is turned
    Twiddles twiddles_;
    LineFold fold_;   // of real data
    Buffer between_;  // in place only
    std::unique_ptr<SharedTeam> team_;
    std::vector<Member> members_;
};

}  // namespace

namespace {

// Complex points: real ones go in pairs.
index_t points_of(const LocalSpec& spec) { return spec.transform[0].n / (is_c2c(spec.kernel) ? 1 : 2); }

// Whether a spec is one that long lines are made for, whatever its length.
bool may_be_long(const LocalSpec& spec) {
    if (is_r2r(spec.kernel) || spec.precision == Precision::extended || is_empty(spec)) return false;
    if (spec.transform.size() != 1) return false;
    const LoopDim& axis = spec.transform[0];
    if (!is_c2c(spec.kernel) && axis.n % 2 != 0) return false;
    return axis.in_stride == 1 && axis.out_stride == 1 && points_of(spec) * elem_bytes_of(spec) >= kWorthBytes;
}

// Seconds of all lines of one sweep, and of moving them; no seconds where a tile would not fit.
std::optional<double> sweep_seconds(const Engine& engine, const LocalSpec& spec, const RateTable& rates, index_t points,
                                    index_t lines, bool paired) {
    const LineTileForm tile = tile_form(spec, points, paired);
    const double share = share_of_cache(spec.caches, tile);
    if (share > 1) return std::nullopt;
    // A call has a tile of them, which stays in the cache.
    const double calls = static_cast<double>(lines) / static_cast<double>(tile.lines);
    const double seconds = calls * expected_seconds(rates, engine.name(), call_of(spec, tile)) +
                           line_tile_seconds(tile, lines, tile.lines / (paired ? 2 : 1), spec.memory_bytes_per_second);
    return share > 0.5 ? kCrowded * seconds : seconds;
}

bool trusted(const Engine& engine, const LocalSpec& spec, index_t points) {
    return distrust(engine, call_of(spec, tile_form(spec, points, false))).empty();
}

// Of both sweeps, by one thread.
std::optional<double> sweeps_seconds(const Engine& engine, const LocalSpec& spec, const RateTable& rates, index_t first,
                                     index_t second) {
    const index_t lines = batch_count(spec);
    const auto columns = sweep_seconds(engine, spec, rates, first, second * lines, spec.kernel == Kernel::c2r),
               rows = sweep_seconds(engine, spec, rates, second, first * lines, spec.kernel == Kernel::r2c);
    return columns && rows ? std::optional<double>(*columns + *rows) : std::nullopt;
}

// The squarest form that turns: of few that are as good as it, no engine is so much better at one.
std::optional<LongLineForm> turned_form(const Engine& engine, const LocalSpec& spec, const RateTable& rates) {
    const index_t n = points_of(spec);
    const auto root = static_cast<index_t>(std::sqrt(static_cast<double>(n)));
    for (index_t side = root; side > root / 16; --side) {
        if (n % (side * side) != 0) continue;
        LongLineForm form{side, n / side, n * elem_bytes_of(spec) >= spec.caches.stream_worth_bytes()};
        if (spec.kernel == Kernel::c2r) std::swap(form.first, form.second);
        form.turns = true;
        const auto seconds = sweeps_seconds(engine, spec, rates, form.first, form.second);
        if (!seconds || !trusted(engine, spec, form.first) || !trusted(engine, spec, form.second)) continue;
        const auto bytes = static_cast<double>(n * batch_count(spec) * elem_bytes_of(spec));
        form.seconds = (*seconds + kTurnCopies * bytes / spec.memory_bytes_per_second) / spec.threads;
        return form;
    }
    return std::nullopt;
}

bool is_allowed(const LocalSpec& spec, const LongLineForm& form) {
    const index_t allowed_bytes = CheckAllowance::bytes();
    const index_t arrays_bytes = (spec.in_place ? 1 : 2) * points_of(spec) * batch_count(spec) * elem_bytes_of(spec);
    return allowed_bytes == 0 || arrays_bytes + long_line_bytes(spec, form) <= allowed_bytes;
}

}  // namespace

std::optional<LongLineForm> long_line_form(const Engine& engine, const LocalSpec& asked, const RateTable& rates) {
    const LocalSpec spec = canonical(asked);
    if (!may_be_long(spec) || !engine.supports(spec).ok()) return std::nullopt;
    const index_t n = points_of(spec);
    std::optional<LongLineForm> best;
    int tried = 0;
    const auto root = static_cast<index_t>(std::sqrt(static_cast<double>(n)));
    for (index_t divisor = root; divisor > root / 16 && tried < kFormsTried; --divisor) {
        if (n % divisor != 0) continue;
        ++tried;
        for (const index_t first : {divisor, n / divisor}) {
            const index_t second = n / first;
            const auto seconds = sweeps_seconds(engine, spec, rates, first, second);
            if (!seconds) continue;
            const LongLineForm form{first, second, n * elem_bytes_of(spec) >= spec.caches.stream_worth_bytes(),
                                    *seconds / spec.threads};
            if (best && form.seconds >= best->seconds) continue;
            if (trusted(engine, spec, first) && trusted(engine, spec, second)) best = form;
        }
    }
    if (!best) return best;
    // What was measured of such lines says what the best form takes; the figures of its parts only that it is the best,
    // and how much more a turn is.
    const auto measured = two_sweeps_seconds(rates, engine.name(), spec);
    const double of_parts = measured ? *measured / best->seconds : 1;
    best->seconds *= of_parts;
    if (is_allowed(spec, *best)) return best;
    if (spec.in_place) best = turned_form(engine, spec, rates);
    if (!best || !is_allowed(spec, *best)) return std::nullopt;
    best->seconds *= of_parts;
    return best;
}

index_t long_line_bytes(const LocalSpec& asked, const LongLineForm& form) {
    const LocalSpec spec = canonical(asked);
    const index_t elem = elem_bytes_of(spec), n = form.first * form.second;
    const index_t tile = tile_bytes(form, columns_form(spec, form), rows_form(spec, form));
    index_t row = Twiddles::Row::bytes(twiddled_points(form), spec.precision);
    index_t tables = Twiddles::bytes(n, spec.precision);
    if (!is_c2c(spec.kernel)) {
        row += Twiddles::Row::bytes(spec.kernel == Kernel::r2c ? form.second : form.first, spec.precision);
        tables += Twiddles::bytes(2 * n, spec.precision);
    }
    return spec.threads * (tile + row) + tables + (spec.in_place && !form.turns ? n * elem : 0);
}

std::string LongLineForm::describe() const {
    return cat(turns ? "a turn in place and two sweeps of " : "two sweeps of ", first, " x ", second);
}

Result<std::unique_ptr<LocalFft>> plan_long_line(const Engine& engine, const LocalSpec& asked,
                                                 const LongLineForm& form) {
    return LongLineFft::make(engine, canonical(asked), form);
}

}  // namespace spanfft
