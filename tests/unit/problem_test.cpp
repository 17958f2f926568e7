// Problems: the one-line string that everything shares, and the sentences for what can't be.
#include "plan/problem.hpp"

#include <gtest/gtest.h>

#include <map>

#include "plan/problem_keys.hpp"

#include "support/random.hpp"

namespace spanfft::test {
namespace {

std::string canonical(const std::string& text) {
    const auto problem = Problem::parse(text);
    return problem.ok() ? problem.value().print() : "refused: " + problem.status().message();
}

TEST(Problem, ParseOfPrintIsTheProblem) {
    Random random(41);
    for (int i = 0; i < 5000; ++i) {
        const Problem p = random_problem_text(random);
        const std::string text = p.print();
        SCOPED_TRACE(cat("seed ", random.seed(), ", case ", i, ": '", text, "'"));
        ASSERT_TRUE(p.check().ok()) << p.check().message();
        const auto parsed = Problem::parse(text);
        ASSERT_TRUE(parsed.ok()) << parsed.status().message();
        ASSERT_TRUE(parsed.value() == p) << parsed.value().print();
        ASSERT_EQ(parsed.value().hash(), p.hash());
    }
}

TEST(Problem, PrintIsCanonical) {
    EXPECT_EQ(canonical("c2c 8"), "c2c 8 forward double");
    EXPECT_EQ(canonical("  c2c   8x9\tdouble forward "), "c2c 8x9 forward double");
    EXPECT_EQ(canonical("c2r 8x8"), "r2c 8x8 backward double");
    EXPECT_EQ(canonical("c2r 8x8 backward float"), "r2c 8x8 backward float");
    EXPECT_EQ(canonical("r2c 8x8 axes=0,1"), "r2c 8x8 forward double");
    EXPECT_EQ(canonical("c2c,r2c 8x8"), "r2c 8x8 forward double");
    EXPECT_EQ(canonical("r2c,c2c 8x8"), "r2c,c2c 8x8 forward double");
    EXPECT_EQ(canonical("dct2,dct2 8x8"), "dct2 8x8 forward double");
    EXPECT_EQ(canonical("c2c 8x8 ranks=1 batch=1 threads=0 norm=backward output=natural effort=estimate"),
              "c2c 8x8 forward double");
    EXPECT_EQ(
        canonical("c2c 8x8x8 in_place exchange=alltoallw engine=mkl effort=measure threads=4 memory=1KiB").substr(0, 8),
        "refused:");
    EXPECT_EQ(canonical("c2c 8x8x8 in_place exchange=alltoallw engine=mkl effort=measure threads=4 output=exchanged "
                        "grid=2x3 ranks=6 batch=7 "
                        "norm=ortho axes=2,0 longdouble backward"),
              "c2c 8x8x8 backward longdouble axes=2,0 norm=ortho batch=7 ranks=6 grid=2x3 output=exchanged threads=4 "
              "engine=mkl "
              "exchange=alltoallw effort=measure in_place");
    EXPECT_EQ(canonical("c2c 4x4 ranks=2 real_boxes=0:2x0:4;2:4x0:4"),
              "c2c 4x4 forward double ranks=2 real_boxes=0:2x0:4;2:4x0:4");
    EXPECT_EQ(canonical("c2c 8x8 grid=2x3"), "c2c 8x8 forward double ranks=6 grid=2x3");
    EXPECT_EQ(canonical("c2c 8x8 layout=block"), "c2c 8x8 forward double");
    EXPECT_EQ(canonical("c2c 8x8 output=exchanged layout=cyclic grid=2"),
              "c2c 8x8 forward double ranks=2 grid=2 layout=cyclic output=exchanged");
    EXPECT_EQ(canonical("c2c 64 memory=1MiB"), "c2c 64 forward double memory=1048576");
    EXPECT_EQ(canonical("r2c 64 memory=1MiB load=<i2"), "r2c 64 forward double memory=1048576 load=i2");
    EXPECT_EQ(canonical("dct2 64 float load=>f8 memory=1MiB"), "dct2 64 forward float memory=1048576 load=>f8");
}

TEST(Problem, EveryKeyOfTheTableIsReadAndWritten) {
    const std::map<std::string, std::string> values = {{"axes", "1"},
                                                       {"kept", "5x4"},
                                                       {"norm", "ortho"},
                                                       {"batch", "3"},
                                                       {"ranks", "2"},
                                                       {"grid", "2x1"},
                                                       {"layout", "cyclic"},
                                                       {"output", "exchanged"},
                                                       {"memory", "4096"},
                                                       {"disks", "3"},
                                                       {"threads", "5"},
                                                       {"engine", "mkl"},
                                                       {"exchange", "overlap:4"},
                                                       {"io", "threads"},
                                                       {"method", "two_sweeps"},
                                                       {"effort", "tune"},
                                                       {"measure_seconds", "0.25"},
                                                       {"window", "kaiser:8.6"},
                                                       {"scale", "-1.5"},
                                                       {"store", "complex64"},
                                                       {"load", ">c8"},
                                                       {"real_boxes", "0:8x0:4;0:8x4:6"},
                                                       {"spectrum_boxes", "0:3x0:6;3:8x0:6"},
                                                       {"input_chunk", "4x3"},
                                                       {"output_chunk", "8x1"}};
    const std::map<std::string, std::string> needed = {{"grid", "ranks=2 "},
                                                       {"disks", "memory=4096 "},
                                                       {"io", "memory=4096 "},
                                                       {"window", "memory=4096 "},
                                                       {"store", "memory=4096 "},
                                                       {"load", "memory=4096 "},
                                                       {"power", "memory=4096 "},
                                                       {"reads_once", "memory=4096 "},
                                                       {"input_chunk", "memory=4096 "},
                                                       {"output_chunk", "memory=4096 "},
                                                       {"one_writer", "memory=4096 output_chunk=8x1 "},
                                                       {"real_boxes", "ranks=2 "},
                                                       {"spectrum_boxes", "ranks=2 "}};
    for (const ProblemKey& key : problem_keys()) {
        SCOPED_TRACE(key.name);
        EXPECT_EQ(find_problem_key(key.name), &key);
        ASSERT_EQ(key.is_flag(), !values.contains(key.name));
        const std::string word = key.is_flag() ? key.name : cat(key.name, "=", values.at(key.name));
        const std::string more = needed.contains(key.name) ? needed.at(key.name) : "";
        EXPECT_EQ(canonical(cat("c2c 8x6 ", word, " ", more)), cat("c2c 8x6 forward double ", more, word));
        EXPECT_EQ(key.print(Problem::parse("c2c 8x6").value()), "");
    }
    EXPECT_EQ(find_problem_key("memory_bytes"), nullptr);
    EXPECT_EQ(find_problem_key(""), nullptr);
}

struct Bad {
    const char* text;
    std::vector<std::string> words;  // of the sentence: what was wrong, and what to do
};

TEST(Problem, EveryRefusalNamesTheWordAndARemedy) {
    const std::vector<Bad> table = {
        {"", {"''", "KIND SHAPE", "for example"}},
        {"c2c", {"'c2c'", "KIND SHAPE"}},
        {"fft 8", {"'fft'", "c2c, r2c", "c2r"}},
        {"c2c,fft 8x8", {"'fft'", "use"}},
        {"c2c,c2r 8x8", {"'c2r'", "backward"}},
        {"C2C 8", {"'C2C'", "use"}},
        {"c2c 8x", {"''", "shape"}},
        {"c2c x8", {"''", "shape"}},
        {"c2c 8xx8", {"''", "shape"}},
        {"c2c 8*8", {"'8*8'", "whole number", "shape"}},
        {"c2c 8.5", {"'8.5'", "shape"}},
        {"c2c +8", {"'+8'", "shape"}},
        {"c2c 99999999999999999999", {"'99999999999999999999'", "shape"}},
        {"c2c 0x8", {"axis 0", "0x8", "at least 1"}},
        {"c2c 8x-4", {"axis 1", "-4", "at least 1"}},
        {"c2c 2x2x2x2x2x2x2", {"7 axes", "1 to 6"}},
        {"c2c 4294967296x4294967296", {"4294967296x4294967296", "63 bits"}},
        {"c2c 576460752303423488", {"576460752303423488", "63 bits"}},
        {"c2c 4611686018427387904 batch=4611686018427387904", {"batch", "63 bits"}},
        {"c2c 8 sideways", {"'sideways'", "forward, backward"}},
        {"c2c 8 in-place", {"'in-place'", "in_place"}},
        {"c2c 8 in_place=1", {"'in_place'", "not a key", "stands alone"}},
        {"c2c 8 inplace", {"'inplace'", "did you mean 'in_place'?"}},
        {"c2c 8 threads", {"'threads'", "no value", "threads=VALUE", "a number"}},
        {"c2c 8 thread=2", {"'thread'", "did you mean 'threads'?"}},
        {"c2c 8 io=", {"io=", "leave it out", "uring"}},
        {"c2c 8 measure_seconds=long", {"'long'", "number", "measure_seconds"}},
        {"c2c 8 reads_once", {"reads_once", "memory="}},
        {"c2c 8 memory=1MiB one_writer", {"one_writer", "output_chunk="}},
        {"r2c 8 load=i2", {"load=i2", "memory="}},
        {"r2c 8 memory=1MiB load=", {"load=", "i1, i2"}},
        {"r2c 8 memory=1MiB load=int16", {"load=int16", "i1, i2", ">"}},
        {"c2c 8 memory=1MiB load=i2", {"load=i2", "is real", "use r2c"}},
        {"c2r 8 memory=1MiB load=>f4", {"load=>f4", "is real"}},
        {"r2c 8 memory=1MiB load=c8", {"load=c8", "is complex", "use c2c, or c2r"}},
        {"dct2 8 memory=1MiB load=>c8", {"load=>c8", "is complex"}},
        {"r2c 8 memory=1MiB load=i2 input_chunk=4", {"load=i2", "input_chunk=", "leave one"}},
        {"c2c 8 forward backward", {"backward", "twice", "forward"}},
        {"c2c 8 float double", {"'double'", "twice"}},
        {"c2r 8 forward", {"c2r", "forward", "write c2r, or r2c"}},
        {"c2c 8 color=red", {"'color'", "not a key", "axes, kept, norm"}},
        {"c2c 8 =3", {"''", "not a key"}},
        {"c2c 8 ranks=1 ranks=1", {"'ranks'", "twice"}},
        {"c2c 8 axes=", {"axes", "at least one"}},
        {"c2c 8x8 axes=0,", {"''", "axis"}},
        {"c2c 8x8 axes=2", {"axis 2", "2 axes", "use 0 to 1"}},
        {"c2c 8x8 axes=-1", {"axis -1", "use 0 to 1"}},
        {"c2c 8x8 axes=0,0", {"axis 0", "twice"}},
        {"c2c 8x8 axes=99999999999", {"axis 99999999999", "32 bits"}},
        {"c2c,c2c,c2c 8x8", {"3 kinds", "2 axes", "one for each"}},
        {"c2c,c2c 8x8 axes=1", {"2 kinds", "1 axes"}},
        {"r2c,r2c 8x8", {"two axes are r2c", "c2c"}},
        {"dct1 8x1", {"dct1", "axis 1", "has 1", "dct2"}},
        {"c2c 8x8 kept=4", {"kept=4", "2 numbers of modes"}},
        {"c2c 8x8 kept=4x9", {"kept=4x9", "9 modes of axis 1", "1 to 8"}},
        {"c2c 8x8 kept=0x8", {"kept=0x8", "0 modes of axis 0"}},
        {"c2c 8x8 axes=1 kept=4x8", {"4 of 8 along axis 0", "keep all"}},
        {"dct2,c2c 8x8 kept=4x8", {"4 of 8 along axis 0", "no Fourier transform", "keep all"}},
        {"c2c 8x8 kept=4x8 in_place", {"kept=4x8", "in_place", "leave one out"}},
        {"c2c 8 norm=none", {"norm=none", "backward, ortho, forward"}},
        {"c2c 8 output=sorted", {"output=sorted", "natural, exchanged"}},
        {"c2c 8 effort=lots", {"effort=lots", "estimate, measure"}},
        {"c2c 8 batch=0", {"batch is 0", "at least 1"}},
        {"c2c 8 batch=two", {"'two'", "batch"}},
        {"c2c 8 ranks=0", {"ranks is 0", "at least 1"}},
        {"c2c 8 ranks=4294967297", {"ranks 4294967297", "32 bits"}},
        {"c2c 8 threads=-2", {"threads is -2", "0 for the planner"}},
        {"c2c 8 engine=", {"engine=", "leave it out"}},
        {"c2c 8 exchange=", {"exchange=", "leave it out"}},
        {"c2c 8 memory=", {"''", "256MiB"}},
        {"c2c 8 memory=lots", {"'lots'", "256MiB"}},
        {"c2c 8 memory=-1", {"'-1'", "256MiB"}},
        {"c2c 8 memory=0", {"'0'", "256MiB"}},
        {"c2c 8 memory=0.1B", {"'0.1B'", "256MiB"}},
        {"c2c 8 memory=1KB in_place", {"memory=", "in_place", "leave them out"}},
        {"c2c 8 memory=1KB in_place", {"memory=", "in_place", "leave them out"}},
        {"c2c 8x8 ranks=4 grid=", {"grid"}},
        {"c2c 8x8 ranks=4 grid=2x", {"''", "grid"}},
        {"c2c 8x8 ranks=4 grid=3", {"grid 3", "4 ranks", "leave grid out"}},
        {"c2c 8x8 ranks=4 grid=-2x-2", {"grid -2x-2", "below 1"}},
        {"c2c 8x8 ranks=4 grid=4294967296x4294967296", {"grid 4294967296x4294967296", "4 ranks"}},
        {"c2c 8x8 ranks=4 grid=2x2x1", {"grid 2x2x1", "2 axes"}},
        {"c2c 8 real_boxes=", {"real_boxes", "leave"}},
        {"c2c 8 spectrum_boxes=", {"spectrum_boxes", "leave"}},
        {"c2c 8 real_boxes=0-8", {"'0-8'", "start:stop"}},
        {"c2c 8 real_boxes=0:8:1", {"'0:8:1'", "start:stop"}},
        {"c2c 8 real_boxes=0:b", {"'b'", "stop of a box"}},
        {"c2c 8 real_boxes=-9223372036854775808:9223372036854775807",
         {"real_boxes", "-9223372036854775808:", "63 bits"}},
        {"c2c 8 ranks=2 real_boxes=0:8", {"1 boxes", "2 ranks", "one a rank"}},
        {"c2c 8 ranks=2 real_boxes=0:4;3:8", {"ranks 0", "and 1", "0:4", "3:8", "overlap"}},
        {"c2c 8 ranks=2 real_boxes=0:4;5:8", {"7 of the 8"}},
        {"r2c 8 ranks=2 spectrum_boxes=0:4;4:8", {"rank 1", "4:8", "axis 0"}},
    };
    for (const Bad& bad : table) {
        const auto problem = Problem::parse(bad.text);
        ASSERT_FALSE(problem.ok()) << "accepted: '" << bad.text << "' as '" << problem.value().print() << "'";
        EXPECT_EQ(problem.status().code(), Code::invalid_argument) << bad.text;
        for (const auto& word : bad.words) {
            EXPECT_NE(problem.status().message().find(word), std::string::npos)
                << "'" << bad.text << "' gave '" << problem.status().message() << "', which lacks '" << word << "'";
        }
    }
}

TEST(Problem, NothingRandomIsAcceptedThatDoesNotPrintItself) {
    // Words in any order, some of them nonsense: whatever is accepted must survive print and parse.
    Random random(42);
    const std::vector<std::string> words = {"c2c",
                                            "r2c",
                                            "c2r",
                                            "dct2,r2c",
                                            "8x8",
                                            "8",
                                            "7x1x3",
                                            "0",
                                            "x",
                                            "forward",
                                            "backward",
                                            "float",
                                            "double",
                                            "axes=0",
                                            "axes=1,0",
                                            "axes=,",
                                            "norm=ortho",
                                            "batch=2",
                                            "batch=",
                                            "ranks=2",
                                            "grid=2",
                                            "grid=2x1",
                                            "output=exchanged",
                                            "memory=1e3",
                                            "memory=1.5KiB",
                                            "threads=3",
                                            "engine=a=b",
                                            "exchange=x;y",
                                            "in_place",
                                            "real_boxes=0:4;4:8",
                                            "spectrum_boxes=0:5",
                                            "==",
                                            "=",
                                            ";",
                                            "effort=measure"};
    int accepted = 0;
    for (int i = 0; i < 20000; ++i) {
        std::string text = random.pick(words);
        for (index_t n = random.below(6); n > 0; --n) text += " " + random.pick(words);
        const auto problem = Problem::parse(text);
        if (!problem.ok()) {
            EXPECT_FALSE(problem.status().message().empty());
            continue;
        }
        ++accepted;
        const auto again = Problem::parse(problem.value().print());
        ASSERT_TRUE(again.ok()) << "seed " << random.seed() << ": '" << text << "' printed as '"
                                << problem.value().print() << "'";
        ASSERT_TRUE(again.value() == problem.value()) << "seed " << random.seed() << ": '" << text << "'";
    }
    EXPECT_GT(accepted, 30);
}

TEST(Problem, SpectrumOfAnR2cAxisHasHalfItsLengthPlusOne) {
    EXPECT_EQ(Problem::parse("r2c 8x9").value().spectrum_shape(), (Extents{8, 5}));
    EXPECT_EQ(Problem::parse("r2c 8x8 axes=1,0").value().spectrum_shape(), (Extents{5, 8}));
    EXPECT_EQ(Problem::parse("r2c 1").value().spectrum_shape(), (Extents{1}));
    EXPECT_EQ(Problem::parse("c2r 8x9").value().input_shape(), (Extents{8, 5}));
    EXPECT_EQ(Problem::parse("c2r 8x9").value().output_shape(), (Extents{8, 9}));
}

TEST(Problem, ElementTypesFollowFromTheKinds) {
    const auto types = [](const std::string& text) {
        const Problem p = Problem::parse(text).value();
        return std::string(p.input_elem().complex ? "complex" : "real") + "->" +
               (p.output_elem().complex ? "complex" : "real");
    };
    EXPECT_EQ(types("c2c 8"), "complex->complex");
    EXPECT_EQ(types("r2c 8"), "real->complex");
    EXPECT_EQ(types("c2r 8"), "complex->real");
    EXPECT_EQ(types("dct2 8"), "real->real");
    EXPECT_EQ(types("dct2,c2c 8x8"), "complex->complex");
    EXPECT_EQ(types("dct2,r2c 8x8"), "real->complex");
}

TEST(Problem, OneDirectionOrBothCarryTheScale) {
    const auto scale = [](const std::string& text) {
        return static_cast<double>(Problem::parse(text).value().scale());
    };
    EXPECT_EQ(scale("c2c 4x4"), 1);
    EXPECT_EQ(scale("c2c 4x4 backward"), 1.0 / 16);
    EXPECT_EQ(scale("c2c 4x4 norm=ortho"), 1.0 / 4);
    EXPECT_EQ(scale("c2c 4x4 norm=ortho backward"), 1.0 / 4);
    EXPECT_EQ(scale("c2c 4x4 norm=forward"), 1.0 / 16);
    EXPECT_EQ(scale("c2c 4x4 norm=forward backward"), 1);
    EXPECT_EQ(scale("c2c 4x8 axes=0 backward"), 1.0 / 4);
    EXPECT_EQ(scale("dct1 5 backward"), 1.0 / 8);
    EXPECT_EQ(scale("dst1 3 backward"), 1.0 / 8);
    EXPECT_EQ(scale("dct4 4 backward"), 1.0 / 8);
}

TEST(Bytes, AreReadWithDecimalAndBinaryUnits) {
    const auto bytes = [](const std::string& text) {
        const auto parsed = parse_bytes(text);
        return parsed.ok() ? parsed.value() : index_t{-1};
    };
    EXPECT_EQ(bytes("1"), 1);
    EXPECT_EQ(bytes("1B"), 1);
    EXPECT_EQ(bytes("4kB"), 4000);
    EXPECT_EQ(bytes("4KB"), 4000);
    EXPECT_EQ(bytes("4K"), 4096);
    EXPECT_EQ(bytes("4KiB"), 4096);
    EXPECT_EQ(bytes("256MiB"), index_t{256} << 20);
    EXPECT_EQ(bytes("256 MiB"), index_t{256} << 20);
    EXPECT_EQ(bytes("1.5GiB"), index_t{3} << 29);
    EXPECT_EQ(bytes("2GB"), 2000000000);
    EXPECT_EQ(bytes("3TB"), 3000000000000);
    EXPECT_EQ(bytes("3TiB"), index_t{3} << 40);
    EXPECT_EQ(bytes("1e6"), 1000000);
    EXPECT_EQ(bytes("9007199254740993"), 9007199254740993);  // 2^53 + 1, which no double holds
    EXPECT_EQ(bytes("4611686018427387905"), 4611686018427387905);
    for (const char* bad : {"", " ", "MiB", "0", "0MiB", "-1", "1MiBs", "1 2", "nan", "inf", "0x10", "1e30",
                            "9000000000000000000000", "0.1", "1,5GB"}) {
        EXPECT_EQ(bytes(bad), -1) << bad;
        EXPECT_NE(parse_bytes(bad).status().message().find("for example 256MiB"), std::string::npos) << bad;
    }
}

TEST(Bytes, ArePrintedForPeople) {
    EXPECT_EQ(bytes_string(0), "0 B");
    EXPECT_EQ(bytes_string(1023), "1023 B");
    EXPECT_EQ(bytes_string(1024), "1.00 KiB");
    EXPECT_EQ(bytes_string(268435456.0), "256 MiB");
    EXPECT_EQ(bytes_string(1.5 * 1073741824.0), "1.50 GiB");
}

TEST(Kinds, UndoEachOther) {
    for (int i = 0; i < kAxisKinds; ++i) {
        const auto kind = static_cast<AxisKind>(i);
        EXPECT_EQ(inverse_kind(inverse_kind(kind)), kind);
    }
    EXPECT_EQ(inverse_kind(AxisKind::dct2), AxisKind::dct3);
    EXPECT_EQ(inverse_kind(AxisKind::dst3), AxisKind::dst2);
    EXPECT_EQ(inverse_kind(AxisKind::dct4), AxisKind::dct4);
}

}  // namespace
}  // namespace spanfft::test
