/* spanfft on MPI ranks: the only public header that names MPI. Link with libspanfft_mpi. */
#ifndef SPANFFT_MPI_H
#define SPANFFT_MPI_H

#include <mpi.h>

#include "spanfft/spanfft.h"

/* Fortran's handle of a communicator. The standard ABI (mpi_abi.h) has no type for Fortran's integer, whose size is its
 * compiler's affair, and takes handles as int. */
#if defined(MPI_ABI_VERSION) && MPI_ABI_VERSION > 0
#define SPANFFT_FINT int
#define SPANFFT_COMM_F2C MPI_Comm_fromint
#else
#define SPANFFT_FINT MPI_Fint
#define SPANFFT_COMM_F2C MPI_Comm_f2c
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A communicator for spanfft_plan_create. Collective over mpi_comm, which is duplicated: it stays yours. All plans on
 * one MPI_Comm share one duplicate, because MPI libraries have few communicators, so they take turns: give each thread
 * that runs plans at the same time as another its own MPI_Comm_dup. Needs MPI_Init; MPI_THREAD_SINGLE is enough. Free
 * with spanfft_comm_free (collective) before MPI_Finalize. */
SPANFFT_API int spanfft_comm_from_mpi(MPI_Comm mpi_comm, spanfft_comm** comm);
/* The same for Fortran's handle of a communicator: the integer of `use mpi`, or of mpi_f08 its %mpi_val. A number
 * that is no handle MPI treats as in calls of its own: most end the program. */
SPANFFT_API int spanfft_comm_from_fortran(SPANFFT_FINT handle, spanfft_comm** comm);

/* The MPI library that libspanfft_mpi was built with and the one that is running, for diagnosis. */
SPANFFT_API const char* spanfft_mpi_library(void);

#ifdef __cplusplus
}
#endif
#endif /* SPANFFT_MPI_H */
