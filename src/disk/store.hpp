// Store: bytes on a disk behind one seam. Everything above reads and writes byte ranges of a Store and never sees a
// file descriptor; tests put faulty and simulated ones in its place (tests/support).
//
// Method: positioned requests, many at a time from several threads; each one does all of its bytes or fails with a
// Status that names the store, the byte offset and the errno. A store may lie on several disks (striped_store.hpp):
// then each request has a part on every disk that its bytes touch, and the parts may be done in any order by different
// threads, so that no disk waits for another.
// Invariant: a Store counts every request that succeeded and the payload bytes in it, whatever alignment adds below and
// however many parts it has, so that plans can hold their prediction against it. (A request is counted with the part
// that holds its first byte.)
#pragma once

#include <atomic>
#include <string>

#include "core/counts.hpp"
#include "core/extents.hpp"
#include "core/status.hpp"

namespace spanfft {

// One contiguous request. `slack` says that the bytes around `data` up to the next kSlackBytes boundaries may be
// overwritten by a read, and that data lies as far past such a boundary as offset_bytes does. So a run that starts at
// byte 128 of an .npy file and lands at 128 past a boundary in memory can be fetched with direct I/O from byte 0.
// In a write it says that up to the next multiple of kDirectBytes behind the run, file and memory hold nothing of
// value, so that the last piece of a scratch block can be written directly too.
struct Run {
    index_t offset_bytes = 0;
    void* data = nullptr;
    index_t bytes = 0;
    bool slack = false;
};

constexpr index_t kSlackBytes = 512;    // what reads are widened to: the sector of nearly every disk
constexpr index_t kDirectBytes = 4096;  // what writes must be a multiple of: the block of nearly every file system

// Shorter runs that are written are not split into cached ends and a direct middle: each change between the two costs
// the file's lock. Whole commands in turns, r2c: of 2^29 floats on two ranks in 64 MiB each, runs of 177 KiB, 10.8 s
// all through the cache and 9.4 split (medians of five); of 2^27 in 16 MiB each, runs of 40 KiB, 3.6 s all through the
// cache and 4.5 split (of seven).
constexpr index_t kSplitBytes = index_t{64} << 10;

constexpr int kMaxDisks = 16;  // below one store

struct StoreCounts {
    index_t reads = 0, read_bytes = 0, writes = 0, written_bytes = 0;
};

enum class IoKind { read, write };

class FileStore;

class Store;

// What goes from one store to another (or the same) from here on.
class StoreCounter {
  public:
    StoreCounter(const Store& source, const Store& target);
    Counts counted() const;  // requests and bytes of disks alone

  private:
    const Store &source_, &target_;
    const StoreCounts source_before_, target_before_;
};

class Store {
  public:
    virtual ~Store() = default;
    Status read(const Run& run);
    Status write(const Run& run);

    virtual int disks() const { return 1; }
    virtual Store& disk(int /*index*/) { return *this; }
    // The first piece of `run` on a disk at or behind the store's byte `from`, as a run of disk(index); moves `from`
    // behind it. False: there is none.
    virtual bool next_piece(const Run& run, int index, index_t& from, Run& piece) const;
    // All pieces of `run` on one disk; adds their payload to `bytes`.
    Status transfer_part(IoKind kind, const Run& run, int index, index_t& bytes);
    // For whoever does the transfer instead: what succeeded, to be counted.
    void count(IoKind kind, index_t requests, index_t bytes);
    virtual FileStore* file() { return nullptr; }               // what io_uring can be asked for; others are called
    virtual const char* why_called() const { return nullptr; }  // for a report, where that needs a reason
    virtual bool is_disk() const { return true; }               // else what it moves is not counted as such
    // Of a store that is no file: whether many threads may call it at once, with the little stack that they have.
    virtual bool takes_many() const { return false; }

    virtual Status sync() = 0;  // returns when everything written would survive a power cut
    virtual index_t size_bytes() const = 0;
    virtual std::string describe() const = 0;                // path and how it is accessed, for messages
    std::string describe_range(index_t begin, index_t end);  // the same of the disks that these bytes are on
    StoreCounts counts() const;

    Status check_range(const Run& run) const;  // whether all of it is inside the store

  protected:
    virtual Status do_read(const Run& run) = 0;
    virtual Status do_write(const Run& run) = 0;

  private:
    std::atomic<index_t> reads_{0}, read_bytes_{0}, writes_{0}, written_bytes_{0};
};

}  // namespace spanfft
