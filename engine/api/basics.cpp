// Versions, errors, bytes, cancelling.
#include <memory>

#include "engine/api/boundary.h"
#include "engine/api/handles.h"
#include "engine/core/version.h"
#include "io/file.h"

using neuroshard::Status;
using namespace neuroshard::api;

const char* neuroshard_version(void) { return neuroshard::version(); }

const char* neuroshard_commit(void) { return neuroshard::commit(); }

const char* neuroshard_status_name(neuroshard_status status) {
  switch (status) {
    case NEUROSHARD_OK:
      return "NEUROSHARD_OK";
    case NEUROSHARD_INVALID_INPUT:
      return "NEUROSHARD_INVALID_INPUT";
    case NEUROSHARD_INFEASIBLE:
      return "NEUROSHARD_INFEASIBLE";
    case NEUROSHARD_IO_ERROR:
      return "NEUROSHARD_IO_ERROR";
    case NEUROSHARD_UNAVAILABLE:
      return "NEUROSHARD_UNAVAILABLE";
    case NEUROSHARD_CANCELLED:
      return "NEUROSHARD_CANCELLED";
    case NEUROSHARD_INTERNAL:
      return "NEUROSHARD_INTERNAL";
    case NEUROSHARD_OUT_OF_MEMORY:
      return "NEUROSHARD_OUT_OF_MEMORY";
    default:
      return "unknown status";
  }
}

neuroshard_error* neuroshard_error_create(void) { return new (std::nothrow) neuroshard_error; }

void neuroshard_error_destroy(neuroshard_error* error) { delete error; }

neuroshard_status neuroshard_error_status(const neuroshard_error* error) {
  return error == nullptr ? NEUROSHARD_OK : error->status;
}

neuroshard_text neuroshard_error_message(const neuroshard_error* error) {
  if (error == nullptr) return text_of("");
  return text_of(error->fixed != nullptr ? std::string_view(error->fixed) : error->message);
}

neuroshard_text neuroshard_bytes_view(const neuroshard_bytes* bytes) {
  return text_of(bytes == nullptr ? std::string_view("") : bytes->content);
}

neuroshard_status neuroshard_bytes_write_file(const neuroshard_bytes* bytes, neuroshard_text path,
                                              neuroshard_error* error) {
  return guarded(error, [&]() -> Status {
    NEUROSHARD_REQUIRE(bytes);
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string file, path_of(path, "path"));
    return neuroshard::io::write_file_atomically(file, bytes->content);
  });
}

void neuroshard_bytes_destroy(neuroshard_bytes* bytes) { delete bytes; }

neuroshard_status neuroshard_cancellation_create(neuroshard_cancellation** cancellation,
                                                 neuroshard_error* error) {
  return make_handle(cancellation, error,
                     []() -> neuroshard::Result<std::unique_ptr<neuroshard_cancellation>> {
                       return std::make_unique<neuroshard_cancellation>();
                     });
}

void neuroshard_cancel(neuroshard_cancellation* cancellation) {
  if (cancellation != nullptr) cancellation->token.cancel();
}

int32_t neuroshard_cancelled(const neuroshard_cancellation* cancellation) {
  return cancellation != nullptr && cancellation->token.cancelled() ? 1 : 0;
}

void neuroshard_cancellation_reset(neuroshard_cancellation* cancellation) {
  if (cancellation != nullptr) cancellation->token.reset();
}

void neuroshard_cancellation_destroy(neuroshard_cancellation* cancellation) { delete cancellation; }
