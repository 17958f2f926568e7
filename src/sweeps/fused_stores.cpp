// Reads and writes with work in between; see fused_stores.hpp.
#include "sweeps/fused_stores.hpp"

#include <cstring>

namespace spanfft {

Status FusedReads::do_read(const Run& run) {
    SPANFFT_TRY(file_.read(run));
    const index_t elem_bytes = work_.read_bytes(), elems = run.bytes / elem_bytes;
    this->count(IoKind::read, 0, elems * work_.loaded_bytes() - run.bytes);  // Store::read adds run.bytes
    return work_.inward((run.offset_bytes - offset_bytes_) / elem_bytes, elems, run.data);
}

Status FusedReads::do_write(const Run&) { return error(Code::internal, "the wrong way through ", describe()); }

Status FusedBoxes::do_read(const Run& run) {
    SPANFFT_TRY(file_.read(run));
    const ArrayBoxes::Box box = boxes_.at_offset(run.offset_bytes);
    const index_t run_bytes = boxes_.flat_run_bytes(box), elems = run_bytes / boxes_.elem_bytes;
    for (index_t i = 0; i < boxes_.flat_runs(box); ++i) {
        const index_t first = boxes_.flat_offset_bytes(box, i) / boxes_.elem_bytes;
        SPANFFT_TRY(work_.inward(first, elems, static_cast<char*>(run.data) + i * run_bytes));
    }
    return {};
}

// Each run is packed where it lies, which its own memory has room for, and then to the end of those before it.
Status FusedBoxes::do_write(const Run& run) {
    const ArrayBoxes::Box box = boxes_.at_offset(run.offset_bytes);
    const index_t run_bytes = boxes_.flat_run_bytes(box), elems = run_bytes / boxes_.elem_bytes;
    const index_t stored_bytes = elems * work_.stored_bytes();
    char* const data = static_cast<char*>(run.data);
    for (index_t i = 0; i < boxes_.flat_runs(box); ++i) {
        char* const from = data + i * run_bytes;
        const auto no_shift = static_cast<index_t>(reinterpret_cast<std::uintptr_t>(from));
        const index_t first = boxes_.flat_offset_bytes(box, i) / boxes_.elem_bytes;
        SPANFFT_ASSIGN(const void* const stored, work_.outward(first, elems, from, no_shift));
        std::memmove(data + i * stored_bytes, stored, static_cast<size_t>(stored_bytes));
    }
    const Run stored{run.offset_bytes / boxes_.elem_bytes * work_.stored_bytes(), data,
                     run.bytes / boxes_.elem_bytes * work_.stored_bytes(), false};
    SPANFFT_TRY(file_.write(stored));
    count(IoKind::write, 0, stored.bytes - run.bytes);  // Store::write adds run.bytes
    return {};
}

// Nothing of value lies behind the run in memory or in the file only as far as the whole run goes, so no slack.
Status FusedWrites::do_write(const Run& run) {
    const index_t elem_bytes = work_.computed_bytes(), stored_bytes = work_.stored_bytes();
    const index_t first = (run.offset_bytes - offset_bytes_) / elem_bytes, count = run.bytes / elem_bytes;
    Run stored{offset_bytes_ + first * stored_bytes, nullptr, count * stored_bytes, false};
    SPANFFT_ASSIGN(stored.data, work_.outward(first, count, run.data, stored.offset_bytes));
    SPANFFT_TRY(file_.write(stored));
    this->count(IoKind::write, 0, stored.bytes - run.bytes);  // Store::write adds run.bytes
    return {};
}

Status FusedWrites::do_read(const Run&) { return error(Code::internal, "the wrong way through ", describe()); }

}  // namespace spanfft
