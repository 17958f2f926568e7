// Shared windows on real ranks: of our own and MPI's, their alignment, what they leave behind, and what happens where
// there is no room for them.
#include <dirent.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "comm/mpi/mpi_comm.hpp"
#include "comm/mpi/mpi_window.hpp"
#include "comm/node_window.hpp"
#include "spanfft/spanfft_mpi.h"

namespace spanfft::test {
namespace {

constexpr index_t kPage = 4096;

// Of the environment, for a while.
class Setting {
  public:
    Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
    ~Setting() { unsetenv(name_); }
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;

  private:
    const char* name_;
};

std::unique_ptr<Comm> world() { return make_mpi_comm(MPI_COMM_WORLD).value(); }

int entries(const char* folder) {
    int count = 0;
    if (DIR* open = opendir(folder)) {
        while (readdir(open)) ++count;
        closedir(open);
    }
    return count;
}

// Every part begins where it should, is zeroed, and what its rank writes all others read, to the last byte.
void check_window(Comm& comm, SharedWindow& window, index_t alignment, const std::vector<index_t>& bytes) {
    for (int rank = 0; rank < comm.size(); ++rank)
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(window.part(rank)) % static_cast<std::uintptr_t>(alignment), 0U)
            << "the part of rank " << rank;
    const auto mine = static_cast<size_t>(bytes[static_cast<size_t>(comm.rank())]);
    auto* own = static_cast<unsigned char*>(window.part(comm.rank()));
    EXPECT_TRUE(std::all_of(own, own + mine, [](unsigned char c) { return c == 0; }));
    std::memset(own, 1 + comm.rank(), mine);
    ASSERT_TRUE(window.barrier().ok());
    for (int rank = 0; rank < comm.size(); ++rank) {
        const auto* part = static_cast<const unsigned char*>(window.part(rank));
        const auto count = static_cast<size_t>(bytes[static_cast<size_t>(rank)]);
        EXPECT_TRUE(std::all_of(part, part + count, [&](unsigned char c) { return c == 1 + rank; }))
            << "the part of rank " << rank;
    }
    ASSERT_TRUE(window.barrier().ok());
}

// Odd sizes, an empty part, and one that has huge pages and a rest.
std::vector<index_t> awkward_sizes(int ranks) {
    std::vector<index_t> bytes;
    for (int rank = 0; rank < ranks; ++rank) bytes.push_back(rank % 3 == 1 ? 0 : 24 + 8 * rank);
    bytes.back() = 3 * kWindowAlignment + 40;
    return bytes;
}

TEST(Windows, OfOurOwnBeginAtMultiplesOf2MiB) {
    const auto comm = world();
    const auto bytes = awkward_sizes(comm->size());
    auto window = comm->make_window(bytes[static_cast<size_t>(comm->rank())]);
    ASSERT_TRUE(window.ok()) << window.status().message();
    check_window(*comm, *window.value(), kWindowAlignment, bytes);
    EXPECT_EQ(comm->window_note(), "");
}

TEST(Windows, OfMpiBeginOnPages) {
    const auto comm = world();
    const auto bytes = awkward_sizes(comm->size());
    auto window = make_mpi_window(*comm, MPI_COMM_WORLD, bytes[static_cast<size_t>(comm->rank())]);
    ASSERT_TRUE(window.ok()) << window.status().message();
    check_window(*comm, *window.value(), kPage, bytes);
}

TEST(Windows, LeaveNoDescriptorAndNoFile) {
    const auto comm = world();
    const auto sizes = awkward_sizes(comm->size());
    const int descriptors = entries("/proc/self/fd");
    for (int time = 0; time < 3; ++time) {
        auto window = make_node_window(*comm, sizes[static_cast<size_t>(comm->rank())]);
        ASSERT_TRUE(window.ok()) << window.status().message();
        EXPECT_EQ(entries("/proc/self/fd"), descriptors) << "while the window lives";
    }
    EXPECT_EQ(entries("/proc/self/fd"), descriptors);
}

// Ranks free in different orders: no rank may wait for another there, as it would in MPI_Win_free.
TEST(Windows, OfOurOwnAreFreedByEachRankWhenItLikes) {
    const auto comm = world();
    auto first = make_node_window(*comm, 100), second = make_node_window(*comm, 200);
    ASSERT_TRUE(first.ok() && second.ok());
    std::unique_ptr<SharedWindow> a = std::move(first).value(), b = std::move(second).value();
    if (comm->rank() % 2) {
        a.reset();
        ASSERT_TRUE(b->barrier().ok());  // hangs where rank 0 is still waiting in the other window's end
        b.reset();
    } else {
        ASSERT_TRUE(b->barrier().ok());
        b.reset();
        a.reset();
    }
}

TEST(Windows, AreMpisWhereOnlyOneRankWantsThem) {
    const auto comm = world();
    std::optional<Setting> setting;
    if (comm->rank() == comm->size() - 1) setting.emplace("SPANFFT_WINDOWS", "mpi");
    auto window = comm->make_window(100);
    ASSERT_TRUE(window.ok()) << window.status().message();
    EXPECT_NE(comm->window_note().find("SPANFFT_WINDOWS=mpi asks for others"), std::string::npos)
        << comm->window_note();
}

TEST(Windows, AreRefusedAlikeWhereARankForbidsThem) {
    const auto comm = world();
    std::optional<Setting> setting;
    if (comm->rank() == 0) setting.emplace("SPANFFT_WINDOWS", "none");
    const auto window = comm->make_window(100);
    EXPECT_EQ(window.status().code(), Code::unsupported);
    EXPECT_NE(window.status().message().find("use an exchange by messages"), std::string::npos);
    EXPECT_TRUE(agree_on_text(*comm, "sentence", window.status().message()).ok());
}

// Would be SIGXFSZ, which ends the process, or MPI's own error.
TEST(Windows, BeyondTheLimitOnFileSizesAreRefused) {
    const auto comm = world();
    rlimit before;
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit low{1 << 20, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
    const auto window = comm->make_window(4 << 20);
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(window.status().code(), Code::unsupported);
    EXPECT_NE(window.status().message().find("ulimit -f"), std::string::npos) << window.status().message();
}

// A plan whose exchange is ours to choose does without shared memory, and says so; a forced one is refused.
TEST(Windows, ThatCantBeMadeLeaveAPlanThatWorks) {
    const Setting setting("SPANFFT_WINDOWS", "none");
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size == 1) GTEST_SKIP() << "one rank needs no window";
    spanfft_comm* comm = nullptr;
    ASSERT_EQ(spanfft_comm_from_mpi(MPI_COMM_WORLD, &comm), SPANFFT_OK);
    spanfft_plan* plan = nullptr;
    ASSERT_EQ(spanfft_plan_parse("c2c 24x20x18", comm, &plan), SPANFFT_OK) << spanfft_last_error();
    std::string notes;
    for (int i = 0; i < spanfft_plan_notes(plan); ++i) notes += spanfft_plan_note(plan, i);
    EXPECT_NE(notes.find("planned without shared memory"), std::string::npos) << notes;
    std::vector<double> in(static_cast<size_t>(spanfft_plan_input_bytes(plan)) / 8, 1.0);
    std::vector<double> out(static_cast<size_t>(spanfft_plan_output_bytes(plan)) / 8, 0.0);
    EXPECT_EQ(spanfft_execute(plan, in.data(), out.data()), SPANFFT_OK) << spanfft_last_error();
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        EXPECT_DOUBLE_EQ(out[0], 24.0 * 20 * 18);
    }
    spanfft_plan_free(plan);
    EXPECT_EQ(spanfft_plan_parse("c2c 24x20x18 exchange=shared", comm, &plan), SPANFFT_UNSUPPORTED);
    EXPECT_NE(std::strstr(spanfft_last_error(), "SPANFFT_WINDOWS=none"), nullptr) << spanfft_last_error();
    spanfft_comm_free(comm);
}

}  // namespace
}  // namespace spanfft::test
