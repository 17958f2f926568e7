// What a crash leaves; see crash_disk.hpp.
#include "support/crash_disk.hpp"

#include <algorithm>
#include <cstring>

namespace spanfft::test {

class CrashDisk::Disk : public Store {
  public:
    Disk(CrashDisk& all, size_t bytes)
        : cache(bytes, '\xA5'), durable(bytes, '\xA5'), written(bytes, false), all_(all) {}
    Status sync() override {
        std::lock_guard lock(all_.mutex_);
        SPANFFT_TRY(all_.next("flush"));
        for (const Queued& write : queue) durable.replace(write.at, write.bytes.size(), write.bytes);
        queue.clear();
        return {};
    }
    index_t size_bytes() const override { return static_cast<index_t>(cache.size()); }
    std::string describe() const override { return "a disk that may crash"; }

    struct Queued {
        size_t at;
        std::string bytes;
    };
    std::string cache, durable;
    std::vector<bool> written;
    std::vector<Queued> queue;

  protected:
    Status do_read(const Run& run) override {
        std::lock_guard lock(all_.mutex_);
        SPANFFT_TRY(all_.next("read"));
        SPANFFT_TRY(check_range(run));
        std::memcpy(run.data, cache.data() + run.offset_bytes, static_cast<size_t>(run.bytes));
        return {};
    }
    Status do_write(const Run& run) override {
        std::lock_guard lock(all_.mutex_);
        const bool before = all_.crashed();
        const Status status = all_.next("write");
        // What was under way when the power went may have arrived in part.
        if (!status.ok() && (before || all_.transient_)) return status;
        SPANFFT_TRY(check_range(run));
        const auto at = static_cast<size_t>(run.offset_bytes), bytes = static_cast<size_t>(run.bytes);
        queue.push_back({at, std::string(static_cast<const char*>(run.data), bytes)});
        cache.replace(at, bytes, queue.back().bytes);
        std::fill_n(written.begin() + static_cast<std::ptrdiff_t>(at), bytes, true);
        return status;
    }

  private:
    CrashDisk& all_;
};

CrashDisk::CrashDisk(unsigned seed) : random_(seed) {}
CrashDisk::~CrashDisk() = default;

Store& CrashDisk::add(index_t bytes) {
    disks_.push_back(std::make_unique<Disk>(*this, static_cast<size_t>(bytes)));
    return *disks_.back();
}

void CrashDisk::crash_at(index_t operation, bool transient) {
    std::lock_guard lock(mutex_);
    operations_ = 0;
    crash_at_ = operation;
    transient_ = transient;
}

Status CrashDisk::next(const char* what) {
    ++operations_;
    const bool fails = crash_at_ > 0 && (transient_ ? operations_ == crash_at_ : operations_ >= crash_at_);
    return fails ? error(Code::io_error, "simulated crash at ", what, " number ", operations_) : Status();
}

Status CrashDisk::append(const std::string& line) {
    std::lock_guard lock(mutex_);
    const bool before = crashed();
    const Status status = next("line");
    if (status.ok()) {
        journal_ += journal_line(line);
    } else if (!before && !transient_) {
        torn_line_ = journal_line(line);
    }
    return status;
}

void CrashDisk::restart() {
    std::lock_guard lock(mutex_);
    for (auto& disk : disks_) {
        for (const Disk::Queued& write : disk->queue) {
            const auto fate = random_() % 3;
            if (fate == 0) continue;
            for (size_t from = 0; from < write.bytes.size(); from += 512) {
                if (fate == 2 && random_() % 2 == 0) continue;
                const size_t bytes = std::min<size_t>(512, write.bytes.size() - from);
                disk->durable.replace(write.at + from, bytes, write.bytes, from, bytes);
            }
        }
        disk->queue.clear();
        disk->cache = disk->durable;
    }
    if (!torn_line_.empty()) journal_ += torn_line_.substr(0, random_() % (torn_line_.size() + 1));
    torn_line_.clear();
    index_t whole = 0;
    const auto lines = parse_journal(journal_, "journal", whole);
    if (lines.ok()) journal_.resize(static_cast<size_t>(whole));  // as Journal::open does
    crash_at_ = operations_ = 0;
}

std::vector<std::string> CrashDisk::lines() const {
    index_t whole = 0;
    const auto lines = parse_journal(journal_, "journal", whole);
    return lines.ok() ? lines.value() : std::vector<std::string>{"panels 99 99 the journal is spoiled"};
}

void CrashDisk::flip(size_t index, index_t byte, int bit) {
    for (std::string* bytes : {&disks_[index]->cache, &disks_[index]->durable}) {
        char& c = (*bytes)[static_cast<size_t>(byte)];
        c = static_cast<char>(static_cast<unsigned char>(c) ^ (1U << bit));
    }
}

std::string CrashDisk::content(size_t index) const { return disks_[index]->cache; }

void CrashDisk::forget_writes() {
    for (auto& disk : disks_) disk->written.assign(disk->written.size(), false);
}

bool CrashDisk::was_written(size_t index, index_t byte) const {
    return disks_[index]->written[static_cast<size_t>(byte)];
}

}  // namespace spanfft::test
