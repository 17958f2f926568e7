// Small calls: numpy's fft functions, and scipy's cosine and sine transforms, for arrays of up to 16384 elements, from
// the plan's key to the result, in C++.
//
// What such a call costs beside the transform is Python: 64 points take 0.1 us, the general way (_calls.py) 20. Here a
// call is compared with those before it (form, shape, type, axes, norm); its plan lies ready, and only the result is
// allocated. Whatever is not a plain call (another type or layout, n= that cuts or pads, an error) is left to the
// general way, which is the only one that raises, and which makes the plans: so both give the same numbers.
// Invariants: all state is guarded by the GIL. A plan that runs is marked, so that a thread that comes while the GIL
// is released takes or makes another; the cache holds at most kMostPlans, the least recently used one leaves first.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "binding.hpp"

namespace spanfft::python {

namespace {

constexpr int64_t kMostElems = 16384;       // beyond, the general way is a smaller part of the call
constexpr size_t kMostPlans = 64;           // 46 MiB where all are as long as they can be
constexpr int64_t kElemsWithoutGil = 2048;  // 10 us: from here on other threads may run meanwhile

// As _calls.py numbers them: c2c, c2c backward, r2c, c2r; hfft and ihfft, which are c2r and r2c of the conjugates, with
// the other direction's norm; then cosine and sine transforms, whose numbers are real.
struct Form {
    bool complex_in = false, complex_out = false, hermitian = false;
    bool c2r() const { return complex_in && !complex_out; }
    bool r2c() const { return !complex_in && complex_out; }
};
constexpr std::array<Form, 6> kFourier = {
    {{true, true}, {true, true}, {false, true}, {true, false}, {true, false, true}, {false, true, true}}};
constexpr int kForms = static_cast<int>(kFourier.size()) + 16;
Form form_of(int number) {
    return number < static_cast<int>(kFourier.size()) ? kFourier[static_cast<size_t>(number)] : Form{};
}

struct Key {
    std::array<int64_t, SPANFFT_MAX_NDIM> shape{};  // of the input
    std::array<int8_t, SPANFFT_MAX_NDIM> axes{};
    int64_t length = 0;  // in real space, of the last of axes
    int8_t form = 0, precision = 0, norm = 0, ndim = 0, naxes = 0;
    bool widened = false;  // the array is real, and the transform's input complex

    bool operator==(const Key&) const = default;
    int last() const { return axes[static_cast<size_t>(naxes - 1)]; }
};

struct Entry {
    Key key;
    nb::object plan;  // of spanfft._core.Plan
    spanfft_plan* handle = nullptr;
    std::vector<char> complex_input;  // of a widened call, or conjugated
    uint64_t used = 0;
    bool runs = false;
};

struct Cache {
    std::vector<std::shared_ptr<Entry>> entries;
    uint64_t clock = 0;
    // Of numpy and of spanfft._calls; kept as long as the process.
    PyTypeObject* ndarray = nullptr;
    PyObject *empty = nullptr, *make_plan = nullptr;
    std::array<std::array<PyObject*, 2>, 3> dtypes{};  // [precision][complex]
};

PyObject* keep(nb::object object) { return object.release().ptr(); }

Cache& cache() {
    static Cache* const made = [] {
        auto* const c = new Cache;  // never freed: the interpreter is gone before static objects are
        const nb::module_ numpy = nb::module_::import_("numpy");
        c->ndarray = reinterpret_cast<PyTypeObject*>(keep(numpy.attr("ndarray")));
        c->empty = keep(numpy.attr("empty"));
        const char* const names[3][2] = {
            {"float32", "complex64"}, {"float64", "complex128"}, {"longdouble", "clongdouble"}};
        for (size_t i = 0; i < 3; ++i) {
            for (size_t j = 0; j < 2; ++j) c->dtypes[i][j] = keep(numpy.attr("dtype")(names[i][j]));
        }
        c->make_plan = keep(nb::module_::import_("spanfft._calls").attr("plan_of_small_call"));
        return c;
    }();
    return *made;
}

class View {
  public:
    View(PyObject* object, int flags) { held_ = PyObject_GetBuffer(object, &view, flags) == 0; }
    ~View() {
        if (held_) PyBuffer_Release(&view);
    }
    View(const View&) = delete;
    View& operator=(const View&) = delete;
    bool ok() const { return held_; }
    Py_buffer view{};

  private:
    bool held_ = false;
};

// 0, 1, 2 for backward (None too), ortho, forward; -1 for what is none of them.
int norm_of(PyObject* norm) {
    if (norm == Py_None) return 0;
    if (!PyUnicode_CheckExact(norm)) return -1;
    constexpr const char* names[] = {"backward", "ortho", "forward"};
    for (int i = 0; i < 3; ++i) {
        if (PyUnicode_CompareWithASCIIString(norm, names[i]) == 0) return i;
    }
    return -1;
}

// An int's value, or `otherwise` for what is no plain, small int.
int64_t small_int(PyObject* value, int64_t otherwise) {
    if (!PyLong_CheckExact(value)) return otherwise;
    int overflow = 0;
    const long long found = PyLong_AsLongLongAndOverflow(value, &overflow);
    return overflow ? otherwise : found;
}

bool add_axis(PyObject* axis, Key& key) {
    constexpr int64_t none = SPANFFT_MAX_NDIM;
    int64_t i = small_int(axis, none);
    if (i < 0) i += key.ndim;
    if (i < 0 || i >= key.ndim || key.naxes == SPANFFT_MAX_NDIM) return false;
    auto* const end = key.axes.begin() + key.naxes;
    if (std::find(key.axes.begin(), end, static_cast<int8_t>(i)) != end) return false;
    key.axes[static_cast<size_t>(key.naxes++)] = static_cast<int8_t>(i);
    return true;
}

// A number; or of several axes: None (all) or a tuple.
bool take_axes(PyObject* axes, bool several, Key& key) {
    if (!several) return add_axis(axes, key);
    if (axes == Py_None) {
        for (int i = 0; i < key.ndim; ++i) key.axes[static_cast<size_t>(i)] = static_cast<int8_t>(i);
        key.naxes = key.ndim;
        return true;
    }
    if (!PyTuple_CheckExact(axes)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(axes); ++i) {
        if (!add_axis(PyTuple_GET_ITEM(axes, i), key)) return false;
    }
    return key.naxes > 0;
}

// The native formats of the buffer protocol: "f", "d", "g", and "Z" before them for complex numbers.
bool take_type(const char* format, Key& key) {
    const bool complex = format[0] == 'Z';
    const char* const letters = "fdg";
    const char* const found = std::strchr(letters, format[complex ? 1 : 0]);
    if (!found || *found == '\0' || format[complex ? 2 : 1] != '\0') return false;
    const Form form = form_of(key.form);
    if (complex && !form.complex_in) return false;
    key.widened = form.complex_in && !complex;
    if (key.widened && !form.complex_out) return false;
    key.precision = static_cast<int8_t>(found - letters);
    return true;
}

// The length in real space of the last axis, which n may say; 0: n cuts or pads, or is wrong.
int64_t real_length(PyObject* n, int64_t length, const Form& form) {
    const int64_t given = n == Py_None ? (form.c2r() ? 2 * (length - 1) : length) : small_int(n, 0);
    if (given < 1) return 0;
    return (form.c2r() ? given / 2 + 1 : given) == length ? given : 0;
}

// Whether this is a plain call, and which.
bool take_key(int form, const Py_buffer& view, PyObject* n, PyObject* axes, bool several, PyObject* norm, Key& key) {
    if (form < 0 || form >= kForms || view.ndim < 1 || view.ndim > SPANFFT_MAX_NDIM || view.len < 1) return false;
    if (view.len > kMostElems * view.itemsize) return false;
    const int code = norm_of(norm);
    if (code < 0) return false;
    key.form = static_cast<int8_t>(form);
    key.norm = static_cast<int8_t>(form_of(form).hermitian ? 2 - code : code);
    key.ndim = static_cast<int8_t>(view.ndim);
    std::copy(view.shape, view.shape + view.ndim, key.shape.begin());
    if (!take_type(view.format, key) || !take_axes(axes, several, key)) return false;
    key.length = real_length(n, key.shape[static_cast<size_t>(key.last())], form_of(form));
    return key.length > 0 && (key.length <= kMostElems);
}

// The general way's plan; the GIL may pass to other threads here.
std::shared_ptr<Entry> make_entry(const Key& key) {
    const nb::handle make(cache().make_plan);
    nb::list shape, axes;
    for (int i = 0; i < key.ndim; ++i) shape.append(key.shape[static_cast<size_t>(i)]);
    shape[static_cast<size_t>(key.last())] = nb::int_(key.length);
    for (int i = 0; i < key.naxes; ++i) axes.append(key.axes[static_cast<size_t>(i)]);
    const nb::handle dtype(cache().dtypes[static_cast<size_t>(key.precision)][0]);
    constexpr const char* norms[] = {"backward", "ortho", "forward"};
    nb::object plan = make(key.form, shape, axes, dtype, norms[key.norm]);
    auto entry = std::make_shared<Entry>();
    entry->key = key;
    entry->handle = handle_of(plan);
    const Form form = form_of(key.form);
    if (key.widened || (form.hermitian && form.c2r()))
        entry->complex_input.resize(static_cast<size_t>(spanfft_plan_input_bytes(entry->handle)));
    entry->plan = std::move(plan);
    return entry;
}

// An idle plan for this call, marked as running.
std::shared_ptr<Entry> take_entry(const Key& key) {
    Cache& c = cache();
    for (const auto& entry : c.entries) {
        if (!entry->runs && entry->key == key) {
            entry->runs = true;
            entry->used = ++c.clock;
            return entry;
        }
    }
    auto made = make_entry(key);
    made->runs = true;
    made->used = ++c.clock;
    if (c.entries.size() >= kMostPlans) {
        auto oldest = c.entries.end();
        for (auto it = c.entries.begin(); it != c.entries.end(); ++it) {
            if (!(*it)->runs && (oldest == c.entries.end() || (*it)->used < (*oldest)->used)) oldest = it;
        }
        if (oldest == c.entries.end()) return made;  // all run: this one is used once
        const std::shared_ptr<Entry> dropped = std::move(*oldest);
        *oldest = made;
        return made;
    }
    c.entries.push_back(made);
    return made;
}

nb::object new_result(const Key& key) {
    const Form form = form_of(key.form);
    nb::object shape = nb::steal(PyTuple_New(key.ndim));
    if (!shape.ptr()) throw nb::python_error();
    for (int i = 0; i < key.ndim; ++i) {
        int64_t n = key.shape[static_cast<size_t>(i)];
        if (i == key.last()) n = form.r2c() ? key.length / 2 + 1 : form.c2r() ? key.length : n;
        PyObject* const number = PyLong_FromLongLong(n);
        if (!number) throw nb::python_error();
        PyTuple_SET_ITEM(shape.ptr(), i, number);
    }
    PyObject* const arguments[] = {shape.ptr(),
                                   cache().dtypes[static_cast<size_t>(key.precision)][form.complex_out ? 1 : 0]};
    return nb::steal(PyObject_Vectorcall(cache().empty, arguments, 2, nullptr));
}

// Complex numbers from real ones.
template <class Real>
void widen(const Real* source, int64_t count, Real* target) {
    for (int64_t i = 0; i < count; ++i) {
        target[2 * i] = source[i];
        target[2 * i + 1] = 0;
    }
}

// Of complex numbers, in place too.
template <class Real>
void conjugate(const Real* source, int64_t count, Real* target) {
    for (int64_t i = 0; i < count; ++i) {
        target[2 * i] = source[2 * i];
        target[2 * i + 1] = -source[2 * i + 1];
    }
}

// Calls `function` with both arrays as those of real numbers of this precision.
template <class Function>
void of_precision(int precision, const void* source, void* target, Function&& function) {
    const auto call = [&](auto real) {
        using Real = decltype(real);
        function(static_cast<const Real*>(source), static_cast<Real*>(target));
    };
    if (precision == 0) call(0.0F);
    if (precision == 1) call(0.0);
    if (precision == 2) call(0.0L);
}

int run(Entry& entry, const Py_buffer& source, const Py_buffer& target) {
    const Form form = form_of(entry.key.form);
    const int64_t count = source.len / source.itemsize;
    const int precision = entry.key.precision;
    const void* in = source.buf;
    if (!entry.complex_input.empty()) {
        in = entry.complex_input.data();
        of_precision(precision, source.buf, entry.complex_input.data(), [&](const auto* from, auto* to) {
            entry.key.widened ? widen(from, count, to) : conjugate(from, count, to);
        });
    }
    const auto execute = [&] {
        const int code = spanfft_execute(entry.handle, in, target.buf);
        if (form.hermitian && form.r2c()) {
            of_precision(precision, target.buf, target.buf, [&](const auto* from, auto* to) {
                conjugate(from, target.len / static_cast<int64_t>(2 * sizeof *from), to);
            });
        }
        return code;
    };
    if (count <= kElemsWithoutGil) return execute();
    nb::gil_scoped_release no_gil;
    return execute();
}

void forget(const Entry* entry) {
    std::erase_if(cache().entries, [&](const auto& kept) { return kept.get() == entry; });
}

nb::object small_call(int form, nb::handle array, nb::handle n, nb::handle axes, bool several, nb::handle norm) {
    if (Py_TYPE(array.ptr()) != cache().ndarray) return nb::none();
    const View source(array.ptr(), PyBUF_C_CONTIGUOUS | PyBUF_FORMAT);
    if (!source.ok()) PyErr_Clear();
    Key key;
    if (!source.ok() || !take_key(form, source.view, n.ptr(), axes.ptr(), several, norm.ptr(), key)) return nb::none();
    try {
        nb::object result = new_result(key);
        if (!result.ptr()) throw nb::python_error();
        const View target(result.ptr(), PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
        if (!target.ok()) throw nb::python_error();
        const std::shared_ptr<Entry> entry = take_entry(key);
        const int code = run(*entry, source.view, target.view);
        entry->runs = false;
        if (code == SPANFFT_OK) return result;
        forget(entry.get());
    } catch (nb::python_error& failure) {
        if (!failure.matches(PyExc_Exception)) throw;  // Ctrl-C
    }
    return nb::none();  // the general way meets it too, and says it
}

// None: the general way is to do it.
nb::object along_axis(int form, nb::handle array, nb::handle n, nb::handle axis, nb::handle norm) {
    return small_call(form, array, n, axis, false, norm);
}
nb::object along_axes(int form, nb::handle array, nb::handle axes, nb::handle norm) {
    return small_call(form, array, nb::none(), axes, true, norm);
}

// Plans that run are freed when they have run.
void forget_small_calls() {
    const auto dropped = std::move(cache().entries);
    cache().entries.clear();
}

}  // namespace

void bind_small_calls(nb::module_& m) {
    m.def("small_call", &along_axis, "form"_a, "a"_a.none(), "n"_a.none(), "axis"_a.none(), "norm"_a.none());
    m.def("small_call_nd", &along_axes, "form"_a, "a"_a.none(), "axes"_a.none(), "norm"_a.none());
    m.def("forget_small_calls", &forget_small_calls);
    m.def("small_call_count", [] { return cache().entries.size(); });
    m.attr("small_call_plans") = kMostPlans;
    m.attr("small_call_elems") = kMostElems;
}

}  // namespace spanfft::python
