// Power cuts in runs of files: every operation on journal, output, scratch and folders is recorded, and after each of
// them the folder is brought into states that a power cut may have left (support/power_cut/recorded_disk.hpp). In each
// the input is as it was, the output's name leads to what was there before or to the whole result, and the same
// command gives the whole result and leaves nothing else. As long as names arrive in the order in which they were
// given, which is so when the process alone ends, whatever a journal keeps has that journal. When panels have once been
// found done, no later power cut loses them all; when the run has said that it is done, none loses its result. In place
// the file is the input, the result, or refused to whoever else asks.
//
// The states of each operation are those of RecordedDisk::choose, with SPANFFT_POWER_CUTS=all far more; in some of them
// the run that goes on is cut off as well. All of it depends on the seed that a failure prints.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "disk/file_store.hpp"
#include "disk/output_file.hpp"
#include "disk/ring.hpp"
#include "exec/in_place.hpp"
#include "plan/user_files.hpp"
#include "solvers/table.hpp"
#include "support/journal_routes.hpp"
#include "support/power_cut/recorded.hpp"
#include "support/sanitized.hpp"

namespace spanfft::test {
namespace {

const std::string kOld = "what was there before";

struct CutRun {
    const char* name;
    JournalRoute route;
    bool in_place = false, checksums = true;
    JournalMode mode = JournalMode::automatic;
    int scratch_folders = 0;
    bool old_output = false;
    double stopped_at = 0;  // an unfinished run, so far, is there before; not in place, a restart
};
// What CTest and failures call it.
[[maybe_unused]] void PrintTo(const CutRun& run, std::ostream* out) { *out << run.route.problem; }

std::vector<CutRun> runs() {
    const JournalRoute
        blocks = {"c2c 256 forward double memory=36KiB threads=1 io=threads", solve_two_sweeps, ""},
        blocks_by_ring = {"c2c 256 forward double memory=36KiB threads=1 io=uring", solve_two_sweeps, ""},
        columns_by_ring = {"c2c 32x24 forward double memory=24KiB threads=1 io=uring", solve_axis_sweeps, ""},
        columns = {"c2c 32x24 forward double memory=24KiB threads=1 io=threads", solve_axis_sweeps, ""},
        thrice = {"c2c 8x9x10 forward double memory=22KiB threads=1 io=threads", solve_axis_sweeps, ""},
        by_scratch = {"c2r 24x32 backward double memory=18KiB threads=1 io=threads", solve_axis_sweeps, ""},
        halves = {"r2c 512 forward double memory=40KiB threads=1 io=threads", solve_two_sweeps, "", true},
        stockham = {"c2c 512 forward double memory=44KiB threads=1 io=threads", solve_many_sweeps, ""},
        rows = {"c2c 32x32 forward double axes=0,1 memory=34KiB threads=1 io=threads", solve_two_sweeps, ""},
        chirp = {"c2c 134 forward double memory=46KiB threads=1 io=threads", solve_chirp_sweeps, ""},
        loads =
            {"c2c 256 forward double memory=10KiB threads=1 io=threads "
             "method=superlevels:sync,block=512",
             solve_superlevels, ""},
        whole = {"c2c 16x12 forward double memory=1MiB threads=1", solve_file_in_memory, ""},
        chunked = {
            "c2c 32x24 forward double memory=26KiB threads=1 input_chunk=5x7 output_chunk=24x5 "
            "io=threads method=axis_sweeps",
            by_planner, ""};
    const JournalRoute from_halved = {"r2c 16x64 forward double axes=1,0 memory=26KiB threads=1 io=threads",
                                      solve_axis_sweeps, ""},
                       to_halved = {"c2r 16x96 backward double axes=1,0 memory=26KiB threads=1 io=threads",
                                    solve_axis_sweeps, ""};
    std::vector<CutRun> all;
    const auto add = [&](const char* name, const JournalRoute& route) -> CutRun& {
        return all.emplace_back(CutRun{name, route});
    };
    add("TwoSweeps", blocks);
    add("TwoSweepsOverAnOldOutput", blocks).old_output = true;
    add("TwoSweepsInPlace", blocks).in_place = true;
    add("TwoSweepsWithoutChecksums", blocks).checksums = false;
    add("TwoSweepsWithoutAJournal", blocks).mode = JournalMode::off;
    add("TwoSweepsOnTwoScratchFolders", blocks).scratch_folders = 2;
    add("TwoSweepsOfAPackedSpectrum", halves);
    add("TwoSweepsThatGoesOn", blocks).stopped_at = 0.7;
    CutRun& anew = add("TwoSweepsBegunAnew", blocks);
    anew.stopped_at = 0.7;
    anew.mode = JournalMode::restart;
    CutRun& in_place_anew = add("ManySweepsInPlaceBegunAnew", stockham);
    in_place_anew.in_place = true;
    in_place_anew.stopped_at = 0.2;
    in_place_anew.mode = JournalMode::restart;
    add("AxisSweeps", columns);
    add("AxisSweepsWithoutChecksums", columns).checksums = false;
    add("AxisSweepsInPlace", columns).in_place = true;
    add("AxisSweepsOfThreeAxes", thrice);
    add("AxisSweepsByScratch", by_scratch);
    add("AxisSweepsFromHalvedColumns", from_halved);
    add("AxisSweepsToHalvedColumns", to_halved);
    add("ManySweeps", stockham);
    add("ManySweepsInPlace", stockham).in_place = true;
    add("Rows", rows);
    add("RowsInPlace", rows).in_place = true;
    add("ChirpSweeps", chirp);
    add("ChirpSweepsInPlace", chirp).in_place = true;
    add("Superlevels", loads);
    add("SuperlevelsInPlace", loads).in_place = true;
    add("TwoSweepsByARing", blocks_by_ring);
    add("TwoSweepsInPlaceByARing", blocks_by_ring).in_place = true;
    add("TwoSweepsOnTwoScratchFoldersByARing", blocks_by_ring).scratch_folders = 2;
    add("AxisSweepsByARing", columns_by_ring);
    add("FileInMemory", whole);
    add("FileInMemoryInPlace", whole).in_place = true;
    add("ChunkedArrays", chunked);
    CutRun& both = add("AxisSweepsInPlaceWithoutChecksumsAndScratchElsewhere", columns);
    both.in_place = true;
    both.checksums = false;
    both.scratch_folders = 1;
    return all;
}

class PowerCuts : public JournalledFiles, public testing::WithParamInterface<CutRun> {
  protected:
    void SetUp() override {
        const JournalRoute& route = GetParam().route;
        const auto planned = route.solve(Problem::parse(route.problem).value(), Planner(CrashWorld::machine()));
        ASSERT_TRUE(planned.ok()) << planned.status().message();
        auto made = Executor::make(plan_of(route), make_self_comm());
        ASSERT_TRUE(made.ok()) << made.status().message();
        executor = std::move(made).value();
        for (int i = 0; i < GetParam().scratch_folders; ++i) {
            scratch.push_back(folder.file(cat("scratch", i)));
            ASSERT_EQ(mkdir(scratch.back().c_str(), 0777), 0);
        }
        make_input(route, folder.path());
        make_input(route, elsewhere.path());
        if (by_ring() &&
            !(Ring::make(4, kernel_rings()).ok() && FileStore::open_output(folder.file("in")).value()->direct()))
            GTEST_SKIP() << "needs io_uring and direct I/O";
        input = read_file(folder.file("in"));
        ASSERT_TRUE(run_elsewhere().ok());
        if (GetParam().old_output) write_file(folder.file("out"), kOld);
        if (GetParam().stopped_at == 0) return;
        const Status stopped = run(JournalMode::automatic, [&](index_t done, index_t total) {
            return static_cast<double>(done) < GetParam().stopped_at * static_cast<double>(total);
        });
        ASSERT_EQ(stopped.code(), Code::interrupted) << stopped.message();
    }
    void TearDown() override { power_cut_end(); }

    static bool by_ring() { return std::string(GetParam().route.problem).ends_with(" io=uring"); }
    Status run(JournalMode mode, const Progress& progress = {}) {
        const CutRun& what = GetParam();
        FileRequest request = request_of(what.route, is_chunked(what.route) ? elsewhere.path() : folder.path());
        request.output_path = folder.file(what.in_place ? "in" : "out");
        if (!what.in_place && !request.write_box) request.header = std::string(kHeaderBytes, '#');
        request.scratch_folders = scratch;
        if (request.finish) {
            request.scratch_folders = {folder.path()};
            request.finish = [this, write = request.finish] {
                SPANFFT_TRY(write());
                return put_output(read_file(elsewhere.file("out")));
            };
        }
        request.journal = mode;
        request.progress = progress;
        request.in_place = what.in_place;
        request.checksums = what.checksums;
        return executor->transform_file(request);
    }
    // Its result without a journal, not in place.
    Status run_elsewhere() {
        FileRequest request = request_of(GetParam().route, elsewhere.path());
        if (!request.write_box && !GetParam().in_place) request.header = std::string(kHeaderBytes, '#');
        const Status status = executor->transform_file(request);
        expected_file = read_file(elsewhere.file("out"));
        return status;
    }
    // What a caller's function has to do: the output stays when it returns.
    Status put_output(const std::string& content) const {
        const std::string partial = folder.file(".out.spanfft-partial");
        const int descriptor = ::open(partial.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        const auto bytes = static_cast<ssize_t>(content.size());
        const bool done = pwrite(descriptor, content.data(), content.size(), 0) == bytes && fsync(descriptor) == 0 &&
                          rename(partial.c_str(), folder.file("out").c_str()) == 0;
        ::close(descriptor);
        return done ? sync_folder(folder.path()) : error(Code::io_error, "no output");
    }

    // Before anything runs again. True: the run had ended, as whoever looks can see.
    void expect_nothing_lost(bool& ended) const {
        const std::string content = read_file(folder.file("in"));
        if (!GetParam().in_place) {
            ended = false;
            EXPECT_TRUE(content == input) << "the input has changed";
            if (access(folder.file("out").c_str(), F_OK) != 0) {
                EXPECT_FALSE(GetParam().old_output) << "the old output is gone";
                return;
            }
            const std::string found = read_file(folder.file("out"));
            const bool old = GetParam().old_output && found == kOld;
            EXPECT_TRUE(old || found == expected_file) << "wrong bytes have the output's name";
            return;
        }
        const auto unfinished = find_unfinished(folder.file("in"), 0, folder.file("in"), scratch);
        ASSERT_TRUE(unfinished.ok()) << unfinished.status().message();
        ended = content == expected_file && unfinished.value().problem.empty();
        const Status readable = check_not_half_overwritten(folder.file("in"));
        EXPECT_TRUE(!ended || readable.ok()) << readable.message();
        if (content != input && content != expected_file) {
            EXPECT_FALSE(readable.ok()) << "half overwritten, and nobody is told";
        }
    }
    // What is kept is found by the journal beside it, or by nobody.
    void expect_kept_has_a_journal() const {
        std::vector<std::string> names = folder.names(), kept;
        for (const std::string& each : scratch) {
            const std::vector<std::string> more = names_in(each);
            names.insert(names.end(), more.begin(), more.end());
        }
        bool journal = false;
        for (const std::string& name : names) {
            if (name.find(".spanfft-kept-") != std::string::npos) kept.push_back(name);
            journal = journal || name.ends_with(".spanfft-journal") || name.ends_with(".spanfft-in-place");
        }
        EXPECT_TRUE(journal || kept.empty()) << "no journal speaks of " << kept.front();
    }
    void expect_whole() const {
        const bool in_place = GetParam().in_place;
        EXPECT_TRUE(read_file(folder.file(in_place ? "in" : "out")) == expected_file) << "a wrong result";
        EXPECT_TRUE(in_place || read_file(folder.file("in")) == input) << "the input has changed";
        std::vector<std::string> names = {"in"};
        if (!in_place) names.emplace_back("out");
        for (size_t i = 0; i < scratch.size(); ++i) {
            names.push_back(cat("scratch", i));
            EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch[i]), {}), 0) << "left in scratch";
        }
        EXPECT_EQ(folder.names(), names);
    }
    // In a state as a power cut left it.
    void expect_recovers() {
        bool ended = false;
        expect_nothing_lost(ended);
        if (ended) return;
        const bool whole = has_result();
        const Status status = run(again());
        ASSERT_TRUE(status.ok()) << status.message();
        expect_whole();
        went_on = whole || executor->resumed_bytes() > 0;
    }
    bool has_result() const {
        const std::string path = folder.file(GetParam().in_place ? "in" : "out");
        return access(path.c_str(), F_OK) == 0 && read_file(path) == expected_file;
    }
    // Whoever asked for a new run and lost it in a power cut does not ask for one once more.
    static JournalMode again() {
        return GetParam().mode == JournalMode::off ? JournalMode::off : JournalMode::automatic;
    }

    TemporaryFolder folder, elsewhere;
    std::vector<std::string> scratch;
    std::unique_ptr<Executor> executor;
    std::string input, expected_file;
    bool went_on = false;  // the last run that recovered, where panels were done
};

TEST_P(PowerCuts, AfterEveryOperationLoseNothing) {
    Recorded recorded(folder.path());
    const Status status = run(GetParam().mode);
    recorded.stop();
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_GT(recorded.operations(), 5) << recorded.trouble();
    EXPECT_EQ(executor->describe_io().starts_with("io_uring"), by_ring()) << executor->describe_io();
    expect_whole();
    std::mt19937_64 random(7);
    index_t states = 0;
    bool noted = false;  // that panels are done, for good
    for (const Recorded::Cut& cut : recorded.cuts()) {
        if (++states % kFaultStep != 0 && states > 4) continue;
        SCOPED_TRACE(recorded.describe(cut));
        recorded.make(cut);
        EXPECT_TRUE(cut.operation < recorded.operations() || has_result()) << "done, and then lost";
        if (recorded.names_in_order(cut)) expect_kept_has_a_journal();
        if (states % (Recorded::all_states() ? 2 : 10) != 0) {
            went_on = true;
            expect_recovers();
            EXPECT_TRUE(went_on || !noted || GetParam().stopped_at > 0) << "all panels are lost that were done";
            noted = noted || (went_on && cut.fate == 0 && GetParam().mode == JournalMode::automatic);
        } else {  // the run that goes on is cut off as well
            bool ended = false;
            expect_nothing_lost(ended);
            if (ended) continue;
            Recorded again(folder.path());
            const Status second = run(PowerCuts::again());
            again.stop();
            ASSERT_TRUE(second.ok()) << second.message();
            for (int i = 0; i < 2; ++i) {
                const auto operations = static_cast<uint64_t>(again.operations());
                const Recorded::Cut next{1 + static_cast<int64_t>(random() % operations),
                                         static_cast<int>(random() % POWER_CUT_FATES), static_cast<unsigned>(states)};
                SCOPED_TRACE(again.describe(next));
                again.make(next);
                expect_recovers();
            }
        }
        if (HasFailure()) break;
    }
    RecordProperty("states", static_cast<int>(states));
    EXPECT_GT(states, 5);
}

INSTANTIATE_TEST_SUITE_P(Runs, PowerCuts, testing::ValuesIn(runs()),
                         [](const auto& run) { return std::string(run.param.name); });

// Small files that are replaced, as the tuning store is: at every instant the old text or the new one.
TEST(PowerCutsOfUserFiles, LeaveTheOldTextOrTheNewOne) {
    TemporaryFolder folder;
    const std::string before(1500, 'a'), after(2500, 'b');
    write_file(folder.file("store"), before);
    Recorded recorded(folder.path());
    const Status status = write_text(folder.file("store"), after);
    recorded.stop();
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_GT(recorded.operations(), 3) << recorded.trouble();
    bool old_seen = false, new_seen = false;
    for (const Recorded::Cut& cut : recorded.cuts()) {
        recorded.make(cut);
        const std::string found = read_file(folder.file("store"));
        old_seen = old_seen || found == before;
        new_seen = new_seen || found == after;
        ASSERT_TRUE(found == before || found == after) << recorded.describe(cut);
        ASSERT_TRUE(found == after || cut.operation < recorded.operations()) << "written, and then lost";
        ASSERT_TRUE(write_text(folder.file("store"), after).ok());
        ASSERT_EQ(read_file(folder.file("store")), after);
        ASSERT_EQ(folder.names(), std::vector<std::string>{"store"}) << recorded.describe(cut);
    }
    power_cut_end();
    EXPECT_TRUE(old_seen && new_seen);
}

}  // namespace
}  // namespace spanfft::test
