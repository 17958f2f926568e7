// Journals of what is not an ordinary array in a file: behind functions, packed, or passed through callbacks. (That
// such runs go on to the same bits wherever they are killed is among the routes of the other tests.)
#include <gtest/gtest.h>

#include <linux/seccomp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <fstream>

#include "disk/kept_mark.hpp"
#include "disk/packed_store.hpp"
#include "solvers/table.hpp"
#include "support/journal_routes.hpp"
#include "support/system_call_filter.hpp"

namespace spanfft::test {
namespace {

class StoredElsewhere : public JournalledFiles {
  protected:
    void SetUp() override { make_input(route, folder.path()); }
    Status run(const FileRequest& request) {
        auto executor = Executor::make(plan_of(route), make_self_comm());
        if (!executor.ok()) return executor.status();
        const Status status = executor.value()->transform_file(request);
        resumed = executor.value()->resumed_bytes();
        notes = executor.value()->run_notes();
        return status;
    }
    FileRequest request(JournalMode mode = JournalMode::automatic) const {
        FileRequest asked = request_of(route, folder.path());
        asked.journal = mode;
        return asked;
    }
    void stop_at(double share) {
        FileRequest asked = request();
        asked.progress = [=](index_t done, index_t total) {
            return static_cast<double>(done) < share * static_cast<double>(total);
        };
        const Status stopped = run(asked);
        ASSERT_EQ(stopped.code(), Code::interrupted) << stopped.message();
        ASSERT_NE(stopped.message().find("goes on from there"), std::string::npos) << stopped.message();
    }
    void expect_refused(const FileRequest& asked, Code code, const std::string& words) {
        const Status status = run(asked);
        EXPECT_EQ(status.code(), code);
        EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
        EXPECT_NE(status.message().find("restart"), std::string::npos) << status.message();
        EXPECT_FALSE(std::ifstream(folder.file("out")).good());
    }
    void expect_goes_on() {
        const Status status = run(request(JournalMode::resume));
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_GT(resumed, 0);
        EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "out"}));
    }

    JournalRoute route{"c2c 61x50 forward double memory=29KiB threads=1 input_chunk=7x9 output_chunk=9x7", by_planner,
                       "chunked"};
    TemporaryFolder folder;
    index_t resumed = 0;
    std::vector<std::string> notes;
};

TEST_F(StoredElsewhere, WithoutAnIdentityOfTheInputThereIsNoJournalAndANoteSaysWhy) {
    FileRequest asked = request(JournalMode::resume);
    asked.input_identity.clear();
    const Status status = run(asked);
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(status.message().find("give its store an identity"), std::string::npos) << status.message();
    asked.journal = JournalMode::automatic;
    ASSERT_TRUE(run(asked).ok());
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_NE(notes[0].find("give its store an identity"), std::string::npos) << notes[0];
}

TEST_F(StoredElsewhere, AnotherInputAndAnotherWayToStoreTheOutputAreRefused) {
    stop_at(0.6);
    FileRequest changed = request();
    changed.input_identity += " changed";
    expect_refused(changed, Code::corrupt_data, folder.file("in") + " has changed");
    FileRequest otherwise = request();
    otherwise.output_identity = "compressed";
    expect_refused(otherwise, Code::invalid_argument, "was to store its output otherwise");
    const std::string text = std::string(route.problem).replace(std::string(route.problem).find("9x7"), 3, "9x8");
    const JournalRoute whole_rows{text.c_str(), by_planner, ""};
    EXPECT_NE(transform(whole_rows, folder.path(), JournalMode::automatic).message().find("another problem"),
              std::string::npos);
    FileRequest unknown = request();  // it would leave what is unfinished, unseen
    unknown.input_identity.clear();
    expect_refused(unknown, Code::invalid_argument, "give its store an identity");
    expect_goes_on();
}

TEST_F(StoredElsewhere, ARunThatCanHaveNoJournalThrowsAnUnfinishedOneAwayWhereItIsAskedTo) {
    stop_at(0.6);
    FileRequest unknown = request(JournalMode::restart);
    unknown.input_identity.clear();
    ASSERT_TRUE(run(unknown).ok());
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "out"}));
}

// Of whatever is staged: a copy that is spoiled between two runs.
TEST_F(StoredElsewhere, SpoiledCopiesAreFoundByTheirChecksumsAndNamed) {
    for (const auto& [share, name] :
         std::vector<std::pair<double, std::string>>{{0.3, "kept-input"}, {0.8, "kept-result"}}) {
        SCOPED_TRACE(name);
        stop_at(share);
        std::string spoiled;
        for (const std::string& each : folder.names())
            if (each.find(name) != std::string::npos) spoiled = folder.file(each);
        ASSERT_FALSE(spoiled.empty());
        std::string content = read_file(spoiled);
        ASSERT_GT(content.size(), static_cast<size_t>(kMarkBytes));  // the array, for its mark is asked first
        for (size_t at = 0; at < content.size() - static_cast<size_t>(kMarkBytes); at += 64)
            content[at] = static_cast<char>(content[at] ^ 4);
        write_file(spoiled, content);
        const Status status = run(request());
        EXPECT_EQ(status.code(), Code::corrupt_data);
        for (const std::string& word : {name, std::string("panel"), std::string("between byte")})
            EXPECT_NE(status.message().find(word), std::string::npos) << status.message();
        EXPECT_EQ(folder.names(), std::vector<std::string>{"in"});  // without hope: nothing is kept
    }
}

// The caller's part of the end: once, when all is written and nothing has gone yet that it is made of.
TEST_F(StoredElsewhere, AnOutputThatCantBeFinishedIsFinishedByTheNextRun) {
    const std::string whole = expected(route);
    for (const bool killed : {false, true}) {
        SCOPED_TRACE(killed);
        const pid_t child = fork();
        if (child == 0) {
            FileRequest asked = request();
            asked.finish = [&]() -> Status {
                if (killed) raise(SIGKILL);
                return error(Code::io_error, "no room for a name");
            };
            const Status status = run(asked);
            const bool said =
                status.message().find("no room for a name; all panels are done and kept") != std::string::npos;
            _exit(status.code() == Code::io_error && said ? 0 : 1);
        }
        int outcome = 0;
        ASSERT_EQ(waitpid(child, &outcome, 0), child);
        ASSERT_EQ(WIFSIGNALED(outcome), killed);
        ASSERT_TRUE(killed || WEXITSTATUS(outcome) == 0);
        FileRequest asked = request(JournalMode::resume);
        int finished = 0;
        index_t kept = 0;
        asked.finish = [&, finish = asked.finish] {
            ++finished;
            kept = static_cast<index_t>(folder.names().size());
            return finish();
        };
        const Status status = run(asked);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(finished, 1);
        EXPECT_GE(kept, 5);  // the journal, the output's own file, two copies, and the input
        EXPECT_GT(resumed, 0);
        EXPECT_TRUE(read_file(folder.file("out")) == whole);
        EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "out"}));
        ASSERT_EQ(unlink(folder.file("out").c_str()), 0);
    }
}

// Killed when the first of its files would go: the next run knows that the output is whole, and begins one of its own.
TEST_F(StoredElsewhere, AFinishedRunWhoseFilesAreStillThereIsNotGoneOnWith) {
    const pid_t child = fork();
    if (child == 0) {
        FileRequest asked = request();
        asked.finish = [finish = asked.finish]() -> Status {
            SPANFFT_TRY(finish());
            for (const int call : {SYS_unlink, SYS_unlinkat})  // which of them unlink() is, is libc's affair
                if (!answer_system_call(call, SECCOMP_RET_KILL_PROCESS)) _exit(2);
            return {};
        };
        (void)run(asked).ok();
        _exit(1);
    }
    int outcome = 0;
    ASSERT_EQ(waitpid(child, &outcome, 0), child);
    if (WIFEXITED(outcome) && WEXITSTATUS(outcome) == 2) GTEST_SKIP() << "the kernel takes no filter";
    ASSERT_TRUE(WIFSIGNALED(outcome));
    EXPECT_TRUE(read_file(folder.file("out")) == expected(route));
    EXPECT_GT(folder.names().size(), 2U);
    EXPECT_TRUE(find_unfinished(folder.file("in"), 0, folder.file("out"), {folder.path()}).value().problem.empty());
    ASSERT_TRUE(run(request()).ok());
    EXPECT_EQ(resumed, 0);
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"in", "out"}));
}

class NamedCallbacks : public StoredElsewhere {
  protected:
    void SetUp() override {
        route = {"c2c 1024 forward double memory=44KiB threads=1", solve_two_sweeps, "", false, "shift 1"};
        StoredElsewhere::SetUp();
    }
};

TEST_F(NamedCallbacks, AnotherNameOrNoneIsRefused) {
    stop_at(0.8);
    FileRequest other = request();
    other.callbacks.name = "shift 2";
    expect_refused(other, Code::invalid_argument, "had other callbacks");
    FileRequest fewer = request();
    fewer.callbacks.on_output = {};
    expect_refused(fewer, Code::invalid_argument, "had other callbacks");
    FileRequest none = request();
    none.callbacks = {};
    none.callbacks.name.clear();
    expect_refused(none, Code::invalid_argument, "had other callbacks");
    FileRequest nameless = request();
    nameless.callbacks.name.clear();
    expect_refused(nameless, Code::invalid_argument, "its callbacks have no name");
    expect_goes_on();
}

TEST_F(NamedCallbacks, WithoutANameThereIsNoJournalAndANoteSaysWhy) {
    FileRequest nameless = request(JournalMode::resume);
    nameless.callbacks.name.clear();
    const Status status = run(nameless);
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(status.message().find("its callbacks have no name"), std::string::npos) << status.message();
    nameless.journal = JournalMode::automatic;
    ASSERT_TRUE(run(nameless).ok());
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_NE(notes[0].find("no journal of this run: its callbacks have no name"), std::string::npos) << notes[0];
}

TEST_F(NamedCallbacks, GetTheBlocksThatAreNotDone) {
    stop_at(0.8);
    FileRequest asked = request(JournalMode::resume);
    std::atomic<index_t> in{0}, out{0};
    const auto counted = [](std::atomic<index_t>& elems, const std::function<Status(Block&)>& callback) {
        return [&elems, callback](Block& block) {
            elems += block.count;
            return callback(block);
        };
    };
    asked.callbacks.on_input = counted(in, asked.callbacks.on_input);
    asked.callbacks.on_output = counted(out, asked.callbacks.on_output);
    ASSERT_TRUE(run(asked).ok());
    EXPECT_EQ(in, 0);  // the first sweep was done
    EXPECT_GT(out, 0);
    EXPECT_LE(out, 1024);
}

// After a power cut anywhere, the last number is still there, or the first one has it.
TEST(PackedSpectra, LoseNothingToAPowerCut) {
    constexpr index_t kNumbers = 300, kOffset = 24, kElem = 8;
    int cut_short = 0;
    for (unsigned seed = 0; seed < 60; ++seed) {
        CrashDisk disk(seed);
        Store& file = disk.add(kOffset + (kNumbers + 1) * kElem);
        std::vector<float> numbers(2 * (kNumbers + 1));
        for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i + 1);
        ASSERT_TRUE(file.write({kOffset, numbers.data(), (kNumbers + 1) * kElem, false}).ok());
        ASSERT_TRUE(file.sync().ok());
        disk.crash_at(1 + seed % 4, false);
        const Status packed = pack_spectrum(file, kOffset, kNumbers, kElem);
        EXPECT_FALSE(file.sync().ok());  // the power goes here at the latest
        disk.restart();
        if (!packed.ok()) {
            ++cut_short;
            ASSERT_TRUE(pack_spectrum(file, kOffset, kNumbers, kElem).ok());
        }
        float found[2 * (kNumbers + 1)];
        std::memcpy(found, disk.content(0).data() + kOffset, sizeof found);
        ASSERT_EQ(found[1], numbers[2 * kNumbers]) << "seed " << seed;
        numbers[1] = numbers[2 * kNumbers];
        ASSERT_EQ(std::memcmp(found, numbers.data(), sizeof found), 0) << "seed " << seed;
    }
    EXPECT_GT(cut_short, 30);
}

// The name can't be given when the last number is cut off already.
TEST_F(StoredElsewhere, APackedOutputWhoseFolderVanishesIsWholeWhenItIsBack) {
    route = {"r2c 2048 forward float memory=48KiB threads=1", solve_two_sweeps, "", true};
    make_input(route, folder.path());
    const std::string whole = expected(route), target = folder.file("target"), away = folder.file("away");
    ASSERT_EQ(mkdir(target.c_str(), 0777), 0);
    FileRequest asked = request();
    asked.output_path = target + "/out";
    asked.header = std::string(static_cast<size_t>(kHeaderBytes), '#');
    asked.scratch_folders = {folder.path()};
    asked.progress = [&](index_t, index_t) { return rename(target.c_str(), away.c_str()) == 0 || true; };
    const Status status = run(asked);
    EXPECT_EQ(status.code(), Code::io_error);
    for (const char* const words :
         {"which holds what is done, is gone from its place", "with it back the same command"})
        EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
    ASSERT_EQ(rename(away.c_str(), target.c_str()), 0);
    asked.progress = {};
    asked.journal = JournalMode::resume;
    asked.packed_output = false;
    const Status otherwise = run(asked);
    EXPECT_EQ(otherwise.code(), Code::invalid_argument) << otherwise.message();
    asked.packed_output = true;
    const Status again = run(asked);
    ASSERT_TRUE(again.ok()) << again.message();
    EXPECT_TRUE(read_file(target + "/out") == whole);
    EXPECT_EQ(static_cast<index_t>(whole.size()), kHeaderBytes + 1024 * 8);
}

}  // namespace
}  // namespace spanfft::test
