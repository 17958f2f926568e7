// Runs of files that go on where others ended: kill -9, stops, changed inputs, two runs at once.
//
// The reference is always the same run undisturbed, to the bit; that one is held against the definition elsewhere
// (tests/unit/disk_sweeps_test.cpp).
#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <random>
#include <thread>

#include "solvers/table.hpp"
#include "support/journal_routes.hpp"
#include "support/killed.hpp"
#include "support/sanitized.hpp"

namespace spanfft::test {
namespace {

// kill -9 after random times, one after the other until a run ends: 100 and more moments in all, on all ways of sweeps.
TEST_F(JournalledFiles, KilledAtRandomMomentsGoOnToTheSameBits) {
    std::mt19937 random(20261122);
    int kills = 0, resumptions = 0;
    for (int round = 0; kills < 100 / kFaultStep && round < 40; ++round) {
        for (size_t i = 0; i < journal_routes().size(); i += kFaultStep) {
            const JournalRoute& route = journal_routes()[i];
            const std::string whole = expected(route);
            TemporaryFolder folder;
            make_input(route, folder.path());
            const auto start = std::chrono::steady_clock::now();
            ASSERT_TRUE(transform(route, folder.path(), JournalMode::automatic).ok());
            const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
            ASSERT_TRUE(read_file(folder.file("out")) == whole);
            ASSERT_EQ(unlink(folder.file("out").c_str()), 0);
            bool finished = false;
            for (int tries = 0; tries < 12; ++tries) {
                const pid_t child = fork();
                if (child == 0) {
                    index_t resumed = 0;
                    const Status status = transform(route, folder.path(), JournalMode::automatic, &resumed);
                    _exit(!status.ok() ? 2 : resumed > 0 ? 1 : 0);
                }
                const double wait = seconds.count() * std::uniform_real_distribution<double>(0.1, 1.1)(random);
                std::this_thread::sleep_for(std::chrono::duration<double>(wait));
                (void)kill(child, SIGKILL);
                int outcome = 0;
                ASSERT_EQ(waitpid(child, &outcome, 0), child);
                if (WIFSIGNALED(outcome)) {
                    ++kills;
                    continue;
                }
                ASSERT_NE(WEXITSTATUS(outcome), 2) << route.problem << ": a run that goes on failed";
                finished = true;
                resumptions += WEXITSTATUS(outcome) == 1;
                break;
            }
            index_t resumed = 0;
            if (!finished) {
                const Status status = transform(route, folder.path(), JournalMode::automatic, &resumed);
                ASSERT_TRUE(status.ok()) << route.problem << ": " << status.message();
                resumptions += resumed > 0;
            }
            ASSERT_TRUE(read_file(folder.file("out")) == whole) << route.problem << " (" << route.what << ")";
            EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "out"}));
        }
    }
    EXPECT_GE(kills, 100 / kFaultStep);
    EXPECT_GE(resumptions, 10 / kFaultStep);
    RecordProperty("kills", kills);
    RecordProperty("resumptions", resumptions);
}

// Touched, an input is read again as far as it had been, and has the sum that the journal knows, whatever the sweep
// reads in which order; without checksums nothing tells.
TEST_F(JournalledFiles, GoOnWithAnInputThatHasOtherTimesButItsBytes) {
    for (const JournalRoute& route : journal_routes()) {
        if (is_chunked(route)) continue;  // its identity is the caller's
        const std::string whole = expected(route);
        int gone_on = 0;
        for (const double share : kSanitized ? std::vector{0.3, 0.6} : std::vector{0.15, 0.3, 0.45, 0.6, 0.9}) {
            for (const bool checksums : {true, false}) {
                TemporaryFolder folder;
                make_input(route, folder.path());
                const auto run = [&](JournalMode mode, const Progress& progress, index_t* resumed = nullptr) {
                    return transform(route, folder.path(), mode, resumed, progress, {}, false, checksums);
                };
                const auto stop = [=](index_t done, index_t total) {
                    return static_cast<double>(done) < share * static_cast<double>(total);
                };
                ASSERT_EQ(run(JournalMode::automatic, stop).code(), Code::interrupted);
                const bool begun = folder.names().size() > 1;
                const timespec times[2] = {{1000000000, 0}, {1000000000, 0}};
                ASSERT_EQ(utimensat(AT_FDCWD, folder.file("in").c_str(), times, 0), 0);
                index_t resumed = 0;
                const Status status = run(JournalMode::automatic, {}, &resumed);
                if (begun && !checksums) {
                    EXPECT_NE(status.message().find("has changed since"), std::string::npos) << status.message();
                    EXPECT_GT(folder.names().size(), 1U);  // what was done is kept
                    continue;
                }
                ASSERT_TRUE(status.ok()) << route.problem << " at " << share << ": " << status.message();
                EXPECT_EQ(resumed > 0, begun) << route.problem << " at " << share;
                gone_on += resumed > 0;
                EXPECT_TRUE(read_file(folder.file("out")) == whole) << route.problem << " at " << share;
            }
        }
        EXPECT_GT(gone_on, 0) << route.problem;
    }
}

// Killed by its own hand after the n-th piece of progress: every sweep is reached, whatever the machine's speed.
// Scratch on one folder and striped over three.
TEST_F(JournalledFiles, KilledInEverySweepGoOnToTheSameBits) {
    for (const JournalRoute& route : journal_routes()) {
        const std::string whole = expected(route);
        int calls = 0, gone_on = 0;
        {
            TemporaryFolder folder;
            make_input(route, folder.path());
            ASSERT_TRUE(transform(route, folder.path(), JournalMode::off, nullptr, [&](index_t, index_t) {
                            ++calls;
                            return true;
                        }).ok());
        }
        // Whether a run that is killed there goes on.
        const auto goes_on = [&](int n, bool striped) {
            TemporaryFolder folder;
            make_input(route, folder.path());
            std::vector<std::string> scratch;
            for (const char* name : {"a", "b", "c"}) {
                if (!striped) break;
                scratch.push_back(folder.file(name));
                EXPECT_EQ(mkdir(scratch.back().c_str(), 0777), 0);
            }
            const pid_t child = fork();
            if (child == 0) {
                int count = 0;
                (void)transform(
                    route, folder.path(), JournalMode::automatic, nullptr,
                    [&](index_t, index_t) {
                        if (++count == n) raise(SIGKILL);
                        return true;
                    },
                    scratch)
                    .ok();
                _exit(0);
            }
            int outcome = 0;
            EXPECT_EQ(waitpid(child, &outcome, 0), child);
            index_t resumed = 0;
            const Status status = transform(route, folder.path(), JournalMode::automatic, &resumed, {}, scratch);
            EXPECT_TRUE(status.ok()) << route.problem << ": " << status.message();
            EXPECT_TRUE(read_file(folder.file("out")) == whole) << route.problem << ", killed at " << n;
            for (const std::string& each : scratch) EXPECT_EQ(rmdir(each.c_str()), 0) << "not empty: " << each;
            EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "out"}));
            return resumed > 0;
        };
        // The last call is among them however few are sampled: by then sweeps have ended, their lines are on the disk.
        std::vector<int> points{std::max(1, calls - 1)};
        for (int n = 1; n < calls - 1; n += kFaultStep * std::max(1, calls / 4)) points.push_back(n);
        const bool stripes = !kSanitized || (&route - journal_routes().data()) % 3 == 0;
        for (const bool striped : {false, true}) {
            if (striped && !stripes) continue;
            for (const int n : points) gone_on += goes_on(n, striped) ? 1 : 0;
        }
        // A run may have fewer calls than the counted one, 17 or 18, as several panels end at once: then the last call
        // kills nobody, and one before it does.
        for (int n = calls - 2; gone_on == 0 && n > 1; --n) gone_on += goes_on(n, false) ? 1 : 0;
        EXPECT_GT(gone_on, 0) << route.problem;
        if (HasFailure()) return;
    }
}

// Checksums are a matter of each run: sums that nobody kept are not missed.
TEST_F(JournalledFiles, GoOnWithChecksumsWhereTheyWereOffAndTheOtherWayRound) {
    for (size_t i = 0; i < journal_routes().size(); i += kFaultStep) {
        const JournalRoute& route = journal_routes()[i];
        const std::string whole = expected(route);
        for (const bool first : {false, true}) {
            TemporaryFolder folder;
            make_input(route, folder.path());
            index_t resumed = 0;
            const auto stop_after = [&](double share, bool checksums) {
                return transform(
                    route, folder.path(), JournalMode::automatic, &resumed,
                    [=](index_t done, index_t total) {
                        return static_cast<double>(done) < share * static_cast<double>(total);
                    },
                    {}, false, checksums);
            };
            ASSERT_EQ(stop_after(0.3, first).code(), Code::interrupted) << route.problem;
            const Status stopped = stop_after(0.8, !first);
            ASSERT_EQ(stopped.code(), Code::interrupted) << route.problem << ": " << stopped.message();
            const Status status = stop_after(2, first);
            ASSERT_TRUE(status.ok()) << route.problem << ": " << status.message();
            EXPECT_GT(resumed, 0) << route.problem;
            ASSERT_TRUE(read_file(folder.file("out")) == whole) << route.problem;
        }
    }
}

// Whatever scratch folders whoever begins anew has been given, and however little of the run had been noted.
TEST_F(JournalledFiles, ThatAreThrownAwayLeaveNothingInAnyFolder) {
    const JournalRoute& route = journal_routes()[0];
    TemporaryFolder folder;
    make_input(route, folder.path());
    std::vector<std::string> scratch = {folder.file("a"), folder.file("b")};
    for (const std::string& each : scratch) ASSERT_EQ(mkdir(each.c_str(), 0777), 0);
    const Progress stop = [](index_t done, index_t total) { return 5 * done < 4 * total; };
    ASSERT_EQ(transform(route, folder.path(), JournalMode::automatic, nullptr, stop, scratch).code(),
              Code::interrupted);
    ASSERT_EQ(mkdir(folder.file("out").c_str(), 0777), 0);  // begins anew, but can't
    ASSERT_FALSE(transform(route, folder.path(), JournalMode::restart, nullptr, {}, {scratch[0]}).ok());
    for (const std::string& each : scratch) EXPECT_EQ(rmdir(each.c_str()), 0) << "not empty: " << each;
    ASSERT_EQ(rmdir(folder.file("out").c_str()), 0);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"in"});
}

// Where no thread can be made, the one that writes the journal among them, a run that can't go on is not thrown away.
TEST_F(JournalledFiles, KeepWhatIsDoneWhereThereAreNoThreads) {
    if (geteuid() != 0) GTEST_SKIP() << "needs the right to become a user without processes";
    const JournalRoute& route = journal_routes()[0];
    const std::string whole = expected(route);
    TemporaryFolder folder;
    make_input(route, folder.path());
    const Progress stop = [](index_t done, index_t total) { return 5 * done < 4 * total; };
    ASSERT_EQ(transform(route, folder.path(), JournalMode::automatic, nullptr, stop).code(), Code::interrupted);
    const uid_t nobody = 65534;
    // All but the input, which would have changed.
    const std::string give = "find '" + folder.path() + "' ! -name in -exec chown 65534 {} +";
    ASSERT_EQ(system(give.c_str()), 0);
    const pid_t child = fork();
    if (child == 0) {
        auto executor = Executor::make(plan_of(route), make_self_comm());  // whose threads are there
        const rlimit none = {0, 0};
        if (!executor.ok() || setrlimit(RLIMIT_NPROC, &none) != 0 || setuid(nobody) != 0) _exit(3);
        FileRequest request;
        request.input_path = folder.file("in");
        request.output_path = folder.file("out");
        request.header = std::string(static_cast<size_t>(kHeaderBytes), '#');
        request.journal = JournalMode::automatic;
        _exit(executor.value()->transform_file(request).ok() ? 0 : 1);
    }
    int outcome = 0;
    ASSERT_EQ(waitpid(child, &outcome, 0), child);
    ASSERT_TRUE(WIFEXITED(outcome));
    ASSERT_EQ(WEXITSTATUS(outcome), 1) << "0: threads could be made after all";
    const std::string take =
        "find '" + folder.path() + "' ! -name in -exec chown 0 {} +";  // another user's journal is not believed
    ASSERT_EQ(system(take.c_str()), 0);
    index_t resumed = 0;
    const Status status = transform(route, folder.path(), JournalMode::resume, &resumed);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_GT(resumed, 0);
    EXPECT_TRUE(read_file(folder.file("out")) == whole);
}

// Runs with work on their blocks, and those of memoryloads: killed in every sweep, they go on to the same bits.
const JournalRoute kMoreRoutes[] = {
    {"c2c 1024 forward double memory=44KiB threads=1 window=hann power", solve_two_sweeps, "a window and power"},
    {"c2c 4096 forward double memory=100KiB threads=1 store=complex64", solve_two_sweeps, "a smaller type"},
    {"c2c 70x96 forward double memory=60KiB threads=1 window=hamming scale=0.5", solve_axis_sweeps,
     "a window, in place"},
    {"r2c 6000 forward double memory=64KiB threads=1 power store=float32", solve_many_sweeps, "power of halves"},
    {"dct2 1000 forward double memory=80KiB threads=1 power", solve_two_sweeps, "power in the type of the output"},
    {"c2c 4096 forward double memory=24KiB threads=1", solve_superlevels, "memoryloads"},
    {"c2c 4096 backward float memory=24KiB threads=2 method=superlevels:sync", solve_superlevels, "one at a time"},
    {"c2c 4096 forward double memory=24KiB threads=1 window=hann power", solve_superlevels, "memoryloads with work"},
    {"r2c 6000 forward float memory=64KiB threads=1", solve_many_sweeps, "a packed output", true},
    {"r2c 2048 forward float memory=48KiB threads=1", solve_two_sweeps, "a packed output, conjugates", true},
    {"c2c 1024 forward double memory=44KiB threads=1", solve_two_sweeps, "callbacks", false, "shift 1"},
    {"c2c 70x96 forward double memory=60KiB threads=1", solve_axis_sweeps, "callbacks, in place", false, "shift 1"},
    {"c2c 4096 forward float memory=40KiB threads=1 method=two_sweeps input_chunk=100 output_chunk=77 window=hann",
     by_planner, "a window on a chunked input"},
    {"c2r 6000 backward double memory=58KiB threads=1 method=many_sweeps input_chunk=90", by_planner,
     "callbacks on a chunked input, some of which is read twice", false, "shift 1"},
    {"c2r 6000 backward double memory=64KiB threads=1", solve_many_sweeps, "callbacks, whole sections", false,
     "shift 1"},
};

TEST_F(JournalledFiles, FusedAndPermutedRunsGoOnToTheSameBits) {
    for (const JournalRoute& route : kMoreRoutes) {
        ASSERT_EQ(examine_sweeps(*plan_of(route)).why_not, "") << route.problem;
        const std::string whole = expected(route);
        int gone_on = 0;
        for (const double share : {0.15, 0.35, 0.55, 0.75, 0.95}) {
            TemporaryFolder folder;
            make_input(route, folder.path());
            ASSERT_TRUE(killed_at(share, [&](const Progress& progress) {
                return transform(route, folder.path(), JournalMode::automatic, nullptr, progress);
            })) << route.problem;
            index_t resumed = 0;
            const Status status = transform(route, folder.path(), JournalMode::automatic, &resumed);
            ASSERT_TRUE(status.ok()) << route.problem << ": " << status.message();
            gone_on += resumed > 0;
            ASSERT_TRUE(read_file(folder.file("out")) == whole) << route.problem << ", killed at " << share;
            EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "out"}));
        }
        EXPECT_GE(gone_on, 3) << route.problem;
    }
}

// Progress is of what is computed, whatever is stored of it: to the last byte, and after a stop to about a panel, as
// all of a sweep count alike.
TEST_F(JournalledFiles, TellOfProgressUpToTheEnd) {
    for (const JournalRoute& route : kMoreRoutes) {
        TemporaryFolder folder;
        make_input(route, folder.path());
        index_t last = 0, all = 0;
        const Progress watch = [&](index_t done, index_t total) {
            last = done, all = total;
            return true;
        };
        ASSERT_TRUE(transform(route, folder.path(), JournalMode::off, nullptr, watch).ok());
        EXPECT_EQ(last, all) << route.problem;
        ASSERT_EQ(unlink(folder.file("out").c_str()), 0);
        const auto stop = [](index_t done, index_t total) { return done < total * 9 / 10; };
        ASSERT_EQ(transform(route, folder.path(), JournalMode::automatic, nullptr, stop).code(), Code::interrupted);
        index_t resumed = 0;
        ASSERT_TRUE(transform(route, folder.path(), JournalMode::resume, &resumed, watch).ok());
        EXPECT_GT(resumed, all / 3) << route.problem;
        EXPECT_NEAR(static_cast<double>(last), static_cast<double>(all), static_cast<double>(all) / 12)
            << route.problem;
    }
}

TEST_F(JournalledFiles, StoppedRunsSayHowToGoOnAndDo) {
    for (const JournalRoute& route : journal_routes()) {
        const std::string whole = expected(route);
        TemporaryFolder folder;
        make_input(route, folder.path());
        const Status stopped = transform(route, folder.path(), JournalMode::automatic, nullptr,
                                         [](index_t done, index_t total) { return done < total * 8 / 10; });
        EXPECT_EQ(stopped.code(), Code::interrupted) << stopped.message();
        EXPECT_NE(stopped.message().find("goes on"), std::string::npos) << stopped.message();
        EXPECT_GT(folder.names().size(), 2U);
        index_t resumed = 0;
        const Status status = transform(route, folder.path(), JournalMode::resume, &resumed);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_GT(resumed, 0);
        EXPECT_TRUE(read_file(folder.file("out")) == whole) << route.problem;
        EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "out"}));
    }
}

// A journal from before methods were renamed names the one of now.
TEST_F(JournalledFiles, StoppedRunsGoOnUnderTheFormerNameOfTheirMethod) {
    const JournalRoute route{"c2c 1024 forward double memory=44KiB threads=1 method=two_sweeps", solve_two_sweeps, ""};
    const std::string whole = expected(route);
    TemporaryFolder folder;
    make_input(route, folder.path());
    ASSERT_EQ(transform(route, folder.path(), JournalMode::automatic, nullptr,
                        [](index_t done, index_t total) { return done < total * 8 / 10; })
                  .code(),
              Code::interrupted);
    std::string journal;
    for (const std::string& name : folder.names())
        if (name.find("spanfft-journal") != std::string::npos) journal = folder.file(name);
    std::string text;
    const std::vector<std::string> lines = Journal::peek(journal).value();
    for (std::string line : lines) {
        if (const size_t at = line.find("method=two_sweeps"); at != std::string::npos)
            line.replace(at, std::string("method=two_sweeps").size(), "method=two_pass");
        text += journal_line(line);
    }
    ASSERT_NE(text.find(" method=two_pass "), std::string::npos);
    write_file(journal, text);
    const UnfinishedRun found = find_unfinished(folder.file("in"), 0, folder.file("out"), {}).value();
    EXPECT_NE(found.problem.find("method=two_sweeps"), std::string::npos) << found.problem;
    index_t resumed = 0;
    const Status status = transform(route, folder.path(), JournalMode::resume, &resumed);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_GT(resumed, 0);
    EXPECT_TRUE(read_file(folder.file("out")) == whole);
}

class UnfinishedRuns : public JournalledFiles {
  protected:
    void SetUp() override {
        make_input(route, folder.path());
        const Status stopped = transform(route, folder.path(), JournalMode::automatic, nullptr,
                                         [](index_t done, index_t total) { return done < total * 8 / 10; });
        ASSERT_EQ(stopped.code(), Code::interrupted) << stopped.message();
        ASSERT_FALSE(find_unfinished(folder.file("in"), 0, folder.file("out"), {}).value().problem.empty());
    }
    const JournalRoute& route = journal_routes()[0];
    TemporaryFolder folder;
};

TEST_F(UnfinishedRuns, RefuseAnInputThatHasChanged) {
    std::string input = read_file(folder.file("in"));
    input[5] = static_cast<char>(input[5] ^ 1);
    write_file(folder.file("in"), input);
    const Status status = transform(route, folder.path(), JournalMode::automatic);
    EXPECT_EQ(status.code(), Code::corrupt_data);
    EXPECT_NE(status.message().find("has changed"), std::string::npos) << status.message();
    EXPECT_FALSE(std::ifstream(folder.file("out")).good());
    index_t resumed = 1;
    EXPECT_TRUE(transform(route, folder.path(), JournalMode::restart, &resumed).ok());
    EXPECT_EQ(resumed, 0);
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "out"}));
}

TEST_F(UnfinishedRuns, RefuseAnotherProblemOrBudgetAndNameBoth) {
    for (const char* other : {"c2c 1024 backward double memory=44KiB threads=1",
                              "c2c 1024 forward double memory=46KiB "
                              "threads=1"}) {
        const Status status = transform({other, solve_two_sweeps, ""}, folder.path(), JournalMode::automatic);
        EXPECT_EQ(status.code(), Code::invalid_argument);
        EXPECT_NE(status.message().find("c2c 1024 forward double memory=45056"), std::string::npos) << status.message();
    }
    EXPECT_TRUE(transform(route, folder.path(), JournalMode::resume).ok());  // it is as it was
}

TEST_F(UnfinishedRuns, AreFoundSpoiledByTheirChecksums) {
    for (const std::string& name : folder.names()) {
        if (name.find("kept-scratch") == std::string::npos) continue;
        std::string content = read_file(folder.file(name));
        for (size_t at = 0; at + static_cast<size_t>(kMarkBytes) < content.size(); at += 64)
            content[at] = static_cast<char>(content[at] ^ 4);
        write_file(folder.file(name), content);
    }
    const Status status = transform(route, folder.path(), JournalMode::automatic);
    EXPECT_EQ(status.code(), Code::corrupt_data);
    EXPECT_NE(status.message().find("kept-scratch"), std::string::npos) << "which disk? " << status.message();
    EXPECT_NE(status.message().find("panel"), std::string::npos) << status.message();
    EXPECT_EQ(folder.names(), std::vector<std::string>{"in"});  // without hope: nothing is kept
}

TEST_F(UnfinishedRuns, ExcludeEachOtherAndNameTheProcess) {
    // The child stops in the middle of the run and waits to be killed.
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        (void)transform(route, folder.path(), JournalMode::automatic, nullptr, [&](index_t, index_t) {
            (void)!write(ready[1], "x", 1);
            pause();
            return true;
        }).ok();
        _exit(0);
    }
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    for (const JournalMode mode : {JournalMode::automatic, JournalMode::resume, JournalMode::restart}) {
        const Status status = transform(route, folder.path(), mode);
        EXPECT_EQ(status.code(), Code::io_error) << status.message();
        EXPECT_NE(status.message().find(std::to_string(child)), std::string::npos) << status.message();
    }
    (void)kill(child, SIGKILL);
    int outcome = 0;
    ASSERT_EQ(waitpid(child, &outcome, 0), child);
    close(ready[0]);
    close(ready[1]);
    index_t resumed = 0;
    const Status status = transform(route, folder.path(), JournalMode::resume, &resumed);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_GT(resumed, 0);
    EXPECT_TRUE(read_file(folder.file("out")) == expected(route));
}

TEST_F(JournalledFiles, ResumeWithoutAnUnfinishedRunIsRefused) {
    TemporaryFolder folder;
    make_input(journal_routes()[0], folder.path());
    const Status status = transform(journal_routes()[0], folder.path(), JournalMode::resume);
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(status.message().find("no unfinished run"), std::string::npos) << status.message();
    EXPECT_EQ(folder.names(), std::vector<std::string>{"in"});
}

}  // namespace
}  // namespace spanfft::test
