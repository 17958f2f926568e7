// Exchange through memory that all ranks of a node see (spanfft): one copy, no packing, no messages.
//
// Method: each rank's source lies in a shared window; after a barrier every rank copies what it needs from the
// others' windows straight into its target, and a second barrier tells them that their sources are free again. When
// the source is not in the window already, it is copied there first. Solver `shared` goes further and
// fuses the copy with the next transform.
// Cost: a read and a write of the local array; a second of each where the source is foreign.
#include "exchange/shared.hpp"

#include <algorithm>
#include <cstring>

#include "comm/strided_copy.hpp"

namespace spanfft {

namespace {

index_t source_bytes(const ExchangeSpec& spec, int rank) { return spec.from.local_elems(rank) * spec.elem_bytes; }
index_t target_bytes(const ExchangeSpec& spec, int rank) { return spec.to.local_elems(rank) * spec.elem_bytes; }

class SharedExchange final : public Exchange {
  public:
    static Result<std::unique_ptr<Exchange>> make(const ExchangeBinding& binding) {
        const ExchangeSpec& spec = binding.spec;
        auto exchange = std::unique_ptr<SharedExchange>(new SharedExchange);
        exchange->source_bytes_ = source_bytes(spec, binding.rank);
        exchange->window_ = binding.window;
        if (!binding.window) {
            SPANFFT_ASSIGN(exchange->own_window_, binding.comm.make_window(exchange->source_bytes_));
            exchange->window_ = exchange->own_window_.get();
        }
        // A window that was given numbers ranks as the layouts do, our own as the group does.
        exchange->me_ = binding.window ? binding.rank : binding.comm.rank();
        const auto pieces = pieces_to_receive(spec.from, spec.to, binding.rank);
        for (size_t i = 0; i < pieces.size(); ++i) {
            if (pieces[i].elems() == 0) continue;
            const int peer = pieces[i].peer;
            const Patch theirs = spec.from.patch(peer);
            const Piece there = make_piece(binding.rank, theirs, spec.to.patch(binding.rank));
            exchange->moves_.push_back(
                {binding.window ? peer : static_cast<int>(i), strided_part(there, patch_shape(theirs), spec.elem_bytes),
                 strided_part(pieces[i], patch_shape(spec.to.patch(binding.rank)), spec.elem_bytes)});
        }
        // Not all from the same rank at the same time.
        const auto after_me = [&](const Move& m) { return m.rank < exchange->me_; };
        std::stable_partition(exchange->moves_.begin(), exchange->moves_.end(),
                              [&](const Move& m) { return !after_me(m); });
        return std::unique_ptr<Exchange>(std::move(exchange));
    }
    int chunks() const override { return 1; }
    Status start(int, const void* source, void* target) override {
        void* home = window_->part(me_);
        if (source != home && source_bytes_ > 0) {
            std::memcpy(home, source, static_cast<size_t>(source_bytes_));
            copied(source_bytes_);
        }
        target_ = target;
        return window_->barrier();
    }
    Status finish(int) override {
        for (const Move& move : moves_) copied(copy_strided(move.there, window_->part(move.rank), move.here, target_));
        return window_->barrier();
    }

  private:
    struct Move {
        int rank;  // of the window
        StridedPart there, here;
    };
    SharedExchange() = default;
    std::unique_ptr<SharedWindow> own_window_;
    SharedWindow* window_ = nullptr;
    int me_ = 0;
    std::vector<Move> moves_;
    index_t source_bytes_ = 0;
    void* target_ = nullptr;
};

Status check(const ExchangeSpec& spec) {
    SPANFFT_TRY(takes_no_parameter(spec));
    const Topology& topology = spec.topology;
    if (topology.nodes(spec.from.nranks()) == 1) return Status();
    for (int rank = 0; rank < spec.from.nranks(); ++rank) {
        const int first = first_of_group(spec.from, spec.to, rank);
        if (topology.node_of(first) != topology.node_of(rank)) {
            return error(Code::unsupported, "exchange shared needs all ranks of a group on one node, but ranks ", first,
                         " and ", rank, " are on two; use hierarchical or alltoallv");
        }
    }
    return Status();
}

index_t buffer_bytes(const ExchangeSpec& spec, int rank) { return spec.in_window ? 0 : source_bytes(spec, rank); }

Counts predict(const ExchangeSpec& spec, int rank) {
    Counts counts;
    counts.memory_bytes = 2 * (buffer_bytes(spec, rank) + target_bytes(spec, rank));
    return counts;
}

}  // namespace

ExchangeStrategy shared_strategy() {
    ExchangeStrategy row;
    row.name = "shared";
    row.source = "spanfft";
    row.how = "ranks of a node read one another's memory";
    row.bind = SharedExchange::make;
    row.predict = predict;
    row.buffer_bytes = buffer_bytes;
    row.check = check;
    row.uses_window = true;
    row.makes_window = true;
    return row;
}

}  // namespace spanfft
