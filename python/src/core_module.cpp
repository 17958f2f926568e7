// spanfft._core: the C ABI as a Python module, and nothing more; the package around it is written in Python.
//
// Here: errors, engines, tuning and the library itself. The rest is in *_binding.cpp.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <optional>

#include "binding.hpp"

namespace spanfft::python {

namespace {

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
        d["path"] = std::string(engine.path);
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

// (name, values, default, help) of each; values of a flag are "".
nb::list problem_keys() {
    nb::list all;
    const int n = spanfft_problem_key_count();
    for (int i = 0; i < n; ++i) {
        spanfft_problem_key key{};
        key.size = sizeof key;
        check(spanfft_problem_key_info(i, &key));
        all.append(nb::make_tuple(key.name, key.values, key.fallback, key.help));
    }
    return all;
}

}  // namespace

}  // namespace spanfft::python

NB_MODULE(_core, m) {
    using namespace spanfft::python;
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

    bind_plans(m);
    bind_halos(m);
    bind_permute(m);
    bind_disks(m);
    bind_foresight(m);
    bind_small_calls(m);
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
    m.def("problem_keys", &problem_keys);
    m.def("engines", &engines);
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
