// ParallelDisks: N records in blocks on D disks, as the Parallel Disk Model has them, and sweeps over them.
//
// Method: block q (records q*B to q*B + B-1) is on disk q mod D, in stripe q div D. All D are one Store in which
// stripes follow each other: an ordinary file, which is read and written as if it were D disks, or one that really is
// striped over D of them in blocks of B (striped_store.hpp). A parallel I/O moves at most one block of each disk:
// striped, when these are the D blocks of one stripe, or independent. A sweep takes memoryloads one after the other:
// reads the blocks of one, computes, writes as many blocks. Synchronously each of the three waits for the one before;
// asynchronously the next memoryload is read and the last one written meanwhile, for which memory must hold 3 of them
// instead of 1, or 4 instead of 2 where compute does not work in place. So the memoryload M of the model is a half or a
// quarter of the memory that there is (P1: async buffers reduce the effective memory size), and a whole or a third
// where nothing else is done than in place.
// Of disks that processors share, one may be seen by itself: the D/P of one processor, whose blocks are counted as if
// there were no others; what each does of a parallel I/O is at most a block of each of its disks.
// Invariant: a parallel I/O with two blocks of one disk is an error, never two I/Os; counts are taken when transfers
// are begun, from the blocks that they really name.
// Source: P1, section 4 and figure 3; Vitter and Shriver (P1's [16]).
#pragma once

#include <functional>
#include <vector>

#include "disk/pipeline.hpp"
#include "disk/store.hpp"

namespace spanfft {

// Parallel I/Os.
struct PdmCounts {
    index_t striped_reads = 0, independent_reads = 0, striped_writes = 0, independent_writes = 0;
    index_t total() const { return striped_reads + independent_reads + striped_writes + independent_writes; }
    PdmCounts& operator+=(const PdmCounts& other);
    bool operator==(const PdmCounts&) const = default;
};

// As a Store its bytes are those of blocks 0, 1, 2, ... in order.
class ParallelDisks : public Store {
  public:
    // Block q is at byte offset + q * block_bytes of the store, and counted as on disk q mod D.
    // `share`: of so many processors that have as many disks each, this one's blocks.
    struct Share {
        index_t processor = 0, processors = 1;
    };
    ParallelDisks(Store& store, int disks, index_t offset_bytes, index_t blocks, index_t block_bytes, Share share);
    ParallelDisks(Store& store, int disks, index_t offset_bytes, index_t blocks, index_t block_bytes)
        : ParallelDisks(store, disks, offset_bytes, blocks, block_bytes, Share{}) {}

    // What lies below the store, for whoever does the transfers.
    int disks() const override { return store_.disks(); }
    Store& disk(int index) override { return store_.disk(index); }
    bool next_piece(const Run& run, int index, index_t& from, Run& piece) const override;
    index_t blocks() const { return blocks_; }
    index_t block_bytes() const { return block_bytes_; }
    // Counts the parallel I/Os that blocks block(0), block(1), ... block(count-1) are, D at a time, which are about to
    // be transferred. Refuses a second block on one disk.
    Status note(AsyncIo::Kind kind, const std::function<index_t(index_t i)>& block, index_t count);
    const PdmCounts& parallel_ios() const { return counts_; }

    Status sync() override { return store_.sync(); }
    index_t size_bytes() const override { return blocks_ * block_bytes_; }
    std::string describe() const override;

  protected:
    Status do_read(const Run& run) override { return transfer(IoKind::read, run); }
    Status do_write(const Run& run) override { return transfer(IoKind::write, run); }

  private:
    // In the store: where byte `byte` lies, and how many bytes from there on lie side by side.
    index_t byte_below(index_t byte) const;
    index_t bytes_together(index_t byte) const;
    // The first piece of a run at or behind byte `from` that is one there; false: there is none.
    bool piece_below(const Run& run, index_t from, Run& piece) const;
    Status transfer(IoKind kind, const Run& run);

    Store& store_;
    const int disks_;  // D of the model
    const index_t offset_bytes_, blocks_, block_bytes_;
    const Share share_;
    // By the thread that runs the sweep:
    PdmCounts counts_;
    index_t note_number_ = 0;
    std::vector<index_t> last_note_;  // that named a block of each disk
};

enum class IoMode { synchronous, asynchronous };

// Memoryloads that memory holds at once.
constexpr index_t sweep_buffers(bool in_place, IoMode mode) {
    if (mode == IoMode::synchronous) return in_place ? 1 : 2;
    return in_place ? 3 : 4;
}

// With what a sweep of memoryloads is done, and from where on.
struct SweepMeans {
    Pipeline* pipeline = nullptr;
    char* memory = nullptr;  // sweep_buffers() memoryloads
    IoMode mode = IoMode::asynchronous;
    index_t first_load = 0;   // those before were done
    index_t writes_from = 0;  // those before are computed, but were written
    // May be empty: adds to the pipeline's groups, which are memoryloads, what is to happen besides.
    std::function<void(PipelineSpec& pipeline)> dress;
};

struct DiskSweep {
    ParallelDisks* source = nullptr;
    ParallelDisks* target = nullptr;
    index_t loads = 0, blocks_per_load = 0;
    // The i-th block of a memoryload: it lies at i * block_bytes in memory.
    std::function<index_t(index_t load, index_t i)> source_block, target_block;
    bool in_place = false;  // in == out
    std::function<Status(index_t load, char* in, char* out)> compute;
};

Status run_sweep(const DiskSweep& sweep, const SweepMeans& means);

}  // namespace spanfft
