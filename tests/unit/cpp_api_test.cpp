// The C++ wrapper, as a user's program sees it: this file includes nothing of src/.
#include "spanfft/spanfft.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace {

using Complex = std::complex<double>;

// The code that body throws; 0 when it throws nothing. Its sentence goes to *sentence.
template <class Body>
int code_of(Body body, std::string* sentence = nullptr) {
    try {
        body();
    } catch (const spanfft::Error& error) {
        if (sentence) *sentence = error.what();
        return error.code();
    }
    return SPANFFT_OK;
}

TEST(CppApi, RoundTripOfARealCube) {
    spanfft::Problem problem({4, 5, 6});
    problem.kind(SPANFFT_R2C);
    const spanfft::Plan forward(problem);
    const spanfft::Plan backward(problem.backward());
    std::vector<double> in(forward.input_elems()), back(backward.output_elems());
    std::vector<Complex> spectrum(forward.output_elems());
    ASSERT_EQ(in.size(), 120u);
    ASSERT_EQ(spectrum.size(), 4u * 5 * 4);
    for (size_t i = 0; i < in.size(); ++i) in[i] = std::sin(static_cast<double>(i * i));
    forward.execute(in, spectrum);
    double sum = 0;
    for (double x : in) sum += x;
    EXPECT_NEAR(spectrum[0].real(), sum, 1e-13);
    backward.execute(spectrum, back);
    for (size_t i = 0; i < in.size(); ++i) EXPECT_NEAR(back[i], in[i], 1e-14);
    EXPECT_EQ(forward.input_shape(), (std::vector<std::int64_t>{4, 5, 6}));
    EXPECT_EQ(forward.output_shape(), (std::vector<std::int64_t>{4, 5, 4}));
}

TEST(CppApi, BuildersSayTheSameAsProblemStrings) {
    spanfft::Problem problem({8, 9, 10});
    EXPECT_EQ(problem.print(), "c2c 8x9x10 forward double");
    problem.kind(SPANFFT_R2C)
        .axes({2, 0})
        .precision(SPANFFT_FLOAT)
        .norm(SPANFFT_NORM_ORTHO)
        .batch(3)
        .threads(2)
        .engine("ducc0");
    EXPECT_EQ(problem.print(), "r2c 8x9x10 forward float axes=2,0 norm=ortho batch=3 threads=2 engine=ducc0");
    problem.kinds({SPANFFT_DCT2, SPANFFT_DST3})
        .backward()
        .output(SPANFFT_OUTPUT_EXCHANGED)
        .grid({2, 2})
        .exchange("alltoallw")
        .measure()
        .in_place();
    EXPECT_EQ(problem.print(4),
              "dct2,dst3 8x9x10 backward float axes=2,0 norm=ortho batch=3 ranks=4 grid=2x2 output=exchanged threads=2 "
              "engine=ducc0 "
              "exchange=alltoallw effort=measure in_place");
    EXPECT_EQ(spanfft::Problem({64}).memory_bytes(1 << 20).print(), "c2c 64 forward double memory=1048576");
    EXPECT_EQ(spanfft::Problem({8}).direction(SPANFFT_BACKWARD).print(), "c2c 8 backward double");
}

TEST(CppApi, CopiesOfProblemsKeepTheirOwnNames) {
    auto make = [] { return spanfft::Problem({8}).engine("ducc0"); };
    spanfft::Problem copy = make();
    const spanfft::Problem other = copy;
    copy.engine("abacus");
    EXPECT_EQ(other.print(), "c2c 8 forward double engine=ducc0");
    EXPECT_NE(copy.print(), other.print());
}

TEST(CppApi, ErrorsCarryCodeAndSentence) {
    std::string sentence;
    EXPECT_EQ(code_of([] { spanfft::Plan(spanfft::Problem({8, 0})); }, &sentence), SPANFFT_INVALID_ARGUMENT);
    EXPECT_NE(sentence.find("8x0"), std::string::npos) << sentence;
    EXPECT_EQ(code_of([] { spanfft::Plan::parse("c2c 8 engine=abacus"); }, &sentence), SPANFFT_ENGINE_ERROR);
    EXPECT_NE(sentence.find("abacus"), std::string::npos);
    EXPECT_EQ(code_of([] { spanfft::Problem({1, 1, 1, 1, 1, 1, 1}); }, &sentence), SPANFFT_INVALID_ARGUMENT);
    EXPECT_EQ(code_of([] { spanfft::Problem({8}).axes({0, 1, 2, 3, 4, 5, 6}); }), SPANFFT_INVALID_ARGUMENT);
}

TEST(CppApi, ShortOrForeignArraysAreRefused) {
    const auto plan = spanfft::Plan::parse("r2c 8");
    std::vector<double> in(8), short_in(7);
    std::vector<Complex> out(5);
    std::vector<std::complex<float>> wrong(5);
    std::string sentence;
    EXPECT_EQ(code_of([&] { plan.execute(short_in, out); }, &sentence), SPANFFT_INVALID_ARGUMENT);
    EXPECT_NE(sentence.find("the input has 7 elements, this rank's part has 8"), std::string::npos) << sentence;
    EXPECT_EQ(code_of([&] { plan.execute(in, wrong); }, &sentence), SPANFFT_INVALID_ARGUMENT);
    EXPECT_NE(sentence.find("have 8 bytes, the plan's have 16"), std::string::npos) << sentence;
    EXPECT_EQ(code_of([&] { plan.execute(in, out); }), SPANFFT_OK);
}

TEST(CppApi, TakesAnyContiguousContainer) {
    const auto plan = spanfft::Plan::parse("c2c 4");
    std::array<Complex, 4> in{1, 2, 3, 4};
    Complex out[4];
    plan.execute(in, out);
    EXPECT_EQ(out[0], Complex(10));
    EXPECT_EQ(out[2], Complex(-2));
}

TEST(CppApi, InPlaceAndBatches) {
    const auto plan = spanfft::Plan::parse("c2c 4 batch=2 in_place");
    EXPECT_EQ(plan.input_elems(), 8u);
    std::vector<Complex> x{1, 2, 3, 4, 1, 1, 1, 1}, too_short(7);
    plan.execute_in_place(x);
    EXPECT_EQ(x[0], Complex(10));
    EXPECT_EQ(x[4], Complex(4));
    EXPECT_EQ(x[5], Complex(0));
    EXPECT_EQ(code_of([&] { plan.execute_in_place(too_short); }), SPANFFT_INVALID_ARGUMENT);
}

TEST(CppApi, PlansMoveAndExplainThemselves) {
    auto made = spanfft::Plan::parse("c2c 16x16 engine=ducc0");
    const spanfft::Plan plan = std::move(made);
    EXPECT_EQ(plan.solver(), "local");
    EXPECT_EQ(plan.engines(), "ducc0");
    EXPECT_EQ(plan.ranks(), 1);
    EXPECT_EQ(plan.rank(), 0);
    EXPECT_EQ(plan.sweeps(), 0);
    EXPECT_EQ(plan.scratch_bytes(), 0);
    EXPECT_EQ(plan.input_box().count[1], 16);
    EXPECT_EQ(plan.output_bytes(), 16 * 16 * 16);
    EXPECT_EQ(plan.peak_memory_bytes(), 2 * 16 * 16 * 16);
    ASSERT_EQ(plan.steps().size(), 1u);
    EXPECT_EQ(plan.steps()[0].type, "Transform");
    EXPECT_EQ(plan.steps()[0].depth, 0);
    EXPECT_NE(plan.explain().find("predicted"), std::string::npos);
    EXPECT_EQ(code_of([&] { (void)plan.counted(); }), SPANFFT_INVALID_ARGUMENT);
    std::vector<Complex> in(256), out(256);
    plan.execute(in, out);
    EXPECT_EQ(plan.counted().memory_bytes, plan.predicted().memory_bytes);
    EXPECT_EQ(plan.counted(0).flops, plan.predicted(0).flops);
}

TEST(CppApi, TracesHoldRunsAndSteps) {
    const spanfft::Plan plan(spanfft::Problem({6, 5}));
    std::vector<Complex> in(plan.input_elems()), out(plan.output_elems());
    EXPECT_EQ(code_of([&] { plan.trace_info(); }), SPANFFT_INVALID_ARGUMENT);
    plan.trace_start();
    plan.execute(in, out);
    plan.trace_stop();
    plan.execute(in, out);
    std::size_t runs = 0, steps = 0;
    for (const spanfft_trace_event& event : plan.trace_events()) {
        runs += event.category == SPANFFT_TRACE_RUN;
        steps += event.category == SPANFFT_TRACE_STEP;
    }
    EXPECT_EQ(runs, 1u);
    EXPECT_EQ(steps, plan.steps().size());
    EXPECT_EQ(plan.trace_info().dropped, 0);
}

TEST(CppApi, CallbacksAreFunctionsWhoseExceptionsEndTheRun) {
    const std::string folder = testing::TempDir(), in = folder + "spanfft_cpp_api.in",
                      out = folder + "spanfft_cpp_api.out";
    {
        std::ofstream file(in, std::ios::binary);
        for (int i = 0; i < 24; ++i) file.write("\0\1", 2);  // 1 as big-endian integers of 16 bits
    }
    spanfft::Problem problem({24});
    problem.kind(SPANFFT_R2C).memory_bytes(1 << 20).scale(0.5).power().store("float32").load(">i2").window("hann");
    EXPECT_NE(problem.print().find("window=hann scale=0.5 store=float32 load=>i2 power"), std::string::npos);
    spanfft::Plan plan(problem);
    std::int64_t read = 0, written = 0;
    plan.set_callbacks(
        [&](spanfft_block& block) {
            read += block.count;
            for (std::int64_t i = 0; i < block.count; ++i) static_cast<double*>(block.data)[i] += 1;
        },
        [&](spanfft_block& block) { written += block.count; });
    const spanfft::Plan moved = std::move(plan);  // the callbacks go along
    moved.transform_file(in, out);
    EXPECT_EQ(read, 24);
    EXPECT_EQ(written, 13);
    std::vector<float> power(14);
    std::ifstream file(out, std::ios::binary);
    file.read(reinterpret_cast<char*>(power.data()), 14 * sizeof(float));
    EXPECT_EQ(file.gcount(), 13 * static_cast<std::streamsize>(sizeof(float)));
    // The hann window of 2s: X[0] = 24, X[1] = -12, the others 0; half of it, squared.
    EXPECT_NEAR(power[0], 144, 1e-4);
    EXPECT_NEAR(power[1], 36, 1e-4);
    for (size_t k = 2; k < 13; ++k) EXPECT_NEAR(power[k], 0, 1e-12);
    std::remove(out.c_str());

    // In place the output would be of another type than the input.
    spanfft::Problem same({24});
    same.kind(SPANFFT_DCT2).memory_bytes(1 << 20).load(">i2");
    spanfft::Plan in_place(same);
    in_place.set_journal(SPANFFT_JOURNAL_AUTO);
    std::string why;
    EXPECT_EQ(code_of([&] { in_place.transform_in_place(in); }, &why), SPANFFT_INVALID_ARGUMENT);
    EXPECT_NE(why.find("the file holds >i2, of which float64 is made; give another output"), std::string::npos) << why;

    spanfft::Plan failing(problem);
    failing.set_callbacks([](spanfft_block&) { throw std::runtime_error("no calibration"); }, nullptr, true);
    std::string sentence;
    EXPECT_EQ(code_of([&] { failing.transform_file(in, out); }, &sentence), SPANFFT_CALLBACK_FAILED);
    EXPECT_NE(sentence.find("no calibration"), std::string::npos) << sentence;
    EXPECT_FALSE(std::ifstream(out).good());
    std::remove(in.c_str());
}

// Eight records of three bytes, by their bits in reverse order.
TEST(CppApi, PermutationsOfRecordsAreFilePlans) {
    const std::string in = testing::TempDir() + "spanfft-permuted-in",
                      out = testing::TempDir() + "spanfft-permuted-out";
    std::ofstream(in, std::ios::binary) << "000111222333444555666777";
    std::array<std::uint64_t, 3> columns{};
    ASSERT_EQ(spanfft_bit_matrix("bit-reversal", 3, columns.data()), SPANFFT_OK);
    spanfft_permutation permutation{};
    permutation.size = sizeof permutation;
    permutation.bits = 3;
    permutation.columns = columns.data();
    permutation.record_bytes = 3;
    permutation.memory_bytes = 1 << 20;
    const auto plan = spanfft::Plan::permutation(permutation);
    EXPECT_EQ(plan.input_bytes(), 24);
    plan.transform_file(in, out, 0, "#");
    std::string result;
    std::ifstream(out, std::ios::binary) >> result;
    EXPECT_EQ(result, "#000444222666111555333777");
    permutation.record_bytes = 0;
    EXPECT_EQ(code_of([&] { spanfft::Plan::permutation(permutation); }), SPANFFT_INVALID_ARGUMENT);
    std::remove(in.c_str());
    std::remove(out.c_str());
}

// A chunked 64 x 48 array of the test's own, each chunk of which must be moved once.
struct Chunked {
    std::vector<Complex> data = std::vector<Complex>(64 * 48);
    std::vector<int> moved = std::vector<int>(64 * 48);

    spanfft::Store store(bool in) {
        spanfft::Store store;
        store.transfer = [=, this](const std::int64_t* first, const std::int64_t* extent, void* box) {
            auto* next = static_cast<Complex*>(box);
            for (std::int64_t i = first[0]; i < first[0] + extent[0]; ++i) {
                for (std::int64_t j = first[1]; j < first[1] + extent[1]; ++j, ++next) {
                    const auto at = static_cast<size_t>(i * 48 + j);
                    if (in)
                        *next = data[at];
                    else
                        data[at] = *next;
                    ++moved[at];
                }
            }
        };
        return store;
    }
};

TEST(CppApi, StoresAreFilesOrFunctionsThatMoveBoxes) {
    const long double turn = 2 * std::acos(-1.0L);
    for (const std::int64_t memory : {30 << 10, 1 << 20}) {  // through scratch, and straight to memory
        spanfft::Problem problem({64, 48});
        problem.memory_bytes(memory).input_chunk({10, 10}).output_chunk({7, 9});
        const spanfft::Plan plan(problem);
        Chunked in, out;
        in.data[5 * 48 + 7] = 1;
        std::int64_t done = 0, total = 0;
        plan.transform_stores(in.store(true), out.store(false), testing::TempDir(),
                              [&](std::int64_t done_bytes, std::int64_t total_bytes) {
                                  done = done_bytes;
                                  total = total_bytes;
                                  return true;
                              });
        long double error = 0;
        for (int k = 0; k < 64; ++k) {
            for (int l = 0; l < 48; ++l) {
                const long double angle =
                    -turn * (static_cast<long double>(5 * k % 64) / 64 + static_cast<long double>(7 * l % 48) / 48);
                const Complex x = out.data[static_cast<size_t>(k * 48 + l)];
                error += std::norm(std::complex<long double>(x.real() - std::cos(angle), x.imag() - std::sin(angle)));
            }
        }
        EXPECT_LT(std::sqrt(error / 3072), 0.6 * 2.220446049250313e-16 * std::sqrt(std::log2(3072.0)));
        for (size_t i = 0; i < 3072; ++i) ASSERT_TRUE(in.moved[i] == 1 && out.moved[i] == 1) << i;
        EXPECT_GT(total, 0);
        EXPECT_EQ(done, total);

        std::string sentence;
        spanfft::Store missing;
        missing.path = "tape 7";
        missing.transfer = [](const std::int64_t*, const std::int64_t*, void*) {
            throw std::runtime_error("tape 7 is at the cleaner's");
        };
        const auto run = [&] { plan.transform_stores(missing, out.store(false), testing::TempDir()); };
        EXPECT_EQ(code_of(run, &sentence), SPANFFT_CALLBACK_FAILED);
        EXPECT_NE(sentence.find("at the cleaner's"), std::string::npos) << sentence;
        missing.transfer = [](const std::int64_t*, const std::int64_t*, void*) {
            throw spanfft::Error(SPANFFT_CORRUPT_DATA, "tape 7 has a hole");
        };
        EXPECT_EQ(code_of(run, &sentence), SPANFFT_CORRUPT_DATA);
        EXPECT_NE(sentence.find("has a hole"), std::string::npos) << sentence;
        missing.transfer = nullptr;  // then it is a file, which the plan is not for
        EXPECT_EQ(code_of(run, &sentence), SPANFFT_INVALID_ARGUMENT);
        EXPECT_NE(sentence.find("input_chunk"), std::string::npos) << sentence;
    }
}

// With an identity and a part in the end, arrays behind functions have a journal.
TEST(CppApi, StoresWithAnIdentityGoOnAndAreFinishedOnce) {
    const std::string folder = testing::TempDir() + "spanfft-finish";
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
    spanfft::Problem problem({64, 48});
    problem.memory_bytes(30 << 10).input_chunk({10, 10}).output_chunk({7, 9});
    spanfft::Plan plan(problem);
    plan.set_journal(SPANFFT_JOURNAL_AUTO);
    Chunked in, out, whole;
    in.data[5 * 48 + 7] = 1;
    plan.transform_stores(in.store(true), whole.store(false), folder);  // without one: nothing is left
    EXPECT_NE(plan.notes().back().find("give its store an identity"), std::string::npos) << plan.notes().back();
    spanfft::Store source = in.store(true), target = out.store(false);
    source.path = "in";
    target.path = "out";
    source.identity = "1";
    int finished = 0;
    target.finish = [&] {
        if (++finished == 1) throw spanfft::Error(SPANFFT_CORRUPT_DATA, "the lid does not close");
    };
    std::string sentence;
    EXPECT_EQ(code_of([&] { plan.transform_stores(source, target, folder); }, &sentence), SPANFFT_CORRUPT_DATA);
    EXPECT_NE(sentence.find("the lid does not close; all panels are done and kept"), std::string::npos) << sentence;
    source.identity = "2";
    EXPECT_EQ(code_of([&] { plan.transform_stores(source, target, folder); }, &sentence), SPANFFT_CORRUPT_DATA);
    EXPECT_NE(sentence.find("in has changed"), std::string::npos) << sentence;
    source.identity = "1";
    EXPECT_FALSE(std::filesystem::is_empty(folder));
    std::fill(in.moved.begin(), in.moved.end(), 0);
    plan.transform_stores(source, target, folder);
    EXPECT_EQ(finished, 2);
    EXPECT_GT(plan.resumed_bytes(), 0);
    EXPECT_EQ(in.moved, std::vector<int>(64 * 48));  // all of it was in its file
    EXPECT_EQ(out.data, whole.data);
    EXPECT_TRUE(std::filesystem::is_empty(folder));
    std::filesystem::remove_all(folder);
}

// Thrown when nothing is under way any more.
TEST(CppApi, WhatProgressThrowsStopsTheRunAndIsThrownOn) {
    const std::string in = testing::TempDir() + "spanfft-progress-in",
                      out = testing::TempDir() + "spanfft-progress-out";
    std::ofstream(in, std::ios::binary) << std::string(size_t{16} << 14, '\0');
    const auto plan = spanfft::Plan::parse("c2c 16384 memory=200KiB method=two_sweeps");
    try {
        plan.transform_file(in, out, 0, "", "",
                            [](std::int64_t, std::int64_t) -> bool { throw std::runtime_error("enough"); });
        FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "enough");
    }
    EXPECT_FALSE(std::ifstream(out).good());
    std::remove(in.c_str());
}

TEST(CppApi, ImaginedPlansPredictForAnyRankAndDoNotRun) {
    const auto plan = spanfft::Plan::imagine("c2c 64x64x64 ranks=16 output=exchanged grid=16 exchange=alltoallv");
    EXPECT_EQ(plan.ranks(), 16);
    EXPECT_EQ(plan.predicted(-1, 15).messages, 15);
    std::vector<Complex> x(plan.input_elems()), y(plan.output_elems());
    EXPECT_EQ(code_of([&] { plan.execute(x, y); }), SPANFFT_INVALID_ARGUMENT);
}

TEST(CppApi, EnginesIncludeTheBuiltInOne) {
    bool found = false;
    for (const auto& engine : spanfft::engines()) found = found || (engine.name == "ducc0" && engine.precisions == 7);
    EXPECT_TRUE(found);
    EXPECT_EQ(spanfft::version(), SPANFFT_VERSION);
}

// As std::mdspan is, of which this compiler's library may have none: row by row, or with strides of its own.
template <class T>
struct Mdspan {
    T* address;
    std::array<std::int64_t, 2> extents, strides;
    T* data_handle() const { return address; }
    static constexpr std::size_t rank() { return 2; }
    std::int64_t extent(std::size_t r) const { return extents[r]; }
    std::int64_t stride(std::size_t r) const { return strides[r]; }
};

TEST(CppApi, ArraysByExtentsAndStrides) {
    const spanfft::Plan plan(spanfft::Problem({3, 4}));
    std::vector<Complex> in(12), expected(12);
    for (size_t i = 0; i < in.size(); ++i) in[i] = {std::sin(static_cast<double>(i * i)), std::cos(3.0 * i)};
    plan.execute(in, expected);

    std::vector<Complex> rows(12), columns(12), back_to_front(12), gaps(24, {7, 7});
    plan.execute(Mdspan<const Complex>{in.data(), {3, 4}, {4, 1}}, Mdspan<Complex>{rows.data(), {3, 4}, {4, 1}});
    EXPECT_EQ(rows, expected);
    // layout_left: the first index is contiguous; and a section of every second element, from the last row to the first
    plan.execute(Mdspan<const Complex>{in.data(), {3, 4}, {4, 1}}, Mdspan<Complex>{columns.data(), {3, 4}, {1, 3}});
    for (size_t i = 0; i < 3; ++i)
        for (size_t j = 0; j < 4; ++j) EXPECT_EQ(columns[i + 3 * j], expected[4 * i + j]);
    for (size_t i = 0; i < 3; ++i)
        for (size_t j = 0; j < 4; ++j) back_to_front[4 * (2 - i) + j] = in[4 * i + j];
    plan.execute(spanfft::View<const Complex>(&back_to_front[8], {3, 4}, {-4, 1}),
                 spanfft::View(gaps.data(), {3, 4}, {8, 2}));
    for (size_t i = 0; i < 12; ++i) {
        EXPECT_EQ(gaps[2 * i], expected[i]);
        EXPECT_EQ(gaps[2 * i + 1], Complex(7, 7));
    }
}

TEST(CppApi, ABatchIsTheFirstExtent) {
    const spanfft::Plan plan(spanfft::Problem({6}).batch(2));
    const std::vector<Complex> in(12, 1);
    std::vector<Complex> out(12);
    plan.execute(spanfft::View(in.data(), {2, 6}), spanfft::View(out.data(), {2, 6}, {1, 2}));
    for (size_t i = 0; i < 12; ++i) EXPECT_NEAR(std::abs(out[i] - (i < 2 ? 6.0 : 0.0)), 0, 1e-15);
}

TEST(CppApi, ExtentsOfAnotherPartAreRefused) {
    const spanfft::Plan plan(spanfft::Problem({3, 4}));
    std::vector<Complex> in(12), out(12);
    std::string sentence;
    const auto run = [&](std::vector<std::int64_t> extents) {
        plan.execute(spanfft::View(in.data(), {3, 4}), spanfft::View(out.data(), std::move(extents)));
    };
    EXPECT_EQ(code_of([&] { run({4, 3}); }, &sentence), SPANFFT_INVALID_ARGUMENT);
    EXPECT_NE(sentence.find("the output is 4x3, this rank's part is 3x4"), std::string::npos) << sentence;
    EXPECT_EQ(code_of([&] { run({3, 3}); }), SPANFFT_INVALID_ARGUMENT);
    EXPECT_EQ(code_of([&] { run({2, 3, 4}); }), SPANFFT_INVALID_ARGUMENT);
    std::vector<std::complex<float>> single(12);
    EXPECT_EQ(code_of([&] { plan.execute(spanfft::View(single.data(), {3, 4}), spanfft::View(out.data(), {3, 4})); }),
              SPANFFT_INVALID_ARGUMENT);
}

}  // namespace
