// What an imagined machine would take, through the C interface; see include/spanfft/spanfft.h.
#include "exec/foresight.hpp"

#include "capi/handles.hpp"
#include "plan/machine_file.hpp"

using namespace spanfft;

struct spanfft_foresight {
    std::vector<ForeseenPlan> plans;
    std::vector<std::string> grids;  // as texts
};

namespace {

Result<Machine> machine_from_text(const char* text) {
    if (!text) return error(Code::invalid_argument, "the machine's text is NULL");
    return parse_machine(text, Machine());
}

Result<const ForeseenPlan*> plan_at(const spanfft_foresight* foresight, int index) {
    if (!foresight) return error(Code::invalid_argument, "the foresight is NULL; make it with spanfft_foresee");
    if (index < 0 || index >= static_cast<int>(foresight->plans.size()))
        return error(Code::invalid_argument, "there is no plan ", index, "; there are ", foresight->plans.size());
    return &foresight->plans[static_cast<size_t>(index)];
}

}  // namespace

int spanfft_machine_read(const char* text, spanfft_machine_info* info) {
    return report([&]() -> Status {
        thread_local std::string name, sheet;
        SPANFFT_ASSIGN(const Machine machine, machine_from_text(text));
        name = machine.name;
        sheet = print_sheet(machine.sheet);
        spanfft_machine_info full{};
        full.name = name.c_str();
        full.nodes = static_cast<int64_t>(machine.sheet.nodes);
        full.cores_per_node = static_cast<int64_t>(machine.sheet.cores_per_node);
        full.sheet = sheet.c_str();
        return give(full, info);
    });
}

int spanfft_foresee(const char* text, const char* machine_text, int ranks_per_node, spanfft_foresight** out) {
    return report([&]() -> Status {
        if (!out) return error(Code::invalid_argument, "foresight is NULL; pass where it shall go");
        if (!text) return error(Code::invalid_argument, "the problem's text is NULL");
        if (ranks_per_node < 0)
            return error(Code::invalid_argument, "ranks per node are ", ranks_per_node,
                         "; give at least 1, or 0 for one a core");
        SPANFFT_ASSIGN(const Problem problem, Problem::parse(text));
        SPANFFT_ASSIGN(const Machine machine, machine_from_text(machine_text));
        auto made = std::make_unique<spanfft_foresight>();
        SPANFFT_ASSIGN(made->plans, foresee(problem, machine, ranks_per_node));
        for (const ForeseenPlan& plan : made->plans) made->grids.push_back(shape_string(plan.grid));
        *out = made.release();
        return Status();
    });
}

int spanfft_foresight_plans(const spanfft_foresight* foresight) {
    return foresight ? static_cast<int>(foresight->plans.size()) : 0;
}

int spanfft_foresight_plan(const spanfft_foresight* foresight, int index, spanfft_foreseen_plan* out) {
    return report([&]() -> Status {
        SPANFFT_ASSIGN(const ForeseenPlan* plan, plan_at(foresight, index));
        spanfft_foreseen_plan full{};
        full.solver = plan->solver.c_str();
        full.grid = foresight->grids[static_cast<size_t>(index)].c_str();
        full.exchange = plan->exchange.c_str();
        full.limit = limit_name(plan->limits.longest());
        full.seconds = plan->seconds;
        full.compute_seconds = plan->compute_seconds;
        full.memory_seconds = plan->memory_seconds;
        full.wire_seconds = plan->wire_seconds;
        full.disk_seconds = plan->disk_seconds;
        full.barrier_seconds = plan->barrier_seconds;
        full.bisection_bound = plan->bisection_bound;
        full.injection_bound = plan->injection_bound;
        full.memory_bound = plan->memory_bound;
        full.flops_bound = plan->flops_bound;
        full.flops = plan->counts.flops;
        full.memory_bytes = plan->counts.memory_bytes;
        full.messages = plan->counts.messages;
        full.sent_bytes = plan->counts.sent_bytes;
        full.calls = plan->counts.calls;
        full.node_memory_bytes = plan->node_memory_bytes;
        full.fitted = plan->fitted ? 1 : 0;
        full.exchanges = static_cast<int32_t>(plan->exchanges.size());
        return give(full, out);
    });
}

int spanfft_foresight_exchange(const spanfft_foresight* foresight, int plan_index, int index,
                               spanfft_foreseen_exchange* out) {
    return report([&]() -> Status {
        SPANFFT_ASSIGN(const ForeseenPlan* plan, plan_at(foresight, plan_index));
        if (index < 0 || index >= static_cast<int>(plan->exchanges.size()))
            return error(Code::invalid_argument, "the plan has no exchange ", index, "; it has ",
                         plan->exchanges.size());
        const ForeseenExchange& found = plan->exchanges[static_cast<size_t>(index)];
        spanfft_foreseen_exchange full{};
        full.strategy = found.strategy.c_str();
        full.limit = limit_name(found.limit);
        full.group_ranks = ranks_of(found.group);
        full.messages = found.counts.messages;
        full.sent_bytes = found.counts.sent_bytes;
        full.wire_seconds = found.wire_seconds;
        full.copy_seconds = found.copy_seconds;
        full.barrier_seconds = found.barrier_seconds;
        full.hidden_seconds = found.hidden_seconds;
        return give(full, out);
    });
}

void spanfft_foresight_free(spanfft_foresight* foresight) { delete foresight; }
