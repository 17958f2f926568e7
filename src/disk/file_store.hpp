// FileStore: a Store in one ordinary file, with direct I/O where file system and alignment allow it.
//
// Method: two descriptors on one file. Aligned requests go past the page cache (O_DIRECT), which keeps the process's
// memory and the machine's cache free; the rest goes through the cache, which is dropped behind every GiB. Reads
// with slack are widened to whole sectors; the ends of unaligned writes go through the cache, their middle directly.
// Invariant: no byte outside a write's range changes (with slack: up to the end of its last block); a read past the
// end is Code::corrupt_data, never zeros.
#pragma once

#include <memory>

#include "disk/store.hpp"

namespace spanfft {

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
    bool direct() const { return direct_ >= 0; }

  protected:
    Status do_read(const Run& run) override;
    Status do_write(const Run& run) override;

  private:
    FileStore() = default;
    Status failed(const char* what, const Run& run, int errno_value) const;
    Status put(int descriptor, const Run& run, index_t begin, index_t end);
    void drop_behind(index_t bytes, bool dirty);

    std::string path_;
    int buffered_ = -1, direct_ = -1;
    index_t size_bytes_ = 0;
    index_t address_alignment_ = kSlackBytes, offset_alignment_ = kSlackBytes;
    std::atomic<index_t> cached_bytes_{0};
};

}  // namespace spanfft
