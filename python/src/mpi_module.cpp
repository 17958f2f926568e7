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
            if (code != SPANFFT_OK) {
                const std::string message = spanfft_last_error();
                nb::object error = nb::module_::import_("spanfft._errors").attr("from_code")(code, message);
                PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
                throw nb::python_error();
            }
            return reinterpret_cast<uintptr_t>(comm);
        },
        "handle"_a);

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
