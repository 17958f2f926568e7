! An impulse at the origin has a spectrum of ones. 6 x 5, this process alone.
program local
    use, intrinsic :: iso_c_binding, only: c_double
    use spanfft
    implicit none
    type(fft_plan) :: plan
    complex(c_double) :: impulse(6, 5), spectrum(6, 5)
    impulse = 0
    impulse(1, 1) = 1
    call plan%create(fft_problem([6, 5]))
    call plan%execute(impulse, spectrum)
    call plan%free()
    if (maxval(abs(spectrum - 1)) > 1d-15) error stop "the spectrum is wrong"
    print "(a)", "spanfft works from Fortran"
end program local
