// Names of I/O backends; see io_backend.hpp.
#include "disk/io_backend.hpp"

#include <cstdlib>

#include "core/nearest.hpp"

namespace spanfft {

const char* io_backend_name(IoBackend backend) {
    return backend == IoBackend::uring ? "uring" : backend == IoBackend::threads ? "threads" : "auto";
}

Result<IoBackend> parse_io_backend(const std::string& text) {
    for (const IoBackend backend : {IoBackend::automatic, IoBackend::uring, IoBackend::threads}) {
        if (text == io_backend_name(backend)) return backend;
    }
    if (text.empty()) return IoBackend::automatic;
    return error(Code::invalid_argument, "io is '", text, "'; it can be auto, uring or threads",
                 did_you_mean(text, "auto, uring, threads"));
}

Result<IoBackend> choose_io_backend(const std::string& asked) {
    if (!asked.empty()) return parse_io_backend(asked);
    const char* variable = std::getenv("SPANFFT_IO");
    if (!variable) return IoBackend::automatic;
    auto backend = parse_io_backend(variable);
    if (backend.ok()) return backend;
    return error(backend.status().code(), "the environment variable SPANFFT_IO: ", backend.status().message());
}

}  // namespace spanfft
