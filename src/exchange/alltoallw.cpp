// Exchange by subarray datatypes and one MPI_Alltoallw (Dalcin, Mortensen, Keyes: P4, algorithms 2 and 3).
//
// Method: for each peer, one datatype describes the part of the source array that it gets, another the part of the
// target array that comes from it. The MPI library moves the parts directly; nothing is packed by us.
// Cost: no buffers; the speed is that of the library's datatype engine.
#include "exchange/alltoallw.hpp"

namespace spanfft {

namespace {

class AlltoallwExchange final : public Exchange {
  public:
    explicit AlltoallwExchange(std::unique_ptr<Transfer> transfer) : transfer_(std::move(transfer)) {}
    int chunks() const override { return 1; }
    Status start(int, const void* source, void* target) override { return transfer_->start(source, target); }
    Status finish(int) override { return transfer_->finish(); }

  private:
    std::unique_ptr<Transfer> transfer_;
};

std::vector<StridedPart> parts(const std::vector<Piece>& pieces, const Patch& mine, index_t elem_bytes) {
    std::vector<StridedPart> result;
    for (const auto& piece : pieces) result.push_back(strided_part(piece, patch_shape(mine), elem_bytes));
    return result;
}

Result<std::unique_ptr<Exchange>> bind(const ExchangeBinding& binding) {
    const ExchangeSpec& spec = binding.spec;
    const int rank = binding.rank;
    const auto send = parts(pieces_to_send(spec.from, spec.to, rank), spec.from.patch(rank), spec.elem_bytes);
    const auto receive = parts(pieces_to_receive(spec.from, spec.to, rank), spec.to.patch(rank), spec.elem_bytes);
    SPANFFT_ASSIGN(auto transfer, binding.comm.make_alltoallw(send, receive, Issue::blocking));
    return std::unique_ptr<Exchange>(new AlltoallwExchange(std::move(transfer)));
}

Counts predict(const ExchangeSpec& spec, int rank) {
    Counts counts = count_pieces(spec, rank);
    counts.calls = 1;
    return counts;
}

}  // namespace

ExchangeStrategy alltoallw_strategy() {
    ExchangeStrategy row;
    row.name = "alltoallw";
    row.source = "P4";
    row.how = "subarray datatypes, nothing packed";
    row.bind = bind;
    row.predict = predict;
    return row;
}

}  // namespace spanfft
