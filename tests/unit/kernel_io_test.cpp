// Reads and writes as the library counts them, and as the kernel does (/proc/self/io): the same calls and bytes, for
// every solver of files.
//
// Method: each run has a child of its own, with I/O by threads, as the kernel counts no calls of an io_uring. Through
// the page cache a request is one call of just its bytes, so everything is equal; what is read and written besides the
// array is known to the byte. Direct I/O widens reads to sectors and cuts writes at blocks, at most by so much a
// request. A journal, which only runs in place have here, writes lines and marks: so many at most.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "disk/file_store.hpp"
#include "exec/executor.hpp"
#include "plan/planner.hpp"
#include "support/kernel_io.hpp"
#include "support/sanitized.hpp"
#include "support/simulated_store.hpp"
#include "support/store_run.hpp"
#include "support/system_call_filter.hpp"

namespace spanfft {
namespace {

using test::KernelIo;
using test::TemporaryFolder;

struct IoCase {
    const char* problem;
    const char* solver;
    index_t input_offset = 0;
    index_t header = 0;
    int folders = 1;      // that scratch is striped over
    bool packed = false;  // the half spectrum, on whichever side it is
    bool in_place = false;
};

void PrintTo(const IoCase& c, std::ostream* out) { *out << c.problem; }

// What a child found, in memory that it shares.
struct Found {
    KernelIo kernel;
    Counts counted;  // of what lies in files
    bool filtered = true, direct = false;
    char solver[32] = "", message[500] = "the child died";
};

// Functions stand for chunked arrays: the kernel sees nothing of them.
FileRequest request_for(const IoCase& c, const Problem& problem, const TemporaryFolder& folder,
                        const std::vector<std::unique_ptr<TemporaryFolder>>& more) {
    FileRequest request;
    request.input_path = folder.file("in");
    request.output_path = c.in_place ? request.input_path : folder.file("out");
    request.input_offset_bytes = c.input_offset;
    request.header = std::string(static_cast<size_t>(c.header), 'h');
    request.scratch_folders = {folder.path()};
    for (const auto& another : more) request.scratch_folders.push_back(another->path());
    request.packed_input = c.packed && !problem.forward();
    request.packed_output = c.packed && problem.forward();
    request.in_place = c.in_place;
    request.journal = c.in_place ? JournalMode::automatic : JournalMode::off;
    const BoxTransfer nothing = [](const index_t*, const index_t*, void*) { return Status(); };
    if (!problem.input_chunk.empty()) request.read_box = nothing;
    if (!problem.output_chunk.empty()) request.write_box = nothing;
    return request;
}

// Of all steps, without what went to and from functions.
Counts counted_in_files(const Executor& executor) {
    Counts all;
    const auto& steps = *executor.counted();
    for (const Counts& step : steps) all += step;
    if (executor.plan().staged_input_bytes > 0) {
        all.disk_reads -= steps.front().disk_reads;
        all.disk_read_bytes -= steps.front().disk_read_bytes;
    }
    if (executor.plan().staged_output_bytes > 0) {
        all.disk_writes -= steps.back().disk_writes;
        all.disk_written_bytes -= steps.back().disk_written_bytes;
    }
    return all;
}

Status run_in_child(const Problem& problem, const FileRequest& request, bool direct, Found& found) {
    if (!direct && !test::refuse_direct_files()) found.filtered = false;
    Machine machine;
    machine.cores = 2;
    SPANFFT_ASSIGN(auto plan, Planner(machine).plan(problem));
    std::strncpy(found.solver, plan->solver.c_str(), sizeof found.solver - 1);
    SPANFFT_ASSIGN(const auto executor, Executor::make(std::move(plan), make_self_comm()));
    const KernelIo before = test::kernel_io();
    SPANFFT_TRY(executor->transform_file(request));
    found.kernel = test::since(before);
    found.counted = counted_in_files(*executor);
    return {};
}

// In a forked child, as the filter stays for good.
void run_apart(const IoCase& c, bool direct, Found& result) {
    const Problem problem = Problem::parse(std::string(c.problem) + " io=threads engine=ducc0").value();
    const TemporaryFolder folder;
    std::vector<std::unique_ptr<TemporaryFolder>> more;
    for (int i = 1; i < c.folders; ++i) more.push_back(std::make_unique<TemporaryFolder>());
    const FileRequest request = request_for(c, problem, folder, more);
    std::string input(static_cast<size_t>(c.input_offset), 'h');
    input += test::to_bytes(test::random_input(problem, 5), problem.input_elem());
    if (request.packed_input) input.resize(input.size() - problem.input_elem().bytes());
    test::write_file(request.input_path, input);
    const int file = open(request.input_path.c_str(), O_RDONLY);
    ASSERT_EQ(fsync(file), 0);  // what was written just now is not this run's
    close(file);
    void* const shared = mmap(nullptr, sizeof(Found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    Found* const found = new (shared) Found;
    found->direct = FileStore::open_input(request.input_path).value()->direct();
    const pid_t child = fork();
    if (child == 0) {
        const Status status = run_in_child(problem, request, direct, *found);
        std::strncpy(found->message, status.message().c_str(), sizeof found->message - 1);
        _exit(0);
    }
    ASSERT_GT(child, 0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    result = *found;
    munmap(shared, sizeof(Found));
    ASSERT_STREQ(result.message, "");
    EXPECT_EQ(std::string(result.solver).substr(0, std::strlen(c.solver)), c.solver);
    EXPECT_GT(result.counted.disk_reads, 0);
    EXPECT_GT(result.counted.disk_writes, 0);
}

// What a file has besides its array, and how the kernel sees it: a header, written once; the last number of a packed
// spectrum, moved to the front; the umask, which only /proc/self/status tells, for an output that gets a name.
KernelIo besides(const IoCase& c, const Problem& problem) {
    KernelIo more;
    if (c.header > 0) more.writes = 1, more.written_bytes = c.header;
    if (c.packed && problem.forward()) {
        const auto half_number = static_cast<index_t>(problem.output_elem().bytes()) / 2;
        more.reads += 1, more.read_bytes += half_number;
        more.writes += 1, more.written_bytes += half_number;
    }
    if (problem.output_chunk.empty() && !c.in_place) more.reads += 1, more.read_bytes += 1024;
    return more;
}

// A journal's own, at most: 64 samples of the input, to know it again; lines and marks, a sixteenth of a sweep or more
// apart, four writes each.
constexpr index_t kSamples = 64, kSampleBytes = 4096, kJournalReads = 16, kJournalWrites = 4 * 17 * 3,
                  kJournalBytes = index_t{64} << 10;
constexpr index_t kStripeBytes = index_t{256} << 10;  // of scratch over several folders: a request is cut at its ends

void expect_between(index_t found, index_t least, index_t most, const char* what) {
    EXPECT_GE(found, least) << what;
    EXPECT_LE(found, most) << what;
}

// `wider`: what direct I/O adds to a request at most.
struct Wider {
    index_t read_bytes = 0, written_bytes = 0, writes = 0;
};

void expect_same(const IoCase& c, const Found& found, const Wider& wider) {
    const Problem problem = Problem::parse(c.problem).value();
    const KernelIo &kernel = found.kernel, more = besides(c, problem);
    const Counts& counted = found.counted;
    const index_t reads = counted.disk_reads + more.reads + (c.in_place ? kSamples : 0),
                  writes = counted.disk_writes + more.writes;
    const index_t read_bytes = counted.disk_read_bytes + more.read_bytes + (c.in_place ? kSamples * kSampleBytes : 0),
                  written_bytes = counted.disk_written_bytes + more.written_bytes;
    const index_t cuts = c.folders > 1 ? 1 : 0;
    expect_between(kernel.reads, reads,
                   reads + (c.in_place ? kJournalReads : 0) + cuts * (counted.disk_read_bytes / kStripeBytes),
                   "read calls");
    expect_between(kernel.writes, writes,
                   writes * (1 + wider.writes) + (c.in_place ? kJournalWrites : 0) +
                       cuts * (counted.disk_written_bytes / kStripeBytes),
                   "write calls");
    expect_between(kernel.read_bytes, read_bytes,
                   read_bytes + (c.in_place ? kJournalBytes : 0) + wider.read_bytes * kernel.reads, "bytes read");
    expect_between(kernel.written_bytes, written_bytes,
                   written_bytes + (c.in_place ? kJournalBytes : 0) + wider.written_bytes * kernel.writes,
                   "bytes written");
}

class KernelCounts : public testing::TestWithParam<IoCase> {
  protected:
    void SetUp() override {
        if (test::kSanitized)
            GTEST_SKIP()
                << "to see whether an address can be read, sanitizers write it to a pipe; the kernel counts that";
    }
};

TEST_P(KernelCounts, AreTheLibrarysThroughThePageCache) {
    Found found;
    ASSERT_NO_FATAL_FAILURE(run_apart(GetParam(), false, found));
    if (!found.filtered) GTEST_SKIP() << "the kernel takes no filter";
    if (!found.kernel.known) GTEST_SKIP() << "no /proc/self/io";
    expect_same(GetParam(), found, {});
}

TEST_P(KernelCounts, AreTheLibrarysButForSectorsAndBlocksWithDirectIo) {
    Found found;
    ASSERT_NO_FATAL_FAILURE(run_apart(GetParam(), true, found));
    if (!found.kernel.known) GTEST_SKIP() << "no /proc/self/io";
    if (!found.direct) GTEST_SKIP() << "no direct I/O in the temporary folder";
    expect_same(GetParam(), found, {2 * (kSlackBytes - 1), kDirectBytes - 1, 2});
}

// Everything in whole blocks and with direct I/O: what the disk did is what was asked for, and some pages of the file
// system's own.
TEST(KernelCountsOfDisks, AreTheLibrarys) {
    const IoCase c{"c2c 1048576 float memory=2MiB method=two_sweeps", "two_sweeps", 4096, 4096};
    Found found;
    ASSERT_NO_FATAL_FAILURE(run_apart(c, true, found));
    if (!found.kernel.known || !found.direct || found.kernel.device_written_bytes == 0)
        GTEST_SKIP() << "no direct I/O to a block device in the temporary folder";
    constexpr index_t kOwnPages = 64 * 4096;
    expect_between(found.kernel.device_read_bytes, found.counted.disk_read_bytes,
                   found.counted.disk_read_bytes + kOwnPages, "bytes read");
    expect_between(found.kernel.device_written_bytes, found.counted.disk_written_bytes + c.header,
                   found.counted.disk_written_bytes + c.header + kOwnPages, "bytes written");
}

INSTANTIATE_TEST_SUITE_P(
    Solvers, KernelCounts,
    testing::Values(
        IoCase{"c2c 61x50 memory=1MiB method=file_in_memory", "file_in_memory", 128, 4096},
        IoCase{"r2c 61x50 memory=1MiB method=file_in_memory", "file_in_memory"},
        IoCase{"c2c 17x19x23 memory=80KiB method=axis_sweeps", "axis_sweeps", 128, 4096},
        IoCase{"r2c 24x25x26 memory=120KiB method=axis_sweeps", "axis_sweeps", 0, 128},
        IoCase{"c2r 24x25x26 backward float memory=120KiB method=axis_sweeps", "axis_sweeps", 64, 4096},
        IoCase{"r2c 40x48 axes=1,0 threads=1 memory=28KiB method=axis_sweeps", "axis_sweeps", 128, 4096},
        IoCase{"c2r 20x30x41 backward axes=2,0,1 threads=1 memory=36KiB method=axis_sweeps", "axis_sweeps", 64, 128},
        IoCase{"dct2 80x60 backward memory=30KiB method=axis_sweeps", "axis_sweeps", 8},
        IoCase{"c2c 24x35 memory=72KiB method=two_sweeps", "two_sweeps", 128, 4096},
        IoCase{"c2c 12x8x9 backward axes=2,0 memory=96KiB method=two_sweeps", "two_sweeps"},
        IoCase{"c2c 1155 memory=88KiB method=two_sweeps", "two_sweeps", 128, 4096},
        IoCase{"c2c 16384 memory=400KiB method=two_sweeps", "two_sweeps", 128, 4096},
        IoCase{"c2c 16384 float memory=64KiB output=exchanged method=two_sweeps", "two_sweeps"},
        IoCase{"r2c 1155 memory=88KiB method=two_sweeps", "two_sweeps", 80, 128},
        IoCase{"c2r 1155 backward memory=88KiB method=two_sweeps", "two_sweeps", 80, 4096},
        IoCase{"dct3 525 memory=128KiB method=two_sweeps", "two_sweeps"},
        IoCase{"dst4 2x3x64 axes=2 memory=88KiB method=two_sweeps", "two_sweeps"},
        IoCase{"c2c 1155 memory=72KiB method=many_sweeps", "many_sweeps", 128, 4096},
        IoCase{"r2c 1155 memory=80KiB method=many_sweeps", "many_sweeps", 8, 4096},
        IoCase{"c2r 1155 backward memory=80KiB method=many_sweeps", "many_sweeps", 128, 4096},
        IoCase{"c2c 997 memory=160KiB method=chirp_sweeps", "chirp_sweeps", 128, 4096},
        IoCase{"r2c 1009 memory=160KiB method=chirp_sweeps", "chirp_sweeps", 80, 4096},
        IoCase{"c2c 1024 memory=24KiB method=superlevels", "superlevels", 128, 4096},
        IoCase{"c2c 16384 backward float memory=48KiB method=superlevels:sync,disks=2,block=64", "superlevels"},
        IoCase{"c2c 1048576 float memory=2MiB method=two_sweeps", "two_sweeps", 4096, 4096},
        IoCase{"r2c 1048576 float memory=1MiB method=many_sweeps", "many_sweeps", 128, 128},
        // Work on blocks, another type stored, packed spectra, striped scratch, chunked arrays, in place.
        IoCase{"c2c 1155 memory=88KiB window=hann power method=two_sweeps", "two_sweeps", 128, 4096},
        IoCase{"c2c 17x19x23 store=complex64 memory=80KiB method=axis_sweeps", "axis_sweeps"},
        IoCase{"c2c 1024 memory=24KiB power method=superlevels", "superlevels"},
        IoCase{"r2c 8192 memory=96KiB method=two_sweeps", "two_sweeps", 0, 0, 1, true},
        IoCase{"c2r 8192 backward memory=96KiB method=two_sweeps", "two_sweeps", 0, 0, 1, true},
        IoCase{"r2c 8192 memory=1MiB method=file_in_memory", "file_in_memory", 0, 0, 1, true},
        IoCase{"c2c 60000 memory=384KiB disks=3 method=many_sweeps", "many_sweeps", 0, 0, 3},
        IoCase{"c2c 65536 memory=384KiB disks=2 method=superlevels", "superlevels", 128, 128, 2},
        IoCase{"c2c 61x50 memory=29KiB input_chunk=7x9 output_chunk=9x7", "axis_sweeps"},
        IoCase{"r2c 40x50 axes=1,0 threads=1 memory=28KiB input_chunk=7x9 output_chunk=9x7", "axis_sweeps"},
        IoCase{"c2c 16384 float memory=64KiB input_chunk=100 output_chunk=77 method=two_sweeps", "two_sweeps"},
        IoCase{"c2c 61x50 memory=29KiB power output_chunk=9x7", "axis_sweeps"},
        IoCase{"c2c 40x41x42 memory=300KiB method=axis_sweeps", "axis_sweeps", 128, 0, 1, false, true},
        IoCase{"c2c 16384 memory=400KiB method=two_sweeps", "two_sweeps", 0, 0, 1, false, true}));

}  // namespace
}  // namespace spanfft
