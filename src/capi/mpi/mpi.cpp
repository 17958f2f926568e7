// The C interface's part that names MPI; see include/spanfft/spanfft_mpi.h.
#include "capi/handles.hpp"
#include "comm/mpi/mpi_comm.hpp"
#include "spanfft/spanfft_mpi.h"

using namespace spanfft;

int spanfft_comm_from_mpi(MPI_Comm mpi_comm, spanfft_comm** comm) {
    return report([&]() -> Status {
        if (!comm) return error(Code::invalid_argument, "comm is NULL; pass where the communicator shall go");
        SPANFFT_ASSIGN(auto made, make_mpi_comm(mpi_comm));
        *comm = wrap_comm(std::move(made));
        return Status();
    });
}

int spanfft_comm_from_fortran(SPANFFT_FINT handle, spanfft_comm** comm) {
    return spanfft_comm_from_mpi(SPANFFT_COMM_F2C(handle), comm);
}

const char* spanfft_mpi_library(void) {
    static const std::string version = [] {
        char text[MPI_MAX_LIBRARY_VERSION_STRING];
        int length = 0;
        MPI_Get_library_version(text, &length);
        return std::string(text, static_cast<size_t>(length));
    }();
    return version.c_str();
}
