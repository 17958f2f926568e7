// Sizes of caches from sysfs, and their division; see caches.hpp.
#include "core/caches.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "core/status.hpp"

namespace spanfft {

namespace {

// The most that processors have are 48 MiB of level 3 a core, on parts with few cores and stacked caches.
constexpr index_t kMostPerCpu = index_t{64} << 20;

std::string line_of(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// "48K", "2048K", "16M", and "3" of a level; 0 where it is something else.
index_t parse_size(const std::string& text) {
    char* end = nullptr;
    const long long value = std::strtoll(text.c_str(), &end, 10);
    if (end == text.c_str() || value <= 0 || value > (1LL << 40)) return 0;
    return *end == 'K' ? value << 10 : *end == 'M' ? value << 20 : *end == 'G' ? value << 30 : *end == '\0' ? value : 0;
}

// CPUs in a list like "0-3,8-11"; 0 where it is something else.
int count_cpus(const std::string& list) {
    int count = 0;
    const char* at = list.c_str();
    while (*at) {
        char* end = nullptr;
        const long first = std::strtol(at, &end, 10);
        if (end == at) return 0;
        long last = first;
        if (*end == '-') {
            at = end + 1;
            last = std::strtol(at, &end, 10);
            if (end == at) return 0;
        }
        if (last < first || last - first > 1 << 20) return 0;
        count += static_cast<int>(last - first) + 1;
        if (*end != ',') return *end == '\0' ? count : 0;
        at = end + 1;
    }
    return count;
}

}  // namespace

Caches Caches::shared_by(int ranks) const {
    Caches own = *this;
    const index_t sharers = std::max<index_t>(1, ceil_div(ranks, std::max(1, l3_count)));
    own.l3_bytes = std::max<index_t>(1, l3_bytes / sharers);
    return own;
}

Caches read_caches(const std::string& cpu_folder) {
    Caches caches;
    int level_seen = 0;
    for (int index = 0; index < 8; ++index) {
        const std::string at = cat(cpu_folder, "/cpu0/cache/index", index, "/");
        const std::string type = line_of(at + "type");
        if (type != "Data" && type != "Unified") continue;
        const auto level = static_cast<int>(parse_size(line_of(at + "level")));
        const index_t bytes = parse_size(line_of(at + "size"));
        const int cpus = count_cpus(line_of(at + "shared_cpu_list"));
        const bool last = level >= std::max(2, level_seen);
        level_seen = std::max(level_seen, level);
        const bool believed = bytes > 0 && cpus > 0 && bytes / cpus <= kMostPerCpu;
        if (level == 1 && believed) caches.l1_bytes = bytes;
        if (level == 2 && believed) caches.l2_bytes = bytes;
        if (!last) continue;
        caches.l3_bytes = believed ? bytes : Caches().l3_bytes;
        caches.l3_count = believed ? std::max(1, count_cpus(line_of(cpu_folder + "/online")) / cpus) : 1;
    }
    return caches;
}

const Caches& cache_sizes() {
    static const Caches sizes = read_caches("/sys/devices/system/cpu");
    return sizes;
}

}  // namespace spanfft
