! Frequencies of a real field a(n1, n2), in one process: which wave is in it, and is the field there again afterwards?
program one_process
    use, intrinsic :: iso_c_binding, only: c_double
    use spanfft
    implicit none
    integer, parameter :: n1 = 48, n2 = 30
    real(c_double), parameter :: turn = 2 * acos(-1d0)
    real(c_double) :: a(n1, n2), again(n1, n2)
    complex(c_double) :: spectrum(n1 / 2 + 1, n2)  ! the first axis is halved
    type(fft_plan) :: forward, backward
    character(200) :: why
    integer :: i, j, stat

    call forward%create(fft_problem([n1, n2], kind="r2c"))  ! without stat an error stops the program with a sentence
    call backward%create(fft_problem([n1, n2], kind="c2r"))

    do j = 1, n2
        do i = 1, n1
            a(i, j) = cos(turn * (5d0 * (i - 1) / n1 + 3d0 * (j - 1) / n2))
        end do
    end do
    call forward%execute(a, spectrum)
    call backward%execute(spectrum, again)  ! divides by n1 * n2, as numpy does
    print "(a, 2i3)", "The wave has frequencies", maxloc(abs(spectrum)) - 1
    if (any(maxloc(abs(spectrum)) /= [6, 4])) error stop "the wave has other frequencies"
    if (maxval(abs(again - a)) > 1d-14) error stop "the field is not there again"

    call forward%execute(a, spectrum(:, :n2 - 1), stat=stat, errmsg=why)  ! with stat the program goes on
    if (stat /= SPANFFT_INVALID_ARGUMENT) error stop "a short output was not refused"
    print "(a)", trim(why)

    call forward%free()  ! variables of a main program are not finalized; those of procedures are
    call backward%free()
end program one_process
