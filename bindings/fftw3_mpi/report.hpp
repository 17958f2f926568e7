// Where SPANFFT_FFTW_REPORT asks for it, rank 0 says on standard error what became of plans: a sentence for each reason
// why spanfft did not make one, and the sums when the program ends. A failed execution is always told, because
// fftw_execute returns nothing.
#pragma once
#include <string>

namespace fftw3_mpi {

enum class Planned { by_spanfft, by_fftw, by_nobody };

void report_plan(Planned by, const std::string& reason);
// The same, of a plan of spanfft's whose output is memory of fftw_malloc that the ranks share.
void report_shared_output();
void report_failure(const std::string& sentence);

}  // namespace fftw3_mpi
