// 10,000 ranks: what one of them allocates to plan and to bind its share, by every strategy.
//
// Method: a communicator that is nobody's carries nothing, but has the size and the answers that a rank would see if
// all were like it. Bytes are counted, of operator new: descriptions. Packing buffers come from aligned_alloc and are
// what the plan predicts. Seconds are recorded, not asserted.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

#include "exchange/exchange.hpp"
#include "exec/executor.hpp"
#include "plan/knowledge.hpp"
#include "plan/planner.hpp"
#include "steps/exchange_step.hpp"
#include "support/allocations.hpp"
#include "support/sanitized.hpp"

namespace spanfft::test {
namespace {

constexpr int kRanks = 10000;
constexpr int kRanksPerNode = 125;
constexpr size_t kMostBytes = size_t{100} << 20;

struct Calls {
    index_t of_all = 0;  // allgathers of the plan's own communicator
};

class NoTransfer final : public Transfer {
  public:
    Status start(const void*, void*) override { return {}; }
    Status finish() override { return {}; }
};

class NoWindow final : public SharedWindow {
  public:
    explicit NoWindow(Buffer memory) : memory_(std::move(memory)) {}
    void* part(int) const override { return memory_.data(); }
    Status barrier() override { return {}; }

  private:
    Buffer memory_;
};

class CrowdComm final : public Comm {
  public:
    CrowdComm(int rank, int size, std::shared_ptr<Calls> calls, bool is_group = false)
        : rank_(rank), size_(size), calls_(std::move(calls)), is_group_(is_group) {}
    int rank() const override { return rank_; }
    int size() const override { return size_; }
    std::string describe() const override { return "a crowd"; }
    bool calls_from_threads() const override { return true; }
    Result<std::unique_ptr<Comm>> split(int, int) override { return copy(rank_, size_); }
    Result<std::unique_ptr<Comm>> duplicate() override { return copy(rank_, size_); }
    Result<std::unique_ptr<Comm>> group(const std::vector<int>& ranks) override {
        const auto at = std::find(ranks.begin(), ranks.end(), rank_);
        return std::unique_ptr<Comm>(
            new CrowdComm(static_cast<int>(at - ranks.begin()), static_cast<int>(ranks.size()), calls_, true));
    }
    Status barrier() override { return {}; }
    Status allgather(const void* mine, size_t bytes, void* all) override {
        calls_->of_all += !is_group_;
        for (int i = 0; i < size_; ++i)
            std::memcpy(static_cast<char*>(all) + static_cast<size_t>(i) * bytes, mine, bytes);
        return {};
    }
    Status broadcast(void*, size_t, int) override { return {}; }
    Result<std::vector<int>> nodes() override {
        std::vector<int> nodes;
        for (int rank = 0; rank < size_; ++rank) nodes.push_back(rank / kRanksPerNode);
        return nodes;
    }
    Result<std::unique_ptr<Transfer>> make_alltoallw(const std::vector<StridedPart>&, const std::vector<StridedPart>&,
                                                     Issue) override {
        return none();
    }
    Result<std::unique_ptr<Transfer>> make_alltoallv(const std::vector<BytesPart>&, const std::vector<BytesPart>&,
                                                     Issue) override {
        return none();
    }
    Result<std::unique_ptr<Transfer>> make_allgather(index_t) override { return none(); }
    bool persistent_collectives() const override { return true; }
    Result<std::unique_ptr<Transfer>> make_persistent_alltoallv(const void*, const std::vector<BytesPart>&, void*,
                                                                const std::vector<BytesPart>&) override {
        return none();
    }
    Result<std::unique_ptr<Transfer>> make_pairs(const std::vector<PairParts>&, Pairing) override { return none(); }
    Result<std::unique_ptr<SharedWindow>> make_window(index_t bytes) override {
        SPANFFT_ASSIGN(Buffer memory, Buffer::allocate(static_cast<size_t>(bytes)));
        return std::unique_ptr<SharedWindow>(new NoWindow(std::move(memory)));
    }

  private:
    Result<std::unique_ptr<Comm>> copy(int rank, int size) const {
        return std::unique_ptr<Comm>(new CrowdComm(rank, size, calls_));
    }
    static Result<std::unique_ptr<Transfer>> none() { return std::unique_ptr<Transfer>(new NoTransfer); }
    int rank_, size_;
    std::shared_ptr<Calls> calls_;
    bool is_group_;
};

Machine crowd_machine() {
    Machine machine = this_machine();
    machine.topology.ranks_per_node = kRanksPerNode;
    return machine;
}

// Counts what `body` allocates, and records its seconds under this name.
template <class Body>
size_t allocated_by(const std::string& name, const Body& body) {
    const auto begin = std::chrono::steady_clock::now();
    allocations = {};
    allocations.on = true;
    body();
    allocations.on = false;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    testing::Test::RecordProperty(name + " seconds", std::to_string(seconds.count()));
    testing::Test::RecordProperty(name + " bytes", std::to_string(allocations.bytes));
    return allocations.bytes;
}

// One group of all ranks, each of which has 256 planes: by planes that is 256 chunks of 10,000 messages.
ExchangeSpec slabs(int ranks, index_t planes) {
    const Extents shape{planes * ranks, ranks};
    ExchangeSpec spec{Layout(shape, {{ranks, 0}}), Layout(shape, {{ranks, 1}}), 16};
    spec.topology.ranks_per_node = kRanksPerNode;
    return spec;
}

TEST(ManyRanks, EveryStrategyBindsItsShareOf10000Within100MB) {
    for (const ExchangeStrategy& strategy : exchange_table()) {
        const ExchangeSpec spec = slabs(kRanks, 256);
        if (!strategy.check(spec).ok()) continue;  // it is for one node
        const int rank = 4711;
        CrowdComm comm(rank, kRanks, std::make_shared<Calls>());
        Status status;
        const size_t bytes = allocated_by(strategy.name, [&] {
            status = strategy.bind({comm, spec, rank}).status();
            (void)strategy.predict(spec, rank);
            (void)strategy.buffer_bytes(spec, rank);
        });
        EXPECT_TRUE(status.ok()) << strategy.name << ": " << status.message();
        EXPECT_LT(bytes, kMostBytes) << strategy.name;
    }
}

// Descriptions don't grow with the number of chunks, but for the transfers themselves.
TEST(ManyRanks, ChunksCostNoDescriptionsOfPeers) {
    for (const char* name : {"oneplane", "standard", "replace", "overlap", "blockvector"}) {
        const ExchangeStrategy& strategy = *find_exchange(name).strategy;
        const auto bound = [&](index_t planes) {
            ExchangeSpec spec = slabs(1000, planes);
            if (std::string(name) == "blockvector") spec.parameter = std::to_string(planes);
            CrowdComm comm(3, 1000, std::make_shared<Calls>());
            return allocated_by(cat(name, " ", planes), [&] { EXPECT_TRUE(strategy.bind({comm, spec, 3}).ok()); });
        };
        const size_t few = bound(4), many = bound(256);
        EXPECT_LT(many, few + 256 * 1024) << name;  // a kilobyte a chunk; a thousand peers would be a hundred
    }
}

TEST(ManyRanks, APlanOf10000IsMadeAndBoundWithin100MB) {
    int number = 0;
    for (const char* text :
         {"c2c 1024x1024x256 ranks=10000", "r2c 16384x16384 ranks=10000",
          "c2c 1024x1024x256 ranks=10000 exchange=hierarchical", "c2c 1024x1024x256 ranks=10000 exchange=overlap",
          // Lines, whose rows are not the balanced blocks of any process grid; of pairs; of a prime length.
          "c2c 1048576 ranks=10000", "r2c 1048576 ranks=10000", "c2c 1048583 ranks=10000",
          "c2c 10000000 ranks=10000 output=exchanged",
          // A line beside a short axis.
          "c2c 4x1048576 ranks=10000"}) {
        if (number++ % kRanksStep) continue;
        const Problem problem = Problem::parse(text).value();
        std::shared_ptr<const Plan> plan;
        const size_t planned = allocated_by(cat("plan ", text), [&] {
            auto made = Planner(crowd_machine()).plan(problem);
            EXPECT_TRUE(made.ok()) << text << ": " << made.status().message();
            if (made.ok()) plan = std::move(made).value();
        });
        ASSERT_TRUE(plan);
        auto calls = std::make_shared<Calls>();
        const size_t bound = allocated_by(cat("bind ", text), [&] {
            auto made = Executor::make(plan, std::make_unique<CrowdComm>(4711, kRanks, calls));
            EXPECT_TRUE(made.ok()) << text << ": " << made.status().message();
        });
        EXPECT_LT(planned + bound, kMostBytes) << text;
        // Before the buffers, after the groups, and at the end; however many steps there are.
        EXPECT_LE(calls->of_all, 3) << text;
    }
}

}  // namespace
}  // namespace spanfft::test
