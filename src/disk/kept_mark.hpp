// KeptMark: what a kept file says itself of the moment that it is of, for a journal is believed only of data of its
// own.
//
// Method: a journal's lines of progress are numbered, its *generation*. Behind its array each kept file has a mark with
// the run that made it and two numbers: `written` is n when all is written that line n speaks of, before it is flushed
// with it; `settled` is n when line n is on the disk, before anything is written that may overwrite what the run needed
// until then. So a journal of n lines fits data with settled <= n <= written, whatever moment a kill or a power cut
// chose. One that lost lines is refused, for what it would do again may be gone (settled > n), and so is one that is
// newer than the data (written < n).
// Two copies, written in turn, as a power cut may tear the one that is being written.
// Invariant: the array's bytes are never touched; a mark shares no block of the file system with them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/status.hpp"
#include "disk/store.hpp"

namespace spanfft {

struct KeptMark {
    uint64_t run = 0;
    index_t written = 0, settled = 0;
};

constexpr index_t kMarkBytes = 2 * kDirectBytes;

// Where the mark of a file whose array ends at this byte begins; the file ends behind it.
inline index_t mark_offset(index_t bytes) { return round_up(bytes, kDirectBytes); }
inline index_t marked_bytes(index_t bytes) { return mark_offset(bytes) + kMarkBytes; }

Status write_mark(int descriptor, index_t offset_bytes, const KeptMark& mark, const std::string& path);
// The later one of a file's end; none where there is no good one.
Result<std::optional<KeptMark>> read_mark(const std::string& path);

}  // namespace spanfft
