// A plan in words; see explain.hpp.
#include "exec/explain.hpp"

#include <algorithm>
#include <iomanip>

namespace spanfft {

namespace {

void add_lines(std::vector<PlanLine>& lines, const Step* step, int depth, int index) {
    lines.push_back({depth, step, index});
    for (const Step* child : step->children()) add_lines(lines, child, depth + 1, -1);
}

// Group digits by three: 16777216 -> "16 777 216".
std::string digits(index_t n) {
    std::string text = std::to_string(n);
    for (auto i = static_cast<std::ptrdiff_t>(text.size()) - 3; i > 0; i -= 3) text.insert(static_cast<size_t>(i), " ");
    return text;
}

std::string fixed(double value, int decimals) {
    TextWriter out;
    out << std::fixed << std::setprecision(decimals) << value;
    return out.str();
}

// "each byte read and written 2 times", or the bytes where sweeps move more or less than the array.
std::string traffic(const Plan& plan) {
    const Counts counts = plan.predict(0);
    const Problem& p = plan.problem;
    const auto bytes_of = [](const Extents& shape, const ArrayState& array) {
        return static_cast<double>(product(shape)) * static_cast<double>(array.elem_bytes());
    };
    const double once = std::max(bytes_of(p.input_shape(), plan.input), bytes_of(p.output_shape(), plan.output));
    const double ratio = static_cast<double>(counts.disk_read_bytes) / (once * plan.sweeps);
    if (plan.sweeps > 1 && (ratio < 0.9 || ratio > 1.1)) {
        return "reads " + bytes_string(static_cast<double>(counts.disk_read_bytes)) + ", writes " +
               bytes_string(static_cast<double>(counts.disk_written_bytes));
    }
    return "each byte read and written " +
           (plan.sweeps == 1 ? std::string("once") : std::to_string(plan.sweeps) + " times");
}

std::string describe_array(const ArrayState& array) {
    if (array.record_bytes > 0) return cat(array.layout.describe(), " records of ", array.record_bytes, " bytes");
    return cat(array.layout.describe(), array.elem.complex ? " complex " : " real ",
               precision_name(array.elem.precision));
}

std::string milliseconds(double seconds) { return fixed(seconds * 1e3, seconds < 0.1 ? 2 : 0) + " ms"; }

struct Row {
    std::string what, predicted, counted;
};

// The share of a time that its limit takes alone; more where a cache held what the limit counts as memory's.
std::string share(double limit_seconds, double seconds) {
    return seconds > 0 ? fixed(100 * limit_seconds / seconds, 0) + " %" : "";
}

// The quantities that are not zero on either side.
std::vector<Row> rows(const Counts& predicted, const Counts* counted) {
    std::vector<Row> table;
    const auto count = [&](const char* what, index_t a, index_t b) {
        if (a || (counted && b)) table.push_back({what, digits(a), counted ? digits(b) : ""});
    };
    const Counts none;
    const Counts& c = counted ? *counted : none;
    if (predicted.flops > 0 || c.flops > 0) {
        table.push_back({"Mflop", fixed(predicted.flops / 1e6, 3), counted ? fixed(c.flops / 1e6, 3) : ""});
    }
    count("bytes through memory", predicted.memory_bytes, c.memory_bytes);
    count("messages to other ranks", predicted.messages, c.messages);
    count("bytes to other ranks", predicted.sent_bytes, c.sent_bytes);
    count("bytes read from disk", predicted.disk_read_bytes, c.disk_read_bytes);
    count("bytes written to disk", predicted.disk_written_bytes, c.disk_written_bytes);
    count("read requests", predicted.disk_reads, c.disk_reads);
    count("write requests", predicted.disk_writes, c.disk_writes);
    count("parallel I/Os", predicted.parallel_ios, c.parallel_ios);
    table.push_back({"time", milliseconds(predicted.seconds), counted ? milliseconds(c.seconds) : ""});
    return table;
}

void print_rows(TextWriter& out, const std::vector<Row>& table, const std::string& indent) {
    for (const auto& row : table) {
        out << indent << std::left << std::setw(26) << row.what << std::right << std::setw(20) << row.predicted;
        if (!row.counted.empty()) out << std::setw(20) << row.counted;
        out << '\n';
    }
}

}  // namespace

std::vector<PlanLine> plan_lines(const Plan& plan) {
    std::vector<PlanLine> lines;
    for (size_t i = 0; i < plan.steps.size(); ++i) add_lines(lines, plan.steps[i].get(), 0, static_cast<int>(i));
    return lines;
}

std::string explain(const Plan& plan, int rank, const std::optional<std::vector<Counts>>& counted,
                    const std::string& io, const std::vector<std::string>& run_notes) {
    TextWriter out;
    out << "problem  " << plan.task() << '\n';
    out << "solver   " << plan.solver << '\n';
    out << "input    " << describe_array(plan.input);
    if (plan.problem.loads_other()) out << ", converted from " << plan.problem.load->print() << " as it is read";
    out << '\n';
    out << "output   " << describe_array(plan.output) << '\n';
    out << "memory   " << bytes_string(static_cast<double>(plan.peak_memory_bytes(rank))) << " on rank " << rank
        << '\n';
    if (plan.sweeps) {
        out << "disk     " << plan.sweeps << (plan.sweeps == 1 ? " sweep" : " sweeps") << " (" << traffic(plan)
            << "), scratch " << bytes_string(static_cast<double>(plan.intermediate_bytes())) << '\n';
    }
    if (!io.empty()) out << "io       " << io << '\n';
    out << '\n'
        << std::left << std::setw(30)
        << (plan.problem.ranks > 1 ? cat("rank ", rank, " of ", plan.problem.ranks) : std::string()) << std::right
        << std::setw(20) << "predicted" << std::setw(counted ? 20 : 0) << (counted ? "counted" : "") << '\n';
    for (const PlanLine& line : plan_lines(plan)) {
        out << std::string(static_cast<size_t>(2 * line.depth), ' ') << line.step->type() << "  "
            << line.step->describe() << '\n';
        if (line.index < 0) continue;
        const Counts* c = counted ? &(*counted)[static_cast<size_t>(line.index)] : nullptr;
        const Counts predicted = line.step->predict(rank);
        auto table = rows(predicted, c);
        if (const StepLimit limit = limit_of(predicted, plan.peaks); limit.seconds > 0)
            table.push_back({cat("of the limit, ", limit.name), share(limit.seconds, predicted.seconds),
                             c ? share(limit.seconds, c->seconds) : ""});
        print_rows(out, table, "    ");
    }
    Counts total;
    if (counted) {
        for (const Counts& c : *counted) total += c;
    }
    out << "total\n";
    print_rows(out, rows(plan.predict(rank), counted ? &total : nullptr), "    ");
    for (const auto* notes : {&plan.notes, &run_notes})
        for (const auto& note : *notes) out << "note  " << note << '\n';
    return out.str();
}

}  // namespace spanfft
