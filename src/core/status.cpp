// Text for error codes and errno values; see status.hpp.
#include "core/status.hpp"

#include <cstring>

namespace spanfft {

const char* code_name(Code code) {
    switch (code) {
        case Code::ok:
            return "ok";
        case Code::invalid_argument:
            return "invalid argument";
        case Code::unsupported:
            return "unsupported";
        case Code::out_of_memory:
            return "out of memory";
        case Code::io_error:
            return "I/O error";
        case Code::no_space:
            return "no space";
        case Code::corrupt_data:
            return "corrupt data";
        case Code::mpi_error:
            return "MPI error";
        case Code::engine_error:
            return "engine error";
        case Code::interrupted:
            return "interrupted";
        case Code::internal:
            return "internal error";
        case Code::callback_failed:
            return "a callback failed";
    }
    return "unknown code";
}

Status error_errno(Code code, int errno_value, const std::string& what) {
    return Status(code, cat(what, ": ", std::strerror(errno_value), " (errno ", errno_value, ")"));
}

}  // namespace spanfft
