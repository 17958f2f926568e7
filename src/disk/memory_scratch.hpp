// MemoryScratch: scratch that is not on a disk, as there is memory for it. It lies in memory of its caller's.
#pragma once

#include "disk/store.hpp"

namespace spanfft {

class MemoryScratch final : public Store {
  public:
    MemoryScratch(void* memory, index_t bytes) : memory_(static_cast<char*>(memory)), bytes_(bytes) {}
    bool takes_many() const override { return true; }
    bool is_disk() const override { return false; }
    Status sync() override { return {}; }
    index_t size_bytes() const override { return bytes_; }
    std::string describe() const override { return "scratch in memory"; }

  protected:
    Status do_read(const Run& run) override;
    Status do_write(const Run& run) override;

  private:
    char* const memory_;
    const index_t bytes_;
};

}  // namespace spanfft
