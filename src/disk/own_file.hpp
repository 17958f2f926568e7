// OwnFile: what a run left for a later one (journal, scratch, unfinished output), opened so that nobody else can have
// put it there: a regular file of this user, with one name, that no link leads to, and without waiting for a FIFO.
#pragma once

#include <string>
#include <utility>

#include "core/extents.hpp"
#include "core/status.hpp"

namespace spanfft {

class OwnFile {
  public:
    OwnFile() = default;
    explicit OwnFile(int descriptor, index_t bytes) : descriptor_(descriptor), bytes_(bytes) {}
    ~OwnFile();
    OwnFile(OwnFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), bytes_(other.bytes_) {}
    OwnFile& operator=(OwnFile&& other) noexcept;
    OwnFile(const OwnFile&) = delete;
    OwnFile& operator=(const OwnFile&) = delete;

    int descriptor() const { return descriptor_; }
    int release() { return std::exchange(descriptor_, -1); }
    index_t bytes() const { return bytes_; }

  private:
    int descriptor_ = -1;
    index_t bytes_ = 0;
};

// For reading, or for writing too. io_error with errno's text where it can't be opened; a sentence of its own where it
// is not the user's.
Result<OwnFile> open_own_file(const std::string& path, bool write);
// The same, made where it is missing, readable by nobody else.
Result<OwnFile> open_or_make_own_file(const std::string& path);

// Takes the name away where it leads to a regular file of this user's; whatever else has it stays.
void unlink_own(const std::string& path);

}  // namespace spanfft
