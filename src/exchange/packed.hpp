// What the strategies share that pack a whole side at once: `alltoallv`, `persistent`, `phased`.
//
// Method: pack what is sent, let the strategy carry it, copy the part that stays from array to array meanwhile, unpack
// what came. The strategy says only how it begins and completes.
// Invariant: the transfers of a strategy are destroyed before the buffers here, which they may be bound to.
#pragma once

#include "core/buffer.hpp"
#include "exchange/packing.hpp"

namespace spanfft {

class PackedExchange : public Exchange {
  public:
    int chunks() const final { return 1; }
    Status start(int chunk, const void* source, void* target) final;
    Status finish(int chunk) final;

  protected:
    PackedExchange(const ExchangeBinding& binding, Packing packing);
    // Collective: buffers can fail on one rank only, and transfers are made collectively after.
    Status allocate(Comm& comm);
    virtual Status begin(const void* from, void* to) = 0;
    virtual Status complete() = 0;

    PackedSide send_, receive_;
    Buffer send_buffer_, receive_buffer_;

  private:
    size_t self_;  // position of this rank in the group
    void* target_ = nullptr;
};

// Carried by one collective, whatever made it.
class PackedCollective final : public PackedExchange {
  public:
    // Collective. make_transfer gets the two sides and the buffers.
    using MakeTransfer = Result<std::unique_ptr<Transfer>> (*)(Comm& comm, const PackedSide& send, Buffer& send_buffer,
                                                               const PackedSide& receive, Buffer& receive_buffer);
    static Result<std::unique_ptr<Exchange>> make(const ExchangeBinding& binding, Packing packing,
                                                  MakeTransfer make_transfer);

  private:
    using PackedExchange::PackedExchange;
    Status begin(const void* from, void* to) override { return transfer_->start(from, to); }
    Status complete() override { return transfer_->finish(); }
    std::unique_ptr<Transfer> transfer_;
};

index_t packed_buffer_bytes(const ExchangeSpec& spec, int rank, Packing packing);
Counts predict_packed(const ExchangeSpec& spec, int rank, Packing packing);  // all but calls

}  // namespace spanfft
