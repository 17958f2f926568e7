// Exchange: one redistribution of a global array between two layouts, and the table of ways to do it.
//
// Method: the interface is split-phase. An exchange is a number of chunks; start(i) begins one, finish(i) waits for it,
// and the caller may compute in between. The blocking form run() is composed from them, so that a strategy that
// overlaps needs no second interface. Source and target are local C-order arrays of the two layouts.
// Invariant: everything is made when bound (datatypes, packing buffers, displacements); nothing while it runs.
#pragma once

#include <memory>
#include <vector>

#include "comm/comm.hpp"
#include "layout/meet.hpp"

namespace spanfft {

struct ExchangeSpec {
    Layout from, to;
    index_t elem_bytes = 0;
};

class Exchange {
  public:
    virtual ~Exchange() = default;
    virtual int chunks() const = 0;
    virtual Status start(int chunk, const void* source, void* target) = 0;
    virtual Status finish(int chunk) = 0;
    virtual index_t memory_bytes() const = 0;  // what one run moves through memory by copies of our own
    Status run(const void* source, void* target);
};

struct ExchangeStrategy {
    const char* name;
    const char* source;  // the paper
    const char* how;     // a few words for explain
    // Collective over comm, which holds exactly exchange_group(spec, rank) in that order; `rank` is in the layouts'
    // numbering.
    Result<std::unique_ptr<Exchange>> (*bind)(Comm& comm, const ExchangeSpec& spec, int rank);
    index_t (*buffer_bytes)(const ExchangeSpec& spec, int rank);  // packing buffers that bind allocates
    index_t (*memory_bytes)(const ExchangeSpec& spec, int rank);  // predicts Exchange::memory_bytes
};

const std::vector<ExchangeStrategy>& exchange_table();
const ExchangeStrategy* find_exchange(const std::string& name);
std::string exchange_names();  // "alltoallw, alltoallv" for messages

// Helpers shared by strategies: a piece of a local array as strides, and whether it is one contiguous run.
StridedPart strided_part(const Piece& piece, const Extents& local_shape, index_t elem_bytes);
bool is_contiguous(const StridedPart& part);

}  // namespace spanfft
