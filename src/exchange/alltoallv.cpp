// Exchange by packing and one MPI_Alltoallv (Allplanes in P3; the transpose of P2).
//
// Method: pack the parts for each peer one after the other, one collective, unpack. A side whose parts all lie
// contiguous in its array is not copied: MPI reads or writes the array itself. In a slab exchange that is one of
// the two sides, whichever divides the slowest axis. The part that stays here is copied once, array to array.
// Cost: a buffer as large as the local array for each side that packs, a read and a write of it each.
#include "exchange/alltoallv.hpp"

#include <algorithm>

#include "comm/strided_copy.hpp"
#include "core/buffer.hpp"

namespace spanfft {

namespace {

// One side of the exchange: where each peer's part lies in the array, and in the buffer if it must be packed.
struct Side {
    std::vector<StridedPart> parts;  // in the array; the own rank's part included
    std::vector<BytesPart> wire;     // what MPI is given: in the array or in the buffer; the own rank's is empty
    bool packed = false;
    index_t buffer_bytes = 0;
};

Side make_side(const std::vector<Piece>& pieces, const Patch& mine, index_t elem_bytes, int rank) {
    Side side;
    for (const auto& piece : pieces) {
        side.parts.push_back(strided_part(piece, patch_shape(mine), elem_bytes));
        if (piece.peer != rank && !is_contiguous(side.parts.back())) side.packed = true;
    }
    for (size_t i = 0; i < pieces.size(); ++i) {
        const index_t bytes = pieces[i].peer == rank ? 0 : side.parts[i].bytes();
        if (side.packed) {
            side.wire.push_back({side.buffer_bytes, bytes});
            side.buffer_bytes += bytes;
        } else {
            side.wire.push_back({bytes ? side.parts[i].offset_bytes : 0, bytes});
        }
    }
    return side;
}

Side send_side(const ExchangeSpec& spec, int rank) {
    return make_side(pieces_to_send(spec.from, spec.to, rank), spec.from.patch(rank), spec.elem_bytes, rank);
}

Side receive_side(const ExchangeSpec& spec, int rank) {
    return make_side(pieces_to_receive(spec.from, spec.to, rank), spec.to.patch(rank), spec.elem_bytes, rank);
}

StridedPart as_strided(const BytesPart& part) { return {part.offset_bytes, {{part.bytes, 1}}, 1}; }

class AlltoallvExchange final : public Exchange {
  public:
    static Result<std::unique_ptr<Exchange>> make(Comm& comm, const ExchangeSpec& spec, int rank) {
        auto exchange = std::unique_ptr<AlltoallvExchange>(new AlltoallvExchange);
        exchange->send_ = send_side(spec, rank);
        exchange->receive_ = receive_side(spec, rank);
        exchange->self_ = static_cast<size_t>(comm.rank());
        // Buffers can fail on one rank only, and the transfer is made collectively: agree in between.
        SPANFFT_TRY(agree(comm, exchange->allocate()));
        SPANFFT_ASSIGN(exchange->transfer_, comm.make_alltoallv(exchange->send_.wire, exchange->receive_.wire));
        return std::unique_ptr<Exchange>(std::move(exchange));
    }
    int chunks() const override { return 1; }
    Status start(int, const void* source, void* target) override {
        target_ = target;
        if (send_.packed) {
            for (size_t i = 0; i < send_.parts.size(); ++i) {
                if (send_.wire[i].bytes)
                    copy_strided(send_.parts[i], source, as_strided(send_.wire[i]), send_buffer_.data());
            }
        }
        SPANFFT_TRY(transfer_->start(send_.packed ? send_buffer_.data() : source,
                                     receive_.packed ? receive_buffer_.data() : target));
        copy_strided(send_.parts[self_], source, receive_.parts[self_], target);  // while messages travel
        return Status();
    }
    Status finish(int) override {
        SPANFFT_TRY(transfer_->finish());
        if (receive_.packed) {
            for (size_t i = 0; i < receive_.parts.size(); ++i) {
                if (receive_.wire[i].bytes)
                    copy_strided(as_strided(receive_.wire[i]), receive_buffer_.data(), receive_.parts[i], target_);
            }
        }
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

    Side send_, receive_;
    Buffer send_buffer_, receive_buffer_;
    size_t self_ = 0;  // position of this rank in the group
    std::unique_ptr<Transfer> transfer_;
    void* target_ = nullptr;
};

index_t buffer_bytes(const ExchangeSpec& spec, int rank) {
    return send_side(spec, rank).buffer_bytes + receive_side(spec, rank).buffer_bytes;
}

index_t memory_bytes(const ExchangeSpec& spec, int rank) {
    index_t stays = 0;
    for (const auto& piece : pieces_to_send(spec.from, spec.to, rank)) {
        if (piece.peer == rank) stays = piece.elems() * spec.elem_bytes;
    }
    return 2 * (buffer_bytes(spec, rank) + stays);
}

}  // namespace

ExchangeStrategy alltoallv_strategy() {
    return {"alltoallv",  "P3 Allplanes, P2", "packed where not contiguous, one collective", AlltoallvExchange::make,
            buffer_bytes, memory_bytes};
}

}  // namespace spanfft
