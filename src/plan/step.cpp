// Slots and places by name, the communicators that steps share, and what most steps say; see step.hpp.
#include "plan/step.hpp"

#include "comm/counted_comm.hpp"
#include "plan/sweep_outline.hpp"

namespace spanfft {

const char* slot_name(Slot slot) {
    switch (slot) {
        case Slot::input:
            return "input";
        case Slot::output:
            return "output";
        case Slot::work0:
            return "work0";
        case Slot::work1:
            return "work1";
    }
    return "?";
}

const char* place_name(Place place) {
    return place == Place::input     ? "input"
           : place == Place::scratch ? "scratch"
           : place == Place::memory  ? "memory"
                                     : "output";
}

std::vector<SweepOutline> Step::sweep_outlines(int /*rank*/) const { return {}; }

index_t Step::progress_bytes(int rank) const {
    const Counts counts = predict(rank);
    return counts.disk_read_bytes + counts.disk_written_bytes;
}

Result<GroupComm> Binding::group(const std::vector<int>& ranks) {
    for (size_t i = 0; i < groups_.size(); ++i) {
        if (groups_[i].first == ranks) return GroupComm{groups_[i].second.get(), group_counts_[i]};
    }
    SPANFFT_ASSIGN(auto made, comm.group(ranks));
    auto counts = std::make_shared<Counts>();
    groups_.emplace_back(ranks, make_counted_comm(std::move(made), counts, trace));
    group_counts_.push_back(counts);
    return GroupComm{groups_.back().second.get(), counts};
}

void Binding::engine_ran(const std::string& name) {
    if (engines_.find(name) == std::string::npos) engines_ += (engines_.empty() ? "" : ", ") + name;
}

}  // namespace spanfft
