// Status and Result: how every function that meets the outside world reports failure.
//
// Method: an error code for programs and one sentence for people, which names the value that was wrong and
// what to do about it. Programmer mistakes assert; everything external (arguments, files, MPI, engines)
// returns a Status. Nothing throws across a module boundary and nothing prints, but for a rank that waits in MPI for a
// dead one (comm/mpi/rank_watch.hpp).
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

#include "core/text.hpp"

namespace spanfft {

// The values are part of the C ABI (include/spanfft/spanfft.h): append only.
enum class Code : int {
    ok = 0,
    invalid_argument = 1,  // the caller gave a value that can't be used
    unsupported = 2,       // valid, but not (yet) possible; the message names the alternative
    out_of_memory = 3,     // does not fit the budget, or an allocation failed
    io_error = 4,          // a file operation failed; the message has path and errno
    no_space = 5,          // the disk is, or would become, full
    corrupt_data = 6,      // a file does not hold what its header promises
    mpi_error = 7,         // an MPI call failed, or ranks disagree
    engine_error = 8,      // no local engine can do it, or the one that was forced can't
    interrupted = 9,       // stopped on request: no output appeared; what a journal keeps, the message says
    internal = 10,         // a bug in spanfft
    callback_failed = 11,  // a callback on blocks said so; the message is its sentence
};

const char* code_name(Code code);

class [[nodiscard]] Status {
  public:
    Status() = default;
    Status(Code code, std::string message) : code_(code), message_(std::move(message)) { assert(code != Code::ok); }
    bool ok() const { return code_ == Code::ok; }
    Code code() const { return code_; }
    const std::string& message() const { return message_; }

  private:
    Code code_ = Code::ok;
    std::string message_;
};

// For work that goes on after a failure, as other ranks take part in what is left: the first failure stays.
inline void keep_first(Status& first, Status next) {
    if (first.ok()) first = std::move(next);
}

// Joins its arguments as a stream would: cat("axis ", 3, " of ", 2).
template <class... Args>
std::string cat(const Args&... args) {
    TextWriter out;
    (out << ... << args);
    return out.str();
}

template <class... Args>
Status error(Code code, const Args&... args) {
    return Status(code, cat(args...));
}

// Same, with the text of the current errno appended: error_errno(Code::io_error, errno, "read ", path).
Status error_errno(Code code, int errno_value, const std::string& what);

// A value or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::move(value)) {}        // NOLINT: implicit on purpose
    Result(Status status) : state_(std::move(status)) {  // NOLINT: implicit on purpose
        assert(!std::get<Status>(state_).ok());
    }
    bool ok() const { return std::holds_alternative<T>(state_); }
    Status status() const { return ok() ? Status() : std::get<Status>(state_); }
    T& value() & {
        assert(ok());
        return std::get<T>(state_);
    }
    const T& value() const& {
        assert(ok());
        return std::get<T>(state_);
    }
    T&& value() && {
        assert(ok());
        return std::move(std::get<T>(state_));
    }

  private:
    std::variant<T, Status> state_;
};

// Returns early with the Status of EXPR when it failed.
#define SPANFFT_TRY(expr)                                        \
    do {                                                         \
        ::spanfft::Status spanfft_try_status = (expr);           \
        if (!spanfft_try_status.ok()) return spanfft_try_status; \
    } while (false)

// Declares or assigns TARGET from a Result, or returns early with its Status.
#define SPANFFT_JOIN_(a, b) a##b
#define SPANFFT_JOIN(a, b) SPANFFT_JOIN_(a, b)
#define SPANFFT_ASSIGN(target, expr) SPANFFT_ASSIGN_(SPANFFT_JOIN(spanfft_result_, __LINE__), target, expr)
#define SPANFFT_ASSIGN_(tmp, target, expr) \
    auto tmp = (expr);                     \
    if (!tmp.ok()) return tmp.status();    \
    target = std::move(tmp).value()

}  // namespace spanfft
