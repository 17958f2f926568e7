! The spectrum of a plane wave in a box that is cut into pencils: rank r has lines of a(n1, n2, n3) that are whole along
! the first axis; the second and third are divided by a grid of ranks. The spectrum has one element that is not 0.
program pencils
    use, intrinsic :: iso_c_binding, only: c_float
    use mpi
    use spanfft
    use spanfft_mpi
    implicit none
    integer, parameter :: n(3) = [20, 18, 14], wave(3) = [3, 5, 2]
    integer :: ranks, ierr

    call MPI_Init(ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
    call transform()
    call MPI_Finalize(ierr)

contains

    subroutine transform()
        type(fft_comm) :: comm
        type(fft_plan) :: plan
        type(fft_part) :: r, s
        complex(c_float), allocatable :: a(:, :, :), spectrum(:, :, :)
        real(c_float) :: phase, expected, worst
        integer :: i, j, k, columns

        columns = int(sqrt(real(ranks)))  ! the grid is as square as the ranks allow
        do while (mod(ranks, columns) /= 0)
            columns = columns - 1
        end do
        call fft_comm_from_mpi(comm, MPI_COMM_WORLD)
        call plan%create(fft_problem(n, words="float norm=forward", grid=[1, columns, ranks / columns]), comm)
        r = plan%input_part()
        s = plan%output_part()  ! divided like the input; words="output=exchanged" saves an exchange
        allocate(a(r%lower(1):r%upper(1), r%lower(2):r%upper(2), r%lower(3):r%upper(3)))
        allocate(spectrum(s%lower(1):s%upper(1), s%lower(2):s%upper(2), s%lower(3):s%upper(3)))

        do k = lbound(a, 3), ubound(a, 3)
            do j = lbound(a, 2), ubound(a, 2)
                do i = 1, n(1)
                    phase = 2 * acos(-1.0) * sum(wave * ([i, j, k] - 1) / real(n))
                    a(i, j, k) = cmplx(cos(phase), sin(phase))
                end do
            end do
        end do
        call plan%execute(a, spectrum)
        worst = 0
        do k = lbound(spectrum, 3), ubound(spectrum, 3)
            do j = lbound(spectrum, 2), ubound(spectrum, 2)
                do i = 1, n(1)
                    expected = merge(1, 0, all([i, j, k] == wave + 1))
                    worst = max(worst, abs(spectrum(i, j, k) - expected))
                end do
            end do
        end do
        if (worst > 1e-5) error stop "the spectrum is wrong"
        if (plan%rank() == 0) print "(a, i0, a, 3(i0, 1x))", "pencils: ", ranks, " ranks; rank 0 has ", r%extent
    end subroutine transform
end program pencils
