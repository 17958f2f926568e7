// Runs with a journal on real disks in trouble: full, gone, read-only; and by io_uring. Each time a clear error, the
// input as it was, and a later run that goes on to the same bits, or a folder in which nothing is left.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <set>

#include "disk/ring.hpp"
#include "solvers/table.hpp"
#include "support/journal_routes.hpp"
#include "support/system_call_filter.hpp"

namespace spanfft::test {
namespace {

class Troubles : public JournalledFiles {
  protected:
    void SetUp() override {
        make_input(route, folder.path());
        input = read_file(folder.file("in"));
        ASSERT_EQ(mkdir(scratch.c_str(), 0777), 0);
    }
    void TearDown() override {
        if (mounted) (void)umount2(scratch.c_str(), MNT_DETACH);
    }
    // A file system of a few MiB on the scratch folder.
    bool mount_scratch(const char* size) {
        mounted = geteuid() == 0 && mount("tmpfs", scratch.c_str(), "tmpfs", 0, size) == 0;
        return mounted;
    }
    bool remount(unsigned long flags) const {
        return mount("tmpfs", scratch.c_str(), "tmpfs", MS_REMOUNT | flags, "") == 0;
    }
    Status run(JournalMode mode, Progress progress = {}, index_t* resumed = nullptr) const {
        return transform(route, folder.path(), mode, resumed, std::move(progress), {used});
    }
    Status stop_at(double share) const {
        return run(JournalMode::automatic, [=](index_t done, index_t total) {
            return static_cast<double>(done) < share * static_cast<double>(total);
        });
    }
    void expect_goes_on() {
        index_t resumed = 0;
        const Status status = run(JournalMode::resume, {}, &resumed);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_GT(resumed, 0);
        EXPECT_TRUE(read_file(folder.file("out")) == expected(route));
        EXPECT_TRUE(read_file(folder.file("in")) == input);
        EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "out", "scratch"}));
    }

    JournalRoute route = journal_routes()[0];  // blocks in scratch
    TemporaryFolder folder;
    const std::string scratch = folder.file("scratch");
    std::string used = scratch;  // by runs
    std::string input;
    bool mounted = false;
};

// A folder whose path is so much longer than another's.
std::string folder_below(std::string path, int length) {
    while (length > 1) {
        const int name = length > 203 ? 200 : length - 1;
        path += "/" + std::string(static_cast<size_t>(name), 'd');
        (void)mkdir(path.c_str(), 0777);
        length -= name + 1;
    }
    return path;
}

// What sweeps write is reserved before; what a journal grows by is not.
TEST_F(Troubles, ADiskThatFillsUpIsSaidAndTheRunGoesOnWhenThereIsRoom) {
    if (!mount_scratch("size=1m")) GTEST_SKIP() << "needs the right to mount a tmpfs";
    // The journal names its scratch folder twice, so it needs its second page for another line at every length: a
    // panel's, the one before the output gets its name, or none while the disk is full. How many lines there are is a
    // matter of timing.
    const std::string ballast = scratch + "/ballast";
    std::set<std::string> ends;
    const auto all_seen = [&] { return ends.count("; all panels are") == 1 && ends.size() >= 4; };
    for (int i = 0; i < 600 && !all_seen(); ++i) {
        const int length = 1150 + i * 7 % 550;
        SCOPED_TRACE(length);
        used = folder_below(scratch, length);
        const Status status = run(JournalMode::automatic, [&](index_t done, index_t total) {
            const int file = open(ballast.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
            const std::string block(4096, 'x');
            while (done > total / 6 && write(file, block.data(), block.size()) > 0) {
            }
            close(file);
            return true;
        });
        EXPECT_TRUE(read_file(folder.file("in")) == input);
        ASSERT_EQ(unlink(ballast.c_str()), 0);
        if (!status.ok()) {
            ASSERT_EQ(status.code(), Code::no_space) << status.message();
            const size_t said = status.message().find("journal");
            ASSERT_NE(said, std::string::npos) << status.message();
            const std::string end = status.message().substr(status.message().find("; ", said));
            if (end == "; nothing was done yet, and nothing is left") {  // the first panel's line had no room
                EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "scratch"}));
                continue;
            }
            EXPECT_NE(end.find("goes on from there"), std::string::npos) << status.message();
            ends.insert(end.substr(0, end.find(" done ")));
            expect_goes_on();
        }
        ASSERT_EQ(unlink(folder.file("out").c_str()), 0);
    }
    EXPECT_TRUE(all_seen()) << testing::PrintToString(ends);
}

TEST_F(Troubles, ADiskWithoutRoomIsNoticedBeforeTheFirstByte) {
    if (!mount_scratch("size=8k")) GTEST_SKIP() << "needs the right to mount a tmpfs";
    const Status status = run(JournalMode::automatic);
    EXPECT_EQ(status.code(), Code::no_space) << status.message();
    EXPECT_NE(status.message().find(scratch), std::string::npos) << status.message();
    EXPECT_TRUE(read_file(folder.file("in")) == input);
    ASSERT_EQ(umount2(scratch.c_str(), MNT_DETACH), 0);
    mounted = false;
    EXPECT_EQ(rmdir(scratch.c_str()), 0);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"in"});
}

// An unfinished run's scratch makes room for the run that begins anew.
TEST_F(Troubles, ADiskWithRoomForOneRunHasRoomToBeginAnew) {
    if (!mount_scratch("size=1m")) GTEST_SKIP() << "needs the right to mount a tmpfs";
    ASSERT_EQ(stop_at(0.8).code(), Code::interrupted);
    const int file = open((scratch + "/ballast").c_str(), O_WRONLY | O_CREAT, 0666);
    const std::string block(4096, 'x');
    while (write(file, block.data(), block.size()) > 0) {
    }
    ASSERT_EQ(ftruncate(file, lseek(file, 0, SEEK_CUR) - (index_t{8} << 10)), 0);  // for a journal
    close(file);
    const Status status = run(JournalMode::restart);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(read_file(folder.file("out")) == expected(route));
}

// A file system without flock, as flock's answer: each attempt says so and leaves nothing.
TEST_F(Troubles, AFileSystemWithoutLocksIsSaidAndNothingIsLeft) {
    for (const JournalMode mode : {JournalMode::off, JournalMode::automatic}) {
        const pid_t child = fork();
        if (child == 0) {
            if (!answer_system_call(SYS_flock, SECCOMP_RET_ERRNO | ENOLCK)) _exit(2);
            const Status status = run(mode);
            _exit(status.code() == Code::io_error && status.message().find("flock") != std::string::npos ? 0 : 1);
        }
        int outcome = 0;
        ASSERT_EQ(waitpid(child, &outcome, 0), child);
        ASSERT_TRUE(WIFEXITED(outcome));
        if (WEXITSTATUS(outcome) == 2) GTEST_SKIP() << "the kernel takes no filter";
        EXPECT_EQ(WEXITSTATUS(outcome), 0);
        EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "scratch"}));
        EXPECT_EQ(rmdir(scratch.c_str()), 0) << "something is left in it";
        ASSERT_EQ(mkdir(scratch.c_str(), 0777), 0);
    }
}

// Names that vanish while a run works hurt it only where it needs them: the output's, in the end.
TEST_F(Troubles, AnOutputFolderThatVanishesIsSaid) {
    const std::string target = folder.file("target");
    ASSERT_EQ(mkdir(target.c_str(), 0777), 0);
    auto executor = Executor::make(plan_of(route), make_self_comm());
    ASSERT_TRUE(executor.ok());
    FileRequest request;
    request.input_path = folder.file("in");
    request.output_path = target + "/out";
    request.journal = JournalMode::automatic;
    request.scratch_folders = {scratch};
    request.progress = [&](index_t, index_t) {
        return rename(target.c_str(), (target + "-moved").c_str()) == 0 || true;
    };
    const Status status = executor.value()->transform_file(request);
    EXPECT_EQ(status.code(), Code::io_error);
    EXPECT_NE(status.message().find(target + "/out"), std::string::npos) << status.message();
    EXPECT_TRUE(read_file(folder.file("in")) == input);
    ASSERT_EQ(rename((target + "-moved").c_str(), target.c_str()), 0);  // it is back: only the name was missing
    request.progress = {};
    request.journal = JournalMode::resume;
    const Status again = executor.value()->transform_file(request);
    ASSERT_TRUE(again.ok()) << again.message();
    EXPECT_TRUE(read_file(target + "/out") == expected(route).substr(static_cast<size_t>(kHeaderBytes)));
}

TEST_F(Troubles, AScratchFolderThatVanishedIsSaidAndMissedByNobodyElse) {
    ASSERT_EQ(stop_at(0.8).code(), Code::interrupted);
    ASSERT_EQ(rename(scratch.c_str(), folder.file("away").c_str()), 0);
    const Status gone = run(JournalMode::automatic);
    EXPECT_EQ(gone.code(), Code::io_error) << gone.message();
    EXPECT_NE(gone.message().find(scratch), std::string::npos) << gone.message();
    ASSERT_EQ(rename(folder.file("away").c_str(), scratch.c_str()), 0);
    expect_goes_on();
}

TEST_F(Troubles, ScratchThatVanishedIsSaidAndRestartBeginsAnew) {
    ASSERT_EQ(stop_at(0.8).code(), Code::interrupted);
    const std::string find = "cd '" + scratch + "' && rm .*spanfft-kept-scratch";
    ASSERT_EQ(system(find.c_str()), 0);
    const Status status = run(JournalMode::automatic);
    EXPECT_EQ(status.code(), Code::io_error);
    EXPECT_NE(status.message().find("kept-scratch"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("restart begins anew"), std::string::npos) << status.message();
    ASSERT_TRUE(run(JournalMode::restart).ok());
    EXPECT_TRUE(read_file(folder.file("out")) == expected(route));
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "out", "scratch"}));
}

TEST_F(Troubles, AReadOnlyFolderIsSaidAndTheRunGoesOnWhenItCanBeWritten) {
    if (!mount_scratch("size=1m")) GTEST_SKIP() << "needs the right to mount a tmpfs";
    ASSERT_EQ(stop_at(0.8).code(), Code::interrupted);
    ASSERT_TRUE(remount(MS_RDONLY));
    for (const JournalMode mode : {JournalMode::automatic, JournalMode::resume, JournalMode::restart}) {
        const Status status = run(mode);
        EXPECT_EQ(status.code(), Code::io_error) << status.message();
        EXPECT_NE(status.message().find(scratch), std::string::npos) << status.message();
        EXPECT_NE(status.message().find("Read-only"), std::string::npos) << status.message();
    }
    EXPECT_TRUE(read_file(folder.file("in")) == input);
    ASSERT_TRUE(remount(0));
    expect_goes_on();
}

// A run by io_uring leaves what one by threads goes on with, and the other way.
TEST_F(Troubles, IoUringAndThreadsHaveTheSameJournal) {
    if (!Ring::make(4, kernel_rings()).ok() || !FileStore::open_output(folder.file("in")).value()->direct())
        GTEST_SKIP() << "needs io_uring and direct I/O";
    for (const JournalRoute& each : {journal_routes()[0], journal_routes()[1], journal_routes()[8]}) {
        const std::string whole = expected(each), ring = cat(each.problem, " io=uring");
        const JournalRoute by_ring = {ring.c_str(), each.solve, each.what};
        for (const double share : {0.4, 0.6, 0.9}) {
            TemporaryFolder own;
            make_input(each, own.path());
            const Status stopped =
                transform(by_ring, own.path(), JournalMode::automatic, nullptr, [=](index_t done, index_t total) {
                    return static_cast<double>(done) < share * static_cast<double>(total);
                });
            ASSERT_EQ(stopped.code(), Code::interrupted) << stopped.message();
            index_t resumed = 0;
            const Status status = transform(by_ring, own.path(), JournalMode::automatic, &resumed);
            ASSERT_TRUE(status.ok()) << status.message();
            EXPECT_GT(resumed + (share < 0.5), 0) << each.problem;
            EXPECT_TRUE(read_file(own.file("out")) == whole) << each.problem << ", stopped at " << share;
            EXPECT_EQ(own.names(), (std::vector<std::string>{"in", "out"}));
        }
    }
}

}  // namespace
}  // namespace spanfft::test
