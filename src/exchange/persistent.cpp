// Exchange by one persistent collective (MPI-4's MPI_Alltoallv_init; spanfft).
//
// Method: the collective is bound to its buffers and counts once, when the plan is; a run only starts and waits for it,
// so what the library does before the first byte (choosing an algorithm, setting up its messages) is not done again.
// As it is bound to addresses, both sides are always packed, in buffers of the exchange's own: the user's arrays are
// known only when it runs.
// Cost: two buffers as large as what travels, each read and written once: a copy more than alltoallv where one side is
// contiguous. It can win where parts are short and the same plan runs often.
// Invariant: the transfer is destroyed before the buffers that it is bound to.
#include "exchange/persistent.hpp"

#include <algorithm>
#include <climits>

#include "comm/strided_copy.hpp"
#include "core/buffer.hpp"
#include "exchange/packing.hpp"

namespace spanfft {

namespace {

PackedSide send_side(const ExchangeSpec& spec, int rank) {
    return make_side(pieces_to_send(spec.from, spec.to, rank), spec.from.patch(rank), spec.elem_bytes, rank,
                     Packing::always);
}

PackedSide receive_side(const ExchangeSpec& spec, int rank) {
    return make_side(pieces_to_receive(spec.from, spec.to, rank), spec.to.patch(rank), spec.elem_bytes, rank,
                     Packing::always);
}

class PersistentExchange final : public Exchange {
  public:
    static Result<std::unique_ptr<Exchange>> make(const ExchangeBinding& binding) {
        auto exchange = std::unique_ptr<PersistentExchange>(new PersistentExchange);
        exchange->send_ = send_side(binding.spec, binding.rank);
        exchange->receive_ = receive_side(binding.spec, binding.rank);
        exchange->self_ = static_cast<size_t>(binding.comm.rank());
        SPANFFT_TRY(agree(binding.comm, exchange->allocate()));
        SPANFFT_ASSIGN(exchange->transfer_, binding.comm.make_persistent_alltoallv(
                                                exchange->send_buffer_.data(), exchange->send_.wire,
                                                exchange->receive_buffer_.data(), exchange->receive_.wire));
        return std::unique_ptr<Exchange>(std::move(exchange));
    }
    int chunks() const override { return 1; }
    Status start(int, const void* source, void* target) override {
        target_ = target;
        pack(send_, source, send_buffer_.data());
        SPANFFT_TRY(transfer_->start(send_buffer_.data(), receive_buffer_.data()));
        copy_strided(send_.parts[self_], source, receive_.parts[self_], target);  // while messages travel
        return Status();
    }
    Status finish(int) override {
        SPANFFT_TRY(transfer_->finish());
        unpack(receive_, receive_buffer_.data(), target_);
        return Status();
    }
    index_t memory_bytes() const override {
        return 2 * (send_.buffer_bytes + receive_.buffer_bytes + send_.parts[self_].bytes());
    }

  private:
    PersistentExchange() = default;
    Status allocate() {
        SPANFFT_ASSIGN(send_buffer_, Buffer::allocate(static_cast<size_t>(send_.buffer_bytes)));
        SPANFFT_ASSIGN(receive_buffer_, Buffer::allocate(static_cast<size_t>(receive_.buffer_bytes)));
        return Status();
    }

    PackedSide send_, receive_;
    Buffer send_buffer_, receive_buffer_;
    size_t self_ = 0;  // position of this rank in the group
    std::unique_ptr<Transfer> transfer_;
    void* target_ = nullptr;
};

index_t buffer_bytes(const ExchangeSpec& spec, int rank) {
    return send_side(spec, rank).buffer_bytes + receive_side(spec, rank).buffer_bytes;
}

Counts predict(const ExchangeSpec& spec, int rank) {
    const auto pieces = pieces_to_send(spec.from, spec.to, rank);
    Counts counts = count_pieces(spec, rank);
    counts.calls = 1;
    counts.memory_bytes = 2 * (buffer_bytes(spec, rank) + kept_bytes(send_side(spec, rank), pieces, rank));
    return counts;
}

Status check(const ExchangeSpec& spec) {
    SPANFFT_TRY(takes_no_parameter(spec));
    if (!spec.persistent_collectives) {
        return error(
            Code::unsupported,
            "this MPI library has no persistent collectives (they came with MPI-4); use another exchange, such "
            "as alltoallv, or a newer library");
    }
    const index_t most = std::max(spec.from.max_local_elems(), spec.to.max_local_elems()) * spec.elem_bytes;
    if (most > INT_MAX) {
        return error(Code::unsupported, "a persistent exchange holds at most 2 GiB on a rank, and one has ", most,
                     " bytes; use more ranks or alltoallv");
    }
    return Status();
}

}  // namespace

ExchangeStrategy persistent_strategy() {
    ExchangeStrategy row;
    row.name = "persistent";
    row.source = "spanfft, MPI-4";
    row.how = "packed, one collective that is set up once";
    row.bind = PersistentExchange::make;
    row.predict = predict;
    row.buffer_bytes = buffer_bytes;
    row.check = check;
    return row;
}

}  // namespace spanfft
