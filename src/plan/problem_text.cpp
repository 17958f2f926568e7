// The one-line problem string: print and parse are inverse; grammar in problem.hpp, keys in problem_keys.hpp.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "core/nearest.hpp"
#include "plan/problem_keys.hpp"

namespace spanfft {

namespace {

std::vector<std::string> words_of(const std::string& text) {
    TextReader stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

// Index of `word` among names, or -1.
template <size_t N>
int index_of(const std::string& word, const char* const (&names)[N]) {
    for (size_t i = 0; i < N; ++i) {
        if (word == names[i]) return static_cast<int>(i);
    }
    return -1;
}

constexpr const char* kDirections[] = {"forward", "backward"};
constexpr const char* kPrecisions[] = {"float", "double", "longdouble"};

// key=value, or a flag.
Status parse_key(Problem& p, const std::string& name, const std::string* value) {
    const ProblemKey* const key = find_problem_key(name);
    if (key && key->is_flag() && value)
        return error(Code::invalid_argument, "'", name, "' is not a key but a word that stands alone; leave '=", *value,
                     "' out, or the word");
    if (key && !key->is_flag() && !value)
        return error(Code::invalid_argument, "'", name, "' has no value; write ", name, "=VALUE (", key->values,
                     "), or leave it out");
    if (key) return key->parse(*key, value ? *value : "", p);
    const std::string keys = problem_key_names(false);
    return error(Code::invalid_argument, "'", name, "' is not a key of a problem; use ", keys,
                 did_you_mean(name, keys));
}

Result<AxisKind> parse_kind(const std::string& name) {
    std::string known;
    for (int i = 0; i < kAxisKinds; ++i) {
        const auto kind = static_cast<AxisKind>(i);
        if (name == axis_kind_name(kind)) return kind;
        known += std::string(axis_kind_name(kind)) + ", ";
    }
    if (name == "c2r")
        return error(Code::invalid_argument,
                     "'c2r' stands alone or not at all; among other kinds write r2c, and backward");
    return error(Code::invalid_argument, "kind '", name, "' is not known; use ", known, "or c2r",
                 did_you_mean(name, known + "c2r"));
}

// The kind word is expanded only when axes are known: r2c means c2c on all axes but the last.
Status apply_kinds(Problem& p, const std::string& word) {
    if (p.axes.empty()) {
        for (int axis = 0; axis < p.ndim(); ++axis) p.axes.push_back(axis);
    }
    const auto names = split_text(word, ',');
    for (const auto& name : names) {
        SPANFFT_ASSIGN(const AxisKind kind, parse_kind(name));
        p.kinds.push_back(kind);
    }
    if (names.size() == 1) {
        const AxisKind kind = p.kinds[0];
        p.kinds.assign(p.axes.size(), kind == AxisKind::r2c ? AxisKind::c2c : kind);
        p.kinds.back() = kind;
    }
    return Status();
}

std::string kinds_word(const Problem& p) {
    const bool same = std::all_of(p.kinds.begin(), p.kinds.end(), [&](AxisKind k) { return k == p.kinds[0]; });
    const bool numpy_r2c =
        p.kinds.back() == AxisKind::r2c &&
        std::all_of(p.kinds.begin(), p.kinds.end() - 1, [](AxisKind k) { return k == AxisKind::c2c; });
    if (same || numpy_r2c) return axis_kind_name(p.kinds.back());
    std::string word;
    for (AxisKind kind : p.kinds) word += (word.empty() ? "" : ",") + std::string(axis_kind_name(kind));
    return word;
}

}  // namespace

std::string Problem::print() const {
    TextWriter out;
    out << kinds_word(*this) << ' ' << shape_string(shape) << ' ' << kDirections[static_cast<int>(direction)] << ' '
        << precision_name(precision);
    for (const ProblemKey& key : problem_keys()) {
        const std::string value = key.print(*this);
        if (!value.empty()) out << ' ' << key.name << (key.is_flag() ? "" : "=" + value);
    }
    return out.str();
}

Result<Problem> Problem::parse(const std::string& text, int ranks_if_unsaid) {
    const auto words = words_of(text);
    if (words.size() < 2) {
        return error(Code::invalid_argument, "'", text,
                     "' is not a problem; write KIND SHAPE, for example 'r2c 256x256x256 float'");
    }
    Problem p;
    std::string kind = words[0];
    if (kind == "c2r") {  // the backward transform of r2c, by its usual name
        kind = "r2c";
        p.direction = Direction::backward;
    }
    SPANFFT_ASSIGN(p.shape, parse_extents(words[1], 'x', "shape"));
    std::map<std::string, int> seen;
    for (size_t i = 2; i < words.size(); ++i) {
        const std::string& word = words[i];
        const size_t equals = word.find('=');
        const std::string key = word.substr(0, equals);
        const bool has_value = equals != std::string::npos;
        if (has_value || find_problem_key(key)) {
            const std::string value = has_value ? word.substr(equals + 1) : "";
            if (has_value && seen[key]++) return error(Code::invalid_argument, "'", key, "' is given twice");
            SPANFFT_TRY(parse_key(p, key, has_value ? &value : nullptr));
        } else if (const int d = index_of(word, kDirections); d >= 0) {
            if (words[0] == "c2r" && d == 0) {
                return error(
                    Code::invalid_argument,
                    "c2r is the backward transform of r2c and can't be 'forward'; write c2r, or r2c ... backward");
            }
            if (seen["direction"]++)
                return error(Code::invalid_argument, "'", word,
                             "': the direction is given twice; write forward or backward once");
            p.direction = static_cast<Direction>(d);
        } else if (const int q = index_of(word, kPrecisions); q >= 0) {
            if (seen["precision"]++)
                return error(Code::invalid_argument, "'", word,
                             "': the precision is given twice; write float, double or longdouble once");
            p.precision = static_cast<Precision>(q);
        } else {
            const std::string alone = "forward, backward, float, double, longdouble, " + problem_key_names(true);
            return error(Code::invalid_argument, "'", word, "' in problem '", text, "' is not understood; use ", alone,
                         " or key=value", did_you_mean(word, cat(alone, ", ", problem_key_names(false))));
        }
    }
    SPANFFT_TRY(apply_kinds(p, kind));
    if (seen["ranks"] == 0) {
        p.ranks = ranks_if_unsaid;
        const auto in_grid = p.grid.empty() ? std::nullopt : checked_product(p.grid);
        if (in_grid && *in_grid >= 1 && *in_grid <= INT32_MAX) p.ranks = static_cast<int>(*in_grid);
    }
    SPANFFT_TRY(p.check());
    return p;
}

Result<ElemType> parse_elem(const std::string& text) {
    std::string known;
    for (const bool complex : {false, true}) {
        for (const Precision precision : {Precision::single, Precision::dbl, Precision::extended}) {
            const ElemType elem{precision, complex};
            if (text == elem_name(elem)) return elem;
            known += std::string(known.empty() ? "" : ", ") + elem_name(elem);
        }
    }
    return error(Code::invalid_argument, "store=", text, " is not known; use one of ", known,
                 did_you_mean(text, known));
}

Result<index_t> parse_bytes(const std::string& text) {
    static const std::map<std::string, double> units = {{"", 1.0},
                                                        {"B", 1.0},
                                                        {"kB", 1e3},
                                                        {"KB", 1e3},
                                                        {"MB", 1e6},
                                                        {"GB", 1e9},
                                                        {"TB", 1e12},
                                                        {"K", 1024.0},
                                                        {"M", 1048576.0},
                                                        {"G", 1073741824.0},
                                                        {"T", 1099511627776.0},
                                                        {"KiB", 1024.0},
                                                        {"MiB", 1048576.0},
                                                        {"GiB", 1073741824.0},
                                                        {"TiB", 1099511627776.0}};
    index_t whole = 0;  // a double would round numbers above 2^53
    const auto [whole_end, not_whole] = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (not_whole == std::errc() && whole_end == text.data() + text.size() && whole > 0) return whole;
    double value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    std::string unit(end, text.data() + text.size());
    unit.erase(0, unit.find_first_not_of(' ') == std::string::npos ? unit.size() : unit.find_first_not_of(' '));
    const auto found = units.find(unit);
    if (failed != std::errc() || found == units.end() || !(value * found->second >= 1) ||
        value * found->second >= 9.2e18) {
        return error(Code::invalid_argument, "'", text,
                     "' is not an amount of memory; write for example 256MiB, 4GB or a number of bytes");
    }
    return static_cast<index_t>(std::llround(value * found->second));
}

std::string bytes_string(double bytes) {
    const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    int unit = 0;
    while (bytes >= 1024 && unit < 5) {
        bytes /= 1024;
        ++unit;
    }
    TextWriter out;
    out.precision(bytes >= 100 || unit == 0 ? 0 : bytes >= 10 ? 1 : 2);
    out << std::fixed << bytes << ' ' << units[unit];
    return out.str();
}

}  // namespace spanfft
