// Where the bytes of a striped store lie, and its requests; see striped_store.hpp.
#include "disk/striped_store.hpp"

#include <algorithm>
#include <cassert>

#include "core/extents.hpp"

namespace spanfft {

// 1779033703 / 2^32 is sqrt(2) - 1 to nine places; from stripe 2^33 on the product wraps, and any turn will do. sqrt(2)
// because its multiples keep away from whole numbers as well as any number's do; among the digit sums, hashes and other
// roots tried it left the busiest of 2 to 16 disks the least to do, for steps of up to 2^20 blocks.
index_t StripeGeometry::turn(index_t stripe) const {
    if (!turns) return 0;
    return static_cast<index_t>(static_cast<uint64_t>(stripe) * 1779033703U >> 32) % disks;
}

StripeGeometry::Place StripeGeometry::place(index_t byte) const {
    const index_t block = byte / block_bytes, stripe = block / disks;
    return {stripe, static_cast<int>((block + turn(stripe)) % disks), byte % block_bytes};
}

index_t StripeGeometry::block_on(index_t stripe, int disk) const {
    return stripe * disks + (disk + disks - turn(stripe)) % disks;
}

// Whole stripes but the last, of which the disk may hold a block, a part of one, or nothing.
index_t StripeGeometry::bytes_on(int disk, index_t total_bytes) const {
    if (total_bytes == 0) return 0;
    const index_t last = (total_bytes - 1) / (disks * block_bytes);
    const index_t begin = block_on(last, disk) * block_bytes;
    return last * block_bytes + std::clamp<index_t>(total_bytes - begin, 0, block_bytes);
}

StripedStore::StripedStore(std::vector<std::unique_ptr<Store>> disks, index_t block_bytes, index_t size_bytes,
                           bool turns)
    : disks_(std::move(disks)), size_bytes_(size_bytes) {
    assert(!disks_.empty() && disks_.size() <= static_cast<size_t>(kMaxDisks) && block_bytes > 0);
    geometry_ = {static_cast<int>(disks_.size()), block_bytes, turns};
}

bool StripedStore::next_piece(const Run& run, int index, index_t& from, Run& piece) const {
    const index_t end = run.offset_bytes + run.bytes;
    const index_t stripe_bytes = geometry_.disks * geometry_.block_bytes;
    for (index_t stripe = from / stripe_bytes; stripe * stripe_bytes < end; ++stripe) {
        const index_t block_begin = geometry_.block_on(stripe, index) * geometry_.block_bytes;
        const index_t begin = std::max(block_begin, from);
        const index_t stop = std::min(block_begin + geometry_.block_bytes, end);
        if (begin >= stop) continue;
        piece.offset_bytes = stripe * geometry_.block_bytes + begin - block_begin;
        piece.data = static_cast<char*>(run.data) + (begin - run.offset_bytes);
        piece.bytes = stop - begin;
        piece.slack = run.slack && geometry_.block_bytes % kDirectBytes == 0;
        from = stop;
        return true;
    }
    return false;
}

Status StripedStore::transfer(IoKind kind, const Run& run) {
    SPANFFT_TRY(check_range(run));
    for (int index = 0; index < geometry_.disks; ++index) {
        Store& below = disk(index);
        index_t from = run.offset_bytes;
        for (Run piece; next_piece(run, index, from, piece);) {
            SPANFFT_TRY(kind == IoKind::read ? below.read(piece) : below.write(piece));
        }
    }
    return {};
}

Status StripedStore::sync() {
    for (auto& disk : disks_) SPANFFT_TRY(disk->sync());
    return {};
}

std::string StripedStore::describe() const {
    std::string text = cat("scratch in blocks of ", geometry_.block_bytes, " bytes on ");
    for (size_t i = 0; i < disks_.size(); ++i) text += (i == 0 ? "" : ", ") + disks_[i]->describe();
    return text;
}

}  // namespace spanfft
