// The tuning store: records, merging, what is kept, what is found; and machines as text.
#include "plan/tuning_store.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <locale>

#include "disk/output_file.hpp"
#include "plan/knowledge.hpp"
#include "plan/machine_file.hpp"
#include "plan/user_files.hpp"
#include "support/simulated_store.hpp"

namespace spanfft::test {
namespace {

Tuned record(const std::string& problem, const std::string& exchange, double seconds, int ranks = 4) {
    Tuned r;
    r.key = {"a processor, 8 cores", "MPI 1", ranks, 1};
    r.problem = tuning_twin(Problem::parse(problem).value()).print();
    r.grid = {2, 2};
    r.exchange = exchange;
    r.threads = 2;
    r.seconds = seconds;
    r.date = "2026-11-22T00:00:00Z";
    return r;
}

const char* const kCube = "c2c 64x64x64 ranks=4";

TEST(TuningStore, PrintingAndParsingAreInverse) {
    TuningStore store;
    store.add(record(kCube, "overlap:4", 0.0125));
    store.add(record("r2c 8x8x8 ranks=4 output=exchanged", "alltoallw", 3e-5));
    const TuningStore again = TuningStore::parse(store.print());
    EXPECT_EQ(again.print(), store.print());
    ASSERT_EQ(again.records().size(), 2u);
    const Tuned* found = again.find({"a processor, 8 cores", "MPI 1", 4, 1}, Problem::parse(kCube).value());
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->choice(), "grid=2x2 exchange=overlap:4 threads=2");
    EXPECT_EQ(found->seconds, 0.0125);
}

struct Grouping : std::numpunct<char> {
    std::string do_grouping() const override { return "\3"; }
    char do_thousands_sep() const override { return '.'; }
    char do_decimal_point() const override { return ','; }
};

// A user's program may have any global locale.
TEST(TuningStore, TextsAreTheSameInEveryLocale) {
    const Problem problem = Problem::parse("c2c 1048576 ranks=1024 memory=1073741824 scale=0.0125").value();
    const Tuned tuned = record(kCube, "overlap:4", 0.0125, 4096);
    const Machine machine;
    const std::vector<std::string> texts = {problem.print(), tuned.print(), print_machine(machine)};
    struct Restore {
        std::locale before = std::locale::global(std::locale(std::locale::classic(), new Grouping));
        ~Restore() { std::locale::global(before); }
    } restore;
    EXPECT_EQ((std::vector<std::string>{problem.print(), tuned.print(), print_machine(machine)}), texts);
    EXPECT_EQ(Problem::parse(texts[0]).value(), problem);
    ASSERT_TRUE(Tuned::parse(texts[1]).has_value());
    EXPECT_EQ(Tuned::parse(texts[1])->seconds, 0.0125);
    const auto again = parse_machine(texts[2], machine);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(print_machine(again.value()), texts[2]);
}

TEST(TuningStore, WhatDeadWritersLeftIsRemovedAndWhatOthersWriteStays) {
    TemporaryFolder folder;
    write_file(folder.file(".t.dead.spanfft-partial"), "te");
    const auto other = create_partial(folder.file("t"));
    ASSERT_TRUE(other.ok()) << other.status().message();
    const Status status = write_text(folder.file("t"), "text");
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(read_file(folder.file("t")), "text");
    EXPECT_EQ(folder.names(), (std::vector<std::string>{other.value().path.substr(folder.path().size() + 1), "t"}));
    close(other.value().descriptor);
}

TEST(TuningStore, WhatWasGainedIsKnownHereThoughTheStoreCantBeRead) {
    TemporaryFolder folder;
    const char* const home = getenv("SPANFFT_HOME");
    const std::string before = home ? home : "";
    setenv("SPANFFT_HOME", folder.path().c_str(), 1);
    ASSERT_EQ(mkdir(tuning_path().c_str(), 0777), 0);
    TuningStore one;
    one.add(record("c2c 31x29x23 ranks=4", "overlap:4", 0.5));
    EXPECT_FALSE(gain_tuning(one).ok());
    const TuningStore here = gained_here();
    EXPECT_NE(here.find({"a processor, 8 cores", "MPI 1", 4, 1}, Problem::parse("c2c 31x29x23 ranks=4").value()),
              nullptr);
    home ? setenv("SPANFFT_HOME", before.c_str(), 1) : unsetenv("SPANFFT_HOME");
}

TEST(TuningStore, MergingIsAUnionWhateverTheOrder) {
    const std::vector<Tuned> records = {record(kCube, "alltoallv", 0.5), record(kCube, "alltoallw", 0.4),
                                        record(kCube, "alltoallv", 0.3), record("c2c 9x9 ranks=4", "alltoallv", 0.1)};
    std::vector<size_t> order = {0, 1, 2, 3};
    std::string first;
    do {
        TuningStore one, other;
        for (size_t i = 0; i < order.size(); ++i) (i % 2 ? one : other).add(records[order[i]]);
        one.merge(other);
        EXPECT_EQ(one.merge(other), 0);
        EXPECT_EQ(one.records().size(), 3u);  // of two with one choice the faster
        if (first.empty()) first = one.print();
        EXPECT_EQ(one.print(), first);
    } while (std::next_permutation(order.begin(), order.end()));
}

// Found by fuzzing: seconds were printed with six digits, and the store's own record beat what its file said of it.
TEST(TuningStore, MergingItWithWhatWasPrintedOfItAddsNothing) {
    TuningStore store;
    store.add(record("c2c 8x8 forward double ranks=4", "shared", 1.0 / 810000));
    TuningStore printed = TuningStore::parse(store.print());
    EXPECT_EQ(printed.merge(store), 0);
    EXPECT_EQ(printed.print(), store.print());
}

TEST(TuningStore, KeepsLinesOfOtherVersions) {
    const std::string text = "spanfft-tuning 1\nwoven\tby a later version\t42\ntuned\tbroken\n";
    TuningStore store = TuningStore::parse(text);
    EXPECT_TRUE(store.empty());
    store.add(record(kCube, "alltoallv", 0.5));
    EXPECT_NE(store.print().find("woven\tby a later version\t42\n"), std::string::npos);
    EXPECT_NE(store.print().find("tuned\tbroken\n"), std::string::npos);
    TuningStore other;
    EXPECT_EQ(other.merge(store), 3);
}

TEST(TuningStore, FindsByMachineLibraryRanksNodesAndProblem) {
    TuningStore store;
    store.add(record(kCube, "alltoallv", 0.5));
    const Problem cube = Problem::parse(kCube).value();
    EXPECT_NE(store.find({"a processor, 8 cores", "MPI 1", 4, 1}, cube), nullptr);
    EXPECT_NE(store.find({"a processor, 8 cores", "", 4, 1}, cube), nullptr);  // imagined: any library
    EXPECT_EQ(store.find({"another, 8 cores", "MPI 1", 4, 1}, cube), nullptr);
    EXPECT_EQ(store.find({"a processor, 8 cores", "MPI 2", 4, 1}, cube), nullptr);
    EXPECT_EQ(store.find({"a processor, 8 cores", "MPI 1", 8, 1}, cube), nullptr);
    EXPECT_EQ(store.find({"a processor, 8 cores", "MPI 1", 4, 2}, cube), nullptr);
    EXPECT_EQ(store.find({"a processor, 8 cores", "MPI 1", 4, 1}, Problem::parse("c2c 64x64x65 ranks=4").value()),
              nullptr);
}

TEST(TuningStore, OneChoiceServesBothDirectionsNormsAndPlaces) {
    TuningStore store;
    store.add(record(kCube, "alltoallv", 0.5));
    for (const char* text : {"c2c 64x64x64 backward ranks=4", "c2c 64x64x64 ranks=4 norm=ortho",
                             "c2c 64x64x64 ranks=4 in_place", "c2c 64x64x64 ranks=4 effort=measure"}) {
        EXPECT_NE(store.find({"a processor, 8 cores", "MPI 1", 4, 1}, Problem::parse(text).value()), nullptr) << text;
    }
}

TEST(TuningStore, WhatIsForcedWinsOverWhatIsStored) {
    TuningStore store;
    store.add(record(kCube, "alltoallv", 0.5));
    const TuningKey key{"a processor, 8 cores", "MPI 1", 4, 1};
    const auto found = [&](const std::string& more) {
        return store.find(key, Problem::parse(std::string(kCube) + more).value()) != nullptr;
    };
    EXPECT_TRUE(found(" grid=2x2"));
    EXPECT_TRUE(found(" exchange=alltoallv threads=2"));
    EXPECT_FALSE(found(" exchange=alltoallw"));
    EXPECT_FALSE(found(" grid=4"));
    EXPECT_FALSE(found(" threads=1"));
    EXPECT_FALSE(found(" engine=ducc0"));  // the record left the engine to the planner
}

TEST(TuningStore, TheFastestRecordWins) {
    TuningStore store;
    store.add(record(kCube, "alltoallv", 0.5));
    store.add(record(kCube, "alltoallw", 0.25));
    EXPECT_EQ(store.find(record(kCube, "", 1).key, Problem::parse(kCube).value())->exchange, "alltoallw");
    EXPECT_EQ(store.forget(record(kCube, "", 1).problem), 2);
    EXPECT_TRUE(store.empty());
}

TEST(Knowledge, ATunedChoiceIsPlannedAndNoted) {
    Knowledge known;
    known.machine = this_machine();
    known.tuned = record(kCube, "alltoallw", 0.25);
    const auto plan = plan_knowing(known, Problem::parse(kCube).value());
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(plan.value()->problem.print(),
              "c2c 64x64x64 forward double ranks=4 grid=2x2 threads=2 exchange=alltoallw");
    EXPECT_EQ(plan.value()->notes.front(),
              "tuned: grid=2x2 exchange=alltoallw threads=2 took 250 ms when it was measured on 2026-11-22T00:00:00Z");
}

TEST(Knowledge, AChoiceThatCanNotBePlannedIsLeftAside) {
    Knowledge known;
    known.machine = this_machine();
    known.tuned = record(kCube, "pigeons", 0.25);
    const auto plan = plan_knowing(known, Problem::parse(kCube).value());
    ASSERT_TRUE(plan.ok());
    EXPECT_NE(plan.value()->problem.exchange, "pigeons");
    const auto& notes = plan.value()->notes;
    EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const std::string& n) {
        return n.find("can't be used") != std::string::npos && n.find("pigeons") != std::string::npos;
    }));
}

TEST(MachineFile, PrintingAndParsingAreInverse) {
    Machine machine = this_machine();
    machine.name = "a processor, 8 cores";
    machine.library = "MPI 1";
    machine.measured = "2026-11-22T00:00:00Z";
    machine.measured_ranks = 4;
    machine.topology.ranks_per_node = 2;
    machine.torus = {4, 2, 8};
    machine.overlap_share = 0.5;
    machine.exchanges["overlap"] = {{1e-6, 2e-10, {{1024, 3e-10}, {65536, 2e-10}}}, {2e-5, 1e-9, {}}, true};
    machine.engine_rates = {{"ducc0", Precision::dbl, RateShape::strided, 2, 256, 7.5},
                            {"ducc0", Precision::single, RateShape::line, 1, 64, 2.5, RateKernel::half, 4096},
                            {"ducc0", Precision::dbl, RateShape::tile, 1, 96, 8.5},
                            {"ducc0", Precision::dbl, RateShape::few_lines, 1, 96, 5.5, RateKernel::c2c, 384},
                            {"ducc0", Precision::dbl, RateShape::few_lanes, 1, 96, 4.5, RateKernel::c2c, 384},
                            {"ducc0", Precision::dbl, RateShape::two_sweeps, 1, 1 << 20, 9.5}};
    machine.call_seconds = 1e-6;
    const auto again = parse_machine(print_machine(machine), Machine());
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(print_machine(again.value()), print_machine(machine));
    EXPECT_EQ(again.value().exchanges, machine.exchanges);
    EXPECT_EQ(again.value().topology.nodes(4), 2);
    EXPECT_EQ(again.value().torus, machine.torus);
    EXPECT_EQ(again.value().overlap_share, 0.5);
    EXPECT_EQ(again.value().engine_rates, machine.engine_rates);
    EXPECT_EQ(again.value().call_seconds, 1e-6);
}

TEST(MachineFile, ReadsRatesOfEarlierVersionsAndRefusesUnknownWords) {
    const std::string head = "spanfft-machine 1\nengine ducc0 double line 1 1024 7";
    const auto earlier = parse_machine(head + "\n", Machine());
    ASSERT_TRUE(earlier.ok());
    EXPECT_EQ(earlier.value().engine_rates, (RateTable{{"ducc0", Precision::dbl, RateShape::line, 1, 1024, 7}}));
    EXPECT_TRUE(parse_machine(head + "  # measured\n", Machine()).ok());
    for (const char* rest : {" quarter 0", " half", " half -1"})
        EXPECT_FALSE(parse_machine(head + rest, Machine()).ok());
    for (const char* row : {"double spiral", "quad line", "line double"})  // else read as lines of doubles
        EXPECT_FALSE(parse_machine(cat("spanfft-machine 1\nengine ducc0 ", row, " 1 1024 7\n"), Machine()).ok()) << row;
}

TEST(MachineFile, KeepsTheBoxOfARateAndRefusesOneThatIsNone) {
    const std::string head = "spanfft-machine 1\nengine ducc0 double plane 1 1024 7 c2c 0";
    const auto boxed = parse_machine(head + " 16x64\n", Machine());
    ASSERT_TRUE(boxed.ok());
    EXPECT_EQ(boxed.value().engine_rates[0].box, (Extents{16, 64}));
    EXPECT_EQ(parse_machine(print_machine(boxed.value()), Machine()).value().engine_rates, boxed.value().engine_rates);
    EXPECT_TRUE(parse_machine(head + " # of a cube\n", Machine()).ok());
    for (const char* box : {" 16x", " 0x64", " -4x4", " 2x2x2x2", " cube"})
        EXPECT_FALSE(parse_machine(head + box, Machine()).ok()) << box;
}

TEST(MachineFile, LeavesOutWhatIsBuiltInAndSkipsWhatIsNew) {
    const auto machine = parse_machine("spanfft-machine 1\nmemory_bytes_per_second 1e9\nwarp_drives 2\n", Machine());
    ASSERT_TRUE(machine.ok());
    EXPECT_EQ(machine.value().memory_bytes_per_second, 1e9);
    EXPECT_EQ(machine.value().disk_queue_depth, Machine().disk_queue_depth);
    for (const char* text :
         {"", "spanfft-tuning 1\n", "spanfft-machine 1\ncores -3\n", "spanfft-machine 1\ncores 4e13\n",
          "spanfft-machine 1\ntorus 4x0\n", "spanfft-machine 1\ntorus -2x-2\n",
          "spanfft-machine 1\ntorus 4x4000000000x4000000000\n", "spanfft-machine 1\ntorus\n",
          "spanfft-machine 1\noverlap_share 1.5\n", "spanfft-machine 1\nexchange alltoallv near point 0 1\n",
          "spanfft-machine 1\nexchange alltoallv sideways latency_seconds 1\n"}) {
        const auto wrong = parse_machine(text, Machine());
        EXPECT_FALSE(wrong.ok()) << text;
        EXPECT_EQ(wrong.status().code(), Code::corrupt_data);
    }
}

TEST(MachineFile, TakesWordsUpToACommentAndNumbersWhole) {
    const auto parsed = [](const std::string& line) { return parse_machine("spanfft-machine 1\n" + line, Machine()); };
    EXPECT_EQ(parsed(" cores\t7  # of eight\r").value().cores, 7);
    EXPECT_EQ(parsed("name the # 1 machine").value().name, "the # 1 machine");
    for (const char* line : {"cores 7x", "cores 7,5", "cores", "cores # 7", "cores inf", "twiddle_seconds nan"})
        EXPECT_EQ(parsed(line).status().code(), Code::corrupt_data) << line;
}

TEST(MachineFile, RefusesRatesOfZero) {
    for (const char* name : {"memory_bytes_per_second", "disk_read_bytes_per_second", "disk_write_bytes_per_second",
                             "shared_memory_bytes_per_second", "disk_queue_depth"}) {
        const auto machine = parse_machine(cat("spanfft-machine 1\n", name, " 0\n"), Machine());
        ASSERT_FALSE(machine.ok()) << name;
        EXPECT_NE(machine.status().message().find(name), std::string::npos) << machine.status().message();
    }
}

TEST(MachineFile, KeepsPointsOfOneSizeInTheirOrder) {
    std::string text = "spanfft-machine 1\n";
    for (int i = 0; i < 40; ++i) text += cat("exchange alltoallv near point ", 1024 - i % 2, " ", 1 + i, "\n");
    const auto machine = parse_machine(text, Machine());
    ASSERT_TRUE(machine.ok()) << machine.status().message();
    const auto again = parse_machine(print_machine(machine.value()), Machine());
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(print_machine(again.value()), print_machine(machine.value()));
}

TEST(MachineFile, NodesMakeGridsThatExchangeInsideThem) {
    // Far messages are slow here: of 16 ranks in fours, the grid dimension of 4 that is exchanged most lies in a node.
    Machine machine = parse_machine(
                          "spanfft-machine 1\nranks_per_node 4\n"
                          "exchange alltoallv near latency_seconds 1e-6\n"
                          "exchange alltoallv near seconds_per_byte 1e-10\n"
                          "exchange alltoallv far latency_seconds 1e-4\n"
                          "exchange alltoallv far seconds_per_byte 1e-7\n",
                          Machine())
                          .value();
    const Problem problem =
        Problem::parse("c2c 64x64x64 axes=1,2 ranks=16 exchange=alltoallv output=exchanged").value();
    const auto plan = Planner(machine).plan(problem);
    ASSERT_TRUE(plan.ok());
    const auto& best = plan.value()->alternatives.front();
    for (const auto& other : plan.value()->alternatives) EXPECT_LE(best.seconds, other.seconds);
    EXPECT_LE(plan.value()->problem.grid[1], 4) << shape_string(plan.value()->problem.grid);
}

}  // namespace
}  // namespace spanfft::test
