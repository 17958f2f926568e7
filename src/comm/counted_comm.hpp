// CountedComm: a Comm that counts what its transfers send, by looking at the parts that they were given.
//
// It is also where transfers, barriers and agreements are traced, for all strategies at once: "post" (or "call", where
// that does all of it) and "wait" on the track of the steps, and what is under way in between on the track of the
// messages.
// Invariant: it knows nothing of layouts or predictions, so that its counts can be held against them.
// A message is a non-empty part for another rank; what stays on the rank is not a message.
#pragma once

#include <memory>

#include "comm/comm.hpp"
#include "core/counts.hpp"
#include "core/trace.hpp"

namespace spanfft {

// Wraps `inner`; messages and sent_bytes of every started transfer are added to *counts. trace: nullptr, or
// tells where to record, if anywhere.
std::unique_ptr<Comm> make_counted_comm(std::unique_ptr<Comm> inner, std::shared_ptr<Counts> counts,
                                        std::shared_ptr<TraceSwitch> trace = nullptr);
// Wraps `inner`; its barriers are traced.
std::unique_ptr<SharedWindow> make_traced_window(std::shared_ptr<SharedWindow> inner,
                                                 std::shared_ptr<TraceSwitch> trace);

}  // namespace spanfft
