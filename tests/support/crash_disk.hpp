// CrashDisk: stores in memory and a journal that lose power together.
//
// Model: what is written lies in a volatile cache until the store is synced; reads see the cache. Operations on all
// stores and lines of the journal are numbered 1, 2, 3, ...; from number `crash_at` on all fail. restart() then decides
// for each write that was not synced whether it is kept, dropped or torn (a part of it arrives, in units of 512 bytes),
// and for a line that was being appended whether it is whole, torn or absent. With `transient` only that one operation
// fails and nothing is lost.
#pragma once

#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "disk/journal.hpp"
#include "disk/store.hpp"

namespace spanfft::test {

class CrashDisk : public LineSink {
  public:
    explicit CrashDisk(unsigned seed);
    ~CrashDisk() override;
    Store& add(index_t bytes);
    void crash_at(index_t operation, bool transient);  // counted from now on; 0: never
    index_t operations() const { return operations_; }
    bool crashed() const { return crash_at_ > 0 && operations_ >= crash_at_; }
    Status append(const std::string& line) override;
    void restart();                          // after a crash: what is left is on the disk, and it works again
    std::vector<std::string> lines() const;  // as a new start reads the journal
    // A byte of store `index`, as it is on the disk and in the cache.
    void flip(size_t index, index_t byte, int bit);
    std::string content(size_t index) const;
    bool was_written(size_t index, index_t byte) const;  // since it was made, or forget_writes()
    void forget_writes();

  private:
    class Disk;
    Status next(const char* what);  // under the lock

    std::mt19937_64 random_;
    mutable std::mutex mutex_;
    std::vector<std::unique_ptr<Disk>> disks_;
    std::string journal_;
    std::string torn_line_;
    index_t operations_ = 0, crash_at_ = 0;
    bool transient_ = false;
};

}  // namespace spanfft::test
