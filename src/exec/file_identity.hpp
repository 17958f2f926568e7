// What tells whether a file is the one that an unfinished run read from, or overwrites: its line in a journal, and the
// mark on a file that is half overwritten.
//
// The line:   input SIZE MODIFIED INODE SAMPLES CHANGED PATH
// MODIFIED can be set back by whoever has the file (touch), CHANGED (ctime) by nobody. SAMPLES is a checksum of 64 of
// the array's blocks, the first and the last among them.
// The mark is an extended attribute of the file itself, so it goes with it under every name, by every link, and into a
// copy that keeps attributes. File systems without attributes have the journal beside the file alone.
#pragma once

#include <optional>
#include <string>

#include "core/extents.hpp"
#include "core/status.hpp"

namespace spanfft {

// The file itself, whatever links lead to it.
std::string whole_path(const std::string& path);

// A path as part of a line, and back: control characters and '%' as %XX.
std::string path_in_line(const std::string& path);
std::string path_from_line(const std::string& text);

// Of the array of `bytes` bytes from offset_bytes on.
Result<std::string> input_line(const std::string& path, index_t offset_bytes, index_t bytes);

// Whether two lines have the same size; are about the same file (and size), though it be overwritten since; have the
// same samples.
bool same_size(const std::string& found, const std::string& now);
bool same_input_file(const std::string& found, const std::string& now);
bool same_samples(const std::string& found, const std::string& now);
// Of a path: the same size and samples, so that other times or another inode need not mean other bytes.
bool may_have_its_bytes(const std::string& found, const std::string& now);
// Whether nothing differs but the time of change, as after an OverwriteMark was set.
bool same_but_for_mark(const std::string& found, const std::string& now);

struct OverwriteMark {
    uint64_t run = 0;              // as in the journal's line "marks"
    std::string journal, problem;  // its path then
};
// Of the file that a path leads to; none where there is none, or can't be.
std::optional<OverwriteMark> overwrite_mark(const std::string& path);
// Whether its file system has them.
bool has_attributes(const std::string& path);
// Flushed. A file system that has no attributes is no error.
Status set_overwrite_mark(int descriptor, const OverwriteMark& mark, const std::string& path);
Status clear_overwrite_mark(const std::string& path);

}  // namespace spanfft
