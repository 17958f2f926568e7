// CountedComm: a Comm that counts what its transfers send, by looking at the parts that they were given.
//
// Invariant: it knows nothing of layouts or predictions, so that its counts can be held against them.
// A message is a non-empty part for another rank; what stays on the rank is not a message.
#pragma once

#include <memory>

#include "comm/comm.hpp"
#include "core/counts.hpp"

namespace spanfft {

// Wraps `inner`; messages and sent_bytes of every started transfer are added to *counts. Both must outlive it.
std::unique_ptr<Comm> make_counted_comm(std::unique_ptr<Comm> inner, std::shared_ptr<Counts> counts);

}  // namespace spanfft
