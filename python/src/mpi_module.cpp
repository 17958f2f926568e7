// spanfft._mpi_mpich, spanfft._mpi_openmpi: what the package needs of the MPI that mpi4py loaded.
//
// Communicators come as Fortran handles (mpi4py's comm.py2f()), which are plain integers in every MPI. They mean
// something only inside one and the same loaded MPI library; the package checks that with initialized() and
// library_version() before it passes any.
#include <mpi.h>
#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

#include "spanfft/spanfft_mpi.h"
#include "text_caster.hpp"

namespace nb = nanobind;
using namespace nb::literals;

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
        [](int fortran_handle) {
            spanfft_comm* comm = nullptr;
            int code = 0;
            {
                nb::gil_scoped_release no_gil;
                code = spanfft_comm_from_mpi(MPI_Comm_f2c(static_cast<MPI_Fint>(fortran_handle)), &comm);
            }
            if (code != SPANFFT_OK) {
                const std::string message = spanfft_last_error();
                nb::object error = nb::module_::import_("spanfft._errors").attr("from_code")(code, message);
                PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
                throw nb::python_error();
            }
            return reinterpret_cast<uintptr_t>(comm);
        },
        "fortran_handle"_a);

    // Collective. The largest flag of all ranks: how they agree, before a transform, that all can go on.
    m.def(
        "worst",
        [](int fortran_handle, int flag) {
            int all = flag;
            nb::gil_scoped_release no_gil;
            if (MPI_Allreduce(&flag, &all, 1, MPI_INT, MPI_MAX, MPI_Comm_f2c(static_cast<MPI_Fint>(fortran_handle))) !=
                MPI_SUCCESS) {
                return static_cast<int>(SPANFFT_MPI_ERROR);
            }
            return all;
        },
        "fortran_handle"_a, "flag"_a);
}
