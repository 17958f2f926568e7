// What became of plans, told on standard error where SPANFFT_FFTW_REPORT asks for it: a sentence for each reason why
// FFTW's own library got one, and the sums when the program ends. It says so on rank 0 of MPI_COMM_WORLD alone.
// An execution that fails has no other way to tell, as fftw_execute returns nothing: its sentence is always written.
#pragma once
#include <string>

namespace fftw3_mpi {

enum class Planned { by_spanfft, by_fftw, by_nobody };

void report_plan(Planned by, const std::string& reason);
void report_failure(const std::string& sentence);

}  // namespace fftw3_mpi
