// What FFTW learnt, kept between processes: lines and their merging, damage, and processes that start from the file.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "engine/engine.hpp"
#include "plan/kept_wisdom.hpp"
#include "plan/machine.hpp"
#include "plan/user_files.hpp"
#include "plan/wisdom_store.hpp"
#include "support/direct_sum.hpp"
#include "support/sanitized.hpp"
#include "support/simulated_store.hpp"

namespace spanfft::test {
namespace {

const WisdomSource kSource{"fftw", "fftw-3.3.10-sse2", "a processor, 8 cores", "double"};
const std::string kHead = "(fftw-3.3.10 fftw_wisdom #x1 #x2 #x3 #x4";
const std::string kFirst = "(fftw_codelet_n1fv_10_avx 0 #x11bdd #x11bdd #x0 #xa #xb #xc #xd)";
const std::string kSecond = "(fftw_dft_vrank_geq1_register 0 #x11bdd #x11bdd #x0 #xe #xb #xc #xd)";

std::string text_of(const std::vector<std::string>& entries, const std::string& head = kHead) {
    std::string text = head + "\n";
    for (const std::string& entry : entries) text += "  " + entry + "\n";
    return text + ")\n";
}

TEST(WisdomStore, GivesBackWhatALibraryExported) {
    WisdomStore store;
    EXPECT_EQ(store.add(kSource, text_of({kFirst, kSecond})), 2);
    EXPECT_EQ(store.add(kSource, text_of({kSecond})), 0);
    const WisdomStore again = WisdomStore::parse(store.print());
    EXPECT_EQ(again.print(), store.print());
    EXPECT_EQ(again.entries(), 2);
    EXPECT_EQ(again.texts_of(kSource), std::vector<std::string>{text_of({kFirst, kSecond})});
}

TEST(WisdomStore, GivesNobodyWhatIsAnothers) {
    WisdomStore store;
    store.add(kSource, text_of({kFirst}));
    for (std::string WisdomSource::* field :
         {&WisdomSource::engine, &WisdomSource::version, &WisdomSource::machine, &WisdomSource::precision}) {
        WisdomSource other = kSource;
        other.*field += "2";
        EXPECT_TRUE(store.texts_of(other).empty());
        other.*field = "";
        EXPECT_TRUE(store.texts_of(other).empty());
        EXPECT_EQ(store.add(other, text_of({kFirst})), 1);
    }
    // Another configuration of the same library is a text of its own.
    store.add(kSource, text_of({kSecond}, kHead + "5"));
    EXPECT_EQ(store.texts_of(kSource), (std::vector<std::string>{text_of({kFirst}), text_of({kSecond}, kHead + "5")}));
}

TEST(WisdomStore, OnlyGains) {
    WisdomStore one, other;
    one.add(kSource, text_of({kFirst}));
    other.add(kSource, text_of({kSecond}));
    EXPECT_EQ(one.merge(other), 1);
    EXPECT_EQ(one.merge(other), 0);
    EXPECT_EQ(one.entries(), 2);
    // Another solver for the same part: the first that was found stays.
    EXPECT_EQ(one.add(kSource, text_of({"(fftw_codelet_n1fv_10_sse2 0 #x11bdd #x11bdd #x0 #xa #xb #xc #xd)"})), 0);
    EXPECT_EQ(one.texts_of(kSource), std::vector<std::string>{text_of({kFirst, kSecond})});
    const WisdomStore read = WisdomStore::parse(one.print());
    EXPECT_EQ(one.merge(read), 0);
    EXPECT_EQ(one.print(), read.print());
}

TEST(WisdomStore, LeavesOutEveryDamagedLine) {
    WisdomStore store;
    store.add(kSource, text_of({kFirst, kSecond}));
    const std::string whole = store.print();
    const size_t first = whole.find('\n') + 1, end = whole.find('\n', first);
    for (size_t at = first; at < end; ++at) {
        std::string text = whole;
        text[at] = static_cast<char>(text[at] ^ 1);
        const WisdomStore damaged = WisdomStore::parse(text);
        EXPECT_GE(damaged.damaged(), 1) << at;
        EXPECT_EQ(damaged.texts_of(kSource), std::vector<std::string>{text_of({kSecond})}) << at;
    }
    for (size_t length = first + 1; length < end; ++length) {
        const WisdomStore cut = WisdomStore::parse(whole.substr(0, length));
        EXPECT_EQ(cut.damaged(), 1);
        EXPECT_EQ(cut.entries(), 0);
    }
}

TEST(WisdomStore, TakesNoTextOfAnotherForm) {
    WisdomStore store;
    for (const std::string text : {"", "\n", ")", "wisdom", "(fftw", "(fftw\n(x)\n", "(fftw\n1 2 3 4 5 6 7 8 9\n"})
        EXPECT_EQ(store.add(kSource, text), 0) << text;
    EXPECT_TRUE(WisdomStore::parse("spanfft-wisdom 2\n").foreign());
    EXPECT_FALSE(WisdomStore::parse("").foreign());
}

// --- with the library itself; each step in a process of its own, as a process remembers what it learnt

constexpr int kGood = 0, kWrong = 1;

int in_a_process(const std::function<int()>& body) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(body());
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class KeptWisdom : public testing::Test {
  protected:
    void SetUp() override {
        if (in_a_process([] { return find_engine("fftw") ? kGood : kWrong; }) != kGood)
            GTEST_SKIP() << "there is no libfftw3";
        before_ = getenv("SPANFFT_HOME") ? getenv("SPANFFT_HOME") : "";
        setenv("SPANFFT_HOME", folder_.file("home").c_str(), 1);
    }
    void TearDown() override {
        if (!before_.empty()) setenv("SPANFFT_HOME", before_.c_str(), 1);
    }
    TemporaryFolder folder_;

  private:
    std::string before_;
};

// Plans and checks a measured transform; how many plans the library measured for it, or -1. A short one, as the library
// forgets what it could not measure in its time on a busy machine, and with strides that other tests don't have.
int plan_measured(index_t n) {
    LocalSpec spec;
    spec.transform = {{n, 1, 1}};
    spec.batch = {{3, n + 5, n + 7}};
    spec.measure = true;
    const Engine& fftw = *find_engine("fftw");
    const index_t before = fftw.measurements();
    auto choice = plan_local(spec, "fftw", RateTable());
    if (!choice.ok()) return -1;
    if (run(spec, *choice.value().fft).error > rule(spec)) return -1;
    return static_cast<int>(fftw.measurements() - before);
}

int measure_and_keep(index_t n) {
    learn_wisdom(read_wisdom().text);
    return plan_measured(n) > 0 && keep_wisdom().ok() ? kGood : kWrong;
}

int plans_without_measuring(index_t n) {
    learn_wisdom(read_wisdom().text);
    return plan_measured(n) == 0 ? kGood : kWrong;
}

TEST_F(KeptWisdom, ASecondProcessDoesNotMeasureAgain) {
    EXPECT_EQ(in_a_process([] { return measure_and_keep(44); }), kGood);
    const auto text = read_text(wisdom_path());
    ASSERT_TRUE(text.ok());
    EXPECT_GT(WisdomStore::parse(text.value()).entries(), 0);
    EXPECT_EQ(in_a_process([] { return plans_without_measuring(44); }), kGood);
    EXPECT_EQ(in_a_process([] { return plan_measured(44) > 0 ? kGood : kWrong; }), kGood);  // not told
    // Who learnt nothing new writes nothing.
    const uint64_t stamp = file_stamp(wisdom_path());
    EXPECT_EQ(in_a_process([] { return plans_without_measuring(44) + (keep_wisdom().ok() ? 0 : 1); }), kGood);
    EXPECT_EQ(file_stamp(wisdom_path()), stamp);
}

TEST_F(KeptWisdom, ProcessesAtOnceLoseNothingOfOneAnother) {
    std::vector<index_t> lengths{21, 22, 26, 33, 35, 39, 52, 55};
    if (kSanitized) lengths.resize(3);  // measuring takes most of the time
    std::vector<pid_t> children;
    for (const index_t n : lengths) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(60);
            _exit(measure_and_keep(n));
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    for (const index_t n : lengths) EXPECT_EQ(in_a_process([n] { return plans_without_measuring(n); }), kGood) << n;
}

TEST_F(KeptWisdom, WhatIsDamagedIsNotUsedAndSaidSo) {
    ASSERT_EQ(in_a_process([] { return measure_and_keep(44); }), kGood);
    std::string text = read_text(wisdom_path()).value();
    for (size_t at = text.find("#x"); at != std::string::npos; at = text.find("#x", at + 1)) text[at + 2] = 'g';
    ASSERT_TRUE(write_text(wisdom_path(), text).ok());
    EXPECT_NE(read_wisdom().note.find("damaged lines"), std::string::npos) << read_wisdom().note;
    EXPECT_EQ(in_a_process([] { return measure_and_keep(44); }), kGood);
    EXPECT_EQ(read_wisdom().note, "");
    EXPECT_EQ(in_a_process([] { return plans_without_measuring(44); }), kGood);
}

TEST_F(KeptWisdom, AFileOfAnotherFormatIsLeftAlone) {
    const std::string text = "spanfft-wisdom 2\nof a later version\n";
    ASSERT_TRUE(write_text(wisdom_path(), text).ok());
    EXPECT_NE(read_wisdom().note.find("remove it"), std::string::npos);
    EXPECT_EQ(in_a_process([] { return plan_measured(44) > 0 && !keep_wisdom().ok() ? kGood : kWrong; }), kGood);
    EXPECT_EQ(read_text(wisdom_path()).value(), text);
}

TEST_F(KeptWisdom, TheLibraryRefusesWhatItDidNotWrite) {
    const auto refusal_of = [](const std::string& head) {
        const Engine& fftw = *find_engine("fftw");
        WisdomStore store;
        store.add({fftw.name(), fftw.version(), machine_identity(), "double"}, text_of({kFirst}, head));
        const std::string refused = learn_wisdom(store.print());
        return refused == "kept wisdom is not that of fftw in double" && plan_measured(44) > 0 ? kGood : kWrong;
    };
    EXPECT_EQ(in_a_process([&] { return refusal_of(kHead); }), kGood);
    EXPECT_EQ(in_a_process([&] { return refusal_of("(nonsense"); }), kGood);
}

}  // namespace
}  // namespace spanfft::test
