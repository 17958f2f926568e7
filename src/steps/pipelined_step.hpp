// TransformExchange: a computation on the local array and the exchange after it, chunk by chunk, so that one chunk
// travels while the next is computed.
//
// Method: the exchange's strategy cuts its source into chunks of rows along an axis that the computation leaves alone
// (exchange/chunks.hpp). For each chunk: compute its rows, start its exchange. When all are under way they are
// finished in order: as late as possible. Strategies that block do all of a chunk in start(), so with them nothing
// overlaps, but a chunk is still in the cache when it is sent.
// Cost: P2, section 4.4: max(comp/m + comm, comp + comm/m) seconds for m chunks where the two really go on at once; how
// far they do is Machine::overlap_share.
// Source: P2 algorithm 2, P3 (Overlap, Oneplane, Standard, Replace), P5.
#pragma once

#include <optional>

#include "steps/exchange_step.hpp"
#include "steps/row_work.hpp"

namespace spanfft {

// The exchange, cut as the work can be cut, if the two may be one step: more than one chunk, and an exchange that does
// not write where rows are still to be read. Where ranks have a single row of the axis that the exchange makes whole,
// it is cut along the longest of those that it leaves whole.
std::optional<ExchangeSpec> pipelined(const RowWork& work, const ExchangeSpec& exchange,
                                      const ExchangeStrategy& strategy, Slot exchange_target);

// `work_step` and `exchange_step` are the two as steps of their own: they predict and describe what happens inside.
std::unique_ptr<Step> make_pipelined_step(std::unique_ptr<RowWork> work, std::unique_ptr<Step> work_step,
                                          ExchangeSpec exchange, std::unique_ptr<Step> exchange_step,
                                          const ExchangeStrategy& strategy, Slot exchange_target,
                                          const Machine& machine);

// Seconds of m chunks that are computed and moved, of which `share` of the time that could be hidden is.
double pipelined_seconds(double compute_seconds, double exchange_seconds, int chunks, double share);

}  // namespace spanfft
