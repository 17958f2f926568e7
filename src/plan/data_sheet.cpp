// Data sheets to and from text, and the planner's figures that follow; see data_sheet.hpp.
#include "plan/data_sheet.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/limits.hpp"
#include "engine/rates.hpp"
#include "plan/machine.hpp"
#include "plan/problem_keys.hpp"

namespace spanfft {

namespace {

// A line that holds one number: `value` in the data sheet's unit is value * scale inside.
struct SheetFigure {
    const char* name;
    double DataSheet::* member;
    double scale;
    double least, most;  // as written
    bool needed = false;
};

// The ranges exclude slips of a unit (bytes for GB, seconds for microseconds), not machines.
constexpr SheetFigure kSheetFigures[] = {
    {"nodes", &DataSheet::nodes, 1, 1, 1e7, true},
    {"sockets_per_node", &DataSheet::sockets_per_node, 1, 1, 1024},
    {"cores_per_node", &DataSheet::cores_per_node, 1, 1, 4096, true},
    {"core_fft_gflops", &DataSheet::core_fft_flops_per_second, 1e9, 1e-4, 1e5, true},
    {"node_memory_gb", &DataSheet::node_memory_bytes, 1e9, 1e-3, 1e6},
    {"node_memory_gb_per_second", &DataSheet::node_memory_bytes_per_second, 1e9, 1e-3, 1e5, true},
    {"link_gb_per_second", &DataSheet::link_bytes_per_second, 1e9, 1e-4, 1e4, true},
    {"injection_gb_per_second", &DataSheet::injection_bytes_per_second, 1e9, 1e-4, 1e5},
    {"switch_gb_per_second", &DataSheet::switch_bytes_per_second, 1e9, 1e-3, 1e6},
    {"latency_us", &DataSheet::latency_seconds, 1e-6, 1e-2, 1e5, true},
    {"message_us", &DataSheet::message_seconds, 1e-6, 0, 1e5},
    {"buffered_bytes", &DataSheet::buffered_bytes, 1, 0, 1e12},
    {"collective_messages", &DataSheet::collective_messages, 1, 1, 1e9},
    {"message_rate_millions", &DataSheet::node_messages_per_second, 1e6, 1e-4, 1e5},
    {"barrier_us", &DataSheet::barrier_seconds, 1e-6, 0, 1e6},
    {"packet_payload_bytes", &DataSheet::packet_payload_bytes, 1, 1, 1e6},
    {"packet_overhead_bytes", &DataSheet::packet_overhead_bytes, 1, 0, 1e4},
    {"alltoall_share", &DataSheet::alltoall_share, 1, 0.01, 1},
    {"phased_share", &DataSheet::phased_share, 1, 0.01, 1},
    {"disks_per_node", &DataSheet::disks_per_node, 1, 0, 1e4},
    {"disk_mb_per_second", &DataSheet::disk_bytes_per_second, 1e6, 1e-2, 1e6},
    {"disk_request_ms", &DataSheet::disk_request_seconds, 1e-3, 0, 1e4},
};

constexpr const char* kNetworks =
    "'torus 64x32x32', 'fat_tree NODES_OF_A_LEAF TAPER', "
    "'dragonfly NODES_OF_A_GROUP GB_PER_SECOND_OF_A_GROUP' or 'switch'";
constexpr const char* kFits = "'communication|computation POINTS_AN_AXIS A0 A1 A2 LEAST_NP MOST_NP', times in ms";

// Of which nothing follows.
bool at_end(TextReader& words) {
    std::string more;
    return !(words >> more);
}

Status not_a_network(const std::string& text) {
    return error(Code::corrupt_data, "'", text, "' is no network; write ", kNetworks);
}

Status read_network(const std::string& text, DataSheet& sheet) {
    TextReader words(text);
    std::string kind;
    words >> kind;
    if (kind == "switch") {
        sheet.network = NetworkKind::one_switch;
    } else if (kind == "torus") {
        std::string extents;
        words >> extents;
        auto torus = parse_extents(extents, 'x', "torus");
        if (!torus.ok() || !checked_product(torus.value()) || torus.value().size() > 6 ||
            *std::min_element(torus.value().begin(), torus.value().end()) < 1)
            return not_a_network(text);
        sheet.network = NetworkKind::torus;
        sheet.torus = std::move(torus).value();
    } else if (kind == "fat_tree") {
        sheet.network = NetworkKind::fat_tree;
        if (!(words >> sheet.leaf_nodes >> sheet.taper) || !(sheet.leaf_nodes >= 1 && sheet.leaf_nodes <= 1e7) ||
            !(sheet.taper >= 1 && sheet.taper <= 1e3))
            return not_a_network(text);
    } else if (kind == "dragonfly") {
        double gb = 0;
        if (!(words >> sheet.group_nodes >> gb) || !(sheet.group_nodes >= 1 && sheet.group_nodes <= 1e7) ||
            !(gb >= 1e-3 && gb <= 1e6))
            return not_a_network(text);
        sheet.network = NetworkKind::dragonfly;
        sheet.group_bytes_per_second = gb * 1e9;
    } else {
        return not_a_network(text);
    }
    return at_end(words) ? Status() : not_a_network(text);
}

Status read_fit(const std::string& text, DataSheet& sheet) {
    TextReader words(text);
    PublishedFit fit;
    double extent = 0, least = 0, most = 0;
    const bool read(words >> fit.part >> extent >> fit.a0_seconds >> fit.a1_seconds >> fit.a2 >> least >> most);
    const bool named = fit.part == "communication" || fit.part == "computation";
    const bool sized = extent >= 1 && extent <= 1e5 && least >= 1 && most >= least && most <= 1e9;
    const bool finite = std::isfinite(fit.a0_seconds) && std::isfinite(fit.a1_seconds) && std::isfinite(fit.a2);
    if (!read || !named || !sized || !finite || !at_end(words))
        return error(Code::corrupt_data, "'", text, "' is no fit; write ", kFits);
    fit.a0_seconds *= 1e-3;
    fit.a1_seconds *= 1e-3;
    fit.extent = static_cast<index_t>(extent);
    fit.least_ranks = static_cast<int>(least);
    fit.most_ranks = static_cast<int>(most);
    for (int ranks : {fit.least_ranks, fit.most_ranks}) {
        if (!(fit.a2 + ranks > 0) || !(fit.seconds(ranks) >= 0))
            return error(Code::corrupt_data, "the fit '", text, "' is ", fit.seconds(ranks), " s at ", ranks,
                         " processors; name a range of processors in which it is a time, 0 or more");
    }
    sheet.fits.push_back(std::move(fit));
    return Status();
}

// "1 pairs": a figure, and the word behind it that says in which order partners are met.
constexpr const char* kPairs = " pairs";

std::string without_pairs(const std::string& text, DataSheet& sheet) {
    const size_t word = std::string(kPairs).size();
    if (text.size() <= word || text.substr(text.size() - word) != kPairs) return text;
    sheet.collective_pairs = true;
    return text.substr(0, text.size() - word);
}

Status read_figure(const SheetFigure& figure, const std::string& text, DataSheet& sheet) {
    TextReader words(text);
    double value = 0;
    if (!(words >> value) || !at_end(words) || !(value >= figure.least && value <= figure.most))
        return error(Code::corrupt_data, figure.name, " is '", text, "'; give one number from ", figure.least, " to ",
                     figure.most, " (and its source behind a '#')");
    sheet.*(figure.member) = value * figure.scale;
    return Status();
}

std::string trimmed(const std::string& text) {
    const size_t first = text.find_first_not_of(" \t\r");
    if (first == std::string::npos) return "";
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string network_text(const DataSheet& sheet) {
    switch (sheet.network) {
        case NetworkKind::torus:
            return cat("torus ", shape_string(sheet.torus));
        case NetworkKind::fat_tree:
            return cat("fat_tree ", sheet.leaf_nodes, " ", sheet.taper);
        case NetworkKind::dragonfly:
            return cat("dragonfly ", sheet.group_nodes, " ", sheet.group_bytes_per_second / 1e9);
        case NetworkKind::one_switch:
            break;
    }
    return "switch";
}

}  // namespace

double DataSheet::injection() const {
    if (injection_bytes_per_second > 0) return injection_bytes_per_second;
    double links = 1;
    if (network == NetworkKind::torus) {
        links = 0;
        for (const index_t extent : torus) links += extent > 2 ? 2 : extent > 1 ? 1 : 0;
    }
    return std::max(links, 1.0) * link_bytes_per_second;
}

bool is_sheet_line(const std::string& name) {
    return name == "network" || name == "fit" ||
           std::any_of(std::begin(kSheetFigures), std::end(kSheetFigures),
                       [&](const SheetFigure& figure) { return name == figure.name; });
}

std::string sheet_line_names() {
    std::string names = "network, fit";
    for (const SheetFigure& figure : kSheetFigures) names += cat(", ", figure.name);
    return names;
}

Status read_sheet_line(const std::string& line, DataSheet& sheet) {
    const size_t hash = line.find('#');
    const std::string told = trimmed(line.substr(0, hash));
    const size_t space = told.find_first_of(" \t");
    const std::string name = told.substr(0, space);
    const std::string value = space == std::string::npos ? "" : trimmed(told.substr(space));
    if (name != "fit" && sheet.sources.count(name))
        return error(Code::corrupt_data, name, " is told twice; leave one of the lines out");
    std::string& source = sheet.sources[name];
    if (hash != std::string::npos) source = trimmed(line.substr(hash + 1));
    if (name == "network") return read_network(value, sheet);
    if (name == "fit") return read_fit(value, sheet);
    for (const SheetFigure& figure : kSheetFigures) {
        if (name != figure.name) continue;
        const bool ordered = figure.member == &DataSheet::collective_messages;
        return read_figure(figure, ordered ? without_pairs(value, sheet) : value, sheet);
    }
    return error(Code::internal, name, " is no line of a data sheet");
}

Status check_sheet(const DataSheet& sheet) {
    std::string missing;
    for (const SheetFigure& figure : kSheetFigures) {
        if (figure.needed && !sheet.sources.count(figure.name))
            missing += cat(missing.empty() ? "" : ", ", figure.name);
    }
    if (!sheet.sources.count("network")) missing += cat(missing.empty() ? "" : ", ", "network");
    if (!missing.empty())
        return error(Code::corrupt_data, "the data sheet lacks ", missing,
                     "; give each a line (docs/foresight.md says what it means)");
    for (const double counted : {sheet.nodes, sheet.sockets_per_node, sheet.cores_per_node}) {
        if (counted != std::floor(counted))
            return error(Code::corrupt_data, counted, " nodes, sockets or cores are told; give a whole number");
    }
    if (sheet.collective_messages != std::floor(sheet.collective_messages))
        return error(Code::corrupt_data, "collective_messages is ", sheet.collective_messages,
                     "; give a whole number of messages");
    if (sheet.network == NetworkKind::torus && static_cast<double>(product(sheet.torus)) < sheet.nodes)
        return error(Code::corrupt_data, "torus ", shape_string(sheet.torus), " has ", product(sheet.torus),
                     " places for ", sheet.nodes, " nodes; make nodes or the torus fit");
    if (sheet.packet_overhead_bytes > 0 && sheet.packet_payload_bytes <= 0)
        return error(Code::corrupt_data, "packet_overhead_bytes is told and packet_payload_bytes is not; give both");
    if (sheet.disks_per_node > 0 && sheet.disk_bytes_per_second <= 0)
        return error(Code::corrupt_data, "disks_per_node is told and disk_mb_per_second is not; give both");
    return Status();
}

std::string print_sheet(const DataSheet& sheet) {
    if (!sheet.given()) return "";
    TextWriter out;
    out.precision(15);
    const auto source_of = [&](const char* name) {
        const auto found = sheet.sources.find(name);
        return found == sheet.sources.end() || found->second.empty() ? "" : "  # " + found->second;
    };
    for (const SheetFigure& figure : kSheetFigures) {
        if (!sheet.sources.count(figure.name)) continue;
        out << figure.name << ' ' << sheet.*(figure.member) / figure.scale;
        if (figure.member == &DataSheet::collective_messages && sheet.collective_pairs) out << kPairs;
        out << source_of(figure.name) << '\n';
    }
    out << "network " << network_text(sheet) << source_of("network") << '\n';
    for (const PublishedFit& fit : sheet.fits) {
        out << "fit " << fit.part << ' ' << fit.extent << ' ' << fit.a0_seconds * 1e3 << ' ' << fit.a1_seconds * 1e3
            << ' ' << fit.a2 << ' ' << fit.least_ranks << ' ' << fit.most_ranks << source_of("fit") << '\n';
    }
    return out.str();
}

void derive_figures(const DataSheet& sheet, Machine& machine) {
    const double cores = sheet.cores_per_node;
    machine.cores = static_cast<int>(std::min(cores, static_cast<double>(kMostThreads)));
    machine.topology.ranks_per_node = static_cast<int>(cores);
    // The planner counts a copied byte once, a data sheet's bandwidth its reading and its writing.
    machine.memory_bytes_per_second = std::max(1.0, sheet.node_memory_bytes_per_second / 2);
    machine.shared_memory_bytes_per_second = std::max(1.0, sheet.node_memory_bytes_per_second / 2 / cores);
    machine.tile_bytes_per_second = machine.twiddle_seconds = 0;  // a data sheet has no such figures
    machine.step_slowness.clear();
    machine.torus = sheet.network == NetworkKind::torus ? sheet.torus : Extents{};
    const WireFigures far{sheet.latency_seconds, cores / sheet.injection(), {}};
    const WireFigures near{std::min(sheet.latency_seconds, 1e-6), 1 / machine.shared_memory_bytes_per_second, {}};
    machine.exchanges = {{"alltoallv", {near, far, false}}};
    machine.engine_rates.clear();
    std::set<std::string> engines;
    for (const RateRow& row : prior_rates()) engines.insert(row.engine);
    for (const std::string& engine : engines) {
        for (RateShape shape : {RateShape::line, RateShape::strided, RateShape::several})
            machine.engine_rates.push_back(
                {engine, Precision::dbl, shape, 1, 1024, sheet.core_fft_flops_per_second / 1e9});
    }
    if (sheet.disks_per_node > 0) {
        const double bandwidth = std::max(1.0, sheet.disks_per_node * sheet.disk_bytes_per_second);
        machine.disk_read_bytes_per_second = machine.disk_write_bytes_per_second = bandwidth;
        machine.disk_request_seconds = sheet.disk_request_seconds;
        // A disk serves one request at a time.
        machine.disk_queue_depth = std::max(1, static_cast<int>(sheet.disks_per_node));
    }
}

}  // namespace spanfft
