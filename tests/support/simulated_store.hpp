// Stores for tests: one in memory, and one that fails at a chosen operation.
//
// FaultyStore's model: the operations on all stores that share a FaultPlan are numbered 1, 2, 3, ... in the order in
// which they reach it; number `fail_at` fails, and with `persistent` all later ones too. A failed write may have
// written half of its bytes (torn), as disks do. With fail_at == 0 nothing fails and the operations are counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "disk/store.hpp"

namespace spanfft::test {

// Bytes that were never written read as 0xA5, so that a missing write shows; a byte written twice is counted.
class MemoryStore : public Store {
  public:
    explicit MemoryStore(index_t bytes)
        : bytes_(static_cast<size_t>(bytes), std::byte{0xA5}), writes_of_(bytes_.size(), 0) {}
    template <class T>
    T* as() {
        return reinterpret_cast<T*>(bytes_.data());
    }
    std::byte* data() { return bytes_.data(); }
    int writes_of(index_t byte) const { return writes_of_[static_cast<size_t>(byte)]; }
    // Of runs that files write directly if memory lies as far past a block as the file: those for which it does not.
    index_t writes_off_blocks() const { return writes_off_blocks_; }
    Status sync() override { return {}; }
    index_t size_bytes() const override { return static_cast<index_t>(bytes_.size()); }
    std::string describe() const override { return "memory"; }

  protected:
    Status do_read(const Run& run) override;
    Status do_write(const Run& run) override;

  private:
    std::vector<std::byte> bytes_;
    std::vector<unsigned char> writes_of_;
    std::atomic<index_t> writes_off_blocks_{0};
};

struct FaultPlan {
    index_t fail_at = 0;
    bool persistent = false;
    Code code = Code::io_error;
    std::atomic<index_t> operations{0};
};

class FaultyStore : public Store {
  public:
    FaultyStore(Store& inner, FaultPlan& plan) : inner_(inner), plan_(plan) {}
    Status sync() override;
    index_t size_bytes() const override { return inner_.size_bytes(); }
    std::string describe() const override { return "faulty " + inner_.describe(); }

  protected:
    Status do_read(const Run& run) override;
    Status do_write(const Run& run) override;

  private:
    Status next(const char* what, index_t offset_bytes);
    Store& inner_;
    FaultPlan& plan_;
};

// A fresh folder that goes away with its contents.
class TemporaryFolder {
  public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::string& path() const { return path_; }
    std::string file(const std::string& name) const { return path_ + "/" + name; }
    std::vector<std::string> names() const;  // of everything in it, hidden files too, sorted

  private:
    std::string path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& content);

}  // namespace spanfft::test
