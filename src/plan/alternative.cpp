// Naming alternatives and their reasons; see alternative.hpp.
#include "plan/alternative.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "plan/plan.hpp"

namespace spanfft {

namespace {

std::string digits(double value, int significant) {
    const int before = value > 0 ? static_cast<int>(std::floor(std::log10(value))) + 1 : 1;
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", std::clamp(significant - before, 0, 6), value);
    return text;
}

}  // namespace

std::string milliseconds_text(double seconds) { return digits(seconds * 1e3, 3) + " ms"; }

std::string Alternative::name_beside(const Alternative& other) const {
    std::string name = grid.empty() ? "" : "grid " + shape_string(grid);
    if (!exchange.empty()) name += (name.empty() ? "" : " with ") + exchange;
    if (solver != other.solver || name.empty()) name += (name.empty() ? "solver " : " by solver ") + solver;
    return name;
}

Problem Alternative::apply(Problem problem) const {
    problem.grid = grid;
    problem.exchange = exchange;
    return problem;
}

namespace {

// The exchange that a step is, or has inside beside a transform (TransformExchange); nullptr: none.
const Step* exchange_in(const Step& step) {
    if (std::string(step.type()) == "Exchange") return &step;
    for (const Step* child : step.children()) {
        if (std::string(child->type()) == "Exchange") return child;
    }
    return nullptr;
}

double seconds_beside(const Step& step, const Step& exchange) {
    double seconds = 0;
    for (const Step* child : step.children()) {
        if (child != &exchange) seconds += child->predict(0).seconds;
    }
    return seconds;
}

}  // namespace

Alternative alternative_of(const Plan& plan, const Machine& machine) {
    Alternative a;
    a.solver = plan.solver;
    a.grid = plan.problem.grid;
    a.exchange = plan.problem.exchange;
    a.sweeps = plan.sweeps;
    const bool even = plan.input.layout.has_grid() && plan.output.layout.has_grid();  // then rank 0 is the slowest
    const ExchangeFigures figures = machine.exchange(a.exchange.substr(0, a.exchange.find(':')));
    for (const auto& step : plan.steps) {
        const Counts counts = step->predict(0);
        a.seconds += counts.seconds;
        if (counts.disk_reads + counts.disk_writes > 0) {
            a.disk_seconds += counts.seconds;
            a.disk_bytes += counts.disk_read_bytes + counts.disk_written_bytes;
            a.disk_requests += counts.disk_reads + counts.disk_writes;
            continue;
        }
        const Step* exchange = exchange_in(*step);
        if (!exchange) {
            a.local_seconds += counts.seconds;
            continue;
        }
        // Where the two go on at once, it is the exchange that is hidden, copies last.
        const Counts moved = exchange->predict(0);
        const double local = std::min(seconds_beside(*step, *exchange), counts.seconds),
                     visible = counts.seconds - local;
        const double copies = figures.includes_copies
                                  ? 0
                                  : std::min(visible, static_cast<double>(moved.memory_bytes) / 2 /
                                                          machine.copy_bytes_per_second(plan.problem.ranks));
        a.local_seconds += local;
        a.copy_seconds += copies;
        a.wire_seconds += visible - copies;
        a.messages += moved.messages;
        ++a.exchanges;
    }
    if (!even) a.seconds = plan.predicted_seconds();
    return a;
}

std::vector<std::string> runners_up(const std::vector<Alternative>& ranked) {
    constexpr size_t kNoted = 4;
    const auto family = [](const Alternative& a) {
        return cat(a.solver, " ", shape_string(a.grid), " ", a.exchange.substr(0, a.exchange.find(':')));
    };
    std::vector<std::string> notes, seen;
    for (const Alternative& a : ranked) {
        if (notes.size() == kNoted) break;
        if (std::find(seen.begin(), seen.end(), family(a)) != seen.end()) continue;
        seen.push_back(family(a));
        if (seen.size() > 1) notes.push_back("not chosen: " + why_lost(a, ranked[0]));
    }
    return notes;
}

std::string why_lost(const Alternative& loser, const Alternative& winner) {
    std::string text = cat(loser.name_beside(winner), ": ", milliseconds_text(loser.seconds), " predicted, ",
                           digits(loser.seconds / std::max(winner.seconds, 1e-12), 3), "x: ");
    if (loser.seconds <= winner.seconds * 1.001) return text + "as good, and later in the list";
    // The part that costs most more, and what is behind it.
    const auto times = [](index_t more, index_t less) {
        return digits(static_cast<double>(more) / static_cast<double>(less), 2);
    };
    std::string disk = "more time on the disk";
    if (winner.disk_bytes > 0 && loser.disk_bytes > winner.disk_bytes + winner.disk_bytes / 20) {
        disk = cat(loser.sweeps, loser.sweeps == 1 ? " sweep" : " sweeps", " instead of ", winner.sweeps, ", ",
                   times(loser.disk_bytes, winner.disk_bytes), "x the bytes");
    } else if (winner.disk_requests > 0 && loser.disk_requests > winner.disk_requests) {
        disk = cat(times(loser.disk_requests, winner.disk_requests), "x the requests, as its runs are shorter");
    }
    struct Excess {
        double seconds;
        std::string reason;
    };
    std::string wire = "slower messages";
    if (loser.exchanges > winner.exchanges) {
        const int more = loser.exchanges - winner.exchanges;
        wire = more == 1 ? "one more exchange" : cat(more, " more exchanges");
    } else if (loser.messages > winner.messages) {
        wire = cat(loser.messages, " messages instead of ", winner.messages);
    }
    const Excess parts[] = {{loser.wire_seconds - winner.wire_seconds, wire},
                            {loser.copy_seconds - winner.copy_seconds, "more copying through memory"},
                            {loser.local_seconds - winner.local_seconds, "slower local transforms"},
                            {loser.disk_seconds - winner.disk_seconds, disk}};
    const Excess& most = *std::max_element(std::begin(parts), std::end(parts),
                                           [](const Excess& a, const Excess& b) { return a.seconds < b.seconds; });
    return text + most.reason + " (+" + milliseconds_text(most.seconds) + ")";
}

}  // namespace spanfft
