// Plans: spanfft_plan as the class Plan, and the two ways to make one.
//
// Method: every call that may take long releases the GIL. Arrays come in through the buffer protocol, so this module
// needs no NumPy, and a file transform starts without it.
// Invariants: one plan is executed by one thread at a time (a mutex per plan). A plan on ranks is freed only by free(),
// which is collective; the garbage collector, which runs when it likes on each rank, only leaks it.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "binding.hpp"
#include "block_callback.hpp"
#include "box_callback.hpp"
#include "contiguous_buffer.hpp"
#include "run_progress.hpp"

namespace spanfft::python {

namespace {

using Box = std::pair<Extents, Extents>;             // start, count
using Part = std::tuple<Extents, Extents, Extents>;  // start, count, step

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

    // code and message: why this rank can't take part, if so. What is found here is told to the other ranks too.
    void execute(nb::handle in, nb::handle out, int code, std::string message) {
        spanfft_plan* plan = get();
        std::optional<Buffer> source, target;
        try {
            if (code == SPANFFT_OK) source.emplace(in, spanfft_plan_input_bytes(plan), false, "the input");
            if (code == SPANFFT_OK) target.emplace(out, spanfft_plan_output_bytes(plan), true, "the output");
        } catch (const CodedError& error) {
            code = error.code, message = error.message;
        } catch (const nb::python_error& error) {
            code = SPANFFT_INVALID_ARGUMENT, message = error.what();
        }
        nb::gil_scoped_release no_gil;
        const std::scoped_lock lock(mutex_);
        check(spanfft_execute_unless(get(), source ? source->data() : nullptr, target ? target->data() : nullptr, code,
                                     message.c_str()));
    }

    void transform_file(const std::string& input, int64_t offset_bytes, const std::string& output, nb::bytes header,
                        const std::vector<std::string>& scratch, nb::object callable, nb::object read, nb::object write,
                        bool packed_input, bool packed_output, nb::object on_input, nb::object on_output,
                        const std::tuple<size_t, size_t, size_t>& elem_bytes, int journal, bool checksums,
                        bool in_place, const std::string& input_identity, const std::string& output_identity,
                        nb::object finish, const std::string& callback_name) {
        spanfft_plan* plan = get();
        const auto [read_bytes, computed_bytes, stored_bytes] = elem_bytes;
        BlockCalls calls{std::move(on_input), std::move(on_output), read_bytes, computed_bytes, stored_bytes};
        spanfft_block_callbacks callbacks{};
        callbacks.size = sizeof callbacks;
        callbacks.on_input = calls.on_input.is_none() ? nullptr : &give_input_block;
        callbacks.on_output = calls.on_output.is_none() ? nullptr : &give_output_block;
        callbacks.user = &calls;
        callbacks.name = callback_name.c_str();
        const std::vector<const char*> folders = pointers(scratch);
        Progress progress{std::move(callable)};
        PyObject* box_raised = nullptr;  // not progress', which would then say stop before the library has the reason
        BoxCallback reader{std::move(read), 0, 0, PyBUF_WRITE, &box_raised},
            writer{std::move(write), 0, 0, PyBUF_READ, &box_raised};
        spanfft_store source{}, target{};
        source.size = target.size = sizeof(spanfft_store);
        source.path = input.c_str();
        source.offset_bytes = offset_bytes;
        source.packed = packed_input ? 1 : 0;
        source.transfer = reader.function();
        source.user = &reader;
        target.path = output.c_str();
        target.header = header.c_str();
        target.header_bytes = static_cast<int64_t>(header.size());
        target.packed = packed_output ? 1 : 0;
        target.transfer = writer.function();
        target.user = &writer;
        writer.finish = std::move(finish);
        target.finish = writer.finish_function();
        source.identity = input_identity.c_str();
        target.identity = output_identity.c_str();
        reader.ndim = writer.ndim = static_cast<int>(input_shape().size());
        reader.elem_bytes = static_cast<int64_t>(read_bytes);
        writer.elem_bytes = static_cast<int64_t>(stored_bytes);
        int code = SPANFFT_OK;
        std::string message;
        {
            nb::gil_scoped_release no_gil;
            const std::scoped_lock lock(mutex_);
            code = spanfft_plan_set_scratch(plan, static_cast<int>(folders.size()), folders.data());
            if (code == SPANFFT_OK) code = spanfft_plan_set_journal(plan, journal, checksums ? 1 : 0);
            if (code == SPANFFT_OK) {
                code = spanfft_plan_set_callbacks(plan, &callbacks);
            }
            if (code == SPANFFT_OK && in_place) {
                code =
                    spanfft_transform_in_place(plan, source.path, offset_bytes, nullptr, &progress_callback, &progress);
            } else if (code == SPANFFT_OK) {
                code = spanfft_transform_stores(plan, &source, &target, nullptr, &progress_callback, &progress);
            }
            if (code != SPANFFT_OK) {
                message = spanfft_last_error();
            }
            spanfft_plan_set_callbacks(plan, nullptr);
        }
        if (progress.raised == nullptr)
            std::swap(progress.raised, box_raised);
        else
            Py_XDECREF(box_raised);
        give_back(progress, code, message, nb::steal(calls.raised));
    }

    int64_t resumed_bytes() const { return spanfft_plan_resumed_bytes(get()); }

    // Where this rank's own output, or input, lies; 0 if the plan owns none.
    uintptr_t output_address() const { return reinterpret_cast<uintptr_t>(spanfft_plan_output_array(get())); }
    uintptr_t input_address() const { return reinterpret_cast<uintptr_t>(spanfft_plan_input_array(get())); }

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

    // None for a step that does nothing; a share is None where there is no time to compare with.
    nb::object limit(int index, int rank) const {
        spanfft_limit found{};
        found.size = sizeof found;
        check(spanfft_plan_limit(get(), index, rank, &found));
        if (found.seconds <= 0) return nb::none();
        spanfft_counts predicted{}, counted{};
        predicted.size = counted.size = sizeof predicted;
        check(spanfft_plan_predicted(get(), index, rank, &predicted));
        const bool own = rank < 0 || rank == spanfft_plan_rank(get());
        const bool ran = own && spanfft_plan_counted(get(), index, &counted) == SPANFFT_OK;
        const auto share = [&](double seconds) -> nb::object {
            return seconds > 0 ? nb::object(nb::float_(found.seconds / seconds)) : nb::object(nb::none());
        };
        nb::dict d;
        d["name"] = found.name;
        d["seconds"] = found.seconds;
        d["predicted_share"] = share(predicted.seconds);
        d["measured_share"] = share(ran ? counted.seconds : 0);
        return d;
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
            line["description"] = std::string(step.description);
            line["predicted"] = predicted(i, rank);
            line["counted"] = counted(i);
            line["limit"] = limit(i, rank);
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

// From a problem string, and this rank's own boxes where the string has none.
PyPlan* make_plan(const std::string& text, uintptr_t comm, const std::optional<Box>& real_box,
                  const std::optional<Box>& spectrum_box, const PyPlan* undone) {
    spanfft_box real{}, spectrum{};
    if (real_box) real = make_box(*real_box);
    if (spectrum_box) spectrum = make_box(*spectrum_box);
    spanfft_plan* plan = nullptr;
    {
        nb::gil_scoped_release no_gil;
        check(spanfft_plan_parse_undoing(text.c_str(), real_box ? &real : nullptr, spectrum_box ? &spectrum : nullptr,
                                         reinterpret_cast<spanfft_comm*>(comm), undone ? undone->get() : nullptr,
                                         &plan));
    }
    return new PyPlan(plan, comm != 0);
}

PyPlan* imagine_plan(const std::string& text, const std::optional<std::string>& machine, int ranks_per_node) {
    spanfft_plan* plan = nullptr;
    {
        nb::gil_scoped_release no_gil;
        check(spanfft_plan_imagine_nodes(text.c_str(), machine ? machine->c_str() : nullptr, ranks_per_node, &plan));
    }
    return new PyPlan(plan, false);
}

}  // namespace

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

nb::object plan_object(spanfft_plan* plan) { return nb::cast(new PyPlan(plan, false), nb::rv_policy::take_ownership); }

spanfft_plan* handle_of(nb::handle plan) { return nb::cast<const PyPlan&>(plan).get(); }

void bind_plans(nb::module_& m) {
    nb::class_<PyPlan>(m, "Plan")
        .def("execute", &PyPlan::execute, "input"_a.none(), "output"_a.none(), "code"_a = 0, "message"_a = "")
        .def("transform_file", &PyPlan::transform_file, "input_path"_a, "input_offset_bytes"_a, "output_path"_a,
             "header"_a, "scratch"_a, "progress"_a.none(), nb::kw_only(), "read"_a.none() = nb::none(),
             "write"_a.none() = nb::none(), "packed_input"_a = false, "packed_output"_a = false,
             "on_input"_a.none() = nb::none(), "on_output"_a.none() = nb::none(),
             "elem_bytes"_a = std::tuple<size_t, size_t, size_t>(), "journal"_a = 0, "checksums"_a = true,
             "in_place"_a = false, "input_identity"_a = "", "output_identity"_a = "", "finish"_a.none() = nb::none(),
             "callback_name"_a = "")
        .def_prop_ro("resumed_bytes", &PyPlan::resumed_bytes)
        .def("free", &PyPlan::free)
        .def_prop_ro("freed", &PyPlan::freed)
        .def_prop_ro("output_address", &PyPlan::output_address)
        .def_prop_ro("input_address", &PyPlan::input_address)
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

    m.def("plan", &make_plan, nb::rv_policy::take_ownership, "problem"_a, "comm"_a = 0,
          "real_box"_a.none() = nb::none(), "spectrum_box"_a.none() = nb::none(), "undone"_a.none() = nb::none());
    m.def("imagine", &imagine_plan, nb::rv_policy::take_ownership, "problem"_a, "machine"_a.none() = nb::none(),
          "ranks_per_node"_a = 0);
}

}  // namespace spanfft::python
