// A plan that a client holds as an fftw_plan and that spanfft executes.
//
// Where a side of it is not as spanfft takes it (padded rows, swapped axes), the spanfft plan owns an array for it, and
// each execution copies between that and the client's array. On one node that array is memory that the ranks share,
// from and into which they work directly, so this copy takes the place of one that spanfft would make (ADR 30). A plan
// is told from FFTW's own by its address, which is registered as long as it lives.
#pragma once
#include <memory>
#include <string>

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
    void execute() const { execute(in_, out_); }
    void execute(const void* in, void* out) const;

    std::string explain() const;
    double predicted_flops() const;
    double predicted_seconds() const;

  private:
    Plan() = default;
    bool create(const Request& request, std::string& reason);

    spanfft_plan* plan_ = nullptr;
    const void* in_ = nullptr;
    void* out_ = nullptr;
    bool copies_in_ = false, copies_out_ = false;
    StridedCopy to_spanfft_, to_client_;
};

// NULL for a plan of FFTW's.
Plan* find_plan(const void* handle);
// Gives the client a handle, and takes it back.
PlanPointer register_plan(std::unique_ptr<Plan> plan);
std::unique_ptr<Plan> unregister_plan(const void* handle);

}  // namespace fftw3_mpi
