// The C++ wrapper, as a user's program sees it: this file includes nothing of src/.
#include "spanfft/spanfft.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

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

}  // namespace
