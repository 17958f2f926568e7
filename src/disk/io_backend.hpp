// IoBackend: who carries out disk requests (async_io.hpp). Asked for by a problem's io=, else by the variable
// SPANFFT_IO.
#pragma once

#include <string>

#include "core/status.hpp"

namespace spanfft {

enum class IoBackend { automatic, uring, threads };

const char* io_backend_name(IoBackend backend);
Result<IoBackend> parse_io_backend(const std::string& text);  // "", "auto", "uring", "threads"
// What `asked` says, or SPANFFT_IO where it is empty.
Result<IoBackend> choose_io_backend(const std::string& asked);

}  // namespace spanfft
