// The one-line problem string: print and parse are inverse; grammar in problem.hpp.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>

#include "core/nearest.hpp"
#include "plan/problem.hpp"

namespace spanfft {

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::string part;
    TextReader stream(text);
    while (std::getline(stream, part, separator)) parts.push_back(part);
    if (!text.empty() && text.back() == separator) parts.emplace_back();
    return parts;
}

std::vector<std::string> words_of(const std::string& text) {
    TextReader stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

Result<index_t> parse_int(const std::string& text, const std::string& what) {
    index_t value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc() || end != text.data() + text.size() || text.empty()) {
        return error(Code::invalid_argument, "'", text, "' is not a whole number (", what, ")");
    }
    return value;
}

Result<int> parse_small(const std::string& text, const std::string& what) {
    SPANFFT_ASSIGN(const index_t value, parse_int(text, what));
    if (value < INT32_MIN || value > INT32_MAX)
        return error(Code::invalid_argument, what, " ", text, " does not fit 32 bits");
    return static_cast<int>(value);
}

Result<Extents> parse_extents(const std::string& text, char separator, const std::string& what) {
    Extents extents;
    for (const auto& part : split(text, separator)) {
        SPANFFT_ASSIGN(const index_t n, parse_int(part, what));
        extents.push_back(n);
    }
    if (extents.empty()) return error(Code::invalid_argument, "empty ", what);
    return extents;
}

Result<std::vector<Patch>> parse_boxes(const std::string& text) {
    std::vector<Patch> boxes;
    if (text.empty()) return error(Code::invalid_argument, "no boxes are given; give one a rank or leave the key out");
    for (const auto& box_text : split(text, ';')) {
        Patch box;
        for (const auto& range_text : split(box_text, 'x')) {
            const auto ends = split(range_text, ':');
            if (ends.size() != 2) return error(Code::invalid_argument, "'", range_text, "' is not start:stop (boxes)");
            SPANFFT_ASSIGN(const index_t start, parse_int(ends[0], "start of a box"));
            SPANFFT_ASSIGN(const index_t stop, parse_int(ends[1], "stop of a box"));
            index_t count = 0;
            if (__builtin_sub_overflow(stop, start, &count))
                return error(Code::invalid_argument, "'", range_text, "' is longer than 63 bits can count (boxes)");
            box.push_back({start, count, 1});
        }
        boxes.push_back(std::move(box));
    }
    return boxes;
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
constexpr const char* kNorms[] = {"backward", "ortho", "forward"};
constexpr const char* kLayouts[] = {"block", "cyclic"};
constexpr const char* kOutputs[] = {"natural", "exchanged"};
constexpr const char* kEfforts[] = {"estimate", "measure", "tune"};

template <class Enum, size_t N>
Status parse_enum(const std::string& value, const char* const (&names)[N], const char* key, Enum& target) {
    const int i = index_of(value, names);
    if (i < 0) {
        std::string known;
        for (const char* name : names) known += std::string(known.empty() ? "" : ", ") + name;
        return error(Code::invalid_argument, key, "=", value, " is not known; use one of ", known,
                     did_you_mean(value, known));
    }
    target = static_cast<Enum>(i);
    return Status();
}

Result<double> parse_number(const std::string& text, const char* what) {
    double value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed == std::errc() && end == text.data() + text.size() && !text.empty()) return value;
    return error(Code::invalid_argument, "'", text, "' is not a number", what);
}

std::string number_text(double value) {
    char text[32];
    return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

Status parse_key(Problem& p, const std::string& key, const std::string& value) {
    const auto assign = [](auto& target, auto result) -> Status {
        if (!result.ok()) return result.status();
        target = std::move(result).value();
        return Status();
    };
    if (key == "axes") {
        for (const auto& part : split(value, ',')) {
            SPANFFT_ASSIGN(const int axis, parse_small(part, "axis"));
            p.axes.push_back(axis);
        }
        if (p.axes.empty()) return error(Code::invalid_argument, "axes is empty; name at least one axis");
        return Status();
    }
    if (key == "norm") return parse_enum(value, kNorms, "norm", p.norm);
    if (key == "layout") return parse_enum(value, kLayouts, "layout", p.layout);
    if (key == "output") return parse_enum(value, kOutputs, "output", p.output);
    if (key == "effort") return parse_enum(value, kEfforts, "effort", p.effort);
    if (key == "measure_seconds")
        return assign(p.measure_seconds, parse_number(value, " of seconds (measure_seconds)"));
    if (key == "scale") return assign(p.factor, parse_number(value, " (scale)"));
    if (key == "store") return assign(p.store, parse_elem(value));
    if (key == "batch") return assign(p.batch, parse_int(value, "batch"));
    if (key == "ranks") return assign(p.ranks, parse_small(value, "ranks"));
    if (key == "threads") return assign(p.threads, parse_small(value, "threads"));
    if (key == "grid") return assign(p.grid, parse_extents(value, 'x', "grid"));
    if (key == "disks") return assign(p.disks, parse_small(value, "disks"));
    if (key == "memory") return assign(p.memory_bytes, parse_bytes(value));
    if (key == "input_chunk") return assign(p.input_chunk, parse_extents(value, 'x', "input_chunk"));
    if (key == "output_chunk") return assign(p.output_chunk, parse_extents(value, 'x', "output_chunk"));
    if (key == "real_boxes" || key == "spectrum_boxes") {
        auto boxes = parse_boxes(value);
        if (!boxes.ok()) return error(Code::invalid_argument, key, ": ", boxes.status().message());
        return assign(key == "real_boxes" ? p.real_boxes : p.spectrum_boxes, std::move(boxes));
    }
    if (key == "engine" || key == "exchange" || key == "method" || key == "window") {
        if (value.empty()) return error(Code::invalid_argument, key, "= has no value; name one or leave it out");
        (key == "engine" ? p.engine : key == "method" ? p.method : key == "window" ? p.window : p.exchange) = value;
        return Status();
    }
    if (key == "io") {
        if (value.empty()) return error(Code::invalid_argument, "io= has no value; use auto, uring or threads");
        p.io = value;
        return Status();
    }
    constexpr const char* known =
        "axes, norm, batch, ranks, grid, layout, output, memory, disks, threads, engine, exchange, io, method, effort, "
        "measure_seconds, real_boxes, spectrum_boxes, input_chunk, output_chunk, window, scale, store";
    return error(Code::invalid_argument, "'", key, "' is not a key of a problem; use ", known,
                 did_you_mean(key, known));
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
    const auto names = split(word, ',');
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

std::string boxes_text(const std::vector<Patch>& boxes) {
    std::string text;
    for (const auto& box : boxes) text += (text.empty() ? "" : ";") + patch_string(box);
    return text;
}

}  // namespace

std::string Problem::print() const {
    TextWriter out;
    out << kinds_word(*this) << ' ' << shape_string(shape) << ' ' << kDirections[static_cast<int>(direction)] << ' '
        << precision_name(precision);
    bool all_axes = static_cast<int>(axes.size()) == ndim();
    for (size_t i = 0; i < axes.size(); ++i) all_axes = all_axes && axes[i] == static_cast<int>(i);
    if (!all_axes) {
        out << " axes=";
        for (size_t i = 0; i < axes.size(); ++i) out << (i ? "," : "") << axes[i];
    }
    if (norm != Norm::backward) out << " norm=" << kNorms[static_cast<int>(norm)];
    if (batch != 1) out << " batch=" << batch;
    if (ranks != 1) out << " ranks=" << ranks;
    if (!grid.empty()) out << " grid=" << shape_string(grid);
    if (layout != Division::block) out << " layout=" << kLayouts[static_cast<int>(layout)];
    if (output != SpectrumOrder::natural) out << " output=" << kOutputs[static_cast<int>(output)];
    if (memory_bytes) out << " memory=" << memory_bytes;
    if (disks != 1) out << " disks=" << disks;
    if (threads) out << " threads=" << threads;
    if (!engine.empty()) out << " engine=" << engine;
    if (!exchange.empty()) out << " exchange=" << exchange;
    if (!io.empty()) out << " io=" << io;
    if (!method.empty()) out << " method=" << method;
    if (effort != Effort::estimate) out << " effort=" << kEfforts[static_cast<int>(effort)];
    if (measure_seconds > 0) out << " measure_seconds=" << number_text(measure_seconds);
    if (!window.empty()) out << " window=" << window;
    if (factor != 1) out << " scale=" << number_text(factor);
    if (store) out << " store=" << elem_name(*store);
    if (power) out << " power";
    if (!real_boxes.empty()) out << " real_boxes=" << boxes_text(real_boxes);
    if (!spectrum_boxes.empty()) out << " spectrum_boxes=" << boxes_text(spectrum_boxes);
    if (!input_chunk.empty()) out << " input_chunk=" << shape_string(input_chunk);
    if (!output_chunk.empty()) out << " output_chunk=" << shape_string(output_chunk);
    if (in_place) out << " in_place";
    if (own_output) out << " own_output";
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
        if (equals != std::string::npos) {
            if (seen[key]++) return error(Code::invalid_argument, "'", key, "' is given twice");
            SPANFFT_TRY(parse_key(p, key, word.substr(equals + 1)));
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
        } else if (word == "in_place") {
            p.in_place = true;
        } else if (word == "own_output") {
            p.own_output = true;
        } else if (word == "power") {
            p.power = true;
        } else {
            return error(Code::invalid_argument, "'", word, "' in problem '", text,
                         "' is not understood; use forward, backward, float, double, longdouble, in_place, own_output, "
                         "power or key=value");
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
