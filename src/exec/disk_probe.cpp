// Timing large and short requests, each way and both; see disk_probe.hpp.
#include "exec/disk_probe.hpp"

#include <chrono>
#include <cstring>
#include <optional>

#include "core/buffer.hpp"
#include "disk/async_io.hpp"
#include "disk/output_file.hpp"
#include "sweeps/sweep_team.hpp"

namespace spanfft {

namespace {

constexpr index_t kLargeBytes = index_t{1} << 20;
constexpr index_t kShortBytes = index_t{32} << 10;  // runs of about this length are what a plan has to choose about
constexpr index_t kBuffers = 64;                    // as many requests as a ring has under way
constexpr index_t kStep = 7919;  // short blocks are taken this far apart, modulo their number: a prime, so each once

double since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// One direction: its file, its memory, and who does the requests.
class Way {
  public:
    Way(IoKind kind, Store& store) : store_(store), io_(kind, kSweepIoThreads) {}
    Status open() {
        SPANFFT_TRY(io_.started());
        SPANFFT_ASSIGN(memory_, Buffer::allocate(static_cast<size_t>(kBuffers * kLargeBytes)));
        std::memset(memory_.data(), 1, memory_.bytes());
        return io_.attach(store_, memory_.data(), kBuffers * kLargeBytes);
    }
    // The whole file in blocks of so many bytes, `step` blocks apart.
    void start(index_t bytes, index_t step) {
        const index_t blocks = store_.size_bytes() / bytes;
        run_ = [=, this](index_t, index_t, index_t i) {
            return Run{i * step % blocks * bytes, memory_.as<char>() + i % kBuffers * bytes, bytes, false};
        };
        batch_.emplace();
        batch_->store = &store_;
        batch_->count = blocks;
        batch_->run = &run_;
        io_.start(*batch_);
    }
    Status wait() { return io_.wait(*batch_); }

  private:
    Store& store_;
    AsyncIo io_;
    Buffer memory_;
    std::function<Run(index_t, index_t, index_t)> run_;
    std::optional<IoBatch> batch_;
};

// Seconds until all of these have moved their files once.
Result<double> timed(std::initializer_list<Way*> ways, index_t bytes, index_t step) {
    const auto start = std::chrono::steady_clock::now();
    for (Way* way : ways) way->start(bytes, step);
    Status status;
    for (Way* way : ways) keep_first(status, way->wait());
    if (!status.ok()) return status;
    return since(start);
}

}  // namespace

Status probe_disk(const std::string& folder, bool quick, Machine& machine) {
    const index_t bytes = index_t{quick ? 64 : 512} << 20;
    SPANFFT_ASSIGN(const auto source, make_scratch_file(folder, "probe", bytes));
    SPANFFT_ASSIGN(const auto target, make_scratch_file(folder, "probe", bytes));
    Way fill(IoKind::write, *source), read(IoKind::read, *source), write(IoKind::write, *target);
    SPANFFT_TRY(fill.open());
    SPANFFT_TRY(read.open());
    SPANFFT_TRY(write.open());
    SPANFFT_TRY(timed({&fill, &write}, kLargeBytes, 1).status());  // a file's first layout is another matter
    SPANFFT_ASSIGN(const double reading, timed({&read}, kLargeBytes, 1));
    SPANFFT_ASSIGN(const double writing, timed({&write}, kLargeBytes, 1));
    SPANFFT_ASSIGN(const double both, timed({&read, &write}, kLargeBytes, 1));
    SPANFFT_ASSIGN(const double both_short, timed({&read, &write}, kShortBytes, kStep));
    // Plans add up what is read and what is written, and are to arrive at the time of both at once.
    const double share = reading / (reading + writing);
    machine.disk_read_bytes_per_second = static_cast<double>(bytes) / (both * share);
    machine.disk_write_bytes_per_second = static_cast<double>(bytes) / (both * (1 - share));
    const double requests = 2 * static_cast<double>(bytes / kShortBytes);
    const double each = std::max(1e-7, (both_short - both) / requests);
    machine.disk_request_seconds = each * machine.disk_queue_depth;
    return {};
}

}  // namespace spanfft
