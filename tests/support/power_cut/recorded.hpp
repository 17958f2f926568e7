// A recording of what a test does in a folder, and the power cuts that it is to be held against.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "core/status.hpp"
#include "support/power_cut/power_cut.h"

namespace spanfft::test {

class Recorded {
  public:
    using Cut = power_cut_cut;
    explicit Recorded(const std::string& folder) : number_(power_cut_record(folder.c_str())) {}
    void stop() { operations_ = power_cut_stop(); }
    int64_t operations() const { return operations_; }
    std::string trouble() const { return power_cut_describe(number_, 0); }
    void make(const Cut& cut) const { (void)power_cut_state(number_, cut, 1); }
    std::string describe(const Cut& cut) const {
        return cat("power cut after operation ", cut.operation, " of ", operations_, " (",
                   power_cut_describe(number_, cut.operation), "), ", power_cut_fate(cut.fate), ", seed ", cut.seed);
    }
    // Whether no name arrived before one that was given earlier.
    static bool names_in_order(const Cut& cut) {
        return cut.fate == POWER_CUT_EVERYTHING || cut.fate == POWER_CUT_NAMES_IN_ORDER;
    }
    // With SPANFFT_POWER_CUTS=all coins at all operations, several each.
    static bool all_states() {
        const char* const asked = std::getenv("SPANFFT_POWER_CUTS");
        return asked && std::string(asked) == "all";
    }
    std::vector<Cut> cuts() const {
        std::vector<Cut> some(static_cast<size_t>(power_cut_choose(number_, all_states() ? 1 : 0)));
        for (size_t i = 0; i < some.size(); ++i) some[i] = power_cut_chosen(static_cast<int64_t>(i));
        return some;
    }

  private:
    int number_;
    int64_t operations_ = -1;
};

}  // namespace spanfft::test
