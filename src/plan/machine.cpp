// What the library knows of this machine without measuring; see machine.hpp.
#include "plan/machine.hpp"

#include <sched.h>

#include <algorithm>
#include <thread>

namespace spanfft {

Machine this_machine() {
    Machine machine;
    // Cores that this process may use: under a launcher that pins ranks, fewer than the machine has.
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        machine.cores = CPU_COUNT(&allowed);
    } else {
        machine.cores = static_cast<int>(std::thread::hardware_concurrency());
    }
    machine.cores = std::max(machine.cores, 1);
    return machine;
}

}  // namespace spanfft
