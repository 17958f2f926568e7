// Contiguous lines few at a time, the next ones fetched meanwhile.
//
// Method: the processor fetches ahead within a page only, so a library that walks a long list of lines waits for
// memory at every few of them. Here one call transforms a group of lines while those of the next group are fetched
// (core/stream_copy.hpp). Out of place a group goes to a buffer that stays in the cache and leaves it with stores that
// pass the cache by: else the output would be read before it is written.
#pragma once

#include <memory>

#include "core/buffer.hpp"
#include "engine/engine.hpp"

namespace spanfft {

struct RowsPath {
    bool fetch = true;    // the lines come from memory
    bool stream = false;  // results are not read again soon: out by way of a buffer
};

// A list of lines, equally far apart; for one thread at a time.
class RowGroups {
  public:
    // rows: one transform axis and one batch loop, the lines; scaled as they leave. Code::engine_error when the engine
    // declines them.
    static Result<RowGroups> make(const Engine& engine, const LocalSpec& rows, RowsPath path);

    index_t lines_a_group() const { return lines_a_group_; }
    // Lines [first, end), where first is that of a group, and end too unless it is the list's; in and out are those of
    // the whole list.
    void run(const void* in, void* out, index_t first, index_t end) const;
    void run(const void* in, void* out) const { run(in, out, 0, lines_); }

  private:
    void finish(char* to, index_t count) const;

    index_t lines_ = 0, lines_a_group_ = 1;
    index_t in_line_bytes_ = 0, out_line_bytes_ = 0, in_stride_bytes_ = 0, out_stride_bytes_ = 0;
    RowsPath path_;
    Precision precision_ = Precision::dbl;
    long double scale_ = 1;
    std::unique_ptr<LocalFft> group_, last_;  // last: of what whole groups leave over
    Buffer buffer_;                           // of one group's results, if they are streamed
};

// Whether rows can do this spec and are expected to gain: one contiguous axis, c2c, r2c or c2r, beyond the cache.
bool worth_rows(const LocalSpec& spec);

// Code::engine_error when there is no list of lines, or the engine declines them.
Result<std::unique_ptr<LocalFft>> plan_rows(const Engine& engine, const LocalSpec& spec);

}  // namespace spanfft
