// What all parts of neuroshard/engine.hpp share: errors, results and owning handles.
#ifndef NEUROSHARD_ENGINE_BASE_HPP_
#define NEUROSHARD_ENGINE_BASE_HPP_

#if __cplusplus <= 201703L
#error "neuroshard/engine.hpp needs C++20 (-std=c++20); neuroshard/engine.h does not"
#endif

#include <neuroshard/engine/base.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace neuroshard {
inline namespace api {  // so that no name is that of the engine's own classes

/// Why a call failed: a NEUROSHARD_... code and one line of text.
struct Error {
  neuroshard_status status = NEUROSHARD_OK;
  std::string message;
};

/// A value or an Error. REQUIRES ok() for the value, !ok() for the error.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose
  [[nodiscard]] bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const { return error_; }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Error error_;
};

/// Nothing or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose
  [[nodiscard]] bool ok() const { return error_.status == NEUROSHARD_OK; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  Error error_;
};

namespace detail {

inline neuroshard_text text(std::string_view view) { return {view.data(), view.size()}; }
inline std::string_view view(neuroshard_text text) { return {text.data, text.size}; }

/// A handle that is destroyed with its object.
template <typename T, void (*destroy)(T*)>
struct Destroy {
  void operator()(T* handle) const { destroy(handle); }
};
template <typename T, void (*destroy)(T*)>
using Handle = std::unique_ptr<T, Destroy<T, destroy>>;

/// Calls a C function with a fresh error handle behind its arguments.
template <typename Call>
Result<void> checked(const Call& call) {
  const Handle<neuroshard_error, neuroshard_error_destroy> error(neuroshard_error_create());
  const neuroshard_status status = call(error.get());
  if (status == NEUROSHARD_OK) return {};
  std::string message(view(neuroshard_error_message(error.get())));
  if (message.empty()) message = neuroshard_status_name(status);
  return Error{status, std::move(message)};
}

/// The same for functions that make a handle: wraps it in a `Wrapper`.
template <typename Wrapper, typename Raw, typename Call>
Result<Wrapper> made(const Call& call) {
  Raw* handle = nullptr;
  if (Result<void> done = checked([&](neuroshard_error* e) { return call(&handle, e); }); !done) {
    return done.error();
  }
  return Wrapper(handle);
}

template <typename Struct>
Struct versioned() {
  Struct value{};
  value.struct_size = sizeof value;
  return value;
}

}  // namespace detail

}  // namespace api
}  // namespace neuroshard

#endif
