// Halos: spanfft_halo as the class Halo.
//
// Method: as for plans, calls release the GIL and arrays come in through the buffer protocol. Invariant: a halo on
// ranks is freed only by free(), which is collective; the garbage collector only leaks it.
#include <nanobind/stl/vector.h>

#include "binding.hpp"
#include "contiguous_buffer.hpp"

namespace spanfft::python {

namespace {

class PyHalo {
  public:
    PyHalo(nb::handle plan, const Extents& before, const Extents& after)
        : on_ranks_(spanfft_plan_ranks(handle_of(plan)) > 1) {
        spanfft_plan* const handle = handle_of(plan);
        nb::gil_scoped_release no_gil;
        check(spanfft_halo_create(handle, before.data(), after.data(), &halo_));
    }
    ~PyHalo() {
        if (!on_ranks_) free();
    }
    PyHalo(const PyHalo&) = delete;
    PyHalo& operator=(const PyHalo&) = delete;

    void free() {
        nb::gil_scoped_release no_gil;
        spanfft_halo_free(halo_);
        halo_ = nullptr;
    }

    void exchange(nb::handle part, nb::handle extended) {
        const Buffer source(part, spanfft_halo_part_bytes(get()), false, "the part");
        const Buffer target(extended, spanfft_halo_bytes(get()), true, "the extended part");
        nb::gil_scoped_release no_gil;
        check(spanfft_halo_exchange(halo_, source.data(), target.data()));
    }
    void add(nb::handle extended, nb::handle part) {
        const Buffer source(extended, spanfft_halo_bytes(get()), false, "the extended part");
        const Buffer target(part, spanfft_halo_part_bytes(get()), true, "the part");
        nb::gil_scoped_release no_gil;
        check(spanfft_halo_add(halo_, source.data(), target.data()));
    }

    nb::dict predicted(int call) const {
        spanfft_counts counts{};
        counts.size = sizeof counts;
        check(spanfft_halo_predicted(get(), call, &counts));
        return counts_dict(counts);
    }
    nb::dict counted() const {
        spanfft_counts counts{};
        counts.size = sizeof counts;
        check(spanfft_halo_counted(get(), &counts));
        return counts_dict(counts);
    }

  private:
    spanfft_halo* get() const {
        if (!halo_) fail(SPANFFT_INVALID_ARGUMENT, "the halo was freed; make a new one");
        return halo_;
    }

    spanfft_halo* halo_ = nullptr;
    bool on_ranks_;
};

}  // namespace

void bind_halos(nb::module_& m) {
    nb::class_<PyHalo>(m, "Halo")
        .def(nb::init<nb::handle, const Extents&, const Extents&>(), "plan"_a, "before"_a, "after"_a)
        .def("exchange", &PyHalo::exchange, "part"_a, "extended"_a)
        .def("add", &PyHalo::add, "extended"_a, "part"_a)
        .def("predicted", &PyHalo::predicted, "call"_a)
        .def("counted", &PyHalo::counted)
        .def("free", &PyHalo::free);
}

}  // namespace spanfft::python
