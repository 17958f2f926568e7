/* spanfft: Fourier transforms that span cores, nodes and disks. The C interface.
 *
 * A plan is made once from a problem and a communicator and executed many times. Handles are opaque; option
 * structs carry their own size, so that programs built against an older header keep working.
 * A function returns SPANFFT_OK or an error code unless its comment says otherwise; spanfft_last_error() has the
 * sentence that names what was wrong and what to do. The library never prints and never aborts.
 * "Collective" means: every rank of the plan's communicator must call it, in the same order. Collective
 * functions fail together: all ranks get the same code and sentence.
 * A NULL argument is SPANFFT_INVALID_ARGUMENT unless the comment allows it; functions that return no code then
 * return 0, NULL or "", as their comments say.
 * In a child of fork, plans of its parent that have ranks, files or threads (except ducc0's) refuse to run
 * (SPANFFT_UNSUPPORTED); the child must make its own.
 * MPI is named only in spanfft_mpi.h; without it a plan runs in one process (comm == NULL).
 */
#ifndef SPANFFT_H
#define SPANFFT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPANFFT_API __attribute__((visibility("default")))

/* The version of this header; spanfft_version() is the library's. */
#define SPANFFT_VERSION "0.1.0"
/* The most axes that an array can have. */
#define SPANFFT_MAX_NDIM 6

/* Error codes. Later versions only append to them. */
enum {
    SPANFFT_OK = 0,
    SPANFFT_INVALID_ARGUMENT = 1, /* a value that can't be used */
    SPANFFT_UNSUPPORTED = 2,      /* valid but not possible; the message names the alternative */
    SPANFFT_OUT_OF_MEMORY = 3,    /* does not fit the budget, or an allocation failed */
    SPANFFT_IO_ERROR = 4,         /* a file operation failed; the message has path and errno */
    SPANFFT_NO_SPACE = 5,         /* the disk is, or would become, full */
    SPANFFT_CORRUPT_DATA = 6,     /* a file does not hold what was promised */
    SPANFFT_MPI_ERROR = 7,        /* an MPI call failed, or ranks disagree */
    SPANFFT_ENGINE_ERROR = 8,     /* no local engine can do it, or the forced one can't */
    SPANFFT_INTERRUPTED = 9,      /* stopped on request: no output appeared; the sentence says what a journal keeps */
    SPANFFT_INTERNAL = 10,        /* a bug in spanfft */
    SPANFFT_CALLBACK_FAILED = 11  /* a callback on blocks returned an error; the message is the callback's */
};

enum { SPANFFT_FLOAT = 0, SPANFFT_DOUBLE = 1, SPANFFT_LONGDOUBLE = 2 };
enum { SPANFFT_FORWARD = 0, SPANFFT_BACKWARD = 1 };
/* Kind of an axis. R2C backward is the c2r transform. DCT and DST follow scipy.fft's (FFTW's) definitions;
 * backward is the inverse, so that forward then backward gives the input. */
enum {
    SPANFFT_C2C = 0,
    SPANFFT_R2C = 1,
    SPANFFT_DCT1 = 2,
    SPANFFT_DCT2 = 3,
    SPANFFT_DCT3 = 4,
    SPANFFT_DCT4 = 5,
    SPANFFT_DST1 = 6,
    SPANFFT_DST2 = 7,
    SPANFFT_DST3 = 8,
    SPANFFT_DST4 = 9
};
/* Which direction is scaled by 1/N, as in numpy. ORTHO: both by 1/sqrt(N); DCT and DST are orthogonal, as in SciPy. */
enum { SPANFFT_NORM_BACKWARD = 0, SPANFFT_NORM_ORTHO = 1, SPANFFT_NORM_FORWARD = 2 };
/* Where the spectrum lies on ranks: divided like the real-space array, or left where the last exchange put it (of an
 * array of one axis: frequency k on rank k mod p, where p divides a factor of its length). */
enum { SPANFFT_OUTPUT_NATURAL = 0, SPANFFT_OUTPUT_EXCHANGED = 1 };
/* How axes are divided over ranks, in real space and in the spectrum: balanced blocks, or index i on part i mod p. */
enum { SPANFFT_LAYOUT_BLOCK = 0, SPANFFT_LAYOUT_CYCLIC = 1 };
/* How much time planning may take. ESTIMATE: milliseconds; it uses what was tuned before, else predicted costs.
 * MEASURE: it uses what was tuned before, else times the best candidates and stores the result. TUNE: it times them in
 * any case. */
enum { SPANFFT_ESTIMATE = 0, SPANFFT_MEASURE = 1, SPANFFT_TUNE = 2 };

/* A communicator; from spanfft_comm_from_mpi (spanfft_mpi.h). */
typedef struct spanfft_comm spanfft_comm;
/* A plan: what to do, bound to buffers and to a communicator. */
typedef struct spanfft_plan spanfft_plan;
/* The exchange of what surrounds a rank's part of real space, with its buffers: spanfft_halo_create. */
typedef struct spanfft_halo spanfft_halo;

/* A box of a global array: indices start[i] <= index < start[i] + count[i] along axis i, of an array of ndim axes. */
typedef struct spanfft_box {
    int64_t start[SPANFFT_MAX_NDIM]; /* first index along each axis */
    int64_t count[SPANFFT_MAX_NDIM]; /* indices along each axis; 0: an empty box */
} spanfft_box;

/* A rank's part of a global array: indices start[i], start[i] + step[i], ... (count[i] of them) along axis i. */
typedef struct spanfft_part {
    size_t size;                     /* sizeof(spanfft_part), set by the caller */
    int64_t start[SPANFFT_MAX_NDIM]; /* first index along each axis */
    int64_t count[SPANFFT_MAX_NDIM]; /* indices along each axis; 0: nothing */
    int64_t step[SPANFFT_MAX_NDIM];  /* from one index to the next; 1 unless the part is cyclic */
} spanfft_part;

/* What to transform. Fill it with spanfft_problem_init, then set what differs. */
typedef struct spanfft_problem {
    size_t size;                     /* sizeof(spanfft_problem) of the caller; set by spanfft_problem_init */
    int32_t ndim;                    /* 1 to 6 */
    int64_t shape[SPANFFT_MAX_NDIM]; /* global, in real space, slowest axis first */
    int32_t naxes;                   /* transformed axes; 0: all of them */
    int32_t axes[SPANFFT_MAX_NDIM];  /* the last one is halved by r2c, as in numpy */
    int32_t kinds[SPANFFT_MAX_NDIM]; /* one for each transformed axis */
    int32_t direction;               /* SPANFFT_FORWARD or _BACKWARD */
    int32_t precision;               /* SPANFFT_FLOAT, _DOUBLE or _LONGDOUBLE */
    int32_t norm;                    /* SPANFFT_NORM_* */
    int64_t batch;                   /* arrays, one after the other in each rank's memory; default 1 */
    int32_t ngrid;                   /* 0: the planner chooses the process grid */
    int64_t grid[SPANFFT_MAX_NDIM];  /* entry i divides axis i; the product is the number of ranks */
    int32_t output;                  /* SPANFFT_OUTPUT_* */
    const spanfft_box* real_box;     /* this rank's part in real space; NULL: balanced blocks. All ranks or none */
    const spanfft_box* spectrum_box; /* this rank's part of the spectrum; likewise */
    int32_t threads;                 /* inside each rank; 0: the planner chooses */
    const char* engine;              /* "fftw", "mkl", "ducc0"; NULL: the planner chooses */
    const char* exchange;            /* "shared", "overlap:4", ... (docs/strategies.md); NULL: the planner chooses */
    int32_t effort;                  /* SPANFFT_ESTIMATE, _MEASURE or _TUNE */
    int32_t in_place;                /* spanfft_execute will be called with in == out */
    int64_t memory_bytes;            /* > 0: for files; each process's budget, see spanfft_transform_file */
    int32_t own_output;              /* the output is the plan's own array: spanfft_plan_output_array */
    int32_t layout;                  /* SPANFFT_LAYOUT_*; cyclic: one all-to-all, c2c, p*p divides a divided axis */
    double measure_seconds;          /* the cap of _MEASURE and _TUNE; 0: 5 seconds */
    const char* io;                  /* "uring", "threads": who reads and writes files; NULL: SPANFFT_IO, else chosen */
    const char* method;              /* "two_sweeps", "superlevels:sync", ...; NULL: the planner chooses */
    int32_t disks;                   /* of its own, over which scratch is striped (spanfft_plan_set_scratch); 0: none */
    int64_t input_chunk[SPANFFT_MAX_NDIM];  /* with memory_bytes: the input is behind spanfft_store.transfer, */
    int64_t output_chunk[SPANFFT_MAX_NDIM]; /* the output; chunks of so many elements an axis. First entry 0: a file */
    double scale;                           /* the output is multiplied by it, besides norm; 0: 1 */
    const char* window;                     /* of files: "hann", "kaiser:8.6", ... (docs/howto/fused.md); NULL: none */
    const char* store;  /* of files: what the output holds: "float32", "complex64", ...; NULL: as computed */
    int32_t power;      /* of files: |x|^2 of each output element is stored, a real number */
    int32_t reads_once; /* of files: no element of the input is read twice, as spanfft_block_callbacks.on_input needs */
    int32_t own_input;  /* the input is the plan's own array: spanfft_plan_input_array */
    const char* load;   /* of files: what the input holds: "i2", ">f4", "u1", "f2", ...; NULL: as computed */
    /* Modes that the spectrum keeps along each axis, in the order of an array of so many points; of the halved axis
     * those of the real line, of which n/2+1 are stored. Forward leaves the others out, backward pads with zeros (the
     * 3/2 rule). First entry 0: all. */
    int64_t kept[SPANFFT_MAX_NDIM];
    int32_t one_writer; /* of several ranks, rank 0 alone writes the array of output_chunk, as HDF5 needs it */
} spanfft_problem;

/* What a step, or a whole plan, costs. Predicted and counted use the same struct; both are for one rank. */
typedef struct spanfft_counts {
    size_t size;                /* sizeof(spanfft_counts), set by the caller */
    double flops;               /* 5 n log2 n an axis of complex data, half of that for real */
    int64_t memory_bytes;       /* moved through memory by sweeps over the local array */
    int64_t messages;           /* non-empty ones, to other ranks */
    int64_t sent_bytes;         /* in them */
    int64_t disk_read_bytes;    /* of the array or of scratch, without what alignment adds */
    int64_t disk_written_bytes; /* likewise */
    int64_t disk_reads;         /* requests */
    int64_t disk_writes;        /* requests */
    double seconds;             /* estimated, or wall clock */
    int64_t calls;              /* that move data between ranks: a collective is one, a send one, a receive one */
    int64_t parallel_ios;       /* of P1's Parallel Disk Model: up to one block of each disk; P1's methods only */
} spanfft_counts;

/* A key of the problem string, key=value, or a flag, which stands alone. Strings live as long as the process. */
typedef struct spanfft_problem_key {
    size_t size;          /* sizeof(spanfft_problem_key), set by the caller */
    const char* name;     /* what stands before "=" */
    const char* values;   /* what can stand behind it, in words; "": a flag */
    const char* fallback; /* the default, in words */
    const char* help;     /* what it means */
} spanfft_problem_key;

/* What bounds a step from below: the resource that, at the machine's best rate, takes longest for what the step does.
 * `seconds` over the step's predicted or counted seconds is the share of the limit that is reached. */
typedef struct spanfft_limit {
    size_t size;      /* sizeof(spanfft_limit), set by the caller */
    const char* name; /* "flops", "memory", "wire", "latency" or "disk"; "": the step does nothing. Lives for ever */
    double seconds;   /* that it takes alone */
} spanfft_limit;

/* A line of a plan's step tree, depth first. Strings live as long as the plan. */
typedef struct spanfft_step {
    size_t size;   /* sizeof(spanfft_step), set by the caller */
    int32_t depth; /* 0: a step of the plan; more: inside one */
    /* "Transform", "Copy", "Twiddle", "Butterfly", "Exchange", "TransformExchange", "SharedTransform", "Sweep",
     * "Padded", "Permute", "Stage", "ReadBox", "WriteBox"; more may come. */
    const char* type;
    const char* description; /* one line */
} spanfft_step;

/* What a traced event is: a whole run, a step of it, or a phase of a step, by what it does. WAIT is waiting for other
 * ranks; waiting for a disk is DISK. Later versions only append to these. */
enum {
    SPANFFT_TRACE_RUN = 0,
    SPANFFT_TRACE_STEP = 1,
    SPANFFT_TRACE_COMPUTE = 2,
    SPANFFT_TRACE_COMMUNICATION = 3,
    SPANFFT_TRACE_WAIT = 4,
    SPANFFT_TRACE_DISK = 5
};
/* The track of an event: events of TRACK_STEPS nest and don't cross, and so do those of TRACK_CALLS; the other tracks
 * show activity in the background, where events may overlap. Later versions only append to these. */
enum {
    SPANFFT_TRACK_STEPS = 0,
    SPANFFT_TRACK_MESSAGES = 1, /* messages under way */
    SPANFFT_TRACK_READS = 2,    /* groups of disk reads under way */
    SPANFFT_TRACK_WRITES = 3,   /* groups of disk writes under way */
    SPANFFT_TRACK_CALLS = 4     /* what a communication thread does */
};

/* One event of a trace. */
typedef struct spanfft_trace_event {
    size_t size;      /* sizeof(spanfft_trace_event), set by the caller */
    const char* name; /* "execute", "Exchange", "pack", ...; lives as long as the plan */
    int32_t category; /* SPANFFT_TRACE_* */
    int32_t track;    /* SPANFFT_TRACK_* */
    int32_t step;     /* of the plan, from 0; -1: outside all steps */
    int64_t start_ns; /* of rank 0's monotonic clock */
    int64_t end_ns;   /* likewise */
    int64_t bytes;    /* to other ranks, to or from a disk, or through memory; -1: not known */
    int32_t chunk;    /* in an exchange that goes chunk by chunk, from 0; -1: none, or not known */
} spanfft_trace_event;

/* What this rank has recorded. */
typedef struct spanfft_trace_info {
    size_t size;               /* sizeof(spanfft_trace_info), set by the caller */
    int64_t events;            /* recorded */
    int64_t dropped;           /* not recorded because max_events was reached */
    int64_t clock_offset_ns;   /* what was added to this rank's clock to get rank 0's */
    int64_t clock_accuracy_ns; /* the largest error of that when tracing was started; 0: one clock */
} spanfft_trace_info;

/* An engine found on this machine. Strings live as long as the process. */
typedef struct spanfft_engine {
    size_t size;         /* sizeof(spanfft_engine), set by the caller */
    const char* name;    /* what spanfft_problem.engine takes */
    const char* version; /* as the library reports it */
    const char* path;    /* of the shared object, or "built in" */
    int32_t precisions;  /* bit 1 << SPANFFT_FLOAT etc. for each that it has */
} spanfft_engine;

/* The sentence for the last error on this thread; "" if there was none. Valid until the next call. */
SPANFFT_API const char* spanfft_last_error(void);
/* The version of the library, "0.1.0". */
SPANFFT_API const char* spanfft_version(void);

/* Sets size and defaults of a struct that is struct_bytes long for the caller: c2c on all axes, forward, double, norm
 * backward, one array, natural order. Nothing behind struct_bytes is touched, even if the library's own struct is
 * longer, so a program that was built against an older header is safe. From C and C++ call spanfft_problem_init. */
SPANFFT_API void spanfft_problem_init_bytes(spanfft_problem* problem, size_t struct_bytes, int ndim,
                                            const int64_t* shape);
/* The same for the struct of this header. */
static inline void spanfft_problem_init(spanfft_problem* problem, int ndim, const int64_t* shape) {
    spanfft_problem_init_bytes(problem, sizeof(spanfft_problem), ndim, shape);
}
/* The one-line problem string of `problem`; free with spanfft_free. `ranks` is written into it. */
SPANFFT_API int spanfft_problem_print(const spanfft_problem* problem, int ranks, char** text);
/* Parses `text` and prints it in canonical form; an error names the word that was not understood. */
SPANFFT_API int spanfft_problem_canonical(const char* text, char** canonical);

/* The number of keys and flags that a problem string can have. */
SPANFFT_API int spanfft_problem_key_count(void);
/* One of them, in the order in which they are printed. */
SPANFFT_API int spanfft_problem_key_info(int index, spanfft_problem_key* key);

/* Makes a plan. Collective. comm == NULL: this process alone. comm may be freed afterwards.
 * All ranks must describe the same problem (but for their boxes), or all get SPANFFT_MPI_ERROR. */
SPANFFT_API int spanfft_plan_create(const spanfft_problem* problem, spanfft_comm* comm, spanfft_plan** plan);
/* The same from a problem string; ranks= may be left out, and must fit comm if given. */
SPANFFT_API int spanfft_plan_parse(const char* text, spanfft_comm* comm, spanfft_plan** plan);
/* The same for a rank that says its own box as the struct does, where the string gives no boxes. Each may be NULL:
 * balanced blocks. All ranks give it or none. */
SPANFFT_API int spanfft_plan_parse_boxes(const char* text, const spanfft_box* real_box, const spanfft_box* spectrum_box,
                                         spanfft_comm* comm, spanfft_plan** plan);
/* The same for a plan that undoes another one of the same communicator, which may be freed before it. What both own is
 * one array: what this one reads (own_input) is what the other writes (own_output), and the other way round, where both
 * are divided alike; ask spanfft_plan_input_array and spanfft_plan_output_array whether they are. All ranks give the
 * same plan, or NULL. */
SPANFFT_API int spanfft_plan_parse_undoing(const char* text, const spanfft_box* real_box,
                                           const spanfft_box* spectrum_box, spanfft_comm* comm,
                                           const spanfft_plan* undone, spanfft_plan** plan);
/* Plans for as many ranks as the string says, without a communicator: it can be explained, not executed. */
SPANFFT_API int spanfft_plan_imagine(const char* text, spanfft_plan** plan);
/* The same for a machine that a text describes, which spanfft_probe gave or somebody wrote. */
SPANFFT_API int spanfft_plan_imagine_on(const char* text, const char* machine, spanfft_plan** plan);
/* The same with ranks_per_node ranks on each node (0: as the machine's text says, else 128), in order of their numbers.
 * machine == NULL: this machine, as for spanfft_plan_imagine. */
SPANFFT_API int spanfft_plan_imagine_nodes(const char* text, const char* machine, int ranks_per_node,
                                           spanfft_plan** plan);
/* Frees a plan. Collective for plans on ranks. NULL is allowed. */
SPANFFT_API void spanfft_plan_free(spanfft_plan* plan);

/* The path of the file in which the user's results of tuning are kept; "" if no folder is known for it (SPANFFT_HOME,
 * XDG_CACHE_HOME and HOME are unset). Its text has a record a line; merging two texts keeps every record of both, and
 * of two records for the same choice the faster one. Free texts with spanfft_free. These functions are not
 * collective. */
SPANFFT_API int spanfft_tuning_path(char** path);
/* All records of tuning, as text. */
SPANFFT_API int spanfft_tuning_export(char** text);
/* Merges records into the user's; *added (may be NULL) counts those that were new or faster. */
SPANFFT_API int spanfft_tuning_import(const char* text, int* added);
/* Removes the records of a problem, or all (problem == NULL) and what FFTW learnt, its kept wisdom; *removed, which may
 * be NULL, counts the records. */
SPANFFT_API int spanfft_tuning_forget(const char* problem, int* removed);

/* How long a probe may take, and what it leaves out. Fill it with zeros, then set size. */
typedef struct spanfft_probe_options {
    size_t size;             /* sizeof(spanfft_probe_options), set by the caller */
    double seconds;          /* about the most that engines, exchanges and steps take; 0: 120 */
    int32_t quick;           /* two message sizes, few runs, no engines: rough figures in a second or two */
    int32_t dont_store;      /* leave what this user has stored as it is */
    const char* disk_folder; /* on the disk that file transforms will use: measured too, on rank 0, with 256 MiB there
                              * (quick: 128 MiB); NULL: not */
    int32_t scratch_count;   /* of the folders below; 0: their disks are not measured. All ranks name some, or none */
    /* On the disks that a rank has for scratch alone, as in spanfft_plan_set_scratch: measured by all ranks at once,
     * each with 128 MiB in its own (quick: 32 MiB). {rank} and {node} in a name are the numbers of rank and node. */
    const char* const* scratch_folders;
} spanfft_probe_options;
/* Measures this machine on the ranks of comm (NULL: this process alone): memory, engines, every exchange strategy over
 * message sizes, inside nodes and between them, and disks where they are named. Collective. Stores the figures for
 * later plans on rank 0 and gives them as text on every rank (machine may be NULL; free it with spanfft_free). options
 * may be NULL. */
SPANFFT_API int spanfft_probe(spanfft_comm* comm, const spanfft_probe_options* options, char** machine);
/* The figures of a probe that this user's plans on the ranks of comm (NULL: this process alone) take, as text; "" where
 * none are kept. Free it with spanfft_free. Not collective: plans on ranks take those of rank 0. */
SPANFFT_API int spanfft_probe_kept(spanfft_comm* comm, char** machine);

/* Runs the plan. Collective. in and out hold this rank's boxes in C order, batch arrays one after the other; lengths by
 * spanfft_plan_input_part and _output_part. in is left as it was unless the plan is in place. Empty boxes may have NULL
 * pointers. If an MPI call fails on one rank in the middle, that rank gets the error now, and all ranks get it at the
 * next execution, which does nothing else. */
SPANFFT_API int spanfft_execute(spanfft_plan* plan, const void* in, void* out);
/* Codes from here on are the caller's, for spanfft_execute_unless. */
enum { SPANFFT_OWN_CODES = 1000 };
/* The same for callers whose own checks may fail on one rank; it needs no further collective call. With a code other
 * than SPANFFT_OK this rank does not take part: in and out may be NULL, nothing is run, and every rank gets the code
 * and the sentence (of several ranks', those with the highest code). The caller's own codes are passed on unchanged. */
SPANFFT_API int spanfft_execute_unless(spanfft_plan* plan, const void* in, void* out, int code, const char* sentence);

/* This rank's box of the input array (ndim axes, without the batch). SPANFFT_UNSUPPORTED for parts that are no
 * boxes: of the cyclic layout on several ranks, and of one axis in exchanged order. */
SPANFFT_API int spanfft_plan_input_box(const spanfft_plan* plan, spanfft_box* box);
/* This rank's box of the output array. */
SPANFFT_API int spanfft_plan_output_box(const spanfft_plan* plan, spanfft_box* box);
/* This rank's part of the input array, in any layout (ndim axes, without the batch). */
SPANFFT_API int spanfft_plan_input_part(const spanfft_plan* plan, spanfft_part* part);
/* This rank's part of the output array. */
SPANFFT_API int spanfft_plan_output_part(const spanfft_plan* plan, spanfft_part* part);
/* Bytes of this rank's input, batch included. plan NULL: 0. */
SPANFFT_API int64_t spanfft_plan_input_bytes(const spanfft_plan* plan);
/* Bytes of this rank's output, batch included. plan NULL: 0. */
SPANFFT_API int64_t spanfft_plan_output_bytes(const spanfft_plan* plan);
/* The array that a plan with own_output writes, spanfft_plan_output_bytes long; pass it to spanfft_execute. It lives as
 * long as the plan, and its contents until the next execution. On one node the ranks write into one another's arrays,
 * which saves a copy of the result. NULL when the plan owns no array or is NULL; a part without elements may have any
 * address. */
SPANFFT_API void* spanfft_plan_output_array(const spanfft_plan* plan);
/* The array that a plan with own_input reads, spanfft_plan_input_bytes long; fill it and pass it to spanfft_execute. It
 * lives as long as the plan, and executions leave its contents. On one node the ranks read one another's arrays, which
 * saves a copy of the input: fill it before spanfft_execute, and not while another thread executes the plan. NULL when
 * the plan owns no such array or is NULL; a part without elements may have any address. */
SPANFFT_API void* spanfft_plan_input_array(const spanfft_plan* plan);
/* Global shape of the input without the batch (shape may be NULL); returns ndim, or 0 if the plan is NULL. */
SPANFFT_API int spanfft_plan_input_shape(const spanfft_plan* plan, int64_t* shape);
/* Global shape of the output without the batch; likewise. */
SPANFFT_API int spanfft_plan_output_shape(const spanfft_plan* plan, int64_t* shape);

/* Called repeatedly while a file is transformed; return 0 to stop the run. */
typedef int (*spanfft_progress)(int64_t done_bytes, int64_t total_bytes, void* user);
/* Transforms a file whose array may be larger than spanfft_problem.memory_bytes. Collective; on several ranks each
 * reads and writes its own part. The array starts at input_offset_bytes of input_path, in C order, native byte order.
 * output_path appears only when whole: first header_bytes of header, then the array. scratch_folder: for intermediate
 * data; NULL: the output's folder; on several ranks each has its own, and {rank} and {node} in its name stand for the
 * numbers of the rank and of its node. progress may be NULL; returning 0 from it stops the run with
 * SPANFFT_INTERRUPTED. The plan must have been made with memory_bytes > 0, the limit for the arrays, engines and work
 * areas of a process together. A transform takes up to 64 MiB beyond it once the libraries are loaded, which take some
 * 20 MiB of resident memory by themselves, and 50 where MKL has kernels of its own for the processor. */
SPANFFT_API int spanfft_transform_file(spanfft_plan* plan, const char* input_path, int64_t input_offset_bytes,
                                       const char* output_path, const void* header, int64_t header_bytes,
                                       const char* scratch_folder, spanfft_progress progress, void* user);

/* As spanfft_transform_file, but the output takes the place of the input: the array at offset_bytes of the file, whose
 * other bytes stay. The plan's output must have the same shape and type as its input, and the plan must have a journal
 * (spanfft_plan_set_journal). Of several ranks all name the same file, and each has scratch of its own. Nothing is
 * overwritten until all data that replaces it is on the disk. From then on a run that ends early leaves a file that
 * holds neither the input nor the output; this call goes on with it, and other transforms refuse it as
 * SPANFFT_CORRUPT_DATA. scratch_folder: NULL is the file's folder; it needs room for one array in addition to the
 * plan's scratch, unless that holds the data that replaces the array. */
SPANFFT_API int spanfft_transform_in_place(spanfft_plan* plan, const char* path, int64_t offset_bytes,
                                           const char* scratch_folder, spanfft_progress progress, void* user);

/* Moves a box of an array that the caller keeps: `first` and `extent` have an entry an axis, `data` is the elements of
 * the box in C order, an output's in the type that is stored (spanfft_problem.store, power); the function fills it
 * (input) or takes it (output). Boxes are whole chunks (at the array's end the rest of one); each chunk is in exactly
 * one box of a run. One thread at a time calls it: the one that called spanfft, or another with 8 MiB of stack. Of
 * several ranks each calls its own, for boxes that no other rank has, while others call theirs; with
 * spanfft_problem.one_writer rank 0 alone calls that of the output. Returns SPANFFT_OK, or a code after
 * spanfft_set_error() with a sentence: then the run ends with both, on all ranks. */
typedef int (*spanfft_box_transfer)(const int64_t* first, const int64_t* extent, void* data, void* user);

/* Where an array lies: in a file, or behind a function. Set size, zero the rest, then set what is needed. */
typedef struct spanfft_store {
    size_t size;          /* sizeof(spanfft_store), set by the caller */
    const char* path;     /* a file; for a function a name, used in messages and to find an unfinished run; of several
                           * ranks' output it is in a folder that all see, with room for copies of chunked arrays */
    int64_t offset_bytes; /* input file: where the array starts */
    const void* header;   /* output file: goes before the array */
    int64_t header_bytes; /* of it */
    int32_t packed;       /* file: a half spectrum of even n in n/2 numbers, X[n/2] as imaginary part of X[0] */
    spanfft_box_transfer transfer; /* NULL: a file. Needs spanfft_problem.input_chunk (output_chunk) */
    void* user;                    /* handed to transfer and finish */
    /* With transfer, for a journal. Input: any text that changes whenever the array's contents do; NULL or "": there is
     * no journal, and a note of the run says so. Output: any text that says how the array is stored, or NULL; while a
     * run is unfinished, a run with another text is refused. */
    const char* identity;
    /* Output with transfer; NULL: none. It is called once, by the thread that called spanfft (of several ranks, on rank
     * 0), when every box was written and before the output's source is removed: it must write what is buffered, flush
     * it to the disk and give it its name. It returns SPANFFT_OK, or a code after spanfft_set_error(): then the run
     * ends with both, and with a journal the same call goes on from there. What is written after it has returned may be
     * lost in a power cut. */
    int (*finish)(void* user);
} spanfft_store;

/* As spanfft_transform_file, for arrays in files and behind functions. An array that memory does not hold goes through
 * a file in scratch_folder in one more sweep, so that each chunk is read, or written, once (docs/out-of-core.md); two
 * chunks of the budget are left to the function. The caller must let the output appear only when it is whole, which is
 * when `finish` is called, and when this returns SPANFFT_OK. A run that goes on after another was killed
 * (spanfft_plan_set_journal) reads only boxes of the input that are not in its file yet, and writes all of the output:
 * throw away what the killed run had written. scratch_folder: NULL is the output file's folder. */
SPANFFT_API int spanfft_transform_stores(spanfft_plan* plan, const spanfft_store* input, const spanfft_store* output,
                                         const char* scratch_folder, spanfft_progress progress, void* user);
/* Sets this thread's sentence for the code that a callback is about to return; it is copied. */
SPANFFT_API void spanfft_set_error(const char* sentence);

/* Stripes the scratch of the file transforms that follow over several folders, ideally on a disk each. count 0 goes
 * back to scratch_folder. The problem says by `disks` how many they are, 1 too if that one is another disk than the
 * output's: else the plan may need no scratch. Every folder must exist, be named once and be writable when a transform
 * starts. On several ranks each has scratch of its own, in the folders that it names. Not collective. */
SPANFFT_API int spanfft_plan_set_scratch(spanfft_plan* plan, int count, const char* const* folders);
/* What spanfft_plan_set_journal takes. */
enum { SPANFFT_JOURNAL_OFF = 0, SPANFFT_JOURNAL_AUTO = 1, SPANFFT_JOURNAL_RESUME = 2, SPANFFT_JOURNAL_RESTART = 3 };
/* Whether the file transforms that follow keep a journal, with which a run that is killed or stopped can go on and give
 * the same bits. OFF (the default) leaves nothing behind. AUTO goes on with an unfinished run from the same input to
 * the same output, in the same scratch folders, or begins one; RESUME fails where there is none; RESTART throws it
 * away. With a journal a failed run keeps scratch and partial output under hidden names, and its sentence says so; a
 * later run must have a plan of the same problem, and its input must not have changed (SPANFFT_CORRUPT_DATA). If
 * another process works on the same files, the error is SPANFFT_IO_ERROR with its number. A note of the plan says
 * whether it can have a journal; where it can't, AUTO and RESTART run without one. checksums: nonzero (the default)
 * verifies the data that one sweep writes and the next reads. Not collective. */
SPANFFT_API int spanfft_plan_set_journal(spanfft_plan* plan, int mode, int checksums);
/* The problem, with memory and threads, of an unfinished run from this input to this output (in place: the input
 * again), for spanfft_plan_parse; or a line that begins with "permute", of a permutation; "" where there is none. count
 * and folders are those of spanfft_plan_set_scratch. Free with spanfft_free. */
SPANFFT_API int spanfft_unfinished_run(const char* input_path, int64_t input_offset_bytes, const char* output_path,
                                       int count, const char* const* folders, char** problem);
/* Bytes that an unfinished run had read and written and that the last file transform need not move again; 0: it began
 * anew, or plan is NULL. */
SPANFFT_API int64_t spanfft_plan_resumed_bytes(const spanfft_plan* plan);
/* A block of the array in a file: a contiguous run of it in C order, on its way in or out. */
typedef struct spanfft_block {
    size_t size;                     /* sizeof(spanfft_block) of the library */
    int64_t first;                   /* place of its first element in the array, counted in C order */
    int64_t count;                   /* elements */
    int32_t ndim;                    /* of the array in the file */
    int64_t index[SPANFFT_MAX_NDIM]; /* of the first element */
    void* data;                      /* the elements, in the type that is read or computed; change them in place */
    void* stored;                    /* out: where the file holds another type, `count` of these; else data. in: NULL */
    int32_t filled;                  /* out: set it to 1 if you filled `stored`; 0: power and conversion follow */
    char message[256];               /* the sentence of an error, if you return one */
} spanfft_block;
/* Changes a block. Return 0 to go on; anything else ends the run on all ranks with SPANFFT_CALLBACK_FAILED and the
 * message. */
typedef int (*spanfft_block_callback)(spanfft_block* block, void* user);
/* What is called for each block. Every element of the rank's part is passed once each way, in no order, in blocks of
 * any length; in out-of-core plans they are as long as the runs on the disk. */
typedef struct spanfft_block_callbacks {
    size_t size;                      /* sizeof(spanfft_block_callbacks), set by the caller */
    spanfft_block_callback on_input;  /* of what was read, before the window; NULL: none */
    spanfft_block_callback on_output; /* of what was computed, before power and conversion; NULL: none */
    void* user;                       /* handed to both */
    int32_t thread_safe;              /* 0: one thread of the library makes all calls, one after the other. 1: the
                                         threads that read and write do, several at once, with 128 KiB of stack */
    /* What they do, such as "whiten 2"; copied. With a journal, a run that goes on gives them only the blocks that are
     * not done, and must have the same name: so their results must depend on the block and its place alone, and they
     * need another name when they change. NULL or "": there is no journal, and a note of the run says so. */
    const char* name;
} spanfft_block_callbacks;
/* Sets the functions that the file transforms that follow call for the blocks of this rank; NULL: none. Not collective,
 * but all ranks must have the same kinds of callbacks, or the transform is refused. */
SPANFFT_API int spanfft_plan_set_callbacks(spanfft_plan* plan, const spanfft_block_callbacks* callbacks);
/* Who did the reads and writes of this plan's disk sweeps on this rank, and why an io_uring did not: "reads: io_uring,
 * depth 64, ...; writes: ...". "" before the first sweep. Free with spanfft_free. */
SPANFFT_API int spanfft_plan_io(const spanfft_plan* plan, char** text);
/* Who would do them on this machine, with this io= and this environment. Free with spanfft_free. */
SPANFFT_API int spanfft_disk_io(const char* io, char** text);
/* How ranks of one node share memory here: "memory of our own (memfd), pages of 2 MiB", or why only MPI can do it. The
 * environment variable SPANFFT_WINDOWS=own, mpi or none allows only that way. Free with spanfft_free. */
SPANFFT_API int spanfft_windows(char** text);
/* A BMMC permutation (bit-matrix-multiply/complement): of 2^bits records, x goes to z = Hx xor c over GF(2). */
typedef struct spanfft_permutation {
    size_t size;             /* sizeof(spanfft_permutation), set by the caller */
    int32_t bits;            /* 1 to 57: of an index */
    const uint64_t* columns; /* `bits` of them: bit i of columns[j] is row i, column j of H */
    uint64_t complement;     /* c */
    int64_t record_bytes;    /* 1 or more */
    int64_t memory_bytes;    /* what buffers may take */
    int64_t block_bytes;     /* a power of two of records; 0: chosen */
    int32_t disks;           /* 0: 1, or as many as scratch folders; a power of two */
    int32_t synchronous;     /* 1: read, permute, write one after the other, in half of the memory */
    int32_t threads;         /* 0: all cores */
} spanfft_permutation;

/* What a permutation costs, in the terms of the Parallel Disk Model. */
typedef struct spanfft_permute_report {
    size_t size;                /* sizeof(spanfft_permute_report), set by the caller */
    int32_t sweeps;             /* over all records */
    int32_t rank_phi;           /* of the lower left lg(N/M) x lg M part of H */
    int64_t memoryload_records; /* M */
    int64_t block_records;      /* B */
    int64_t disks;              /* D */
    int64_t predicted_parallel_ios;
    int64_t counted_parallel_ios; /* 0 before it has run */
    int64_t bound;                /* 2N/(BD) (ceil(rank phi / lg(M/B)) + 1); 0: M == B, not defined */
    int64_t memory_bytes;         /* of buffers and checksums */
    int64_t scratch_bytes;        /* in all folders together */
} spanfft_permute_report;

/* Fills columns[0..bits) with a matrix: "identity", "bit-reversal", "bit-reversal:K" (of the low K bits), "rotation:K"
 * (K bits to the right), "transpose:RxC", "band:P,STRIPE,FROM,TO" or "random:SEED". */
SPANFFT_API int spanfft_bit_matrix(const char* kind, int bits, uint64_t* columns);
/* What spanfft_permute_file would do. `text` may be NULL; else it gets the plan in words; free it with spanfft_free. */
SPANFFT_API int spanfft_permute_plan(const spanfft_permutation* permutation, spanfft_permute_report* report,
                                     char** text);
/* A plan of a permutation, for one process: all that is said of plans for files holds for it. spanfft_transform_file
 * runs it, with the journal of spanfft_plan_set_journal, in the scratch folders of spanfft_plan_set_scratch: one, or as
 * many as the permutation has disks. It moves records of any kind, so it takes no callbacks, no chunked or packed
 * arrays, and does not run in place. Its problem (spanfft_plan_problem) is a line that no plan is made from. */
SPANFFT_API int spanfft_plan_permutation(const spanfft_permutation* permutation, spanfft_plan** plan);
/* Permutes the records of a file, which may be larger than memory, into another file, which appears only when whole:
 * header_bytes of header, then the records. Scratch is striped over `folders` folders, a disk each, as many as the
 * permutation has disks; 0: it is in the output's folder. progress as in spanfft_transform_file; report may be NULL.
 * There is no journal; spanfft_plan_permutation makes a plan that can have one. */
SPANFFT_API int spanfft_permute_file(const spanfft_permutation* permutation, const char* input_path,
                                     int64_t input_offset_bytes, const char* output_path, const void* header,
                                     int64_t header_bytes, int folders, const char* const* scratch_folders,
                                     spanfft_progress progress, void* user, spanfft_permute_report* report);

/* An FFT on parallel disks by several processors, for spanfft_analyse. All counts are powers of two. */
typedef struct spanfft_processors {
    size_t size;            /* sizeof(spanfft_processors), set by the caller */
    int64_t records;        /* N: to be transformed */
    int64_t record_bytes;   /* 1 or more; complex double: 16 */
    int64_t memory_records; /* what the memories of all processors hold, buffers included */
    int64_t block_records;  /* B */
    int64_t disks;          /* D, of all processors together */
    int64_t processors;     /* P, up to D and 4096 */
    int32_t synchronous;    /* 1: memoryloads of a quarter of memory; 0: of an eighth, as reads and writes go on */
    int32_t shorter;        /* 0: permutations factored as published; 1: by spanfft, into as many sweeps or fewer */
} spanfft_processors;

/* What a method does. What differs between processors is that of the one that sends most. */
typedef struct spanfft_traffic {
    size_t size;                /* sizeof(spanfft_traffic), set by the caller */
    int64_t memoryload_records; /* M */
    int64_t effective_records;  /* F: of a mini-butterfly */
    int64_t band_records;       /* beta */
    int32_t superlevels;
    int32_t sweeps; /* over all records, superlevels included */
    int64_t parallel_ios;
    int64_t butterfly_messages; /* a processor sends in mini-butterflies */
    int64_t butterfly_bytes;
    int64_t bmmc_messages; /* a processor sends in permutations, at most */
    int64_t bmmc_bytes;
    int64_t total_messages; /* all processors send together */
    int64_t total_bytes;
    int32_t alike; /* 1: every processor sends as much as every other */
} spanfft_traffic;

/* What one of P1's four methods sends and transfers, from ranks of matrices over GF(2): "stripe_major_comm",
 * "memoryload_major_comm", "processor_major_nocomm" or "memoryload_major_nocomm". Runs nothing. */
SPANFFT_API int spanfft_analyse(const char* method, const spanfft_processors* processors, spanfft_traffic* traffic);

/* An imagined machine, from the text of its file. Strings live until the next call on this thread. */
typedef struct spanfft_machine_info {
    size_t size;            /* sizeof(spanfft_machine_info), set by the caller */
    const char* name;       /* as the file has it */
    int64_t nodes;          /* 0: the file has no data sheet, and nothing can be foreseen on it */
    int64_t cores_per_node; /* that transforms may use */
    const char* sheet;      /* the lines of its data sheet, each with its source behind "#" */
} spanfft_machine_info;

/* One way to do a transform on such a machine. Times are of one transform, by its slowest rank; strings live as long as
 * the foresight. */
typedef struct spanfft_foreseen_plan {
    size_t size;          /* sizeof(spanfft_foreseen_plan), set by the caller */
    const char* solver;   /* whose route it is */
    const char* grid;     /* "16x64" */
    const char* exchange; /* a strategy, or one for each exchange with "+" between them; "": nothing is exchanged */
    const char* limit;    /* what most of the time is spent on: "flops", "memory", "bisection", "injection",
                           * "message rate", "messages", "latency", "barriers" or "disk" */
    double seconds;
    double compute_seconds; /* this and the next four add up to seconds */
    double memory_seconds;
    double wire_seconds;
    double disk_seconds;
    double barrier_seconds;
    double bisection_bound; /* this and the next three: what each alone needs at its peak */
    double injection_bound;
    double memory_bound;
    double flops_bound;
    double flops;             /* of rank 0, which has most; like the next four */
    int64_t memory_bytes;     /* read and written by sweeps over the array */
    int64_t messages;         /* to other ranks */
    int64_t sent_bytes;       /* in them */
    int64_t calls;            /* that move data between ranks */
    double node_memory_bytes; /* arrays and buffers of the ranks of a node */
    int32_t fitted;           /* 1: a fit that was published with the machine stands in for the model */
    int32_t exchanges;        /* for spanfft_foresight_exchange */
} spanfft_foreseen_plan;

/* One exchange of such a plan. */
typedef struct spanfft_foreseen_exchange {
    size_t size;            /* sizeof(spanfft_foreseen_exchange), set by the caller */
    const char* strategy;   /* with its parameter */
    const char* limit;      /* of its time on the wire */
    int64_t group_ranks;    /* that exchange with one another; all such groups do at once */
    int64_t messages;       /* of rank 0 */
    int64_t sent_bytes;     /* in them */
    double wire_seconds;    /* that are waited for */
    double copy_seconds;    /* packing and unpacking */
    double barrier_seconds; /* between phases */
    double hidden_seconds;  /* that go on while something is computed */
} spanfft_foreseen_exchange;

/* What was foreseen; free it with spanfft_foresight_free. */
typedef struct spanfft_foresight spanfft_foresight;

/* Reads a machine's text; the error names line, value and what may stand there. */
SPANFFT_API int spanfft_machine_read(const char* machine, spanfft_machine_info* info);
/* What a transform would take on the ranks that the string says, of a machine whose text has a data sheet.
 * ranks_per_node 0: one for each core. Runs nothing; arrays in memory take as long for a million ranks as a hundred. */
SPANFFT_API int spanfft_foresee(const char* text, const char* machine, int ranks_per_node,
                                spanfft_foresight** foresight);
/* The number of plans that were compared; foresight NULL: 0. */
SPANFFT_API int spanfft_foresight_plans(const spanfft_foresight* foresight);
/* Plan `index`, the fastest first. */
SPANFFT_API int spanfft_foresight_plan(const spanfft_foresight* foresight, int index, spanfft_foreseen_plan* plan);
/* Exchange `index` of a plan, in the order in which they happen. */
SPANFFT_API int spanfft_foresight_exchange(const spanfft_foresight* foresight, int plan, int index,
                                           spanfft_foreseen_exchange* exchange);
/* Frees it. NULL is allowed. */
SPANFFT_API void spanfft_foresight_free(spanfft_foresight* foresight);

/* The plan in words: the tree, predicted beside counted (after a run). For this rank; not collective.
 * Free with spanfft_free. */
SPANFFT_API int spanfft_plan_explain(const spanfft_plan* plan, char** text);
SPANFFT_API int spanfft_plan_problem(const spanfft_plan* plan, char** text); /* with the planner's choices filled in */
/* The name of the method; plan NULL: "". */
SPANFFT_API const char* spanfft_plan_solver(const spanfft_plan* plan);
/* This rank in the plan's communicator; 0 without one, or without a plan. */
SPANFFT_API int spanfft_plan_rank(const spanfft_plan* plan);
/* The number of ranks that the plan is for; plan NULL: 0. */
SPANFFT_API int spanfft_plan_ranks(const spanfft_plan* plan);
SPANFFT_API int spanfft_plan_steps(const spanfft_plan* plan); /* lines in the tree; NULL: none */
/* Line `index` of the tree. */
SPANFFT_API int spanfft_plan_step(const spanfft_plan* plan, int index, spanfft_step* step);
/* Cost of a line; index -1 is the whole plan. rank -1 is this rank. */
SPANFFT_API int spanfft_plan_predicted(const spanfft_plan* plan, int index, int rank, spanfft_counts* counts);
/* What limits a line, by its predicted counts; indices and ranks as above, but for -1 as an index. */
SPANFFT_API int spanfft_plan_limit(const spanfft_plan* plan, int index, int rank, spanfft_limit* limit);
/* What the last run counted on this rank; SPANFFT_INVALID_ARGUMENT before the first. Only top-level lines count. */
SPANFFT_API int spanfft_plan_counted(const spanfft_plan* plan, int index, spanfft_counts* counts);
/* Peak memory; for arrays in memory it includes the caller's. rank -1 is this rank. 0 for a rank that the plan does not
 * have, or if plan is NULL. */
SPANFFT_API int64_t spanfft_plan_peak_memory_bytes(const spanfft_plan* plan, int rank);
SPANFFT_API int spanfft_plan_sweeps(const spanfft_plan* plan); /* of the disk; 0 for arrays in memory, or NULL */
/* Disk space for intermediate data, all ranks together, in scratch and behind the output; plan NULL: 0. */
SPANFFT_API int64_t spanfft_plan_scratch_bytes(const spanfft_plan* plan);
/* Engines that ran, or will run, local transforms of this plan on this rank: "mkl" or "mkl, ducc0"; "" for an
 * imagined plan or NULL. */
SPANFFT_API const char* spanfft_plan_engines(const spanfft_plan* plan);
SPANFFT_API int spanfft_plan_notes(const spanfft_plan* plan); /* engines passed over, runners-up; NULL: none */
/* Note `index`, a sentence; "" past the last, or plan NULL. */
SPANFFT_API const char* spanfft_plan_note(const spanfft_plan* plan, int index);

/* Plans the exchange of what surrounds this rank's part of the plan's real space, which is periodic: along axis i
 * before[i] elements before the part and after[i] behind it (ndim entries each, the same on all ranks), as many as you
 * like, beyond the neighbours' parts and beyond the whole array too. Where the plan owns its array in real space and
 * ranks of one node share it (spanfft_problem.own_input of a forward plan, own_output of a backward one), ranks read
 * one another's parts there and no messages are sent. Collective. The halo does not need the plan afterwards. */
SPANFFT_API int spanfft_halo_create(const spanfft_plan* plan, const int64_t* before, const int64_t* after,
                                    spanfft_halo** halo);
/* The extended part of this rank: its first index along each axis, which may be negative, and how many, which may run
 * beyond the axis' end. A part without elements has no surroundings either. */
SPANFFT_API int spanfft_halo_part(const spanfft_halo* halo, spanfft_part* part);
/* Bytes of this rank's extended part, in C order, batch arrays one after the other; NULL: 0. */
SPANFFT_API int64_t spanfft_halo_bytes(const spanfft_halo* halo);
/* Bytes of this rank's part of real space, with the batch; NULL: 0. */
SPANFFT_API int64_t spanfft_halo_part_bytes(const spanfft_halo* halo);
/* Fills `extended` with this rank's part and its surroundings. Collective. Empty arrays may be NULL. If an MPI call
 * fails on one rank in the middle, that rank alone gets the error. */
SPANFFT_API int spanfft_halo_exchange(spanfft_halo* halo, const void* part, void* extended);
/* The adjoint: each element of `part` becomes the sum of all ranks' copies of it in their extended parts. Collective.
 */
SPANFFT_API int spanfft_halo_add(spanfft_halo* halo, const void* extended, void* part);
/* Of which call the cost is asked: spanfft_halo_exchange, the same with the plan's own array on all ranks, or
 * spanfft_halo_add. */
enum { SPANFFT_HALO_COST_EXCHANGE = 0, SPANFFT_HALO_COST_EXCHANGE_OWN = 1, SPANFFT_HALO_COST_ADD = 2 };
/* What a call (SPANFFT_HALO_COST_*) costs this rank: memory, messages, calls. */
SPANFFT_API int spanfft_halo_predicted(const spanfft_halo* halo, int call, spanfft_counts* counts);
/* What the last call counted on this rank; SPANFFT_INVALID_ARGUMENT before the first. */
SPANFFT_API int spanfft_halo_counted(const spanfft_halo* halo, spanfft_counts* counts);
/* Frees it. Collective on ranks. NULL is allowed. */
SPANFFT_API void spanfft_halo_free(spanfft_halo* halo);

/* Records what the executions that follow do, for up to max_events events (0: 65536; 48 bytes each, allocated now and
 * on top of the plan's memory); an older trace of the plan is thrown away. Collective. */
SPANFFT_API int spanfft_plan_trace_start(spanfft_plan* plan, int64_t max_events);
/* Stops recording and keeps what was recorded. Not collective. */
SPANFFT_API int spanfft_plan_trace_stop(spanfft_plan* plan);
/* This rank's trace; SPANFFT_INVALID_ARGUMENT if none was started. */
SPANFFT_API int spanfft_plan_trace_info(const spanfft_plan* plan, spanfft_trace_info* info);
/* Event `index` of this rank, in the order in which they ended. Don't call it while the plan runs. */
SPANFFT_API int spanfft_plan_trace_event(const spanfft_plan* plan, int64_t index, spanfft_trace_event* event);

/* Engines found on this machine; looked for at the first call of this or of a planning function. */
SPANFFT_API int spanfft_engine_count(void);
/* Engine `index`. */
SPANFFT_API int spanfft_engine_info(int index, spanfft_engine* engine);
/* Adds a folder in which engines are looked for. Call it before the first plan. */
SPANFFT_API int spanfft_engine_search(const char* folder);

/* Frees a text that this library returned. NULL is allowed. */
SPANFFT_API void spanfft_free(void* memory);
/* Frees a communicator; plans made with it stay valid. For one of MPI it is collective and must come before
 * MPI_Finalize. NULL is allowed. */
SPANFFT_API void spanfft_comm_free(spanfft_comm* comm);

#ifdef __cplusplus
}
#endif
#endif /* SPANFFT_H */
