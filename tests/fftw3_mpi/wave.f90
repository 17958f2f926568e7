! A Fortran client of FFTW's MPI interface, by fftw3-mpi.f03: transforms a plane wave, whose spectrum is one number, and
! back. `wrong` becomes the largest difference from what is known.
subroutine wave(comm, wrong) bind(C)
    use, intrinsic :: iso_c_binding
    implicit none
    include 'fftw3-mpi.f03'
    integer(C_INT32_T), value :: comm
    real(C_DOUBLE), intent(out) :: wrong
    integer(C_INTPTR_T), parameter :: l = 6, m = 5, n = 7   ! in memory's order, the fastest first
    integer(C_INTPTR_T), parameter :: kl = 2, km = 4, kn = 3
    real(C_DOUBLE), parameter :: pi = 3.14159265358979323846_C_DOUBLE
    complex(C_DOUBLE_COMPLEX), pointer :: data(:, :, :)
    complex(C_DOUBLE_COMPLEX) :: expected
    type(C_PTR) :: forward, backward, memory
    integer(C_INTPTR_T) :: elements, local_n, start, i, j, k

    call fftw_mpi_init()
    elements = fftw_mpi_local_size_3d(n, m, l, comm, local_n, start)
    memory = fftw_alloc_complex(elements)
    call c_f_pointer(memory, data, [l, m, local_n])
    forward = fftw_mpi_plan_dft_3d(n, m, l, data, data, comm, FFTW_FORWARD, FFTW_ESTIMATE)
    backward = fftw_mpi_plan_dft_3d(n, m, l, data, data, comm, FFTW_BACKWARD, FFTW_ESTIMATE)
    do k = 1, local_n
        do j = 1, m
            do i = 1, l
                data(i, j, k) = at(i, j, k)
            end do
        end do
    end do
    wrong = 0
    call fftw_mpi_execute_dft(forward, data, data)
    do k = 1, local_n
        do j = 1, m
            do i = 1, l
                expected = 0
                if (i - 1 == kl .and. j - 1 == km .and. start + k - 1 == kn) expected = l * m * n
                wrong = max(wrong, abs(data(i, j, k) - expected))
            end do
        end do
    end do
    call fftw_mpi_execute_dft(backward, data, data)
    do k = 1, local_n
        do j = 1, m
            do i = 1, l
                wrong = max(wrong, abs(data(i, j, k) / (l * m * n) - at(i, j, k)))
            end do
        end do
    end do
    call fftw_destroy_plan(forward)
    call fftw_destroy_plan(backward)
    call fftw_free(memory)
    call fftw_mpi_cleanup()

contains

    complex(C_DOUBLE_COMPLEX) function at(x, y, z)
        integer(C_INTPTR_T), intent(in) :: x, y, z
        real(C_DOUBLE) :: turns
        turns = real(kl * (x - 1), C_DOUBLE) / l + real(km * (y - 1), C_DOUBLE) / m &
            + real(kn * (start + z - 1), C_DOUBLE) / n
        at = exp(cmplx(0, 2 * pi * turns, C_DOUBLE))
    end function at

end subroutine wave
