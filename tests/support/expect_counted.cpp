// Predictions held against counts; see expect_counted.hpp.
#include "support/expect_counted.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/status.hpp"

namespace spanfft::test {

std::vector<std::string> unmet(const Counts& predicted, const Counts& counted) {
    std::vector<std::string> wrong;
    const auto same = [&](const char* what, index_t a, index_t b) {
        if (a != b) wrong.push_back(cat(what, " predicted ", a, ", counted ", b));
    };
    same("memory_bytes", predicted.memory_bytes, counted.memory_bytes);
    same("messages", predicted.messages, counted.messages);
    same("sent_bytes", predicted.sent_bytes, counted.sent_bytes);
    same("calls", predicted.calls, counted.calls);
    same("disk_read_bytes", predicted.disk_read_bytes, counted.disk_read_bytes);
    same("disk_written_bytes", predicted.disk_written_bytes, counted.disk_written_bytes);
    same("disk_reads", predicted.disk_reads, counted.disk_reads);
    same("disk_writes", predicted.disk_writes, counted.disk_writes);
    same("parallel_ios", predicted.parallel_ios, counted.parallel_ios);
    if (std::abs(predicted.flops - counted.flops) > 1e-12 * predicted.flops)
        wrong.push_back(cat("flops predicted ", predicted.flops, ", counted ", counted.flops));
    return wrong;
}

void expect_counted(const std::vector<Counts>& predicted, const std::vector<Counts>& counted) {
    ASSERT_EQ(counted.size(), predicted.size());
    for (size_t i = 0; i < counted.size(); ++i) {
        for (const std::string& wrong : unmet(predicted[i], counted[i])) ADD_FAILURE() << "step " << i << ": " << wrong;
    }
}

}  // namespace spanfft::test
