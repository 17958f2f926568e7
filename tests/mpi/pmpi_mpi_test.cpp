// Messages, bytes and calls of every exchange as MPI's profiling interface sees them: the library's own counts are held
// against those, and a forced strategy against the functions that it is made of.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>

#include "exchange/exchange.hpp"
#include "mpi/pmpi_counter.hpp"
#include "plan/problem.hpp"
#include "spanfft/spanfft_mpi.h"

namespace spanfft::test {
namespace {

int world_size() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

// A plan of the problem on all ranks, run on numbers that nobody looks at.
class WatchedPlan {
  public:
    explicit WatchedPlan(const std::string& text) {
        if (spanfft_comm_from_mpi(MPI_COMM_WORLD, &comm_) != SPANFFT_OK) return;
        code_ = spanfft_plan_parse(text.c_str(), comm_, &plan_);
        if (code_ != SPANFFT_OK) return;
        const auto bytes = static_cast<size_t>(
            std::max({spanfft_plan_input_bytes(plan_), spanfft_plan_output_bytes(plan_), int64_t{1}}));
        in_.assign(bytes / sizeof(long double) + 1, 0);
        out_ = in_;
    }
    ~WatchedPlan() {
        spanfft_plan_free(plan_);
        spanfft_comm_free(comm_);
    }
    WatchedPlan(const WatchedPlan&) = delete;
    WatchedPlan& operator=(const WatchedPlan&) = delete;
    int code() const { return code_; }
    // What one execution asks of MPI.
    WireCounts watch(bool in_place) {
        const WireCounts before = wire_counts();
        EXPECT_EQ(spanfft_execute(plan_, in_.data(), in_place ? in_.data() : out_.data()), SPANFFT_OK)
            << spanfft_last_error();
        return wire_counts() - before;
    }
    spanfft_counts counted() const {
        spanfft_counts counts = {};
        counts.size = sizeof counts;
        EXPECT_EQ(spanfft_plan_counted(plan_, -1, &counts), SPANFFT_OK) << spanfft_last_error();
        return counts;
    }

  private:
    int code_ = SPANFFT_INTERNAL;
    spanfft_comm* comm_ = nullptr;
    spanfft_plan* plan_ = nullptr;
    std::vector<long double> in_, out_;
};

// The functions that may carry a strategy's data: non-blocking collectives only where something is computed meanwhile.
// A name that is missing here fails the test.
const std::vector<std::string>* functions_of(const std::string& strategy) {
    static const std::vector<std::string> none, alltoallw{"MPI_Alltoallw"}, later{"MPI_Ialltoallv"},
        blocking{"MPI_Alltoallv"}, ordered{"MPI_Send", "MPI_Recv"}, replaced{"MPI_Sendrecv_replace"},
        pairs{"MPI_Isend", "MPI_Irecv"}, persistent{"MPI_Start"};
    static const std::map<std::string, const std::vector<std::string>*> known{
        {"alltoallw", &alltoallw}, {"alltoallv", &blocking}, {"oneplane", &blocking},     {"standard", &ordered},
        {"replace", &replaced},    {"overlap", &pairs},      {"blockvector", &later},     {"phased", &pairs},
        {"shared", &none},         {"hierarchical", &pairs}, {"persistent", &persistent}, {"compressed", &later}};
    const auto found = known.find(strategy);
    return found == known.end() ? nullptr : found->second;
}

constexpr const char* kDataFunctions[] = {"MPI_Send",     "MPI_Isend",      "MPI_Recv",      "MPI_Irecv",
                                          "MPI_Sendrecv", "MPI_Alltoall",   "MPI_Alltoallv", "MPI_Ialltoallv",
                                          "MPI_Put",      "MPI_Ialltoallw", "MPI_Alltoallw", "MPI_Sendrecv_replace",
                                          "MPI_Get",      "MPI_Start"};

// Returns whether the ranks could have this plan.
bool expect_seen_by_mpi(const std::string& problem, const std::string& exchange) {
    const std::string text = cat(problem, " exchange=", exchange);
    SCOPED_TRACE(text);
    WatchedPlan plan(text);
    EXPECT_TRUE(plan.code() == SPANFFT_OK || plan.code() == SPANFFT_UNSUPPORTED) << spanfft_last_error();
    if (plan.code() != SPANFFT_OK) return false;
    const std::string strategy = exchange.substr(0, exchange.find(':'));
    const std::vector<std::string>* functions = functions_of(strategy);
    EXPECT_NE(functions, nullptr) << "which functions carry it?";
    if (!functions) return false;
    const int times = world_size() > 3 ? 1 : 2;  // ranks that share two cores take turns: slowly
    for (int time = 0; time < times; ++time) {
        const WireCounts seen = plan.watch(problem.find("in_place") != std::string::npos);
        const spanfft_counts counted = plan.counted();
        EXPECT_EQ(counted.messages, seen.messages);
        EXPECT_EQ(counted.sent_bytes, seen.bytes);
        EXPECT_EQ(counted.calls, seen.calls);
        for (const char* function : kDataFunctions) {
            const bool its_own = std::find(functions->begin(), functions->end(), function) != functions->end();
            EXPECT_TRUE(its_own || !seen.by_function.count(function)) << function << " is not " << strategy;
        }
        if (counted.messages > 0) {
            EXPECT_TRUE(seen.by_function.count(functions->front())) << functions->front() << " was not called";
        }
    }
    return true;
}

std::vector<std::string> watched_texts() {
    std::vector<std::string> texts;
    for (const auto& strategy : exchange_table()) texts.emplace_back(strategy.name);
    for (const char* text : {"oneplane:3", "overlap:2", "overlap:all", "standard:2", "replace:2", "blockvector:2",
                             "compressed:1e-6", "phased:/1"})
        texts.emplace_back(text);
    return texts;
}

TEST(MpiProfile, MessagesBytesAndCallsOfEveryExchangeAreThoseThatMpiSees) {
    int planned = 0;
    for (const std::string& exchange : watched_texts()) {
        bool any = false;
        for (const char* problem : {"c2c 9x7x6", "r2c 7x6x5 backward output=exchanged", "c2c 2x3x4 in_place"})
            any |= expect_seen_by_mpi(problem, exchange);
        planned += any;
    }
    // All but persistent, where the library is older than MPI 4.
    EXPECT_GE(planned, static_cast<int>(watched_texts().size()) - 1);
}

TEST(MpiProfile, MessagesBetweenImaginedNodesAreThoseThatMpiSees) {
    for (const char* per_node : {"1", "2", "3"}) {
        setenv("SPANFFT_RANKS_PER_NODE", per_node, 1);
        for (const char* exchange : {"hierarchical", "phased", "alltoallv"}) expect_seen_by_mpi("c2c 7x6x5", exchange);
        unsetenv("SPANFFT_RANKS_PER_NODE");
    }
}

// Guards the layer itself: without it every comparison above would be 0 with 0.
TEST(MpiProfile, TheLayerIsThere) {
    WatchedPlan plan("c2c 12x10x8 exchange=alltoallv");
    ASSERT_EQ(plan.code(), SPANFFT_OK) << spanfft_last_error();
    const WireCounts seen = plan.watch(false);
    if (world_size() == 1) return;
    EXPECT_GT(seen.messages, 0);
    EXPECT_GT(seen.bytes, 0);
    EXPECT_GT(seen.by_function.count("MPI_Alltoallv"), size_t{0});
}

}  // namespace
}  // namespace spanfft::test
