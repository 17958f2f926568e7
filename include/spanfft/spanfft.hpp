// spanfft for C++17 and later: RAII over the C interface, header only.
//
//     spanfft::Problem problem({256, 256, 256});
//     problem.kind(SPANFFT_R2C).precision(SPANFFT_FLOAT);
//     spanfft::Plan plan(problem, comm);                      // or without comm: this process alone
//     std::vector<float> in(plan.input_elems());
//     std::vector<std::complex<float>> out(plan.output_elems());
//     plan.execute(in, out);
//
// What the C interface reports as a code is thrown as spanfft::Error, on all ranks alike. For MPI include
// spanfft/spanfft_mpi.h before this header, link libspanfft_mpi, and make a spanfft::Comm from an MPI_Comm.
// The classes live in an inline namespace of their own, so that they never meet the library's inner ones when
// linked; a file that includes headers of src/ can't include this one.
#ifndef SPANFFT_HPP
#define SPANFFT_HPP

#include <algorithm>
#include <complex>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "spanfft/spanfft.h"
#include "spanfft/views.hpp"

namespace spanfft {
inline namespace api {

class Error : public std::runtime_error {
  public:
    Error(int code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
    int code() const noexcept { return code_; }  // SPANFFT_INVALID_ARGUMENT, ...

  private:
    int code_;
};

namespace detail {

inline void check(int code) {
    if (code != SPANFFT_OK) throw Error(code, spanfft_last_error());
}

// A string that the C interface allocated.
template <class Call>
std::string take_text(Call call) {
    char* text = nullptr;
    check(call(&text));
    const std::unique_ptr<char, void (*)(void*)> owner(text, [](void* memory) { spanfft_free(memory); });
    if (!text) throw Error(SPANFFT_OUT_OF_MEMORY, "memory ran out while a text was copied");
    return text;
}

inline std::int64_t elems(const spanfft_part& part, int ndim) {
    std::int64_t n = 1;
    for (int i = 0; i < ndim; ++i) n *= part.count[i];
    return n;
}

}  // namespace detail

// The ranks that a plan is made for. Default: this process alone. Collective to make, copy not at all, and destroy.
class Comm {
  public:
    Comm() = default;
    explicit Comm(spanfft_comm* owned) : handle_(owned) {}
#ifdef SPANFFT_MPI_H
    explicit Comm(MPI_Comm mpi_comm) {
        spanfft_comm* made = nullptr;
        detail::check(spanfft_comm_from_mpi(mpi_comm, &made));
        handle_.reset(made);
    }
#endif
    spanfft_comm* get() const noexcept { return handle_.get(); }

  private:
    struct Free {
        void operator()(spanfft_comm* comm) const noexcept { spanfft_comm_free(comm); }
    };
    std::unique_ptr<spanfft_comm, Free> handle_;
};

// What to transform, built step by step. Every setter returns *this. Values are checked when a plan is made.
class Problem {
  public:
    explicit Problem(const std::vector<std::int64_t>& shape) {
        const auto ndim = static_cast<int>(shape.size());
        spanfft_problem_init(&c_, ndim, shape.data());  // more than six axes are refused when planned
        if (ndim > SPANFFT_MAX_NDIM)
            throw Error(SPANFFT_INVALID_ARGUMENT, "the shape has " + std::to_string(ndim) + " axes; use 1 to 6");
    }
    // One kind for all axes: c2c or a DCT/DST; r2c halves the last transformed axis, the others are c2c.
    Problem& kind(int kind) {
        all_kinds_ = kind;
        return *this;
    }
    Problem& axes(const std::vector<int>& axes) {
        fill(axes, c_.axes, "axes");
        c_.naxes = static_cast<std::int32_t>(axes.size());
        return *this;
    }
    Problem& kinds(const std::vector<int>& kinds) {  // one for each transformed axis
        fill(kinds, c_.kinds, "kinds");
        all_kinds_ = -1;
        return *this;
    }
    Problem& backward() { return set(&spanfft_problem::direction, SPANFFT_BACKWARD); }
    Problem& direction(int direction) { return set(&spanfft_problem::direction, direction); }
    Problem& precision(int precision) { return set(&spanfft_problem::precision, precision); }
    Problem& norm(int norm) { return set(&spanfft_problem::norm, norm); }
    Problem& batch(std::int64_t batch) {
        c_.batch = batch;
        return *this;
    }
    Problem& kept(const std::vector<std::int64_t>& modes) {  // of the spectrum, along each axis
        fill(modes, c_.kept, "kept");
        return *this;
    }
    Problem& grid(const std::vector<std::int64_t>& grid) {
        fill(grid, c_.grid, "grid");
        c_.ngrid = static_cast<std::int32_t>(grid.size());
        return *this;
    }
    Problem& layout(int layout) { return set(&spanfft_problem::layout, layout); }
    Problem& output(int output) { return set(&spanfft_problem::output, output); }
    Problem& real_box(const spanfft_box& box) {  // this rank's
        real_box_ = box;
        has_real_box_ = true;
        return *this;
    }
    Problem& spectrum_box(const spanfft_box& box) {
        spectrum_box_ = box;
        has_spectrum_box_ = true;
        return *this;
    }
    Problem& threads(int threads) { return set(&spanfft_problem::threads, threads); }
    Problem& engine(std::string name) {
        engine_ = std::move(name);
        return *this;
    }
    Problem& method(std::string name) {  // "two_sweeps", "superlevels:sync", ...
        method_ = std::move(name);
        return *this;
    }
    Problem& exchange(std::string name) {
        exchange_ = std::move(name);
        return *this;
    }
    Problem& io(std::string name) {  // "uring", "threads"
        io_ = std::move(name);
        return *this;
    }
    Problem& scale(double factor) {  // of the output, besides norm
        c_.scale = factor;
        return *this;
    }
    // Of files; see docs/howto/fused.md.
    Problem& window(std::string name) {  // "hann", "kaiser:8.6", ...
        window_ = std::move(name);
        return *this;
    }
    Problem& store(std::string type) {  // "float32", "complex64", ...
        store_ = std::move(type);
        return *this;
    }
    Problem& load(std::string format) {  // "i2", ">f4", "u1", "f2", ...: what the input file holds
        load_ = std::move(format);
        return *this;
    }
    Problem& power() { return set(&spanfft_problem::power, 1); }
    Problem& reads_once() { return set(&spanfft_problem::reads_once, 1); }
    // The input, or the output, is behind Store::transfer, in chunks of so many elements an axis.
    Problem& input_chunk(const std::vector<std::int64_t>& chunk) {
        fill(chunk, c_.input_chunk, "input_chunk");
        return *this;
    }
    Problem& output_chunk(const std::vector<std::int64_t>& chunk) {
        fill(chunk, c_.output_chunk, "output_chunk");
        return *this;
    }
    // Of several ranks, rank 0 alone writes that output.
    Problem& one_writer() { return set(&spanfft_problem::one_writer, 1); }
    Problem& measure() { return set(&spanfft_problem::effort, SPANFFT_MEASURE); }
    // The plan owns the output: see Plan::output_array.
    Problem& own_output() { return set(&spanfft_problem::own_output, 1); }
    // The plan owns the input: see Plan::input_array.
    Problem& own_input() { return set(&spanfft_problem::own_input, 1); }
    // Measures for about so many seconds, unless results are stored; tune() measures in any case.
    Problem& measure(double seconds) {
        c_.measure_seconds = seconds;
        return measure();
    }
    Problem& tune(double seconds = 0) {
        c_.measure_seconds = seconds;
        return set(&spanfft_problem::effort, SPANFFT_TUNE);
    }
    Problem& in_place() { return set(&spanfft_problem::in_place, 1); }
    Problem& disks(int disks) {
        return set(&spanfft_problem::disks, disks);
    }  // folders that Plan::set_scratch will name
    Problem& memory_bytes(std::int64_t bytes) {
        c_.memory_bytes = bytes;
        return *this;
    }

    // The C struct; points into this object.
    spanfft_problem c() const {
        spanfft_problem copy = c_;
        const int n = copy.naxes ? copy.naxes : copy.ndim;
        for (int i = 0; all_kinds_ >= 0 && i < n && i < SPANFFT_MAX_NDIM; ++i) {
            copy.kinds[i] = all_kinds_ == SPANFFT_R2C && i + 1 < n ? static_cast<int>(SPANFFT_C2C) : all_kinds_;
        }
        copy.real_box = has_real_box_ ? &real_box_ : nullptr;
        copy.spectrum_box = has_spectrum_box_ ? &spectrum_box_ : nullptr;
        copy.engine = engine_.empty() ? nullptr : engine_.c_str();
        copy.exchange = exchange_.empty() ? nullptr : exchange_.c_str();
        copy.io = io_.empty() ? nullptr : io_.c_str();
        copy.method = method_.empty() ? nullptr : method_.c_str();
        copy.window = window_.empty() ? nullptr : window_.c_str();
        copy.store = store_.empty() ? nullptr : store_.c_str();
        copy.load = load_.empty() ? nullptr : load_.c_str();
        return copy;
    }
    std::string print(int ranks = 1) const {
        const spanfft_problem problem = c();
        return detail::take_text([&](char** text) { return spanfft_problem_print(&problem, ranks, text); });
    }

  private:
    Problem& set(std::int32_t spanfft_problem::* field, int value) {
        c_.*field = value;
        return *this;
    }
    template <class From, class To>
    static void fill(const std::vector<From>& from, To (&to)[SPANFFT_MAX_NDIM], const char* what) {
        if (from.size() > SPANFFT_MAX_NDIM) {
            throw Error(SPANFFT_INVALID_ARGUMENT,
                        std::string(what) + " has " + std::to_string(from.size()) + " entries; use at most 6");
        }
        for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<To>(from[i]);
    }

    spanfft_problem c_{};
    int all_kinds_ = SPANFFT_C2C;
    spanfft_box real_box_{}, spectrum_box_{};
    bool has_real_box_ = false, has_spectrum_box_ = false;
    std::string engine_, exchange_, io_, method_, window_, store_, load_;
};

// Where an array lies: in a file, or behind a function; see spanfft_store.
struct Store {
    // Moves a box of the array to or from data; see spanfft_box_transfer. An exception ends the run: an Error as it is,
    // any other as SPANFFT_CALLBACK_FAILED with its what().
    using Transfer = std::function<void(const std::int64_t* first, const std::int64_t* extent, void* data)>;

    std::string path;               // a file; for a function a name, see spanfft_store.path
    std::int64_t offset_bytes = 0;  // input file: where the array starts
    std::string header;             // output file: goes before the array
    bool packed = false;            // file: a half spectrum of even n in n/2 numbers
    Transfer transfer;              // empty: a file. Needs Problem::input_chunk (output_chunk)
    // With transfer, for a journal: see spanfft_store.identity. Of an output: called when every box was written; what
    // it throws ends the run as what transfer throws does.
    std::string identity;
    std::function<void()> finish;

    // The C struct; points into this object.
    spanfft_store c() const {
        spanfft_store store{};
        store.size = sizeof store;
        store.path = path.empty() ? nullptr : path.c_str();
        store.offset_bytes = offset_bytes;
        store.header = header.data();
        store.header_bytes = static_cast<std::int64_t>(header.size());
        store.packed = packed ? 1 : 0;
        if (transfer) store.transfer = &move_box;
        if (transfer && finish) store.finish = &end;
        store.user = const_cast<Store*>(this);
        store.identity = identity.empty() ? nullptr : identity.c_str();
        return store;
    }

  private:
    static int move_box(const std::int64_t* first, const std::int64_t* extent, void* data, void* user) {
        return told([&] { static_cast<const Store*>(user)->transfer(first, extent, data); });
    }
    static int end(void* user) {
        return told([&] { static_cast<const Store*>(user)->finish(); });
    }
    template <class Call>
    static int told(const Call& call) {
        try {
            call();
            return SPANFFT_OK;
        } catch (const Error& error) {
            spanfft_set_error(error.what());
            return error.code();
        } catch (const std::exception& failure) {
            spanfft_set_error(failure.what());
        } catch (...) {
            spanfft_set_error("a function of a store threw an exception");
        }
        return SPANFFT_CALLBACK_FAILED;
    }
};

struct Step {
    int depth;
    std::string type, description;
};

// A plan, made once and executed many times. Making, executing and destroying one on ranks is collective.
class Plan {
  public:
    explicit Plan(const Problem& problem, const Comm& comm = Comm()) {
        const spanfft_problem c = problem.c();
        spanfft_plan* made = nullptr;
        detail::check(spanfft_plan_create(&c, comm.get(), &made));
        adopt(made);
    }
    static Plan parse(const std::string& text, const Comm& comm = Comm()) {
        spanfft_plan* made = nullptr;
        detail::check(spanfft_plan_parse(text.c_str(), comm.get(), &made));
        return Plan(made);
    }
    // The same for a plan that undoes `undone`: what both own is one array (spanfft_plan_parse_undoing).
    static Plan parse_undoing(const Plan& undone, const std::string& text, const Comm& comm = Comm()) {
        spanfft_plan* made = nullptr;
        detail::check(spanfft_plan_parse_undoing(text.c_str(), nullptr, nullptr, comm.get(), undone.get(), &made));
        return Plan(made);
    }
    // A plan of a permutation of records, which transform_file runs (spanfft_plan_permutation).
    static Plan permutation(const spanfft_permutation& permutation) {
        spanfft_plan* made = nullptr;
        detail::check(spanfft_plan_permutation(&permutation, &made));
        return Plan(made);
    }
    // A plan for as many ranks as the text says, ranks_per_node of them on a node (0: 128); it can only be explained.
    static Plan imagine(const std::string& text, int ranks_per_node = 0) {
        spanfft_plan* made = nullptr;
        detail::check(spanfft_plan_imagine_nodes(text.c_str(), nullptr, ranks_per_node, &made));
        return Plan(made);
    }

    // Runs the plan on this rank's parts: any contiguous containers (vector, span, array) of T or std::complex<T>, or
    // both by extents and strides (std::mdspan, View), which are copied where they are not contiguous in C order.
    // A part that is too short, of other extents, or of another type, is refused on all ranks.
    template <class In, class Out>
    void execute(const In& in, Out&& out) const {
        static_assert(detail::by_strides<In> == detail::by_strides<Out>, "give both arrays by extents and strides");
        if constexpr (detail::by_strides<In>) {
            execute_views(detail::as_view(in), detail::as_view(out));
        } else {
            execute_flat(in, out);
        }
    }

  private:
    template <class In, class Out>
    void execute_flat(const In& in, Out&& out) const {
        using InElem = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(in))>>;
        using OutElem = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(out))>>;
        const std::string fault = check_part<InElem>("input", std::size(in), input_elems(), input_bytes()) +
                                  check_part<OutElem>("output", std::size(out), output_elems(), output_bytes());
        const int code = fault.empty() ? SPANFFT_OK : SPANFFT_INVALID_ARGUMENT;
        detail::check(spanfft_execute_unless(get(), std::data(in), std::data(out), code, fault.c_str()));
    }
    template <class In, class Out>
    void execute_views(const View<In>& in, const View<Out>& out) const {
        const std::string fault = check_part<In>("input", in.size(), input_elems(), input_bytes()) +
                                  check_part<Out>("output", out.size(), output_elems(), output_bytes()) +
                                  check_extents("input", in.extents, input_part(), input_elems()) +
                                  check_extents("output", out.extents, output_part(), output_elems());
        const int code = fault.empty() ? SPANFFT_OK : SPANFFT_INVALID_ARGUMENT;
        std::vector<std::remove_cv_t<In>> packed;
        std::vector<Out> result;
        if (fault.empty() && !in.contiguous()) {
            packed.reserve(in.size());
            in.each([&](const In& element) { packed.push_back(element); });
        }
        if (fault.empty() && !out.contiguous()) result.resize(out.size());
        const void* const source = packed.empty() ? static_cast<const void*>(in.data) : packed.data();
        void* const target = result.empty() ? static_cast<void*>(out.data) : result.data();
        detail::check(spanfft_execute_unless(get(), source, target, code, fault.c_str()));
        const Out* next = result.data();
        if (!result.empty()) out.each([&](Out& element) { element = *next++; });
    }

  public:
    // In place: one array, long enough for input and output.
    template <class Array>
    void execute_in_place(Array&& array) const {
        const auto bytes = static_cast<std::int64_t>(std::size(array) * sizeof(*std::data(array)));
        const bool fits = bytes >= input_bytes() && bytes >= output_bytes();
        const std::string fault = "the array has " + std::to_string(bytes) + " bytes; this rank needs more";
        const int code = fits ? SPANFFT_OK : SPANFFT_INVALID_ARGUMENT;
        detail::check(spanfft_execute_unless(get(), std::data(array), std::data(array), code, fault.c_str()));
    }

    // The plan's own output (Problem::own_output), output_elems() long: T is what the plan's output consists of.
    template <class T>
    T* output_array() const {
        return static_cast<T*>(spanfft_plan_output_array(get()));
    }
    // The plan's own input (Problem::own_input), input_elems() long: T is what the plan's input consists of.
    template <class T>
    T* input_array() const {
        return static_cast<T*>(spanfft_plan_input_array(get()));
    }

    // Stripes the scratch of the transforms that follow over these folders; see spanfft_plan_set_scratch.
    void set_scratch(const std::vector<std::string>& folders) {
        std::vector<const char*> names;
        for (const std::string& folder : folders) names.push_back(folder.c_str());
        detail::check(spanfft_plan_set_scratch(get(), static_cast<int>(names.size()), names.data()));
    }
    std::string io() const {
        return detail::take_text([&](char** text) { return spanfft_plan_io(get(), text); });
    }

    // A SPANFFT_JOURNAL_ mode for the transforms that follow; see spanfft_plan_set_journal.
    void set_journal(int mode, bool checksums = true) {
        detail::check(spanfft_plan_set_journal(get(), mode, checksums ? 1 : 0));
    }
    std::int64_t resumed_bytes() const { return spanfft_plan_resumed_bytes(get()); }

    // Sets what is called for each block of the file transforms that follow; see spanfft_block_callbacks. An exception
    // in a callback ends the run on all ranks, as an Error of SPANFFT_CALLBACK_FAILED with its what(). Empty functions
    // are not called. `name` says what the callbacks do, for a journal.
    using BlockCallback = std::function<void(spanfft_block& block)>;
    void set_callbacks(BlockCallback on_input, BlockCallback on_output, bool thread_safe = false,
                       const std::string& name = "") {
        callbacks_ = std::make_unique<Callbacks>(Callbacks{std::move(on_input), std::move(on_output)});
        spanfft_block_callbacks c{};
        c.size = sizeof c;
        if (callbacks_->on_input)
            c.on_input = [](spanfft_block* block, void* user) {
                return call(static_cast<Callbacks*>(user)->on_input, block);
            };
        if (callbacks_->on_output)
            c.on_output = [](spanfft_block* block, void* user) {
                return call(static_cast<Callbacks*>(user)->on_output, block);
            };
        c.user = callbacks_.get();
        c.thread_safe = thread_safe ? 1 : 0;
        c.name = name.c_str();
        detail::check(spanfft_plan_set_callbacks(get(), &c));
    }

    // See spanfft_transform_stores. progress: done and total bytes; false stops the run.
    using Progress = std::function<bool(std::int64_t done_bytes, std::int64_t total_bytes)>;
    void transform_stores(const Store& input, const Store& output, const std::string& scratch_folder = "",
                          Progress progress = nullptr) const {
        Told told{std::move(progress), nullptr};
        const spanfft_store source = input.c(), target = output.c();
        told.check(spanfft_transform_stores(get(), &source, &target,
                                            scratch_folder.empty() ? nullptr : scratch_folder.c_str(), told.function(),
                                            &told));
    }
    // The same from file to file; see spanfft_transform_file.
    void transform_file(const std::string& input_path, const std::string& output_path,
                        std::int64_t input_offset_bytes = 0, const std::string& header = "",
                        const std::string& scratch_folder = "", Progress progress = nullptr) const {
        Store input, output;
        input.path = input_path;
        input.offset_bytes = input_offset_bytes;
        output.path = output_path;
        output.header = header;
        transform_stores(input, output, scratch_folder, std::move(progress));
    }

    // See spanfft_transform_in_place; needs set_journal.
    void transform_in_place(const std::string& path, std::int64_t offset_bytes = 0,
                            const std::string& scratch_folder = "", Progress progress = nullptr) const {
        Told told{std::move(progress), nullptr};
        told.check(spanfft_transform_in_place(get(), path.c_str(), offset_bytes,
                                              scratch_folder.empty() ? nullptr : scratch_folder.c_str(),
                                              told.function(), &told));
    }

  private:
    // A run's progress. An exception in it stops the run, and is thrown again when no request is under way.
    struct Told {
        Progress progress;
        std::exception_ptr thrown;
        static int tell(std::int64_t done, std::int64_t total, void* user) {
            auto* const told = static_cast<Told*>(user);
            try {
                return told->progress(done, total);
            } catch (...) {
                told->thrown = std::current_exception();
                return 0;
            }
        }
        spanfft_progress function() const { return progress ? &tell : nullptr; }
        void check(int code) const {
            if (thrown) std::rethrow_exception(thrown);
            detail::check(code);
        }
    };

  public:
    // This rank's part, the batch included.
    std::size_t input_elems() const { return count(input_part()); }
    std::size_t output_elems() const { return count(output_part()); }
    std::int64_t input_bytes() const { return spanfft_plan_input_bytes(get()); }
    std::int64_t output_bytes() const { return spanfft_plan_output_bytes(get()); }
    spanfft_box input_box() const { return box(spanfft_plan_input_box); }
    spanfft_box output_box() const { return box(spanfft_plan_output_box); }
    spanfft_part input_part() const { return part(spanfft_plan_input_part); }  // in any layout, with steps
    spanfft_part output_part() const { return part(spanfft_plan_output_part); }
    std::vector<std::int64_t> input_shape() const { return shape(spanfft_plan_input_shape); }
    std::vector<std::int64_t> output_shape() const { return shape(spanfft_plan_output_shape); }

    int rank() const { return spanfft_plan_rank(get()); }
    int ranks() const { return spanfft_plan_ranks(get()); }
    std::string solver() const { return spanfft_plan_solver(get()); }
    std::string engines() const { return spanfft_plan_engines(get()); }
    std::string problem() const {
        return detail::take_text([&](char** text) { return spanfft_plan_problem(get(), text); });
    }
    std::string explain() const {
        return detail::take_text([&](char** text) { return spanfft_plan_explain(get(), text); });
    }
    std::vector<Step> steps() const {
        std::vector<Step> all;
        for (int i = 0; i < spanfft_plan_steps(get()); ++i) {
            spanfft_step step{};
            step.size = sizeof step;
            detail::check(spanfft_plan_step(get(), i, &step));
            all.push_back({step.depth, step.type, step.description});
        }
        return all;
    }
    std::vector<std::string> notes() const {
        std::vector<std::string> all;
        for (int i = 0; i < spanfft_plan_notes(get()); ++i) all.emplace_back(spanfft_plan_note(get(), i));
        return all;
    }
    spanfft_counts predicted(int line = -1, int rank = -1) const {
        spanfft_counts counts{};
        counts.size = sizeof counts;
        detail::check(spanfft_plan_predicted(get(), line, rank, &counts));
        return counts;
    }
    spanfft_limit limit(int line, int rank = -1) const {
        spanfft_limit limit{};
        limit.size = sizeof limit;
        detail::check(spanfft_plan_limit(get(), line, rank, &limit));
        return limit;
    }
    spanfft_counts counted(int line = -1) const {
        spanfft_counts counts{};
        counts.size = sizeof counts;
        detail::check(spanfft_plan_counted(get(), line, &counts));
        return counts;
    }
    std::int64_t peak_memory_bytes(int rank = -1) const { return spanfft_plan_peak_memory_bytes(get(), rank); }
    int sweeps() const { return spanfft_plan_sweeps(get()); }
    std::int64_t scratch_bytes() const { return spanfft_plan_scratch_bytes(get()); }

    // Tracing; see spanfft_plan_trace_start, which is collective.
    void trace_start(std::int64_t max_events = 0) const { detail::check(spanfft_plan_trace_start(get(), max_events)); }
    void trace_stop() const { detail::check(spanfft_plan_trace_stop(get())); }
    spanfft_trace_info trace_info() const {
        spanfft_trace_info info{};
        info.size = sizeof info;
        detail::check(spanfft_plan_trace_info(get(), &info));
        return info;
    }
    std::vector<spanfft_trace_event> trace_events() const {  // names live as long as the plan
        std::vector<spanfft_trace_event> all(static_cast<std::size_t>(trace_info().events));
        for (std::size_t i = 0; i < all.size(); ++i) {
            all[i].size = sizeof all[i];
            detail::check(spanfft_plan_trace_event(get(), static_cast<std::int64_t>(i), &all[i]));
        }
        return all;
    }

    spanfft_plan* get() const noexcept { return handle_.get(); }

  private:
    struct Free {
        void operator()(spanfft_plan* plan) const noexcept { spanfft_plan_free(plan); }
    };
    explicit Plan(spanfft_plan* made) { adopt(made); }
    void adopt(spanfft_plan* made) { handle_.reset(made); }

    struct Callbacks {
        BlockCallback on_input, on_output;
    };
    static int call(const BlockCallback& callback, spanfft_block* block) {
        try {
            callback(*block);
            return 0;
        } catch (const std::exception& failure) {
            const std::string sentence = failure.what();
            const std::size_t length = std::min(sentence.size(), sizeof block->message - 1);
            sentence.copy(block->message, length);
            block->message[length] = 0;
        } catch (...) {
            block->message[0] = 0;
        }
        return 1;
    }

    spanfft_box box(int (*query)(const spanfft_plan*, spanfft_box*)) const {
        spanfft_box result{};
        detail::check(query(get(), &result));
        return result;
    }
    spanfft_part part(int (*query)(const spanfft_plan*, spanfft_part*)) const {
        spanfft_part result{};
        result.size = sizeof result;
        detail::check(query(get(), &result));
        return result;
    }
    std::vector<std::int64_t> shape(int (*query)(const spanfft_plan*, std::int64_t*)) const {
        std::int64_t extents[SPANFFT_MAX_NDIM] = {};
        const int ndim = query(get(), extents);
        return std::vector<std::int64_t>(extents, extents + ndim);
    }
    // Elements of a part in all arrays of the batch; the C interface gives the batch only in the problem string.
    std::size_t count(const spanfft_part& part) const {
        const int ndim = spanfft_plan_input_shape(get(), nullptr);
        return static_cast<std::size_t>(detail::elems(part, ndim) * batch());
    }
    std::int64_t batch() const {
        const std::string text = problem();
        const std::size_t at = text.find(" batch=");
        return at == std::string::npos ? 1 : std::stoll(text.substr(at + 7));
    }
    template <class Elem>
    static std::string check_part(const char* what, std::size_t given, std::size_t needed, std::int64_t bytes) {
        if (needed == 0) return "";
        const auto elem_bytes = static_cast<std::size_t>(bytes) / needed;
        if (sizeof(Elem) != elem_bytes) {
            return std::string("elements of the ") + what + " have " + std::to_string(sizeof(Elem)) +
                   " bytes, the plan's have " + std::to_string(elem_bytes) + ". ";
        }
        if (given < needed) {
            return std::string("the ") + what + " has " + std::to_string(given) + " elements, this rank's part has " +
                   std::to_string(needed) + ". ";
        }
        return "";
    }

    // The extents of a part, with the batch before them where there is one.
    std::string check_extents(const char* what, const std::vector<std::int64_t>& given, const spanfft_part& part,
                              std::size_t needed) const {
        const auto ndim = input_shape().size();
        std::vector<std::int64_t> expected(part.count, part.count + ndim);
        const std::int64_t elems = detail::elems(part, static_cast<int>(ndim));
        if (given.size() == ndim + 1 && elems > 0) {
            expected.insert(expected.begin(), static_cast<std::int64_t>(needed) / elems);
        }
        if (given == expected || needed == 0) return "";
        return std::string("the ") + what + " is " + detail::by_x(given) + ", this rank's part is " +
               detail::by_x(expected) + ". ";
    }

    std::unique_ptr<Callbacks> callbacks_;  // where the C interface finds them
    std::unique_ptr<spanfft_plan, Free> handle_;
};

// A rank's part of a plan's real space with its periodic surroundings; see spanfft_halo_create. Collective to make, to
// use and to destroy; it does not need the plan afterwards.
class Halo {
  public:
    // So many elements before and after the part, along each axis.
    Halo(const Plan& plan, const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after) {
        // Widths that are too few are refused on all ranks, as NULL is.
        const std::size_t ndim = plan.input_shape().size();
        const bool enough = before.size() == ndim && after.size() == ndim;
        spanfft_halo* made = nullptr;
        detail::check(
            spanfft_halo_create(plan.get(), enough ? before.data() : nullptr, enough ? after.data() : nullptr, &made));
        handle_.reset(made);
    }
    // Where the extended part begins along each axis (it may be below 0), and how long it is.
    spanfft_part part() const {
        spanfft_part found{};
        found.size = sizeof found;
        detail::check(spanfft_halo_part(handle_.get(), &found));
        return found;
    }
    std::int64_t bytes() const { return spanfft_halo_bytes(handle_.get()); }  // of the extended part, with the batch
    std::int64_t part_bytes() const { return spanfft_halo_part_bytes(handle_.get()); }

    // Between contiguous containers of the plan's element type; what is too short is refused on all ranks, as NULL is.
    template <class Part, class Extended>
    void exchange(const Part& part, Extended&& extended) const {
        detail::check(
            spanfft_halo_exchange(handle_.get(), long_enough(part, part_bytes()), long_enough(extended, bytes())));
    }
    template <class Extended, class Part>
    void add(const Extended& extended, Part&& part) const {
        detail::check(spanfft_halo_add(handle_.get(), long_enough(extended, bytes()), long_enough(part, part_bytes())));
    }
    spanfft_counts predicted(int call) const {  // SPANFFT_HALO_COST_*
        spanfft_counts counts{};
        counts.size = sizeof counts;
        detail::check(spanfft_halo_predicted(handle_.get(), call, &counts));
        return counts;
    }
    spanfft_counts counted() const {  // of the last call
        spanfft_counts counts{};
        counts.size = sizeof counts;
        detail::check(spanfft_halo_counted(handle_.get(), &counts));
        return counts;
    }
    spanfft_halo* get() const noexcept { return handle_.get(); }

  private:
    template <class Array>
    static auto long_enough(Array& array, std::int64_t bytes) -> decltype(std::data(array)) {
        const auto given = static_cast<std::int64_t>(std::size(array) * sizeof(*std::data(array)));
        return given >= bytes ? std::data(array) : nullptr;
    }
    struct Free {
        void operator()(spanfft_halo* halo) const noexcept { spanfft_halo_free(halo); }
    };
    std::unique_ptr<spanfft_halo, Free> handle_;
};

struct Engine {
    std::string name, version, path;
    int precisions;  // bit 1 << SPANFFT_FLOAT etc.
};

inline std::vector<Engine> engines() {
    std::vector<Engine> all;
    for (int i = 0; i < spanfft_engine_count(); ++i) {
        spanfft_engine engine{};
        engine.size = sizeof engine;
        detail::check(spanfft_engine_info(i, &engine));
        all.push_back({engine.name, engine.version, engine.path, engine.precisions});
    }
    return all;
}

inline std::string version() { return spanfft_version(); }

}  // namespace api
}  // namespace spanfft
#endif  // SPANFFT_HPP
