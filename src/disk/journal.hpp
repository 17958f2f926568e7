// Journal: a text file that says how far a run has come, for the next start to go on from there.
//
// Method: lines of text, each followed by " #" and its checksum in hex. A line is appended and flushed before the next,
// so a killed run or a power cut can spoil only the last one, which is ignored and cut off. Of lines that are appended
// together to an empty journal the first is written when the others are on the disk; until then it says nothing. The
// file is locked with flock while a run holds it: the lock dies with its process. A line "run PID TIME" says whose it
// is. Nobody but its user can read it, and another user's is never believed (own_file.hpp).
// Invariant: a spoiled line that others follow is an error (Code::corrupt_data), never skipped.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "disk/sweep_log.hpp"

namespace spanfft {

// The lines of a journal's text without their checksums; `whole_bytes`: up to the end of the last good one.
Result<std::vector<std::string>> parse_journal(const std::string& text, const std::string& path, index_t& whole_bytes);
std::string journal_line(const std::string& line);  // with its checksum and newline

class Journal : public LineSink {
  public:
    // Opens or makes it and locks it. Another run that holds it is an error with that run's process. `discard`: what it
    // says is thrown away, readable or not.
    static Result<std::unique_ptr<Journal>> open(const std::string& path, bool discard = false);
    // What it says, without a lock; empty where there is none.
    static Result<std::vector<std::string>> peek(const std::string& path);
    ~Journal() override;
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    const std::vector<std::string>& lines() const { return lines_; }  // as found
    Status append(const std::string& line) override { return append_all({line}); }
    Status append_all(const std::vector<std::string>& lines);
    Status clear();
    void remove();  // its name; the lock stays until this goes
    const std::string& path() const { return path_; }

  private:
    Journal() = default;
    Status write_at(index_t offset_bytes, const std::string& text);  // and flushes
    Status flush();
    std::string path_;
    int descriptor_ = -1;
    index_t end_bytes_ = 0;
    std::vector<std::string> lines_;
};

// Of a line "KEY REST" of the key, the rest; of several the last. Empty: there is none.
std::string journal_value(const std::vector<std::string>& lines, const std::string& key);

}  // namespace spanfft
