// Method: the least number of letters inserted, left out, changed or swapped with their neighbour (Damerau's optimal
// string alignment), by rows of the table of all pairs of beginnings. A word is near when a third of its letters
// suffice, and one in any case: "han" is one from "hann", "two_sweep" one from "two_sweeps", "uing" one from "uring".
#include "core/nearest.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

#include "core/text.hpp"

namespace spanfft {

namespace {

size_t distance(const std::string& a, const std::string& b) {
    std::vector<std::vector<size_t>> steps(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); ++i) {
        for (size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                steps[i][j] = i + j;
                continue;
            }
            const size_t changed = steps[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            steps[i][j] = std::min({changed, steps[i - 1][j] + 1, steps[i][j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                steps[i][j] = std::min(steps[i][j], steps[i - 2][j - 2] + 1);
        }
    }
    return steps[a.size()][b.size()];
}

std::string lower(std::string word) {
    for (char& letter : word) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return word;
}

}  // namespace

std::string did_you_mean(const std::string& word, const std::string& known) {
    constexpr size_t kLongest = 64;  // of a word that is looked at: the table is its square
    const std::string asked = lower(word.substr(0, word.find(':')));
    if (asked.empty() || asked.size() > kLongest) return "";
    std::string best;
    size_t least = std::max<size_t>(1, asked.size() / 3) + 1;
    TextReader words(known);
    for (std::string each; words >> each;) {
        each = each.substr(0, each.find_first_of(":,;"));
        const size_t steps = each.size() > kLongest ? least : distance(asked, lower(each));
        if (steps < least) least = steps, best = each;
    }
    return best.empty() ? "" : "; did you mean '" + best + "'?";
}

}  // namespace spanfft
