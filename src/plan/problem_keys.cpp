// The table of keys; see problem_keys.hpp. A row names its field and, by its functions, the type of its value.
#include "plan/problem_keys.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/nearest.hpp"

namespace spanfft {

namespace {

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

}  // namespace

std::vector<std::string> split_text(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::string part;
    TextReader stream(text);
    while (std::getline(stream, part, separator)) parts.push_back(part);
    if (!text.empty() && text.back() == separator) parts.emplace_back();
    return parts;
}

Result<Extents> parse_extents(const std::string& text, char separator, const std::string& what) {
    Extents extents;
    for (const auto& part : split_text(text, separator)) {
        SPANFFT_ASSIGN(const index_t n, parse_int(part, what));
        extents.push_back(n);
    }
    if (extents.empty()) return error(Code::invalid_argument, "empty ", what);
    return extents;
}

namespace {

Result<std::vector<Patch>> parse_boxes(const std::string& text) {
    std::vector<Patch> boxes;
    if (text.empty()) return error(Code::invalid_argument, "no boxes are given; give one a rank or leave the key out");
    for (const auto& box_text : split_text(text, ';')) {
        Patch box;
        for (const auto& range_text : split_text(box_text, 'x')) {
            const auto ends = split_text(range_text, ':');
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

std::string boxes_text(const std::vector<Patch>& boxes) {
    std::string text;
    for (const auto& box : boxes) text += (text.empty() ? "" : ";") + patch_string(box);
    return text;
}

Result<double> parse_number(const std::string& text, const std::string& what) {
    double value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed == std::errc() && end == text.data() + text.size() && !text.empty()) return value;
    return error(Code::invalid_argument, "'", text, "' is not a number", what);
}

std::string number_text(double value) {
    char text[32];
    return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

// --- a pair of functions for each type of value; what equals its default is not printed
// ---------------------------------

const Problem& defaults() {
    static const Problem problem;
    return problem;
}

template <class Value>
Status assign(Value& target, Result<std::type_identity_t<Value>> result) {
    if (!result.ok()) return result.status();
    target = std::move(result).value();
    return Status();
}

constexpr std::array kNorms = {"backward", "ortho", "forward"};
constexpr std::array kDivisions = {"block", "cyclic"};
constexpr std::array kOrders = {"natural", "exchanged"};
constexpr std::array kEfforts = {"estimate", "measure", "tune"};

template <auto Field, const auto& Names>
Status parse_choice(const ProblemKey& key, const std::string& value, Problem& p) {
    using Enum = std::remove_reference_t<decltype(p.*Field)>;
    std::string known;
    for (size_t i = 0; i < Names.size(); ++i) {
        if (value == Names[i]) {
            p.*Field = static_cast<Enum>(i);
            return Status();
        }
        known += std::string(known.empty() ? "" : ", ") + Names[i];
    }
    return error(Code::invalid_argument, key.name, "=", value, " is not known; use one of ", known,
                 did_you_mean(value, known));
}
template <auto Field, const auto& Names>
std::string print_choice(const Problem& p) {
    return p.*Field == defaults().*Field ? "" : Names[static_cast<size_t>(p.*Field)];
}

template <auto Field>
Status parse_whole(const ProblemKey& key, const std::string& value, Problem& p) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(p.*Field)>, int>)
        return assign(p.*Field, parse_small(value, key.name));
    else
        return assign(p.*Field, parse_int(value, key.name));
}
template <auto Field>
std::string print_whole(const Problem& p) {
    return p.*Field == defaults().*Field ? "" : std::to_string(p.*Field);
}

template <auto Field>
Status parse_real(const ProblemKey& key, const std::string& value, Problem& p) {
    return assign(p.*Field, parse_number(value, cat(" (", key.name, ")")));
}
template <auto Field>
std::string print_real(const Problem& p) {
    return p.*Field == defaults().*Field ? "" : number_text(p.*Field);
}

template <auto Field>
Status parse_name(const ProblemKey& key, const std::string& value, Problem& p) {
    if (value.empty()) {
        return error(Code::invalid_argument, key.name, "= has no value; name one or leave it out (", key.values, ")");
    }
    p.*Field = value;
    return Status();
}
template <auto Field>
std::string print_name(const Problem& p) {
    return p.*Field;
}

template <auto Field>
Status parse_lengths(const ProblemKey& key, const std::string& value, Problem& p) {
    return assign(p.*Field, parse_extents(value, 'x', key.name));
}
template <auto Field>
std::string print_lengths(const Problem& p) {
    return (p.*Field).empty() ? "" : shape_string(p.*Field);
}

template <auto Field>
Status parse_patches(const ProblemKey& key, const std::string& value, Problem& p) {
    auto boxes = parse_boxes(value);
    if (!boxes.ok()) return error(Code::invalid_argument, key.name, ": ", boxes.status().message());
    p.*Field = std::move(boxes).value();
    return Status();
}
template <auto Field>
std::string print_patches(const Problem& p) {
    return boxes_text(p.*Field);
}

template <auto Field>
Status raise_flag(const ProblemKey&, const std::string&, Problem& p) {
    p.*Field = true;
    return Status();
}
template <auto Field>
std::string print_flag(const Problem& p) {
    return p.*Field ? "yes" : "";
}

Status parse_axes(const ProblemKey&, const std::string& value, Problem& p) {
    for (const auto& part : split_text(value, ',')) {
        SPANFFT_ASSIGN(const int axis, parse_small(part, "axis"));
        p.axes.push_back(axis);
    }
    if (p.axes.empty()) return error(Code::invalid_argument, "axes is empty; name at least one axis");
    return Status();
}
std::string print_axes(const Problem& p) {
    std::string text;
    bool all = static_cast<int>(p.axes.size()) == p.ndim();
    for (size_t i = 0; i < p.axes.size(); ++i) {
        all = all && p.axes[i] == static_cast<int>(i);
        text += (i ? "," : "") + std::to_string(p.axes[i]);
    }
    return all ? "" : text;
}

Status parse_memory(const ProblemKey&, const std::string& value, Problem& p) {
    return assign(p.memory_bytes, parse_bytes(value));
}

Status parse_store(const ProblemKey&, const std::string& value, Problem& p) {
    SPANFFT_ASSIGN(p.store, parse_elem(value));
    return Status();
}
Status parse_load(const ProblemKey&, const std::string& value, Problem& p) {
    SPANFFT_ASSIGN(p.load, NumberFormat::parse(value));
    return Status();
}
std::string print_load(const Problem& p) { return p.load ? p.load->print() : ""; }
std::string print_store(const Problem& p) { return p.store ? elem_name(*p.store) : ""; }

template <auto Field, const auto& Names>
constexpr ProblemKey choice(const char* name, const char* values, const char* help) {
    return {name, values, Names[0], help, &parse_choice<Field, Names>, &print_choice<Field, Names>};
}
template <auto Field>
constexpr ProblemKey whole(const char* name, const char* values, const char* fallback, const char* help) {
    return {name, values, fallback, help, &parse_whole<Field>, &print_whole<Field>};
}
template <auto Field>
constexpr ProblemKey real(const char* name, const char* fallback, const char* help) {
    return {name, "a number", fallback, help, &parse_real<Field>, &print_real<Field>};
}
template <auto Field>
constexpr ProblemKey word(const char* name, const char* values, const char* fallback, const char* help) {
    return {name, values, fallback, help, &parse_name<Field>, &print_name<Field>};
}
template <auto Field>
constexpr ProblemKey lengths(const char* name, const char* values, const char* fallback, const char* help) {
    return {name, values, fallback, help, &parse_lengths<Field>, &print_lengths<Field>};
}
template <auto Field>
constexpr ProblemKey patches(const char* name, const char* values, const char* help) {
    return {name, values, "balanced blocks", help, &parse_patches<Field>, &print_patches<Field>};
}
template <auto Field>
constexpr ProblemKey flag(const char* name, const char* help) {
    return {name, "", "no", help, &raise_flag<Field>, &print_flag<Field>};
}

constexpr ProblemKey kKeys[] = {
    {"axes", "0,2", "all", "axes to transform, none twice; the last one named is the one that r2c halves", &parse_axes,
     &print_axes},
    lengths<&Problem::kept>("kept", "128x128x128", "all",
                            "modes that the spectrum keeps along each axis: forward leaves the high ones out, backward "
                            "pads them with zeros (the 3/2 rule)"),
    choice<&Problem::norm, kNorms>(
        "norm", "backward, ortho, forward",
        "which direction is scaled by 1/N, as in numpy; ortho: both are scaled by 1/sqrt(N), and DCT and DST are made "
        "orthogonal, as in SciPy"),
    whole<&Problem::batch>("batch", "a number", "1",
                           "arrays one after the other in each rank's memory, not divided over ranks; with memory, in "
                           "the file"),
    whole<&Problem::ranks>("ranks", "a number", "the grid's, else the communicator's, else 1",
                           "MPI ranks; must fit the communicator where there is one"),
    lengths<&Problem::grid>("grid", "2x4", "the planner chooses",
                            "entry i divides axis i into that many blocks; the product is ranks"),
    choice<&Problem::layout, kDivisions>(
        "layout", "block, cyclic",
        "how axes of both real space and spectrum are divided; cyclic: index j on part j mod p"),
    choice<&Problem::output, kOrders>("output", "natural, exchanged",
                                      "where the spectrum lies on ranks; with memory, in which order"),
    {"memory", "256MiB, 4GB, a number of bytes", "none", "the array is in a file, and each process may use this much",
     &parse_memory, &print_whole<&Problem::memory_bytes>},
    whole<&Problem::disks>(
        "disks", "1 to 16", "none: scratch lies where the output does",
        "with memory: how many disks of its own scratch is striped over, of each rank; --scratch and "
        "scratch= set it themselves"),
    whole<&Problem::threads>("threads", "a number", "the planner chooses", "threads of each rank"),
    word<&Problem::engine>("engine", "fftw, mkl, ducc0", "the planner chooses", "forces a local engine"),
    word<&Problem::exchange>("exchange",
                             "NAME or NAME:PARAMETER: alltoallv, shared, overlap:4, ...; shared+oneplane:4 names one "
                             "for each exchange of the forward transform",
                             "the planner chooses", "forces an exchange strategy"),
    word<&Problem::io>("io", "auto, uring, threads", "auto", "with memory: who reads and writes"),
    word<&Problem::method>("method", "NAME or NAME:PARAMETERS: two_sweeps, superlevels:sync, soi:digits=10, ...",
                           "the planner chooses", "forces a solver; soi and ffte are never chosen otherwise"),
    choice<&Problem::effort, kEfforts>(
        "effort", "estimate, measure, tune",
        "measure: what was tuned, else the best candidates are timed; tune: they are timed in any case"),
    real<&Problem::measure_seconds>("measure_seconds", "5", "the cap of measure and tune"),
    word<&Problem::window>("window", "hann, kaiser:8.6, ...", "none",
                           "with memory: what the input is multiplied by along the last of axes"),
    real<&Problem::factor>("scale", "1", "what the output is multiplied by, in addition to norm"),
    {"store", "float32, complex64, ...", "as computed", "with memory: the type of the numbers in the output file",
     &parse_store, &print_store},
    {"load", "i2, >f4, u1, f2, ...", "as computed",
     "with memory: the type of the numbers in the input file, converted as they are read; > is big-endian", &parse_load,
     &print_load},
    flag<&Problem::power>("power", "with memory: abs(x)^2 of the output is stored"),
    flag<&Problem::reads_once>("reads_once",
                               "with memory: each element of the input is read once, as callbacks need it"),
    patches<&Problem::real_boxes>("real_boxes", "0:2x0:8;2:4x0:8",
                                  "one box a rank, in rank order: start:stop along each axis"),
    patches<&Problem::spectrum_boxes>("spectrum_boxes", "the same", "the same for the spectrum"),
    lengths<&Problem::input_chunk>("input_chunk", "128x128", "none",
                                   "with memory: the input is a chunked array behind a function, not a file"),
    lengths<&Problem::output_chunk>("output_chunk", "the same", "none", "the same for the output"),
    flag<&Problem::one_writer>("one_writer", "with output_chunk: of several ranks, rank 0 alone writes the output"),
    flag<&Problem::in_place>("in_place", "input and output are the same memory"),
    flag<&Problem::own_output>("own_output",
                               "the plan owns the output array, into which ranks of one node then write directly"),
    flag<&Problem::own_input>("own_input",
                              "the plan owns the input array, from which ranks of one node then read directly"),
};

}  // namespace

std::span<const ProblemKey> problem_keys() { return kKeys; }

const ProblemKey* find_problem_key(const std::string& name) {
    const auto* const found =
        std::find_if(std::begin(kKeys), std::end(kKeys), [&](const auto& k) { return name == k.name; });
    return found == std::end(kKeys) ? nullptr : found;
}

std::string problem_key_names(bool flags) {
    std::string names;
    for (const ProblemKey& key : kKeys) {
        if (key.is_flag() == flags) names += std::string(names.empty() ? "" : ", ") + key.name;
    }
    return names;
}

}  // namespace spanfft
