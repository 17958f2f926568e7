// Sums of rows near each row, and what undoes their window; see segment_step.hpp.
#include "steps/segment_step.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cmath>
#include <cstring>
#include <numbers>

#include "core/buffer.hpp"
#include "core/root_of_unity.hpp"
#include "core/shared_team.hpp"

namespace spanfft {

namespace {

index_t floor_div(index_t a, index_t b) { return a >= 0 ? a / b : -ceil_div(-a, b); }
index_t ceil_of(index_t a, index_t b) { return -floor_div(-a, b); }

// Which source rows a target row is a sum of. Target row a = period i times `targets` + place p sums `count` rows from
// row i times `sources` + first(p) on.
struct Stencil {
    index_t sources, targets, count;
    index_t taps;
    bool backward;

    Stencil(const SegmentWindow& w, Direction direction) : taps(w.taps), backward(direction == Direction::backward) {
        sources = backward ? w.over : w.under;
        targets = backward ? w.under : w.over;
        count = backward ? ceil_of((taps + 1) * w.over, w.under) + 1 : taps + 2;
    }
    index_t first(index_t place) const {
        return backward ? floor_div((2 * place - taps) * sources, 2 * targets)
                        : floor_div(2 * place * sources - taps * targets, 2 * targets);
    }
    index_t start(index_t target) const { return target / targets * sources + first(target % targets); }
    index_t reach() const {
        index_t reach = 0;
        for (index_t place = 0; place < targets; ++place) {
            const index_t before = ceil_of(place * sources - first(place) * targets, targets);
            const index_t behind = ceil_of((first(place) + count) * targets - place * sources, targets);
            reach = std::max({reach, before, behind});
        }
        return reach;
    }
    // In units of the window, from column `column` of `columns` in source row first(place) + tap.
    long double distance(index_t place, index_t tap, index_t column, index_t columns) const {
        const index_t source = first(place) + tap;
        const long double rows =
            backward ? static_cast<long double>(source * targets - place * sources) / static_cast<long double>(sources)
                     : static_cast<long double>(place * sources - source * targets) / static_cast<long double>(targets);
        const long double side = static_cast<long double>(column) / static_cast<long double>(columns);
        return rows - side;
    }
};

// A rank's rows on either side.
struct Share {
    index_t batch = 1, columns = 1;
    index_t source_rows = 0, target_rows = 0, first_target = 0;
    index_t elem_bytes = 0;
    index_t row_bytes() const { return columns * elem_bytes; }
};

Share share_of(const ConvolveSpec& spec, int rank) {
    const Patch from = spec.from.layout.patch(rank), to = spec.to.layout.patch(rank);
    const size_t rows = from.size() - 2;
    Share share;
    if (rows == 1) share.batch = from[0].count;
    share.columns = from.back().count;
    share.source_rows = from[rows].count;
    share.target_rows = to[rows].count;
    share.first_target = to[rows].start;
    share.elem_bytes = static_cast<index_t>(spec.from.elem.bytes());
    return share;
}

// The parts of one rank's buffers that its neighbours get and give: of what it sends, its first rows go to the rank
// before it and its last rows to the one behind; what it receives lies in the order of the senders' buffers.
struct Neighbours {
    std::vector<BytesPart> send, receive;
    Neighbours(int rank, int ranks, index_t part_bytes) {
        send.resize(static_cast<size_t>(ranks));
        receive.resize(static_cast<size_t>(ranks));
        const auto before = static_cast<size_t>((rank + ranks - 1) % ranks);
        const auto behind = static_cast<size_t>((rank + 1) % ranks);
        if (before == behind) {  // two ranks: each gets both parts of the other's
            send[before] = receive[before] = {0, 2 * part_bytes};
            return;
        }
        send[before] = receive[behind] = {0, part_bytes};
        send[behind] = receive[before] = {part_bytes, part_bytes};
    }
};

// Where a convolution's memory lies, beyond the slots.
struct Work {
    index_t reach = 0, part_bytes = 0, weights_bytes = 0, edge_bytes = 0;
    Work(const Stencil& stencil, const Share& share)
        : reach(stencil.reach()),
          part_bytes(reach * share.batch * share.row_bytes()),
          weights_bytes(stencil.targets * stencil.count * share.row_bytes()),
          edge_bytes(3 * reach * share.row_bytes()) {}
    index_t bytes() const { return 4 * part_bytes + weights_bytes + 2 * edge_bytes; }
};

template <class T>
void fill_weights(const SegmentWindow& window, const Stencil& stencil, index_t columns, Pair<T>* weights) {
    for (index_t place = 0; place < stencil.targets; ++place) {
        for (index_t tap = 0; tap < stencil.count; ++tap) {
            for (index_t column = 0; column < columns; ++column, ++weights) {
                const long double t = stencil.distance(place, tap, column, columns), w = window.value(t);
                const long double angle = (stencil.backward ? -t : t) * std::numbers::pi_v<long double>;
                *weights = {static_cast<T>(w * std::cos(angle)), static_cast<T>(w * std::sin(angle))};
            }
        }
    }
}

// One target row. Columns: their number, or 0 for any.
template <class T, index_t Columns>
void sum_rows(const Pair<T>* x, const Pair<T>* w, index_t count, index_t any, Pair<T>* to) {
    const index_t columns = Columns ? Columns : any;
    if constexpr (Columns > 0) {
        Pair<T> sum[Columns] = {};
        for (index_t tap = 0; tap < count; ++tap, x += Columns, w += Columns) {
            for (index_t c = 0; c < Columns; ++c) {
                sum[c].re += x[c].re * w[c].re - x[c].im * w[c].im;
                sum[c].im += x[c].re * w[c].im + x[c].im * w[c].re;
            }
        }
        std::copy(sum, sum + Columns, to);
    } else {
        std::fill(to, to + columns, Pair<T>{0, 0});
        for (index_t tap = 0; tap < count; ++tap, x += columns, w += columns) {
            for (index_t c = 0; c < columns; ++c) {
                to[c].re += x[c].re * w[c].re - x[c].im * w[c].im;
                to[c].im += x[c].re * w[c].im + x[c].im * w[c].re;
            }
        }
    }
}

template <class T>
void sum_rows(const Pair<T>* x, const Pair<T>* w, index_t count, index_t columns, Pair<T>* to) {
    switch (columns) {
        case 2:
            return sum_rows<T, 2>(x, w, count, columns, to);
        case 4:
            return sum_rows<T, 4>(x, w, count, columns, to);
        case 8:
            return sum_rows<T, 8>(x, w, count, columns, to);
        default:
            return sum_rows<T, 0>(x, w, count, columns, to);
    }
}

class ConvolveTask final : public Task {
  public:
    ConvolveTask(const ConvolveSpec& spec, int rank)
        : precision_(spec.from.elem.precision),
          stencil_(spec.window, spec.direction),
          share_(share_of(spec, rank)),
          work_(stencil_, share_),
          source_(spec.source),
          target_(spec.target) {
        team_ = SharedTeam::of(spec.threads, share_.source_rows * share_.row_bytes());
    }

    Status prepare(const SegmentWindow& window) {
        SPANFFT_ASSIGN(memory_, Buffer::allocate(static_cast<size_t>(work_.bytes())));
        with_real(precision_, [&](auto real) {
            fill_weights(window, stencil_, share_.columns, memory_.as<Pair<decltype(real)>>());
        });
        return Status();
    }

    // Collective over the group.
    Status connect(const GroupComm& group) {
        const Neighbours neighbours(group.comm->rank(), group.comm->size(), work_.part_bytes);
        wire_ = group.counts;
        SPANFFT_ASSIGN(transfer_, group.comm->make_alltoallv(neighbours.send, neighbours.receive));
        return Status();
    }

    Status run(RunContext& context) override {
        const Counts before = *wire_;
        counts_ = Counts();
        moved_bytes_ = 0;
        summed_rows_ = 0;
        const auto* from = static_cast<const char*>(context.at(source_));
        auto* to = static_cast<char*>(context.at(target_));
        pack(from);
        SPANFFT_TRY(transfer_->start(sent(), received()));
        const TraceScope scope(context.trace, "convolve", TraceCategory::compute);
        sum_inner(from, to);
        SPANFFT_TRY(transfer_->finish());
        sum_edges(from, to);
        counts_.messages = wire_->messages - before.messages;
        counts_.sent_bytes = wire_->sent_bytes - before.sent_bytes;
        counts_.calls = wire_->calls - before.calls;
        counts_.memory_bytes = moved_bytes_;
        counts_.flops = 8.0 * static_cast<double>(summed_rows_ * share_.columns);
        return Status();
    }
    Counts counted() const override { return counts_; }

  private:
    char* sent() const { return memory_.as<char>() + work_.weights_bytes; }
    char* received() const { return sent() + 2 * work_.part_bytes; }
    char* edges() const { return received() + 2 * work_.part_bytes; }
    index_t batch_bytes() const { return share_.source_rows * share_.row_bytes(); }
    // The first source row of a target row, both counted from this rank's own.
    index_t start(index_t target) const {
        const index_t own = share_.first_target / stencil_.targets * stencil_.sources +
                            share_.first_target % stencil_.targets * stencil_.sources / stencil_.targets;
        return stencil_.start(share_.first_target + target) - own;
    }

    void copy(char* to, const char* from, index_t bytes) {
        std::memcpy(to, from, static_cast<size_t>(bytes));
        moved_bytes_ += 2 * bytes;
    }

    // First rows of each array, then last rows of each.
    void pack(const char* from) {
        const index_t bytes = work_.reach * share_.row_bytes();
        for (index_t i = 0; i < share_.batch; ++i, from += batch_bytes()) {
            copy(sent() + i * bytes, from, bytes);
            copy(sent() + work_.part_bytes + i * bytes, from + batch_bytes() - bytes, bytes);
        }
    }

    // Target rows `begin` to `end`, whose source rows lie where `row(first source row)` says.
    template <class T, class Row>
    void sum_range(index_t begin, index_t end, const Row& row, char* to) {
        const auto* weights = memory_.as<Pair<T>>();
        index_t bytes = 0;
        for (index_t target = begin; target < end; ++target) {
            const index_t place = (share_.first_target + target) % stencil_.targets;
            sum_rows<T>(reinterpret_cast<const Pair<T>*>(row(start(target))),
                        weights + place * stencil_.count * share_.columns, stencil_.count, share_.columns,
                        reinterpret_cast<Pair<T>*>(to + target * share_.row_bytes()));
            // Read: the source rows that the row before did not need.
            bytes += (1 + start(target + 1) - start(target)) * share_.row_bytes();
        }
        moved_bytes_ += bytes;
        summed_rows_ += (end - begin) * stencil_.count;
    }
    template <class Row>
    void sum_range(index_t begin, index_t end, const Row& row, char* to) {
        with_real(precision_, [&](auto real) { sum_range<decltype(real)>(begin, end, row, to); });
    }

    // Target rows of which all source rows are this rank's.
    std::pair<index_t, index_t> inner() const {
        index_t begin = 0, end = share_.target_rows;
        while (begin < end && start(begin) < 0) ++begin;
        while (end > begin && start(end - 1) + stencil_.count > share_.source_rows) --end;
        return {begin, end};
    }

    void sum_inner(const char* from, char* to) {
        const auto [begin, end] = inner();
        const index_t rows = end - begin, target_bytes = share_.target_rows * share_.row_bytes();
        for (index_t i = 0; i < share_.batch; ++i, from += batch_bytes(), to += target_bytes) {
            const auto row = [&](index_t source) { return from + source * share_.row_bytes(); };
            if (!team_) {
                sum_range(begin, end, row, to);
                continue;
            }
            const index_t members = team_->size();
            team_->run([&, first = begin](index_t member) {
                sum_range(first + rows * member / members, first + rows * (member + 1) / members, row, to);
            });
        }
    }

    // The others, from copies in which the neighbours' rows lie beside this rank's.
    void sum_edges(const char* from, char* to) {
        const auto [begin, end] = inner();
        const index_t rows = work_.reach, bytes = rows * share_.row_bytes();
        char *before = edges(), *behind = edges() + work_.edge_bytes;
        for (index_t i = 0; i < share_.batch; ++i, from += batch_bytes()) {
            copy(before, received() + work_.part_bytes + i * bytes, bytes);
            copy(before + bytes, from, 2 * bytes);
            copy(behind, from + batch_bytes() - 2 * bytes, 2 * bytes);
            copy(behind + 2 * bytes, received() + i * bytes, bytes);
            sum_range(0, begin, [&](index_t source) { return before + (source + rows) * share_.row_bytes(); }, to);
            sum_range(
                end, share_.target_rows,
                [&](index_t source) { return behind + (source - share_.source_rows + 2 * rows) * share_.row_bytes(); },
                to);
            to += share_.target_rows * share_.row_bytes();
        }
    }

    Precision precision_;
    Stencil stencil_;
    Share share_;
    Work work_;
    Slot source_, target_;
    Buffer memory_;  // weights, what is sent, what is received, the two edges
    std::unique_ptr<Transfer> transfer_;
    std::shared_ptr<Counts> wire_;
    std::unique_ptr<SharedTeam> team_;  // nullptr: this thread alone
    std::atomic<index_t> moved_bytes_{0}, summed_rows_{0};
    Counts counts_;
};

class ConvolveStep final : public Step {
  public:
    ConvolveStep(ConvolveSpec spec, const Machine& machine)
        : spec_(std::move(spec)),
          stencil_(spec_.window, spec_.direction),
          ranks_(spec_.from.layout.nranks()),
          bytes_per_second_(machine.memory_bytes_per_second) {
        const ExchangeFigures figures = machine.exchange("alltoallv");
        wire_ = machine.topology.nodes(ranks_) > 1 ? figures.far : figures.near;
    }
    const char* type() const override { return "Convolve"; }

    std::string describe() const override {
        return cat(spec_.window.taps, " taps, ", spec_.window.over, "/", spec_.window.under, " as many points, ",
                   stencil_.reach(), " rows of each neighbour, ", spec_.from.layout.describe(), " -> ",
                   spec_.to.layout.describe(), ", ", slot_name(spec_.source), " -> ", slot_name(spec_.target));
    }

    Counts price(int rank) const override {
        const Share share = share_of(spec_, rank);
        const Work work(stencil_, share);
        Counts counts;
        counts.messages = ranks_ == 2 ? 1 : 2;
        counts.sent_bytes = 2 * work.part_bytes;
        counts.calls = 1;
        counts.flops = 8.0 * static_cast<double>(share.batch * share.target_rows * stencil_.count * share.columns);
        counts.memory_bytes = spec_.from.local_bytes(rank) + spec_.to.local_bytes(rank) +
                              (4 + 12) * work.part_bytes;  // two parts packed; two edges of three, read and written
        counts.seconds = wire_.seconds(static_cast<double>(counts.messages), static_cast<double>(counts.sent_bytes)) +
                         std::max(static_cast<double>(counts.memory_bytes) / 2 / bytes_per_second_,
                                  static_cast<double>(share.batch * share.target_rows * stencil_.count) *
                                      static_cast<double>(share.row_bytes()) / cache_bytes_per_second());
        return counts;
    }

    index_t own_memory_bytes(int rank) const override { return Work(stencil_, share_of(spec_, rank)).bytes(); }

    // All ranks.
    std::vector<int> group(int /*rank*/) const override {
        std::vector<int> all(static_cast<size_t>(ranks_));
        for (int rank = 0; rank < ranks_; ++rank) all[static_cast<size_t>(rank)] = rank;
        return all;
    }

    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        const int rank = binding.comm.rank();
        SPANFFT_ASSIGN(const GroupComm all, binding.group(group(rank)));
        auto task = std::make_unique<ConvolveTask>(spec_, rank);
        // What follows is collective: a rank that lacks memory must not leave the others waiting there.
        SPANFFT_TRY(agree(*all.comm, task->prepare(spec_.window)));
        SPANFFT_TRY(task->connect(all));
        return std::unique_ptr<Task>(std::move(task));
    }

  private:
    // The sums run in the first-level cache, at about what a thread copies from memory.
    double cache_bytes_per_second() const { return bytes_per_second_; }

    ConvolveSpec spec_;
    Stencil stencil_;
    int ranks_;
    WireFigures wire_;
    double bytes_per_second_;
};

// --- demodulation ----------------------------------------------------------------------------------------------------

// Of a rank: columns of `from_rows` become columns of `to_rows`; the first `rows` points of each are multiplied.
struct Columns {
    index_t batch = 1, from_rows = 0, to_rows = 0, columns = 0;
    index_t rows() const { return std::min(from_rows, to_rows); }
};

Columns columns_of(const DemodulateSpec& spec, int rank) {
    const Patch from = spec.from.layout.patch(rank), to = spec.to.layout.patch(rank);
    const size_t rows = from.size() - 2;
    return {rows == 1 ? from[0].count : 1, from[rows].count, to[rows].count, from.back().count};
}

template <class T>
index_t demodulate(const Columns& c, const T* factors, const void* source, void* target) {
    const auto* from = static_cast<const Pair<T>*>(source);
    auto* to = static_cast<Pair<T>*>(target);
    for (index_t i = 0; i < c.batch; ++i, from += c.from_rows * c.columns, to += c.to_rows * c.columns) {
        for (index_t row = 0; row < c.rows(); ++row) {
            for (index_t at = row * c.columns; at < (row + 1) * c.columns; ++at)
                to[at] = {from[at].re * factors[row], from[at].im * factors[row]};
        }
        std::fill(to + c.rows() * c.columns, to + c.to_rows * c.columns, Pair<T>{0, 0});
    }
    return c.batch * (c.rows() + c.to_rows) * c.columns * static_cast<index_t>(sizeof(Pair<T>));
}

class DemodulateTask final : public Task {
  public:
    DemodulateTask(const DemodulateSpec& spec, int rank)
        : precision_(spec.from.elem.precision),
          columns_(columns_of(spec, rank)),
          source_(spec.source),
          target_(spec.target) {}

    Status prepare(const SegmentWindow& window, long double scale) {
        const auto bytes = static_cast<size_t>(columns_.rows()) * real_bytes(precision_);
        SPANFFT_ASSIGN(factors_, Buffer::allocate(bytes));
        const auto rows = static_cast<long double>(columns_.rows());
        const long double by = scale * static_cast<long double>(window.under) / static_cast<long double>(window.over);
        for (index_t row = 0; row < columns_.rows(); ++row) {
            const long double factor = by / window.spectrum(static_cast<long double>(row) / rows - 0.5L);
            with_real(precision_,
                      [&](auto real) { factors_.as<decltype(real)>()[row] = static_cast<decltype(real)>(factor); });
        }
        return Status();
    }

    Status run(RunContext& context) override {
        const TraceScope scope(context.trace, "demodulate", TraceCategory::compute);
        const void* from = context.at(source_);
        void* to = context.at(target_);
        counts_ = Counts();
        counts_.memory_bytes = with_real(
            precision_, [&](auto real) { return demodulate(columns_, factors_.as<decltype(real)>(), from, to); });
        counts_.flops = 2.0 * static_cast<double>(columns_.batch * columns_.rows() * columns_.columns);
        return Status();
    }
    Counts counted() const override { return counts_; }

  private:
    Precision precision_;
    Columns columns_;
    Slot source_, target_;
    Buffer factors_;
    Counts counts_;
};

class DemodulateStep final : public Step {
  public:
    DemodulateStep(DemodulateSpec spec, const Machine& machine)
        : spec_(std::move(spec)), bytes_per_second_(machine.memory_bytes_per_second) {}
    const char* type() const override { return "Demodulate"; }

    std::string describe() const override {
        return cat(spec_.scale != 1 ? "scaled, " : "", spec_.from.layout.describe(), " -> ", spec_.to.layout.describe(),
                   ", ", slot_name(spec_.source), " -> ", slot_name(spec_.target));
    }

    Counts price(int rank) const override {
        const Columns c = columns_of(spec_, rank);
        Counts counts;
        counts.flops = 2.0 * static_cast<double>(c.batch * c.rows() * c.columns);
        counts.memory_bytes =
            c.batch * (c.rows() + c.to_rows) * c.columns * static_cast<index_t>(spec_.from.elem.bytes());
        counts.seconds = static_cast<double>(counts.memory_bytes) / 2 / bytes_per_second_;
        return counts;
    }

    index_t own_memory_bytes(int rank) const override {
        return columns_of(spec_, rank).rows() * static_cast<index_t>(real_bytes(spec_.from.elem.precision));
    }

    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        auto task = std::make_unique<DemodulateTask>(spec_, binding.comm.rank());
        SPANFFT_TRY(task->prepare(spec_.window, spec_.scale));
        return std::unique_ptr<Task>(std::move(task));
    }

  private:
    DemodulateSpec spec_;
    double bytes_per_second_;
};

}  // namespace

index_t convolution_reach_rows(const SegmentWindow& window, Direction direction) {
    return Stencil(window, direction).reach();
}

std::unique_ptr<Step> make_convolve_step(ConvolveSpec spec, const Machine& machine) {
    assert(spec.source != spec.target);
    return std::make_unique<ConvolveStep>(std::move(spec), machine);
}

std::unique_ptr<Step> make_demodulate_step(DemodulateSpec spec, const Machine& machine) {
    assert(spec.source != spec.target);
    return std::make_unique<DemodulateStep>(std::move(spec), machine);
}

}  // namespace spanfft
