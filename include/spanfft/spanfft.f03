! spanfft's C interface for Fortran 2018: include it where "use, intrinsic :: iso_c_binding" stands before.
!
! Made from spanfft.h and spanfft_mpi.h by fortran/make_interfaces.py; don't edit it. Being included, it is compiled by
! your compiler, so there is no .mod file of another one. What each function does, the headers say. An argument that is
! a pointer there may be left out here where NULL is allowed there. Arrays of lengths are in C order, slowest axis
! first: the module in fortran/spanfft.F90 turns them around and is what programs usually want.
! spanfft_comm_from_mpi is absent, because MPI_Comm is a type of C: Fortran has spanfft_comm_from_fortran.

integer(c_int), parameter :: SPANFFT_MAX_NDIM = 6
integer(c_int), parameter :: SPANFFT_OK = 0
integer(c_int), parameter :: SPANFFT_INVALID_ARGUMENT = 1
integer(c_int), parameter :: SPANFFT_UNSUPPORTED = 2
integer(c_int), parameter :: SPANFFT_OUT_OF_MEMORY = 3
integer(c_int), parameter :: SPANFFT_IO_ERROR = 4
integer(c_int), parameter :: SPANFFT_NO_SPACE = 5
integer(c_int), parameter :: SPANFFT_CORRUPT_DATA = 6
integer(c_int), parameter :: SPANFFT_MPI_ERROR = 7
integer(c_int), parameter :: SPANFFT_ENGINE_ERROR = 8
integer(c_int), parameter :: SPANFFT_INTERRUPTED = 9
integer(c_int), parameter :: SPANFFT_INTERNAL = 10
integer(c_int), parameter :: SPANFFT_CALLBACK_FAILED = 11
integer(c_int), parameter :: SPANFFT_FLOAT = 0
integer(c_int), parameter :: SPANFFT_DOUBLE = 1
integer(c_int), parameter :: SPANFFT_LONGDOUBLE = 2
integer(c_int), parameter :: SPANFFT_FORWARD = 0
integer(c_int), parameter :: SPANFFT_BACKWARD = 1
integer(c_int), parameter :: SPANFFT_C2C = 0
integer(c_int), parameter :: SPANFFT_R2C = 1
integer(c_int), parameter :: SPANFFT_DCT1 = 2
integer(c_int), parameter :: SPANFFT_DCT2 = 3
integer(c_int), parameter :: SPANFFT_DCT3 = 4
integer(c_int), parameter :: SPANFFT_DCT4 = 5
integer(c_int), parameter :: SPANFFT_DST1 = 6
integer(c_int), parameter :: SPANFFT_DST2 = 7
integer(c_int), parameter :: SPANFFT_DST3 = 8
integer(c_int), parameter :: SPANFFT_DST4 = 9
integer(c_int), parameter :: SPANFFT_NORM_BACKWARD = 0
integer(c_int), parameter :: SPANFFT_NORM_ORTHO = 1
integer(c_int), parameter :: SPANFFT_NORM_FORWARD = 2
integer(c_int), parameter :: SPANFFT_OUTPUT_NATURAL = 0
integer(c_int), parameter :: SPANFFT_OUTPUT_EXCHANGED = 1
integer(c_int), parameter :: SPANFFT_LAYOUT_BLOCK = 0
integer(c_int), parameter :: SPANFFT_LAYOUT_CYCLIC = 1
integer(c_int), parameter :: SPANFFT_ESTIMATE = 0
integer(c_int), parameter :: SPANFFT_MEASURE = 1
integer(c_int), parameter :: SPANFFT_TUNE = 2
integer(c_int), parameter :: SPANFFT_TRACE_RUN = 0
integer(c_int), parameter :: SPANFFT_TRACE_STEP = 1
integer(c_int), parameter :: SPANFFT_TRACE_COMPUTE = 2
integer(c_int), parameter :: SPANFFT_TRACE_COMMUNICATION = 3
integer(c_int), parameter :: SPANFFT_TRACE_WAIT = 4
integer(c_int), parameter :: SPANFFT_TRACE_DISK = 5
integer(c_int), parameter :: SPANFFT_TRACK_STEPS = 0
integer(c_int), parameter :: SPANFFT_TRACK_MESSAGES = 1
integer(c_int), parameter :: SPANFFT_TRACK_READS = 2
integer(c_int), parameter :: SPANFFT_TRACK_WRITES = 3
integer(c_int), parameter :: SPANFFT_TRACK_CALLS = 4
integer(c_int), parameter :: SPANFFT_OWN_CODES = 1000
integer(c_int), parameter :: SPANFFT_JOURNAL_OFF = 0
integer(c_int), parameter :: SPANFFT_JOURNAL_AUTO = 1
integer(c_int), parameter :: SPANFFT_JOURNAL_RESUME = 2
integer(c_int), parameter :: SPANFFT_JOURNAL_RESTART = 3
integer(c_int), parameter :: SPANFFT_HALO_COST_EXCHANGE = 0
integer(c_int), parameter :: SPANFFT_HALO_COST_EXCHANGE_OWN = 1
integer(c_int), parameter :: SPANFFT_HALO_COST_ADD = 2

type, bind(C) :: spanfft_box
    integer(c_int64_t) :: start(SPANFFT_MAX_NDIM) = 0
    integer(c_int64_t) :: count(SPANFFT_MAX_NDIM) = 0
end type spanfft_box

type, bind(C) :: spanfft_part
    integer(c_size_t) :: size = 0
    integer(c_int64_t) :: start(SPANFFT_MAX_NDIM) = 0
    integer(c_int64_t) :: count(SPANFFT_MAX_NDIM) = 0
    integer(c_int64_t) :: step(SPANFFT_MAX_NDIM) = 0
end type spanfft_part

type, bind(C) :: spanfft_problem
    integer(c_size_t) :: size = 0
    integer(c_int32_t) :: ndim = 0
    integer(c_int64_t) :: shape(SPANFFT_MAX_NDIM) = 0
    integer(c_int32_t) :: naxes = 0
    integer(c_int32_t) :: axes(SPANFFT_MAX_NDIM) = 0
    integer(c_int32_t) :: kinds(SPANFFT_MAX_NDIM) = 0
    integer(c_int32_t) :: direction = 0
    integer(c_int32_t) :: precision = 0
    integer(c_int32_t) :: norm = 0
    integer(c_int64_t) :: batch = 0
    integer(c_int32_t) :: ngrid = 0
    integer(c_int64_t) :: grid(SPANFFT_MAX_NDIM) = 0
    integer(c_int32_t) :: output = 0
    type(c_ptr) :: real_box = c_null_ptr
    type(c_ptr) :: spectrum_box = c_null_ptr
    integer(c_int32_t) :: threads = 0
    type(c_ptr) :: engine = c_null_ptr
    type(c_ptr) :: exchange = c_null_ptr
    integer(c_int32_t) :: effort = 0
    integer(c_int32_t) :: in_place = 0
    integer(c_int64_t) :: memory_bytes = 0
    integer(c_int32_t) :: own_output = 0
    integer(c_int32_t) :: layout = 0
    real(c_double) :: measure_seconds = 0
    type(c_ptr) :: io = c_null_ptr
    type(c_ptr) :: method = c_null_ptr
    integer(c_int32_t) :: disks = 0
    integer(c_int64_t) :: input_chunk(SPANFFT_MAX_NDIM) = 0
    integer(c_int64_t) :: output_chunk(SPANFFT_MAX_NDIM) = 0
    real(c_double) :: scale = 0
    type(c_ptr) :: window = c_null_ptr
    type(c_ptr) :: store = c_null_ptr
    integer(c_int32_t) :: power = 0
    integer(c_int32_t) :: reads_once = 0
    integer(c_int32_t) :: own_input = 0
    type(c_ptr) :: load = c_null_ptr
    integer(c_int64_t) :: kept(SPANFFT_MAX_NDIM) = 0
    integer(c_int32_t) :: one_writer = 0
end type spanfft_problem

type, bind(C) :: spanfft_counts
    integer(c_size_t) :: size = 0
    real(c_double) :: flops = 0
    integer(c_int64_t) :: memory_bytes = 0
    integer(c_int64_t) :: messages = 0
    integer(c_int64_t) :: sent_bytes = 0
    integer(c_int64_t) :: disk_read_bytes = 0
    integer(c_int64_t) :: disk_written_bytes = 0
    integer(c_int64_t) :: disk_reads = 0
    integer(c_int64_t) :: disk_writes = 0
    real(c_double) :: seconds = 0
    integer(c_int64_t) :: calls = 0
    integer(c_int64_t) :: parallel_ios = 0
end type spanfft_counts

type, bind(C) :: spanfft_problem_key
    integer(c_size_t) :: size = 0
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: values = c_null_ptr
    type(c_ptr) :: fallback = c_null_ptr
    type(c_ptr) :: help = c_null_ptr
end type spanfft_problem_key

type, bind(C) :: spanfft_limit
    integer(c_size_t) :: size = 0
    type(c_ptr) :: name = c_null_ptr
    real(c_double) :: seconds = 0
end type spanfft_limit

type, bind(C) :: spanfft_step
    integer(c_size_t) :: size = 0
    integer(c_int32_t) :: depth = 0
    type(c_ptr) :: type = c_null_ptr
    type(c_ptr) :: description = c_null_ptr
end type spanfft_step

type, bind(C) :: spanfft_trace_event
    integer(c_size_t) :: size = 0
    type(c_ptr) :: name = c_null_ptr
    integer(c_int32_t) :: category = 0
    integer(c_int32_t) :: track = 0
    integer(c_int32_t) :: step = 0
    integer(c_int64_t) :: start_ns = 0
    integer(c_int64_t) :: end_ns = 0
    integer(c_int64_t) :: bytes = 0
    integer(c_int32_t) :: chunk = 0
end type spanfft_trace_event

type, bind(C) :: spanfft_trace_info
    integer(c_size_t) :: size = 0
    integer(c_int64_t) :: events = 0
    integer(c_int64_t) :: dropped = 0
    integer(c_int64_t) :: clock_offset_ns = 0
    integer(c_int64_t) :: clock_accuracy_ns = 0
end type spanfft_trace_info

type, bind(C) :: spanfft_engine
    integer(c_size_t) :: size = 0
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: version = c_null_ptr
    type(c_ptr) :: path = c_null_ptr
    integer(c_int32_t) :: precisions = 0
end type spanfft_engine

type, bind(C) :: spanfft_probe_options
    integer(c_size_t) :: size = 0
    real(c_double) :: seconds = 0
    integer(c_int32_t) :: quick = 0
    integer(c_int32_t) :: dont_store = 0
    type(c_ptr) :: disk_folder = c_null_ptr
    integer(c_int32_t) :: scratch_count = 0
    type(c_ptr) :: scratch_folders = c_null_ptr
end type spanfft_probe_options

type, bind(C) :: spanfft_store
    integer(c_size_t) :: size = 0
    type(c_ptr) :: path = c_null_ptr
    integer(c_int64_t) :: offset_bytes = 0
    type(c_ptr) :: header = c_null_ptr
    integer(c_int64_t) :: header_bytes = 0
    integer(c_int32_t) :: packed = 0
    type(c_funptr) :: transfer = c_null_funptr
    type(c_ptr) :: user = c_null_ptr
    type(c_ptr) :: identity = c_null_ptr
    type(c_funptr) :: finish = c_null_funptr
end type spanfft_store

type, bind(C) :: spanfft_block
    integer(c_size_t) :: size = 0
    integer(c_int64_t) :: first = 0
    integer(c_int64_t) :: count = 0
    integer(c_int32_t) :: ndim = 0
    integer(c_int64_t) :: index(SPANFFT_MAX_NDIM) = 0
    type(c_ptr) :: data = c_null_ptr
    type(c_ptr) :: stored = c_null_ptr
    integer(c_int32_t) :: filled = 0
    character(kind=c_char) :: message(256) = c_null_char
end type spanfft_block

type, bind(C) :: spanfft_block_callbacks
    integer(c_size_t) :: size = 0
    type(c_funptr) :: on_input = c_null_funptr
    type(c_funptr) :: on_output = c_null_funptr
    type(c_ptr) :: user = c_null_ptr
    integer(c_int32_t) :: thread_safe = 0
    type(c_ptr) :: name = c_null_ptr
end type spanfft_block_callbacks

type, bind(C) :: spanfft_permutation
    integer(c_size_t) :: size = 0
    integer(c_int32_t) :: bits = 0
    type(c_ptr) :: columns = c_null_ptr
    integer(c_int64_t) :: complement = 0
    integer(c_int64_t) :: record_bytes = 0
    integer(c_int64_t) :: memory_bytes = 0
    integer(c_int64_t) :: block_bytes = 0
    integer(c_int32_t) :: disks = 0
    integer(c_int32_t) :: synchronous = 0
    integer(c_int32_t) :: threads = 0
end type spanfft_permutation

type, bind(C) :: spanfft_permute_report
    integer(c_size_t) :: size = 0
    integer(c_int32_t) :: sweeps = 0
    integer(c_int32_t) :: rank_phi = 0
    integer(c_int64_t) :: memoryload_records = 0
    integer(c_int64_t) :: block_records = 0
    integer(c_int64_t) :: disks = 0
    integer(c_int64_t) :: predicted_parallel_ios = 0
    integer(c_int64_t) :: counted_parallel_ios = 0
    integer(c_int64_t) :: bound = 0
    integer(c_int64_t) :: memory_bytes = 0
    integer(c_int64_t) :: scratch_bytes = 0
end type spanfft_permute_report

type, bind(C) :: spanfft_processors
    integer(c_size_t) :: size = 0
    integer(c_int64_t) :: records = 0
    integer(c_int64_t) :: record_bytes = 0
    integer(c_int64_t) :: memory_records = 0
    integer(c_int64_t) :: block_records = 0
    integer(c_int64_t) :: disks = 0
    integer(c_int64_t) :: processors = 0
    integer(c_int32_t) :: synchronous = 0
    integer(c_int32_t) :: shorter = 0
end type spanfft_processors

type, bind(C) :: spanfft_traffic
    integer(c_size_t) :: size = 0
    integer(c_int64_t) :: memoryload_records = 0
    integer(c_int64_t) :: effective_records = 0
    integer(c_int64_t) :: band_records = 0
    integer(c_int32_t) :: superlevels = 0
    integer(c_int32_t) :: sweeps = 0
    integer(c_int64_t) :: parallel_ios = 0
    integer(c_int64_t) :: butterfly_messages = 0
    integer(c_int64_t) :: butterfly_bytes = 0
    integer(c_int64_t) :: bmmc_messages = 0
    integer(c_int64_t) :: bmmc_bytes = 0
    integer(c_int64_t) :: total_messages = 0
    integer(c_int64_t) :: total_bytes = 0
    integer(c_int32_t) :: alike = 0
end type spanfft_traffic

type, bind(C) :: spanfft_machine_info
    integer(c_size_t) :: size = 0
    type(c_ptr) :: name = c_null_ptr
    integer(c_int64_t) :: nodes = 0
    integer(c_int64_t) :: cores_per_node = 0
    type(c_ptr) :: sheet = c_null_ptr
end type spanfft_machine_info

type, bind(C) :: spanfft_foreseen_plan
    integer(c_size_t) :: size = 0
    type(c_ptr) :: solver = c_null_ptr
    type(c_ptr) :: grid = c_null_ptr
    type(c_ptr) :: exchange = c_null_ptr
    type(c_ptr) :: limit = c_null_ptr
    real(c_double) :: seconds = 0
    real(c_double) :: compute_seconds = 0
    real(c_double) :: memory_seconds = 0
    real(c_double) :: wire_seconds = 0
    real(c_double) :: disk_seconds = 0
    real(c_double) :: barrier_seconds = 0
    real(c_double) :: bisection_bound = 0
    real(c_double) :: injection_bound = 0
    real(c_double) :: memory_bound = 0
    real(c_double) :: flops_bound = 0
    real(c_double) :: flops = 0
    integer(c_int64_t) :: memory_bytes = 0
    integer(c_int64_t) :: messages = 0
    integer(c_int64_t) :: sent_bytes = 0
    integer(c_int64_t) :: calls = 0
    real(c_double) :: node_memory_bytes = 0
    integer(c_int32_t) :: fitted = 0
    integer(c_int32_t) :: exchanges = 0
end type spanfft_foreseen_plan

type, bind(C) :: spanfft_foreseen_exchange
    integer(c_size_t) :: size = 0
    type(c_ptr) :: strategy = c_null_ptr
    type(c_ptr) :: limit = c_null_ptr
    integer(c_int64_t) :: group_ranks = 0
    integer(c_int64_t) :: messages = 0
    integer(c_int64_t) :: sent_bytes = 0
    real(c_double) :: wire_seconds = 0
    real(c_double) :: copy_seconds = 0
    real(c_double) :: barrier_seconds = 0
    real(c_double) :: hidden_seconds = 0
end type spanfft_foreseen_exchange

! What c_funloc is given for arguments and components of type(c_funptr).
abstract interface
    function spanfft_progress(done_bytes, total_bytes, user) bind(C) result(returned)
        import
        integer(c_int64_t), value :: done_bytes
        integer(c_int64_t), value :: total_bytes
        type(c_ptr), value :: user
        integer(c_int) :: returned
    end function spanfft_progress
    function spanfft_box_transfer(first, extent, data, user) bind(C) result(returned)
        import
        integer(c_int64_t), intent(in) :: first(*)
        integer(c_int64_t), intent(in) :: extent(*)
        type(c_ptr), value :: data
        type(c_ptr), value :: user
        integer(c_int) :: returned
    end function spanfft_box_transfer
    function spanfft_block_callback(block, user) bind(C) result(returned)
        import
        type(spanfft_block), intent(inout) :: block
        type(c_ptr), value :: user
        integer(c_int) :: returned
    end function spanfft_block_callback
end interface

interface
    function spanfft_last_error() bind(C, name="spanfft_last_error") result(returned)
        import
        type(c_ptr) :: returned
    end function spanfft_last_error
    function spanfft_version() bind(C, name="spanfft_version") result(returned)
        import
        type(c_ptr) :: returned
    end function spanfft_version
    subroutine spanfft_problem_init_bytes(problem, struct_bytes, ndim, shape) bind(C, name="spanfft_problem_init_bytes")
        import
        type(spanfft_problem), intent(inout), optional :: problem
        integer(c_size_t), value :: struct_bytes
        integer(c_int), value :: ndim
        integer(c_int64_t), intent(in), optional :: shape(*)
    end subroutine spanfft_problem_init_bytes
    function spanfft_problem_print(problem, ranks, text) bind(C, name="spanfft_problem_print") result(returned)
        import
        type(spanfft_problem), intent(in), optional :: problem
        integer(c_int), value :: ranks
        type(c_ptr), intent(inout), optional :: text
        integer(c_int) :: returned
    end function spanfft_problem_print
    function spanfft_problem_canonical(text, canonical) bind(C, name="spanfft_problem_canonical") result(returned)
        import
        character(kind=c_char), intent(in), optional :: text(*)
        type(c_ptr), intent(inout), optional :: canonical
        integer(c_int) :: returned
    end function spanfft_problem_canonical
    function spanfft_problem_key_count() bind(C, name="spanfft_problem_key_count") result(returned)
        import
        integer(c_int) :: returned
    end function spanfft_problem_key_count
    function spanfft_problem_key_info(index, key) bind(C, name="spanfft_problem_key_info") result(returned)
        import
        integer(c_int), value :: index
        type(spanfft_problem_key), intent(inout), optional :: key
        integer(c_int) :: returned
    end function spanfft_problem_key_info
    function spanfft_plan_create(problem, comm, plan) bind(C, name="spanfft_plan_create") result(returned)
        import
        type(spanfft_problem), intent(in), optional :: problem
        type(c_ptr), value :: comm
        type(c_ptr), intent(inout), optional :: plan
        integer(c_int) :: returned
    end function spanfft_plan_create
    function spanfft_plan_parse(text, comm, plan) bind(C, name="spanfft_plan_parse") result(returned)
        import
        character(kind=c_char), intent(in), optional :: text(*)
        type(c_ptr), value :: comm
        type(c_ptr), intent(inout), optional :: plan
        integer(c_int) :: returned
    end function spanfft_plan_parse
    function spanfft_plan_parse_boxes( &
            text, &
            real_box, &
            spectrum_box, &
            comm, &
            plan) &
        bind(C, name="spanfft_plan_parse_boxes") result(returned)
        import
        character(kind=c_char), intent(in), optional :: text(*)
        type(spanfft_box), intent(in), optional :: real_box
        type(spanfft_box), intent(in), optional :: spectrum_box
        type(c_ptr), value :: comm
        type(c_ptr), intent(inout), optional :: plan
        integer(c_int) :: returned
    end function spanfft_plan_parse_boxes
    function spanfft_plan_parse_undoing( &
            text, &
            real_box, &
            spectrum_box, &
            comm, &
            undone, &
            plan) &
        bind(C, name="spanfft_plan_parse_undoing") result(returned)
        import
        character(kind=c_char), intent(in), optional :: text(*)
        type(spanfft_box), intent(in), optional :: real_box
        type(spanfft_box), intent(in), optional :: spectrum_box
        type(c_ptr), value :: comm
        type(c_ptr), value :: undone
        type(c_ptr), intent(inout), optional :: plan
        integer(c_int) :: returned
    end function spanfft_plan_parse_undoing
    function spanfft_plan_imagine(text, plan) bind(C, name="spanfft_plan_imagine") result(returned)
        import
        character(kind=c_char), intent(in), optional :: text(*)
        type(c_ptr), intent(inout), optional :: plan
        integer(c_int) :: returned
    end function spanfft_plan_imagine
    function spanfft_plan_imagine_on(text, machine, plan) bind(C, name="spanfft_plan_imagine_on") result(returned)
        import
        character(kind=c_char), intent(in), optional :: text(*)
        character(kind=c_char), intent(in), optional :: machine(*)
        type(c_ptr), intent(inout), optional :: plan
        integer(c_int) :: returned
    end function spanfft_plan_imagine_on
    function spanfft_plan_imagine_nodes( &
            text, &
            machine, &
            ranks_per_node, &
            plan) &
        bind(C, name="spanfft_plan_imagine_nodes") result(returned)
        import
        character(kind=c_char), intent(in), optional :: text(*)
        character(kind=c_char), intent(in), optional :: machine(*)
        integer(c_int), value :: ranks_per_node
        type(c_ptr), intent(inout), optional :: plan
        integer(c_int) :: returned
    end function spanfft_plan_imagine_nodes
    subroutine spanfft_plan_free(plan) bind(C, name="spanfft_plan_free")
        import
        type(c_ptr), value :: plan
    end subroutine spanfft_plan_free
    function spanfft_tuning_path(path) bind(C, name="spanfft_tuning_path") result(returned)
        import
        type(c_ptr), intent(inout), optional :: path
        integer(c_int) :: returned
    end function spanfft_tuning_path
    function spanfft_tuning_export(text) bind(C, name="spanfft_tuning_export") result(returned)
        import
        type(c_ptr), intent(inout), optional :: text
        integer(c_int) :: returned
    end function spanfft_tuning_export
    function spanfft_tuning_import(text, added) bind(C, name="spanfft_tuning_import") result(returned)
        import
        character(kind=c_char), intent(in), optional :: text(*)
        integer(c_int), intent(inout), optional :: added
        integer(c_int) :: returned
    end function spanfft_tuning_import
    function spanfft_tuning_forget(problem, removed) bind(C, name="spanfft_tuning_forget") result(returned)
        import
        character(kind=c_char), intent(in), optional :: problem(*)
        integer(c_int), intent(inout), optional :: removed
        integer(c_int) :: returned
    end function spanfft_tuning_forget
    function spanfft_probe(comm, options, machine) bind(C, name="spanfft_probe") result(returned)
        import
        type(c_ptr), value :: comm
        type(spanfft_probe_options), intent(in), optional :: options
        type(c_ptr), intent(inout), optional :: machine
        integer(c_int) :: returned
    end function spanfft_probe
    function spanfft_probe_kept(comm, machine) bind(C, name="spanfft_probe_kept") result(returned)
        import
        type(c_ptr), value :: comm
        type(c_ptr), intent(inout), optional :: machine
        integer(c_int) :: returned
    end function spanfft_probe_kept
    function spanfft_execute(plan, in, out) bind(C, name="spanfft_execute") result(returned)
        import
        type(c_ptr), value :: plan
        type(c_ptr), value :: in
        type(c_ptr), value :: out
        integer(c_int) :: returned
    end function spanfft_execute
    function spanfft_execute_unless( &
            plan, &
            in, &
            out, &
            code, &
            sentence) &
        bind(C, name="spanfft_execute_unless") result(returned)
        import
        type(c_ptr), value :: plan
        type(c_ptr), value :: in
        type(c_ptr), value :: out
        integer(c_int), value :: code
        character(kind=c_char), intent(in), optional :: sentence(*)
        integer(c_int) :: returned
    end function spanfft_execute_unless
    function spanfft_plan_input_box(plan, box) bind(C, name="spanfft_plan_input_box") result(returned)
        import
        type(c_ptr), value :: plan
        type(spanfft_box), intent(inout), optional :: box
        integer(c_int) :: returned
    end function spanfft_plan_input_box
    function spanfft_plan_output_box(plan, box) bind(C, name="spanfft_plan_output_box") result(returned)
        import
        type(c_ptr), value :: plan
        type(spanfft_box), intent(inout), optional :: box
        integer(c_int) :: returned
    end function spanfft_plan_output_box
    function spanfft_plan_input_part(plan, part) bind(C, name="spanfft_plan_input_part") result(returned)
        import
        type(c_ptr), value :: plan
        type(spanfft_part), intent(inout), optional :: part
        integer(c_int) :: returned
    end function spanfft_plan_input_part
    function spanfft_plan_output_part(plan, part) bind(C, name="spanfft_plan_output_part") result(returned)
        import
        type(c_ptr), value :: plan
        type(spanfft_part), intent(inout), optional :: part
        integer(c_int) :: returned
    end function spanfft_plan_output_part
    function spanfft_plan_input_bytes(plan) bind(C, name="spanfft_plan_input_bytes") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int64_t) :: returned
    end function spanfft_plan_input_bytes
    function spanfft_plan_output_bytes(plan) bind(C, name="spanfft_plan_output_bytes") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int64_t) :: returned
    end function spanfft_plan_output_bytes
    function spanfft_plan_output_array(plan) bind(C, name="spanfft_plan_output_array") result(returned)
        import
        type(c_ptr), value :: plan
        type(c_ptr) :: returned
    end function spanfft_plan_output_array
    function spanfft_plan_input_array(plan) bind(C, name="spanfft_plan_input_array") result(returned)
        import
        type(c_ptr), value :: plan
        type(c_ptr) :: returned
    end function spanfft_plan_input_array
    function spanfft_plan_input_shape(plan, shape) bind(C, name="spanfft_plan_input_shape") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int64_t), intent(inout), optional :: shape(*)
        integer(c_int) :: returned
    end function spanfft_plan_input_shape
    function spanfft_plan_output_shape(plan, shape) bind(C, name="spanfft_plan_output_shape") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int64_t), intent(inout), optional :: shape(*)
        integer(c_int) :: returned
    end function spanfft_plan_output_shape
    function spanfft_transform_file( &
            plan, &
            input_path, &
            input_offset_bytes, &
            output_path, &
            header, &
            header_bytes, &
            scratch_folder, &
            progress, &
            user) &
        bind(C, name="spanfft_transform_file") result(returned)
        import
        type(c_ptr), value :: plan
        character(kind=c_char), intent(in), optional :: input_path(*)
        integer(c_int64_t), value :: input_offset_bytes
        character(kind=c_char), intent(in), optional :: output_path(*)
        type(c_ptr), value :: header
        integer(c_int64_t), value :: header_bytes
        character(kind=c_char), intent(in), optional :: scratch_folder(*)
        type(c_funptr), value :: progress
        type(c_ptr), value :: user
        integer(c_int) :: returned
    end function spanfft_transform_file
    function spanfft_transform_in_place( &
            plan, &
            path, &
            offset_bytes, &
            scratch_folder, &
            progress, &
            user) &
        bind(C, name="spanfft_transform_in_place") result(returned)
        import
        type(c_ptr), value :: plan
        character(kind=c_char), intent(in), optional :: path(*)
        integer(c_int64_t), value :: offset_bytes
        character(kind=c_char), intent(in), optional :: scratch_folder(*)
        type(c_funptr), value :: progress
        type(c_ptr), value :: user
        integer(c_int) :: returned
    end function spanfft_transform_in_place
    function spanfft_transform_stores( &
            plan, &
            input, &
            output, &
            scratch_folder, &
            progress, &
            user) &
        bind(C, name="spanfft_transform_stores") result(returned)
        import
        type(c_ptr), value :: plan
        type(spanfft_store), intent(in), optional :: input
        type(spanfft_store), intent(in), optional :: output
        character(kind=c_char), intent(in), optional :: scratch_folder(*)
        type(c_funptr), value :: progress
        type(c_ptr), value :: user
        integer(c_int) :: returned
    end function spanfft_transform_stores
    subroutine spanfft_set_error(sentence) bind(C, name="spanfft_set_error")
        import
        character(kind=c_char), intent(in), optional :: sentence(*)
    end subroutine spanfft_set_error
    function spanfft_plan_set_scratch(plan, count, folders) bind(C, name="spanfft_plan_set_scratch") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int), value :: count
        type(c_ptr), intent(in), optional :: folders(*)
        integer(c_int) :: returned
    end function spanfft_plan_set_scratch
    function spanfft_plan_set_journal(plan, mode, checksums) bind(C, name="spanfft_plan_set_journal") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int), value :: mode
        integer(c_int), value :: checksums
        integer(c_int) :: returned
    end function spanfft_plan_set_journal
    function spanfft_unfinished_run( &
            input_path, &
            input_offset_bytes, &
            output_path, &
            count, &
            folders, &
            problem) &
        bind(C, name="spanfft_unfinished_run") result(returned)
        import
        character(kind=c_char), intent(in), optional :: input_path(*)
        integer(c_int64_t), value :: input_offset_bytes
        character(kind=c_char), intent(in), optional :: output_path(*)
        integer(c_int), value :: count
        type(c_ptr), intent(in), optional :: folders(*)
        type(c_ptr), intent(inout), optional :: problem
        integer(c_int) :: returned
    end function spanfft_unfinished_run
    function spanfft_plan_resumed_bytes(plan) bind(C, name="spanfft_plan_resumed_bytes") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int64_t) :: returned
    end function spanfft_plan_resumed_bytes
    function spanfft_plan_set_callbacks(plan, callbacks) bind(C, name="spanfft_plan_set_callbacks") result(returned)
        import
        type(c_ptr), value :: plan
        type(spanfft_block_callbacks), intent(in), optional :: callbacks
        integer(c_int) :: returned
    end function spanfft_plan_set_callbacks
    function spanfft_plan_io(plan, text) bind(C, name="spanfft_plan_io") result(returned)
        import
        type(c_ptr), value :: plan
        type(c_ptr), intent(inout), optional :: text
        integer(c_int) :: returned
    end function spanfft_plan_io
    function spanfft_disk_io(io, text) bind(C, name="spanfft_disk_io") result(returned)
        import
        character(kind=c_char), intent(in), optional :: io(*)
        type(c_ptr), intent(inout), optional :: text
        integer(c_int) :: returned
    end function spanfft_disk_io
    function spanfft_windows(text) bind(C, name="spanfft_windows") result(returned)
        import
        type(c_ptr), intent(inout), optional :: text
        integer(c_int) :: returned
    end function spanfft_windows
    function spanfft_bit_matrix(kind, bits, columns) bind(C, name="spanfft_bit_matrix") result(returned)
        import
        character(kind=c_char), intent(in), optional :: kind(*)
        integer(c_int), value :: bits
        integer(c_int64_t), intent(inout), optional :: columns(*)
        integer(c_int) :: returned
    end function spanfft_bit_matrix
    function spanfft_permute_plan(permutation, report, text) bind(C, name="spanfft_permute_plan") result(returned)
        import
        type(spanfft_permutation), intent(in), optional :: permutation
        type(spanfft_permute_report), intent(inout), optional :: report
        type(c_ptr), intent(inout), optional :: text
        integer(c_int) :: returned
    end function spanfft_permute_plan
    function spanfft_plan_permutation(permutation, plan) bind(C, name="spanfft_plan_permutation") result(returned)
        import
        type(spanfft_permutation), intent(in), optional :: permutation
        type(c_ptr), intent(inout), optional :: plan
        integer(c_int) :: returned
    end function spanfft_plan_permutation
    function spanfft_permute_file( &
            permutation, &
            input_path, &
            input_offset_bytes, &
            output_path, &
            header, &
            header_bytes, &
            folders, &
            scratch_folders, &
            progress, &
            user, &
            report) &
        bind(C, name="spanfft_permute_file") result(returned)
        import
        type(spanfft_permutation), intent(in), optional :: permutation
        character(kind=c_char), intent(in), optional :: input_path(*)
        integer(c_int64_t), value :: input_offset_bytes
        character(kind=c_char), intent(in), optional :: output_path(*)
        type(c_ptr), value :: header
        integer(c_int64_t), value :: header_bytes
        integer(c_int), value :: folders
        type(c_ptr), intent(in), optional :: scratch_folders(*)
        type(c_funptr), value :: progress
        type(c_ptr), value :: user
        type(spanfft_permute_report), intent(inout), optional :: report
        integer(c_int) :: returned
    end function spanfft_permute_file
    function spanfft_analyse(method, processors, traffic) bind(C, name="spanfft_analyse") result(returned)
        import
        character(kind=c_char), intent(in), optional :: method(*)
        type(spanfft_processors), intent(in), optional :: processors
        type(spanfft_traffic), intent(inout), optional :: traffic
        integer(c_int) :: returned
    end function spanfft_analyse
    function spanfft_machine_read(machine, info) bind(C, name="spanfft_machine_read") result(returned)
        import
        character(kind=c_char), intent(in), optional :: machine(*)
        type(spanfft_machine_info), intent(inout), optional :: info
        integer(c_int) :: returned
    end function spanfft_machine_read
    function spanfft_foresee(text, machine, ranks_per_node, foresight) bind(C, name="spanfft_foresee") result(returned)
        import
        character(kind=c_char), intent(in), optional :: text(*)
        character(kind=c_char), intent(in), optional :: machine(*)
        integer(c_int), value :: ranks_per_node
        type(c_ptr), intent(inout), optional :: foresight
        integer(c_int) :: returned
    end function spanfft_foresee
    function spanfft_foresight_plans(foresight) bind(C, name="spanfft_foresight_plans") result(returned)
        import
        type(c_ptr), value :: foresight
        integer(c_int) :: returned
    end function spanfft_foresight_plans
    function spanfft_foresight_plan(foresight, index, plan) bind(C, name="spanfft_foresight_plan") result(returned)
        import
        type(c_ptr), value :: foresight
        integer(c_int), value :: index
        type(spanfft_foreseen_plan), intent(inout), optional :: plan
        integer(c_int) :: returned
    end function spanfft_foresight_plan
    function spanfft_foresight_exchange( &
            foresight, &
            plan, &
            index, &
            exchange) &
        bind(C, name="spanfft_foresight_exchange") result(returned)
        import
        type(c_ptr), value :: foresight
        integer(c_int), value :: plan
        integer(c_int), value :: index
        type(spanfft_foreseen_exchange), intent(inout), optional :: exchange
        integer(c_int) :: returned
    end function spanfft_foresight_exchange
    subroutine spanfft_foresight_free(foresight) bind(C, name="spanfft_foresight_free")
        import
        type(c_ptr), value :: foresight
    end subroutine spanfft_foresight_free
    function spanfft_plan_explain(plan, text) bind(C, name="spanfft_plan_explain") result(returned)
        import
        type(c_ptr), value :: plan
        type(c_ptr), intent(inout), optional :: text
        integer(c_int) :: returned
    end function spanfft_plan_explain
    function spanfft_plan_problem(plan, text) bind(C, name="spanfft_plan_problem") result(returned)
        import
        type(c_ptr), value :: plan
        type(c_ptr), intent(inout), optional :: text
        integer(c_int) :: returned
    end function spanfft_plan_problem
    function spanfft_plan_solver(plan) bind(C, name="spanfft_plan_solver") result(returned)
        import
        type(c_ptr), value :: plan
        type(c_ptr) :: returned
    end function spanfft_plan_solver
    function spanfft_plan_rank(plan) bind(C, name="spanfft_plan_rank") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int) :: returned
    end function spanfft_plan_rank
    function spanfft_plan_ranks(plan) bind(C, name="spanfft_plan_ranks") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int) :: returned
    end function spanfft_plan_ranks
    function spanfft_plan_steps(plan) bind(C, name="spanfft_plan_steps") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int) :: returned
    end function spanfft_plan_steps
    function spanfft_plan_step(plan, index, step) bind(C, name="spanfft_plan_step") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int), value :: index
        type(spanfft_step), intent(inout), optional :: step
        integer(c_int) :: returned
    end function spanfft_plan_step
    function spanfft_plan_predicted(plan, index, rank, counts) bind(C, name="spanfft_plan_predicted") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int), value :: index
        integer(c_int), value :: rank
        type(spanfft_counts), intent(inout), optional :: counts
        integer(c_int) :: returned
    end function spanfft_plan_predicted
    function spanfft_plan_limit(plan, index, rank, limit) bind(C, name="spanfft_plan_limit") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int), value :: index
        integer(c_int), value :: rank
        type(spanfft_limit), intent(inout), optional :: limit
        integer(c_int) :: returned
    end function spanfft_plan_limit
    function spanfft_plan_counted(plan, index, counts) bind(C, name="spanfft_plan_counted") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int), value :: index
        type(spanfft_counts), intent(inout), optional :: counts
        integer(c_int) :: returned
    end function spanfft_plan_counted
    function spanfft_plan_peak_memory_bytes(plan, rank) bind(C, name="spanfft_plan_peak_memory_bytes") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int), value :: rank
        integer(c_int64_t) :: returned
    end function spanfft_plan_peak_memory_bytes
    function spanfft_plan_sweeps(plan) bind(C, name="spanfft_plan_sweeps") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int) :: returned
    end function spanfft_plan_sweeps
    function spanfft_plan_scratch_bytes(plan) bind(C, name="spanfft_plan_scratch_bytes") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int64_t) :: returned
    end function spanfft_plan_scratch_bytes
    function spanfft_plan_engines(plan) bind(C, name="spanfft_plan_engines") result(returned)
        import
        type(c_ptr), value :: plan
        type(c_ptr) :: returned
    end function spanfft_plan_engines
    function spanfft_plan_notes(plan) bind(C, name="spanfft_plan_notes") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int) :: returned
    end function spanfft_plan_notes
    function spanfft_plan_note(plan, index) bind(C, name="spanfft_plan_note") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int), value :: index
        type(c_ptr) :: returned
    end function spanfft_plan_note
    function spanfft_halo_create(plan, before, after, halo) bind(C, name="spanfft_halo_create") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int64_t), intent(in), optional :: before(*)
        integer(c_int64_t), intent(in), optional :: after(*)
        type(c_ptr), intent(inout), optional :: halo
        integer(c_int) :: returned
    end function spanfft_halo_create
    function spanfft_halo_part(halo, part) bind(C, name="spanfft_halo_part") result(returned)
        import
        type(c_ptr), value :: halo
        type(spanfft_part), intent(inout), optional :: part
        integer(c_int) :: returned
    end function spanfft_halo_part
    function spanfft_halo_bytes(halo) bind(C, name="spanfft_halo_bytes") result(returned)
        import
        type(c_ptr), value :: halo
        integer(c_int64_t) :: returned
    end function spanfft_halo_bytes
    function spanfft_halo_part_bytes(halo) bind(C, name="spanfft_halo_part_bytes") result(returned)
        import
        type(c_ptr), value :: halo
        integer(c_int64_t) :: returned
    end function spanfft_halo_part_bytes
    function spanfft_halo_exchange(halo, part, extended) bind(C, name="spanfft_halo_exchange") result(returned)
        import
        type(c_ptr), value :: halo
        type(c_ptr), value :: part
        type(c_ptr), value :: extended
        integer(c_int) :: returned
    end function spanfft_halo_exchange
    function spanfft_halo_add(halo, extended, part) bind(C, name="spanfft_halo_add") result(returned)
        import
        type(c_ptr), value :: halo
        type(c_ptr), value :: extended
        type(c_ptr), value :: part
        integer(c_int) :: returned
    end function spanfft_halo_add
    function spanfft_halo_predicted(halo, call, counts) bind(C, name="spanfft_halo_predicted") result(returned)
        import
        type(c_ptr), value :: halo
        integer(c_int), value :: call
        type(spanfft_counts), intent(inout), optional :: counts
        integer(c_int) :: returned
    end function spanfft_halo_predicted
    function spanfft_halo_counted(halo, counts) bind(C, name="spanfft_halo_counted") result(returned)
        import
        type(c_ptr), value :: halo
        type(spanfft_counts), intent(inout), optional :: counts
        integer(c_int) :: returned
    end function spanfft_halo_counted
    subroutine spanfft_halo_free(halo) bind(C, name="spanfft_halo_free")
        import
        type(c_ptr), value :: halo
    end subroutine spanfft_halo_free
    function spanfft_plan_trace_start(plan, max_events) bind(C, name="spanfft_plan_trace_start") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int64_t), value :: max_events
        integer(c_int) :: returned
    end function spanfft_plan_trace_start
    function spanfft_plan_trace_stop(plan) bind(C, name="spanfft_plan_trace_stop") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int) :: returned
    end function spanfft_plan_trace_stop
    function spanfft_plan_trace_info(plan, info) bind(C, name="spanfft_plan_trace_info") result(returned)
        import
        type(c_ptr), value :: plan
        type(spanfft_trace_info), intent(inout), optional :: info
        integer(c_int) :: returned
    end function spanfft_plan_trace_info
    function spanfft_plan_trace_event(plan, index, event) bind(C, name="spanfft_plan_trace_event") result(returned)
        import
        type(c_ptr), value :: plan
        integer(c_int64_t), value :: index
        type(spanfft_trace_event), intent(inout), optional :: event
        integer(c_int) :: returned
    end function spanfft_plan_trace_event
    function spanfft_engine_count() bind(C, name="spanfft_engine_count") result(returned)
        import
        integer(c_int) :: returned
    end function spanfft_engine_count
    function spanfft_engine_info(index, engine) bind(C, name="spanfft_engine_info") result(returned)
        import
        integer(c_int), value :: index
        type(spanfft_engine), intent(inout), optional :: engine
        integer(c_int) :: returned
    end function spanfft_engine_info
    function spanfft_engine_search(folder) bind(C, name="spanfft_engine_search") result(returned)
        import
        character(kind=c_char), intent(in), optional :: folder(*)
        integer(c_int) :: returned
    end function spanfft_engine_search
    subroutine spanfft_free(memory) bind(C, name="spanfft_free")
        import
        type(c_ptr), value :: memory
    end subroutine spanfft_free
    subroutine spanfft_comm_free(comm) bind(C, name="spanfft_comm_free")
        import
        type(c_ptr), value :: comm
    end subroutine spanfft_comm_free
    function spanfft_comm_from_fortran(handle, comm) bind(C, name="spanfft_comm_from_fortran") result(returned)
        import
        integer(c_int), value :: handle
        type(c_ptr), intent(inout), optional :: comm
        integer(c_int) :: returned
    end function spanfft_comm_from_fortran
    function spanfft_mpi_library() bind(C, name="spanfft_mpi_library") result(returned)
        import
        type(c_ptr) :: returned
    end function spanfft_mpi_library
end interface
