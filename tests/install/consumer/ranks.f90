! A number that is no communicator is refused, or ends the program: this is compiled and linked, to show that the module
! of ranks finds its libraries, and not run, because MPI's own module mpi is not in every MPI.
program ranks
    use spanfft_mpi
    use spanfft, only: fft_comm
    implicit none
    type(fft_comm) :: comm
    call fft_comm_from_mpi(comm, 0)
end program ranks
