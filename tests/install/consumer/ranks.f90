! This is compiled and linked, to show that the module of ranks finds its libraries, and never run: 0 is no communicator,
! and not every MPI has the module mpi that has one.
program ranks
    use spanfft_mpi
    use spanfft, only: fft_comm
    implicit none
    type(fft_comm) :: comm
    call fft_comm_from_mpi(comm, 0)
end program ranks
