// Counting at the Store boundary; see store.hpp.
#include "disk/store.hpp"

namespace spanfft {

void Store::count(IoKind kind, index_t requests, index_t bytes) {
    const bool read = kind == IoKind::read;
    (read ? reads_ : writes_).fetch_add(requests, std::memory_order_relaxed);
    (read ? read_bytes_ : written_bytes_).fetch_add(bytes, std::memory_order_relaxed);
}

Status Store::read(const Run& run) {
    SPANFFT_TRY(do_read(run));
    count(IoKind::read, 1, run.bytes);
    return {};
}

Status Store::write(const Run& run) {
    SPANFFT_TRY(do_write(run));
    count(IoKind::write, 1, run.bytes);
    return {};
}

bool Store::next_piece(const Run& run, int /*index*/, index_t& from, Run& piece) const {
    if (from > run.offset_bytes) return false;
    piece = run;
    from = run.offset_bytes + run.bytes;
    return run.bytes > 0;
}

Status Store::transfer_part(IoKind kind, const Run& run, int index, index_t& bytes) {
    Store& below = disk(index);
    if (&below != this) SPANFFT_TRY(check_range(run));
    index_t from = run.offset_bytes, done = 0;
    bool first = false;
    for (Run piece; next_piece(run, index, from, piece);) {
        if (kind == IoKind::read) {
            SPANFFT_TRY(below.read(piece));
        } else {
            SPANFFT_TRY(below.write(piece));
        }
        first = first || piece.data == run.data;
        done += piece.bytes;
    }
    if (&below != this && done > 0) count(kind, first ? 1 : 0, done);
    bytes += done;
    return {};
}

Status Store::check_range(const Run& run) const {
    if (run.offset_bytes >= 0 && run.offset_bytes + run.bytes <= size_bytes()) return {};
    return error(Code::corrupt_data, describe(), " ends at byte ", size_bytes(), ", but bytes ", run.offset_bytes,
                 " to ", run.offset_bytes + run.bytes, " were asked for");
}

std::string Store::describe_range(index_t begin, index_t end) {
    std::string text;
    for (int index = 0; index < disks(); ++index) {
        index_t from = begin;
        Run piece;
        if (!next_piece({begin, nullptr, end - begin}, index, from, piece)) continue;
        Store& below = disk(index);
        text += (text.empty() ? "" : ", ") + (&below == this ? describe() : below.describe());
        if (piece.offset_bytes != begin) text += cat(" (there from byte ", piece.offset_bytes, ")");
    }
    return text;
}

StoreCounts Store::counts() const { return {reads_.load(), read_bytes_.load(), writes_.load(), written_bytes_.load()}; }

StoreCounter::StoreCounter(const Store& source, const Store& target)
    : source_(source), target_(target), source_before_(source.counts()), target_before_(target.counts()) {}

Counts StoreCounter::counted() const {
    const StoreCounts source = source_.counts(), target = target_.counts();
    Counts counts;
    if (source_.is_disk()) {
        counts.disk_reads = source.reads - source_before_.reads;
        counts.disk_read_bytes = source.read_bytes - source_before_.read_bytes;
    }
    if (target_.is_disk()) {
        counts.disk_writes = target.writes - target_before_.writes;
        counts.disk_written_bytes = target.written_bytes - target_before_.written_bytes;
    }
    return counts;
}

}  // namespace spanfft
