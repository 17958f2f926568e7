// spanfft._mpi_mpich, _mpi_openmpi, _mpi_abi: what the package needs of the MPI that mpi4py loaded. One module for each
// binary interface of MPI; a wheel may hold several (docs/adr/0091).
//
// Communicators come as C's handles (mpi4py's comm.handle): an int in MPICH, a pointer elsewhere. They mean something
// only inside one and the same loaded MPI library; the package checks that with initialized() and library_version()
// before it passes any.
#include <mpi.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

#include "spanfft/spanfft_mpi.h"
#include "text_caster.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// MPI_Comm is an int or a pointer, for which only C's cast is one and the same.
MPI_Comm comm_of(uintptr_t handle) { return (MPI_Comm)handle; }

[[noreturn]] void raise(int code, const std::string& message) {
    nb::object error = nb::module_::import_("spanfft._errors").attr("from_code")(code, message);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
    throw nb::python_error();
}

void check(int mpi_code, const char* call) {
    if (mpi_code != MPI_SUCCESS) raise(SPANFFT_MPI_ERROR, std::string(call) + " failed");
}

// Called as the communicator is freed, with the object that keep() was given. Not by mpi4py's own keyvals: they make an
// object of the dying communicator and so ask it for its topology, for which MPICH walks over attributes that it has
// just freed, and crashes where its pool of them is full.
int close_kept(MPI_Comm, int, void* kept, void*) {
    int ended = 0;
    MPI_Finalized(&ended);
    if (ended || !Py_IsInitialized()) return MPI_SUCCESS;  // the process ends, and its memory with it
    const nb::gil_scoped_acquire gil;
    const nb::object ranks = nb::steal(static_cast<PyObject*>(kept));
    try {
        ranks.attr("close")();
    } catch (nb::python_error& error) {
        error.discard_as_unraisable(ranks);  // the communicator goes all the same
    }
    return MPI_SUCCESS;
}

int kept_keyval() {
    static int keyval = MPI_KEYVAL_INVALID;
    if (keyval == MPI_KEYVAL_INVALID)
        check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, close_kept, &keyval, nullptr), "MPI_Comm_create_keyval");
    return keyval;
}

}  // namespace

NB_MODULE(SPANFFT_PY_MPI_MODULE, m) {
    m.doc() = "spanfft on the ranks of one MPI library. Private: use the package.";

    // Whether MPI runs, as this library sees it: false although mpi4py is up means that there are two libraries.
    m.def("initialized", [] {
        int started = 0, ended = 0;
        MPI_Initialized(&started);
        MPI_Finalized(&ended);
        return started != 0 && ended == 0;
    });
    m.def("library_version", [] {
        char text[MPI_MAX_LIBRARY_VERSION_STRING];
        int length = 0;
        MPI_Get_library_version(text, &length);
        return std::string(text, static_cast<size_t>(length));
    });
    m.def("library", [] { return std::string(spanfft_mpi_library()); });

    // Collective. The address of a spanfft_comm, for _core.
    m.def(
        "comm",
        [](uintptr_t handle) {
            spanfft_comm* comm = nullptr;
            int code = 0;
            {
                nb::gil_scoped_release no_gil;
                code = spanfft_comm_from_mpi(comm_of(handle), &comm);
            }
            if (code != SPANFFT_OK) raise(code, spanfft_last_error());
            return reinterpret_cast<uintptr_t>(comm);
        },
        "handle"_a);

    // What the package keeps for a communicator until that is freed, when its close() is called; None before keep().
    m.def(
        "kept",
        [](uintptr_t handle) {
            void* ranks = nullptr;
            int found = 0;
            check(MPI_Comm_get_attr(comm_of(handle), kept_keyval(), static_cast<void*>(&ranks), &found),
                  "MPI_Comm_get_attr");
            return found ? nb::borrow(static_cast<PyObject*>(ranks)) : nb::none();
        },
        "handle"_a);
    m.def(
        "keep",
        [](uintptr_t handle, nb::object ranks) {
            check(MPI_Comm_set_attr(comm_of(handle), kept_keyval(), ranks.ptr()), "MPI_Comm_set_attr");
            ranks.release();
        },
        "handle"_a, "ranks"_a);

    // Collective. The largest flag of all ranks: how they agree, before a transform, that all can go on.
    m.def(
        "worst",
        [](uintptr_t handle, int flag) {
            int all = flag;
            nb::gil_scoped_release no_gil;
            if (MPI_Allreduce(&flag, &all, 1, MPI_INT, MPI_MAX, comm_of(handle)) != MPI_SUCCESS) {
                return static_cast<int>(SPANFFT_MPI_ERROR);
            }
            return all;
        },
        "handle"_a, "flag"_a);
}
