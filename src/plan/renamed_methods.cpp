// The table of old names; see renamed_methods.hpp.
#include "plan/renamed_methods.hpp"

#include <array>
#include <utility>

namespace spanfft {

namespace {

// A sweep of a disk was called a pass (docs/adr/0079-one-word-for-a-sweep.md).
constexpr std::array<std::pair<const char*, const char*>, 5> kRenamed = {{
    {"two_pass", "two_sweeps"},
    {"row_passes", "two_sweeps"},
    {"axis_passes", "axis_sweeps"},
    {"many_passes", "many_sweeps"},
    {"chirp_passes", "chirp_sweeps"},
}};

}  // namespace

std::string name_now(const std::string& method) {
    for (const auto& [before, now] : kRenamed)
        if (method == before) return now;
    return "";
}

std::string with_name_now(const std::string& problem) {
    const std::string key = " method=";
    const size_t at = problem.find(key);
    if (at == std::string::npos) return problem;
    const size_t begin = at + key.size(), end = problem.find_first_of(" :", begin);
    const size_t length = (end == std::string::npos ? problem.size() : end) - begin;
    const std::string now = name_now(problem.substr(begin, length));
    return now.empty() ? problem : std::string(problem).replace(begin, length, now);
}

}  // namespace spanfft
