// A batch that the members of a team share, each with a plan for one thread.
//
// Method: the longest loop of the batch is cut into as many parts as there are threads, and each is planned as if it
// were all. For libraries that would share out the work themselves and do so badly (fftw_symbols.hpp,
// thread_starts). Where FFTW's threads take a batch in halves themselves, this would be no faster.
#pragma once

#include <memory>

#include "engine/engine.hpp"

namespace spanfft {

// Whether a batch has a loop of some lines for each thread.
bool worth_sharing(const LocalSpec& spec);

// Code::engine_error when the engine declines a part.
Result<std::unique_ptr<LocalFft>> plan_shared_batch(const Engine& engine, const LocalSpec& spec);

}  // namespace spanfft
