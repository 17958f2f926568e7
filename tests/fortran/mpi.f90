! Stands in for the module mpi of MPICH, where there is MPICH without Fortran, as in the wheel: the calls that the
! examples make. In MPICH a handle is the same integer in C and in Fortran, and this is the ABI's number of the world.
module mpi
    use, intrinsic :: iso_c_binding
    implicit none
    integer, parameter :: MPI_COMM_WORLD = int(z"44000000")

    interface
        integer(c_int) function c_init(argc, argv) bind(C, name="MPI_Init")
            import
            type(c_ptr), value :: argc, argv
        end function c_init
        integer(c_int) function c_comm_size(comm, ranks) bind(C, name="MPI_Comm_size")
            import
            integer(c_int), value :: comm
            integer(c_int), intent(out) :: ranks
        end function c_comm_size
        integer(c_int) function c_finalize() bind(C, name="MPI_Finalize")
            import
        end function c_finalize
    end interface

contains

    subroutine MPI_Init(ierr)
        integer, intent(out) :: ierr
        ierr = c_init(c_null_ptr, c_null_ptr)
    end subroutine MPI_Init

    subroutine MPI_Comm_size(comm, ranks, ierr)
        integer, intent(in) :: comm
        integer, intent(out) :: ranks, ierr
        ierr = c_comm_size(comm, ranks)
    end subroutine MPI_Comm_size

    subroutine MPI_Finalize(ierr)
        integer, intent(out) :: ierr
        ierr = c_finalize()
    end subroutine MPI_Finalize
end module mpi
