// The platform that smpirun loads: a fabric (fabric.hpp) as SimGrid's links, hosts and routes.
//
// Method: SimGrid calls load_platform() of a shared object that is given as -platform. The zone below answers each
// question for a route from the fabric, so no table of routes is kept. The sheet's latency, which is one of a message
// from end to end, lies on the link by which it leaves: SimGrid weighs flows that share a link by their latencies, and
// so all weigh the same. Inside a node the model has no latency, and there is none here.
// SIMULATED_MACHINE is the path of the machine file, SIMULATED_RANKS and SIMULATED_RANKS_PER_NODE the job's.
#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "fabric.hpp"
#include "plan/machine_file.hpp"

namespace {

namespace routing = simgrid::kernel::routing;
using spanfft::simulation::Fabric;
using spanfft::simulation::FabricLink;

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    if (!value) throw std::runtime_error(std::string(name) + " is not set; spanfft-dev simulate sets it");
    return value;
}

spanfft::Machine machine_of(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    auto machine = spanfft::parse_machine(text.str(), spanfft::this_machine());
    if (!machine.ok()) throw std::runtime_error(path + ": " + machine.status().message());
    if (!machine.value().sheet.given()) throw std::runtime_error(path + ": no data sheet");
    return machine.value();
}

class FabricZone final : public routing::NetZoneImpl {
  public:
    FabricZone(const std::string& name, Fabric fabric, double latency, double flops)
        : NetZoneImpl(name), fabric_(std::move(fabric)), latency_(latency), flops_(flops) {}
    void fill(int cores) {
        for (int node = 0; node < fabric_.nodes(); ++node)
            get_iface()->create_host("node" + std::to_string(node), flops_)->set_core_count(cores)->seal();
        for (const FabricLink& link : fabric_.links()) {
            auto* made = get_iface()->create_link(link.name, link.bytes_per_second);
            const double latency = link.name.rfind("out", 0) == 0 ? latency_ : 0;
            made->set_latency(latency)->seal();
            links_.push_back({made->get_impl(), latency});
        }
    }
    void get_local_route(const routing::NetPoint* from, const routing::NetPoint* to, routing::Route* into,
                         double* latency) override {
        for (const size_t i : fabric_.route(static_cast<int>(from->id()), static_cast<int>(to->id()))) {
            into->link_list_.push_back(links_[i].link);
            if (latency) *latency += links_[i].latency;
        }
    }

  private:
    struct Made {
        simgrid::kernel::resource::StandardLinkImpl* link;
        double latency;
    };
    Fabric fabric_;
    double latency_, flops_;
    std::vector<Made> links_;
};

}  // namespace

extern "C" void load_platform(const simgrid::s4u::Engine&);
extern "C" void load_platform(const simgrid::s4u::Engine&) {
    const spanfft::DataSheet sheet = machine_of(variable("SIMULATED_MACHINE")).sheet;
    const int ranks = std::stoi(variable("SIMULATED_RANKS"));
    const int ranks_per_node = std::stoi(variable("SIMULATED_RANKS_PER_NODE"));
    auto* root = simgrid::s4u::create_full_zone("root");
    auto* zone = new FabricZone("machine", Fabric(sheet, ranks, ranks_per_node), sheet.latency_seconds,
                                sheet.core_fft_flops_per_second);
    zone->get_iface()->set_parent(root);
    zone->fill(ranks_per_node);
    zone->get_iface()->seal();
    root->seal();
}
