// FirstTouch: memory of a plan, which comes when it is touched for the first time, by all threads of a team.
//
// Why: where a virtual machine has given its free memory back to the host, each huge page of 2 MiB takes 4 ms to come
// (docs/adr/0120). A single thread, or a disk's requests one by one, would wait for that.
// Invariant: what others write into the memory meanwhile, like a disk that reads, stays (docs/adr/0125).
#pragma once

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/extents.hpp"
#include "core/threads.hpp"

namespace spanfft {

class FirstTouch {
  public:
    FirstTouch() = default;
    explicit FirstTouch(const Buffer& buffer)
        : base_(buffer.as<char>()),
          bytes_(static_cast<index_t>(buffer.bytes())),
          touched_(static_cast<size_t>(ceil_div(bytes_, kPieceBytes))) {}

    // Whether all of these bytes were touched, of those that are in the memory.
    bool has(const void* from, index_t bytes) const {
        const Pieces pieces = pieces_of(from, bytes);
        return std::all_of(touched_.begin() + pieces.first, touched_.begin() + pieces.end,
                           [](unsigned char touched) { return touched != 0; });
    }
    // Others have touched all of these bytes.
    void came(const void* from, index_t bytes) {
        const Pieces pieces = pieces_of(from, bytes);
        std::fill(touched_.begin() + pieces.first, touched_.begin() + pieces.end, 1);
    }
    // What has not been. Not by two threads at once. Allocates nothing.
    void touch(const void* from, index_t bytes, ThreadTeam& team) {
        const Pieces pieces = pieces_of(from, bytes);
        std::atomic<index_t> next{pieces.first};
        team.run([&](int /*member*/) {
            for (index_t piece = next++; piece < pieces.end; piece = next++)
                if (!std::exchange(touched_[static_cast<size_t>(piece)], 1)) touch_piece(piece);
        });
    }

  private:
    static constexpr index_t kPieceBytes = index_t{2} << 20, kPageBytes = 4096;

    struct Pieces {
        index_t first, end;
    };
    Pieces pieces_of(const void* from, index_t bytes) const {
        const index_t start = static_cast<const char*>(from) - base_, end = std::min(start + bytes, bytes_);
        const index_t first = std::clamp<index_t>(start, 0, bytes_) / kPieceBytes;
        return {first, std::max(first, ceil_div(end, kPieceBytes))};
    }
    // Writes to each page what is there. If someone else writes in between, the exchange fails, and the page is there.
    void touch_piece(index_t piece) {
        const index_t end = std::min((piece + 1) * kPieceBytes, bytes_);
        for (index_t page = piece * kPieceBytes; page < end; page += kPageBytes) {
            std::atomic_ref<char> first(base_[page]);
            char there = first.load(std::memory_order_relaxed);
            first.compare_exchange_strong(there, there, std::memory_order_relaxed);
        }
    }

    char* base_ = nullptr;
    index_t bytes_ = 0;
    std::vector<unsigned char> touched_;  // of each piece
};

}  // namespace spanfft
