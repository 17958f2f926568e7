// FileStore: a Store in one ordinary file, with direct I/O where file system and alignment allow it.
//
// Method: two descriptors on one file. Aligned requests go past the page cache (O_DIRECT), which keeps the process's
// memory and the machine's cache free; the rest goes through the cache, which is dropped behind every GiB. Reads
// with slack are widened to whole sectors; the ends of unaligned writes go through the cache, their middle directly.
// Each request is one FileTransfer after another (a read has one; a write up to three: end, middle, end), which do_read
// and do_write carry out with pread and pwrite, and ring_worker.hpp with io_uring: what comes of a result, good or bad,
// is decided here for both.
// Invariant: no byte outside a write's range changes (with slack: up to the end of its last block); a read past the
// end is Code::corrupt_data, never zeros.
#pragma once

#include <ctime>
#include <memory>

#include "disk/store.hpp"

namespace spanfft {

// What the system is asked for next: bytes from offset_bytes of one descriptor to data, or the other way.
struct FileTransfer {
    Run run;  // the request it belongs to
    bool write = false, direct = false;
    bool part = false;  // an end of a write whose middle goes directly
    char* data = nullptr;
    index_t offset_bytes = 0, bytes = 0;  // what is left of it
    index_t end_bytes = 0;                // of the request: where the next transfer begins
};

class FileStore : public Store {
  public:
    static Result<std::unique_ptr<FileStore>> open_input(const std::string& path);
    // A file that another rank created and publishes: for reading and writing.
    static Result<std::unique_ptr<FileStore>> open_output(const std::string& path);
    // Takes over `descriptor`, which is open for reading and writing; `path` is used now to open the direct one.
    static Result<std::unique_ptr<FileStore>> adopt(int descriptor, const std::string& path, index_t size_bytes);
    ~FileStore() override;
    FileStore(const FileStore&) = delete;
    FileStore& operator=(const FileStore&) = delete;

    Status sync() override;
    index_t size_bytes() const override { return size_bytes_; }
    std::string describe() const override;
    int descriptor() const { return buffered_; }
    bool unchanged() const;  // an input's size and time of modification, since it was opened
    int direct_descriptor() const { return direct_; }
    bool direct() const { return direct_ >= 0; }
    FileStore* file() override { return this; }

    // The transfer that begins at byte `from` of the file, inside the run.
    FileTransfer transfer(IoKind kind, const Run& run, index_t from) const;
    int descriptor_for(const FileTransfer& transfer) const { return transfer.direct ? direct_ : buffered_; }
    // Takes in what came of it: bytes, or -errno. True: it is done; false: ask again for what is left.
    Result<bool> settle(FileTransfer& transfer, index_t result);

  protected:
    Status do_read(const Run& run) override { return carry_out(IoKind::read, run); }
    Status do_write(const Run& run) override { return carry_out(IoKind::write, run); }

  private:
    FileStore() = default;
    Status failed(const char* what, const Run& run, int errno_value) const;
    Status carry_out(IoKind kind, const Run& run);
    void choose_read(FileTransfer& next) const;
    void choose_write(FileTransfer& next) const;
    void drop_behind(index_t bytes, bool dirty);

    std::string path_;
    int buffered_ = -1, direct_ = -1;
    index_t size_bytes_ = 0;
    timespec modified_{};  // of an input
    index_t address_alignment_ = kSlackBytes, offset_alignment_ = kSlackBytes;
    std::atomic<index_t> cached_bytes_{0};
};

}  // namespace spanfft
