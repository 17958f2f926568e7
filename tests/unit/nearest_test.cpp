// Nearest known words: what is suggested for a misspelt one, and when nothing is.
#include "core/nearest.hpp"

#include <gtest/gtest.h>

namespace spanfft::test {
namespace {

constexpr const char* kKnown = "local, two_sweeps, superlevels, hann, kaiser:BETA; uring";

TEST(Nearest, SuggestsAWordThatIsAFewLettersAway) {
    EXPECT_EQ(did_you_mean("two_sweep", kKnown), "; did you mean 'two_sweeps'?");
    EXPECT_EQ(did_you_mean("twosweeps:foo", kKnown), "; did you mean 'two_sweeps'?");
    EXPECT_EQ(did_you_mean("SUPERLEVEL", kKnown), "; did you mean 'superlevels'?");
    EXPECT_EQ(did_you_mean("han", kKnown), "; did you mean 'hann'?");
    EXPECT_EQ(did_you_mean("ahnn", kKnown), "; did you mean 'hann'?");  // neighbours swapped count once
    EXPECT_EQ(did_you_mean("keiser:8", kKnown), "; did you mean 'kaiser'?");
    EXPECT_EQ(did_you_mean("uing", kKnown), "; did you mean 'uring'?");
}

TEST(Nearest, SuggestsNothingForWordsThatAreFarOrEmptyOrEndless) {
    for (const std::string& word : {std::string("pigeons"), std::string(), std::string(":4"), std::string(5000, 'l')})
        EXPECT_EQ(did_you_mean(word, kKnown), "") << word.substr(0, 9);
    EXPECT_EQ(did_you_mean("local", ""), "");
}

}  // namespace
}  // namespace spanfft::test
