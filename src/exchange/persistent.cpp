// Exchange by one persistent collective (MPI-4's MPI_Alltoallv_init; spanfft).
//
// Method: the collective is bound to its buffers and counts once, when the plan is; a run only starts and waits for it,
// so what the library does before the first byte (choosing an algorithm, setting up its messages) is not done again.
// As it is bound to addresses, both sides are always packed, in buffers of the exchange's own: the user's arrays are
// known only when it runs.
// Cost: two buffers as large as what travels, each read and written once: a copy more than alltoallv where one side is
// contiguous. It can win where parts are short and the same plan runs often.
#include "exchange/persistent.hpp"

#include "exchange/packed.hpp"

namespace spanfft {

namespace {

Status check(const ExchangeSpec& spec) {
    SPANFFT_TRY(takes_no_parameter(spec));
    if (!spec.persistent_collectives) {
        return error(
            Code::unsupported,
            "this MPI library has no persistent collectives (they came with MPI-4); use another exchange, such "
            "as alltoallv, or a newer library");
    }
    return Status();
}

}  // namespace

ExchangeStrategy persistent_strategy() {
    ExchangeStrategy row;
    row.name = "persistent";
    row.source = "spanfft, MPI-4";
    row.how = "packed, one collective that is set up once";
    row.bind = [](const ExchangeBinding& binding) {
        return PackedCollective::make(binding, Packing::always,
                                      [](Comm& comm, const PackedSide& send, Buffer& send_buffer,
                                         const PackedSide& receive, Buffer& receive_buffer) {
                                          return comm.make_persistent_alltoallv(send_buffer.data(), send.wire,
                                                                                receive_buffer.data(), receive.wire);
                                      });
    };
    row.predict = [](const ExchangeSpec& spec, int rank) {
        Counts counts = predict_packed(spec, rank, Packing::always);
        counts.calls = 1;
        return counts;
    };
    row.buffer_bytes = [](const ExchangeSpec& spec, int rank) {
        return packed_buffer_bytes(spec, rank, Packing::always);
    };
    row.check = check;
    return row;
}

}  // namespace spanfft
