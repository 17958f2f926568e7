// Asks every solver and keeps the cheapest plan; see planner.hpp.
#include "plan/planner.hpp"

#include <algorithm>
#include <tuple>

#include "engine/engine.hpp"
#include "exchange/exchange.hpp"

namespace spanfft {

namespace {

Status check_method(const std::string& method) {
    if (method.empty()) return {};
    std::string known;
    for (const Solver& solver : solver_table()) {
        if (method.substr(0, method.find(':')) == solver.name) return {};
        known += (known.empty() ? "" : ", ") + std::string(solver.name);
    }
    return error(Code::invalid_argument, "method '", method, "' is not known; use one of ", known);
}

}  // namespace

Result<std::unique_ptr<Plan>> Planner::plan(const Problem& problem) const {
    SPANFFT_TRY(problem.check());
    if (!problem.engine.empty() && !find_engine(problem.engine)) {
        return error(Code::engine_error, "engine '", problem.engine,
                     "' was not found on this machine; found: ", engine_names());
    }
    if (!problem.exchange.empty() && !find_exchange(problem.exchange).strategy) {
        return error(Code::invalid_argument, "exchange '", problem.exchange, "' is not known; use one of ",
                     exchange_names());
    }
    SPANFFT_TRY(check_method(problem.method));
    const std::string method = problem.method.substr(0, problem.method.find(':'));
    std::unique_ptr<Plan> best;
    double best_seconds = 0;
    std::vector<std::string> declined;
    std::vector<Alternative> alternatives;
    Status refusal;
    for (const Solver& solver : solver_table()) {
        if (!method.empty() && method != solver.name) continue;
        if (solver.layout != problem.layout || (solver.concerns && !solver.concerns(problem))) {
            if (!method.empty()) declined.push_back(method + " is for problems of another sort; leave method= out");
            continue;
        }
        auto answer = solver.solve(problem, *this);
        if (!answer.ok()) {
            if (answer.status().code() != Code::unsupported && refusal.ok()) refusal = answer.status();
            declined.push_back(answer.status().message());
            continue;
        }
        auto plan = std::move(answer).value();
        if (plan->alternatives.empty()) plan->alternatives.push_back(alternative_of(*plan, machine_));
        for (const Alternative& each : plan->alternatives) alternatives.push_back(each);
        const double seconds = plan->predicted_seconds();
        if (best && seconds >= best_seconds) continue;
        best = std::move(plan);
        best_seconds = seconds;
    }
    if (!best) {
        if (!refusal.ok()) return refusal;
        std::string reasons;
        for (const auto& reason : declined) reasons += "\n  - " + reason;
        return error(Code::unsupported, "no solver takes '", problem.print(), "':", reasons);
    }
    // The plan's own choice first, then all others by predicted seconds.
    const Alternative own = best->alternatives.front();
    std::stable_sort(alternatives.begin(), alternatives.end(), [&](const Alternative& a, const Alternative& b) {
        const auto is_own = [&](const Alternative& x) {
            return x.solver == own.solver && x.grid == own.grid && x.exchange == own.exchange;
        };
        return std::tuple(!is_own(a), a.seconds) < std::tuple(!is_own(b), b.seconds);
    });
    best->alternatives = std::move(alternatives);
    for (auto& note : runners_up(best->alternatives)) best->notes.push_back(std::move(note));
    return best;
}

}  // namespace spanfft
