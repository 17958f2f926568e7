// Memory that is touched: it is there afterwards, with what was in it, and no more of it than was asked for.
#include "core/touch.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
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

// Larger than what malloc ever keeps, so that none of it is there before.
TEST(TouchPages, AreAllThereAndNoneBeyondTheEnd) {
    const size_t bytes = (size_t{65} << 20) + 123, pages = bytes / kPage + 1, whole = size_t{66} << 20;
    const Buffer buffer = Buffer::allocate(bytes).value();
    ASSERT_LT(resident_pages(buffer.data(), bytes), pages / 2);
    ThreadTeam team(3);
    touch_pages(buffer, team);
    EXPECT_EQ(resident_pages(buffer.data(), bytes), pages);
    char* const end = static_cast<char*>(buffer.data()) + pages * kPage;
    EXPECT_EQ(resident_pages(end, whole - pages * kPage), 0U);
}

TEST(TouchPages, KeepWhatIsInThem) {
    const Buffer buffer = Buffer::allocate((size_t{5} << 20) + 7).value();
    auto* const data = static_cast<unsigned char*>(buffer.data());
    for (size_t i = 0; i < buffer.bytes(); ++i) data[i] = static_cast<unsigned char>(i * 7 % 251);
    ThreadTeam team(2);
    touch_pages(buffer, team);
    for (size_t i = 0; i < buffer.bytes(); ++i) ASSERT_EQ(data[i], static_cast<unsigned char>(i * 7 % 251)) << i;
}

}  // namespace
}  // namespace spanfft
