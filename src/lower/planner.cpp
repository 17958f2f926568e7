// Asks every solver and keeps the cheapest plan; see planner.hpp.
#include "plan/planner.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "core/nearest.hpp"
#include "engine/engine.hpp"
#include "engine/trust.hpp"
#include "exchange/exchange.hpp"
#include "plan/renamed_methods.hpp"
#include "sweeps/staging.hpp"
#include "sweeps/sweep_run.hpp"

namespace spanfft {

namespace {

Status check_method(const std::string& method) {
    if (method.empty()) return {};
    const size_t colon = method.find(':');
    const std::string name = method.substr(0, colon);
    std::string known;
    for (const Solver& solver : solver_table()) {
        if (name == solver.name) {
            if (colon == std::string::npos || solver.takes_options) return {};
            return error(Code::invalid_argument, "method '", method, "' has options, which ", name,
                         " does not take; write method=", name);
        }
        known += (known.empty() ? "" : ", ") + std::string(solver.name);
    }
    if (const std::string now = name_now(name); !now.empty()) {
        return error(Code::invalid_argument, "method '", name, "' is called ", now, " now; write method=", now);
    }
    return error(Code::invalid_argument, "method '", method, "' is not known; use one of ", known,
                 did_you_mean(name, known));
}

// One process exchanges nothing, so no solver looks at the parameters there.
Status check_exchange(const Problem& problem) {
    if (problem.exchange.empty()) return {};
    for (const std::string& name : split_exchanges(problem.exchange)) {
        const ExchangeChoice choice = find_exchange(name);
        if (!choice.strategy) {
            return error(Code::invalid_argument, "exchange '", name, "' is not known; use one of ", exchange_names(),
                         did_you_mean(name, exchange_names()));
        }
        if (problem.ranks > 1 || choice.parameter.empty()) continue;
        ExchangeSpec spec{Layout(problem.shape, {}), Layout(problem.shape, {}), 0, problem.precision, choice.parameter};
        const Status status = choice.strategy->check(spec);
        if (status.code() == Code::invalid_argument)
            return error(Code::invalid_argument, "exchange ", name, ": ", status.message());
    }
    return {};
}

}  // namespace

// Sums come out of what solvers leave as a reserve (disk_reserve_bytes), or are done without: panels so small that
// their sums don't fit are those of the very smallest budgets.
void note_journal(Plan& plan) {
    const PlannedSweeps layout = examine_sweeps(plan);
    const index_t room = plan.problem.memory_bytes - callback_bytes(plan.problem) - plan.peak_memory_bytes(0);
    if (layout.unsummed) {
        const bool none = layout.memory_bytes == 0;
        plan.notes.push_back(
            cat("no checksums between ", none ? "" : "some ", "sweeps: ranks read what others have written"));
    }
    if (layout.memory_bytes == 0 || layout.memory_bytes <= room) {
        plan.checksum_bytes = layout.memory_bytes;
    } else {
        plan.notes.push_back(
            cat("no checksums: they need ", layout.memory_bytes - room, " bytes more than memory has"));
    }
    if (!layout.why_not.empty()) {
        plan.notes.push_back(cat("no journal, so a run that is killed begins anew: ", layout.why_not));
        return;
    }
    const index_t extra = layout.output_extra_bytes + layout.scratch_extra_bytes;
    plan.notes.push_back(cat("can be journalled, to go on after a kill",
                             plan.permutes() ? "; " : " (with callbacks, if they have a name); ",
                             extra > 0 ? cat("the disk needs ", bytes_string(static_cast<double>(extra)),
                                             " more meanwhile, as a sweep works in place")
                                       : std::string("the disk needs no more for it")));
}

// A solver's plan, with the sweeps that chunked arrays need before and after it.
Result<std::unique_ptr<Plan>> Planner::ask(const Solver& solver, const Problem& problem) const {
    const index_t callers = callback_bytes(problem);
    if (callers == 0) return solver.solve(problem, *this);
    Problem rest = problem;
    rest.memory_bytes -= callers;
    if (rest.memory_bytes <= 0) return error(Code::out_of_memory, chunks_too_large(problem));
    SPANFFT_ASSIGN(auto plan, solver.solve(rest, *this));
    plan->problem.memory_bytes = problem.memory_bytes;
    SPANFFT_TRY(stage_chunks(*plan, machine_));
    return plan;
}

// Whether any solver answers that may be taken.
bool Planner::possible(const Problem& problem) const {
    const std::string method = problem.method.substr(0, problem.method.find(':'));
    for (const Solver& solver : solver_table()) {
        if (!method.empty() && method != solver.name) continue;
        if (solver.layout != problem.layout || (solver.concerns && !solver.concerns(problem))) continue;
        if (ask(solver, problem).ok()) return true;
    }
    return false;
}

// The refusal and, where some solver only lacks memory, the budget from which on one answers, to the byte.
Status Planner::with_smallest_memory(const Problem& problem, const Status& refusal) const {
    if (refusal.code() != Code::out_of_memory || problem.memory_bytes == 0) return refusal;
    Problem tried = problem;
    Planner planner = *this;
    planner.searches_ = true;
    const auto works = [&](index_t bytes) {
        tried.memory_bytes = bytes;
        return planner.possible(tried);
    };
    const index_t most = std::max(checked_mul(product(problem.shape), 64).value_or(INT64_MAX / 4), index_t{1} << 20) +
                         2 * callback_bytes(problem);
    index_t low = problem.memory_bytes, high = 2 * low;
    while (high < most && !works(high)) low = high, high *= 2;
    if (high >= most && !works(high)) return refusal;
    const auto narrow = [&] {
        while (high - low > 1) {
            const index_t middle = low + (high - low) / 2;
            (works(middle) ? high : low) = middle;
        }
    };
    narrow();
    // The first plan that is found may leave less room for chunks beside it than the one that would be chosen.
    planner.searches_ = false;
    if (high - 1 > problem.memory_bytes && callback_bytes(problem) > 0 && works(high - 1)) {
        low = problem.memory_bytes, high -= 1;
        narrow();
    }
    return error(refusal.code(), refusal.message(), "; the smallest memory= that any solver can do with is ",
                 bytes_string(static_cast<double>(high)), " (", high, " bytes)");
}

Result<std::unique_ptr<Plan>> Planner::plan(const Problem& problem) const {
    SPANFFT_TRY(problem.check());
    // A child's plan is made under its parent's budget.
    std::optional<CheckAllowance> allowance;
    if (problem.memory_bytes > 0) allowance.emplace(problem.memory_bytes);
    if (problem.memory_bytes > 0 && problem.output == SpectrumOrder::exchanged && !problem.forward()) {
        return error(Code::invalid_argument,
                     "output=exchanged leaves the spectrum in a file as it comes out of a forward transform; backward "
                     "reads natural order only, so make the spectrum with output=natural");
    }
    if (problem.memory_bytes > 0 && problem.batch > 1) return plan(problem.as_one_array());
    if (!problem.engine.empty() && !find_engine(problem.engine)) {
        const std::string absence = engine_absence(problem.engine);
        return error(Code::engine_error, "engine '", problem.engine, "' was not found on this machine",
                     absence.empty() ? "" : " (" + absence + ")", "; found: ", engine_names(),
                     did_you_mean(problem.engine, engine_names()));
    }
    SPANFFT_TRY(check_exchange(problem));
    SPANFFT_TRY(check_method(problem.method));
    const std::string method = problem.method.substr(0, problem.method.find(':'));
    std::unique_ptr<Plan> best;
    double best_seconds = 0;
    std::vector<std::string> declined;
    std::vector<Alternative> alternatives;
    Status refusal;
    const auto consider = [&](const Solver& solver) {
        if (!method.empty() && method != solver.name) return;
        if (solver.layout != problem.layout || (solver.concerns && !solver.concerns(problem))) {
            if (!method.empty()) declined.push_back(method + " is for problems of another sort; leave method= out");
            return;
        }
        if (problem.pads() && !solver.pads) {
            if (!method.empty()) declined.push_back(method + " keeps all modes; leave method= out, or kept=");
            return;
        }
        auto answer = ask(solver, problem);
        if (!answer.ok()) {
            if (answer.status().code() != Code::unsupported && refusal.ok()) refusal = answer.status();
            const std::string reason = answer.status().message();  // solvers that ask one another say the same
            if (std::find(declined.begin(), declined.end(), reason) == declined.end()) declined.push_back(reason);
            return;
        }
        auto plan = std::move(answer).value();
        if (const index_t beyond = most_bytes_ > 0 ? plan->memory_beyond(most_bytes_) : 0; beyond > 0) {
            declined.push_back(cat(solver.name, " needs ", bytes_string(static_cast<double>(beyond))));
            return;
        }
        if (plan->alternatives.empty()) plan->alternatives.push_back(alternative_of(*plan, machine_));
        for (const Alternative& each : plan->alternatives) alternatives.push_back(each);
        const double seconds = plan->predicted_seconds();
        if (best && seconds >= best_seconds) return;
        best = std::move(plan);
        best_seconds = seconds;
    };
    for (const bool last_resort : {false, true}) {
        if (best) break;
        for (const Solver& solver : solver_table()) {
            if (solver.last_resort == last_resort) consider(solver);
        }
    }
    if (!best) {
        if (!refusal.ok()) return with_smallest_memory(problem, refusal);
        std::string reasons;
        for (const auto& reason : declined) reasons += "\n  - " + reason;
        return error(Code::unsupported, "no solver takes '", problem.print(), "':", reasons);
    }
    if (problem.memory_bytes > 0 && problem.output == SpectrumOrder::exchanged && !best->leaves_exchanged)
        best->notes.push_back("the output is in natural order, which costs no more here");
    // The plan's own choice first, then all others by predicted seconds.
    const Alternative own = best->alternatives.front();
    std::stable_sort(alternatives.begin(), alternatives.end(), [&](const Alternative& a, const Alternative& b) {
        const auto is_own = [&](const Alternative& x) {
            return x.solver == own.solver && x.grid == own.grid && x.exchange == own.exchange;
        };
        return std::tuple(!is_own(a), a.seconds) < std::tuple(!is_own(b), b.seconds);
    });
    best->alternatives = std::move(alternatives);
    const Problem& chosen = best->problem;
    best->call_seconds = chosen.memory_bytes > 0 ? 0 : machine_.call_seconds;
    best->peaks =
        peaks_of(machine_, chosen.precision, chosen.ranks, std::max(1, chosen.threads), chosen.scratch_disks());
    for (auto& note : runners_up(best->alternatives)) best->notes.push_back(std::move(note));
    if (problem.memory_bytes > 0) note_journal(*best);
    return best;
}

}  // namespace spanfft
