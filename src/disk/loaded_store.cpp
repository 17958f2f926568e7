// Reading into a run's own memory and converting there; see loaded_store.hpp.
#include "disk/loaded_store.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace spanfft {

namespace {

// On the stack of an I/O thread, where elements are while those that take their place are written.
constexpr index_t kStagedBytes = index_t{16} << 10;

index_t address_of(const void* data) { return static_cast<index_t>(reinterpret_cast<std::uintptr_t>(data)); }

// How far `value` is past a multiple of kSlackBytes; also of negative ones.
index_t past(index_t value) { return (value % kSlackBytes + kSlackBytes) % kSlackBytes; }

}  // namespace

LoadedStore::LoadedStore(Store& file, index_t file_offset_bytes, const NumberFormat& format, ElemType computed,
                         index_t elems)
    : file_(file),
      file_offset_bytes_(file_offset_bytes),
      elems_(elems),
      format_(format),
      computed_(computed),
      file_bytes_(format.bytes()),
      computed_bytes_(static_cast<index_t>(computed.bytes())),
      offset_bytes_(file_bytes_ == computed_bytes_ && file_offset_bytes % computed_bytes_ == 0 ? file_offset_bytes
                                                                                               : 0) {}

// From `from` on, which may lie inside what is written from `to` on, but not before it. Elements of a block are read
// before any of them is written; a block ends where what is written does not reach what is still to be read, which goes
// for all but the last few elements (widen), and those are one block.
void LoadedStore::spread(const char* from, index_t count, char* to) const {
    alignas(64) std::array<char, kStagedBytes> staged;
    const index_t most = kStagedBytes / file_bytes_, growth = computed_bytes_ - file_bytes_, up = from - to;
    for (index_t done = 0; done < count;) {
        index_t block = std::min(most, count - done);
        if (done + block < count && (done + block) * growth > up) block = up / growth - done;
        std::memcpy(staged.data(), from + done * file_bytes_, static_cast<size_t>(block * file_bytes_));
        format_.convert(staged.data(), block, computed_.precision, to + done * computed_bytes_);
        done += block;
    }
}

// The highest place in the run's memory that is as far past a boundary as the file's bytes: up to 1022 bytes below the
// end, so that some elements at the end, 511 of 2 bytes at most, are written over by the first of them.
Status LoadedStore::widen(const Run& run, index_t first, index_t count) {
    char* const data = static_cast<char*>(run.data);
    const index_t bytes = count * file_bytes_, room = run.bytes - bytes;
    Run below{file_offset_bytes_ + first * file_bytes_, nullptr, bytes, false};
    const index_t before = past(below.offset_bytes), after = past(-(before + bytes));
    index_t up = room - past(address_of(data) + room - before);
    if (!run.slack && up + bytes + after > run.bytes) up -= kSlackBytes;
    below.slack = bytes >= kDirectBytes && (run.slack ? up >= 0 : up >= before);
    if (!below.slack) up = room;
    below.data = data + up;
    SPANFFT_TRY(file_.read(below));
    spread(data + up, count, data);
    return {};
}

// Pieces into what is still to be filled, as long as it holds more than the stack does.
Status LoadedStore::narrow(const Run& run, index_t first, index_t count) {
    alignas(kSlackBytes) std::array<char, kStagedBytes + 2 * kSlackBytes> staged;
    for (index_t done = 0; done < count;) {
        char* const to = static_cast<char*>(run.data) + done * computed_bytes_;
        const index_t left = count - done, offset = file_offset_bytes_ + (first + done) * file_bytes_;
        const index_t before = past(offset), up = before + past(-address_of(to));
        const index_t fits = (left * computed_bytes_ - up - kSlackBytes) / file_bytes_;
        const bool inside = fits * file_bytes_ > kStagedBytes;
        const index_t piece = inside ? fits : std::min(left, kStagedBytes / file_bytes_);
        char* const from = inside ? to + up : staged.data() + before;
        SPANFFT_TRY(file_.read({offset, from, piece * file_bytes_, piece * file_bytes_ >= kDirectBytes}));
        if (inside)
            spread(from, piece, to);
        else
            format_.convert(from, piece, computed_.precision, to);
        done += piece;
    }
    return {};
}

Status LoadedStore::do_read(const Run& run) {
    SPANFFT_TRY(check_range(run));
    const index_t begin = run.offset_bytes - offset_bytes_;
    if (begin < 0 || begin % computed_bytes_ != 0 || run.bytes % computed_bytes_ != 0)
        return error(Code::internal, "a request of ", run.bytes, " bytes at ", run.offset_bytes, " cuts an element");
    const index_t elems = run.bytes / computed_bytes_;
    if (elems == 0) return {};
    SPANFFT_TRY(file_bytes_ <= computed_bytes_ ? widen(run, begin / computed_bytes_, elems)
                                               : narrow(run, begin / computed_bytes_, elems));
    count(IoKind::read, 0, elems * file_bytes_ - run.bytes);  // Store::read adds run.bytes
    return {};
}

Status LoadedStore::do_write(const Run&) { return error(Code::internal, "the wrong way through ", describe()); }

}  // namespace spanfft
