// Ranks with one set of CPUs divide it; see rank_cpus.hpp.
#include "comm/rank_cpus.hpp"

namespace spanfft {

Result<RankCpus> cpus_of_rank(Comm& comm, const std::vector<int>& nodes) {
    const cpu_set_t mine = allowed_cpus();
    std::vector<cpu_set_t> all(static_cast<size_t>(comm.size()));
    SPANFFT_TRY(comm.allgather(&mine, sizeof mine, all.data()));
    const auto me = static_cast<size_t>(comm.rank());
    int sharers = 0, place = 0;
    for (size_t rank = 0; rank < all.size(); ++rank) {
        if (nodes[rank] != nodes[me] || !CPU_EQUAL(&all[rank], &mine)) continue;
        place += rank < me;
        ++sharers;
    }
    return RankCpus{share_of(list_cpus(mine), place, sharers), sharers > 1};
}

}  // namespace spanfft
