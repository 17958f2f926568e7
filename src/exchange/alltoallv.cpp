// Exchange by packing and one MPI_Alltoallv (Allplanes in P3; the transpose of P2).
//
// Method: pack the parts for each peer one after the other, one collective, unpack. A side whose parts all lie
// contiguous in its array is not copied: MPI reads or writes the array itself. In a slab exchange that is one of
// the two sides, whichever divides the slowest axis. The part that stays here is copied once, array to array.
// Cost: a buffer as large as the local array for each side that packs, a read and a write of it each.
#include "exchange/alltoallv.hpp"

#include "exchange/packed.hpp"

namespace spanfft {

ExchangeStrategy alltoallv_strategy() {
    ExchangeStrategy row;
    row.name = "alltoallv";
    row.source = "P3 Allplanes, P2";
    row.how = "packed where not contiguous, one collective";
    row.bind = [](const ExchangeBinding& binding) {
        return PackedCollective::make(
            binding, Packing::where_needed,
            [](Comm& comm, const PackedSide& send, Buffer&, const PackedSide& receive, Buffer&) {
                // Nothing is computed meanwhile.
                return comm.make_alltoallv(send.wire, receive.wire, Issue::blocking);
            });
    };
    row.predict = [](const ExchangeSpec& spec, int rank) {
        Counts counts = predict_packed(spec, rank, Packing::where_needed);
        counts.calls = 1;
        return counts;
    };
    row.buffer_bytes = [](const ExchangeSpec& spec, int rank) {
        return packed_buffer_bytes(spec, rank, Packing::where_needed);
    };
    return row;
}

}  // namespace spanfft
