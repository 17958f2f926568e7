// Lists of CPUs from the kernel, and their division; see cpus.hpp.
#include "core/cpus.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <tuple>

namespace spanfft {

namespace {

thread_local const TeamCpus* current = nullptr;

// A number from sysfs; `otherwise` on systems that do not tell.
int topology_of(int cpu, const char* what, int otherwise) {
    int value = otherwise;
    std::ifstream file(cat("/sys/devices/system/cpu/cpu", cpu, "/topology/", what));
    return file >> value ? value : otherwise;
}

bool one_core(const Cpu& a, const Cpu& b) { return a.package == b.package && a.core == b.core; }

}  // namespace

cpu_set_t allowed_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
    return set;
}

std::vector<Cpu> list_cpus(const cpu_set_t& set) {
    std::vector<Cpu> cpus;
    for (int number = 0; number < CPU_SETSIZE; ++number) {
        if (!CPU_ISSET(static_cast<size_t>(number), &set)) continue;
        cpus.push_back({number, topology_of(number, "physical_package_id", 0), topology_of(number, "core_id", number)});
    }
    std::sort(cpus.begin(), cpus.end(), [](const Cpu& a, const Cpu& b) {
        return std::tie(a.package, a.core, a.number) < std::tie(b.package, b.core, b.number);
    });
    return cpus;
}

std::vector<Cpu> share_of(const std::vector<Cpu>& cpus, int part, int parts) {
    const auto size = static_cast<int>(cpus.size());
    if (size == 0) return {};
    if (size < parts) return {cpus[static_cast<size_t>(part % size)]};
    return {cpus.begin() + size * part / parts, cpus.begin() + size * (part + 1) / parts};
}

std::vector<int> spread(const std::vector<Cpu>& cpus) {
    std::vector<std::pair<int, int>> found;  // how many CPUs of its core come before it, and its number
    for (size_t i = 0; i < cpus.size(); ++i) {
        const auto before = std::count_if(cpus.begin(), cpus.begin() + static_cast<std::ptrdiff_t>(i),
                                          [&](const Cpu& other) { return one_core(other, cpus[i]); });
        found.emplace_back(static_cast<int>(before), cpus[i].number);
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<int> numbers;
    for (const auto& [turn, number] : found) numbers.push_back(number);
    return numbers;
}

Result<Pinning> pinning_asked_for() {
    const char* value = std::getenv("SPANFFT_PIN");
    const std::string text = value ? value : "";
    if (text.empty()) return Pinning::shares;
    if (text == "1") return Pinning::each;
    if (text == "0") return Pinning::none;
    return error(Code::invalid_argument, "SPANFFT_PIN is '", text,
                 "'; use 1 (a CPU for each thread), 0 (pin nothing), or leave it unset");
}

TeamCpus::TeamCpus(Pinning pinning, const std::vector<Cpu>& share, bool divided) : pinning_(pinning), before_(current) {
    if (pinning == Pinning::each || (pinning == Pinning::shares && divided)) order_ = spread(share);
    current = this;
}

TeamCpus::~TeamCpus() { current = before_; }

const TeamCpus* TeamCpus::now() { return current; }

cpu_set_t TeamCpus::of_member(int member) const {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (size_t i = 0; i < order_.size(); ++i) {
        const bool own = static_cast<size_t>(member) % order_.size() == i;
        if (pinning_ == Pinning::shares || own) CPU_SET(static_cast<size_t>(order_[i]), &set);
    }
    return set;
}

}  // namespace spanfft
