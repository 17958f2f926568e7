! Module spanfft: Fourier transforms of Fortran arrays, by the C interface that spanfft.f03 declares.
!
! Method: an fft_problem says what to transform, in Fortran's order; its shape, axes, grid and parts are turned around
! and written as a problem string (docs/problem-string.md), of which the library makes the plan. Arrays are of any rank
! (F2018 assumed rank) and of the plan's type; generic resolution finds the type, run() checks shape and size.
! Invariant: a Fortran array a(n1, n2, n3) is C's array of n3 x n2 x n1 in the same memory, so axis i of n here is axis
! n - i there, counted from 0, and nothing is ever transposed.
! Handles free themselves: a plan or communicator that is copied is shared, and its last copy frees it. Variables of a
! main program are never finalized, so there call free(), before MPI_Finalize where there are ranks.
! Source: ISO/IEC 1539-1:2018; docs/howto/from-fortran.md shows how it is used.
module spanfft
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int64
    implicit none
    private

    public :: fft_problem, fft_plan, fft_comm, fft_part
    public :: SPANFFT_OK, SPANFFT_INVALID_ARGUMENT, SPANFFT_UNSUPPORTED, SPANFFT_OUT_OF_MEMORY, SPANFFT_IO_ERROR
    public :: SPANFFT_NO_SPACE, SPANFFT_CORRUPT_DATA, SPANFFT_MPI_ERROR, SPANFFT_ENGINE_ERROR, SPANFFT_INTERRUPTED
    public :: SPANFFT_INTERNAL, SPANFFT_CALLBACK_FAILED

    include "spanfft/spanfft.f03"

    interface
        function strlen(text) bind(C, name="strlen") result(length)
            import
            type(c_ptr), value :: text
            integer(c_size_t) :: length
        end function strlen
    end interface

    ! A rank's part of a global array, counted from 1: indices lower, lower + step, ..., upper along each axis, extent
    ! of them. step is 1 unless the layout is cyclic, so allocate(a(lower(1):upper(1), lower(2):upper(2))) is usual.
    type :: fft_part
        integer(int64), allocatable :: lower(:), upper(:), extent(:), step(:)
    end type fft_part

    ! What to transform. All that has an entry an axis is in the order of Fortran's array: the first axis is contiguous.
    type :: fft_problem
        integer(int64), allocatable :: shape(:)  ! global, in real space
        character(64) :: kind = "c2c"  ! "r2c" halves axes(1), the others are c2c; "dct2,c2c": one for each of axes
        character(512) :: words = ""  ! the problem string's others: "backward float norm=ortho", "memory=1GiB", ...
        integer, allocatable :: axes(:)  ! transformed, counted from 1; absent: all
        integer, allocatable :: grid(:)  ! into how many blocks each axis is divided over ranks; absent: chosen
        type(fft_part), allocatable :: real_part, spectrum_part  ! this rank's lower and upper; absent: balanced blocks
    end type fft_problem

    ! A handle of the library that all copies share; the last one frees it.
    type :: shared_handle
        type(c_ptr) :: handle = c_null_ptr
        integer, pointer :: owners => null()
        logical :: is_plan = .false.
    contains
        procedure :: hold
        procedure :: release
        procedure :: share
        final :: finalize_handle
    end type shared_handle

    ! The ranks that a plan is made for; module spanfft_mpi makes one of MPI's. A new one is this process alone.
    type :: fft_comm
        type(shared_handle), private :: owned
    contains
        procedure :: adopt
        procedure :: free => free_comm
        procedure, private :: copy_comm
        generic :: assignment(=) => copy_comm
    end type fft_comm

    ! What a problem was planned to; made once, executed many times.
    type :: fft_plan
        type(shared_handle), private :: owned
        integer, private :: kind = c_double  ! of the arrays' numbers
    contains
        procedure :: create
        procedure :: free => free_plan
        procedure, private :: copy_plan
        generic :: assignment(=) => copy_plan
        procedure, private :: execute_c2c_float, execute_r2c_float, execute_c2r_float, execute_r2r_float
        procedure, private :: execute_c2c_double, execute_r2c_double, execute_c2r_double, execute_r2r_double
        procedure, private :: in_place_complex_float, in_place_real_float
        procedure, private :: in_place_complex_double, in_place_real_double
        generic :: execute => execute_c2c_float, execute_r2c_float, execute_c2r_float, execute_r2r_float
        generic :: execute => execute_c2c_double, execute_r2c_double, execute_c2r_double, execute_r2r_double
        generic :: execute_in_place => in_place_complex_float, in_place_real_float
        generic :: execute_in_place => in_place_complex_double, in_place_real_double
        procedure :: transform_file
        procedure :: input_part
        procedure :: output_part
        procedure :: input_address  ! of words="own_input"; c_f_pointer makes an array of it
        procedure :: output_address  ! of words="own_output"
        procedure :: rank => plan_rank
        procedure :: ranks => plan_ranks
        procedure :: solver
        procedure :: problem_string  ! in C order, with the planner's choices
        procedure :: explain
    end type fft_plan

contains

    ! --- handles ------------------------------------------------------------------------------------------------------

    subroutine hold(self, handle, is_plan)
        class(shared_handle), intent(inout) :: self
        type(c_ptr), intent(in) :: handle
        logical, intent(in) :: is_plan
        call self%release()
        self%handle = handle
        self%is_plan = is_plan
        allocate(self%owners)
        self%owners = 1
    end subroutine hold

    subroutine release(self)
        class(shared_handle), intent(inout) :: self
        if (.not. associated(self%owners)) return
        self%owners = self%owners - 1
        if (self%owners == 0) then
            if (self%is_plan) call spanfft_plan_free(self%handle)
            if (.not. self%is_plan) call spanfft_comm_free(self%handle)
            deallocate(self%owners)
        end if
        self%owners => null()
        self%handle = c_null_ptr
    end subroutine release

    subroutine share(self, other)
        class(shared_handle), intent(inout) :: self
        type(shared_handle), intent(in) :: other
        type(c_ptr) :: handle
        integer, pointer :: owners
        handle = other%handle  ! first, as self and other may be one
        owners => other%owners
        if (associated(owners)) owners = owners + 1
        call self%release()
        self%handle = handle
        self%owners => owners
        self%is_plan = other%is_plan
    end subroutine share

    subroutine finalize_handle(self)
        type(shared_handle), intent(inout) :: self
        call self%release()
    end subroutine finalize_handle

    ! Takes over a communicator of the C interface, or ends as its error code says; for module spanfft_mpi.
    subroutine adopt(self, handle, code, stat, errmsg)
        class(fft_comm), intent(inout) :: self
        type(c_ptr), intent(in) :: handle
        integer(c_int), intent(in) :: code
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        if (code == SPANFFT_OK) call self%owned%hold(handle, is_plan=.false.)
        call conclude(code, stat, errmsg)
    end subroutine adopt

    ! Collective, as making it was. Plans that were made with it stay valid.
    subroutine free_comm(self)
        class(fft_comm), intent(inout) :: self
        call self%owned%release()
    end subroutine free_comm

    ! Collective for a plan on ranks.
    subroutine free_plan(self)
        class(fft_plan), intent(inout) :: self
        call self%owned%release()
    end subroutine free_plan

    subroutine copy_comm(self, other)
        class(fft_comm), intent(inout) :: self
        type(fft_comm), intent(in) :: other
        call self%owned%share(other%owned)
    end subroutine copy_comm

    subroutine copy_plan(self, other)
        class(fft_plan), intent(inout) :: self
        type(fft_plan), intent(in) :: other
        call self%owned%share(other%owned)
        self%kind = other%kind
    end subroutine copy_plan

    ! --- errors and texts ---------------------------------------------------------------------------------------------

    ! As for ALLOCATE: with stat the program goes on, without it an error stops it with the library's sentence.
    subroutine conclude(code, stat, errmsg)
        integer(c_int), intent(in) :: code
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        character(:), allocatable :: sentence
        if (present(stat)) stat = code
        if (code == SPANFFT_OK) return
        sentence = text_at(spanfft_last_error())
        if (present(errmsg)) errmsg = sentence
        sentence = "spanfft: " // sentence
        if (.not. present(stat)) error stop sentence
    end subroutine conclude

    function text_at(address) result(text)
        type(c_ptr), intent(in) :: address
        character(:), allocatable :: text
        character(kind=c_char), pointer :: letters(:)
        integer :: i
        if (.not. c_associated(address)) then
            text = ""
            return
        end if
        call c_f_pointer(address, letters, [strlen(address)])
        allocate(character(size(letters)) :: text)
        do i = 1, size(letters)
            text(i:i) = letters(i)
        end do
    end function text_at

    ! A text that the library allocated.
    function taken(address) result(text)
        type(c_ptr), intent(in) :: address
        character(:), allocatable :: text
        text = text_at(address)
        call spanfft_free(address)
    end function taken

    function decimal(number) result(text)
        integer(int64), intent(in) :: number
        character(:), allocatable :: text
        character(24) :: digits
        write (digits, "(i0)") number
        text = trim(digits)
    end function decimal

    ! Numbers from the last to the first, which is C's order, with a letter between two.
    function turned(numbers, separator) result(text)
        integer(int64), intent(in) :: numbers(:)
        character(*), intent(in) :: separator
        character(:), allocatable :: text
        integer :: i
        text = ""
        do i = size(numbers), 1, -1
            text = text // decimal(numbers(i))
            if (i > 1) text = text // separator
        end do
    end function turned

    ! --- making a plan ------------------------------------------------------------------------------------------------

    ! Collective on ranks.
    subroutine create(self, problem, comm, stat, errmsg)
        class(fft_plan), intent(inout) :: self
        type(fft_problem), intent(in) :: problem
        type(fft_comm), intent(in), optional :: comm
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        type(spanfft_box), allocatable :: real_box, spectrum_box  ! not allocated: absent, which is NULL
        character(:), allocatable :: text
        type(c_ptr) :: ranks, made
        integer(c_int) :: code
        call self%free()
        ranks = c_null_ptr
        made = c_null_ptr
        if (present(comm)) ranks = comm%owned%handle
        if (allocated(problem%real_part)) real_box = box_of(problem%real_part)
        if (allocated(problem%spectrum_part)) spectrum_box = box_of(problem%spectrum_part)
        text = problem_text(problem)
        code = spanfft_plan_parse_boxes(text // c_null_char, real_box, spectrum_box, ranks, made)
        if (code == SPANFFT_OK) call self%owned%hold(made, is_plan=.true.)
        self%kind = merge(c_float, c_double, index(" " // problem%words, " float ") > 0)
        call conclude(code, stat, errmsg)
    end subroutine create

    ! The problem string. What is wrong in it the parser says, to all ranks; what only Fortran gets wrong is written as
    ! a word that the parser refuses by name.
    function problem_text(problem) result(text)
        type(fft_problem), intent(in) :: problem
        character(:), allocatable :: text
        integer :: n
        n = 0
        if (allocated(problem%shape)) n = size(problem%shape)
        text = turned_words(problem%kind) // " "
        if (n > 0) text = text // turned(problem%shape, "x")
        if (allocated(problem%axes)) then
            text = text // " axes=" // turned(int(n - problem%axes, int64), ",")
        end if
        if (allocated(problem%grid)) text = text // " grid=" // turned(int(problem%grid, int64), "x")
        if (allocated(problem%axes)) then
            if (any(problem%axes < 1 .or. problem%axes > n)) text = text // " axes_of_fft_problem_count_from_1"
        end if
        if (index(" " // problem%words, " axes=") > 0 .or. index(" " // problem%words, " grid=") > 0) then
            text = text // " axes_and_grid_are_components_of_fft_problem_in_the_order_of_Fortran"
        end if
        text = text // " " // trim(problem%words)
    end function problem_text

    ! The kinds of a list with commas, from the last to the first.
    function turned_words(list) result(text)
        character(*), intent(in) :: list
        character(:), allocatable :: text, rest
        integer :: comma
        rest = trim(adjustl(list))
        text = ""
        do
            comma = index(rest, ",", back=.true.)
            text = text // rest(comma + 1:)
            if (comma == 0) exit
            text = text // ","
            rest = rest(:comma - 1)
        end do
    end function turned_words

    function box_of(part) result(box)
        type(fft_part), intent(in) :: part
        type(spanfft_box) :: box
        integer :: i, n
        n = min(size(part%lower), size(part%upper), int(SPANFFT_MAX_NDIM))
        do i = 1, n
            box%start(i) = part%lower(n + 1 - i) - 1
            box%count(i) = part%upper(n + 1 - i) - part%lower(n + 1 - i) + 1
        end do
    end function box_of

    ! --- asking a plan ------------------------------------------------------------------------------------------------

    function input_part(self) result(part)
        class(fft_plan), intent(in) :: self
        type(fft_part) :: part
        type(spanfft_part) :: c
        integer(c_int) :: code
        c%size = c_sizeof(c)
        code = spanfft_plan_input_part(self%owned%handle, c)
        part = part_of(c, merge(spanfft_plan_input_shape(self%owned%handle), 0_c_int, code == SPANFFT_OK))
    end function input_part

    function output_part(self) result(part)
        class(fft_plan), intent(in) :: self
        type(fft_part) :: part
        type(spanfft_part) :: c
        integer(c_int) :: code
        c%size = c_sizeof(c)
        code = spanfft_plan_output_part(self%owned%handle, c)
        part = part_of(c, merge(spanfft_plan_output_shape(self%owned%handle), 0_c_int, code == SPANFFT_OK))
    end function output_part

    function part_of(c, n) result(part)
        type(spanfft_part), intent(in) :: c
        integer(c_int), intent(in) :: n
        type(fft_part) :: part
        allocate(part%lower(n), part%upper(n), part%extent(n), part%step(n))
        part%lower = c%start(n:1:-1) + 1
        part%extent = c%count(n:1:-1)
        part%step = c%step(n:1:-1)
        part%upper = part%lower + (part%extent - 1) * part%step
    end function part_of

    function input_address(self) result(address)
        class(fft_plan), intent(in) :: self
        type(c_ptr) :: address
        address = spanfft_plan_input_array(self%owned%handle)
    end function input_address

    function output_address(self) result(address)
        class(fft_plan), intent(in) :: self
        type(c_ptr) :: address
        address = spanfft_plan_output_array(self%owned%handle)
    end function output_address

    integer function plan_rank(self)  ! from 0, as MPI's
        class(fft_plan), intent(in) :: self
        plan_rank = spanfft_plan_rank(self%owned%handle)
    end function plan_rank

    integer function plan_ranks(self)
        class(fft_plan), intent(in) :: self
        plan_ranks = spanfft_plan_ranks(self%owned%handle)
    end function plan_ranks

    function solver(self) result(text)
        class(fft_plan), intent(in) :: self
        character(:), allocatable :: text
        text = text_at(spanfft_plan_solver(self%owned%handle))
    end function solver

    function problem_string(self) result(text)
        class(fft_plan), intent(in) :: self
        character(:), allocatable :: text
        type(c_ptr) :: address
        address = c_null_ptr
        text = ""
        if (spanfft_plan_problem(self%owned%handle, address) == SPANFFT_OK) text = taken(address)
    end function problem_string

    function explain(self) result(text)
        class(fft_plan), intent(in) :: self
        character(:), allocatable :: text
        type(c_ptr) :: address
        address = c_null_ptr
        text = ""
        if (spanfft_plan_explain(self%owned%handle, address) == SPANFFT_OK) text = taken(address)
    end function explain

    ! --- running it ---------------------------------------------------------------------------------------------------

    ! A sentence where an array is not this rank's part of the plan, else "".
    function fault_of(what, extents, element_bytes, whole, part, bytes) result(fault)
        character(*), intent(in) :: what
        integer(int64), intent(in) :: extents(:), bytes
        integer, intent(in) :: element_bytes
        logical, intent(in) :: whole
        type(fft_part), intent(in) :: part
        character(:), allocatable :: fault
        integer(int64) :: elements
        fault = ""
        elements = product(part%extent)
        if (.not. whole) then
            fault = gaps(what)
        else if (size(extents) == size(part%extent) .and. bytes == elements * element_bytes) then  ! of an axis each
            if (any(extents /= part%extent)) then
                fault = "the " // what // " is an array of " // turned(extents(size(extents):1:-1), " x ") // &
                    "; this rank's part is " // turned(part%extent(size(extents):1:-1), " x ")
            end if
        else if (product(extents) * element_bytes < bytes) then
            fault = "the " // what // " has " // decimal(product(extents) * element_bytes) // &
                " bytes; this rank's part has " // decimal(bytes)
        else if (elements > 0) then
            if (mod(bytes, elements * element_bytes) /= 0) then  ! more than 1: a batch
                fault = "the " // what // " is complex where the plan's is real"
            end if
        end if
    end function fault_of

    function wrong_kind(self, kind) result(fault)
        class(fft_plan), intent(in) :: self
        integer, intent(in) :: kind
        character(:), allocatable :: fault
        fault = ""
        if (kind == self%kind) return
        fault = "the arrays have numbers of kind " // decimal(int(kind, int64)) // "; the plan's have kind " // &
            decimal(int(self%kind, int64)) // ', as words="float" or its absence says'
    end function wrong_kind

    function gaps(what) result(fault)
        character(*), intent(in) :: what
        character(:), allocatable :: fault
        fault = "the " // what // " is a section with gaps between its elements; copy it into an array of its own"
    end function gaps

    ! Collective on ranks: a rank whose array is wrong tells all others, so none waits.
    subroutine run(self, kind, input, input_extents, input_bytes, input_whole, &
            output, output_extents, output_bytes, output_whole, stat, errmsg)
        class(fft_plan), intent(in) :: self
        integer, intent(in) :: kind
        type(c_ptr), intent(in) :: input, output
        integer(int64), intent(in) :: input_extents(:), output_extents(:)
        integer, intent(in) :: input_bytes, output_bytes  ! of an element
        logical, intent(in) :: input_whole, output_whole  ! contiguous
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        character(:), allocatable :: fault
        integer(c_int) :: code
        fault = ""
        if (c_associated(self%owned%handle)) fault = wrong_kind(self, kind)
        if (c_associated(self%owned%handle) .and. fault == "") then
            fault = fault_of("input", input_extents, input_bytes, input_whole, self%input_part(), &
                spanfft_plan_input_bytes(self%owned%handle))
            if (fault == "") fault = fault_of("output", output_extents, output_bytes, output_whole, &
                self%output_part(), spanfft_plan_output_bytes(self%owned%handle))
        end if
        code = SPANFFT_OK
        if (fault /= "") code = SPANFFT_INVALID_ARGUMENT
        code = spanfft_execute_unless(self%owned%handle, input, output, code, fault // c_null_char)
        call conclude(code, stat, errmsg)
    end subroutine run

    ! The same where input and output are one array, which is as long as the longer of the two.
    subroutine run_in_place(self, kind, array, bytes, whole, stat, errmsg)
        class(fft_plan), intent(in) :: self
        integer, intent(in) :: kind
        type(c_ptr), intent(in) :: array
        integer(int64), intent(in) :: bytes
        logical, intent(in) :: whole
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        character(:), allocatable :: fault
        integer(int64) :: needed
        integer(c_int) :: code
        needed = max(spanfft_plan_input_bytes(self%owned%handle), spanfft_plan_output_bytes(self%owned%handle))
        fault = wrong_kind(self, kind)
        if (.not. whole) fault = gaps("array")
        if (bytes < needed) then
            fault = "the array has " // decimal(bytes) // " bytes; this rank needs " // decimal(needed)
        end if
        code = SPANFFT_OK
        if (fault /= "") code = SPANFFT_INVALID_ARGUMENT
        code = spanfft_execute_unless(self%owned%handle, array, array, code, fault // c_null_char)
        call conclude(code, stat, errmsg)
    end subroutine run_in_place

    ! Transforms an array in a file, which may be larger than memory (words="memory=1GiB"): what a Fortran program wrote
    ! with access="stream". Collective on ranks; see spanfft_transform_file.
    subroutine transform_file(self, input_path, output_path, offset_bytes, scratch_folder, stat, errmsg)
        class(fft_plan), intent(in) :: self
        character(*), intent(in) :: input_path, output_path
        integer(int64), intent(in), optional :: offset_bytes
        character(*), intent(in), optional :: scratch_folder
        integer, intent(out), optional :: stat
        character(*), intent(inout), optional :: errmsg
        integer(int64) :: offset
        integer(c_int) :: code
        offset = 0
        if (present(offset_bytes)) offset = offset_bytes
        if (present(scratch_folder)) then
            code = spanfft_transform_file(self%owned%handle, trim(input_path) // c_null_char, offset, &
                trim(output_path) // c_null_char, c_null_ptr, 0_int64, trim(scratch_folder) // c_null_char, &
                c_null_funptr, c_null_ptr)
        else
            code = spanfft_transform_file(self%owned%handle, trim(input_path) // c_null_char, offset, &
                trim(output_path) // c_null_char, c_null_ptr, 0_int64, progress=c_null_funptr, user=c_null_ptr)
        end if
        call conclude(code, stat, errmsg)
    end subroutine transform_file

    ! Each type of elements: float, then double.
#define NAME execute_c2c_float
#define INPUT complex(c_float)
#define OUTPUT complex(c_float)
#define KIND c_float
#include "execute.inc"
#define NAME execute_r2c_float
#define INPUT real(c_float)
#define OUTPUT complex(c_float)
#define KIND c_float
#include "execute.inc"
#define NAME execute_c2r_float
#define INPUT complex(c_float)
#define OUTPUT real(c_float)
#define KIND c_float
#include "execute.inc"
#define NAME execute_r2r_float
#define INPUT real(c_float)
#define OUTPUT real(c_float)
#define KIND c_float
#include "execute.inc"
#define NAME execute_c2c_double
#define INPUT complex(c_double)
#define OUTPUT complex(c_double)
#define KIND c_double
#include "execute.inc"
#define NAME execute_r2c_double
#define INPUT real(c_double)
#define OUTPUT complex(c_double)
#define KIND c_double
#include "execute.inc"
#define NAME execute_c2r_double
#define INPUT complex(c_double)
#define OUTPUT real(c_double)
#define KIND c_double
#include "execute.inc"
#define NAME execute_r2r_double
#define INPUT real(c_double)
#define OUTPUT real(c_double)
#define KIND c_double
#include "execute.inc"
#define NAME in_place_complex_float
#define ARRAY complex(c_float)
#define KIND c_float
#include "execute_in_place.inc"
#define NAME in_place_real_float
#define ARRAY real(c_float)
#define KIND c_float
#include "execute_in_place.inc"
#define NAME in_place_complex_double
#define ARRAY complex(c_double)
#define KIND c_double
#include "execute_in_place.inc"
#define NAME in_place_real_double
#define ARRAY real(c_double)
#define KIND c_double
#include "execute_in_place.inc"
end module spanfft
