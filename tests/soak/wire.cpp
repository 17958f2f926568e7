// Preloaded into Python's ranks by ./spanfft-dev soak: counts what they ask of MPI (tests/mpi/pmpi_counter.cpp is in
// the same library), so that plans' counts can be held against it, and what of MPI's they hold. on_ranks.py asks.
#include <mpi.h>

#include <atomic>

#include "mpi/pmpi_counter.hpp"

namespace {

std::atomic<int64_t> communicators{0}, windows{0}, datatypes{0};

int held(std::atomic<int64_t>& count, int code, bool made) {
    if (code == MPI_SUCCESS && made) ++count;
    return code;
}

int released(std::atomic<int64_t>& count, int code) {
    if (code == MPI_SUCCESS) --count;
    return code;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void spanfft_soak_wire(int64_t* messages_bytes_calls) {
    const spanfft::test::WireCounts counts = spanfft::test::wire_counts();
    messages_bytes_calls[0] = counts.messages;
    messages_bytes_calls[1] = counts.bytes;
    messages_bytes_calls[2] = counts.calls;
}

// Communicators, windows and datatypes that were made and not freed.
void spanfft_soak_held(int64_t* held_now) {
    held_now[0] = communicators;
    held_now[1] = windows;
    held_now[2] = datatypes;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
    const int code = PMPI_Comm_dup(comm, made);
    return held(communicators, code, true);
}
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
    const int code = PMPI_Comm_split(comm, color, key, made);
    return held(communicators, code, *made != MPI_COMM_NULL);
}
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made) {
    const int code = PMPI_Comm_split_type(comm, type, key, info, made);
    return held(communicators, code, *made != MPI_COMM_NULL);
}
int MPI_Comm_free(MPI_Comm* comm) { return released(communicators, PMPI_Comm_free(comm)); }
int MPI_Win_allocate_shared(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* memory, MPI_Win* window) {
    return held(windows, PMPI_Win_allocate_shared(bytes, unit, info, comm, memory, window), true);
}
int MPI_Win_free(MPI_Win* window) { return released(windows, PMPI_Win_free(window)); }
int MPI_Type_create_hindexed(int count, const int* lengths, const MPI_Aint* places, MPI_Datatype type,
                             MPI_Datatype* made) {
    return held(datatypes, PMPI_Type_create_hindexed(count, lengths, places, type, made), true);
}
int MPI_Type_create_hvector(int count, int length, MPI_Aint stride, MPI_Datatype type, MPI_Datatype* made) {
    return held(datatypes, PMPI_Type_create_hvector(count, length, stride, type, made), true);
}
int MPI_Type_create_struct(int count, const int* lengths, const MPI_Aint* places, const MPI_Datatype* types,
                           MPI_Datatype* made) {
    return held(datatypes, PMPI_Type_create_struct(count, lengths, places, types, made), true);
}
int MPI_Type_free(MPI_Datatype* type) { return released(datatypes, PMPI_Type_free(type)); }
}
#pragma GCC visibility pop
