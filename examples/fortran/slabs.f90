! Poisson's equation, minus the Laplacian of u is f, on a periodic cube that is cut into slabs: rank r has some planes of
! a(n, n, n), whole along the first two axes. u = sin x cos 2y sin 3z is known, and so is f = 14 u.
program slabs
    use, intrinsic :: iso_c_binding, only: c_double
    use mpi
    use spanfft
    use spanfft_mpi
    implicit none
    integer, parameter :: n = 24
    real(c_double), parameter :: step = 2 * acos(-1d0) / n
    integer :: ranks, ierr

    call MPI_Init(ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    call solve()
    call MPI_Finalize(ierr)

contains

    subroutine solve()  ! plans and communicator are freed when it returns, which is before MPI_Finalize
        type(fft_comm) :: comm
        type(fft_plan) :: forward, backward
        type(fft_part) :: r, s
        real(c_double), allocatable :: f(:, :, :), u(:, :, :)
        complex(c_double), allocatable :: spectrum(:, :, :)
        real(c_double) :: worst, square
        integer :: i, j, k

        call fft_comm_from_mpi(comm, MPI_COMM_WORLD)
        call forward%create(fft_problem([n, n, n], kind="r2c", grid=[1, 1, ranks]), comm)
        call backward%create(fft_problem([n, n, n], kind="c2r", grid=[1, 1, ranks]), comm)
        r = forward%input_part()
        s = forward%output_part()
        allocate(f(r%lower(1):r%upper(1), r%lower(2):r%upper(2), r%lower(3):r%upper(3)))
        allocate(u, mold=f)
        allocate(spectrum(s%lower(1):s%upper(1), s%lower(2):s%upper(2), s%lower(3):s%upper(3)))

        do k = lbound(f, 3), ubound(f, 3)  ! global indices, as the bounds are
            do j = 1, n
                do i = 1, n
                    f(i, j, k) = 14 * sin((i - 1) * step) * cos(2 * (j - 1) * step) * sin(3 * (k - 1) * step)
                end do
            end do
        end do
        call forward%execute(f, spectrum)
        do k = lbound(spectrum, 3), ubound(spectrum, 3)
            do j = 1, n
                do i = 1, n / 2 + 1
                    square = frequency(i)**2 + frequency(j)**2 + frequency(k)**2
                    if (square > 0) spectrum(i, j, k) = spectrum(i, j, k) / square
                    if (square == 0) spectrum(i, j, k) = 0
                end do
            end do
        end do
        call backward%execute(spectrum, u)
        worst = 0
        if (size(u) > 0) worst = maxval(abs(u - f / 14))
        if (worst > 1d-14) error stop "the solution is wrong"
        if (forward%rank() == 0) print "(a, i0, a, 3(i0, 1x))", "slabs: ", ranks, " ranks; rank 0 has ", r%extent
    end subroutine solve

    real(c_double) function frequency(i)  ! of index i, which counts from 1
        integer, intent(in) :: i
        frequency = merge(i - 1, i - 1 - n, i - 1 <= n / 2)
    end function frequency
end program slabs
