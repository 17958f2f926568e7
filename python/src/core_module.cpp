// spanfft._core: the C ABI as a Python module, and nothing more; the package around it is written in Python.
//
// Method: a Plan holds a spanfft_plan*; every call that may take long releases the GIL; an error code becomes
// the exception of spanfft._errors that belongs to it. Arrays come in through the buffer protocol, so this
// module needs no NumPy, and a file transform starts without it.
// Invariants: one plan is executed by one thread at a time (a mutex per plan). A plan on ranks is freed only
// by free(), which is collective; the garbage collector, which runs when it likes on each rank, only leaks it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "spanfft/spanfft.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Extents = std::vector<int64_t>;
using Box = std::pair<Extents, Extents>;             // start, count
using Part = std::tuple<Extents, Extents, Extents>;  // start, count, step

struct CodedError {
    int code;
    std::string message;
};

// For codes from the library: the sentence is in thread-local memory, so take it on the thread that failed.
void check(int code) {
    if (code != SPANFFT_OK) {
        throw CodedError{code, spanfft_last_error()};
    }
}

[[noreturn]] void fail(int code, std::string message) { throw CodedError{code, std::move(message)}; }

// A contiguous buffer of at least `bytes`; None stands for an empty one.
class Buffer {
  public:
    Buffer(nb::handle object, int64_t bytes, bool writable, const char* role) {
        if (object.is_none()) {
            if (bytes != 0) {
                fail(SPANFFT_INVALID_ARGUMENT,
                     std::string(role) + " is None but needs " + std::to_string(bytes) + " bytes; pass an array");
            }
            return;
        }
        const int flags = PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) {
            throw nb::python_error();
        }
        held_ = true;
        if (view_.len < bytes) {
            const int64_t given = view_.len;
            PyBuffer_Release(&view_);
            held_ = false;
            fail(SPANFFT_INVALID_ARGUMENT, std::string(role) + " holds " + std::to_string(given) +
                                               " bytes; the plan needs " + std::to_string(bytes));
        }
    }
    ~Buffer() {
        if (held_) {
            PyBuffer_Release(&view_);
        }
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    void* data() const { return held_ ? view_.buf : nullptr; }

  private:
    Py_buffer view_{};
    bool held_ = false;
};

nb::dict counts_dict(const spanfft_counts& counts) {
    nb::dict d;
    d["flops"] = counts.flops;
    d["memory_bytes"] = counts.memory_bytes;
    d["messages"] = counts.messages;
    d["sent_bytes"] = counts.sent_bytes;
    d["disk_read_bytes"] = counts.disk_read_bytes;
    d["disk_written_bytes"] = counts.disk_written_bytes;
    d["disk_reads"] = counts.disk_reads;
    d["disk_writes"] = counts.disk_writes;
    d["seconds"] = counts.seconds;
    d["calls"] = counts.calls;
    d["parallel_ios"] = counts.parallel_ios;
    return d;
}

// What progress_callback needs while spanfft_transform_file runs without the GIL.
struct Progress {
    nb::object callable;         // may be None
    PyObject* raised = nullptr;  // a Python exception that the callback or a signal handler raised
};

int progress_callback(int64_t done_bytes, int64_t total_bytes, void* user) {
    nb::gil_scoped_acquire gil;
    auto* progress = static_cast<Progress*>(user);
    if (progress->raised != nullptr) {
        return 0;
    }
    bool stop = PyErr_CheckSignals() != 0;
    if (!stop && !progress->callable.is_none()) {
        PyObject* result = PyObject_CallFunction(progress->callable.ptr(), "LL", static_cast<long long>(done_bytes),
                                                 static_cast<long long>(total_bytes));
        // None and True go on; False stops without an exception of its own.
        stop = result == nullptr || result == Py_False;
        Py_XDECREF(result);
    }
    if (PyErr_Occurred() != nullptr) {
        PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
        PyErr_Fetch(&type, &value, &trace);
        PyErr_NormalizeException(&type, &value, &trace);
        Py_XDECREF(type);
        Py_XDECREF(trace);
        progress->raised = value;
    }
    return stop ? 0 : 1;
}

// After a run: what the callback raised, else what the library reported.
void give_back(const Progress& progress, int code, const std::string& message) {
    if (progress.raised != nullptr) {
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(progress.raised)), progress.raised);
        Py_DECREF(progress.raised);
        throw nb::python_error();
    }
    if (code != SPANFFT_OK) {
        fail(code, message);
    }
}

std::string take(char* text) {
    std::string s(text);
    spanfft_free(text);
    return s;
}

Extents front(const int64_t* values, int n) { return Extents(values, values + n); }

class PyPlan {
  public:
    PyPlan(spanfft_plan* plan, bool on_ranks) : plan_(plan), on_ranks_(on_ranks) {}
    ~PyPlan() {
        if (!on_ranks_) {
            free();
        }
    }
    PyPlan(const PyPlan&) = delete;
    PyPlan& operator=(const PyPlan&) = delete;

    void free() {
        nb::gil_scoped_release no_gil;
        const std::scoped_lock lock(mutex_);
        spanfft_plan_free(plan_);
        plan_ = nullptr;
    }

    bool freed() const { return plan_ == nullptr; }

    spanfft_plan* get() const {
        if (plan_ == nullptr) {
            fail(SPANFFT_INVALID_ARGUMENT, "the plan was freed; make a new one");
        }
        return plan_;
    }

    void execute(nb::handle in, nb::handle out) {
        spanfft_plan* plan = get();
        const Buffer source(in, spanfft_plan_input_bytes(plan), false, "the input");
        const Buffer target(out, spanfft_plan_output_bytes(plan), true, "the output");
        nb::gil_scoped_release no_gil;
        const std::scoped_lock lock(mutex_);
        check(spanfft_execute(get(), source.data(), target.data()));
    }

    void transform_file(const std::string& input, int64_t offset_bytes, const std::string& output, nb::bytes header,
                        const std::vector<std::string>& scratch, nb::object callable) {
        spanfft_plan* plan = get();
        std::vector<const char*> folders;
        for (const std::string& folder : scratch) folders.push_back(folder.c_str());
        Progress progress{std::move(callable)};
        int code = SPANFFT_OK;
        std::string message;
        {
            nb::gil_scoped_release no_gil;
            const std::scoped_lock lock(mutex_);
            code = spanfft_plan_set_scratch(plan, static_cast<int>(folders.size()), folders.data());
            if (code == SPANFFT_OK) {
                code =
                    spanfft_transform_file(plan, input.c_str(), offset_bytes, output.c_str(), header.c_str(),
                                           static_cast<int64_t>(header.size()), nullptr, &progress_callback, &progress);
            }
            if (code != SPANFFT_OK) {
                message = spanfft_last_error();
            }
        }
        give_back(progress, code, message);
    }

    // Where this rank's own output lies; 0 if the plan owns none.
    uintptr_t output_address() const { return reinterpret_cast<uintptr_t>(spanfft_plan_output_array(get())); }

    Part part(int (*query)(const spanfft_plan*, spanfft_part*)) const {
        spanfft_part p{};
        p.size = sizeof p;
        check(query(get(), &p));
        int64_t shape[SPANFFT_MAX_NDIM];
        const int ndim = spanfft_plan_input_shape(get(), shape);
        return {front(p.start, ndim), front(p.count, ndim), front(p.step, ndim)};
    }
    Part input_part() const { return part(&spanfft_plan_input_part); }
    Part output_part() const { return part(&spanfft_plan_output_part); }

    Extents shape(int (*query)(const spanfft_plan*, int64_t*)) const {
        int64_t s[SPANFFT_MAX_NDIM];
        const int ndim = query(get(), s);
        return front(s, ndim);
    }
    Extents input_shape() const { return shape(&spanfft_plan_input_shape); }
    Extents output_shape() const { return shape(&spanfft_plan_output_shape); }

    std::string text(int (*query)(const spanfft_plan*, char**)) const {
        char* s = nullptr;
        check(query(get(), &s));
        return take(s);
    }

    nb::object predicted(int index, int rank) const {
        spanfft_counts counts{};
        counts.size = sizeof counts;
        check(spanfft_plan_predicted(get(), index, rank, &counts));
        return counts_dict(counts);
    }

    // None for lines that are not counted, and before the first run.
    nb::object counted(int index) const {
        spanfft_counts counts{};
        counts.size = sizeof counts;
        if (spanfft_plan_counted(get(), index, &counts) != SPANFFT_OK) {
            return nb::none();
        }
        return counts_dict(counts);
    }

    nb::list steps(int rank) const {
        nb::list lines;
        const int n = spanfft_plan_steps(get());
        for (int i = 0; i < n; ++i) {
            spanfft_step step{};
            step.size = sizeof step;
            check(spanfft_plan_step(get(), i, &step));
            nb::dict line;
            line["depth"] = step.depth;
            line["type"] = step.type;
            line["description"] = step.description;
            line["predicted"] = predicted(i, rank);
            line["counted"] = counted(i);
            lines.append(line);
        }
        return lines;
    }

    void trace_start(int64_t max_events) {
        nb::gil_scoped_release no_gil;
        const std::scoped_lock lock(mutex_);
        check(spanfft_plan_trace_start(get(), max_events));
    }
    void trace_stop() {
        const std::scoped_lock lock(mutex_);
        check(spanfft_plan_trace_stop(get()));
    }
    nb::dict trace_info() const {
        spanfft_trace_info info{};
        info.size = sizeof info;
        check(spanfft_plan_trace_info(get(), &info));
        nb::dict d;
        d["events"] = info.events;
        d["dropped"] = info.dropped;
        d["clock_offset_ns"] = info.clock_offset_ns;
        d["clock_accuracy_ns"] = info.clock_accuracy_ns;
        return d;
    }
    // (name, category, track, step, start_ns, end_ns, bytes, chunk), in the order in which they ended.
    nb::list trace_events() const {
        spanfft_trace_info info{};
        info.size = sizeof info;
        check(spanfft_plan_trace_info(get(), &info));
        nb::list events;
        for (int64_t i = 0; i < info.events; ++i) {
            spanfft_trace_event e{};
            e.size = sizeof e;
            check(spanfft_plan_trace_event(get(), i, &e));
            events.append(nb::make_tuple(e.name, e.category, e.track, e.step, e.start_ns, e.end_ns, e.bytes, e.chunk));
        }
        return events;
    }

    std::vector<std::string> notes() const {
        std::vector<std::string> all;
        const int n = spanfft_plan_notes(get());
        for (int i = 0; i < n; ++i) {
            all.emplace_back(spanfft_plan_note(get(), i));
        }
        return all;
    }

  private:
    spanfft_plan* plan_;
    bool on_ranks_;
    std::mutex mutex_;
};

template <size_t N>
void fill(int64_t (&target)[N], const Extents& values, const char* name) {
    if (values.size() > N) {
        fail(SPANFFT_UNSUPPORTED, std::string(name) + " has " + std::to_string(values.size()) + " entries; at most " +
                                      std::to_string(N) + " are possible");
    }
    std::copy(values.begin(), values.end(), target);
}

spanfft_box make_box(const Box& box) {
    spanfft_box b{};
    fill(b.start, box.first, "the box's start");
    fill(b.count, box.second, "the box's count");
    return b;
}

PyPlan* make_plan(const Extents& shape, const std::vector<int>& axes, const std::vector<int>& kinds, int direction,
                  int precision, int norm, int64_t batch, const Extents& grid, int output,
                  const std::optional<Box>& real_box, const std::optional<Box>& spectrum_box, int threads,
                  const std::optional<std::string>& engine, const std::optional<std::string>& exchange, int effort,
                  bool in_place, bool own_output, int64_t memory_bytes, int layout, double measure_seconds,
                  const std::optional<std::string>& io, const std::optional<std::string>& method, uintptr_t comm) {
    if (shape.size() > SPANFFT_MAX_NDIM || axes.size() > SPANFFT_MAX_NDIM || kinds.size() != axes.size()) {
        fail(SPANFFT_UNSUPPORTED, "an array of " + std::to_string(shape.size()) + " axes; spanfft has plans for 1 to " +
                                      std::to_string(SPANFFT_MAX_NDIM));
    }
    spanfft_problem problem;
    spanfft_problem_init(&problem, static_cast<int>(shape.size()), shape.data());
    problem.naxes = static_cast<int32_t>(axes.size());
    std::copy(axes.begin(), axes.end(), problem.axes);
    std::copy(kinds.begin(), kinds.end(), problem.kinds);
    problem.direction = direction;
    problem.precision = precision;
    problem.norm = norm;
    problem.batch = batch;
    problem.ngrid = static_cast<int32_t>(grid.size());
    fill(problem.grid, grid, "grid");
    problem.output = output;
    spanfft_box real{}, spectrum{};
    if (real_box) {
        real = make_box(*real_box);
        problem.real_box = &real;
    }
    if (spectrum_box) {
        spectrum = make_box(*spectrum_box);
        problem.spectrum_box = &spectrum;
    }
    problem.threads = threads;
    problem.engine = engine ? engine->c_str() : nullptr;
    problem.exchange = exchange ? exchange->c_str() : nullptr;
    problem.effort = effort;
    problem.in_place = in_place ? 1 : 0;
    problem.own_output = own_output ? 1 : 0;
    problem.memory_bytes = memory_bytes;
    problem.layout = layout;
    problem.measure_seconds = measure_seconds;
    problem.io = io ? io->c_str() : nullptr;
    problem.method = method ? method->c_str() : nullptr;
    spanfft_plan* plan = nullptr;
    {
        nb::gil_scoped_release no_gil;
        check(spanfft_plan_create(&problem, reinterpret_cast<spanfft_comm*>(comm), &plan));
    }
    return new PyPlan(plan, comm != 0);
}

std::vector<uint64_t> bit_matrix(const std::string& kind, int bits) {
    std::vector<uint64_t> columns(64);
    check(spanfft_bit_matrix(kind.c_str(), bits, columns.data()));
    columns.resize(static_cast<size_t>(bits));
    return columns;
}

nb::dict permute_dict(const spanfft_permute_report& report) {
    nb::dict d;
    d["sweeps"] = report.sweeps;
    d["rank_phi"] = report.rank_phi;
    d["memoryload_records"] = report.memoryload_records;
    d["block_records"] = report.block_records;
    d["disks"] = report.disks;
    d["predicted_parallel_ios"] = report.predicted_parallel_ios;
    d["counted_parallel_ios"] = report.counted_parallel_ios;
    d["bound"] = report.bound;
    d["memory_bytes"] = report.memory_bytes;
    d["scratch_bytes"] = report.scratch_bytes;
    return d;
}

spanfft_permutation make_permutation(const std::vector<uint64_t>& columns, uint64_t complement, int64_t record_bytes,
                                     int64_t memory_bytes, int64_t block_bytes, bool synchronous, int threads) {
    spanfft_permutation p{};
    p.size = sizeof p;
    p.bits = static_cast<int32_t>(columns.size());
    p.columns = columns.data();
    p.complement = complement;
    p.record_bytes = record_bytes;
    p.memory_bytes = memory_bytes;
    p.block_bytes = block_bytes;
    p.synchronous = synchronous ? 1 : 0;
    p.threads = threads;
    return p;
}

nb::dict permute_plan(const std::vector<uint64_t>& columns, uint64_t complement, int64_t record_bytes,
                      int64_t memory_bytes, int64_t block_bytes, int disks, bool synchronous, int threads) {
    spanfft_permutation permutation =
        make_permutation(columns, complement, record_bytes, memory_bytes, block_bytes, synchronous, threads);
    permutation.disks = disks;
    spanfft_permute_report report{};
    report.size = sizeof report;
    char* text = nullptr;
    check(spanfft_permute_plan(&permutation, &report, &text));
    nb::dict d = permute_dict(report);
    d["plan"] = take(text);
    return d;
}

nb::dict permute_file(const std::vector<uint64_t>& columns, uint64_t complement, int64_t record_bytes,
                      int64_t memory_bytes, int64_t block_bytes, bool synchronous, int threads,
                      const std::string& input, int64_t offset_bytes, const std::string& output, nb::bytes header,
                      const std::vector<std::string>& scratch, nb::object callable) {
    const spanfft_permutation permutation =
        make_permutation(columns, complement, record_bytes, memory_bytes, block_bytes, synchronous, threads);
    std::vector<const char*> folders;
    for (const std::string& folder : scratch) folders.push_back(folder.c_str());
    spanfft_permute_report report{};
    report.size = sizeof report;
    Progress progress{std::move(callable)};
    int code = SPANFFT_OK;
    std::string message;
    {
        nb::gil_scoped_release no_gil;
        code = spanfft_permute_file(&permutation, input.c_str(), offset_bytes, output.c_str(), header.c_str(),
                                    static_cast<int64_t>(header.size()), static_cast<int>(folders.size()),
                                    folders.data(), &progress_callback, &progress, &report);
        if (code != SPANFFT_OK) {
            message = spanfft_last_error();
        }
    }
    give_back(progress, code, message);
    return permute_dict(report);
}

PyPlan* parse_plan(const std::string& text, uintptr_t comm) {
    spanfft_plan* plan = nullptr;
    {
        nb::gil_scoped_release no_gil;
        check(spanfft_plan_parse(text.c_str(), reinterpret_cast<spanfft_comm*>(comm), &plan));
    }
    return new PyPlan(plan, comm != 0);
}

PyPlan* imagine_plan(const std::string& text, const std::optional<std::string>& machine) {
    spanfft_plan* plan = nullptr;
    {
        nb::gil_scoped_release no_gil;
        check(machine ? spanfft_plan_imagine_on(text.c_str(), machine->c_str(), &plan)
                      : spanfft_plan_imagine(text.c_str(), &plan));
    }
    return new PyPlan(plan, false);
}

std::string probe(uintptr_t comm, double seconds, bool quick, bool store) {
    spanfft_probe_options options{sizeof options, seconds, quick ? 1 : 0, store ? 0 : 1};
    char* machine = nullptr;
    {
        nb::gil_scoped_release no_gil;
        check(spanfft_probe(reinterpret_cast<spanfft_comm*>(comm), &options, &machine));
    }
    return take(machine);
}

std::string text_of(int (*query)(char**)) {
    char* text = nullptr;
    check(query(&text));
    return take(text);
}

nb::list engines() {
    nb::list all;
    const int n = spanfft_engine_count();
    for (int i = 0; i < n; ++i) {
        spanfft_engine engine{};
        engine.size = sizeof engine;
        check(spanfft_engine_info(i, &engine));
        nb::dict d;
        d["name"] = engine.name;
        d["version"] = engine.version;
        d["path"] = engine.path;
        nb::list precisions;
        const char* names[] = {"float", "double", "longdouble"};
        for (int p = SPANFFT_FLOAT; p <= SPANFFT_LONGDOUBLE; ++p) {
            if ((engine.precisions >> p & 1) != 0) {
                precisions.append(names[p]);
            }
        }
        d["precisions"] = precisions;
        all.append(d);
    }
    return all;
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "The C interface of spanfft. Private: use the package.";
    // Modules of this kind live as long as the process, and so do plans that a cache still holds at its end.
    nb::set_leak_warnings(false);

    nb::register_exception_translator([](const std::exception_ptr& p, void*) {
        try {
            std::rethrow_exception(p);
        } catch (const CodedError& e) {
            try {
                nb::object error = nb::module_::import_("spanfft._errors").attr("from_code")(e.code, e.message);
                PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
            } catch (nb::python_error& inner) {
                inner.restore();
            }
        }
    });

    nb::class_<PyPlan>(m, "Plan")
        .def("execute", &PyPlan::execute, "input"_a.none(), "output"_a.none())
        .def("transform_file", &PyPlan::transform_file, "input_path"_a, "input_offset_bytes"_a, "output_path"_a,
             "header"_a, "scratch"_a, "progress"_a.none())
        .def("free", &PyPlan::free)
        .def_prop_ro("freed", &PyPlan::freed)
        .def_prop_ro("output_address", &PyPlan::output_address)
        .def_prop_ro("input_part", &PyPlan::input_part)
        .def_prop_ro("output_part", &PyPlan::output_part)
        .def_prop_ro("input_shape", &PyPlan::input_shape)
        .def_prop_ro("output_shape", &PyPlan::output_shape)
        .def_prop_ro("input_bytes", [](const PyPlan& p) { return spanfft_plan_input_bytes(p.get()); })
        .def_prop_ro("output_bytes", [](const PyPlan& p) { return spanfft_plan_output_bytes(p.get()); })
        .def_prop_ro("problem", [](const PyPlan& p) { return p.text(&spanfft_plan_problem); })
        .def_prop_ro("solver", [](const PyPlan& p) { return std::string(spanfft_plan_solver(p.get())); })
        .def_prop_ro("engines", [](const PyPlan& p) { return std::string(spanfft_plan_engines(p.get())); })
        .def_prop_ro("io", [](const PyPlan& p) { return p.text(&spanfft_plan_io); })
        .def_prop_ro("rank", [](const PyPlan& p) { return spanfft_plan_rank(p.get()); })
        .def_prop_ro("ranks", [](const PyPlan& p) { return spanfft_plan_ranks(p.get()); })
        .def_prop_ro("sweeps", [](const PyPlan& p) { return spanfft_plan_sweeps(p.get()); })
        .def_prop_ro("scratch_bytes", [](const PyPlan& p) { return spanfft_plan_scratch_bytes(p.get()); })
        .def_prop_ro("notes", &PyPlan::notes)
        .def(
            "peak_memory_bytes",
            [](const PyPlan& p, int rank) { return spanfft_plan_peak_memory_bytes(p.get(), rank); }, "rank"_a = -1)
        .def("trace_start", &PyPlan::trace_start, "max_events"_a = 0)
        .def("trace_stop", &PyPlan::trace_stop)
        .def("trace_info", &PyPlan::trace_info)
        .def("trace_events", &PyPlan::trace_events)
        .def("explain", [](const PyPlan& p) { return p.text(&spanfft_plan_explain); })
        .def("steps", &PyPlan::steps, "rank"_a = -1)
        .def("predicted", &PyPlan::predicted, "index"_a = -1, "rank"_a = -1)
        .def("counted", &PyPlan::counted, "index"_a = -1);

    m.def("plan", &make_plan, nb::rv_policy::take_ownership, "shape"_a, "axes"_a, "kinds"_a, nb::kw_only(),
          "direction"_a, "precision"_a, "norm"_a, "batch"_a = 1, "grid"_a = Extents{}, "output"_a = 0,
          "real_box"_a.none() = nb::none(), "spectrum_box"_a.none() = nb::none(), "threads"_a = 0,
          "engine"_a.none() = nb::none(), "exchange"_a.none() = nb::none(), "effort"_a = 0, "in_place"_a = false,
          "own_output"_a = false, "memory_bytes"_a = 0, "layout"_a = 0, "measure_seconds"_a = 0.0,
          "io"_a.none() = nb::none(), "method"_a.none() = nb::none(), "comm"_a = 0);
    m.def("bit_matrix", &bit_matrix, "kind"_a, "bits"_a);
    m.def("permute_plan", &permute_plan, "columns"_a, nb::kw_only(), "complement"_a, "record_bytes"_a, "memory_bytes"_a,
          "block_bytes"_a, "disks"_a, "synchronous"_a, "threads"_a);
    m.def("permute_file", &permute_file, "columns"_a, nb::kw_only(), "complement"_a, "record_bytes"_a, "memory_bytes"_a,
          "block_bytes"_a, "synchronous"_a, "threads"_a, "input_path"_a, "input_offset_bytes"_a, "output_path"_a,
          "header"_a, "scratch"_a, "progress"_a.none());
    m.def("parse", &parse_plan, nb::rv_policy::take_ownership, "problem"_a, "comm"_a = 0);
    m.def("imagine", &imagine_plan, nb::rv_policy::take_ownership, "problem"_a, "machine"_a.none() = nb::none());
    m.def("probe", &probe, nb::kw_only(), "comm"_a = 0, "seconds"_a = 0.0, "quick"_a = false, "store"_a = true);
    m.def("tuning_path", [] { return text_of(&spanfft_tuning_path); });
    m.def("tuning_export", [] { return text_of(&spanfft_tuning_export); });
    m.def(
        "tuning_import",
        [](const std::string& text) {
            int added = 0;
            check(spanfft_tuning_import(text.c_str(), &added));
            return added;
        },
        "text"_a);
    m.def(
        "tuning_forget",
        [](const std::optional<std::string>& problem) {
            int removed = 0;
            check(spanfft_tuning_forget(problem ? problem->c_str() : nullptr, &removed));
            return removed;
        },
        "problem"_a.none());
    m.def(
        "canonical",
        [](const std::string& text) {
            char* canonical = nullptr;
            check(spanfft_problem_canonical(text.c_str(), &canonical));
            return take(canonical);
        },
        "problem"_a);
    m.def("engines", &engines);
    m.def(
        "disk_io",
        [](const std::optional<std::string>& io) {
            char* text = nullptr;
            check(spanfft_disk_io(io ? io->c_str() : nullptr, &text));
            return take(text);
        },
        "io"_a.none() = nb::none());
    m.def("engine_search", [](const std::string& folder) { check(spanfft_engine_search(folder.c_str())); }, "folder"_a);
    m.def("version", [] { return std::string(spanfft_version()); });
    m.def(
        "comm_free",
        [](uintptr_t comm) {
            nb::gil_scoped_release no_gil;
            spanfft_comm_free(reinterpret_cast<spanfft_comm*>(comm));
        },
        "comm"_a);
    m.attr("max_ndim") = SPANFFT_MAX_NDIM;
}
