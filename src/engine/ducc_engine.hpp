// The engine that is always there: ducc0's transforms, compiled in from its sources (BSD-3-Clause or GPL).
//
// Method: ducc0 takes strided views of any number of axes, so a LocalSpec maps onto one call; its plans are kept
// in its own cache of the ten most recent lengths, its threads in its own pool. It is compiled for each width of vector
// registers (cmake/ducc0); the widest that the processor has is taken.
// Source: M. Reinecke's ducc0 0.42, src/ducc0/fft.
#pragma once

#include <memory>

#include "engine/engine.hpp"

namespace spanfft {

// Lines of a batch that it transforms at once, one in each lane of a register; those left over follow one by one.
index_t ducc_lines_at_once(Precision precision, int register_bytes);

std::unique_ptr<Engine> make_ducc_engine();
// With registers of 16, 32 or 64 bytes, of which the processor has at least so many.
std::unique_ptr<Engine> make_ducc_engine(int register_bytes);

}  // namespace spanfft
