// Pairs of real numbers; see split_step.hpp.
#include "steps/split_step.hpp"

#include <algorithm>
#include <array>
#include <cassert>

#include "core/buffer.hpp"
#include "core/root_of_unity.hpp"
#include "plan/exchange_cost.hpp"

namespace spanfft {

namespace {

constexpr index_t kChunk = 64;  // factors are products of a chunk's and one in it, each rounded once
constexpr double kFlops = 16;   // a point

index_t pairs_of(const SplitSpec& spec) {
    return std::min(spec.from.layout.shape().back(), spec.to.layout.shape().back());
}

AxisRange points_of(const ArrayState& state, int rank) { return state.layout.patch(rank).back(); }

// Where a run of the mirrored half lies, for all lines.
struct Mirror {
    index_t first = 0, count = 0;  // indices along the axis
    int owner = -1;                // whose window; -1: in the step's buffer
    index_t offset_elems = 0;      // from the owner's first element
    index_t line_elems = 0;        // between lines
};

// Points [begin, end) of a line of a rank, and the run of the mirrored half that they need.
template <class T>
struct Line {
    const Pair<T>*from = nullptr, *mirrored = nullptr;
    Pair<T>* to = nullptr;
    index_t start = 0;   // the index of from[0] and to[0]
    index_t mirror = 0;  // and of mirrored[0]
    index_t m = 0;
    index_t begin = 0, end = 0;
};

template <class T>
class Splitter {
  public:
    Splitter(Halving halving, const RootTable& roots) : joins_(halving == Halving::join), roots_(roots) {
        for (index_t i = 0; i < kChunk; ++i) fine_[static_cast<size_t>(i)] = root(i % roots_.n());
    }

    // Returns how many points it made.
    index_t run(const Line<T>& line) const {
        index_t made = 0;
        for (index_t first = line.begin; first < line.end; first += kChunk) {
            const index_t count = std::min(kChunk, line.end - first);
            const Pair<T> chunk = root(first % roots_.n());
            for (index_t i = 0; i < count; ++i) {
                const Pair<T> w = multiply(chunk, fine_[static_cast<size_t>(i)]);
                line.to[first + i - line.start] = point(line, first + i, w);
            }
            made += count;
        }
        return made;
    }

  private:
    // w^k, or w^(-k) to join.
    Pair<T> root(index_t k) const {
        const Pair<long double> r = roots_.at(k);
        return {static_cast<T>(r.re), static_cast<T>(joins_ ? r.im : -r.im)};
    }

    Pair<T> point(const Line<T>& line, index_t k, const Pair<T>& w) const {
        Pair<T> x{}, y{};
        const auto mirrored = [&](index_t at) { return line.mirrored[at - line.mirror]; };
        if (joins_) {
            x = line.from[k - line.start];
            y = mirrored(line.m - k);
            if (k == 0) x.im = y.im = 0;
        } else {
            x = k == line.m ? mirrored(0) : line.from[k - line.start];
            y = k == 0 ? x : mirrored(line.m - k);
        }
        const Pair<T> sum{x.re + y.re, x.im - y.im}, difference = multiply(w, {x.re - y.re, x.im + y.im});
        if (joins_) return {sum.re - difference.im, sum.im + difference.re};
        return {(sum.re + difference.im) / 2, (sum.im - difference.re) / 2};
    }

    const bool joins_;
    const RootTable& roots_;
    std::array<Pair<T>, kChunk> fine_;
};

class SplitTask final : public Task {
  public:
    SplitTask(const SplitSpec& spec, std::vector<Mirror> mirrors, int rank, RootTable roots)
        : spec_(spec),
          points_(points_of(spec.to, rank)),
          from_points_(points_of(spec.from, rank).count),
          mirrors_(std::move(mirrors)),
          lines_(points_.count ? spec.to.layout.local_elems(rank) / points_.count : 0),
          roots_(std::move(roots)) {}
    // One of the two: where the mirrored half is read, or what moves it into a buffer.
    void read_in(SharedWindow& window) { window_ = &window; }
    void move_into(Buffer buffer, BoundExchange exchange) {
        buffer_ = std::move(buffer);
        exchange_ = std::move(exchange);
    }

    Status run(RunContext& context) override {
        counts_ = Counts();
        Status status = window_ ? window_->barrier() : move(context);
        const TraceScope scope(context.trace, "split", TraceCategory::compute);
        with_real(spec_.from.elem.precision, [&](auto real) { run_lines<decltype(real)>(context); });
        if (window_) keep_first(status, window_->barrier());  // after a failure too: the others come to it
        return status;
    }
    Counts counted() const override { return counts_; }

  private:
    Status move(RunContext& context) {
        const Counts before = *exchange_.wire;
        const index_t moved_bytes = exchange_.exchange->moved_bytes();
        Status status = exchange_.exchange->run(context.at(spec_.source), buffer_.data(), context.trace);
        counts_.messages = exchange_.wire->messages - before.messages;
        counts_.sent_bytes = exchange_.wire->sent_bytes - before.sent_bytes;
        counts_.calls = exchange_.wire->calls - before.calls;
        counts_.memory_bytes = exchange_.exchange->moved_bytes() - moved_bytes;
        return status;
    }

    template <class T>
    void run_lines(RunContext& context) {
        const Splitter<T> splitter(spec_.halving, roots_);
        const index_t end = points_.start + points_.count;
        Line<T> line{static_cast<const Pair<T>*>(context.at(spec_.source)),
                     nullptr,
                     static_cast<Pair<T>*>(context.at(spec_.target)),
                     points_.start,
                     0,
                     pairs_of(spec_)};
        index_t made = 0;
        for (index_t i = 0; i < lines_; ++i) {
            if (spec_.halving == Halving::split && points_.start == 0) {  // X[0] needs Z[0] alone
                line.begin = 0;
                line.end = 1;
                made += splitter.run(line);
            }
            for (const Mirror& mirror : mirrors_) {
                const void* const owner = mirror.owner < 0 ? buffer_.data() : window_->part(mirror.owner);
                line.mirrored = static_cast<const Pair<T>*>(owner) + mirror.offset_elems + i * mirror.line_elems;
                line.mirror = mirror.first;
                line.begin = std::max(points_.start, line.m - mirror.first - mirror.count + 1);
                line.end = std::min(end, line.m - mirror.first + 1);
                made += splitter.run(line);
            }
            line.from += from_points_;
            line.to += points_.count;
        }
        counts_.flops = kFlops * static_cast<double>(made);
        counts_.memory_bytes += 3 * made * static_cast<index_t>(sizeof(Pair<T>));
    }

    SplitSpec spec_;
    AxisRange points_;
    index_t from_points_;
    std::vector<Mirror> mirrors_;
    index_t lines_;
    RootTable roots_;
    SharedWindow* window_ = nullptr;
    BoundExchange exchange_;
    Buffer buffer_;
    Counts counts_;
};

// In the windows of those that have them.
std::vector<Mirror> mirrors_in_windows(const ExchangeSpec& moved, int rank) {
    std::vector<Mirror> mirrors;
    const Patch mine = moved.to.patch(rank);
    for (const Piece& piece : pieces_to_receive(moved.from, moved.to, rank)) {
        if (piece.elems() == 0) continue;
        const AxisRange here = piece.local.back();
        const Patch theirs = moved.from.patch(piece.peer);
        const index_t first = mine.back().start + here.start;
        mirrors.push_back({first, here.count, piece.peer, first - theirs.back().start, theirs.back().count});
    }
    return mirrors;
}

// Whether each of a rank's lines is, on the ranks that have its mirrored half, the line of the same number.
bool same_lines(const ExchangeSpec& moved) {
    for (int rank = 0; rank < moved.to.nranks(); ++rank) {
        Patch mine = moved.to.patch(rank);
        for (const Piece& piece : pieces_to_receive(moved.from, moved.to, rank)) {
            if (piece.elems() == 0) continue;
            mine.back() = moved.from.patch(piece.peer).back();
            if (mine != moved.from.patch(piece.peer)) return false;
        }
    }
    return true;
}

class SplitStep final : public Step {
  public:
    SplitStep(SplitSpec spec, ExchangeSpec moved, const ExchangeStrategy& strategy, const Machine& machine)
        : spec_(std::move(spec)),
          moved_(std::move(moved)),
          strategy_(strategy),
          figures_(machine.exchange(strategy.name)),
          copy_bytes_per_second_(machine.copy_bytes_per_second(moved_.from.nranks())),
          bytes_per_second_(machine.memory_bytes_per_second) {
        const bool one_node = moved_.topology.nodes(moved_.from.nranks()) == 1;
        moved_.in_window = strategy_.uses_window && spec_.owned && one_node;
        in_place_ = moved_.in_window && same_lines(moved_);
    }
    const char* type() const override { return spec_.halving == Halving::split ? "Split" : "Join"; }

    std::string describe() const override {
        return cat("mirrored half ", in_place_ ? "where it is in the window" : "by ",
                   in_place_ ? std::string() : exchange_text(strategy_, moved_.parameter), ", ",
                   spec_.from.layout.describe(), " -> ", spec_.to.layout.describe(), ", ", slot_name(spec_.source),
                   " -> ", slot_name(spec_.target));
    }

    Counts price(int rank) const override {
        Counts counts;
        if (!in_place_) {
            counts = strategy_.predict(moved_, rank);
            counts.seconds = exchange_seconds(exchange_load(moved_, rank, moved_.topology), counts, figures_,
                                              copy_bytes_per_second_);
        }
        const index_t elems = spec_.to.layout.local_elems(rank), bytes = 3 * elems * moved_.elem_bytes;
        counts.flops += kFlops * static_cast<double>(elems);
        counts.memory_bytes += bytes;
        counts.seconds += static_cast<double>(bytes) / 2 / bytes_per_second_;
        return counts;
    }

    index_t own_memory_bytes(int rank) const override {
        const index_t exchange_bytes = in_place_ ? 0 : strategy_.buffer_bytes(moved_, rank);
        return exchange_bytes + buffer_bytes(rank) + RootTable::bytes(2 * pairs_of(spec_));
    }

    std::vector<Slot> shared_slots() const override {
        return moved_.in_window ? std::vector<Slot>{spec_.source} : std::vector<Slot>{};
    }

    std::vector<int> group(int rank) const override {
        return in_place_ ? std::vector<int>() : exchange_group(moved_.from, moved_.to, rank);
    }

    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        const int rank = binding.comm.rank();
        BoundExchange exchange;
        if (!in_place_) {
            SPANFFT_ASSIGN(exchange, bind_exchange(moved_, strategy_, spec_.source, binding));
        }
        SPANFFT_ASSIGN(RootTable roots, RootTable::make(2 * pairs_of(spec_)));
        Buffer buffer;
        if (buffer_bytes(rank) > 0) {
            SPANFFT_ASSIGN(buffer, Buffer::allocate(static_cast<size_t>(buffer_bytes(rank))));
        }
        const AxisRange moved = moved_.to.patch(rank).back();
        std::vector<Mirror> mirrors = in_place_ ? mirrors_in_windows(moved_, rank)
                                                : std::vector<Mirror>{{moved.start, moved.count, -1, 0, moved.count}};
        auto task = std::make_unique<SplitTask>(spec_, std::move(mirrors), rank, std::move(roots));
        if (in_place_)
            task->read_in(*binding.window(spec_.source));
        else
            task->move_into(std::move(buffer), std::move(exchange));
        return std::unique_ptr<Task>(std::move(task));
    }

  private:
    index_t buffer_bytes(int rank) const { return in_place_ ? 0 : moved_.to.local_elems(rank) * moved_.elem_bytes; }

    SplitSpec spec_;
    ExchangeSpec moved_;
    bool in_place_ = false;             // the mirrored half is read in others' windows
    const ExchangeStrategy& strategy_;  // in the static table
    ExchangeFigures figures_;
    double copy_bytes_per_second_, bytes_per_second_;
};

}  // namespace

Result<Layout> mirrored_half(const SplitSpec& spec) {
    const index_t m = pairs_of(spec);
    const bool joins = spec.halving == Halving::join;
    Extents shape = spec.from.layout.shape();
    std::vector<Patch> boxes;
    boxes.reserve(static_cast<size_t>(spec.to.layout.nranks()));
    for (int rank = 0; rank < spec.to.layout.nranks(); ++rank) {
        Patch box = spec.to.layout.patch(rank);
        const AxisRange points = box.back();
        // m-k for these k; of split, where Z[m] is Z[0], not for k = 0. X[0] mirrors X[m] of none: the last rank has
        // it.
        const index_t first = joins ? points.start : std::max(points.start, index_t{1});
        const index_t end = points.start + points.count;
        const bool last = joins && points.count > 0 && end == m;
        const index_t start = last ? 0 : std::max(m - end + 1, index_t{0});
        const index_t stop = points.count > 0 ? std::max(m - first + 1, start) : start;
        box.back() = {std::min(start, shape.back()), points.count > 0 ? stop - start : 0, 1};
        boxes.push_back(std::move(box));
    }
    return Layout::from_boxes(std::move(shape), std::move(boxes));
}

Result<std::unique_ptr<Step>> make_split_step(SplitSpec spec, const ExchangeChoice& choice, const Machine& machine) {
    assert(spec.source != spec.target);
    SPANFFT_ASSIGN(Layout mirrored, mirrored_half(spec));
    const ArrayState target{std::move(mirrored), spec.from.elem};
    ExchangeSpec moved = exchange_spec(spec.from, target, choice.parameter, machine);
    const ExchangeStrategy* strategy = choice.strategy;
    if (!strategy->check(moved).ok()) {  // it may do the plan's other exchanges and not this one
        strategy = find_exchange("alltoallv").strategy;
        moved.parameter.clear();
    }
    return std::unique_ptr<Step>(new SplitStep(std::move(spec), std::move(moved), *strategy, machine));
}

}  // namespace spanfft
