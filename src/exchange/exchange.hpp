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
#include "core/counts.hpp"
#include "core/dtype.hpp"
#include "core/nodes.hpp"
#include "core/trace.hpp"
#include "layout/meet.hpp"

namespace spanfft {

struct ExchangeSpec {
    Layout from, to;
    index_t elem_bytes = 0;
    Precision precision = Precision::dbl;  // of the reals that an element consists of
    std::string parameter{};               // of the strategy; "": its default
    Topology topology{};                   // of the ranks of the layouts
    Extents torus{};                       // that they fill; empty: none is known
    bool in_window = false;                // the sources of all ranks lie in a window that all see
    bool persistent_collectives = true;    // whether the ranks' library has them
    int rows_axis = -1;                    // of the source, along which chunks are cut; -1: chunk_axis decides
};

class Exchange {
  public:
    virtual ~Exchange() = default;
    // Chunk i reads rows chunk_rows(i) of the source along chunk_axis of its spec, so a transform may have made just
    // those when it starts. Strategies that move everything at once have one chunk.
    virtual int chunks() const = 0;
    virtual Status start(int chunk, const void* source, void* target) = 0;
    virtual Status finish(int chunk) = 0;
    // What all runs so far moved through memory by copies of our own, read and written: counted by the copies.
    index_t moved_bytes() const { return moved_bytes_; }
    // Start and finish of each chunk, recorded as "pack" and "unpack"; transfers inside record themselves.
    Status run(const void* source, void* target, Trace* trace = nullptr);

  protected:
    void copied(index_t bytes) { moved_bytes_ += 2 * bytes; }
    void moved(index_t bytes) { moved_bytes_ += bytes; }  // read or written

  private:
    index_t moved_bytes_ = 0;
};

// What a strategy is bound to. Collective over comm, which holds exactly exchange_group(spec, rank) in that order;
// `rank` is in the layouts' numbering. `window` (may be nullptr) holds the local sources of all ranks, numbered as in
// the layouts: whoever runs the exchange on that window's memory saves a copy. `trace` (may be nullptr) is for waits
// that are no transfer's.
struct ExchangeBinding {
    Comm& comm;
    const ExchangeSpec& spec;
    int rank = 0;
    SharedWindow* window = nullptr;
    std::shared_ptr<TraceSwitch> trace{};
};

// Defaults for rows of the table.
Status takes_no_parameter(const ExchangeSpec& spec);
std::vector<std::string> no_parameters(const ExchangeSpec& spec);
int one_chunk(const ExchangeSpec& spec, int rank);
index_t no_buffers(const ExchangeSpec& spec, int rank);

struct ExchangeStrategy {
    const char* name = "";
    const char* source = "";     // the paper
    const char* how = "";        // a few words for explain
    const char* parameter = "";  // what the text after "name:" means, "" where there is none
    // Collective. Makes everything that running needs.
    Result<std::unique_ptr<Exchange>> (*bind)(const ExchangeBinding& binding) = nullptr;
    // Predicts what one run counts: messages, sent_bytes, calls, and memory_bytes (by copies of our own).
    Counts (*predict)(const ExchangeSpec& spec, int rank) = nullptr;
    index_t (*buffer_bytes)(const ExchangeSpec& spec, int rank) = no_buffers;  // packing buffers that bind allocates
    // Whether the strategy can do this on the nodes of the spec, and understands its parameter: Code::unsupported or
    // Code::invalid_argument with the reason.
    Status (*check)(const ExchangeSpec& spec) = takes_no_parameter;
    // Parameters worth trying when the planner looks for the best.
    std::vector<std::string> (*candidates)(const ExchangeSpec& spec) = no_parameters;
    // How many chunks an exchange is cut into (the same on all ranks of a group), for who computes in between.
    int (*chunks)(const ExchangeSpec& spec, int rank) = one_chunk;
    // The rows of this rank's source, along chunk_axis (chunks.hpp), that a chunk moves. nullptr: there is one chunk.
    AxisRange (*rows)(const ExchangeSpec& spec, int rank, int chunk) = nullptr;
    bool overlaps = false;      // a chunk may travel between its start() and its finish(), while others are computed
    bool uses_window = false;   // reads foreign sources where they lie, if they lie in a window
    bool makes_window = false;  // of its own, for which the ranks of a node must have room
    bool approximate = false;   // changes the data; chosen only when asked for by name
};

const std::vector<ExchangeStrategy>& exchange_table();
std::string exchange_names();  // "alltoallw, alltoallv" for messages

// "overlap:4" is strategy overlap with parameter "4". strategy is nullptr for a name that is not in the table.
struct ExchangeChoice {
    const ExchangeStrategy* strategy = nullptr;
    std::string parameter;
};
ExchangeChoice find_exchange(const std::string& text);
std::string exchange_text(const ExchangeStrategy& strategy, const std::string& parameter);
// "alltoallv+oneplane:4" names a strategy for each exchange of a plan, in forward order; one name is for all of them.
std::vector<std::string> split_exchanges(const std::string& text);
std::string join_exchanges(const std::vector<std::string>& each);  // one name where all are alike

// One message to each peer that gets anything: what a strategy sends that moves all at once. Fills messages and
// sent_bytes.
Counts count_pieces(const ExchangeSpec& spec, int rank);

// A piece of a local array as strides.
StridedPart strided_part(const Piece& piece, const Extents& local_shape, index_t elem_bytes);

}  // namespace spanfft
