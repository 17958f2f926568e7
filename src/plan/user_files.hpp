// The few files that spanfft keeps for a user (figures of machines, results of tuning): where, and how they are
// written.
//
// Method: a text is written to a file of its own beside the target, flushed to disk and renamed over it, so a reader
// sees the old text or the new one, and what a killed writer leaves is removed by the next one. Writers that read
// first and add take a lock on a file beside the target, which the system frees when they die.
#pragma once

#include <string>

#include "core/status.hpp"

namespace spanfft {

// $SPANFFT_HOME, else $XDG_CACHE_HOME/spanfft, else $HOME/.cache/spanfft; empty where none is set. Not created.
std::string user_folder();

// The file's text; empty if there is no such file.
Result<std::string> read_text(const std::string& path);

// Makes missing folders; replaces the file as a whole.
Status write_text(const std::string& path, const std::string& text);

// Something that changes whenever the file does (time, size, inode); 0: there is no such file.
uint64_t file_stamp(const std::string& path);

// An exclusive lock, held until destroyed; waits for others.
class FileLock {
  public:
    static Result<FileLock> take(const std::string& path);
    FileLock(FileLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;
    FileLock& operator=(FileLock&&) = delete;
    ~FileLock();

  private:
    explicit FileLock(int fd) : fd_(fd) {}
    int fd_;
};

std::string utc_now();  // "2026-11-21T12:34:56Z"

}  // namespace spanfft
