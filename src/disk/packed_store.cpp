// Moving the last number of a half spectrum into the first one and back; see packed_store.hpp.
#include "disk/packed_store.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace spanfft {

PackedStore::PackedStore(Store& inner, index_t offset_bytes, index_t packed_elems, index_t elem_bytes)
    : inner_(inner), offset_bytes_(offset_bytes), packed_elems_(packed_elems), elem_bytes_(elem_bytes) {
    assert(elem_bytes <= static_cast<index_t>(sizeof last_));
}

// Requests are for whole numbers, as all sweeps' are; one that cuts the first or the last number is a bug.
Result<PackedStore::Parts> PackedStore::parts_of(const Run& run) const {
    SPANFFT_TRY(check_range(run));
    const index_t begin = run.offset_bytes, end = begin + run.bytes;
    const bool has_first = begin <= offset_bytes_ && end > offset_bytes_, has_last = end > last_offset_bytes();
    const bool cut = begin < offset_bytes_ || (has_first && run.bytes < elem_bytes_) ||
                     (has_last && (begin > last_offset_bytes() || end != size_bytes()));
    if (cut) return error(Code::internal, "a request of ", run.bytes, " bytes at ", begin, " cuts a packed number");
    Parts parts;
    char* const data = static_cast<char*>(run.data);
    parts.in_file = run;
    parts.in_file.bytes = std::min(end, last_offset_bytes()) - begin;
    if (has_first) parts.first = data;
    if (has_last) {
        parts.last = data + (last_offset_bytes() - begin);
        parts.in_file.slack = false;  // what lies behind in memory is the last number
    }
    return parts;
}

Status PackedStore::load() {
    char first[sizeof last_];
    SPANFFT_TRY(inner_.read({offset_bytes_, first, elem_bytes_, false}));
    std::memcpy(last_, first + elem_bytes_ / 2, static_cast<size_t>(elem_bytes_ / 2));
    return {};
}

Status PackedStore::do_read(const Run& run) {
    SPANFFT_ASSIGN(const Parts parts, parts_of(run));
    if (parts.in_file.bytes > 0) SPANFFT_TRY(inner_.read(parts.in_file));
    if (parts.first) std::memset(parts.first + elem_bytes_ / 2, 0, static_cast<size_t>(elem_bytes_ / 2));
    if (parts.last) std::memcpy(parts.last, last_, static_cast<size_t>(elem_bytes_));
    return {};
}

Status PackedStore::do_write(const Run&) { return error(Code::internal, "the wrong way through ", describe()); }

// On the disk before the last number may be cut off: else a power cut could leave the cut alone.
Status pack_spectrum(Store& file, index_t offset_bytes, index_t packed_elems, index_t elem_bytes) {
    char last[16];
    assert(elem_bytes / 2 <= static_cast<index_t>(sizeof last));
    SPANFFT_TRY(file.read({offset_bytes + packed_elems * elem_bytes, last, elem_bytes / 2, false}));
    SPANFFT_TRY(file.write({offset_bytes + elem_bytes / 2, last, elem_bytes / 2, false}));
    return file.sync();
}

}  // namespace spanfft
