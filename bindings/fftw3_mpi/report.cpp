// See report.hpp.
#include "report.hpp"

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>

namespace fftw3_mpi {
namespace {

class Report {
  public:
    Report() {
        const char* value = std::getenv("SPANFFT_FFTW_REPORT");
        asked_ = value && *value;
    }
    ~Report() {
        if (!first_rank_) return;
        std::fprintf(stderr, "spanfft: %d plans by spanfft, %d plans by FFTW, %d plans by nobody\n", counts_[0],
                     counts_[1], counts_[2]);
        if (shared_) std::fprintf(stderr, "spanfft: the ranks share the output of %d plans\n", shared_);
    }
    Report(const Report&) = delete;
    Report& operator=(const Report&) = delete;

    void add(Planned by, const std::string& reason) {
        if (!asked_) return;
        const std::lock_guard lock(mutex_);
        int rank = 1;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        first_rank_ = rank == 0;
        ++counts_[static_cast<int>(by)];
        if (first_rank_ && by != Planned::by_spanfft && told_.insert(reason).second)
            std::fprintf(stderr, "spanfft: a plan is FFTW's own, where it is there: %s\n", reason.c_str());
    }

    void add_shared() {
        const std::lock_guard lock(mutex_);
        ++shared_;
    }

  private:
    bool asked_ = false, first_rank_ = false;
    int counts_[3] = {}, shared_ = 0;
    std::set<std::string> told_;
    std::mutex mutex_;
};

Report& the_report() {
    static Report report;
    return report;
}

}  // namespace

void report_plan(Planned by, const std::string& reason) { the_report().add(by, reason); }

void report_shared_output() { the_report().add_shared(); }

void report_failure(const std::string& sentence) {
    std::fprintf(stderr, "spanfft: an execution of an FFTW plan failed, its output is not valid: %s\n",
                 sentence.c_str());
}

}  // namespace fftw3_mpi
