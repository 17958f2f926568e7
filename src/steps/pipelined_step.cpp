// Computation and exchange in one; see pipelined_step.hpp.
#include "steps/pipelined_step.hpp"

#include "exchange/chunks.hpp"

namespace spanfft {

namespace {

class PipelinedTask final : public Task {
  public:
    PipelinedTask(std::unique_ptr<BoundRowWork> work, std::vector<AxisRange> chunks, BoundExchange bound,
                  const RowWork& slots, Slot target)
        : work_(std::move(work)),
          chunks_(std::move(chunks)),
          bound_(std::move(bound)),
          source_(slots.source()),
          middle_(slots.target()),
          target_(target) {}

    // After a failure too, to the end: the other ranks are in the chunks that are left.
    Status run(RunContext& context) override {
        const Counts before = *bound_.wire;
        const index_t moved_bytes = bound_.exchange->moved_bytes();
        counts_ = Counts();
        Status first;
        const auto enter_chunk = [&](size_t i) {
            if (context.trace) context.trace->enter_chunk(static_cast<int>(i));
        };
        for (size_t i = 0; i < chunks_.size(); ++i) {
            enter_chunk(i);
            if (chunks_[i].count > 0)
                counts_ += work_->run(context.at(source_), context.at(middle_), chunks_[i], context.trace);
            const TraceScope scope(context.trace, "pack", TraceCategory::communication);
            keep_first(first, bound_.exchange->start(static_cast<int>(i), context.at(middle_), context.at(target_)));
        }
        for (size_t i = 0; i < chunks_.size(); ++i) {
            enter_chunk(i);
            const TraceScope scope(context.trace, "unpack", TraceCategory::communication);
            keep_first(first, bound_.exchange->finish(static_cast<int>(i)));
        }
        counts_.messages = bound_.wire->messages - before.messages;
        counts_.sent_bytes = bound_.wire->sent_bytes - before.sent_bytes;
        counts_.calls = bound_.wire->calls - before.calls;
        counts_.memory_bytes += bound_.exchange->moved_bytes() - moved_bytes;
        return first;
    }
    Counts counted() const override { return counts_; }

  private:
    std::unique_ptr<BoundRowWork> work_;
    std::vector<AxisRange> chunks_;  // rows of this rank, none in some
    BoundExchange bound_;
    Slot source_, middle_, target_;
    Counts counts_;
};

class PipelinedStep final : public Step {
  public:
    PipelinedStep(std::unique_ptr<RowWork> work, std::unique_ptr<Step> work_step, ExchangeSpec exchange,
                  std::unique_ptr<Step> exchange_step, const ExchangeStrategy& strategy, Slot target,
                  const Machine& machine)
        : work_(std::move(work)),
          exchange_(std::move(exchange)),
          work_step_(std::move(work_step)),
          exchange_step_(std::move(exchange_step)),
          strategy_(strategy),
          target_(target),
          overlap_share_(strategy.overlaps ? machine.overlap_share : 0) {}
    const char* type() const override { return "TransformExchange"; }

    std::string describe() const override {
        return cat(exchange_text(strategy_, exchange_.parameter), " in ", strategy_.chunks(exchange_, 0),
                   " chunks of axis ", axis(), ", each ",
                   strategy_.overlaps ? "under way while the next is" : "sent when", " transformed");
    }

    Counts price(int rank) const override {
        const Counts work = work_step_->predict(rank), exchange = exchange_step_->predict(rank);
        Counts counts = work;
        counts += exchange;
        counts.seconds =
            pipelined_seconds(work.seconds, exchange.seconds, strategy_.chunks(exchange_, rank), overlap_share_);
        return counts;
    }

    index_t own_memory_bytes(int rank) const override {
        return work_step_->own_memory_bytes(rank) + exchange_step_->own_memory_bytes(rank);
    }
    std::vector<Slot> shared_slots() const override { return exchange_step_->shared_slots(); }
    std::vector<const Step*> children() const override { return {work_step_.get(), exchange_step_.get()}; }

    std::vector<int> group(int rank) const override { return exchange_step_->group(rank); }

    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        SPANFFT_ASSIGN(BoundExchange bound, bind_exchange(exchange_, strategy_, work_->target(), binding));
        const int rank = binding.comm.rank();
        const index_t count = exchange_.from.range(rank, axis()).count;
        std::vector<AxisRange> chunks;
        std::vector<index_t> counts;
        index_t all = 0;
        for (int chunk = 0; chunk < bound.exchange->chunks(); ++chunk) {
            chunks.push_back(strategy_.rows(exchange_, rank, chunk));
            all += chunks.back().count;
            if (chunks.back().count > 0) counts.push_back(chunks.back().count);
        }
        if (all != count) return error(Code::internal, "chunks hold ", all, " of ", count, " rows");
        SPANFFT_ASSIGN(auto work, work_->bind(binding, axis(), counts));
        return std::unique_ptr<Task>(
            new PipelinedTask(std::move(work), std::move(chunks), std::move(bound), *work_, target_));
    }

  private:
    int axis() const { return chunk_axis(exchange_); }

    std::unique_ptr<RowWork> work_;
    ExchangeSpec exchange_;
    std::unique_ptr<Step> work_step_, exchange_step_;
    const ExchangeStrategy& strategy_;  // in the static table
    Slot target_;
    double overlap_share_;
};

// That the work can be cut along, of those that are whole before and after the exchange; else `otherwise`.
int longest_whole_axis(const RowWork& work, const ExchangeSpec& exchange, int otherwise) {
    int longest = otherwise;
    index_t most = 1;
    for (int axis = 0; axis < exchange.from.ndim(); ++axis) {
        const index_t rows = exchange.from.shape()[static_cast<size_t>(axis)];
        if (rows <= most || !work.cuts(axis) || !exchange.from.is_whole(axis) || !exchange.to.is_whole(axis)) continue;
        longest = axis;
        most = rows;
    }
    return longest;
}

}  // namespace

double pipelined_seconds(double compute_seconds, double exchange_seconds, int chunks, double share) {
    const double sum = compute_seconds + exchange_seconds;
    const double best =
        std::max(compute_seconds / chunks + exchange_seconds, compute_seconds + exchange_seconds / chunks);
    return sum - share * (sum - best);
}

std::optional<ExchangeSpec> pipelined(const RowWork& work, const ExchangeSpec& exchange,
                                      const ExchangeStrategy& strategy, Slot exchange_target) {
    if (!strategy.rows || work.source() == exchange_target) return std::nullopt;
    if (!exchange.from.has_grid() || !exchange.to.has_grid()) return std::nullopt;
    ExchangeSpec cut = exchange;
    // Nobody has more rows than rank 0.
    const Extents rows = patch_shape(exchange.from.patch(0));
    const int axis = chunk_axis(exchange);
    if (rows[static_cast<size_t>(axis)] <= 1) cut.rows_axis = longest_whole_axis(work, exchange, axis);
    if (!work.cuts(chunk_axis(cut)) || strategy.chunks(cut, 0) <= 1) return std::nullopt;
    return cut;
}

std::unique_ptr<Step> make_pipelined_step(std::unique_ptr<RowWork> work, std::unique_ptr<Step> work_step,
                                          ExchangeSpec exchange, std::unique_ptr<Step> exchange_step,
                                          const ExchangeStrategy& strategy, Slot exchange_target,
                                          const Machine& machine) {
    return std::make_unique<PipelinedStep>(std::move(work), std::move(work_step), std::move(exchange),
                                           std::move(exchange_step), strategy, exchange_target, machine);
}

}  // namespace spanfft
