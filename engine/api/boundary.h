#pragma once

#include <neuroshard/engine.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "engine/core/status.h"

// What every function of the C interface does on its way in and out.

namespace neuroshard::api {

/// Stores `status` in `error` (may be null) and returns its C code. Its text becomes one line that
/// a terminal only shows, whatever paths and names it repeats.
neuroshard_status report(neuroshard_error* error, const Status& status) noexcept;
/// The same for exhausted memory, without needing any.
neuroshard_status report_out_of_memory(neuroshard_error* error) noexcept;

/// Runs `body`, which returns Status, and reports what it returns or throws: no exception gets past
/// the C interface.
template <typename Body>
neuroshard_status guarded(neuroshard_error* error, const Body& body) noexcept {
  try {
    return report(error, body());
  } catch (const std::bad_alloc&) {
    return report_out_of_memory(error);
  } catch (const std::length_error&) {  // a container asked for more than memory can hold
    return report_out_of_memory(error);
  } catch (const std::exception& exception) {
    const char* text = exception.what();
    try {
      return report(error, internal_error(text));
    } catch (...) {
      return report_out_of_memory(error);
    }
  } catch (...) {
    return report(error, Status(StatusCode::kInternal, {}));
  }
}

/// guarded() for functions that make a handle: `body` returns Result<std::unique_ptr<Handle>>.
/// *out is null unless it succeeds.
template <typename Handle, typename Body>
neuroshard_status make_handle(Handle** out, neuroshard_error* error, const Body& body) noexcept {
  if (out != nullptr) *out = nullptr;
  return guarded(error, [&]() -> Status {
    if (out == nullptr) return invalid_input("output handle: found NULL, expected its address");
    Result<std::unique_ptr<Handle>> made = body();
    if (!made.ok()) return made.status();
    *out = made->release();
    return {};
  });
}

/// kInvalidInput when a required pointer argument is null.
inline Status require(const void* pointer, const char* name) {
  if (pointer != nullptr) return {};
  return invalid_input(std::string(name) + ": found NULL, expected a pointer");
}

/// The bytes a text stands for. Errors: no pointer but a size, or more bytes than memory can hold.
Result<std::string_view> view_of(neuroshard_text text, const char* name);
/// A path that is a file's: not empty, no 0 byte, and "-" is a file of that name.
Result<std::string> path_of(neuroshard_text text, const char* name);
/// REQUIRES a 0 byte behind `text`.
inline neuroshard_text text_of(std::string_view text) { return {text.data(), text.size()}; }

/// Most bytes a versioned struct may claim: a bound for struct_sizes that were never set.
inline constexpr std::size_t kMaxStructSize = 4096;

/// Checks struct_size of the struct at `given`, of which this library knows `known` bytes, and that
/// what lies behind those is 0 when `is_input`.
Status check_struct(const void* given, std::size_t known, const char* name, bool is_input);

/// A versioned struct the caller filled in; fields its header did not have are 0.
template <typename Struct>
Result<Struct> read_struct(const Struct* given, const char* name) {
  NEUROSHARD_RETURN_IF_ERROR(check_struct(given, sizeof(Struct), name, true));
  Struct local{};
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  std::memcpy(&local, given, std::min(size, sizeof(Struct)));
  return local;
}

/// The same for one that may be NULL: all defaults.
template <typename Struct>
Result<Struct> read_optional_struct(const Struct* given, const char* name) {
  if (given == nullptr) return Struct{};
  return read_struct(given, name);
}

/// Fills in a versioned struct of the caller's, as much as its header has, the rest with 0.
template <typename Struct>
Status write_struct(Struct* given, Struct local, const char* name) {
  NEUROSHARD_RETURN_IF_ERROR(check_struct(given, sizeof(Struct), name, false));
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  local.struct_size = size;
  const std::size_t shared = std::min(size, sizeof(Struct));
  std::memcpy(given, &local, shared);
  std::memset(reinterpret_cast<char*>(given) + shared, 0, size - shared);
  return {};
}

/// A field that has to be 0, such as one kept for later.
inline Status require_zero(std::int64_t value, const char* name) {
  if (value == 0) return {};
  return invalid_input(std::string(name) + ": found " + std::to_string(value) + ", expected 0");
}

/// An input handle that may not be null is written *handle; `name` is what messages call it.
#define NEUROSHARD_REQUIRE(pointer) \
  NEUROSHARD_RETURN_IF_ERROR(::neuroshard::api::require(pointer, #pointer))

}  // namespace neuroshard::api
