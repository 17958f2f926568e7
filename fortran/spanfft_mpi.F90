! Module spanfft_mpi: the communicators of MPI for module spanfft, by their Fortran handles.
!
! It names no module of MPI, so it needs none that was compiled by your compiler: "use mpi" has the handle as an integer,
! mpi_f08 as the component mpi_val. Link libspanfft_mpi_mpich or libspanfft_mpi_openmpi, and the same MPI.
! Invariant: handles of MPI are integers of C's int, as MPI_Fint is wherever this was tried (Open MPI, MPICH).
module spanfft_mpi
    use, intrinsic :: iso_c_binding
    use spanfft, only: fft_comm
    implicit none
    private
    public :: fft_comm_from_mpi

    include "spanfft/spanfft.f03"

contains

    ! Makes comm from a handle such as MPI_COMM_WORLD, which stays yours. Collective; see spanfft_comm_from_mpi.
    subroutine fft_comm_from_mpi(comm, handle, stat, errmsg)
        type(fft_comm), intent(inout) :: comm
        integer, intent(in) :: handle
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        type(c_ptr) :: made
        integer(c_int) :: code
        made = c_null_ptr
        code = spanfft_comm_from_fortran(int(handle, c_int), made)
        call comm%adopt(made, code, stat, errmsg)
    end subroutine fft_comm_from_mpi
end module spanfft_mpi
