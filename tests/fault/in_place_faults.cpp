// Transforms in place on disk that are cut off: the input is as it was until all that it becomes is on the disk, and
// from then on the run that goes on makes it whole, to the same bits as a run into another file.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <random>
#include <thread>

#include "exec/in_place.hpp"
#include "solvers/table.hpp"
#include "support/journal_routes.hpp"
#include "support/permutations.hpp"
#include "support/sampled.hpp"
#include "support/sanitized.hpp"

namespace spanfft::test {
namespace {

// Two sweeps and more, of kinds whose output is as large as their input.
std::vector<JournalRoute> overwriting_routes() {
    std::vector<JournalRoute> routes;
    for (const JournalRoute& route : journal_routes()) {
        if (can_be_in_place(route)) routes.push_back(route);
    }
    return routes;
}

// A power cut at some five operations from the first to the last, with queued writes kept, dropped or torn, and another
// one in the run that goes on: for ./spanfft-dev soak (support/sampled.hpp).
TEST(InPlace, AfterSampledPowerCutsIsBitIdenticalAndUntouchedBeforeTheLastSweep) {
    int untouched = 0, overwritten = 0;
    Random points(1);
    for (const JournalRoute& route : overwriting_routes()) {
        if (Problem::parse(route.problem).value().shape[0] > 100000) continue;  // the same as the one before, and long
        index_t operations = 0;
        const std::string whole = undisturbed(route, operations, true);
        ASSERT_GT(operations, 10) << route.problem;
        const std::string input = CrashWorld(route, 1, true).input_bytes();
        for (const index_t n : sampled_operations(points, operations, 5)) {
            CrashWorld world(route, static_cast<unsigned>(n), true);
            std::mt19937_64 random(static_cast<unsigned>(n));
            world.disk.crash_at(n, false);
            Status status = world.run();
            for (int cuts = 0; world.disk.crashed() && cuts < 2; ++cuts) {
                world.disk.restart();
                if (world.may_overwrite()) {
                    ++overwritten;
                } else {
                    ++untouched;
                    ASSERT_TRUE(world.input_bytes() == input) << route.problem << ", cut at " << n;
                }
                const auto next = static_cast<index_t>(random() % static_cast<uint64_t>(operations));
                world.disk.crash_at(cuts == 0 ? 1 + next : 0, false);
                status = world.run();
            }
            ASSERT_TRUE(status.ok()) << route.problem << ", cut at " << n << ": " << status.message();
            ASSERT_TRUE(world.result() == whole) << route.problem << " (" << route.what << "), cut at " << n;
        }
    }
    EXPECT_GT(untouched, 20);
    EXPECT_GT(overwritten, 20);
}

class InPlaceFiles : public JournalledFiles {
  protected:
    static Status run(const JournalRoute& route, const std::string& folder, JournalMode mode,
                      index_t* resumed = nullptr, Progress progress = {},
                      const std::vector<std::string>& scratch = {}) {
        return transform(route, folder, mode, resumed, std::move(progress), scratch, true);
    }
    static std::string expected_array(const JournalRoute& route) {
        return expected(route).substr(static_cast<size_t>(kHeaderBytes));
    }
    // Of all solvers; the last three are copied over the input.
    static std::vector<JournalRoute> routes() {
        std::vector<JournalRoute> all = overwriting_routes();
        all.push_back({"c2c 64x96 forward double axes=1 memory=48KiB threads=1", solve_axis_sweeps, "one sweep"});
        all.push_back({"c2c 65536 forward double memory=256KiB method=superlevels", solve_superlevels, "superlevels"});
        all.push_back({"c2c 96x96 forward double memory=1MiB threads=1", solve_file_in_memory, "in memory"});
        return all;
    }
    static int calls_of(const JournalRoute& route) {
        TemporaryFolder folder;
        make_input(route, folder.path());
        int calls = 0;
        EXPECT_TRUE(run(route, folder.path(), JournalMode::automatic, nullptr, [&](index_t, index_t) {
                        ++calls;
                        return true;
                    }).ok());
        EXPECT_TRUE(read_file(folder.file("in")) == expected_array(route)) << route.problem;
        EXPECT_EQ(folder.names(), std::vector<std::string>{"in"}) << route.problem;
        return calls;
    }
    // A run in a child that kills itself at the n-th piece of progress; false: it came to fewer pieces.
    static bool kill_at(const JournalRoute& route, const std::string& folder, int n) {
        const pid_t child = fork();
        if (child == 0) {
            int count = 0;
            (void)run(route, folder, JournalMode::automatic, nullptr, [&](index_t, index_t) {
                if (++count == n) raise(SIGKILL);
                return true;
            }).ok();
            _exit(0);
        }
        int outcome = 0;
        EXPECT_EQ(waitpid(child, &outcome, 0), child);
        return WIFSIGNALED(outcome);
    }
    // A folder whose file a run left half overwritten; null where none did. How many pieces of progress come before the
    // last sweep depends on the disk, so the runs are killed at the last piece, then at the one before, and so on.
    static std::unique_ptr<TemporaryFolder> half_overwritten(const JournalRoute& route) {
        const int calls = calls_of(route);
        for (int n = calls; n > calls / 2; --n) {
            auto folder = std::make_unique<TemporaryFolder>();
            make_input(route, folder->path());
            if (kill_at(route, folder->path(), n) && !check_not_half_overwritten(folder->file("in")).ok())
                return folder;
        }
        return nullptr;
    }
};

// Killed by its own hand in every sweep. Half overwritten, the file is refused to others, to a run that begins anew and
// to one of another problem; the run that goes on makes it whole.
TEST_F(InPlaceFiles, KilledInEverySweepGoOnToTheSameBits) {
    int half = 0;
    for (const JournalRoute& route : routes()) {
        const std::string whole = expected_array(route), input = input_of(route);
        const int calls = calls_of(route);
        for (int n = 1; n < calls; n += kFaultStep * std::max(1, calls / 4)) {
            TemporaryFolder folder;
            make_input(route, folder.path());
            if (!kill_at(route, folder.path(), n)) {
                ASSERT_TRUE(read_file(folder.file("in")) == whole) << route.problem;
                continue;
            }
            const Status elsewhere = transform(route, folder.path(), JournalMode::off);
            if (elsewhere.ok()) {
                ASSERT_TRUE(read_file(folder.file("in")) == input) << route.problem << ", killed at " << n;
                ASSERT_EQ(unlink(folder.file("out").c_str()), 0);
            } else {
                ++half;
                ASSERT_EQ(elsewhere.code(), Code::corrupt_data) << elsewhere.message();
                EXPECT_NE(elsewhere.message().find("half overwritten"), std::string::npos) << elsewhere.message();
                EXPECT_NE(elsewhere.message().find("goes on from there"), std::string::npos) << elsewhere.message();
                const Status anew = run(route, folder.path(), JournalMode::restart);
                ASSERT_EQ(anew.code(), Code::invalid_argument) << anew.message();
                EXPECT_NE(anew.message().find("can't begin anew"), std::string::npos) << anew.message();
            }
            const Status status = run(route, folder.path(), JournalMode::automatic);
            ASSERT_TRUE(status.ok()) << route.problem << ", killed at " << n << ": " << status.message();
            ASSERT_TRUE(read_file(folder.file("in")) == whole) << route.problem << ", killed at " << n;
            EXPECT_EQ(folder.names(), std::vector<std::string>{"in"});
        }
    }
    EXPECT_GT(kFaultStep * half, 10);
}

// A copy of the array is put back into the half overwritten file: what the last sweep had written is gone with it.
TEST_F(InPlaceFiles, RestoredFromACopyAreWrittenAnew) {
    int restored = 0;
    for (const JournalRoute& route : overwriting_routes()) {
        const std::string whole = expected_array(route);
        const int calls = calls_of(route);
        for (int n = calls - 1; n > 1; n -= kFaultStep * std::max(1, calls / 8)) {
            TemporaryFolder folder;
            make_input(route, folder.path());
            if (!kill_at(route, folder.path(), n)) continue;
            if (check_not_half_overwritten(folder.file("in")).ok()) break;
            ++restored;
            make_input(route, folder.path());  // the same inode
            if (n % 2 == 0) (void)kill_at(route, folder.path(), 2);
            const Status status = run(route, folder.path(), JournalMode::automatic);
            ASSERT_TRUE(status.ok()) << route.problem << ", killed at " << n << ": " << status.message();
            ASSERT_TRUE(read_file(folder.file("in")) == whole) << route.problem << ", killed at " << n;
            EXPECT_EQ(folder.names(), std::vector<std::string>{"in"});
        }
    }
    EXPECT_GT(kFaultStep * restored, 10);
}

// A run killed when all but its journal's name was done is no reason not to do the next one, which is another.
TEST_F(InPlaceFiles, ThatFinishedDontHideTheNextTransform) {
    const JournalRoute forward = overwriting_routes()[0];
    std::string text = forward.problem;
    const JournalRoute backward = {text.replace(text.find("forward"), 7, "backward").c_str(), forward.solve, ""};
    TemporaryFolder folder, other;
    make_input(forward, folder.path());
    std::string journal;
    ASSERT_TRUE(run(forward, folder.path(), JournalMode::automatic, nullptr, [&](index_t, index_t) {
                    journal = read_file(in_place_journal(folder.file("in")));
                    return true;
                }).ok());
    write_file(in_place_journal(folder.file("in")), journal + journal_line("finished now"));
    const std::string spectrum = read_file(folder.file("in"));
    write_file(other.file("in"), spectrum);
    ASSERT_TRUE(run(backward, other.path(), JournalMode::automatic).ok());
    index_t resumed = 0;
    ASSERT_TRUE(run(forward, folder.path(), JournalMode::automatic, &resumed).ok());  // the same: it was done
    EXPECT_TRUE(read_file(folder.file("in")) == spectrum);
    write_file(in_place_journal(folder.file("in")), journal + journal_line("finished now"));
    ASSERT_TRUE(run(backward, folder.path(), JournalMode::automatic).ok());
    EXPECT_TRUE(read_file(folder.file("in")) == read_file(other.file("in")));
    EXPECT_FALSE(read_file(folder.file("in")) == spectrum);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"in"});
}

TEST_F(InPlaceFiles, HalfOverwrittenAreNotPermuted) {
    const JournalRoute route = overwriting_routes()[0];
    const std::unique_ptr<TemporaryFolder> half = half_overwritten(route);
    ASSERT_TRUE(half);
    const TemporaryFolder& folder = *half;
    const auto permutation = plan_permutation(permutation_of("bit-reversal", 6, 16, 1 << 20), Machine());
    ASSERT_TRUE(permutation.ok());
    const auto executor = Executor::make(permutation.value().plan, make_self_comm());
    ASSERT_TRUE(executor.ok());
    FileRequest files;
    files.input_path = folder.file("in");
    files.output_path = folder.file("permuted");
    const Status status = executor.value()->transform_file(files);
    EXPECT_EQ(status.code(), Code::corrupt_data) << status.message();
    EXPECT_NE(status.message().find("half overwritten"), std::string::npos) << status.message();
    EXPECT_NE(access(folder.file("permuted").c_str(), F_OK), 0);
    ASSERT_TRUE(run(route, folder.path(), JournalMode::automatic).ok());
}

// kill -9 after random times of a seed, one after the other until a run ends.
TEST_F(InPlaceFiles, KilledAtRandomMomentsGoOnToTheSameBits) {
    std::mt19937 random(42);
    int kills = 0;
    for (int round = 0; kills < 30 && round < 10; ++round) {
        for (const JournalRoute& route : {journal_routes()[0], journal_routes()[1], journal_routes()[9]}) {
            const std::string whole = expected_array(route);
            TemporaryFolder folder;
            make_input(route, folder.path());
            const auto start = std::chrono::steady_clock::now();
            ASSERT_TRUE(run(route, folder.path(), JournalMode::automatic).ok());
            const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
            make_input(route, folder.path());
            bool finished = false;
            for (int tries = 0; tries < 12 && !finished; ++tries) {
                const pid_t child = fork();
                // The plain command would transform a file again that the killed run had finished after all.
                const JournalMode mode = tries == 0 ? JournalMode::restart : JournalMode::automatic;
                if (child == 0) {
                    if (tries > 0 &&
                        find_unfinished(folder.file("in"), 0, folder.file("in"), {}).value().problem.empty())
                        _exit(read_file(folder.file("in")) == whole ? 0 : run(route, folder.path(), mode).ok() ? 0 : 2);
                    _exit(run(route, folder.path(), mode).ok() ? 0 : 2);
                }
                const double wait = seconds.count() * std::uniform_real_distribution<double>(0.1, 1.1)(random);
                std::this_thread::sleep_for(std::chrono::duration<double>(wait));
                (void)kill(child, SIGKILL);
                int outcome = 0;
                ASSERT_EQ(waitpid(child, &outcome, 0), child);
                kills += WIFSIGNALED(outcome);
                ASSERT_FALSE(WIFEXITED(outcome) && WEXITSTATUS(outcome) == 2) << route.problem;
                finished = WIFEXITED(outcome);
            }
            const bool unfinished =
                !find_unfinished(folder.file("in"), 0, folder.file("in"), {}).value().problem.empty();
            if (unfinished || read_file(folder.file("in")) != whole) {
                const Status status = run(route, folder.path(), JournalMode::automatic);
                ASSERT_TRUE(status.ok()) << route.problem << ": " << status.message();
            }
            ASSERT_TRUE(read_file(folder.file("in")) == whole) << route.problem;
            EXPECT_EQ(folder.names(), std::vector<std::string>{"in"});
        }
    }
    EXPECT_GE(kills, 30);
}

// An array in the middle of a file, reached through a link, with scratch elsewhere: what is around it stays.
TEST_F(InPlaceFiles, LeaveTheRestOfTheFileAlone) {
    for (const JournalRoute& route : {journal_routes()[0], journal_routes()[8], routes().back()}) {
        TemporaryFolder folder, scratch;
        const std::string before(1000, 'b'), behind(3001, 'z');
        write_file(folder.file("real"), before + input_of(route) + behind);
        ASSERT_EQ(symlink(folder.file("real").c_str(), folder.file("in").c_str()), 0);
        auto executor = Executor::make(plan_of(route), make_self_comm());
        ASSERT_TRUE(executor.ok());
        FileRequest request;
        request.input_path = folder.file("in");
        request.input_offset_bytes = 1000;
        // To another file first: with its own bytes before the array, for FFTW rounds by where numbers lie in memory.
        request.output_path = folder.file("out");
        request.header.assign(1000, 'b');
        ASSERT_TRUE(executor.value()->transform_file(request).ok());
        const std::string expected = read_file(request.output_path);
        ASSERT_EQ(unlink(request.output_path.c_str()), 0);

        request.output_path = request.input_path;
        request.header.clear();
        request.journal = JournalMode::automatic;
        request.in_place = true;
        request.scratch_folders = {scratch.path()};
        const Status status = executor.value()->transform_file(request);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_TRUE(read_file(folder.file("real")) == expected + behind) << route.problem;
        EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "real"}));
        EXPECT_TRUE(scratch.names().empty());
    }
}

TEST_F(InPlaceFiles, RefuseWhatCantBeAndTouchNothing) {
    const JournalRoute halves = {"r2c 1024 forward double memory=48KiB threads=1", solve_two_sweeps, ""};
    TemporaryFolder folder;
    make_input(halves, folder.path());
    const std::string input = read_file(folder.file("in"));
    Status status = run(halves, folder.path(), JournalMode::automatic);
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(status.message().find("513 complex double of 1024 real double"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("give another output"), std::string::npos) << status.message();
    EXPECT_TRUE(read_file(folder.file("in")) == input);
    make_input(journal_routes()[0], folder.path());
    status = run(journal_routes()[0], folder.path(), JournalMode::off);
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(status.message().find("turn the journal on"), std::string::npos) << status.message();
    status = run(journal_routes()[0], folder.path(), JournalMode::resume);
    EXPECT_NE(status.message().find("no unfinished run"), std::string::npos) << status.message();
    EXPECT_EQ(folder.names(), std::vector<std::string>{"in"});
}

// A file that took the name of the half overwritten one is another: it is neither refused nor gone on with.
TEST_F(InPlaceFiles, AnotherFileOfTheSameNameIsNotTheUnfinishedOne) {
    const JournalRoute& route = journal_routes()[0];
    const std::unique_ptr<TemporaryFolder> folder = half_overwritten(route);
    ASSERT_TRUE(folder);
    write_file(folder->file("new"), input_of(route));
    ASSERT_EQ(rename(folder->file("new").c_str(), folder->file("in").c_str()), 0);
    ASSERT_TRUE(transform(route, folder->path(), JournalMode::off).ok());
    const Status status = run(route, folder->path(), JournalMode::automatic);
    EXPECT_EQ(status.code(), Code::corrupt_data);
    EXPECT_NE(status.message().find("has changed"), std::string::npos) << status.message();
    EXPECT_TRUE(run(route, folder->path(), JournalMode::restart).ok());
    EXPECT_TRUE(read_file(folder->file("in")) == expected_array(route));
}

// A disk with room for less than the copy: refused with both numbers before anything is touched.
TEST_F(InPlaceFiles, NeedRoomForTheCopy) {
    TemporaryFolder folder;
    if (geteuid() != 0 || mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=6m") != 0) {
        GTEST_SKIP() << "needs the right to mount a tmpfs";
    }
    struct Unmount {
        std::string path;
        ~Unmount() { (void)umount2(path.c_str(), MNT_DETACH); }
    } unmount{folder.path()};
    const JournalRoute& route = journal_routes()[1];  // 4 MiB
    make_input(route, folder.path());
    const std::string input = read_file(folder.file("in"));
    const Status status = run(route, folder.path(), JournalMode::automatic);
    EXPECT_EQ(status.code(), Code::no_space);
    EXPECT_NE(status.message().find("the copy that the input is overwritten with needs 4194304 bytes"),
              std::string::npos)
        << status.message();
    EXPECT_TRUE(read_file(folder.file("in")) == input);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"in"});
}

}  // namespace
}  // namespace spanfft::test
