// Finding, naming, forcing and choosing engines.
//
// Method: the libraries that were really opened are named by the addresses of their entry points (Engine::path) and
// looked for among the process's mappings; what environment variables do is tried in fresh processes, since engines
// are found once.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "engine/engine.hpp"
#include "engine/fftw_interface.hpp"
#include "support/direct_sum.hpp"

namespace spanfft {
namespace {

LocalSpec line(index_t n, Precision precision = Precision::dbl) {
    LocalSpec spec;
    spec.precision = precision;
    spec.transform = {{n, 1, 1}};
    return spec;
}

// Whether a file, links resolved, is mapped into this process.
bool is_mapped(const std::string& path) {
    const std::string real = std::filesystem::canonical(path).string();
    std::ifstream maps("/proc/self/maps");
    std::string text;
    while (std::getline(maps, text)) {
        if (text.find(real) != std::string::npos) return true;
    }
    return false;
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

TEST(EngineRegistry, TheBuiltInEngineIsAlwaysThere) {
    const Engine* ducc = find_engine("ducc0");
    ASSERT_NE(ducc, nullptr);
    EXPECT_EQ(ducc->path(), "built in");
    EXPECT_EQ(ducc->version().substr(0, 2), "0.");
    for (Precision p : {Precision::single, Precision::dbl, Precision::extended}) EXPECT_TRUE(ducc->has_precision(p));
}

TEST(EngineRegistry, NamesListsEveryEngineOnce) {
    std::string names;
    for (const auto& engine : engines()) {
        names += (names.empty() ? "" : ", ") + engine->name();
        EXPECT_EQ(find_engine(engine->name()), engine.get());
        EXPECT_EQ(engine_absence(engine->name()), "");
    }
    EXPECT_EQ(engine_names(), names);
    EXPECT_EQ(engines().back()->name(), "ducc0");
    EXPECT_FALSE(add_engine_search_path("/too/late"));
}

class ForcedEngine : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, ForcedEngine, testing::Values("ducc0", "fftw", "mkl"));

TEST_P(ForcedEngine, IsTheOneThatRuns) {
    const std::string name = GetParam();
    const Engine* engine = find_engine(name);
    if (!engine) {
        EXPECT_NE(engine_absence(name), "");
        const auto choice = plan_local(line(8), name, {});
        ASSERT_FALSE(choice.ok());
        EXPECT_NE(choice.status().message().find("was not found here"), std::string::npos) << choice.status().message();
        GTEST_SKIP() << "optional engine absent: " << engine_absence(name);
    }
    const auto choice = plan_local(line(48), name, {});
    ASSERT_TRUE(choice.ok()) << choice.status().message();
    EXPECT_EQ(choice.value().engine, name);
    const auto forecast = forecast_local(line(48), name, {});
    ASSERT_TRUE(forecast.ok());
    EXPECT_EQ(forecast.value().engine, name);
    EXPECT_GT(forecast.value().seconds, 0);
    EXPECT_FALSE(engine->version().empty());
    if (name == "ducc0") return;
    // The entry points lie in a file of the right name, which is mapped into this process.
    const std::string stem = name == "mkl" ? "libmkl_rt" : "libfftw3";
    EXPECT_EQ(file_name(engine->path()).rfind(stem, 0), 0U) << engine->path();
    EXPECT_TRUE(is_mapped(engine->path())) << engine->path();
    const std::string mark = name == "mkl" ? "20" : "fftw-3";
    EXPECT_EQ(engine->version().rfind(mark, 0), 0U) << engine->version();
}

TEST(EngineRegistry, AnUnknownEngineIsAnErrorThatNamesTheKnown) {
    const auto choice = plan_local(line(8), "foo", {});
    ASSERT_FALSE(choice.ok());
    EXPECT_EQ(choice.status().code(), Code::engine_error);
    EXPECT_EQ(choice.status().message(), "engine 'foo' is not known here; found: " + engine_names());
    EXPECT_EQ(forecast_local(line(8), "foo", {}).status().message(), choice.status().message());
}

TEST(EngineRegistry, AMissingPrecisionSaysWhatToDo) {
    if (!find_engine("mkl")) GTEST_SKIP() << "optional engine absent: " << engine_absence("mkl");
    const auto choice = plan_local(line(8, Precision::extended), "mkl", {});
    ASSERT_FALSE(choice.ok());
    EXPECT_EQ(choice.status().code(), Code::engine_error);
    EXPECT_EQ(choice.status().message(),
              "engine 'mkl' can't do longdouble here: MKL has none; use ducc0, or fftw with libfftw3l");
}

// Its tables are read before they are written, and what they hold then must cost nothing: see engine/mkl.cpp.
TEST(Mkl, GetsItsMemoryAsZerosAlsoWhereItWasUsedBefore) {
    if (!find_engine("mkl")) GTEST_SKIP() << "optional engine absent: " << engine_absence("mkl");
    void* core = nullptr;
    for (const char* name : {"libmkl_core.so.3", "libmkl_core.so.2", "libmkl_core.so.1"})
        if (!core) core = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (!core) GTEST_SKIP() << "MKL's core is in no library of its own here";
    using Malloc = void* (*)(size_t);
    const auto* const mkl_malloc = static_cast<Malloc*>(dlsym(core, "i_malloc"));
    ASSERT_NE(mkl_malloc, nullptr);
    for (const size_t bytes : {size_t{40}, size_t{1344}, size_t{200000}}) {
        for (int turn = 0; turn < 3; ++turn) {
            auto* const memory = static_cast<unsigned char*>((*mkl_malloc)(bytes));
            ASSERT_NE(memory, nullptr);
            EXPECT_EQ(std::count(memory, memory + bytes, 0), static_cast<std::ptrdiff_t>(bytes)) << bytes;
            std::memset(memory, 0x4d, bytes);
            std::free(memory);
        }
    }
}

TEST(EngineRegistry, InvalidSpecsAreRefusedBeforeAnyEngineIsAsked) {
    LocalSpec spec = line(1);
    spec.kernel = Kernel::dct1;
    auto expect = [&](const char* text) {
        for (const std::string name : {"", "ducc0"}) {
            const auto choice = plan_local(spec, name, {});
            ASSERT_FALSE(choice.ok()) << text;
            EXPECT_EQ(choice.status().code(), Code::invalid_argument);
            EXPECT_NE(choice.status().message().find(text), std::string::npos) << choice.status().message();
            EXPECT_FALSE(forecast_local(spec, name, {}).ok());
        }
    };
    expect("dct1 needs a length of at least 2, got 1");
    spec.kernel = Kernel::c2c_forward;
    spec.transform[0].n = 0;
    expect("c2c_forward needs a length of at least 1, got 0");
    spec = line(8);
    spec.threads = 0;
    expect("threads must be at least 1, got 0");
    spec = line(8);
    spec.batch = {{-1, 8, 8}};
    expect("a batch loop has -1 points");
    spec = line(8);
    spec.in_place = true;
    spec.batch = {{4, 8, 9}};
    expect("in place needs equal input and output strides");
    spec = line(8);
    spec.kernel = Kernel::r2c;
    spec.in_place = true;
    spec.batch = {{4, 8, 5}};
    expect("in place needs stride 1 on the halved axis");
    spec = line(8);
    spec.kernel = Kernel::c2r;
    spec.transform.clear();
    expect("needs at least one transform axis");
    spec = line(8);
    spec.kernel = Kernel::dst2;
    spec.transform.push_back({8, 1, 1});
    expect("takes exactly one transform axis, got 2");
    spec = line(8);
    spec.batch = {{index_t{1} << 40, index_t{1} << 40, 8}};
    expect("reach further than 2^63 bytes");
}

TEST(EngineRegistry, TheChoiceIsTheForecast) {
    for (index_t n : {8, 100, 1024, 1 << 16}) {
        for (int threads : {1, 2}) {
            LocalSpec spec = line(n);
            spec.threads = threads;
            const auto choice = plan_local(spec, "", {});
            const auto forecast = forecast_local(spec, "", {});
            ASSERT_TRUE(choice.ok() && forecast.ok());
            EXPECT_EQ(choice.value().engine, forecast.value().engine);
        }
    }
    // A prime beyond any memory: a forecast neither allocates nor transforms it.
    const auto huge = forecast_local(line((index_t{1} << 40) + 15), "", {});
    ASSERT_TRUE(huge.ok()) << huge.status().message();
    EXPECT_GT(huge.value().seconds, 1);
    LocalSpec spec = line(64);
    spec.kernel = Kernel::dct2;  // not mkl's
    EXPECT_EQ(plan_local(spec, "", {}).value().engine, forecast_local(spec, "", {}).value().engine);
}

TEST(EngineRegistry, MeasuringTakesAnEngineAndKeepsItsTime) {
    LocalSpec spec = line(1000);
    spec.batch = {{100, 1000, 1000}};
    spec.measure = true;
    const auto choice = plan_local(spec, "", {});
    ASSERT_TRUE(choice.ok()) << choice.status().message();
    spec.batch[0].n = 2;
    spec.measure = true;
    const auto small = plan_local(spec, "", {});
    ASSERT_TRUE(small.ok());
    EXPECT_LE(test::run(spec, *small.value().fft).error, test::rule(spec));
}

TEST(EngineRegistry, PlansAreMadeFromSeveralThreadsAtOnce) {
    std::vector<std::thread> threads;
    std::vector<double> worst(4, 1);
    for (size_t t = 0; t < worst.size(); ++t) {
        threads.emplace_back([t, &worst] {
            double error = 0;
            for (index_t n = 30; n < 60; ++n) {
                std::vector<double> in(static_cast<size_t>(2 * n), 0.0), out(in.size());
                in[2] = 1;  // an impulse at 1: outputs are roots of unity
                for (const auto& engine : engines()) {
                    auto fft = engine->plan(line(n));
                    fft.value()->execute(in.data(), out.data());
                    for (index_t k = 0; k < n; ++k) {
                        const double turns = static_cast<double>(k) / static_cast<double>(n);
                        const double angle = -2 * 3.14159265358979323846 * turns;
                        error = std::max({error, std::abs(out[static_cast<size_t>(2 * k)] - std::cos(angle)),
                                          std::abs(out[static_cast<size_t>(2 * k + 1)] - std::sin(angle))});
                    }
                }
            }
            worst[t] = error;
        });
    }
    for (auto& thread : threads) thread.join();
    for (double error : worst) EXPECT_LT(error, 3e-15);  // cos and sin of rounded angles: 2 pi times eps
}

// The rest runs in fresh processes.
class EngineRegistryDeathTest : public testing::Test {
  protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void expect_and_exit(bool good) { std::_Exit(good ? 0 : 1); }

TEST_F(EngineRegistryDeathTest, NoneTurnsALibraryOff) {
    EXPECT_EXIT(
        {
            setenv("SPANFFT_FFTW_LIBRARY", "none", 1);
            setenv("SPANFFT_MKL_LIBRARY", "none", 1);
            const auto forced = plan_local(line(8), "fftw", {});
            expect_and_exit(engine_names() == "ducc0" && engine_absence("mkl") == "SPANFFT_MKL_LIBRARY is 'none'" &&
                            plan_local(line(8), "", {}).value().engine == "ducc0" && !forced.ok() &&
                            forced.status().message() ==
                                "engine 'fftw' was not found here (SPANFFT_FFTW_LIBRARY is 'none'); found: ducc0");
        },
        testing::ExitedWithCode(0), "");
}

TEST_F(EngineRegistryDeathTest, AWrongPathIsReportedAndNotReplaced) {
    EXPECT_EXIT(
        {
            setenv("SPANFFT_FFTW_LIBRARY", "/nonexistent/libfftw3.so.3", 1);
            setenv("SPANFFT_MKL_LIBRARY", "libm.so.6", 1);
            const std::string fftw = engine_absence("fftw");
            const std::string mkl = engine_absence("mkl");
            expect_and_exit(fftw.find("SPANFFT_FFTW_LIBRARY: /nonexistent/libfftw3.so.3") == 0 &&
                            mkl.find("has no fftw_plan_guru64_dft") != std::string::npos && engine_names() == "ducc0");
        },
        testing::ExitedWithCode(0), "");
}

TEST_F(EngineRegistryDeathTest, ASearchPathIsLookedThroughAfterTheLoader) {
    // No engine may be asked for here: the fresh process comes through these lines too.
    const char* variable = std::getenv("SPANFFT_MKL_LIBRARY");
    if (!variable || variable[0] != '/') GTEST_SKIP() << "SPANFFT_MKL_LIBRARY does not name the optional engine's path";
    const std::string path = variable;
    EXPECT_EXIT(
        {
            unsetenv("SPANFFT_MKL_LIBRARY");
            const bool early = add_engine_search_path(path.substr(0, path.rfind('/')));
            expect_and_exit(early && find_engine("mkl") && find_engine("mkl")->path() == path);
        },
        testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace spanfft
