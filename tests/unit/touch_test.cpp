// Memory of buffers: fresh before it is touched; and then it is there, with what was in it, and no more of it than was
// asked for.
#include "core/touch.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace spanfft {
namespace {

constexpr size_t kPage = 4096;

// Pages from `data` on that are in memory, as the kernel sees them.
size_t resident_pages(void* data, size_t bytes) {
    std::vector<unsigned char> there((bytes + kPage - 1) / kPage);
    EXPECT_EQ(mincore(data, bytes, there.data()), 0);
    return static_cast<size_t>(std::count_if(there.begin(), there.end(), [](unsigned char c) { return c & 1; }));
}

// A buffer that took over small pages of the heap would stay in them (docs/adr/0127).
TEST(Buffer, IsMemoryThatNobodyHadBefore) {
    constexpr size_t piece = size_t{100} << 10, pieces = 200;  // so short that malloc takes them from the heap
    std::vector<void*> had(pieces);
    for (void*& each : had) each = std::memset(std::malloc(piece), 1, piece);
    for (size_t i = 0; i + 1 < pieces; ++i) std::free(had[i]);  // which the heap keeps, as the last one is in use
    const Buffer buffer = Buffer::allocate(size_t{8} << 20).value();
    EXPECT_EQ(resident_pages(buffer.data(), buffer.bytes()), 0U);
    std::free(had.back());
}

// Of a length that is no whole number of huge pages.
TEST(FirstTouch, AreAllThereAndNoneBeyondTheEnd) {
    const size_t bytes = (size_t{65} << 20) + 123, pages = bytes / kPage + 1, whole = size_t{66} << 20;
    const Buffer buffer = Buffer::allocate(bytes).value();
    ASSERT_LT(resident_pages(buffer.data(), bytes), pages / 2);
    ThreadTeam team(3);
    FirstTouch(buffer).touch(buffer.data(), static_cast<index_t>(buffer.bytes()), team);
    EXPECT_EQ(resident_pages(buffer.data(), bytes), pages);
    char* const end = static_cast<char*>(buffer.data()) + pages * kPage;
    EXPECT_EQ(resident_pages(end, whole - pages * kPage), 0U);
}

TEST(FirstTouch, KeepWhatIsInThem) {
    const Buffer buffer = Buffer::allocate((size_t{5} << 20) + 7).value();
    auto* const data = static_cast<unsigned char*>(buffer.data());
    for (size_t i = 0; i < buffer.bytes(); ++i) data[i] = static_cast<unsigned char>(i * 7 % 251);
    ThreadTeam team(2);
    FirstTouch(buffer).touch(buffer.data(), static_cast<index_t>(buffer.bytes()), team);
    for (size_t i = 0; i < buffer.bytes(); ++i) ASSERT_EQ(data[i], static_cast<unsigned char>(i * 7 % 251)) << i;
}

// Pieces are of 2 MiB.
TEST(FirstTouch, BringsWhatWasAskedForAndNoMore) {
    constexpr size_t piece = size_t{2} << 20, bytes = 40 * piece;
    const Buffer buffer = Buffer::allocate(bytes).value();
    char* const data = buffer.as<char>();
    const size_t before = resident_pages(data, bytes);
    ThreadTeam team(2);
    FirstTouch first(buffer);
    EXPECT_FALSE(first.has(data, 1));
    first.touch(data + 4 * piece + 5, static_cast<index_t>(2 * piece), team);  // three pieces
    EXPECT_TRUE(first.has(data + 4 * piece, static_cast<index_t>(3 * piece)));
    EXPECT_FALSE(first.has(data + 4 * piece - 1, 2));
    EXPECT_FALSE(first.has(data + 7 * piece - 1, 2));
    EXPECT_EQ(resident_pages(data + 4 * piece, 3 * piece), 3 * piece / kPage);
    // The buffer begins on a page, and huge pages go by 2 MiB: at most one more of them at either end.
    EXPECT_LE(resident_pages(data, bytes), before + 5 * piece / kPage);
    first.came(data, static_cast<index_t>(bytes));
    EXPECT_TRUE(first.has(data, static_cast<index_t>(bytes)));
}

// Whoever reads a disk into it meanwhile: nothing that it writes is lost.
TEST(FirstTouch, KeepsWhatIsWrittenMeanwhile) {
    constexpr size_t bytes = size_t{64} << 20;
    const Buffer buffer = Buffer::allocate(bytes).value();
    auto* const data = buffer.as<unsigned char>();
    std::thread writer([&] {
        for (size_t page = 0; page < bytes; page += kPage) std::atomic_ref(data[page]).store(page / kPage % 250 + 1);
    });
    ThreadTeam team(2);
    FirstTouch(buffer).touch(data, static_cast<index_t>(bytes), team);
    writer.join();
    for (size_t page = 0; page < bytes; page += kPage) ASSERT_EQ(data[page], page / kPage % 250 + 1) << page;
}

// Bytes that are not in the memory are none of its business.
TEST(FirstTouch, LeavesOtherMemoryAlone) {
    const Buffer buffer = Buffer::allocate(size_t{8} << 20).value(), other = Buffer::allocate(size_t{8} << 20).value();
    ThreadTeam team(2);
    FirstTouch first(buffer), none;
    for (FirstTouch* each : {&first, &none}) {
        each->touch(other.data(), static_cast<index_t>(other.bytes()), team);
        EXPECT_TRUE(each->has(other.data(), static_cast<index_t>(other.bytes())));
    }
    EXPECT_FALSE(first.has(buffer.data(), 1));
}

}  // namespace
}  // namespace spanfft
