// What imagined machines would take: spanfft_foresee as dictionaries.
#include <nanobind/stl/vector.h>

#include <memory>

#include "binding.hpp"

namespace spanfft::python {

namespace {

nb::dict machine_read(const std::string& text) {
    spanfft_machine_info info{};
    info.size = sizeof info;
    check(spanfft_machine_read(text.c_str(), &info));
    nb::dict d;
    d["name"] = std::string(info.name);
    d["nodes"] = info.nodes;
    d["cores_per_node"] = info.cores_per_node;
    d["sheet"] = std::string(info.sheet);
    return d;
}

nb::dict exchange_dict(const spanfft_foresight* foresight, int plan, int index) {
    spanfft_foreseen_exchange found{};
    found.size = sizeof found;
    check(spanfft_foresight_exchange(foresight, plan, index, &found));
    nb::dict d;
    d["exchange"] = std::string(found.strategy);
    d["limit"] = std::string(found.limit);
    d["group_ranks"] = found.group_ranks;
    d["messages"] = found.messages;
    d["sent_bytes"] = found.sent_bytes;
    d["wire"] = found.wire_seconds;
    d["copies"] = found.copy_seconds;
    d["barriers"] = found.barrier_seconds;
    d["hidden"] = found.hidden_seconds;
    return d;
}

nb::dict plan_dict(const spanfft_foresight* foresight, int index) {
    spanfft_foreseen_plan found{};
    found.size = sizeof found;
    check(spanfft_foresight_plan(foresight, index, &found));
    nb::dict parts;
    parts["compute"] = found.compute_seconds;
    parts["memory"] = found.memory_seconds;
    parts["wire"] = found.wire_seconds;
    parts["disk"] = found.disk_seconds;
    parts["barriers"] = found.barrier_seconds;
    nb::dict bounds;
    bounds["bisection"] = found.bisection_bound;
    bounds["injection"] = found.injection_bound;
    bounds["memory"] = found.memory_bound;
    bounds["flops"] = found.flops_bound;
    nb::dict counts;
    counts["flops"] = found.flops;
    counts["memory_bytes"] = found.memory_bytes;
    counts["messages"] = found.messages;
    counts["sent_bytes"] = found.sent_bytes;
    counts["calls"] = found.calls;
    nb::list exchanges;
    for (int i = 0; i < found.exchanges; ++i) exchanges.append(exchange_dict(foresight, index, i));
    nb::dict d;
    d["seconds"] = found.seconds;
    d["solver"] = std::string(found.solver);
    d["grid"] = std::string(found.grid);
    d["exchange"] = std::string(found.exchange);
    d["limit"] = std::string(found.limit);
    d["parts"] = parts;
    d["bounds"] = bounds;
    d["counts"] = counts;
    d["node_memory_bytes"] = found.node_memory_bytes;
    d["fitted"] = found.fitted != 0;
    d["exchanges"] = exchanges;
    return d;
}

nb::list foresee(const std::string& problem, const std::string& machine, int ranks_per_node) {
    spanfft_foresight* made = nullptr;
    {
        nb::gil_scoped_release no_gil;
        check(spanfft_foresee(problem.c_str(), machine.c_str(), ranks_per_node, &made));
    }
    const std::unique_ptr<spanfft_foresight, decltype(&spanfft_foresight_free)> foresight(made,
                                                                                          &spanfft_foresight_free);
    nb::list plans;
    for (int i = 0; i < spanfft_foresight_plans(made); ++i) plans.append(plan_dict(made, i));
    return plans;
}

}  // namespace

void bind_foresight(nb::module_& m) {
    m.def("machine_read", &machine_read, "text"_a);
    m.def("foresee", &foresee, "problem"_a, "machine"_a, "ranks_per_node"_a = 0);
}

}  // namespace spanfft::python
