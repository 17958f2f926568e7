// Timing requests and sweeps of a disk; see disk_probe.hpp.
#include "exec/disk_probe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "core/buffer.hpp"
#include "core/median.hpp"
#include "core/touch.hpp"
#include "disk/async_io.hpp"
#include "disk/output_file.hpp"
#include "disk/pipeline.hpp"
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

// Of the sweeps that are timed: panels of 32 runs, or more, which are computed and written in tiles of 1 MiB.
constexpr index_t kPanelBytes = index_t{8} << 20, kTileBytes = index_t{1} << 20;
constexpr index_t kRunBytes = index_t{256} << 10, kSweptRunBytes = index_t{16} << 10;
constexpr index_t kCachedRunBytes = 2064;  // too short for direct I/O, and no whole sectors
constexpr int kTurns = 11, kCopies = 16;
constexpr double kEnoughSeconds = 20;  // on a slow disk there are fewer turns

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

// Seconds until all of these have moved their files once.
Result<double> timed(const std::vector<Way*>& ways, index_t bytes, index_t step, index_t shift = 0) {
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

// Sweeps over a file that do nothing with it, or copy tiles so many times by all threads: what is read in runs of so
// many bytes, as columns of a matrix, is written in others.
class Sweeps {
  public:
    struct Runs {
        index_t read_bytes = kRunBytes, write_bytes = kTileBytes;
        int copies = 0;
    };
    Sweeps(Store& source, index_t bytes, int threads)
        : source_(source), panels_(bytes / kPanelBytes), team_(threads, {}) {}
    Status started() const { return team_.pipeline.started(); }
    // For the first time; what a byte of that takes.
    Result<double> touch_memory() {
        const auto start = std::chrono::steady_clock::now();
        SPANFFT_ASSIGN(memory_, Buffer::allocate(static_cast<size_t>(2 * kPanelBytes + 2 * kTileBytes)));
        FirstTouch(memory_).touch(memory_.data(), static_cast<index_t>(memory_.bytes()), team_.compute);
        return since(start) / static_cast<double>(memory_.bytes());
    }
    index_t panels() const { return panels_; }
    Result<double> seconds(Store& target, const Runs& runs) {
        PipelineSpec spec;
        spec.steps = tiles();
        spec.steps_per_read = kTilesAPanel;
        spec.source = &source_;
        spec.target = &target;
        spec.memory = memory_.data();
        spec.memory_bytes = static_cast<index_t>(memory_.bytes());
        const index_t rows = kPanelBytes / runs.read_bytes, written = kTileBytes / runs.write_bytes;
        spec.read_count = [=](index_t) { return rows; };
        spec.read_run = [=, this](index_t panel, index_t slot, index_t i) {
            return Run{(i * panels_ + panel) * runs.read_bytes, read_slot(slot) + i * runs.read_bytes, runs.read_bytes,
                       false};
        };
        spec.write_count = [=](index_t) { return written; };
        spec.write_run = [=, this](index_t tile, index_t slot, index_t i) {
            return Run{(i * tiles() + tile) * runs.write_bytes, write_slot(slot) + i * runs.write_bytes,
                       runs.write_bytes, false};
        };
        spec.compute = [=, this](index_t tile, index_t read, index_t write) {
            copy(tile_in(read, tile), write_slot(write), runs.copies);
            return Status();
        };
        const auto start = std::chrono::steady_clock::now();
        SPANFFT_TRY(team_.pipeline.run(spec));
        return since(start);
    }
    // What the copying of a whole sweep takes alone.
    double copying_seconds(int copies) {
        const auto start = std::chrono::steady_clock::now();
        for (index_t tile = 0; tile < tiles(); ++tile)
            copy(tile_in(tile / kTilesAPanel % 2, tile), write_slot(tile % 2), copies);
        return since(start);
    }

  private:
    static constexpr index_t kTilesAPanel = kPanelBytes / kTileBytes;
    index_t tiles() const { return panels_ * kTilesAPanel; }
    char* read_slot(index_t slot) const { return memory_.as<char>() + slot * kPanelBytes; }
    char* write_slot(index_t slot) const { return read_slot(2) + slot * kTileBytes; }
    char* tile_in(index_t slot, index_t tile) const { return read_slot(slot) + tile % kTilesAPanel * kTileBytes; }
    void copy(const char* from, char* to, int copies) {
        if (copies == 0) return;
        const index_t each = kTileBytes / team_.compute.size();
        team_.compute.run([&](int thread) {
            for (int i = 0; i < copies; ++i)
                std::memcpy(to + thread * each, from + thread * each, static_cast<size_t>(each));
        });
    }

    Store& source_;
    index_t panels_;
    SweepTeam team_;
    Buffer memory_;
};

// What the disk does with requests by themselves, either way.
Status measure_requests(Store& source, Store& target, index_t bytes, Machine& machine) {
    Way fill(IoKind::write, source), read(IoKind::read, source), write(IoKind::write, target);
    SPANFFT_TRY(fill.open());
    SPANFFT_TRY(read.open());
    SPANFFT_TRY(write.open());
    SPANFFT_TRY(timed({&fill, &write}, kLargeBytes, 1).status());  // a file's first layout is another matter
    SPANFFT_ASSIGN(const double reading, timed({&read}, kLargeBytes, 1));
    SPANFFT_ASSIGN(const double writing, timed({&write}, kLargeBytes, 1));
    SPANFFT_ASSIGN(const double short_reading, timed({&read}, kShortBytes, kStep));
    SPANFFT_ASSIGN(const double short_writing, timed({&write}, kShortBytes, kStep));
    SPANFFT_ASSIGN(const double unaligned, timed({&write}, kShortBytes, kStep, kUnalignedBytes));
    const double blocks = static_cast<double>(bytes / kShortBytes);
    machine.disk_read_alone_bytes_per_second = static_cast<double>(bytes) / reading;
    machine.disk_write_alone_bytes_per_second = static_cast<double>(bytes) / writing;
    machine.disk_short_read_seconds = std::max(kLeastRequestSeconds, (short_reading - reading) / blocks);
    machine.disk_short_write_seconds = std::max(kLeastRequestSeconds, (short_writing - writing) / blocks);
    machine.disk_unaligned_write_seconds_per_byte =
        std::max(0.0, (unaligned - short_writing) / static_cast<double>(bytes));
    SPANFFT_ASSIGN(machine.disk_alone_seconds,
                   alone_seconds(read, machine.disk_read_alone_bytes_per_second, machine.disk_short_read_seconds));
    return {};
}

// Ways to sweep that are timed by turns, as a disk that others use too is slower for seconds at a time. The first one
// writes what was never written before; the page cache has what `fetched` read when `cached` reads it.
enum Timed { anew, again, short_reads, short_runs, computed, fetched, cached, kTimed };

struct SweepTimes {  // medians, in seconds
    double starting = 0;
    double touching = 0;  // a byte
    double ways[kTimed] = {};
    double copying = 0;  // alone
    index_t panels = 0;
};

Result<SweepTimes> time_sweeps(const std::string& folder, FileStore& source, index_t bytes, int threads) {
    std::vector<double> starting, touching, found[kTimed], copying;
    std::optional<Sweeps> sweeps;
    for (int turn = 0; turn < kTurns; ++turn) {
        const auto start = std::chrono::steady_clock::now();
        sweeps.emplace(source, bytes, threads);
        SPANFFT_TRY(sweeps->started());
        starting.push_back(since(start));
        SPANFFT_ASSIGN(const double touched, sweeps->touch_memory());
        touching.push_back(touched);
    }
    Sweeps::Runs ways[kTimed];
    ways[short_reads].read_bytes = ways[short_runs].read_bytes = ways[short_runs].write_bytes = kSweptRunBytes;
    ways[fetched].read_bytes = ways[cached].read_bytes = kCachedRunBytes;
    ways[computed].copies = kCopies;
    const auto begun = std::chrono::steady_clock::now();
    for (int turn = 0; turn == 0 || (turn < kTurns && since(begun) < kEnoughSeconds); ++turn) {
        SPANFFT_ASSIGN(const auto target, make_scratch_file(folder, "probe", bytes));
        for (int i = 0; i < kTimed; ++i) {
            // What was written directly is not in the page cache when it is read.
            if (i != cached) (void)posix_fadvise(source.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
            SPANFFT_ASSIGN(const double seconds, sweeps->seconds(*target, ways[i]));
            found[i].push_back(seconds);
        }
        copying.push_back(sweeps->copying_seconds(kCopies));
    }
    SweepTimes times;
    times.starting = median(std::move(starting));
    times.touching = median(std::move(touching));
    for (int i = 0; i < kTimed; ++i) times.ways[i] = median(std::move(found[i]));
    times.copying = median(std::move(copying));
    times.panels = sweeps->panels();
    return times;
}

// Plans add up what is read and what is written, and are to arrive at what a sweep takes that does both at once. How
// reading and writing share it, the requests by themselves have said.
void take_sweep_times(const SweepTimes& times, index_t bytes, Machine& machine) {
    const double (&seconds)[kTimed] = times.ways;
    const double size = static_cast<double>(bytes);
    const double reading = 1 / machine.disk_read_alone_bytes_per_second,
                 writing = 1 / machine.disk_write_alone_bytes_per_second;
    const double rewriting = seconds[again] * writing / (reading + writing);
    machine.disk_start_seconds = times.starting;
    machine.memory_touch_seconds_per_byte = times.touching;
    machine.disk_read_bytes_per_second = size / (seconds[again] - rewriting);
    machine.disk_rewrite_bytes_per_second = size / rewriting;
    machine.disk_write_bytes_per_second = size / (rewriting + std::max(0.0, seconds[anew] - seconds[again]));
    const auto each = [&](Timed more, Timed less, index_t run_bytes) {
        return std::max(kLeastRequestSeconds, (seconds[more] - seconds[less]) / static_cast<double>(bytes / run_bytes));
    };
    machine.disk_request_seconds = each(short_reads, again, kSweptRunBytes) * machine.disk_queue_depth;
    machine.disk_write_request_seconds = each(short_runs, short_reads, kSweptRunBytes) * machine.disk_queue_depth;
    machine.disk_cached_seconds =
        std::max(kLeastRequestSeconds, (seconds[cached] - rewriting) / (size / double{kCachedRunBytes}));
    machine.disk_cached_seconds_per_byte =
        std::max(1 / machine.disk_read_bytes_per_second, (seconds[fetched] - seconds[cached]) / size);
    const double pages = static_cast<double>(sysconf(_SC_PHYS_PAGES)),
                 page = static_cast<double>(sysconf(_SC_PAGESIZE));
    machine.page_cache_bytes = pages * page / 2;  // programs need some
    const double hidden = seconds[again] + times.copying - seconds[computed];
    const double could_be = std::min(seconds[again], times.copying) * (1 - 1 / static_cast<double>(times.panels));
    machine.disk_compute_share = std::clamp(hidden / could_be, 0.0, 1.0);
}

class TimedScratch final : public ScratchProbe {
  public:
    Status open(const std::vector<std::string>& folders, bool quick) {
        const index_t each = ceil_div(index_t{quick ? 32 : 128} << 20, std::ssize(folders) * kLargeBytes) * kLargeBytes;
        for (const std::string& folder : folders) {
            SPANFFT_ASSIGN(auto file, make_scratch_file(folder, "probe", each));
            files_.push_back(std::move(file));
            for (auto* ways : {&writes_, &reads_}) {
                ways->push_back(std::make_unique<Way>(ways == &writes_ ? IoKind::write : IoKind::read, *files_.back()));
                SPANFFT_TRY(ways->back()->open());
            }
            bytes_ += each;
        }
        return {};
    }
    Result<double> write() override { return timed_all(writes_); }
    Result<double> read() override { return timed_all(reads_); }

  private:
    using Ways = std::vector<std::unique_ptr<Way>>;

    Result<double> timed_all(const Ways& ways) const {
        std::vector<Way*> all;
        for (const auto& way : ways) all.push_back(way.get());
        SPANFFT_ASSIGN(const double seconds, timed(all, kLargeBytes, 1));
        return seconds / static_cast<double>(bytes_);
    }

    std::vector<std::unique_ptr<FileStore>> files_;
    Ways writes_, reads_;  // they stop before the files go
    index_t bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<ScratchProbe>> ScratchProbe::make(const std::vector<std::string>& folders, bool quick) {
    auto made = std::make_unique<TimedScratch>();
    SPANFFT_TRY(made->open(folders, quick));
    return std::unique_ptr<ScratchProbe>(std::move(made));
}

Status probe_disk(const std::string& folder, bool quick, Machine& machine) {
    const index_t bytes = index_t{quick ? 64 : 128} << 20;
    SPANFFT_ASSIGN(const auto source, make_scratch_file(folder, "probe", bytes));
    {
        SPANFFT_ASSIGN(const auto target, make_scratch_file(folder, "probe", bytes));
        SPANFFT_TRY(measure_requests(*source, *target, bytes, machine));
    }
    SPANFFT_ASSIGN(const SweepTimes times, time_sweeps(folder, *source, bytes, machine.cores));
    take_sweep_times(times, bytes, machine);
    return {};
}

}  // namespace spanfft
