// A plan that a client holds as an fftw_plan and that spanfft executes.
//
// Where a side of it is not as spanfft takes it (padded rows, swapped axes), the spanfft plan owns an array for it, and
// each execution copies between that and the client's array. On one node that array is memory that the ranks share,
// from and into which they work directly, so this copy takes the place of one that spanfft would make (ADR 30). An
// output from fftw_malloc, as spanfft takes it, becomes such memory itself (allocation.hpp), and nothing is copied. A
// plan is told from FFTW's own by its address, which is registered as long as it lives.
#pragma once
#include <memory>
#include <string>

#include "allocation.hpp"
#include "request.hpp"

namespace fftw3_mpi {

class Plan {
  public:
    // Collective. NULL, and the same reason on all ranks, where spanfft can't.
    static std::unique_ptr<Plan> make(const Request& request, const void* in, void* out, std::string& reason);
    ~Plan();
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    // Collective, as FFTW's: on the arrays that it was planned for, or on others that are in place if these were.
    void execute() { execute(in_, out_); }
    void execute(const void* in, void* out);

    std::string explain() const;
    double predicted_flops() const;
    double predicted_seconds() const;

  private:
    Plan() = default;
    bool create(const Request& request, void* out, std::string& reason);
    bool plan(const spanfft_problem& problem, MPI_Comm mpi, std::string& reason);
    bool plan_blocks(const spanfft_problem& problem, const Translation& wanted, MPI_Comm mpi);
    bool plan_in_client(spanfft_problem problem, void* out, const Translation& wanted, MPI_Comm mpi);
    void give_up();
    void leave_client();

    spanfft_plan* plan_ = nullptr;
    const void* in_ = nullptr;
    void* out_ = nullptr;
    std::shared_ptr<Allocation> shared_out_;  // whose pages are the spanfft plan's output; NULL if no client's are
    bool copies_in_ = false, owns_output_ = false;
    StridedCopy to_spanfft_, to_client_;
};

// NULL for a plan of FFTW's.
Plan* find_plan(const void* handle);
// Gives the client a handle, and takes it back.
PlanPointer register_plan(std::unique_ptr<Plan> plan);
std::unique_ptr<Plan> unregister_plan(const void* handle);

}  // namespace fftw3_mpi
