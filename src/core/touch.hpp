// Touching memory for the first time by all threads of a team.
//
// Why: memory comes when it is touched, and where a virtual machine has given its free memory back to the host, each
// huge page of 2 MiB takes 4 ms to come (docs/adr/0120). A single thread, or a disk's requests one by one, would wait
// for that.
#pragma once

#include <algorithm>
#include <atomic>

#include "core/buffer.hpp"
#include "core/extents.hpp"
#include "core/threads.hpp"

namespace spanfft {

// What is in the memory stays there. Allocates nothing.
inline void touch_pages(const Buffer& buffer, ThreadTeam& team) {
    constexpr index_t piece_bytes = index_t{2} << 20, page_bytes = 4096;
    auto* const data = static_cast<volatile char*>(buffer.data());
    const auto bytes = static_cast<index_t>(buffer.bytes());
    std::atomic<index_t> next{0};
    team.run([&](int /*member*/) {
        for (index_t at = next.fetch_add(piece_bytes); at < bytes; at = next.fetch_add(piece_bytes))
            for (index_t page = at; page < std::min(at + piece_bytes, bytes); page += page_bytes)
                data[page] = data[page];
    });
}

}  // namespace spanfft
