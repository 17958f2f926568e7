// Timing large and small requests on a file; see disk_probe.hpp.
#include "exec/disk_probe.hpp"

#include <chrono>
#include <cstring>

#include "core/buffer.hpp"
#include "disk/async_io.hpp"
#include "disk/output_file.hpp"
#include "plan/passes/pass_step.hpp"

namespace spanfft {

namespace {

constexpr index_t kLargeBytes = index_t{1} << 20, kSmallBytes = 4096;
constexpr index_t kBuffers = 64;  // buffers: as many requests as a ring has under way
constexpr index_t kBatch = 1024;  // small requests between two looks at the clock
constexpr index_t kStep = 7919;   // small blocks are taken this far apart, modulo their number: a prime, so each once
constexpr double kSmallSeconds = 1.5;

struct Work {
    Store* store = nullptr;
    char* memory = nullptr;
    index_t blocks_of(index_t bytes) const { return store->size_bytes() / bytes; }
};

double since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Seconds for requests [first, first + count) of `bytes` each, `step` blocks apart.
Result<double> timed(AsyncIo& io, const Work& work, index_t bytes, index_t step, index_t first, index_t count) {
    const index_t blocks = work.blocks_of(bytes);
    const std::function<Run(index_t, index_t, index_t)> run = [&](index_t, index_t, index_t i) {
        return Run{(first + i) * step % blocks * bytes, work.memory + i % kBuffers * bytes, bytes, false};
    };
    IoBatch batch;
    batch.store = work.store;
    batch.count = count;
    batch.run = &run;
    const auto start = std::chrono::steady_clock::now();
    io.start(batch);
    SPANFFT_TRY(io.wait(batch));
    return since(start);
}

struct Figures {
    double bytes_per_second = 0, request_seconds = 0;  // of a small request, beyond its bytes
};

Result<Figures> measure(IoKind kind, const Work& work, bool quick) {
    AsyncIo io(kind, kPassIoThreads);
    SPANFFT_TRY(io.started());
    SPANFFT_TRY(io.attach(*work.store, work.memory, kBuffers * kLargeBytes));
    Figures figures;
    const index_t large = work.blocks_of(kLargeBytes);
    SPANFFT_ASSIGN(const double seconds, timed(io, work, kLargeBytes, 1, 0, large));
    figures.bytes_per_second = static_cast<double>(large * kLargeBytes) / seconds;
    double small_seconds = 0;
    index_t done = 0;
    for (const index_t most = work.blocks_of(kSmallBytes); done + kBatch <= most; done += kBatch) {
        SPANFFT_ASSIGN(const double more, timed(io, work, kSmallBytes, kStep, done, kBatch));
        small_seconds += more;
        if (small_seconds > (quick ? kSmallSeconds / 5 : kSmallSeconds)) {
            done += kBatch;
            break;
        }
    }
    const double each = small_seconds / static_cast<double>(done);
    figures.request_seconds = std::max(1e-7, each - static_cast<double>(kSmallBytes) / figures.bytes_per_second);
    io.detach();
    return figures;
}

}  // namespace

Status probe_disk(const std::string& folder, bool quick, Machine& machine) {
    const index_t bytes = index_t{quick ? 64 : 512} << 20;
    SPANFFT_ASSIGN(const auto file, make_scratch_file(folder, "probe", bytes));
    SPANFFT_ASSIGN(const Buffer memory, Buffer::allocate(static_cast<size_t>(kBuffers * kLargeBytes)));
    std::memset(memory.data(), 1, memory.bytes());
    const Work work{file.get(), memory.as<char>()};
    SPANFFT_TRY(measure(IoKind::write, work, true).status());  // a file's first layout is another matter
    SPANFFT_ASSIGN(const Figures writes, measure(IoKind::write, work, quick));
    SPANFFT_TRY(file->sync());
    SPANFFT_ASSIGN(const Figures reads, measure(IoKind::read, work, quick));
    machine.disk_write_bytes_per_second = writes.bytes_per_second;
    machine.disk_read_bytes_per_second = reads.bytes_per_second;
    machine.disk_request_seconds = (reads.request_seconds + writes.request_seconds) / 2 * machine.disk_queue_depth;
    return {};
}

}  // namespace spanfft
