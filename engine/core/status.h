#pragma once

#include <optional>
#include <string>
#include <utility>

namespace neuroshard {

/// What went wrong, coarse enough to act on. The command maps it to its exit code.
enum class StatusCode {
  kOk = 0,
  kInvalidInput,  ///< bad usage or bad input: exit code 2
  kInfeasible,    ///< no feasible plan: exit code 3
  kIoError,       ///< file, disk or pipe: exit code 1
  kUnavailable,   ///< hardware, driver or library missing: exit code 1
  kCancelled,     ///< the caller asked to stop: exit code 1
  kInternal,      ///< a bug or an exhausted machine: exit code 1
};

/// Result of an operation that returns nothing else: OK, or a code with one line of text that names
/// what was found and what was expected. Immutable once made; safe to share between threads.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  [[nodiscard]] bool ok() const { return code_ == StatusCode::kOk; }
  [[nodiscard]] StatusCode code() const { return code_; }
  [[nodiscard]] const std::string& message() const { return message_; }

  /// The same error with `context` and ": " in front of its text; OK stays OK.
  [[nodiscard]] Status with_context(const std::string& context) const {
    return ok() ? *this : Status(code_, context + ": " + message_);
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status invalid_input(std::string message) {
  return {StatusCode::kInvalidInput, std::move(message)};
}
inline Status infeasible(std::string message) {
  return {StatusCode::kInfeasible, std::move(message)};
}
inline Status io_error(std::string message) { return {StatusCode::kIoError, std::move(message)}; }
inline Status unavailable(std::string message) {
  return {StatusCode::kUnavailable, std::move(message)};
}
inline Status cancelled(std::string message) {
  return {StatusCode::kCancelled, std::move(message)};
}
inline Status internal_error(std::string message) {
  return {StatusCode::kInternal, std::move(message)};
}

/// A value or the Status that explains why there is none. REQUIRES ok() before value access.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit on purpose
    if (status_.ok()) status_ = internal_error("Result built from an OK status without a value");
  }

  [[nodiscard]] bool ok() const { return value_.has_value(); }
  [[nodiscard]] const Status& status() const { return status_; }

  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace neuroshard

/// Returns from the calling function when `expression` (a Status) is an error.
#define NEUROSHARD_RETURN_IF_ERROR(expression)                        \
  do {                                                                \
    if (::neuroshard::Status status_ = (expression); !status_.ok()) { \
      return status_;                                                 \
    }                                                                 \
  } while (false)

#define NEUROSHARD_CONCAT_INNER(a, b) a##b
#define NEUROSHARD_CONCAT(a, b) NEUROSHARD_CONCAT_INNER(a, b)

/// `declaration` = value of `expression` (a Result), or returns its Status from the calling
/// function.
#define NEUROSHARD_ASSIGN_OR_RETURN(declaration, expression) \
  auto NEUROSHARD_CONCAT(result_, __LINE__) = (expression);  \
  if (!NEUROSHARD_CONCAT(result_, __LINE__).ok()) {          \
    return NEUROSHARD_CONCAT(result_, __LINE__).status();    \
  }                                                          \
  declaration = std::move(NEUROSHARD_CONCAT(result_, __LINE__)).value()
