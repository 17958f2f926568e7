// The MPI functions that carry data, counted; see pmpi_counter.hpp.
#include "mpi/pmpi_counter.hpp"

#include <mpi.h>

#include <mutex>
#include <vector>

namespace spanfft::test {

namespace {

struct Counter {
    std::mutex mutex;
    WireCounts counts;
    std::map<MPI_Request, WireCounts> persistent;  // what starting it sends
};

Counter& counter() {
    static Counter* const made = new Counter;  // calls may come from static destructors
    return *made;
}

int64_t bytes_of(int64_t count, MPI_Datatype type) {
    if (count == 0) return 0;
    MPI_Count size = 0;
    PMPI_Type_size_x(type, &size);
    return count * static_cast<int64_t>(size);
}

int rank_in(MPI_Comm comm) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    return rank;
}

// One message, or none.
WireCounts one(int64_t count, MPI_Datatype type, int to, MPI_Comm comm) {
    WireCounts sent;
    const int64_t bytes = bytes_of(count, type);
    if (bytes > 0 && to != rank_in(comm) && to != MPI_PROC_NULL) {
        sent.messages = 1;
        sent.bytes = bytes;
    }
    return sent;
}

// type(i) is what goes to rank i.
template <class Count, class Type>
WireCounts all(const Count* counts, const Type& type, MPI_Comm comm) {
    int size = 0;
    PMPI_Comm_size(comm, &size);
    WireCounts sent;
    for (int to = 0; to < size; ++to) {
        const WireCounts each = one(counts[to], type(to), to, comm);
        sent.messages += each.messages;
        sent.bytes += each.bytes;
    }
    return sent;
}

void count(const char* function, const WireCounts& sent = {}, int64_t calls = 1) {
    const std::lock_guard lock(counter().mutex);
    counter().counts.messages += sent.messages;
    counter().counts.bytes += sent.bytes;
    counter().counts.calls += calls;
    ++counter().counts.by_function[function];
}

// What starting a persistent request sends.
[[maybe_unused]] void keep(MPI_Request request, const WireCounts& each) {
    const std::lock_guard lock(counter().mutex);
    counter().persistent[request] = each;
}

// Agreements and barriers, which are not the data's: seen, and left out of the sums.
void see(const char* function) { count(function, {}, 0); }

}  // namespace

WireCounts wire_counts() {
    const std::lock_guard lock(counter().mutex);
    return counter().counts;
}

WireCounts operator-(const WireCounts& after, const WireCounts& before) {
    WireCounts between;
    between.messages = after.messages - before.messages;
    between.bytes = after.bytes - before.bytes;
    between.calls = after.calls - before.calls;
    for (const auto& [function, calls] : after.by_function) {
        const auto found = before.by_function.find(function);
        const int64_t more = calls - (found == before.by_function.end() ? 0 : found->second);
        if (more > 0) between.by_function[function] = more;
    }
    return between;
}

}  // namespace spanfft::test

using spanfft::test::all;
using spanfft::test::count;
using spanfft::test::counter;
using spanfft::test::keep;
using spanfft::test::one;
using spanfft::test::see;

// The build hides what is not marked; the library must find these before MPI's own.
#pragma GCC visibility push(default)
extern "C" {

int MPI_Send(const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    count("MPI_Send", one(n, type, to, comm));
    return PMPI_Send(data, n, type, to, tag, comm);
}
int MPI_Isend(const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
    count("MPI_Isend", one(n, type, to, comm));
    return PMPI_Isend(data, n, type, to, tag, comm, request);
}
int MPI_Recv(void* data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
    count("MPI_Recv");
    return PMPI_Recv(data, n, type, from, tag, comm, status);
}
int MPI_Irecv(void* data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
    count("MPI_Irecv");
    return PMPI_Irecv(data, n, type, from, tag, comm, request);
}
int MPI_Sendrecv_replace(void* data, int n, MPI_Datatype type, int to, int send_tag, int from, int receive_tag,
                         MPI_Comm comm, MPI_Status* status) {
    count("MPI_Sendrecv_replace", one(n, type, to, comm));
    return PMPI_Sendrecv_replace(data, n, type, to, send_tag, from, receive_tag, comm, status);
}
int MPI_Sendrecv(const void* sent, int n, MPI_Datatype type, int to, int tag, void* received, int most,
                 MPI_Datatype receive_type, int from, int receive_tag, MPI_Comm comm, MPI_Status* status) {
    count("MPI_Sendrecv", one(n, type, to, comm));
    return PMPI_Sendrecv(sent, n, type, to, tag, received, most, receive_type, from, receive_tag, comm, status);
}
int MPI_Alltoall(const void* sent, int n, MPI_Datatype type, void* received, int m, MPI_Datatype receive_type,
                 MPI_Comm comm) {
    int size = 0;
    PMPI_Comm_size(comm, &size);
    const std::vector<int> counts(static_cast<size_t>(size), n);
    count("MPI_Alltoall", all(counts.data(), [&](int) { return type; }, comm));
    return PMPI_Alltoall(sent, n, type, received, m, receive_type, comm);
}
int MPI_Alltoallv(const void* sent, const int* counts, const int* places, MPI_Datatype type, void* received,
                  const int* receive_counts, const int* receive_places, MPI_Datatype receive_type, MPI_Comm comm) {
    count("MPI_Alltoallv", all(counts, [&](int) { return type; }, comm));
    return PMPI_Alltoallv(sent, counts, places, type, received, receive_counts, receive_places, receive_type, comm);
}
int MPI_Ialltoallv(const void* sent, const int* counts, const int* places, MPI_Datatype type, void* received,
                   const int* receive_counts, const int* receive_places, MPI_Datatype receive_type, MPI_Comm comm,
                   MPI_Request* request) {
    count("MPI_Ialltoallv", all(counts, [&](int) { return type; }, comm));
    return PMPI_Ialltoallv(sent, counts, places, type, received, receive_counts, receive_places, receive_type, comm,
                           request);
}
int MPI_Alltoallw(const void* sent, const int* counts, const int* places, const MPI_Datatype* types, void* received,
                  const int* receive_counts, const int* receive_places, const MPI_Datatype* receive_types,
                  MPI_Comm comm) {
    count("MPI_Alltoallw", all(counts, [&](int to) { return types[to]; }, comm));
    return PMPI_Alltoallw(sent, counts, places, types, received, receive_counts, receive_places, receive_types, comm);
}
int MPI_Ialltoallw(const void* sent, const int* counts, const int* places, const MPI_Datatype* types, void* received,
                   const int* receive_counts, const int* receive_places, const MPI_Datatype* receive_types,
                   MPI_Comm comm, MPI_Request* request) {
    count("MPI_Ialltoallw", all(counts, [&](int to) { return types[to]; }, comm));
    return PMPI_Ialltoallw(sent, counts, places, types, received, receive_counts, receive_places, receive_types, comm,
                           request);
}
#if MPI_VERSION >= 4
int MPI_Alltoallv_init(const void* sent, const int* counts, const int* places, MPI_Datatype type, void* received,
                       const int* receive_counts, const int* receive_places, MPI_Datatype receive_type, MPI_Comm comm,
                       MPI_Info info, MPI_Request* request) {
    const int code = PMPI_Alltoallv_init(sent, counts, places, type, received, receive_counts, receive_places,
                                         receive_type, comm, info, request);
    keep(*request, all(counts, [&](int) { return type; }, comm));
    return code;
}
int MPI_Alltoallv_c(const void* sent, const MPI_Count* counts, const MPI_Aint* places, MPI_Datatype type,
                    void* received, const MPI_Count* receive_counts, const MPI_Aint* receive_places,
                    MPI_Datatype receive_type, MPI_Comm comm) {
    count("MPI_Alltoallv_c", all(counts, [&](int) { return type; }, comm));
    return PMPI_Alltoallv_c(sent, counts, places, type, received, receive_counts, receive_places, receive_type, comm);
}
int MPI_Ialltoallv_c(const void* sent, const MPI_Count* counts, const MPI_Aint* places, MPI_Datatype type,
                     void* received, const MPI_Count* receive_counts, const MPI_Aint* receive_places,
                     MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request) {
    count("MPI_Ialltoallv_c", all(counts, [&](int) { return type; }, comm));
    return PMPI_Ialltoallv_c(sent, counts, places, type, received, receive_counts, receive_places, receive_type, comm,
                             request);
}
int MPI_Alltoallv_init_c(const void* sent, const MPI_Count* counts, const MPI_Aint* places, MPI_Datatype type,
                         void* received, const MPI_Count* receive_counts, const MPI_Aint* receive_places,
                         MPI_Datatype receive_type, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
    const int code = PMPI_Alltoallv_init_c(sent, counts, places, type, received, receive_counts, receive_places,
                                           receive_type, comm, info, request);
    keep(*request, all(counts, [&](int) { return type; }, comm));
    return code;
}
#endif
int MPI_Start(MPI_Request* request) {
    spanfft::test::WireCounts each;
    {
        const std::lock_guard lock(counter().mutex);
        each = counter().persistent[*request];
    }
    count("MPI_Start", each);
    return PMPI_Start(request);
}
int MPI_Request_free(MPI_Request* request) {
    {
        const std::lock_guard lock(counter().mutex);
        counter().persistent.erase(*request);
    }
    return PMPI_Request_free(request);
}
int MPI_Put(const void* data, int n, MPI_Datatype type, int to, MPI_Aint place, int m, MPI_Datatype target_type,
            MPI_Win window) {
    count("MPI_Put");
    return PMPI_Put(data, n, type, to, place, m, target_type, window);
}
int MPI_Get(void* data, int n, MPI_Datatype type, int from, MPI_Aint place, int m, MPI_Datatype target_type,
            MPI_Win window) {
    count("MPI_Get");
    return PMPI_Get(data, n, type, from, place, m, target_type, window);
}
int MPI_Allgather(const void* sent, int n, MPI_Datatype type, void* received, int m, MPI_Datatype receive_type,
                  MPI_Comm comm) {
    see("MPI_Allgather");
    return PMPI_Allgather(sent, n, type, received, m, receive_type, comm);
}
int MPI_Bcast(void* data, int n, MPI_Datatype type, int root, MPI_Comm comm) {
    see("MPI_Bcast");
    return PMPI_Bcast(data, n, type, root, comm);
}
int MPI_Barrier(MPI_Comm comm) {
    see("MPI_Barrier");
    return PMPI_Barrier(comm);
}
}
#pragma GCC visibility pop
