! A long series in a file is transformed with a budget of memory: what is written with access="stream" is read by the
! library as it stands. The series has two waves, and its spectrum is searched for them with a buffer.
program larger_than_memory
    use, intrinsic :: iso_c_binding, only: c_float
    use, intrinsic :: iso_fortran_env, only: int64
    use spanfft
    implicit none
    integer(int64), parameter :: n = 2_int64**20
    integer, parameter :: block = 4096
    real(c_float) :: series(block)
    complex(c_float) :: spectrum(block)
    type(fft_plan) :: plan
    integer(int64) :: first
    integer :: i, unit, found

    open(newunit=unit, file="series.raw", access="stream", form="unformatted", status="replace")
    do first = 0, n - 1, block
        do i = 1, block
            series(i) = real(cos(wave(1000_int64, first + i - 1)) + cos(wave(300000_int64, first + i - 1)), c_float)
        end do
        write(unit) series
    end do
    close(unit)

    call plan%create(fft_problem([n], kind="r2c", words="float norm=forward memory=2MiB"))
    call plan%transform_file("series.raw", "spectrum.raw")
    call plan%free()

    found = 0
    open(newunit=unit, file="spectrum.raw", access="stream", form="unformatted", status="old")
    do first = 0, n / 2 - 1, block  ! the last, at n/2, stands alone
        read(unit) spectrum
        do i = 1, block
            if (abs(spectrum(i)) > 0.25) then
                print "(a, i0)", "a wave of frequency ", first + i - 1
                if (all(first + i - 1 /= [1000_int64, 300000_int64])) error stop "no such wave was put in"
                found = found + 1
            end if
        end do
    end do
    close(unit, status="delete")
    if (found /= 2) error stop "two waves were put in"

contains

    double precision function wave(frequency, place)
        integer(int64), intent(in) :: frequency, place
        wave = 2 * acos(-1d0) * modulo(frequency * place, n) / n
    end function wave
end program larger_than_memory
