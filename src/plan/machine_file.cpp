// Machines to and from text and files; see machine_file.hpp.
#include "plan/machine_file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>

#include "core/hash.hpp"
#include "core/limits.hpp"
#include "core/nearest.hpp"
#include "plan/problem_keys.hpp"
#include "plan/user_files.hpp"

namespace spanfft {

namespace {

constexpr const char* kHeader = "spanfft-machine 1";
constexpr const char* kShapes[] = {"line",       "strided", "several",   "plane",
                                   "two_sweeps", "tile",    "few_lines", "few_lanes"};
constexpr const char* kFormerShape = "column";  // in files of earlier versions; tiles say the same better
constexpr const char* kRateKernels[] = {"c2c", "half", "r2r"};

// The lines that hold one number.
struct Field {
    const char* name;
    std::function<void(Machine&, double)> set;
    std::function<double(const Machine&)> get;
    double most = 1e18, least = 0;
};
constexpr double kMostCounted = 1e9;  // of ranks, requests: an int

template <class Number>
Field field(const char* name, Number Machine::* member, double least = 0) {
    return {name, [member](Machine& m, double value) { m.*member = static_cast<Number>(value); },
            [member](const Machine& m) { return static_cast<double>(m.*member); },
            std::is_integral_v<Number> ? kMostCounted : 1e18, least};
}

// What is divided by.
template <class Number>
Field divisor(const char* name, Number Machine::* member) {
    return field(name, member, 1);
}

template <class Number>
Field cache_field(const char* name, Number Caches::* member) {
    return {name,
            [member](Machine& m, double value) { m.caches.*member = std::max(Number{1}, static_cast<Number>(value)); },
            [member](const Machine& m) { return static_cast<double>(m.caches.*member); }, kMostCounted};
}

const std::vector<Field>& fields() {
    static const std::vector<Field> all = {
        field("measured_ranks", &Machine::measured_ranks),
        {"cores", [](Machine& m, double value) { m.cores = static_cast<int>(value); },
         [](const Machine& m) { return static_cast<double>(m.cores); }, kMostThreads, 1},
        {"ranks_per_node", [](Machine& m, double value) { m.topology.ranks_per_node = static_cast<int>(value); },
         [](const Machine& m) { return m.topology.ranks_per_node; }, kMostCounted},
        {"overlap_share", [](Machine& m, double value) { m.overlap_share = value; },
         [](const Machine& m) { return m.overlap_share; }, 1},
        divisor("memory_bytes_per_second", &Machine::memory_bytes_per_second),
        divisor("shared_memory_bytes_per_second", &Machine::shared_memory_bytes_per_second),
        field("all_threads_bytes_per_second", &Machine::all_threads_bytes_per_second),
        field("tile_bytes_per_second", &Machine::tile_bytes_per_second),
        field("twiddle_seconds", &Machine::twiddle_seconds),
        field("call_seconds", &Machine::call_seconds),
        field("shared_step_seconds", &Machine::shared_step_seconds),
        field("handover_seconds", &Machine::handover_seconds),
        divisor("disk_read_bytes_per_second", &Machine::disk_read_bytes_per_second),
        divisor("disk_write_bytes_per_second", &Machine::disk_write_bytes_per_second),
        field("disk_request_seconds", &Machine::disk_request_seconds),
        divisor("disk_queue_depth", &Machine::disk_queue_depth),
        field("disk_alone_seconds", &Machine::disk_alone_seconds),
        field("disk_rewrite_bytes_per_second", &Machine::disk_rewrite_bytes_per_second),
        field("disk_read_alone_bytes_per_second", &Machine::disk_read_alone_bytes_per_second),
        field("disk_write_alone_bytes_per_second", &Machine::disk_write_alone_bytes_per_second),
        field("disk_write_request_seconds", &Machine::disk_write_request_seconds),
        field("disk_cached_seconds", &Machine::disk_cached_seconds),
        field("disk_cached_seconds_per_byte", &Machine::disk_cached_seconds_per_byte),
        field("page_cache_bytes", &Machine::page_cache_bytes),
        field("disk_start_seconds", &Machine::disk_start_seconds),
        field("memory_touch_seconds_per_byte", &Machine::memory_touch_seconds_per_byte),
        field("scratch_read_bytes_per_second", &Machine::scratch_read_bytes_per_second),
        field("scratch_write_bytes_per_second", &Machine::scratch_write_bytes_per_second),
        field("disk_short_read_seconds", &Machine::disk_short_read_seconds),
        field("disk_short_write_seconds", &Machine::disk_short_write_seconds),
        field("disk_unaligned_write_seconds_per_byte", &Machine::disk_unaligned_write_seconds_per_byte),
        {"disk_compute_share", [](Machine& m, double value) { m.disk_compute_share = value; },
         [](const Machine& m) { return m.disk_compute_share; }, 1},
        cache_field("cache_l1_bytes", &Caches::l1_bytes),
        cache_field("cache_l2_bytes", &Caches::l2_bytes),
        cache_field("cache_l3_bytes", &Caches::l3_bytes),
        cache_field("cache_l3_count", &Caches::l3_count),
    };
    return all;
}

// What a line says, word by word as a stream would, up to a '#'. The first plan of a process reads thousands of lines,
// for which as many streams took a fifth of its time.
class Words {
  public:
    explicit Words(std::string_view line) : left_(line) {}
    explicit operator bool() const { return good_; }

    Words& operator>>(std::string& word) {
        word = next();
        return *this;
    }
    // Finite, and nothing but the number.
    template <class Number>
        requires std::integral<Number> || std::floating_point<Number>
    Words& operator>>(Number& value) {
        const std::string_view word = next();
        const char* const end = word.data() + word.size();
        const auto [stop, failed] = std::from_chars(word.data(), end, value);
        if (failed != std::errc() || stop != end) good_ = false;
        if constexpr (std::floating_point<Number>) good_ = good_ && std::isfinite(value);
        return *this;
    }
    // All that is left, a '#' too.
    std::string rest() const {
        return std::string(left_.substr(std::min(left_.find_first_not_of(kSpaces), left_.size())));
    }

  private:
    static constexpr const char* kSpaces = " \t\r\v\f";

    // Empty, and no longer good, where none is left.
    std::string_view next() {
        left_.remove_prefix(std::min(left_.find_first_not_of(kSpaces), left_.size()));
        const bool ends = left_.empty() || left_.front() == '#';
        const std::string_view word = ends ? std::string_view() : left_.substr(0, left_.find_first_of(kSpaces));
        left_.remove_prefix(word.size());
        good_ = good_ && !ends;
        return word;
    }

    std::string_view left_;
    bool good_ = true;
};

void print_wire(TextWriter& out, const std::string& strategy, const char* way, const WireFigures& wire) {
    const std::string start = "exchange " + strategy + " " + way + " ";
    out << start << "latency_seconds " << wire.latency_seconds << '\n';
    out << start << "seconds_per_byte " << wire.seconds_per_byte << '\n';
    for (const RatePoint& point : wire.curve)
        out << start << "point " << point.message_bytes << ' ' << point.seconds_per_byte << '\n';
}

bool parse_exchange(Words& words, Machine& machine, std::vector<std::string>& seen) {
    std::string strategy, way, what;
    double value = 0;
    if (!(words >> strategy >> way)) return false;
    ExchangeFigures& figures = machine.exchanges[strategy];
    if (std::find(seen.begin(), seen.end(), strategy) == seen.end()) {  // its curves replace those of the base
        seen.push_back(strategy);
        figures = ExchangeFigures();
    }
    if (way == "whole") {
        figures.includes_copies = true;
        return true;
    }
    if ((way != "near" && way != "far") || !(words >> what >> value) || !(value >= 0)) return false;
    WireFigures& wire = way == "near" ? figures.near : figures.far;
    if (what == "latency_seconds") wire.latency_seconds = value;
    if (what == "seconds_per_byte") wire.seconds_per_byte = value;
    double rate = 0;
    if (what == "point") {
        if (!(words >> rate) || !(rate >= 0) || !(value > 0)) return false;
        wire.curve.push_back({value, rate});
        std::stable_sort(wire.curve.begin(), wire.curve.end(),
                         [](const RatePoint& a, const RatePoint& b) { return a.message_bytes < b.message_bytes; });
    }
    return true;
}

// step SORT point BYTES RATIO
bool parse_step(Words& words, Machine& machine, std::vector<std::string>& seen) {
    std::string sort, what;
    SlownessPoint point;
    if (!(words >> sort >> what >> point.bytes >> point.ratio) || what != "point") return false;
    if (!(point.bytes > 0) || !(point.ratio > 0) || !std::isfinite(point.bytes) || !std::isfinite(point.ratio))
        return false;
    std::vector<SlownessPoint>& points = machine.step_slowness[sort];
    if (std::find(seen.begin(), seen.end(), "step " + sort) == seen.end()) {  // it replaces that of the base
        seen.push_back("step " + sort);
        points.clear();
    }
    points.push_back(point);
    std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    return true;
}

bool parse_torus(Words& words, Machine& machine) {
    std::string text;
    if (!(words >> text)) return false;
    auto torus = parse_extents(text, 'x', "torus");
    if (!torus.ok() || !checked_product(torus.value())) return false;
    machine.torus = std::move(torus).value();
    if (*std::min_element(machine.torus.begin(), machine.torus.end()) < 1) return false;
    return true;
}

bool parse_engine(Words& words, Machine& machine) {
    RateRow row;
    std::string precision, shape, kernel, box;
    if (!(words >> row.engine >> precision >> shape >> row.threads >> row.n >> row.gflops) || !(row.gflops > 0))
        return false;
    if (shape == kFormerShape) return true;
    for (Precision p : {Precision::single, Precision::dbl, Precision::extended}) {
        if (precision == precision_name(p)) row.precision = p;
    }
    const auto* const known_shape = std::find(std::begin(kShapes), std::end(kShapes), shape);
    if (known_shape == std::end(kShapes) || precision != precision_name(row.precision)) return false;
    row.shape = static_cast<RateShape>(known_shape - std::begin(kShapes));
    // Files of earlier versions end before the kernel, or before the box.
    if (words >> kernel) {
        const auto* const known = std::find(std::begin(kRateKernels), std::end(kRateKernels), kernel);
        if (known == std::end(kRateKernels) || !(words >> row.batch_points) || !(row.batch_points >= 0)) return false;
        row.kernel = static_cast<RateKernel>(known - std::begin(kRateKernels));
        if (words >> box) {
            auto lengths = parse_extents(box, 'x', "box");
            if (!lengths.ok() || !checked_product(lengths.value())) return false;
            row.box = std::move(lengths).value();
            if (row.box.size() > 3 || *std::min_element(row.box.begin(), row.box.end()) < 1) return false;
        }
    }
    machine.engine_rates.push_back(row);
    return true;
}

bool parse_line(const std::string& line, Machine& machine, std::vector<std::string>& seen) {
    Words words(line);
    std::string name;
    words >> name;
    if (name == "name") {
        machine.name = words.rest();
    } else if (name == "library") {
        machine.library = words.rest();
    } else if (name == "measured") {
        machine.measured = words.rest();
    } else if (name == "exchange") {
        return parse_exchange(words, machine, seen);
    } else if (name == "step") {
        return parse_step(words, machine, seen);
    } else if (name == "torus") {
        return parse_torus(words, machine);
    } else if (name == "engine") {
        return parse_engine(words, machine);
    } else {
        for (const Field& each : fields()) {
            double value = 0;
            if (name != each.name) continue;
            if (!(words >> value) || !(value >= each.least) || value > each.most) return false;
            each.set(machine, value);
        }
    }
    return true;
}

std::string first_word(const std::string& line) {
    std::string name;
    Words(line) >> name;
    return name;
}

bool says_nothing(const std::string& line) { return first_word(line).empty(); }

constexpr const char* kOtherLines = "name, library, measured, exchange, step, engine";

// Of a file with a data sheet: whether the line is known, and who says so.
Status check_known(const std::string& line, DataSheet& sheet) {
    const std::string name = first_word(line);
    std::string known = cat(sheet_line_names(), ", ", kOtherLines);
    for (const Field& each : fields()) {
        known += cat(", ", each.name);
        if (name != each.name) continue;
        const size_t hash = line.find('#');
        if (hash == std::string::npos) return Status();
        sheet.sources[name] = Words(line.substr(hash + 1)).rest();
        return Status();
    }
    for (const char* other : {"name", "library", "measured", "exchange", "step", "engine", "torus"}) {
        if (name == other) return Status();
    }
    return error(Code::corrupt_data, "'", name, "' is no figure of a machine", did_you_mean(name, known),
                 "; a comment begins with '#'");
}

// The lines of the data sheet, and what follows from them for the planner. Nothing if there are none.
Status read_sheet(const std::vector<std::string>& lines, Machine& machine) {
    DataSheet sheet;
    bool found = false;
    const auto at = [&](size_t i, const Status& problem) {
        return problem.ok() ? problem
                            : error(problem.code(), "line ", i + 1, " of the machine file: ", problem.message());
    };
    for (size_t i = 1; i < lines.size(); ++i) {
        if (!is_sheet_line(first_word(lines[i]))) continue;
        found = true;
        SPANFFT_TRY(at(i, read_sheet_line(lines[i], sheet)));
    }
    if (!found) return Status();
    SPANFFT_TRY(check_sheet(sheet));
    for (size_t i = 1; i < lines.size(); ++i) {
        if (is_sheet_line(first_word(lines[i])) || says_nothing(lines[i])) continue;
        SPANFFT_TRY(at(i, check_known(lines[i], sheet)));
    }
    derive_figures(sheet, machine);
    const auto is_engine = [](const std::string& line) { return first_word(line) == "engine"; };
    if (std::any_of(lines.begin(), lines.end(), is_engine)) machine.engine_rates.clear();
    machine.sheet = std::move(sheet);
    return Status();
}

std::string folder() { return user_folder() + "/machines"; }

// A count of points with all its digits: a power of two that was rounded is none, and engines are faster at those.
index_t whole(double points) { return static_cast<index_t>(std::llround(points)); }

}  // namespace

std::string print_machine(const Machine& machine) {
    TextWriter out;
    out.precision(6);
    out << kHeader << "\nname " << machine.name << '\n';
    if (!machine.library.empty()) out << "library " << machine.library << '\n';
    if (!machine.measured.empty()) out << "measured " << machine.measured << '\n';
    out << print_sheet(machine.sheet);
    for (const Field& each : fields()) {
        out << each.name << ' ' << each.get(machine);
        const auto source = machine.sheet.sources.find(each.name);
        if (source != machine.sheet.sources.end() && !source->second.empty()) out << "  # " << source->second;
        out << '\n';
    }
    if (!machine.torus.empty()) out << "torus " << shape_string(machine.torus) << '\n';
    for (const auto& [strategy, figures] : machine.exchanges) {
        print_wire(out, strategy, "near", figures.near);
        print_wire(out, strategy, "far", figures.far);
        if (figures.includes_copies) out << "exchange " << strategy << " whole\n";
    }
    for (const auto& [sort, points] : machine.step_slowness) {
        for (const SlownessPoint& point : points)
            out << "step " << sort << " point " << point.bytes << ' ' << point.ratio << '\n';
    }
    for (const RateRow& row : machine.engine_rates) {
        out << "engine " << row.engine << ' ' << precision_name(row.precision) << ' '
            << kShapes[static_cast<size_t>(row.shape)] << ' ' << row.threads << ' ' << whole(row.n) << ' ' << row.gflops
            << ' ' << kRateKernels[static_cast<size_t>(row.kernel)] << ' ' << whole(row.batch_points);
        if (!row.box.empty()) out << ' ' << shape_string(row.box);
        out << '\n';
    }
    return out.str();
}

Result<Machine> parse_machine(const std::string& text, const Machine& base) {
    TextReader reader(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(reader, line);) lines.push_back(line);
    if (lines.empty() || lines.front() != kHeader) {
        return error(Code::corrupt_data, "a machine file starts with '", kHeader, "', this one with '",
                     lines.empty() ? "" : lines.front(), "'");
    }
    Machine machine = base;
    machine.sheet = DataSheet();
    SPANFFT_TRY(read_sheet(lines, machine));
    std::vector<std::string> seen;
    for (size_t i = 1; i < lines.size(); ++i) {
        if (!parse_line(lines[i], machine, seen))
            return error(
                Code::corrupt_data, "line ", i + 1, " of the machine file, '", lines[i],
                "', can't be read: a figure there is missing, negative, not finite, or 0 where it is divided by");
    }
    return machine;
}

std::string stored_machine_text(const std::string& library, int ranks) {
    // Kept for as long as the folder does not change, for planning asks each time.
    struct Kept {
        std::string text;
        Machine machine;
    };
    static std::mutex mutex;
    static uint64_t stamp = 0;
    static std::string read_folder;
    static std::vector<Kept> kept;
    const std::lock_guard lock(mutex);
    const std::string here = folder();
    const uint64_t now = file_stamp(here);
    if (now != stamp || here != read_folder) {
        kept.clear();
        std::error_code problem;
        for (const auto& entry : std::filesystem::directory_iterator(here, problem)) {
            if (entry.path().extension() != ".txt") continue;
            const auto text = read_text(entry.path().string());
            if (!text.ok()) continue;
            auto machine = parse_machine(text.value(), Machine());
            if (machine.ok()) kept.push_back({text.value(), std::move(machine).value()});
        }
        stamp = now;
        read_folder = here;
    }
    const std::string mine = machine_identity();
    const auto distance = [&](const Kept& k) {
        return std::abs(std::log2(static_cast<double>(std::max(k.machine.measured_ranks, 1)) / ranks));
    };
    const Kept* best = nullptr;
    for (const Kept& k : kept) {
        if (k.machine.name != mine || (!library.empty() && k.machine.library != library && ranks > 1)) continue;
        if (ranks > 1 && k.machine.measured_ranks < 2) continue;  // knows nothing of exchanges
        const bool nearer = best && distance(k) < distance(*best);
        const bool newer = best && distance(k) == distance(*best) && k.machine.measured > best->machine.measured;
        if (!best || nearer || newer) best = &k;
    }
    return best ? best->text : "";
}

Status store_machine(const Machine& machine, int ranks, int nodes) {
    if (user_folder().empty())
        return error(Code::io_error, "there is no folder for the figures; set SPANFFT_HOME (or HOME)");
    TextWriter name;
    name << std::hex << hash_text(cat(machine.name, "|", machine.library, "|", ranks, "|", nodes));
    return write_text(cat(folder(), "/", name.str(), ".txt"), print_machine(machine));
}

}  // namespace spanfft
