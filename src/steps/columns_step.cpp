// Columns through tiles, twiddled, whole or in pieces; see columns_step.hpp.
#include "steps/columns_step.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>
#include <map>

#include "core/buffer.hpp"
#include "core/shared_team.hpp"
#include "core/stream_copy.hpp"
#include "engine/line_tile.hpp"
#include "steps/transform_step.hpp"

namespace spanfft {

namespace {

// A column beside its points: 2573 columns of 30 complex floats take a rank 530 us, of which the engine and the copies
// take half, on an EPYC of 2023.
constexpr double kColumnSeconds = 100e-9;

// A rank's columns, and the tile for some of them.
struct Form {
    index_t batch = 1, points = 1, columns = 0, first_column = 0;
    index_t n = 1;      // points of a whole line, in all columns of all ranks
    index_t parts = 0;  // of a column in pieces; 0: whole
    index_t elem_bytes = 16;
    LineTileForm tile;

    Form(const ColumnsSpec& spec, int rank) {
        const Layout& matrix = (forward(spec) ? spec.from : spec.to).layout;
        const Layout& other = (forward(spec) ? spec.to : spec.from).layout;
        const auto axis = static_cast<size_t>(spec.axis);
        const Patch patch = matrix.patch(rank);
        batch = product(patch_shape(patch), 0, spec.axis);
        points = patch[axis].count;
        columns = patch[axis + 1].count;
        first_column = patch[axis + 1].start;
        n = matrix.shape()[axis] * matrix.shape()[axis + 1];
        if (other.ndim() > matrix.ndim()) parts = other.shape()[axis];
        elem_bytes = static_cast<index_t>(spec.from.elem.bytes());
        if (elems() > 0) tile = line_tile_form(spec.caches, points, elem_bytes, columns);
    }
    static bool forward(const ColumnsSpec& spec) { return spec.kernel == Kernel::c2c_forward; }

    index_t elems() const { return batch * points * columns; }
    index_t bytes() const { return elems() * elem_bytes; }
    index_t piece_points() const { return points / parts; }
    // Of the matrix, and of piece `part` of a column.
    index_t column_offset_bytes(index_t array, index_t column) const {
        return (array * points * columns + column) * elem_bytes;
    }
    index_t piece_offset_bytes(index_t array, index_t part, index_t column) const {
        return ((array * parts + part) * columns + column) * piece_points() * elem_bytes;
    }
};

// `lines` rows of the tile.
LocalSpec lines_of(const ColumnsSpec& spec, const Form& form, index_t lines) {
    const index_t pitch = form.tile.pitch_bytes / form.elem_bytes;
    LocalSpec local = line_tile_call(form.tile, spec.kernel, spec.from.elem.precision, spec.measure);
    local.batch = {{lines, pitch, pitch}};
    local.caches = spec.caches;
    local.memory_bytes_per_second = spec.memory_bytes_per_second;
    return local;
}

// The columns as they lie, for the seconds: the rates of strided transforms have the gathering in them.
LocalSpec strided(const ColumnsSpec& spec, const Form& form) {
    LocalSpec local = lines_of(spec, form, form.columns);
    local.transform = {{form.points, form.columns, form.columns}};
    local.batch = {{form.batch, form.points * form.columns, form.points * form.columns}, {form.columns, 1, 1}};
    local.in_place = false;  // the tile's lines are rows
    local.threads = spec.threads;
    return local;
}

template <index_t kBytes>
void copy_dealt(index_t count, const char* from, index_t from_stride, char* to, index_t to_stride) {
    for (index_t i = 0; i < count; ++i)
        std::memcpy(to + i * to_stride * kBytes, from + i * from_stride * kBytes, kBytes);
}

// Elements that lie `stride` apart on one side.
void copy_dealt(index_t elem_bytes, index_t count, const char* from, index_t from_stride, char* to, index_t to_stride) {
    switch (elem_bytes) {
        case 8:
            return copy_dealt<8>(count, from, from_stride, to, to_stride);
        case 16:
            return copy_dealt<16>(count, from, from_stride, to, to_stride);
        default:
            return copy_dealt<32>(count, from, from_stride, to, to_stride);
    }
}

// A tile's memory and plans; one for each thread.
struct alignas(64) Member {
    Buffer memory;
    LineTile tile;
    Twiddles::Row factors;
    std::map<index_t, std::unique_ptr<CountedFft>> plans;  // by number of lines
    mutable index_t moved_bytes = 0, twiddled = 0;

    double flops() const {
        double sum = 6 * static_cast<double>(twiddled);
        for (const auto& [lines, plan] : plans) sum += plan->done().flops;
        return sum;
    }
};

class BoundColumns final : public BoundRowWork {
  public:
    BoundColumns(const ColumnsSpec& spec, int rank) : spec_(spec), form_(spec, rank) {}

    // For calls of these numbers of columns.
    Status prepare(Binding& binding, const std::vector<index_t>& counts) {
        if (form_.elems() == 0) return {};
        const Precision precision = spec_.from.elem.precision;
        SPANFFT_ASSIGN(twiddles_, Twiddles::make(form_.n, precision, !forward()));
        team_ = SharedTeam::of(spec_.threads, form_.bytes());
        members_.resize(static_cast<size_t>(team_ ? team_->size() : 1));
        for (Member& member : members_) {
            SPANFFT_ASSIGN(member.memory, Buffer::allocate(static_cast<size_t>(form_.tile.bytes())));
            member.tile = LineTile(member.memory, form_.tile);
            SPANFFT_ASSIGN(member.factors, Twiddles::Row::make(form_.points, precision));
            for (const index_t count : counts) {
                if (count >= form_.tile.lines) SPANFFT_TRY(plan(binding, member, form_.tile.lines));
                if (count % form_.tile.lines > 0) SPANFFT_TRY(plan(binding, member, count % form_.tile.lines));
            }
        }
        return {};
    }

    Counts run(const void* in, void* out, const AxisRange& columns, Trace* trace) const override {
        Counts counts;
        if (members_.empty()) return counts;
        TraceScope scope(trace, "transform", TraceCategory::compute);
        const Counts before = done();
        const index_t call_bytes = form_.batch * columns.count * form_.points * form_.elem_bytes;
        const bool stream = call_bytes >= spec_.caches.stream_worth_bytes();
        const index_t groups = ceil_div(columns.count, form_.tile.lines), tiles = form_.batch * groups;
        const auto one = [&](index_t i, const Member& member) {
            const index_t first = i % groups * form_.tile.lines;
            const index_t count = std::min(form_.tile.lines, columns.count - first);
            run_tile({i / groups, columns.start + first, count, stream}, static_cast<const char*>(in),
                     static_cast<char*>(out), member);
        };
        if (team_) {
            std::atomic<index_t> next{0};
            team_->run([&](int member) {
                for (index_t i = next++; i < tiles; i = next++) one(i, members_[static_cast<size_t>(member)]);
                stream_fence();
            });
        } else {
            for (index_t i = 0; i < tiles; ++i) one(i, members_[0]);
            stream_fence();
        }
        counts = done();
        counts.flops -= before.flops;
        counts.memory_bytes -= before.memory_bytes;
        scope.moved(counts.memory_bytes);
        return counts;
    }

  private:
    // Columns `first` on of one array of the batch.
    struct Lines {
        index_t array, first, count;
        bool stream;
    };

    Status plan(Binding& binding, Member& member, index_t lines) const {
        if (member.plans.count(lines)) return {};
        SPANFFT_ASSIGN(EngineChoice choice, plan_local(lines_of(spec_, form_, lines), spec_.engine, spec_.rates));
        binding.engine_ran(choice.engine);
        member.plans.emplace(lines, std::move(choice.fft));
        return {};
    }

    // By all threads, in all runs.
    Counts done() const {
        Counts counts;
        for (const Member& member : members_) {
            counts.flops += member.flops();
            counts.memory_bytes += member.moved_bytes;
        }
        return counts;
    }

    bool forward() const { return Form::forward(spec_); }
    void run_tile(const Lines& lines, const char* in, char* out, const Member& member) const {
        const bool pieces_in = form_.parts > 0 && !forward(), pieces_out = form_.parts > 0 && forward();
        pieces_in ? load_pieces(lines, in, member) : load_columns(lines, in, member);
        if (!forward()) twiddle(lines, member);
        member.plans.at(lines.count)->execute(member.memory.data(), member.memory.data());
        if (forward()) twiddle(lines, member);
        pieces_out ? store_pieces(lines, out, member) : store_columns(lines, out, member);
        member.moved_bytes += 2 * lines.count * form_.points * form_.elem_bytes;
    }

    void twiddle(const Lines& lines, const Member& member) const {
        for (index_t i = 0; i < lines.count; ++i) {
            char* const line = member.tile.line(i);
            twiddles_.multiply_row(member.factors, form_.first_column + lines.first + i, form_.points, spec_.scale,
                                   line, line, false);
        }
        member.twiddled += lines.count * form_.points;
    }

    void load_columns(const Lines& lines, const char* in, const Member& member) const {
        member.tile.fetch(member.tile.all(lines.count), in + form_.column_offset_bytes(lines.array, lines.first),
                          form_.columns * form_.elem_bytes);
    }

    void store_columns(const Lines& lines, char* out, const Member& member) const {
        member.tile.put(member.tile.all(lines.count), out + form_.column_offset_bytes(lines.array, lines.first),
                        form_.columns * form_.elem_bytes, lines.stream);
    }

    // piece(bytes of it, its first point in the line, the line's points between two of its, where it lies)
    template <class Piece>
    void each_piece(const Lines& lines, index_t i, const Piece& piece) const {
        const index_t points = form_.piece_points();
        for (index_t part = 0; part < form_.parts; ++part) {
            const index_t first = spec_.dealt ? part : part * points;
            piece(points, first * form_.elem_bytes, spec_.dealt ? form_.parts : 1,
                  form_.piece_offset_bytes(lines.array, part, lines.first + i));
        }
    }

    void load_pieces(const Lines& lines, const char* in, const Member& member) const {
        for (index_t i = 0; i < lines.count; ++i) {
            each_piece(lines, i, [&](index_t points, index_t first_byte, index_t step, index_t offset) {
                char* to = member.tile.line(i) + first_byte;
                if (step == 1)
                    std::memcpy(to, in + offset, static_cast<size_t>(points * form_.elem_bytes));
                else
                    copy_dealt(form_.elem_bytes, points, in + offset, 1, to, step);
            });
        }
    }

    void store_pieces(const Lines& lines, char* out, const Member& member) const {
        for (index_t i = 0; i < lines.count; ++i) {
            each_piece(lines, i, [&](index_t points, index_t first_byte, index_t step, index_t offset) {
                const char* from = member.tile.line(i) + first_byte;
                const auto bytes = static_cast<size_t>(points * form_.elem_bytes);
                if (step != 1)
                    copy_dealt(form_.elem_bytes, points, from, step, out + offset, 1);
                else if (lines.stream)
                    stream_copy(out + offset, from, bytes);
                else
                    std::memcpy(out + offset, from, bytes);
            });
        }
    }

    const ColumnsSpec spec_;
    const Form form_;
    Twiddles twiddles_;
    std::vector<Member> members_;       // none where there are no columns
    std::unique_ptr<SharedTeam> team_;  // nullptr: this thread alone
};

Result<std::unique_ptr<BoundRowWork>> bind_columns(const ColumnsSpec& spec, Binding& binding,
                                                   const std::vector<index_t>& counts) {
    auto bound = std::make_unique<BoundColumns>(spec, binding.comm.rank());
    SPANFFT_TRY(bound->prepare(binding, counts));
    return std::unique_ptr<BoundRowWork>(std::move(bound));
}

class ColumnsTask final : public Task {
  public:
    ColumnsTask(std::unique_ptr<BoundRowWork> work, index_t columns, const ColumnsSpec& spec)
        : work_(std::move(work)), columns_{0, columns, 1}, source_(spec.source), target_(spec.target) {}
    Status run(RunContext& context) override {
        counts_ = work_->run(context.at(source_), context.at(target_), columns_, context.trace);
        return Status();
    }
    Counts counted() const override { return counts_; }

  private:
    std::unique_ptr<BoundRowWork> work_;
    AxisRange columns_;
    Slot source_, target_;
    Counts counts_;
};

class ColumnsStep final : public Step {
  public:
    ColumnsStep(ColumnsSpec spec, std::string engine, double seconds_of_rank0)
        : spec_(std::move(spec)), engine_(std::move(engine)), seconds_of_rank0_(seconds_of_rank0) {}
    const char* type() const override { return "Columns"; }

    std::string describe() const override {
        const Form form(spec_, 0);
        return cat(kernel_name(spec_.kernel), " axis ", spec_.axis, " by ", engine_,
                   spec_.threads > 1 ? cat(" on ", spec_.threads, " threads") : std::string(), ", twiddled",
                   form.parts > 1 ? cat(", in ", form.parts, spec_.dealt ? " parts that are dealt" : " parts")
                   : form.parts   ? std::string(", turned")
                                  : std::string(),
                   spec_.scale != 1 ? ", scaled" : "", ", ", spec_.from.layout.describe(), " -> ",
                   spec_.to.layout.describe(), ", ", slot_name(spec_.source), " -> ", slot_name(spec_.target));
    }

    Counts price(int rank) const override {
        const Form form(spec_, rank);
        Counts counts;
        if (form.elems() == 0) return counts;
        counts.flops = transform_flops(strided(spec_, form)) + 6 * static_cast<double>(form.elems());
        counts.memory_bytes = 2 * form.bytes();
        counts.seconds =
            seconds_of_rank0_ * static_cast<double>(form.bytes()) / static_cast<double>(Form(spec_, 0).bytes());
        return counts;
    }

    index_t own_memory_bytes(int rank) const override {
        const Form form(spec_, rank);
        if (form.elems() == 0) return 0;
        const Precision precision = spec_.from.elem.precision;
        return spec_.threads * (form.tile.bytes() + Twiddles::Row::bytes(form.points, precision)) +
               Twiddles::bytes(form.n, precision);
    }

    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        const index_t columns = Form(spec_, binding.comm.rank()).columns;
        SPANFFT_ASSIGN(auto work, bind_columns(spec_, binding, {columns}));
        return std::unique_ptr<Task>(new ColumnsTask(std::move(work), columns, spec_));
    }

  private:
    ColumnsSpec spec_;
    std::string engine_;
    double seconds_of_rank0_;
};

class ColumnsRowWork final : public RowWork {
  public:
    explicit ColumnsRowWork(ColumnsSpec spec) : spec_(std::move(spec)) {}
    Slot source() const override { return spec_.source; }
    Slot target() const override { return spec_.target; }
    // On both sides the columns' axis is the one behind, or behind the parts'.
    bool cuts(int axis) const override { return axis == spec_.axis + 1; }
    Result<std::unique_ptr<Step>> step(const Machine&, std::vector<std::string>& notes) const override {
        return make_columns_step(spec_, notes);
    }
    Result<std::unique_ptr<BoundRowWork>> bind(Binding& binding, int,
                                               const std::vector<index_t>& counts) const override {
        return bind_columns(spec_, binding, counts);
    }

  private:
    ColumnsSpec spec_;
};

}  // namespace

Result<std::unique_ptr<Step>> make_columns_step(ColumnsSpec spec, std::vector<std::string>& notes) {
    const Form form(spec, 0);
    std::string engine = "copy";
    double seconds = 0;
    if (form.elems() > 0) {
        SPANFFT_ASSIGN(const EngineForecast tile,
                       forecast_local(lines_of(spec, form, form.tile.lines), spec.engine, spec.rates));
        SPANFFT_ASSIGN(const EngineForecast whole, forecast_local(strided(spec, form), spec.engine, spec.rates));
        engine = tile.engine;
        seconds = whole.seconds + static_cast<double>(form.columns * form.batch) * kColumnSeconds / spec.threads;
        for (const auto& note : tile.passed_over) {
            if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
        }
    }
    return std::unique_ptr<Step>(new ColumnsStep(std::move(spec), engine, seconds));
}

std::unique_ptr<RowWork> columns_in_rows(ColumnsSpec spec) { return std::make_unique<ColumnsRowWork>(std::move(spec)); }

}  // namespace spanfft
