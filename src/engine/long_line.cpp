// The two sweeps; see long_line.hpp.
#include "engine/long_line.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/caches.hpp"
#include "core/shared_team.hpp"
#include "core/stream_copy.hpp"
#include "core/twiddles.hpp"
#include "engine/rates.hpp"
#include "engine/spec.hpp"
#include "engine/tile.hpp"
#include "engine/trust.hpp"
#include "engine/turn.hpp"

namespace spanfft {

namespace {

constexpr index_t kLine = 64;
constexpr index_t kMostRunBytes = 512;
constexpr index_t kCallBytes = index_t{256} << 10;  // of lines that one call of the engine transforms
constexpr index_t kAhead = 6;                       // rows that are fetched ahead while columns become rows
constexpr index_t kWorthBytes = index_t{1} << 20;   // a shorter line stays in the second cache, whole
constexpr int kFormsTried = 3;                      // divisors next to the square root, each in both orders
constexpr double kSweepCopies = 3.8;                // a sweep takes so many copies, turns and twiddles included

index_t elem_bytes_of(const LocalSpec& spec) { return static_cast<index_t>(ElemType{spec.precision, true}.bytes()); }

index_t tile_budget_bytes(const Caches& caches) { return caches.l2_bytes / 2; }

// How lines of one length lie in a tile.
struct TileForm {
    index_t points = 0, lines = 0, lines_a_call = 1, pitch_bytes = 0;
    index_t bytes() const { return lines * pitch_bytes; }
};

TileForm tile_form(const Caches& caches, index_t points, index_t elem_bytes) {
    TileForm form;
    form.points = points;
    const index_t line_bytes = points * elem_bytes, unit = kLine / elem_bytes;
    const index_t fit = tile_budget_bytes(caches) / line_bytes / unit * unit;
    form.lines = std::clamp(fit, unit, kMostRunBytes / elem_bytes);
    while (form.lines_a_call * 2 * line_bytes <= kCallBytes && form.lines % (form.lines_a_call * 2) == 0)
        form.lines_a_call *= 2;
    form.pitch_bytes = row_pitch_bytes(line_bytes);
    return form;
}

LocalSpec lines_of(const LocalSpec& spec, const TileForm& tile) {
    const index_t elem = elem_bytes_of(spec);
    LocalSpec lines;
    lines.kernel = is_c2c(spec.kernel)          ? spec.kernel
                   : spec.kernel == Kernel::r2c ? Kernel::c2c_forward
                                                : Kernel::c2c_backward;
    lines.precision = spec.precision;
    lines.transform = {{tile.points, 1, 1}};
    if (tile.lines_a_call > 1) lines.batch = {{tile.lines_a_call, tile.pitch_bytes / elem, tile.pitch_bytes / elem}};
    lines.in_place = true;
    lines.measure = spec.measure;
    return lines;
}

// Elements before the first one that begins a cache line; 0 where none does.
index_t lead_elems(const void* array, index_t elem_bytes) {
    const auto past = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(array) % kLine);
    return past % elem_bytes ? 0 : (kLine - past) % kLine / elem_bytes;
}

// The columns of a matrix in groups. The first group ends where a cache line of the array begins, so that the runs of
// the others are whole lines.
struct Groups {
    index_t columns, lead, width;
    Groups(const void* array, index_t elem_bytes, index_t all, index_t most) : columns(all), width(most) {
        lead = std::min(lead_elems(array, elem_bytes), columns);
    }
    index_t count() const { return (lead > 0 ? 1 : 0) + ceil_div(columns - lead, width); }
    index_t begin(index_t group) const {
        if (lead == 0) return group * width;
        return group == 0 ? 0 : lead + (group - 1) * width;
    }
    index_t end(index_t group) const { return group + 1 == count() ? columns : begin(group + 1); }
};

// The same for real data, where column c is needed with column `columns` - c: group 0 is columns 0 and columns / 2,
// which are needed with themselves; every other one is `count` low columns and as many high ones, low[i] with
// high[count-1-i].
struct Pairs {
    index_t columns, width;
    struct Group {
        index_t low, high, count;
    };
    index_t count() const { return 1 + ceil_div((columns - 1) / 2, width); }
    Group at(index_t group) const {
        const index_t low = 1 + (group - 1) * width, count = std::min(width, (columns - 1) / 2 + 1 - low);
        return {low, columns - low - count + 1, count};
    }
};

class LongLineFft final : public LocalFft {
  public:
    static Result<std::unique_ptr<LocalFft>> make(const Engine& engine, const LocalSpec& spec,
                                                  const LongLineForm& form) {
        auto made = std::unique_ptr<LongLineFft>(new LongLineFft(spec, form));
        const bool backward = spec.kernel == Kernel::c2c_backward || spec.kernel == Kernel::c2r;
        made->team_ = SharedTeam::of(spec.threads);
        SPANFFT_ASSIGN(made->twiddles_, Twiddles::make(made->points_, spec.precision, backward));
        if (!is_c2c(spec.kernel)) {
            SPANFFT_ASSIGN(made->folds_, Twiddles::make(2 * made->points_, spec.precision, backward));
        }
        if (spec.in_place) {
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
        Buffer tile;
        Twiddles::Row row, fold;
        std::unique_ptr<LocalFft> columns, rows;  // some lines of the tile
        char* line(const TileForm& form, index_t i) const { return tile.as<char>() + i * form.pitch_bytes; }
    };

    LongLineFft(const LocalSpec& spec, const LongLineForm& form)
        : form_(form),
          kernel_(spec.kernel),
          batch_(spec.batch),
          scale_(static_cast<double>(spec.scale)),
          elem_bytes_(elem_bytes_of(spec)),
          in_bytes_(static_cast<index_t>(input_type(spec).bytes())),
          out_bytes_(static_cast<index_t>(output_type(spec).bytes())),
          points_(form.first * form.second),
          columns_(tile_form(spec.caches, form.first, elem_bytes_)),
          rows_(tile_form(spec.caches, form.second, elem_bytes_)) {}

    Status make_member(const Engine& engine, const LocalSpec& spec, Member& member) const {
        const auto tile_bytes = static_cast<size_t>(std::max(columns_.bytes(), rows_.bytes()));
        SPANFFT_ASSIGN(member.tile, Buffer::allocate(tile_bytes));
        std::fill_n(member.tile.as<char>(), tile_bytes,
                    '\0');  // a call may have lines that are not used: no NaN
        SPANFFT_ASSIGN(member.row, Twiddles::Row::make(form_.first, spec.precision));
        if (!is_c2c(kernel_)) {
            SPANFFT_ASSIGN(member.fold,
                           Twiddles::Row::make(kernel_ == Kernel::r2c ? form_.second : form_.first, spec.precision));
        }
        SPANFFT_ASSIGN(member.columns, engine.plan(lines_of(spec, columns_)));
        SPANFFT_ASSIGN(member.rows, engine.plan(lines_of(spec, rows_)));
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
            const Pairs pairs{form_.second, columns_.lines / 2};
            share(pairs.count(),
                  [&](index_t group, const Member& member) { unfold_1(pairs, group, in, between, member); });
        } else {
            const Groups groups(in, elem_bytes_, form_.second, columns_.lines);
            share(groups.count(), [&](index_t group, const Member& member) {
                sweep_1(in, between, groups.begin(group), groups.end(group), member);
            });
        }
        if (kernel_ == Kernel::r2c) {
            const Pairs pairs{form_.first, rows_.lines / 2};
            share(pairs.count(),
                  [&](index_t group, const Member& member) { fold_2(pairs, group, between, out, member); });
        } else {
            const Groups groups(out, elem_bytes_, form_.first, rows_.lines);
            share(groups.count(), [&](index_t group, const Member& member) {
                sweep_2(between, out, groups.begin(group), groups.end(group), member);
            });
        }
    }

    // Columns [begin, end) of the input, `second` columns wide, into rows [begin, end) of length `first`.
    void sweep_1(const char* in, char* between, index_t begin, index_t end, const Member& member) const {
        fetch(in, form_.second, begin, end, columns_, member, 0);
        transform(*member.columns, columns_, end - begin, member);
        leave(between, begin, end, member, 0);
    }

    // Columns [begin, end) of what is between, `first` columns wide, where they come from.
    void sweep_2(const char* between, char* out, index_t begin, index_t end, const Member& member) const {
        fetch(between, form_.first, begin, end, rows_, member, 0);
        transform(*member.rows, rows_, end - begin, member);
        put(out, begin, end, member, 0);
    }

    // Sweep 1 of c2r: the spectrum of real numbers becomes that of pairs of them.
    void unfold_1(const Pairs& pairs, index_t group, const char* in, char* between, const Member& member) const {
        Twiddles::Fold fold;
        fold.j = form_.second;
        fold.factor = {0, 1};
        if (group == 0) {
            alone_1(0, fold, in, between, member);
            if (form_.second % 2 == 0) alone_1(form_.second / 2, fold, in, between, member);
            return;
        }
        const auto [low, high, count] = pairs.at(group);
        fetch(in, form_.second, low, low + count, columns_, member, 0);
        fetch(in, form_.second, high, high + count, columns_, member, count);
        for (index_t i = 0; i < count; ++i) {
            fold.start = low + i;
            folds_.fold_rows(member.fold, fold, form_.first, member.line(columns_, i),
                             member.line(columns_, 2 * count - 1 - i));
        }
        transform(*member.columns, columns_, 2 * count, member);
        leave(between, low, low + count, member, 0);
        leave(between, high, high + count, member, count);
    }

    void alone_1(index_t column, Twiddles::Fold fold, const char* in, char* between, const Member& member) const {
        fetch(in, form_.second, column, column + 1, columns_, member, 0);
        char* line = member.line(columns_, 0);
        if (column == 0) fold_ends(line,
                                   const_cast<char*>(in) + points_ * elem_bytes_);  // only read
        fold_alone(column, fold, form_.first, line);
        transform(*member.columns, columns_, 1, member);
        leave(between, column, column + 1, member, 0);
    }

    // Sweep 2 of r2c: the spectrum of pairs of real numbers becomes that of the numbers.
    void fold_2(const Pairs& pairs, index_t group, const char* between, char* out, const Member& member) const {
        Twiddles::Fold fold;
        fold.j = form_.first;
        fold.s = 0.5;
        fold.factor = {0, -0.5};
        if (group == 0) {
            alone_2(0, fold, between, out, member);
            if (form_.first % 2 == 0) alone_2(form_.first / 2, fold, between, out, member);
            return;
        }
        const auto [low, high, count] = pairs.at(group);
        fetch(between, form_.first, low, low + count, rows_, member, 0);
        fetch(between, form_.first, high, high + count, rows_, member, count);
        transform(*member.rows, rows_, 2 * count, member);
        for (index_t i = 0; i < count; ++i) {
            fold.start = low + i;
            folds_.fold_rows(member.fold, fold, form_.second, member.line(rows_, i),
                             member.line(rows_, 2 * count - 1 - i));
        }
        put(out, low, low + count, member, 0);
        put(out, high, high + count, member, count);
    }

    void alone_2(index_t column, Twiddles::Fold fold, const char* between, char* out, const Member& member) const {
        fetch(between, form_.first, column, column + 1, rows_, member, 0);
        transform(*member.rows, rows_, 1, member);
        char* line = member.line(rows_, 0);
        if (column == 0) fold_ends(line, out + points_ * elem_bytes_);
        fold_alone(column, fold, form_.second, line);
        put(out, column, column + 1, member, 0);
    }

    // A column that is needed with itself: k with points - k in column 0, else with points - 1 - k.
    void fold_alone(index_t column, Twiddles::Fold fold, index_t points, char* line) const {
        const index_t sum = column == 0 ? points : points - 1;
        for (index_t k = column == 0 ? 1 : 0; 2 * k <= sum; ++k) {
            fold.start = column + fold.j * k;
            folds_.fold_pair(fold, line + k * elem_bytes_, line + (sum - k) * elem_bytes_);
        }
    }

    // The first number of pairs and the first and last ones of the spectrum, which are real: (x, y) of c2r is (x + y, x
    // - y) of the pairs, and r2c's the same with x and y the parts of the pairs'. c2r takes parts that must be 0 as 0.
    template <class T>
    void fold_ends(void* first, void* last) const {
        auto& x = *static_cast<Pair<T>*>(first);
        if (kernel_ == Kernel::r2c) {
            *static_cast<Pair<T>*>(last) = {x.re - x.im, 0};
            x = {x.re + x.im, 0};
        } else {
            const T y = static_cast<const Pair<T>*>(last)->re;
            x = {x.re + y, x.re - y};
        }
    }
    void fold_ends(void* first, void* last) const {
        elem_bytes_ == sizeof(Pair<double>) ? fold_ends<double>(first, last) : fold_ends<float>(first, last);
    }

    // Columns [begin, end) of an array, `width` columns wide, into lines of the tile from `line` on.
    void fetch(const char* array, index_t width, index_t begin, index_t end, const TileForm& tile, const Member& member,
               index_t line) const {
        const Turn turn{array + begin * elem_bytes_,
                        width * elem_bytes_,
                        member.line(tile, line),
                        tile.pitch_bytes,
                        tile.points,
                        end - begin,
                        elem_bytes_};
        turn_in(turn, kAhead);
    }

    void transform(const LocalFft& fft, const TileForm& tile, index_t lines, const Member& member) const {
        for (index_t line = 0; line < lines; line += tile.lines_a_call)
            fft.execute(member.line(tile, line), member.line(tile, line));
    }

    // Lines of the tile from `line` on leave as rows [begin, end) of what is between.
    void leave(char* between, index_t begin, index_t end, const Member& member, index_t line) const {
        for (index_t row = begin; row < end; ++row, ++line) {
            twiddles_.multiply_row(member.row, row, form_.first, scale_, member.line(columns_, line),
                                   between + row * form_.first * elem_bytes_, form_.stream);
        }
    }

    // Lines of the tile from `line` on become columns [begin, end) of the output, whole cache lines apart from the
    // ends.
    void put(char* out, index_t begin, index_t end, const Member& member, index_t line) const {
        const index_t unit = kLine / elem_bytes_;
        const index_t whole = std::min(end, begin + lead_elems(out + begin * elem_bytes_, elem_bytes_));
        const index_t rest = whole + (end - whole) / unit * unit;
        for (const auto& [first, last] : {std::pair{begin, whole}, {whole, rest}, {rest, end}}) {
            const Turn turn{member.line(rows_, line + first - begin),
                            rows_.pitch_bytes,
                            out + first * elem_bytes_,
                            form_.first * elem_bytes_,
                            last - first,
                            form_.second,
                            elem_bytes_};
            if (last > first) turn_out(turn, form_.stream);
        }
    }

    const LongLineForm form_;
    const Kernel kernel_;
    const std::vector<LoopDim> batch_;
    const double scale_;
    const index_t elem_bytes_;            // of a complex number
    const index_t in_bytes_, out_bytes_;  // of an element
    const index_t points_;                // complex ones: half as many as real ones
    const TileForm columns_, rows_;       // of the two sweeps
    Twiddles twiddles_, folds_;
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
    const TileForm tile = tile_form(spec.caches, points, elem_bytes_of(spec));
    if (tile.bytes() > 2 * tile_budget_bytes(spec.caches)) return std::nullopt;
    LocalSpec all = lines_of(spec, tile);
    all.batch = {{lines, points, points}};
    const double bytes = static_cast<double>(points * lines * elem_bytes_of(spec));
    // Each run of a tile's columns costs about a cache line more than it has.
    const index_t run_bytes = tile.lines * elem_bytes_of(spec) / (paired ? 2 : 1);
    const double runs = 1 + static_cast<double>(kLine) / static_cast<double>(run_bytes);
    return expected_seconds(rates, engine.name(), all) + kSweepCopies * bytes * runs / spec.memory_bytes_per_second;
}

bool trusted(const Engine& engine, const LocalSpec& spec, index_t points) {
    return distrust(engine, lines_of(spec, tile_form(spec.caches, points, elem_bytes_of(spec)))).empty();
}

}  // namespace

std::optional<LongLineForm> long_line_form(const Engine& engine, const LocalSpec& asked, const RateTable& rates) {
    const LocalSpec spec = canonical(asked);
    if (!may_be_long(spec) || !engine.supports(spec).ok()) return std::nullopt;
    const index_t n = points_of(spec), lines = batch_count(spec);
    std::optional<LongLineForm> best;
    int tried = 0;
    const auto root = static_cast<index_t>(std::sqrt(static_cast<double>(n)));
    for (index_t divisor = root; divisor > root / 16 && tried < kFormsTried; --divisor) {
        if (n % divisor != 0) continue;
        ++tried;
        for (const index_t first : {divisor, n / divisor}) {
            const index_t second = n / first;
            const auto columns = sweep_seconds(engine, spec, rates, first, second * lines, spec.kernel == Kernel::c2r),
                       rows = sweep_seconds(engine, spec, rates, second, first * lines, spec.kernel == Kernel::r2c);
            if (!columns || !rows) continue;
            const LongLineForm form{first, second, n * elem_bytes_of(spec) >= spec.caches.stream_worth_bytes(),
                                    (*columns + *rows) / spec.threads};
            if (best && form.seconds >= best->seconds) continue;
            if (trusted(engine, spec, first) && trusted(engine, spec, second)) best = form;
        }
    }
    const index_t allowed_bytes = CheckAllowance::bytes();
    const index_t arrays_bytes = (spec.in_place ? 1 : 2) * n * lines * elem_bytes_of(spec);
    if (best && allowed_bytes > 0 && arrays_bytes + long_line_bytes(spec, *best) > allowed_bytes) return std::nullopt;
    return best;
}

index_t long_line_bytes(const LocalSpec& asked, const LongLineForm& form) {
    const LocalSpec spec = canonical(asked);
    const index_t elem = elem_bytes_of(spec), n = form.first * form.second;
    const index_t tile =
        std::max(tile_form(spec.caches, form.first, elem).bytes(), tile_form(spec.caches, form.second, elem).bytes());
    index_t row = Twiddles::Row::bytes(form.first, spec.precision), tables = Twiddles::bytes(n);
    if (!is_c2c(spec.kernel)) {
        row += Twiddles::Row::bytes(spec.kernel == Kernel::r2c ? form.second : form.first, spec.precision);
        tables += Twiddles::bytes(2 * n);
    }
    return spec.threads * (tile + row) + tables + (spec.in_place ? n * elem : 0);
}

std::string LongLineForm::describe() const { return cat("two sweeps of ", first, " x ", second); }

Result<std::unique_ptr<LocalFft>> plan_long_line(const Engine& engine, const LocalSpec& asked,
                                                 const LongLineForm& form) {
    return LongLineFft::make(engine, canonical(asked), form);
}

}  // namespace spanfft
