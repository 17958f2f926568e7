// Packing whole sides; see packed.hpp.
#include "exchange/packed.hpp"

#include "comm/strided_copy.hpp"

namespace spanfft {

namespace {

PackedSide send_side(const ExchangeSpec& spec, int rank, Packing packing) {
    return make_side(pieces_to_send(spec.from, spec.to, rank), spec.from.patch(rank), spec.elem_bytes, rank, packing);
}

PackedSide receive_side(const ExchangeSpec& spec, int rank, Packing packing) {
    return make_side(pieces_to_receive(spec.from, spec.to, rank), spec.to.patch(rank), spec.elem_bytes, rank, packing);
}

}  // namespace

PackedExchange::PackedExchange(const ExchangeBinding& binding, Packing packing)
    : send_(send_side(binding.spec, binding.rank, packing)),
      receive_(receive_side(binding.spec, binding.rank, packing)),
      self_(static_cast<size_t>(binding.comm.rank())) {}

Status PackedExchange::allocate(Comm& comm) {
    auto sending = Buffer::allocate(static_cast<size_t>(send_.buffer_bytes));
    auto receiving = Buffer::allocate(static_cast<size_t>(receive_.buffer_bytes));
    SPANFFT_TRY(agree(comm, sending.ok() ? receiving.status() : sending.status()));
    send_buffer_ = std::move(sending).value();
    receive_buffer_ = std::move(receiving).value();
    return Status();
}

Status PackedExchange::start(int, const void* source, void* target) {
    target_ = target;
    copied(pack(send_, source, send_buffer_.data()));
    SPANFFT_TRY(begin(send_.packed ? send_buffer_.data() : source, receive_.packed ? receive_buffer_.data() : target));
    copied(copy_strided(send_.parts[self_], source, receive_.parts[self_], target));  // while messages travel
    return Status();
}

Status PackedExchange::finish(int) {
    SPANFFT_TRY(complete());
    copied(unpack(receive_, receive_buffer_.data(), target_));
    return Status();
}

Result<std::unique_ptr<Exchange>> PackedCollective::make(const ExchangeBinding& binding, Packing packing,
                                                         MakeTransfer make_transfer) {
    auto exchange = std::unique_ptr<PackedCollective>(new PackedCollective(binding, packing));
    SPANFFT_TRY(exchange->allocate(binding.comm));
    SPANFFT_ASSIGN(exchange->transfer_, make_transfer(binding.comm, exchange->send_, exchange->send_buffer_,
                                                      exchange->receive_, exchange->receive_buffer_));
    return std::unique_ptr<Exchange>(std::move(exchange));
}

index_t packed_buffer_bytes(const ExchangeSpec& spec, int rank, Packing packing) {
    const PartSums sums = sum_parts(spec, rank, packing);
    return sums.send.buffer_bytes() + sums.receive.buffer_bytes();
}

Counts predict_packed(const ExchangeSpec& spec, int rank, Packing packing) {
    const PartSums sums = sum_parts(spec, rank, packing);
    Counts counts;
    counts.messages = sums.send.messages;
    counts.sent_bytes = sums.send.bytes;
    counts.memory_bytes = sums.copied_bytes();
    return counts;
}

}  // namespace spanfft
