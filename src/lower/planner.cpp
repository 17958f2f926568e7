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

// Whether the method that is asked for, if any, is this one.
bool is_asked_for(const Solver& solver, const Problem& problem) {
    return problem.method.empty() || problem.method.substr(0, problem.method.find(':')) == solver.name;
}

bool is_concerned(const Solver& solver, const Problem& problem) {
    return solver.layout == problem.layout && (!solver.concerns || solver.concerns(problem));
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
    const auto& solvers = solver_table();
    return std::any_of(solvers.begin(), solvers.end(), [&](const Solver& solver) {
        return is_asked_for(solver, problem) && is_concerned(solver, problem) && ask(solver, problem).ok();
    });
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

namespace {

// What stands against a problem before any solver is asked.
Status check_asked(const Problem& problem) {
    if (problem.memory_bytes > 0 && problem.output == SpectrumOrder::exchanged && !problem.forward()) {
        return error(Code::invalid_argument,
                     "output=exchanged leaves the spectrum in a file as it comes out of a forward transform; backward "
                     "reads natural order only, so make the spectrum with output=natural");
    }
    if (!problem.engine.empty() && !find_engine(problem.engine)) {
        const std::string absence = engine_absence(problem.engine);
        return error(Code::engine_error, "engine '", problem.engine, "' was not found on this machine",
                     absence.empty() ? "" : " (" + absence + ")", "; found: ", engine_names(),
                     did_you_mean(problem.engine, engine_names()));
    }
    SPANFFT_TRY(check_exchange(problem));
    return check_method(problem.method);
}

// The plan's own choice first, then all others by predicted seconds.
void sort_alternatives(std::vector<Alternative>& alternatives, const Alternative& own) {
    const auto key = [&](const Alternative& x) {
        const bool is_own = x.solver == own.solver && x.grid == own.grid && x.exchange == own.exchange;
        return std::tuple(!is_own, x.seconds);
    };
    std::stable_sort(alternatives.begin(), alternatives.end(),
                     [&](const Alternative& a, const Alternative& b) { return key(a) < key(b); });
}

}  // namespace

// What solvers answered: the cheapest plan, and why the others are not it.
struct Planner::Answers {
    std::unique_ptr<Plan> best;
    double best_seconds = 0;
    std::vector<Alternative> alternatives;
    std::vector<std::string> declined;
    Status refusal;                            // the first one that is more than "not mine"
    void decline(const std::string& reason) {  // solvers that ask one another say the same
        if (std::find(declined.begin(), declined.end(), reason) == declined.end()) declined.push_back(reason);
    }
};

void Planner::consider(const Solver& solver, const Problem& problem, Answers& answers) const {
    const bool by_name = !problem.method.empty();
    if (!is_asked_for(solver, problem)) return;
    if (!is_concerned(solver, problem)) {
        if (by_name) answers.decline(cat(solver.name, " is for problems of another sort; leave method= out"));
        return;
    }
    if (problem.pads() && !solver.pads) {
        if (by_name) answers.decline(cat(solver.name, " keeps all modes; leave method= out, or kept="));
        return;
    }
    auto answer = ask(solver, problem);
    if (!answer.ok()) {
        const bool declines = answer.status().code() == Code::unsupported;
        if (!declines && answers.refusal.ok()) answers.refusal = answer.status();
        return answers.decline(answer.status().message());
    }
    auto plan = std::move(answer).value();
    if (const index_t beyond = most_bytes_ > 0 ? plan->memory_beyond(most_bytes_) : 0; beyond > 0)
        return answers.decline(cat(solver.name, " needs ", bytes_string(static_cast<double>(beyond))));
    if (plan->alternatives.empty()) plan->alternatives.push_back(alternative_of(*plan, machine_));
    for (const Alternative& each : plan->alternatives) answers.alternatives.push_back(each);
    const double seconds = plan->predicted_seconds();
    if (answers.best && seconds >= answers.best_seconds) return;
    answers.best = std::move(plan);
    answers.best_seconds = seconds;
}

Result<std::unique_ptr<Plan>> Planner::plan(const Problem& problem) const {
    SPANFFT_TRY(problem.check());
    // A child's plan is made under its parent's budget.
    std::optional<CheckAllowance> allowance;
    if (problem.memory_bytes > 0) allowance.emplace(problem.memory_bytes);
    if (problem.memory_bytes > 0 && problem.batch > 1) return plan(problem.as_one_array());
    SPANFFT_TRY(check_asked(problem));
    Answers answers;
    for (const bool last_resort : {false, true}) {
        if (answers.best) break;
        for (const Solver& solver : solver_table()) {
            if (solver.last_resort == last_resort) consider(solver, problem, answers);
        }
    }
    if (!answers.best) {
        if (!answers.refusal.ok()) return with_smallest_memory(problem, answers.refusal);
        std::string reasons;
        for (const auto& reason : answers.declined) reasons += "\n  - " + reason;
        return error(Code::unsupported, "no solver takes '", problem.print(), "':", reasons);
    }
    auto best = std::move(answers.best);
    if (problem.memory_bytes > 0 && problem.output == SpectrumOrder::exchanged && !best->leaves_exchanged)
        best->notes.push_back("the output is in natural order, which costs no more here");
    const Alternative own = best->alternatives.front();
    sort_alternatives(answers.alternatives, own);
    best->alternatives = std::move(answers.alternatives);
    const Problem& chosen = best->problem;
    best->call_seconds = chosen.memory_bytes > 0 ? 0 : machine_.call_seconds;
    best->peaks =
        peaks_of(machine_, chosen.precision, chosen.ranks, std::max(1, chosen.threads), chosen.scratch_disks());
    for (auto& note : runners_up(best->alternatives)) best->notes.push_back(std::move(note));
    if (problem.memory_bytes > 0) note_journal(*best);
    return best;
}

}  // namespace spanfft
