// Comm: the seam between spanfft and whatever carries data between ranks (nothing, MPI, a simulation).
//
// Method: small agreements block; bulk data moves through Transfers, made once at planning from a description of
// what goes where and then started and finished many times. Sizes are 64-bit throughout.
// Invariant: methods marked collective are called by all ranks in the same order, and so fail together only if
// the implementation can arrange it; use agree() at phase boundaries.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/extents.hpp"
#include "core/status.hpp"

namespace spanfft {

// A part of memory in strides: nested loops, slowest first, over elements of elem_bytes. Any dim with count 0 is
// nothing.
struct StridedDim {
    index_t count = 0;
    index_t stride_bytes = 0;
};
struct StridedPart {
    index_t offset_bytes = 0;
    std::vector<StridedDim> dims;
    index_t elem_bytes = 0;
    index_t bytes() const {
        index_t total = elem_bytes;
        for (const auto& d : dims) total *= d.count;
        return total;
    }
};

// A contiguous part of a buffer.
struct BytesPart {
    index_t offset_bytes = 0;
    index_t bytes = 0;
};

// One peer of a rank in a list of pairwise messages; either part may be empty.
struct PairParts {
    int peer = 0;
    BytesPart send, receive;
};

// How a collective is issued: start() does all of it, or only begins it.
enum class Issue { blocking, nonblocking };
// How pairwise messages are issued: send and receive one after the other, in the order of the list, in start(); one
// call that sends a part of the target and puts what comes in its place; all at once, waited for in finish().
enum class Pairing { ordered, replace, nonblocking };

// Memory of all ranks that share a node, readable and writable by each of them.
class SharedWindow {
  public:
    virtual ~SharedWindow() = default;
    virtual void* part(int rank) const = 0;  // where the bytes of `rank` begin, in this process
    // Collective over the ranks of the window. What any rank wrote before, all see after. A rank that is found dead
    // is an error, not a hang.
    virtual Status barrier() = 0;
};

// Data on the move: start returns at once, finish waits. Buffers must stay untouched in between. One at a time.
class Transfer {
  public:
    virtual ~Transfer() = default;
    virtual Status start(const void* source, void* target) = 0;
    virtual Status finish() = 0;
    // Of an all-to-all: in starts from now on what comes from rank r lands bytes[r], less than a block of a file,
    // behind where it was to. So memory can lie as a file does whose places change from call to call.
    virtual Status shift_receives(std::span<const index_t> bytes) {
        return error(Code::internal, "a transfer with ", bytes.size(), " places to shift has none");
    }
};

class Comm {
  public:
    virtual ~Comm() = default;
    virtual int rank() const = 0;
    virtual int size() const = 0;
    virtual std::string describe() const = 0;
    // Whether another thread than the one that made this may call it, if they take turns (MPI_THREAD_SERIALIZED).
    virtual bool calls_from_threads() const = 0;
    virtual std::string library() const { return "none"; }  // what carries the data and its version: "MPICH 5.0.2"

    // Whether nonblocking collectives come to an end that ranks look after only now and then.
    virtual bool collectives_progress() const { return true; }
    // From now on who waits in an allgather of this handle, or for a transfer that is made of it and not ordered, gives
    // its core to others: for ranks whose disks and threads have work to do meanwhile, as long as it takes longer than
    // some tens of microseconds. Every transfer only begins in start() then. Not where collectives don't progress.
    // Handles that are made of this one are not: what they carry may be an exchange that was chosen as it is.
    virtual void be_patient() {}
    virtual bool is_patient() const { return false; }

    // Collective. Ranks with one color form a new communicator, ordered by key.
    virtual Result<std::unique_ptr<Comm>> split(int color, int key) = 0;
    // Another handle of the same ranks. Where communicators are few (MPI), both are one: whoever uses either takes
    // turns with the other.
    virtual Result<std::unique_ptr<Comm>> duplicate() = 0;
    // As split, for the ranks of a list (rising, this one among them), each of which gives the same list. May be the
    // communicator of an earlier call: MPI libraries have only a few thousand, and plans mostly use the same few.
    virtual Result<std::unique_ptr<Comm>> group(const std::vector<int>& ranks) { return split(ranks.front(), rank()); }
    virtual Status barrier() = 0;
    // Collective. all gets size() * bytes bytes, in rank order.
    virtual Status allgather(const void* mine, size_t bytes, void* all) = 0;
    virtual Status broadcast(void* data, size_t bytes, int root) = 0;

    // The node of each rank, numbered from 0 in the order of their first ranks: ranks of one node can share a window.
    // Collective the first time.
    virtual Result<std::vector<int>> nodes() = 0;

    // Collective. Part i of the list goes to, or comes from, rank i. alltoallw moves strided parts without
    // packing; alltoallv moves contiguous ones.
    virtual Result<std::unique_ptr<Transfer>> make_alltoallw(const std::vector<StridedPart>& send,
                                                             const std::vector<StridedPart>& receive,
                                                             Issue issue = Issue::nonblocking) = 0;
    virtual Result<std::unique_ptr<Transfer>> make_alltoallv(const std::vector<BytesPart>& send,
                                                             const std::vector<BytesPart>& receive,
                                                             Issue issue = Issue::nonblocking) = 0;
    // Collective. So many bytes of each rank to all, in rank order, as allgather moves them, but in two halves; they
    // count as no message, as little as those of an agreement.
    virtual Result<std::unique_ptr<Transfer>> make_allgather(index_t bytes) = 0;
    // Whether make_persistent_alltoallv can do anything; the same on all ranks.
    virtual bool persistent_collectives() const = 0;
    // Collective. An alltoallv that is bound to its buffers once and only started after (MPI-4); start() ignores its
    // arguments. Code::unsupported where the library has none.
    virtual Result<std::unique_ptr<Transfer>> make_persistent_alltoallv(const void* source,
                                                                        const std::vector<BytesPart>& send,
                                                                        void* target,
                                                                        const std::vector<BytesPart>& receive) = 0;
    // Collective over the ranks that name one another: if a's list has b at a place, b's list has a, with the same
    // sizes. With Pairing::replace each pair's send and receive parts are the same part of the target; start()'s source
    // is not read.
    virtual Result<std::unique_ptr<Transfer>> make_pairs(const std::vector<PairParts>& pairs, Pairing pairing) = 0;
    // Collective. A window with `bytes` of this rank (0 is allowed), whose parts begin on pages; Code::unsupported, on
    // all ranks, when they are on several nodes or have no room for it. Freeing it is not collective where it is of
    // our own making (node_window.hpp).
    virtual Result<std::unique_ptr<SharedWindow>> make_window(index_t bytes) = 0;
    // Why the windows that were made so far, here or in communicators split from this one, are not of the best sort; ""
    // where they are.
    virtual std::string window_note() const { return ""; }

    // An int for each rank, for agree(): made at the first call, so that later ones, while a plan runs, allocate
    // nothing.
    std::vector<int>& codes() {
        codes_.resize(static_cast<size_t>(size()));
        return codes_;
    }

  private:
    std::vector<int> codes_;
};

// One process: everything is a local copy.
std::unique_ptr<Comm> make_self_comm();

// Collective. All ranks return the worst status of all (the highest code, of the lowest rank that has it), with
// that rank named. This is what keeps one rank's error from leaving the others in a collective.
Status agree(Comm& comm, const Status& mine);

// Collective. Fails on all ranks alike when the texts differ, naming the first rank whose text is not rank 0's. Hashes
// are compared first (one allgather of 16 bytes); the texts travel only when they differ.
Status agree_on_text(Comm& comm, const std::string& what, const std::string& mine);

// Collective. Rank 0's text on all ranks.
Status broadcast_text(Comm& comm, std::string& text);

}  // namespace spanfft
