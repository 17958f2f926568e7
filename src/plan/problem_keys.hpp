// The keys of the problem string, one row each: name, values, default, a sentence of help, and how it is read and
// written.
//
// Parsing, canonical printing, the errors' lists and "did you mean", the command line's help and the table in
// docs/problem-string.md (a test compares them) come from here, so a new key is a field of Problem and a row.
// Invariant: rows stand in the order in which keys are printed, which stored results of tuning depend on.
#pragma once

#include <span>
#include <string>

#include "plan/problem.hpp"

namespace spanfft {

struct ProblemKey {
    const char* name;
    const char* values;    // what can stand behind "="; "": a flag, which stands alone
    const char* fallback;  // the default, in words
    const char* help;
    Status (*parse)(const ProblemKey& key, const std::string& value, Problem& p);
    std::string (*print)(const Problem& p);  // the value; "" where it is the default

    bool is_flag() const { return values[0] == '\0'; }
};

std::span<const ProblemKey> problem_keys();
const ProblemKey* find_problem_key(const std::string& name);  // nullptr: there is none
std::string problem_key_names(bool flags);                    // "axes, norm, ...", or those of the flags

// Shared with problem_text.cpp.
std::vector<std::string> split_text(const std::string& text, char separator);
Result<Extents> parse_extents(const std::string& text, char separator, const std::string& what);

}  // namespace spanfft
