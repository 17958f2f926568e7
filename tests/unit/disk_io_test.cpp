// Who does the requests: io_uring or threads, on files, several disks and simulated stores, with the same bytes and
// counts, the same errors, and no disk idle while it has work.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "core/buffer.hpp"
#include "disk/pipeline.hpp"
#include "disk/striped_store.hpp"
#include "support/simulated_store.hpp"

namespace spanfft::test {
namespace {

using DiskRun = spanfft::Run;  // testing::Test has a Run of its own

constexpr int kThreads = 4;
constexpr index_t kBlockBytes = 64 << 10;

// io_uring may be forbidden, and the temporary folder without direct I/O.
bool rings_work_here() {
    TemporaryFolder folder;
    write_file(folder.file("data"), "x");
    return Ring::make(4, kernel_rings()).ok() && FileStore::open_output(folder.file("data")).value()->direct();
}

// A ring where there is one, and threads.
std::vector<IoChoice> backends() {
    std::vector<IoChoice> all = {{IoBackend::threads, 8, nullptr}};
    if (rings_work_here()) {
        all.push_back({IoBackend::uring, 8, nullptr});
        all.push_back({IoBackend::uring, 1, nullptr});
        all.push_back({IoBackend::automatic, 64, nullptr});
    }
    return all;
}

std::unique_ptr<Store> open_file(const std::string& path, index_t bytes) {
    write_file(path, std::string(static_cast<size_t>(bytes), 'x'));
    return FileStore::open_output(path).value();
}

std::unique_ptr<Store> open_striped(const TemporaryFolder& folder, int disks, index_t block, index_t bytes) {
    std::vector<std::unique_ptr<Store>> files;
    const StripeGeometry geometry{disks, block};
    for (int d = 0; d < disks; ++d) {
        files.push_back(
            open_file(folder.file("disk" + std::to_string(d)), round_up(geometry.bytes_on(d, bytes), 4096)));
    }
    return std::make_unique<StripedStore>(std::move(files), block, bytes);
}

// Runs that tile a store: odd lengths and whole blocks, at the same places in memory.
std::vector<DiskRun> tiling(index_t bytes, char* memory, bool aligned, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<DiskRun> runs;
    for (index_t at = 0; at < bytes;) {
        const index_t most = aligned ? kDirectBytes * (1 + random() % 80) : 1 + random() % (300 << 10);
        const index_t length = std::min(most, bytes - at);
        runs.push_back({at, memory + at, length, aligned});
        at += length;
    }
    std::shuffle(runs.begin(), runs.end(), random);
    // Who does a batch is chosen by its first run: here one that goes through the page cache if it is odd.
    const auto shorter = [](const DiskRun& a, const DiskRun& b) { return a.bytes < b.bytes; };
    std::iter_swap(runs.begin(), std::min_element(runs.begin(), runs.end(), shorter));
    return runs;
}

Status run_batch(AsyncIo& io, Store& store, const std::vector<DiskRun>& runs, index_t* bytes = nullptr) {
    const std::function<DiskRun(index_t, index_t, index_t)> run = [&](index_t, index_t, index_t i) {
        return runs[static_cast<size_t>(i)];
    };
    IoBatch batch;
    batch.store = &store;
    batch.count = static_cast<index_t>(runs.size());
    batch.run = &run;
    io.start(batch);
    const Status status = io.wait(batch);
    if (bytes) *bytes = io.take_bytes(batch);
    return status;
}

TEST(DiskIo, GivesTheSameBytesAndCountsWhoeverDoesIt) {
    constexpr index_t bytes = (index_t{5} << 20) + 777;
    std::mt19937_64 random(9);
    for (const IoChoice& choice : backends()) {
        for (int disks : {0, 1, 2, 3, 5}) {  // 0: a plain file
            for (index_t block : {kBlockBytes, index_t{5000}}) {
                if (disks == 0 && block != kBlockBytes) continue;
                for (bool aligned : {true, false}) {
                    SCOPED_TRACE(cat(io_backend_name(choice.backend), " depth ", choice.depth, ", ", disks,
                                     " disks, blocks of ", block, aligned ? ", aligned" : ", odd"));
                    TemporaryFolder folder;
                    const index_t room = round_up(bytes, kDirectBytes);
                    auto store =
                        disks == 0 ? open_file(folder.file("data"), room) : open_striped(folder, disks, block, room);
                    Buffer source = Buffer::allocate(static_cast<size_t>(room)).value();
                    Buffer target = Buffer::allocate(static_cast<size_t>(room)).value();
                    for (index_t i = 0; i < room / 8; ++i) source.as<uint64_t>()[i] = random();
                    std::memset(target.data(), 0, static_cast<size_t>(room));
                    AsyncIo writer(IoKind::write, kThreads, choice), reader(IoKind::read, kThreads, choice);
                    ASSERT_TRUE(writer.started().ok()) << writer.started().message();
                    ASSERT_TRUE(writer.attach(*store, source.data(), room).ok());
                    ASSERT_TRUE(reader.attach(*store, target.data(), room).ok());
                    const auto writes = tiling(bytes, source.as<char>(), aligned, 1);
                    const auto reads = tiling(bytes, target.as<char>(), aligned, 2);
                    index_t written = 0, got = 0;
                    const Status wrote = run_batch(writer, *store, writes, &written);
                    ASSERT_TRUE(wrote.ok()) << wrote.message();
                    const Status read = run_batch(reader, *store, reads, &got);
                    ASSERT_TRUE(read.ok()) << read.message();
                    EXPECT_EQ(std::memcmp(source.data(), target.data(), static_cast<size_t>(bytes)), 0);
                    EXPECT_EQ(written, bytes);
                    EXPECT_EQ(got, bytes);
                    const StoreCounts counts = store->counts();
                    EXPECT_EQ(counts.writes, static_cast<index_t>(writes.size()));
                    EXPECT_EQ(counts.reads, static_cast<index_t>(reads.size()));
                    EXPECT_EQ(counts.written_bytes, bytes);
                    EXPECT_EQ(counts.read_bytes, bytes);
                    index_t below = 0;
                    for (int d = 0; d < store->disks(); ++d) below += store->disk(d).counts().read_bytes;
                    EXPECT_EQ(below, bytes);
                    const bool ring = writer.describe().find("io_uring") == 0;
                    if (choice.backend != IoBackend::automatic) {
                        EXPECT_EQ(ring, choice.backend == IoBackend::uring) << writer.describe();
                    } else if (aligned || disks == 0) {
                        EXPECT_EQ(ring, aligned && block == kBlockBytes && store->disk(0).file()->direct())
                            << writer.describe();
                    }
                    writer.detach();
                    reader.detach();
                }
            }
        }
    }
}

TEST(DiskIo, FallsBackToThreadsWhereTheKernelRefusesARing) {
    for (const auto& [failure, sentence] : {std::pair{ENOSYS, "the kernel has no io_uring"},
                                            {EPERM, "forbidden here"},
                                            {ENOMEM, "no memory may be locked"}}) {
        static int refused;
        refused = failure;
        RingSystem system = kernel_rings();
        system.setup = [](unsigned, void*) { return -refused; };
        IoChoice choice{IoBackend::automatic, 8, &system};
        TemporaryFolder folder;
        auto store = open_file(folder.file("data"), 1 << 16);
        Buffer memory = Buffer::allocate(1 << 16).value();
        AsyncIo io(IoKind::read, kThreads, choice);
        ASSERT_TRUE(io.started().ok()) << io.started().message();
        EXPECT_TRUE(io.attach(*store, memory.data(), 1 << 16).ok());
        EXPECT_TRUE(run_batch(io, *store, tiling(1 << 16, memory.as<char>(), true, 3)).ok());
        EXPECT_EQ(std::string(memory.as<char>(), 1 << 16), std::string(1 << 16, 'x'));
        EXPECT_NE(io.describe().find("4 threads: "), std::string::npos) << io.describe();
        EXPECT_NE(io.describe().find(sentence), std::string::npos) << io.describe();
        EXPECT_NE(describe_disk_io(choice, kThreads).find(sentence), std::string::npos);
        choice.backend = IoBackend::uring;
        const Status status = AsyncIo(IoKind::read, kThreads, choice).started();
        EXPECT_EQ(status.code(), Code::unsupported);
        EXPECT_NE(status.message().find("io=uring was asked for"), std::string::npos) << status.message();
        EXPECT_NE(status.message().find(sentence), std::string::npos) << status.message();
        EXPECT_NE(status.message().find("io=threads"), std::string::npos) << status.message();
    }
}

TEST(DiskIo, DoesWithoutRegisteredMemoryAndFiles) {
    if (!rings_work_here()) GTEST_SKIP() << "no io_uring, or no direct I/O in the temporary folder";
    RingSystem system = kernel_rings();
    system.enroll = [](int, unsigned, const void*, unsigned) { return -ENOMEM; };  // as under a small ulimit -l
    TemporaryFolder folder;
    auto store = open_file(folder.file("data"), 1 << 20);
    Buffer memory = Buffer::allocate(1 << 20).value();
    for (const RingSystem* which : {static_cast<const RingSystem*>(&system), &kernel_rings()}) {
        std::memset(memory.data(), 0, 1 << 20);
        AsyncIo io(IoKind::read, kThreads, {IoBackend::uring, 8, which});
        ASSERT_TRUE(io.attach(*store, memory.data(), 1 << 20).ok());
        EXPECT_TRUE(run_batch(io, *store, tiling(1 << 20, memory.as<char>(), true, 4)).ok());
        EXPECT_EQ(std::string(memory.as<char>(), 1 << 20), std::string(1 << 20, 'x'));
        EXPECT_EQ(io.describe().find("registered") != std::string::npos, which != &system) << io.describe();
    }
}

TEST(DiskIo, ARingThatIsAskedForNeedsDirectIo) {
    TemporaryFolder folder;
    if (!rings_work_here() || geteuid() != 0 || mount("ramfs", folder.path().c_str(), "ramfs", 0, "") != 0) {
        GTEST_SKIP() << "needs io_uring and the right to mount a ramfs, which has no direct I/O";
    }
    {
        auto store = open_file(folder.file("data"), 1 << 16);
        EXPECT_FALSE(store->file()->direct());
        Buffer memory = Buffer::allocate(1 << 16).value();
        AsyncIo forced(IoKind::read, kThreads, {IoBackend::uring, 8, nullptr});
        const Status status = forced.attach(*store, memory.data(), 1 << 16);
        EXPECT_EQ(status.code(), Code::unsupported);
        EXPECT_NE(status.message().find(folder.file("data")), std::string::npos) << status.message();
        AsyncIo free(IoKind::read, kThreads);
        EXPECT_TRUE(free.attach(*store, memory.data(), 1 << 16).ok());
        EXPECT_TRUE(run_batch(free, *store, tiling(1 << 16, memory.as<char>(), true, 5)).ok());
        EXPECT_NE(free.describe().find("threads: the file system has no direct I/O"), std::string::npos)
            << free.describe();
    }
    (void)umount2(folder.path().c_str(), MNT_DETACH);
}

// What a ring reports, good and bad, has the outcome that the same result of pread or pwrite would have.
class RingOutcomes : public testing::Test {
  protected:
    void SetUp() override {
        if (!rings_work_here()) GTEST_SKIP() << "no io_uring, or no direct I/O in the temporary folder";
        calls_ = 0;
        system_ = kernel_rings();
    }
    // Reads or writes 64 blocks through a ring of depth 1; `outcome` sees each result.
    Status transfer(IoKind kind, index_t (*outcome)(index_t, index_t)) {
        system_.outcome = outcome;
        TemporaryFolder folder;
        auto store = open_file(folder.file("data"), kBytes);
        Buffer memory = Buffer::allocate(kBytes).value();
        std::memset(memory.data(), kind == IoKind::read ? 0 : 'y', kBytes);
        std::vector<DiskRun> runs;
        for (index_t at = 0; at < kBytes; at += kRun) runs.push_back({at, memory.as<char>() + at, kRun, true});
        AsyncIo io(kind, kThreads, {IoBackend::uring, 1, &system_});
        Status status = run_batch(io, *store, runs);
        path_ = folder.file("data");
        counts_ = store->counts();
        const std::string expected(kBytes, kind == IoKind::read ? 'x' : 'y');
        right_ = kind == IoKind::read ? std::string(memory.as<char>(), kBytes) == expected
                                      : read_file(folder.file("data")) == expected;
        return status;
    }
    static constexpr index_t kRun = 8192, kBytes = 64 * kRun;
    static index_t calls_;
    RingSystem system_{};
    std::string path_;
    StoreCounts counts_;
    bool right_ = false;
};
index_t RingOutcomes::calls_ = 0;

TEST_F(RingOutcomes, ShortAndInterruptedTransfersAreContinued) {
    for (IoKind kind : {IoKind::read, IoKind::write}) {
        for (const auto outcome :
             {+[](index_t result, index_t) { return calls_++ % 2 == 0 ? std::min<index_t>(result, 4096) : result; },
              +[](index_t result, index_t) { return calls_++ % 3 == 0 ? std::min<index_t>(result, 100) : result; },
              +[](index_t result, index_t) { return calls_++ % 3 == 0 ? index_t{-EINTR} : result; },
              +[](index_t result, index_t) { return calls_++ % 3 == 0 ? index_t{-EAGAIN} : result; },
              +[](index_t result, index_t bytes) {
                  return calls_++ == 0 && bytes == kRun ? index_t{-EINVAL} : result;
              }}) {
            calls_ = 0;
            const Status status = transfer(kind, outcome);
            EXPECT_TRUE(status.ok()) << status.message();
            EXPECT_TRUE(right_);
            EXPECT_GT(calls_, 64);
            EXPECT_EQ(counts_.reads + counts_.writes, 64);
            EXPECT_EQ(counts_.read_bytes + counts_.written_bytes, kBytes);
        }
    }
}

TEST_F(RingOutcomes, FailuresNameStoreOffsetAndErrno) {
    for (const auto& [kind, failure, code] : {std::tuple{IoKind::read, EIO, Code::io_error},
                                              {IoKind::write, EIO, Code::io_error},
                                              {IoKind::write, ENOSPC, Code::no_space},
                                              {IoKind::write, EDQUOT, Code::no_space}}) {
        static index_t value;
        value = -failure;
        calls_ = 0;
        const Status status = transfer(kind, [](index_t result, index_t) { return ++calls_ == 10 ? value : result; });
        EXPECT_EQ(status.code(), code);
        EXPECT_NE(status.message().find(path_), std::string::npos) << status.message();
        EXPECT_NE(status.message().find("at byte 73728"), std::string::npos) << status.message();
        EXPECT_NE(status.message().find(cat("errno ", failure)), std::string::npos) << status.message();
        EXPECT_EQ(calls_, 10) << "requests began after the failure";
        EXPECT_EQ(counts_.reads + counts_.writes, 9);
    }
    calls_ = 0;
    Status status = transfer(IoKind::read, [](index_t result, index_t) { return ++calls_ == 5 ? index_t{0} : result; });
    EXPECT_EQ(status.code(), Code::corrupt_data) << status.message();
    calls_ = 0;
    status = transfer(IoKind::write, [](index_t result, index_t) { return ++calls_ == 5 ? index_t{0} : result; });
    EXPECT_EQ(status.code(), Code::no_space) << status.message();
}

TEST_F(RingOutcomes, AKernelThatTakesNoMoreRequestsIsAnError) {
    static int entered;
    entered = 0;
    system_.enter = [](int ring, unsigned submit, unsigned wait_for, unsigned flags) {
        return submit > 0 && ++entered >= 10 ? -EBADF : kernel_rings().enter(ring, submit, wait_for, flags);
    };
    const Status status = transfer(IoKind::read, nullptr);
    EXPECT_EQ(status.code(), Code::io_error);
    EXPECT_NE(status.message().find("io_uring failed"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(cat("errno ", EBADF)), std::string::npos) << status.message();
}

TEST(DiskIo, StoresThatAreNoFilesGoThroughThreads) {
    MemoryStore memory(1 << 16);
    FaultPlan faults;
    FaultyStore store(memory, faults);
    std::vector<char> target(1 << 16);
    for (const IoChoice& choice : backends()) {
        AsyncIo io(IoKind::read, kThreads, choice);
        EXPECT_TRUE(io.attach(store, target.data(), 1 << 16).ok());
        faults.fail_at = 0;
        faults.operations = 0;
        const auto runs = tiling(1 << 16, target.data(), true, 6);
        EXPECT_TRUE(run_batch(io, store, runs).ok());
        EXPECT_EQ(faults.operations.load(), static_cast<index_t>(runs.size()));
        EXPECT_EQ(io.describe().find("io_uring"), std::string::npos) << io.describe();
        faults.fail_at = faults.operations.load() + 1;
        EXPECT_EQ(run_batch(io, store, runs).code(), Code::io_error);
    }
}

// A disk whose requests wait until the test lets them go.
class GatedStore : public MemoryStore {
  public:
    GatedStore(index_t bytes, bool open) : MemoryStore(bytes), open_(open) {}
    void open() {
        const std::lock_guard lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }
    void wait_until_done(index_t requests) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return done_ >= requests; });
    }
    void wait_until_waiting(index_t requests) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return waiting_ >= requests; });
    }

  protected:
    Status do_read(const DiskRun& run) override {
        {
            std::unique_lock lock(mutex_);
            ++waiting_;
            changed_.notify_all();
            changed_.wait(lock, [&] { return open_; });
        }
        const Status status = MemoryStore::do_read(run);
        const std::lock_guard lock(mutex_);
        ++done_;
        changed_.notify_all();
        return status;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_;
    index_t waiting_ = 0, done_ = 0;
};

// Disk 1 answers nothing until disks 0, 2 and 3 have done all of their work, of both batches. Were it to hold the
// threads that they need, this test would run into its time limit.
TEST(DiskIo, ADiskThatIsSlowHoldsNoOtherUp) {
    constexpr index_t block = 16, blocks = 400, bytes = 4 * block * blocks;
    std::vector<std::unique_ptr<Store>> disks;
    std::vector<GatedStore*> gates;
    for (int d = 0; d < 4; ++d) {
        gates.push_back(new GatedStore(block * blocks, d != 1));
        disks.emplace_back(gates.back());
    }
    StripedStore store(std::move(disks), block, bytes);
    std::vector<char> target(2 * bytes);
    AsyncIo io(IoKind::read, 8, {IoBackend::threads, 8, nullptr});
    const std::function<DiskRun(index_t, index_t, index_t)> run = [&](index_t group, index_t, index_t i) {
        return DiskRun{i * 40, target.data() + group * bytes + i * 40, 40, false};  // two or three disks each
    };
    IoBatch batches[2];
    for (index_t group : {0, 1}) {
        batches[group].store = &store;
        batches[group].group = group;
        batches[group].count = bytes / 40;
        batches[group].run = &run;
        io.start(batches[group]);
    }
    // Each disk has a piece of 16 bytes or less for every run that touches a block of it: counted by the geometry.
    for (int d : {0, 2, 3}) {
        index_t pieces = 0;
        for (index_t i = 0; i < bytes / 40; ++i) {
            index_t from = i * 40;
            for (DiskRun piece; store.next_piece({i * 40, target.data(), 40, false}, d, from, piece);) ++pieces;
        }
        gates[static_cast<size_t>(d)]->wait_until_done(2 * pieces);
    }
    gates[1]->wait_until_waiting(2);  // its share of 8 threads, and no more
    EXPECT_EQ(gates[1]->counts().reads, 0);
    gates[1]->open();
    for (IoBatch& batch : batches) EXPECT_TRUE(io.wait(batch).ok());
    EXPECT_EQ(store.counts().reads, 2 * (bytes / 40));
    EXPECT_EQ(store.counts().read_bytes, 2 * bytes);
}

// The same for whoever asks a queue, as a ring does: with all places of disk 1 taken the others' work still comes.
TEST(IoQueue, GivesEveryDiskWorkWhileThereIsSome) {
    constexpr index_t count = 50;
    std::vector<std::unique_ptr<Store>> disks;
    for (int d = 0; d < 3; ++d) disks.push_back(std::make_unique<MemoryStore>(1000));
    StripedStore store(std::move(disks), 8, 3000);
    const std::function<DiskRun(index_t, index_t, index_t)> run = [](index_t, index_t, index_t i) {
        return DiskRun{i * 24, nullptr, 24, false};
    };
    IoQueue queue(IoKind::read);
    IoBatch batch;
    batch.store = &store;
    batch.count = count;
    batch.run = &run;
    queue.start(batch, true);
    std::vector<IoItem> held;
    IoItem item;
    index_t taken[3] = {};
    while (queue.try_take(true, 6, item)) {  // two places a disk
        ++taken[item.disk];
        if (item.disk == 1) {
            held.push_back(item);
        } else {
            queue.finish(item, 1, 8, Status());
        }
    }
    EXPECT_EQ(taken[0], count);
    EXPECT_EQ(taken[1], 2);
    EXPECT_EQ(taken[2], count);
    queue.cancel(batch);
    for (const IoItem& each : held) queue.finish(each, 1, 8, Status());
    EXPECT_TRUE(queue.wait(batch).ok());
}

// Threads fall asleep between batches that have fewer parts than there are threads; each batch rouses enough of them.
TEST(AsyncIo, BatchesOfFewPartsRouseSleepers) {
    constexpr index_t batches = 20000;
    MemoryStore store(4096);
    std::array<char, 3 * 8> memory{};
    const std::function<DiskRun(index_t, index_t, index_t)> run = [&](index_t, index_t slot, index_t i) {
        return DiskRun{i * 8, memory.data() + slot * 8, 8, false};
    };
    IoChoice choice;
    choice.backend = IoBackend::threads;
    AsyncIo io(IoKind::read, 16, choice);
    std::array<IoBatch, 3> under_way;
    index_t parts = 0;
    for (index_t b = 0; b < batches; ++b) {
        IoBatch& batch = under_way[static_cast<size_t>(b % 3)];
        ASSERT_TRUE(io.wait(batch).ok());  // at once the first time
        batch.store = &store;
        batch.slot = b % 3;
        batch.count = 1 + b % 4 % 2;
        batch.run = &run;
        parts += batch.count;
        io.start(batch);
    }
    for (IoBatch& batch : under_way) EXPECT_TRUE(io.wait(batch).ok());
    EXPECT_EQ(store.counts().reads, parts);
}

// While step s is computed, group s+1 is being read and group s-1 written: each callback waits for the other two.
TEST(Pipeline, ReadsComputesAndWritesAtTheSameTime) {
    constexpr index_t steps = 6, bytes = 512;
    struct Progress {
        std::mutex mutex;
        std::condition_variable changed;
        index_t reading = -1, computing = -1, writing = -1;  // the latest group that has begun
        void begin(index_t& mine, index_t group) {
            const std::lock_guard lock(mutex);
            mine = std::max(mine, group);
            changed.notify_all();
        }
        void until(const index_t& other, index_t group) {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return other >= group; });
        }
    } progress;
    class Watched : public MemoryStore {
      public:
        Watched(Progress& progress, bool reads) : MemoryStore(steps * bytes), progress_(progress), reads_(reads) {}

      protected:
        Status do_read(const DiskRun& run) override {
            progress_.begin(progress_.reading, run.offset_bytes / bytes);
            return MemoryStore::do_read(run);
        }
        Status do_write(const DiskRun& run) override {  // ends only when the next group is being computed
            const index_t group = run.offset_bytes / bytes;
            progress_.begin(progress_.writing, group);
            if (group + 1 < steps) progress_.until(progress_.computing, group + 1);
            return MemoryStore::do_write(run);
        }

      private:
        Progress& progress_;
        bool reads_;
    };
    Watched source(progress, true), target(progress, false);
    std::vector<char> slots(4 * bytes);
    PipelineSpec spec;
    spec.steps = steps;
    spec.source = &source;
    spec.target = &target;
    spec.read_count = spec.write_count = [](index_t) { return index_t{1}; };
    spec.read_run = [&](index_t group, index_t slot, index_t) {
        return DiskRun{group * bytes, slots.data() + slot * bytes, bytes, false};
    };
    spec.write_run = [&](index_t group, index_t slot, index_t) {
        return DiskRun{group * bytes, slots.data() + (2 + slot) * bytes, bytes, false};
    };
    spec.compute = [&](index_t step, index_t read, index_t write) {
        progress.begin(progress.computing, step);
        if (step + 1 < steps) progress.until(progress.reading, step + 1);
        if (step > 0) progress.until(progress.writing, step - 1);
        std::memcpy(slots.data() + (2 + write) * bytes, slots.data() + read * bytes, bytes);
        return Status();
    };
    Pipeline pipeline(2, {IoBackend::threads, 8, nullptr});
    EXPECT_TRUE(pipeline.run(spec).ok());
    EXPECT_EQ(std::memcmp(source.data(), target.data(), steps * bytes), 0);
}

// Says which of its groups have been read.
class SeenReads : public MemoryStore {
  public:
    SeenReads(index_t groups, index_t group_bytes) : MemoryStore(groups * group_bytes), group_bytes_(group_bytes) {
        for (index_t i = 0; i < groups * group_bytes; ++i) data()[i] = static_cast<std::byte>(i / group_bytes);
    }
    bool was_read(index_t group) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return read_.count(group) > 0; });
    }

  protected:
    Status do_read(const DiskRun& run) override {
        const Status status = MemoryStore::do_read(run);
        const std::lock_guard lock(mutex_);
        read_.insert(run.offset_bytes / group_bytes_);
        changed_.notify_all();
        return status;
    }

  private:
    const index_t group_bytes_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::set<index_t> read_;
};

// A panel is read and taken in three parts. While part p of it is taken, part p-1 of the next one is being read into
// the memory that was taken before: what is taken waits for that.
TEST(Pipeline, PartsOfTheNextPanelAreReadWhileOthersAreTaken) {
    constexpr index_t panels = 4, parts = 3, bytes = 512;
    SeenReads source(panels * parts, bytes);
    MemoryStore target(panels * parts * bytes);
    std::vector<char> slot(parts * bytes), taken(parts * bytes), written(2 * parts * bytes);
    PipelineSpec spec;
    spec.steps = panels;
    spec.parts = parts;
    spec.read_slots = 1;
    spec.source = &source;
    spec.target = &target;
    spec.read_count = spec.write_count = [](index_t) { return index_t{1}; };
    spec.read_run = [&](index_t group, index_t part, index_t) {
        return DiskRun{group * bytes, slot.data() + part * bytes, bytes, false};
    };
    spec.take = [&](index_t group, index_t part) {
        EXPECT_EQ(part, group % parts);
        const index_t next = group + parts - 1;
        if (part > 0 && next < panels * parts) {
            EXPECT_TRUE(source.was_read(next)) << next;
        }
        std::memcpy(taken.data() + part * bytes, slot.data() + part * bytes, bytes);
        return Status();
    };
    spec.write_run = [&](index_t panel, index_t place, index_t) {
        return DiskRun{panel * parts * bytes, written.data() + place * parts * bytes, parts * bytes, false};
    };
    spec.compute = [&](index_t, index_t, index_t place) {
        std::memcpy(written.data() + place * parts * bytes, taken.data(), parts * bytes);
        return Status();
    };
    Pipeline pipeline(2, {IoBackend::threads, 8, nullptr});
    EXPECT_TRUE(pipeline.run(spec).ok());
    EXPECT_EQ(std::memcmp(source.data(), target.data(), panels * parts * bytes), 0);
}

// A panel is taken out of its slot before the first of its two steps: while they are computed both slots are read into,
// so that each step waits for the two panels behind its own.
TEST(Pipeline, TwoPanelsAreReadWhileOneThatWasTakenIsComputed) {
    constexpr index_t panels = 5, tiles = 2, bytes = 512;
    SeenReads source(panels, tiles * bytes);
    MemoryStore target(panels * tiles * bytes);
    std::vector<char> slots(2 * tiles * bytes), taken(tiles * bytes), written(2 * bytes);
    PipelineSpec spec;
    spec.steps = panels * tiles;
    spec.steps_per_read = tiles;
    spec.source = &source;
    spec.target = &target;
    spec.read_count = spec.write_count = [](index_t) { return index_t{1}; };
    spec.read_run = [&](index_t panel, index_t slot, index_t) {
        return DiskRun{panel * tiles * bytes, slots.data() + slot * tiles * bytes, tiles * bytes, false};
    };
    spec.take = [&](index_t panel, index_t slot) {
        EXPECT_EQ(slot, panel % 2);
        std::memcpy(taken.data(), slots.data() + slot * tiles * bytes, tiles * bytes);
        return Status();
    };
    spec.write_run = [&](index_t step, index_t slot, index_t) {
        return DiskRun{step * bytes, written.data() + slot * bytes, bytes, false};
    };
    spec.compute = [&](index_t step, index_t, index_t slot) {
        for (index_t ahead = 1; ahead <= 2 && step / tiles + ahead < panels; ++ahead)
            EXPECT_TRUE(source.was_read(step / tiles + ahead)) << step << " " << ahead;
        std::memcpy(written.data() + slot * bytes, taken.data() + step % tiles * bytes, bytes);
        return Status();
    };
    Pipeline pipeline(2, {IoBackend::threads, 8, nullptr});
    EXPECT_TRUE(pipeline.run(spec).ok());
    EXPECT_EQ(std::memcmp(source.data(), target.data(), panels * tiles * bytes), 0);
}

bool all_resident(const void* data, index_t bytes) {
    std::vector<unsigned char> there(static_cast<size_t>(ceil_div(bytes, 4096)));
    EXPECT_EQ(mincore(const_cast<void*>(data), static_cast<size_t>(bytes), there.data()), 0);
    return std::all_of(there.begin(), there.end(), [](unsigned char page) { return page & 1; });
}

// Each read waits until the memory that it reads into is there. A slot that nothing is read into stays untouched.
TEST(Pipeline, MemoryComesWhileItIsReadInto) {
    constexpr index_t steps = 2, bytes = index_t{8} << 20;
    class Patient : public MemoryStore {
      public:
        Patient() : MemoryStore(steps * bytes) {}

      protected:
        Status do_read(const DiskRun& run) override {
            const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
            while (!all_resident(run.data, run.bytes)) {
                if (std::chrono::steady_clock::now() > end) return error(Code::internal, "memory has not come");
                std::this_thread::yield();
            }
            return MemoryStore::do_read(run);
        }
    } source;
    for (index_t i = 0; i < steps * bytes; ++i) source.data()[i] = static_cast<std::byte>(i % 251);
    MemoryStore target(steps * bytes);
    const Buffer slots = Buffer::allocate(3 * bytes).value();
    FirstTouch first(slots);
    ThreadTeam team(2);
    PipelineSpec spec;
    spec.steps = steps;
    spec.in_place = true;
    spec.read_slots = 3;
    spec.source = &source;
    spec.target = &target;
    spec.memory = slots.data();
    spec.memory_bytes = 3 * bytes;
    spec.first_touch = &first;
    spec.team = &team;
    spec.read_count = spec.write_count = [](index_t) { return index_t{1}; };
    spec.read_run = spec.write_run = [&](index_t group, index_t slot, index_t) {
        return DiskRun{group * bytes, slots.as<char>() + slot * bytes, bytes, false};
    };
    spec.compute = [](index_t, index_t, index_t) { return Status(); };
    Pipeline pipeline(2, {IoBackend::threads, 8, nullptr});
    const Status status = pipeline.run(spec);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(std::memcmp(source.data(), target.data(), steps * bytes), 0);
    EXPECT_FALSE(all_resident(slots.as<char>() + 2 * bytes, bytes));
    EXPECT_TRUE(first.has(slots.data(), 3 * bytes));  // what a sweep had is not touched again
}

}  // namespace
}  // namespace spanfft::test
