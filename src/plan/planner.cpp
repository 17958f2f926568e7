// Asks every solver and keeps the cheapest plan; see planner.hpp.
#include "plan/planner.hpp"

#include <algorithm>

#include "engine/engine.hpp"
#include "exchange/exchange.hpp"

namespace spanfft {

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
    std::unique_ptr<Plan> best;
    std::vector<std::string> declined, lost;
    Status refusal;
    for (const Solver& solver : solver_table()) {
        if (solver.layout != problem.layout) continue;
        auto answer = solver.solve(problem, *this);
        if (!answer.ok()) {
            if (answer.status().code() != Code::unsupported && refusal.ok()) refusal = answer.status();
            declined.push_back(answer.status().message());
            continue;
        }
        auto plan = std::move(answer).value();
        if (!best || plan->predicted_seconds() < best->predicted_seconds()) std::swap(best, plan);
        if (plan) lost.push_back(cat("not chosen: ", plan->solver, ", ", plan->predicted_seconds(), " s predicted"));
    }
    if (!best) {
        if (!refusal.ok()) return refusal;
        std::string reasons;
        for (const auto& reason : declined) reasons += "\n  - " + reason;
        return error(Code::unsupported, "no solver takes '", problem.print(), "':", reasons);
    }
    best->notes.insert(best->notes.end(), lost.begin(), lost.end());
    return best;
}

}  // namespace spanfft
