// Exchange by packing and one MPI_Alltoallv (Allplanes in P3; the transpose of P2).
//
// Method: pack the parts for each peer one after the other, one collective, unpack. A side whose parts all lie
// contiguous in its array is not copied: MPI reads or writes the array itself. In a slab exchange that is one of
// the two sides, whichever divides the slowest axis. The part that stays here is copied once, array to array.
// Cost: a buffer as large as the local array for each side that packs, a read and a write of it each.
#include "exchange/alltoallv.hpp"

#include "comm/strided_copy.hpp"
#include "core/buffer.hpp"
#include "exchange/packing.hpp"

namespace spanfft {

namespace {

PackedSide send_side(const ExchangeSpec& spec, int rank) {
    return make_side(pieces_to_send(spec.from, spec.to, rank), spec.from.patch(rank), spec.elem_bytes, rank);
}

PackedSide receive_side(const ExchangeSpec& spec, int rank) {
    return make_side(pieces_to_receive(spec.from, spec.to, rank), spec.to.patch(rank), spec.elem_bytes, rank);
}

class AlltoallvExchange final : public Exchange {
  public:
    static Result<std::unique_ptr<Exchange>> make(const ExchangeBinding& binding) {
        auto exchange = std::unique_ptr<AlltoallvExchange>(new AlltoallvExchange);
        exchange->send_ = send_side(binding.spec, binding.rank);
        exchange->receive_ = receive_side(binding.spec, binding.rank);
        exchange->self_ = static_cast<size_t>(binding.comm.rank());
        // Buffers can fail on one rank only, and the transfer is made collectively: agree in between.
        SPANFFT_TRY(agree(binding.comm, exchange->allocate()));
        SPANFFT_ASSIGN(exchange->transfer_, binding.comm.make_alltoallv(exchange->send_.wire, exchange->receive_.wire));
        return std::unique_ptr<Exchange>(std::move(exchange));
    }
    int chunks() const override { return 1; }
    Status start(int, const void* source, void* target) override {
        target_ = target;
        pack(send_, source, send_buffer_.data());
        SPANFFT_TRY(transfer_->start(send_.packed ? send_buffer_.data() : source,
                                     receive_.packed ? receive_buffer_.data() : target));
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
    AlltoallvExchange() = default;
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

}  // namespace

ExchangeStrategy alltoallv_strategy() {
    ExchangeStrategy row;
    row.name = "alltoallv";
    row.source = "P3 Allplanes, P2";
    row.how = "packed where not contiguous, one collective";
    row.bind = AlltoallvExchange::make;
    row.buffer_bytes = buffer_bytes;
    row.predict = predict;
    return row;
}

}  // namespace spanfft
