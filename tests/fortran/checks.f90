! Checks of module spanfft in one process: each transform beside the sum that defines it, in Fortran's order of axes; the
! life of plans; what is refused, and how. Prints a line for each check that holds and stops at the first that does not.
program checks
    use, intrinsic :: iso_c_binding
    use spanfft
    use counted_frees
    implicit none
    integer, parameter :: n1 = 4, n2 = 3, n3 = 5
    real(c_double), parameter :: pi = acos(-1d0)
    complex(c_double) :: x(n1, n2, n3)
    real(c_double) :: parts(2, n1, n2, n3)

    call random_init(repeatable=.true., image_distinct=.false.)
    call random_number(parts)
    x = cmplx(parts(1, :, :, :), parts(2, :, :, :), c_double)
    call complex_axes()
    call halved_axes()
    call real_kinds()
    call other_shapes()
    call floats_in_place()
    call own_arrays()
    call lives_of_plans()
    call refusals()

contains

    subroutine require(good, what)
        logical, intent(in) :: good
        character(*), intent(in) :: what
        if (.not. good) then
            print "(2a)", "FAILED: ", what
            error stop 1
        end if
        print "(2a)", "holds: ", what
    end subroutine require

    ! The discrete Fourier transform along one axis, by its sum.
    function dft(a, axis) result(b)
        complex(c_double), intent(in) :: a(:, :, :)
        integer, intent(in) :: axis
        complex(c_double) :: b(size(a, 1), size(a, 2), size(a, 3)), factor
        integer :: k, j, n
        n = size(a, axis)
        b = 0
        do k = 0, n - 1
            do j = 0, n - 1
                factor = exp(cmplx(0, -2 * pi * j * k / n, c_double))
                if (axis == 1) b(k + 1, :, :) = b(k + 1, :, :) + factor * a(j + 1, :, :)
                if (axis == 2) b(:, k + 1, :) = b(:, k + 1, :) + factor * a(:, j + 1, :)
                if (axis == 3) b(:, :, k + 1) = b(:, :, k + 1) + factor * a(:, :, j + 1)
            end do
        end do
    end function dft

    logical function near(a, b)
        complex(c_double), intent(in) :: a(:, :, :), b(:, :, :)
        near = all(shape(a) == shape(b))
        if (near) near = maxval(abs(a - b)) < 1d-13
    end function near

    subroutine complex_axes()
        type(fft_plan) :: plan
        complex(c_double) :: y(n1, n2, n3), z(n1, n2, n3), expected(n1, n2, n3)
        call plan%create(fft_problem([n1, n2, n3]))
        call plan%execute(x, y)
        call require(near(y, dft(dft(dft(x, 1), 2), 3)), "c2c of all axes")
        call require(index(plan%problem_string(), "5x3x4") > 0, "the problem string is in C order")
        call require(index(plan%explain(), "local") > 0 .and. plan%solver() == "local", "explain and solver")
        call plan%create(fft_problem([n1, n2, n3], axes=[2]))
        call plan%execute(x, y)
        call require(near(y, dft(x, 2)), "c2c of axis 2")
        call plan%create(fft_problem([n1, n2, n3], axes=[1, 3]))
        call plan%execute(x, y)
        expected = dft(dft(x, 3), 1)
        call require(near(y, expected), "c2c of axes 1 and 3")
        call plan%create(fft_problem([n1, n2, n3], axes=[1, 3], words="backward"))
        call plan%execute(y, z)
        call require(near(z, x), "backward")
        call plan%create(fft_problem([n1, n2], words="batch=5"))
        call plan%execute(x, y)
        call require(near(y, dft(dft(x, 1), 2)), "a batch is Fortran's last axis")
    end subroutine complex_axes

    subroutine halved_axes()
        type(fft_plan) :: plan
        type(fft_part) :: part
        real(c_double) :: a(n1, n2, n3), again(n1, n2, n3)
        complex(c_double) :: h1(n1 / 2 + 1, n2, n3), h2(n1, n2 / 2 + 1, n3), whole(n1, n2, n3)
        a = real(x)
        whole = dft(dft(dft(cmplx(a, kind=c_double), 1), 2), 3)
        call plan%create(fft_problem([n1, n2, n3], "r2c"))
        call plan%execute(a, h1)
        call require(near(h1, whole(:n1 / 2 + 1, :, :)), "r2c halves the first axis")
        part = plan%output_part()
        call require(all(part%extent == shape(h1)) .and. all(part%lower == 1) .and. all(part%upper == shape(h1)), &
            "output_part is in Fortran's order")
        call plan%create(fft_problem([n1, n2, n3], "c2r"))
        call plan%execute(h1, again)
        call require(maxval(abs(again - a)) < 1d-14, "c2r")
        call plan%create(fft_problem([n1, n2, n3], "r2c", axes=[2, 3]))
        call plan%execute(a, h2)
        whole = dft(dft(cmplx(a, kind=c_double), 2), 3)
        call require(near(h2, whole(:, :n2 / 2 + 1, :)), "r2c halves the first of axes")
    end subroutine halved_axes

    subroutine real_kinds()
        type(fft_plan) :: plan
        real(c_double) :: a(n1, n2, n3), b(n1, n2, n3), expected(n1, n2, n3)
        integer :: i, j, k, m
        a = real(x)
        call plan%create(fft_problem([n1, n2, n3], "dct2,dst1", axes=[1, 3]))
        call plan%execute(a, b)
        expected = 0
        do k = 0, n1 - 1
            do m = 0, n3 - 1
                do i = 0, n1 - 1
                    do j = 0, n3 - 1
                        expected(k + 1, :, m + 1) = expected(k + 1, :, m + 1) + 4 * a(i + 1, :, j + 1) &
                            * cos(pi * k * (2 * i + 1) / (2 * n1)) * sin(pi * (j + 1) * (m + 1) / (n3 + 1))
                    end do
                end do
            end do
        end do
        call require(maxval(abs(b - expected)) < 1d-13, "kinds are in the order of axes")
    end subroutine real_kinds

    subroutine other_shapes()
        type(fft_plan) :: plan
        complex(c_double) :: y(n1, n2, n3), wide(n1, n2, 2 * n3), flat(n1 * n2 * n3)
        call plan%create(fft_problem([n1, n2, n3]))
        call plan%execute(x, y)
        flat = reshape(x, shape(flat))
        wide = 0
        call plan%execute(flat, wide(:, :, n3 + 1:))
        call require(near(wide(:, :, n3 + 1:), y), "an array of another rank, and a section without gaps")
        call require(maxval(abs(wide(:, :, :n3))) <= 0, "what is before it is left")
        call assumed_shape(plan, wide(:, :, n3 + 1:), y)
    end subroutine other_shapes

    subroutine assumed_shape(plan, to, y)
        type(fft_plan), intent(in) :: plan
        complex(c_double), intent(inout) :: to(:, :, :)
        complex(c_double), intent(in) :: y(n1, n2, n3)
        to = 0
        call plan%execute(x, to)
        call require(near(to, y), "an array of assumed shape")
    end subroutine assumed_shape

    subroutine floats_in_place()
        type(fft_plan) :: plan
        complex(c_float) :: y(n1, n2, n3)
        complex(c_double) :: expected(n1, n2, n3)
        real(c_float) :: a(n1, n2, n3), b(n1, n2, n3)
        complex(c_float) :: half(n1 / 2 + 1, n2, n3)
        y = cmplx(x, kind=c_float)
        call plan%create(fft_problem([n1, n2, n3], words="float in_place"))
        call plan%execute_in_place(y)
        expected = dft(dft(dft(x, 1), 2), 3)
        call require(maxval(abs(y - cmplx(expected, kind=c_float))) < 2e-5, "float, in place")
        a = real(x, c_float)
        call plan%create(fft_problem([n1, n2, n3], "r2c", "float"))
        call plan%execute(a, half)
        call plan%create(fft_problem([n1, n2, n3], "c2r", "float"))
        call plan%execute(half, b)
        call require(maxval(abs(a - b)) < 1e-6, "float, r2c and c2r")
    end subroutine floats_in_place

    subroutine own_arrays()
        type(fft_plan) :: plan
        complex(c_double), pointer :: y(:, :, :)
        call plan%create(fft_problem([n1, n2, n3], words="own_output"))
        call c_f_pointer(plan%output_address(), y, [n1, n2, n3])
        call plan%execute(x, y)
        call require(near(y, dft(dft(dft(x, 1), 2), 3)), "the plan's own output")
    end subroutine own_arrays

    subroutine lives_of_plans()
        integer :: before
        before = freed
        call one_plan()
        call require(freed == before + 1, "a plan is freed when its procedure returns")
        call two_copies()
        call require(freed == before + 2, "copies share a plan, and the last one frees it")
        call plan_anew()
        call require(freed == before + 4, "making a plan anew frees the old one")
    end subroutine lives_of_plans

    subroutine one_plan()
        type(fft_plan) :: plan
        call plan%create(fft_problem([8]))
    end subroutine one_plan

    subroutine two_copies()
        type(fft_plan) :: plan, other
        complex(c_double) :: y(n1, n2, n3)
        integer :: before
        before = freed
        call plan%create(fft_problem([n1, n2, n3], axes=[2]))
        other = plan
        other = other
        call plan%free()
        call require(freed == before, "a copy keeps the plan")
        call other%execute(x, y)
        call require(near(y, dft(x, 2)), "a copy runs it")
    end subroutine two_copies

    subroutine plan_anew()
        type(fft_plan) :: plan
        call plan%create(fft_problem([8]))
        call plan%create(fft_problem([9]))
    end subroutine plan_anew

    subroutine refusals()
        type(fft_plan) :: plan
        complex(c_double) :: y(n1, n2, n3), turned(n3, n2, n1), wide(2 * n1, n2, n3)
        complex(c_float) :: single(n1, n2, n3), long(2 * n1, n2, n3)  ! as many bytes as x
        character(200) :: why
        integer :: stat
        call plan%execute(x, y, stat, why)
        call require(stat == SPANFFT_INVALID_ARGUMENT .and. why /= "", "no plan: " // trim(why))
        call plan%create(fft_problem([n1, n2], "c3c"), stat=stat, errmsg=why)
        call require(stat == SPANFFT_INVALID_ARGUMENT .and. index(why, "c3c") > 0, trim(why))
        call plan%create(fft_problem([n1, n2], words="axes=0"), stat=stat, errmsg=why)
        call require(stat == SPANFFT_INVALID_ARGUMENT .and. index(why, "components_of_fft_problem") > 0, trim(why))
        call plan%create(fft_problem([n1, n2], axes=[0]), stat=stat, errmsg=why)
        call require(stat == SPANFFT_INVALID_ARGUMENT .and. index(why, "count_from_1") > 0, trim(why))
        call plan%create(fft_problem([n1, n2, n3]), stat=stat, errmsg=why)
        call require(stat == SPANFFT_OK, "stat is 0 after no error")
        call plan%execute(x, turned, stat, why)
        call require(stat == SPANFFT_INVALID_ARGUMENT .and. index(why, "5 x 3 x 4") > 0, trim(why))
        call plan%execute(single, single, stat, why)
        call require(stat == SPANFFT_INVALID_ARGUMENT, trim(why))
        call plan%execute(long, long, stat, why)
        call require(stat == SPANFFT_INVALID_ARGUMENT .and. index(why, "kind 4") > 0, trim(why))
        call plan%create(fft_problem([n1, n2, n3], "dct2"))
        call plan%execute(x, y, stat, why)
        call require(stat == SPANFFT_INVALID_ARGUMENT .and. index(why, "complex") > 0, trim(why))
        call plan%create(fft_problem([n1, n2, n3]))
        call plan%execute(x, y(:, :, :2), stat, why)
        call require(stat == SPANFFT_INVALID_ARGUMENT, trim(why))
        call plan%execute(x, wide(::2, :, :), stat, why)
        call require(stat == SPANFFT_INVALID_ARGUMENT .and. index(why, "gaps") > 0, trim(why))
        call plan%transform_file("no such file", "y", stat=stat, errmsg=why)
        call require(stat /= SPANFFT_OK, trim(why))
    end subroutine refusals
end program checks
