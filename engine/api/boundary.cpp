#include "engine/api/boundary.h"

#include <cstdint>

#include "engine/api/handles.h"
#include "io/text.h"

namespace neuroshard::api {
namespace {

neuroshard_status code_of(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return NEUROSHARD_OK;
    case StatusCode::kInvalidInput:
      return NEUROSHARD_INVALID_INPUT;
    case StatusCode::kInfeasible:
      return NEUROSHARD_INFEASIBLE;
    case StatusCode::kIoError:
      return NEUROSHARD_IO_ERROR;
    case StatusCode::kUnavailable:
      return NEUROSHARD_UNAVAILABLE;
    case StatusCode::kCancelled:
      return NEUROSHARD_CANCELLED;
    case StatusCode::kInternal:
      return NEUROSHARD_INTERNAL;
  }
  return NEUROSHARD_INTERNAL;
}

}  // namespace

neuroshard_status report(neuroshard_error* error, const Status& status) noexcept {
  const neuroshard_status code = code_of(status.code());
  if (error == nullptr) return code;
  error->status = code;
  error->fixed = nullptr;
  try {
    error->message = io::message_line(status.message());
  } catch (...) {
    error->fixed = "an error whose description did not fit into memory";
  }
  return code;
}

neuroshard_status report_out_of_memory(neuroshard_error* error) noexcept {
  if (error != nullptr) {
    error->status = NEUROSHARD_OUT_OF_MEMORY;
    error->fixed = "out of memory";
  }
  return NEUROSHARD_OUT_OF_MEMORY;
}

Result<std::string_view> view_of(neuroshard_text text, const char* name) {
  if (text.data == nullptr) {
    if (text.size == 0 || text.size == NEUROSHARD_NUL_TERMINATED) return std::string_view("");
    return invalid_input(std::string(name) + ": found NULL with size " + std::to_string(text.size) +
                         ", expected a pointer or size 0");
  }
  if (text.size == NEUROSHARD_NUL_TERMINATED) return std::string_view(text.data);
  if (text.size > static_cast<std::size_t>(PTRDIFF_MAX)) {
    return invalid_input(std::string(name) + ": found size " + std::to_string(text.size) +
                         ", expected at most " + std::to_string(PTRDIFF_MAX));
  }
  return std::string_view(text.data, text.size);
}

Result<std::string> path_of(neuroshard_text text, const char* name) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view path, view_of(text, name));
  if (path.empty() || path.find('\0') != std::string_view::npos) {
    return invalid_input(std::string(name) + ": found " +
                         (path.empty() ? "no text" : "a 0 byte inside") + ", expected a path");
  }
  return path == "-" ? std::string("./-") : std::string(path);
}

Status check_struct(const void* given, std::size_t known, const char* name, bool is_input) {
  NEUROSHARD_RETURN_IF_ERROR(require(given, name));
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  if (size < sizeof size || size > kMaxStructSize) {
    return invalid_input(std::string(name) + ".struct_size: found " + std::to_string(size) +
                         ", expected the sizeof of the struct (" + std::to_string(known) +
                         " in this version)");
  }
  if (!is_input || size <= known) return {};
  const auto* bytes = static_cast<const char*>(given);
  if (std::all_of(bytes + known, bytes + size, [](char byte) { return byte == 0; })) return {};
  return invalid_input(std::string(name) + ": a field is set that this version of the library (" +
                       neuroshard_version() + ") does not know, expected 0");
}

}  // namespace neuroshard::api
