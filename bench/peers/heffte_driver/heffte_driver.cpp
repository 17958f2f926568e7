// heFFTe's transforms on MKL behind a C interface, for ctypes: bench/peers/heffte.py is its only caller.
//
// Method: boxes come in C order of axes and are turned round, as heFFTe's dimension 0 is the contiguous one. The work
// space is the caller's, so that no call allocates. heFFTe throws, and what it says is kept as text.
// Invariant: MKL uses one thread in a plan's making and in its calls, whatever it uses for others in this process:
// ranks share the cores among them.
// Source: heFFTe 2.4's fft3d, fft3d_r2c and plan_options (github.com/icl-utk-edu/heffte).
#include <heffte.h>
#include <mkl_service.h>

#include <complex>
#include <exception>
#include <memory>
#include <string>

namespace {

using Complex = std::complex<double>;
using Backend = heffte::backend::mkl;

std::string last_error;

struct OneThread {
    int before = MKL_Set_Num_Threads_Local(1);
    ~OneThread() { MKL_Set_Num_Threads_Local(before); }
};

struct Transform {
    std::unique_ptr<heffte::fft3d<Backend>> complex;
    std::unique_ptr<heffte::fft3d_r2c<Backend>> real;
};

heffte::box3d<> box(int const* first, int const* extents) {
    return {{first[2], first[1], first[0]},
            {first[2] + extents[2] - 1, first[1] + extents[1] - 1, first[0] + extents[0] - 1}};
}

template <typename Call>
int guarded(Call&& call) {
    OneThread const one;
    try {
        call();
        return 0;
    } catch (std::exception const& error) {
        last_error = error.what();
        return 1;
    }
}

}  // namespace

extern "C" {

// heFFTe's MPI is the one that runs here only if that is initialised: it would have a copy of its own otherwise.
int heffte_driver_same_mpi() {
    int initialised = 0;
    return MPI_Initialized(&initialised) == MPI_SUCCESS && initialised;
}

char const* heffte_driver_error() { return last_error.c_str(); }

char const* heffte_driver_version() {
    static std::string const text = std::to_string(Heffte_VERSION_MAJOR) + "." + std::to_string(Heffte_VERSION_MINOR) +
                                    "." + std::to_string(Heffte_VERSION_PATCH) + " " + Heffte_GIT_HASH;
    return text.c_str();
}

// algorithm: heffte::reshape_algorithm by name. comm: where the communicator is, of whatever type this MPI makes it.
int heffte_driver_make(void** made, int is_real, int const* in_first, int const* in_extents, int const* out_first,
                       int const* out_extents, void const* comm, char const* algorithm, int reorder, int pencils) {
    return guarded([&] {
        auto options = heffte::default_options<Backend>();
        std::string const name = algorithm;
        using Algorithm = heffte::reshape_algorithm;
        options.algorithm = name == "alltoall"    ? Algorithm::alltoall
                            : name == "alltoallv" ? Algorithm::alltoallv
                            : name == "p2p"       ? Algorithm::p2p
                                                  : Algorithm::p2p_plined;
        options.use_reorder = reorder != 0;
        options.use_pencils = pencils != 0;
        auto const in = box(in_first, in_extents), out = box(out_first, out_extents);
        auto const ranks = *static_cast<MPI_Comm const*>(comm);
        auto transform = std::make_unique<Transform>();
        if (is_real)  // dimension 0 is halved: the contiguous one
            transform->real = std::make_unique<heffte::fft3d_r2c<Backend>>(in, out, 0, ranks, options);
        else
            transform->complex = std::make_unique<heffte::fft3d<Backend>>(in, out, ranks, options);
        *made = transform.release();
    });
}

// In complex numbers.
size_t heffte_driver_work_size(void const* made) {
    auto const& transform = *static_cast<Transform const*>(made);
    return transform.real ? transform.real->size_workspace() : transform.complex->size_workspace();
}

int heffte_driver_forward(void const* made, void const* in, void* out, void* work) {
    return guarded([&] {
        auto const& transform = *static_cast<Transform const*>(made);
        auto* const spectrum = static_cast<Complex*>(out);
        auto* const space = static_cast<Complex*>(work);
        if (transform.real)
            transform.real->forward(static_cast<double const*>(in), spectrum, space);
        else
            transform.complex->forward(static_cast<Complex const*>(in), spectrum, space);
    });
}

int heffte_driver_backward(void const* made, void const* in, void* out, void* work) {
    return guarded([&] {
        auto const& transform = *static_cast<Transform const*>(made);
        auto const* const spectrum = static_cast<Complex const*>(in);
        auto* const space = static_cast<Complex*>(work);
        if (transform.real)
            transform.real->backward(spectrum, static_cast<double*>(out), space);
        else
            transform.complex->backward(spectrum, static_cast<Complex*>(out), space);
    });
}

void heffte_driver_free(void* made) { delete static_cast<Transform*>(made); }
}
