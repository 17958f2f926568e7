// Timing large and short requests, each way and both; see disk_probe.hpp.
#include "exec/disk_probe.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "core/buffer.hpp"
#include "disk/async_io.hpp"
#include "disk/output_file.hpp"
#include "sweeps/sweep_team.hpp"

namespace spanfft {

namespace {

constexpr index_t kLargeBytes = index_t{1} << 20;
constexpr index_t kShortBytes = index_t{32} << 10;  // runs of about this length are what a plan has to choose about
constexpr index_t kUnalignedBytes = 136;            // past a block's beginning, as behind an .npy file's header
constexpr double kLeastRequestSeconds = 1e-7;
constexpr index_t kBuffers = 64;           // as many requests as a ring has under way
constexpr index_t kDepths[] = {1, 4, 16};  // requests at once, fewer than a ring has
constexpr index_t kSampled = 512;          // requests at each of these depths
constexpr index_t kStep = 7919;  // short blocks are taken this far apart, modulo their number: a prime, so each once

double since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// One direction: its file, its memory, and who does the requests.
class Way {
  public:
    Way(IoKind kind, Store& store) : kind_(kind), store_(store), io_(kind, kSweepIoThreads) {}
    Status open() {
        SPANFFT_TRY(io_.started());
        SPANFFT_ASSIGN(memory_, Buffer::allocate(static_cast<size_t>(kBuffers * kLargeBytes)));
        std::memset(memory_.data(), 1, memory_.bytes());
        return io_.attach(store_, memory_.data(), kBuffers * kLargeBytes);
    }
    // The whole file in blocks of so many bytes, `step` blocks apart, but for what a shift leaves over at the end.
    void start(index_t bytes, index_t step, index_t shift) {
        start(bytes, step, shift, 0, (store_.size_bytes() - shift) / bytes);
    }
    // Of these blocks `count`, from the first-th on.
    void start(index_t bytes, index_t step, index_t shift, index_t first, index_t count) {
        const index_t blocks = (store_.size_bytes() - shift) / bytes;
        run_ = [=, this](index_t, index_t, index_t i) {
            const index_t block = (first + i) * step % blocks;
            return Run{block * bytes + shift, memory_.as<char>() + i % kBuffers * bytes, bytes, false};
        };
        batch_.emplace();
        batch_->store = &store_;
        batch_->count = count;
        batch_->run = &run_;
        io_.start(*batch_);
    }
    // Until it is done, and what went through the page cache is on the disk.
    Status wait(IoKind kind) {
        SPANFFT_TRY(io_.wait(*batch_));
        return kind == IoKind::write ? store_.sync() : Status();
    }
    IoKind kind() const { return kind_; }

  private:
    IoKind kind_;
    Store& store_;
    AsyncIo io_;
    Buffer memory_;
    std::function<Run(index_t, index_t, index_t)> run_;
    std::optional<IoBatch> batch_;
};

// Threads that copy memory, each its own, until they are told to stop: what computes beside a disk.
class Copiers {
  public:
    Status open(int threads) {
        arrays_.resize(static_cast<size_t>(threads));
        for (Buffer& array : arrays_) {
            SPANFFT_ASSIGN(array, Buffer::allocate(static_cast<size_t>(2 * kEachBytes)));
            std::memset(array.data(), 1, array.bytes());
        }
        return {};
    }
    // What all of them copy while `work` goes on, in bytes.
    template <class Work>
    double copied_during(const Work& work) {
        std::atomic<bool> stop = false;
        std::atomic<index_t> blocks = 0;
        std::vector<std::thread> threads;
        for (Buffer& array : arrays_) {
            threads.emplace_back([&stop, &blocks, to = array.as<char>(), from = array.as<char>() + kEachBytes] {
                for (index_t at = 0; !stop; at = (at + kLargeBytes) % kEachBytes, ++blocks)
                    std::memcpy(to + at, from + at, static_cast<size_t>(kLargeBytes));
            });
        }
        work();
        stop = true;
        for (std::thread& thread : threads) thread.join();
        return static_cast<double>(blocks) * static_cast<double>(kLargeBytes);
    }

  private:
    static constexpr index_t kEachBytes = index_t{32} << 20;  // beyond what caches hold
    std::vector<Buffer> arrays_;
};

// Seconds until all of these have moved their files once.
Result<double> timed(std::initializer_list<Way*> ways, index_t bytes, index_t step, index_t shift = 0) {
    const auto start = std::chrono::steady_clock::now();
    for (Way* way : ways) way->start(bytes, step, shift);
    Status status;
    for (Way* way : ways) keep_first(status, way->wait(way->kind()));
    if (!status.ok()) return status;
    return since(start);
}

// What one request takes beyond its bytes with no other under way: by reads of short blocks so many at once, each of
// which takes the larger of this over their number and what it takes in a full queue. Of the depths at which the queue
// is not what counts, the median.
Result<double> alone_seconds(Way& read, double bytes_per_second, double in_a_full_queue) {
    std::vector<double> found;
    for (const index_t depth : kDepths) {
        const auto start = std::chrono::steady_clock::now();
        for (index_t first = 0; first < kSampled; first += depth) {
            read.start(kShortBytes, kStep, 0, first, depth);
            SPANFFT_TRY(read.wait(IoKind::read));
        }
        const double each = since(start) / kSampled - static_cast<double>(kShortBytes) / bytes_per_second;
        if (found.empty() || each > 2 * in_a_full_queue) found.push_back(each * static_cast<double>(depth));
    }
    std::sort(found.begin(), found.end());
    return std::max(in_a_full_queue, found[found.size() / 2]);
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
    SPANFFT_ASSIGN(const double short_reading, timed({&read}, kShortBytes, kStep));
    SPANFFT_ASSIGN(const double short_writing, timed({&write}, kShortBytes, kStep));
    SPANFFT_ASSIGN(const double unaligned, timed({&write}, kShortBytes, kStep, kUnalignedBytes));
    const double blocks = static_cast<double>(bytes / kShortBytes);
    machine.disk_short_read_seconds = std::max(kLeastRequestSeconds, (short_reading - reading) / blocks);
    machine.disk_short_write_seconds = std::max(kLeastRequestSeconds, (short_writing - writing) / blocks);
    machine.disk_unaligned_write_seconds_per_byte =
        std::max(0.0, (unaligned - short_writing) / static_cast<double>(bytes));
    // Plans add up what is read and what is written, and are to arrive at the time of both at once.
    const double share = reading / (reading + writing);
    machine.disk_read_bytes_per_second = static_cast<double>(bytes) / (both * share);
    machine.disk_write_bytes_per_second = static_cast<double>(bytes) / (both * (1 - share));
    const double each = std::max(kLeastRequestSeconds, (both_short - both) / (2 * blocks));
    machine.disk_request_seconds = each * machine.disk_queue_depth;
    SPANFFT_ASSIGN(machine.disk_alone_seconds, alone_seconds(read, static_cast<double>(bytes) / reading, each));

    Copiers copiers;
    SPANFFT_TRY(copiers.open(machine.cores));
    const auto pause = std::chrono::duration<double>(both);
    const double alone = copiers.copied_during([&] { std::this_thread::sleep_for(pause); }) / both;
    Result<double> beside = 0.0;
    const double copied = copiers.copied_during([&] { beside = timed({&read, &write}, kLargeBytes, 1); });
    if (!beside.ok()) return beside.status();
    const double computing = copied / alone;
    machine.all_threads_bytes_per_second = alone;
    machine.disk_compute_share = std::clamp((both + computing - beside.value()) / std::min(both, computing), 0.0, 1.0);
    return {};
}

}  // namespace spanfft
