// What the many forms of FFTW's MPI interface come down to: one function for the sizes and five for plans, in each
// precision. A plan is spanfft's where spanfft can make it, else that of FFTW's own MPI library where the program has
// it, else NULL, as FFTW says that it can't. Nothing here throws or ends the program.
#pragma once
#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "fftw_library.hpp"
#include "plan.hpp"
#include "report.hpp"

namespace fftw3_mpi {

// What fftw_mpi_local_size_many_transposed gives: elements to allocate, and the blocks of both divisions.
struct LocalSize {
    std::ptrdiff_t elements;
    Block first, second;
};
LocalSize local_size_of(int rank_of_array, const std::ptrdiff_t* n, std::ptrdiff_t howmany, std::ptrdiff_t block0,
                        std::ptrdiff_t block1, MPI_Comm comm);

// spanfft's plan, or NULL and the reason.
PlanPointer make_plan(const Request& request, const void* in, void* out, std::string& reason) noexcept;

template <class Precision>
class Planner {
    using Size = std::ptrdiff_t;
    using Real = typename Precision::Real;

  public:
    static Size local_size(int rank, const Size* n, Size howmany, Size block0, Size block1, MPI_Comm comm,
                           Size* local_n0, Size* start0, Size* local_n1, Size* start1) {
        const LocalSize ours = local_size_of(rank, n, howmany, block0, block1, comm);
        *local_n0 = ours.first.count;
        *start0 = ours.first.start;
        *local_n1 = ours.second.count;
        *start1 = ours.second.start;
        // FFTW's own plans, which some transforms will have, need room for its intermediate arrays as well. Its blocks
        // of a line are others, but it gets none of these.
        Size unused[4];
        auto* theirs =
            rank > 1
                ? fftw_mpi<Size(int, const Size*, Size, Size, Size, MPI_Comm, Size*, Size*, Size*, Size*), Precision>(
                      "local_size_many_transposed")
                : nullptr;
        const Size needed =
            theirs ? theirs(rank, n, howmany, block0, block1, comm, unused, unused + 1, unused + 2, unused + 3) : 0;
        return std::max<Size>(ours.elements, needed);
    }

    static PlanPointer dft(int rank, const Size* n, Size howmany, Size iblock, Size oblock, void* in, void* out,
                           MPI_Comm comm, int sign, unsigned flags) {
        Request request = begin(Kind::c2c, rank, n, howmany, iblock, oblock, in, out, comm, flags);
        request.sign = sign;
        return plan(request, in, out, [&] {
            auto* theirs =
                fftw_mpi<PlanPointer(int, const Size*, Size, Size, Size, void*, void*, MPI_Comm, int, unsigned),
                         Precision>("plan_many_dft");
            return theirs ? theirs(rank, n, howmany, iblock, oblock, in, out, comm, sign, flags) : nullptr;
        });
    }

    static PlanPointer dft_r2c(int rank, const Size* n, Size howmany, Size iblock, Size oblock, void* in, void* out,
                               MPI_Comm comm, unsigned flags) {
        return real_dft("plan_many_dft_r2c", Kind::r2c, rank, n, howmany, iblock, oblock, in, out, comm, flags);
    }
    static PlanPointer dft_c2r(int rank, const Size* n, Size howmany, Size iblock, Size oblock, void* in, void* out,
                               MPI_Comm comm, unsigned flags) {
        return real_dft("plan_many_dft_c2r", Kind::c2r, rank, n, howmany, iblock, oblock, in, out, comm, flags);
    }

    static PlanPointer r2r(int rank, const Size* n, Size howmany, Size iblock, Size oblock, void* in, void* out,
                           MPI_Comm comm, const int* kinds, unsigned flags) {
        Request request = begin(Kind::r2r, rank, n, howmany, iblock, oblock, in, out, comm, flags);
        request.r2r_kinds = kinds;
        return plan(request, in, out, [&] {
            auto* theirs =
                fftw_mpi<PlanPointer(int, const Size*, Size, Size, Size, void*, void*, MPI_Comm, const int*, unsigned),
                         Precision>("plan_many_r2r");
            return theirs ? theirs(rank, n, howmany, iblock, oblock, in, out, comm, kinds, flags) : nullptr;
        });
    }

    static PlanPointer transpose(Size n0, Size n1, Size howmany, Size block0, Size block1, void* in, void* out,
                                 MPI_Comm comm, unsigned flags) {
        const Size n[] = {n0, n1};
        return plan(begin(Kind::transpose, 2, n, howmany, block0, block1, in, out, comm, flags), in, out, [&] {
            auto* theirs =
                fftw_mpi<PlanPointer(Size, Size, Size, Size, Size, void*, void*, MPI_Comm, unsigned), Precision>(
                    "plan_many_transpose");
            return theirs ? theirs(n0, n1, howmany, block0, block1, in, out, comm, flags) : nullptr;
        });
    }

  private:
    static Request begin(Kind kind, int rank, const Size* n, Size howmany, Size iblock, Size oblock, const void* in,
                         const void* out, MPI_Comm comm, unsigned flags) {
        Request r{};
        r.kind = kind;
        r.precision = Precision::precision;
        r.real_bytes = sizeof(Real);
        if (rank > 0) r.n.assign(n, n + rank);
        r.howmany = howmany;
        r.input_block = iblock;
        r.output_block = oblock;
        r.flags = flags;
        r.in_place = in == out && in != nullptr;
        r.threads = threads_of_client();
        r.comm = comm;
        return r;
    }

    // As many as the client told FFTW to use; one where it has not FFTW's threads.
    static int threads_of_client() {
        auto* const function = fftw<int(), Precision>("planner_nthreads");
        return function ? std::max(function(), 1) : 1;
    }

    static PlanPointer real_dft(const char* name, Kind kind, int rank, const Size* n, Size howmany, Size iblock,
                                Size oblock, void* in, void* out, MPI_Comm comm, unsigned flags) {
        return plan(begin(kind, rank, n, howmany, iblock, oblock, in, out, comm, flags), in, out, [&] {
            auto* theirs =
                fftw_mpi<PlanPointer(int, const Size*, Size, Size, Size, void*, void*, MPI_Comm, unsigned), Precision>(
                    name);
            return theirs ? theirs(rank, n, howmany, iblock, oblock, in, out, comm, flags) : nullptr;
        });
    }

    template <class Theirs>
    static PlanPointer plan(const Request& request, void* in, void* out, const Theirs& theirs) {
        std::string reason;
        if (PlanPointer ours = make_plan(request, in, out, reason)) {
            report_plan(Planned::by_spanfft, reason);
            return ours;
        }
        const bool line = request.n.size() == 1;  // whose blocks, as local_size gave them, are not FFTW's
        PlanPointer handed = line ? nullptr : theirs();
        report_plan(handed ? Planned::by_fftw : Planned::by_nobody, reason);
        return handed;
    }
};

}  // namespace fftw3_mpi
