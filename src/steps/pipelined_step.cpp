// Transform and exchange in one; see pipelined_step.hpp.
#include "steps/pipelined_step.hpp"

#include <algorithm>
#include <map>

#include "exchange/chunks.hpp"

namespace spanfft {

namespace {

// One chunk of this rank: what transforms it, nullptr where it has no rows, and its first row.
struct PipelineChunk {
    const RowsTransform* transform = nullptr;
    index_t first_row = 0;
};

class PipelinedTask final : public Task {
  public:
    PipelinedTask(std::map<index_t, RowsTransform> transforms, std::vector<AxisRange> rows, BoundExchange bound,
                  const TransformSpec& spec, Slot target)
        : transforms_(std::move(transforms)),
          bound_(std::move(bound)),
          source_(spec.source),
          middle_(spec.target),
          target_(target) {
        for (const AxisRange& range : rows) {
            const auto found = transforms_.find(range.count);
            chunks_.push_back({found == transforms_.end() ? nullptr : &found->second, range.start});
        }
    }

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
            if (chunks_[i].transform) {
                counts_ += chunks_[i].transform->run(context.at(source_), context.at(middle_), chunks_[i].first_row,
                                                     context.trace);
            }
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
    std::map<index_t, RowsTransform> transforms_;  // by number of rows
    std::vector<PipelineChunk> chunks_;
    BoundExchange bound_;
    Slot source_, middle_, target_;
    Counts counts_;
};

class PipelinedStep final : public Step {
  public:
    PipelinedStep(TransformSpec transform, std::unique_ptr<Step> transform_step, ExchangeSpec exchange,
                  std::unique_ptr<Step> exchange_step, const ExchangeStrategy& strategy, Slot target,
                  const Machine& machine)
        : transform_(std::move(transform)),
          exchange_(std::move(exchange)),
          transform_step_(std::move(transform_step)),
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

    Counts predict(int rank) const override {
        const Counts transform = transform_step_->predict(rank), exchange = exchange_step_->predict(rank);
        Counts counts = transform;
        counts += exchange;
        counts.seconds =
            pipelined_seconds(transform.seconds, exchange.seconds, strategy_.chunks(exchange_, rank), overlap_share_);
        return counts;
    }

    index_t own_memory_bytes(int rank) const override {
        return transform_step_->own_memory_bytes(rank) + exchange_step_->own_memory_bytes(rank);
    }
    std::vector<Slot> shared_slots() const override { return exchange_step_->shared_slots(); }
    std::vector<const Step*> children() const override { return {transform_step_.get(), exchange_step_.get()}; }

    std::vector<int> group(int rank) const override { return exchange_step_->group(rank); }

    Result<std::unique_ptr<Task>> bind(Binding& binding) const override {
        SPANFFT_ASSIGN(BoundExchange bound, bind_exchange(exchange_, strategy_, transform_.target, binding));
        const int rank = binding.comm.rank();
        const index_t count = exchange_.from.range(rank, axis()).count;
        std::map<index_t, RowsTransform> transforms;
        std::vector<AxisRange> rows;
        for (int chunk = 0; chunk < bound.exchange->chunks(); ++chunk) {
            rows.push_back(strategy_.rows(exchange_, rank, chunk));
            const index_t n = rows.back().count;
            if (n == 0 || transforms.count(n)) continue;
            SPANFFT_ASSIGN(auto made, RowsTransform::make(transform_, rank, {axis(), n}));
            if (!made.engine().empty()) binding.engine_ran(made.engine());
            transforms.emplace(n, std::move(made));
        }
        index_t all = 0;
        for (const AxisRange& range : rows) all += range.count;
        if (all != count) return error(Code::internal, "chunks hold ", all, " of ", count, " rows");
        return std::unique_ptr<Task>(
            new PipelinedTask(std::move(transforms), std::move(rows), std::move(bound), transform_, target_));
    }

  private:
    int axis() const { return chunk_axis(exchange_.from, exchange_.to); }

    TransformSpec transform_;
    ExchangeSpec exchange_;
    std::unique_ptr<Step> transform_step_, exchange_step_;
    const ExchangeStrategy& strategy_;  // in the static table
    Slot target_;
    double overlap_share_;
};

}  // namespace

double pipelined_seconds(double compute_seconds, double exchange_seconds, int chunks, double share) {
    const double sum = compute_seconds + exchange_seconds;
    const double best =
        std::max(compute_seconds / chunks + exchange_seconds, compute_seconds + exchange_seconds / chunks);
    return sum - share * (sum - best);
}

bool can_pipeline(const TransformSpec& transform, const ExchangeSpec& exchange, const ExchangeStrategy& strategy,
                  Slot exchange_target) {
    if (transform.axes.empty() || !strategy.rows || transform.source == exchange_target) return false;
    if (!exchange.from.has_grid() || !exchange.to.has_grid()) return false;
    const int axis = chunk_axis(exchange.from, exchange.to);
    if (std::find(transform.axes.begin(), transform.axes.end(), axis) != transform.axes.end()) return false;
    return strategy.chunks(exchange, 0) > 1;  // nobody has more rows than rank 0
}

std::unique_ptr<Step> make_pipelined_step(TransformSpec transform, std::unique_ptr<Step> transform_step,
                                          ExchangeSpec exchange, std::unique_ptr<Step> exchange_step,
                                          const ExchangeStrategy& strategy, Slot exchange_target,
                                          const Machine& machine) {
    return std::make_unique<PipelinedStep>(std::move(transform), std::move(transform_step), std::move(exchange),
                                           std::move(exchange_step), strategy, exchange_target, machine);
}

}  // namespace spanfft
