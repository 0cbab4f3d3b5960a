#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/core/status.h"
#include "tests/fuzz/promises.h"

// Each <reader>_fuzz.cpp feeds arbitrary bytes to one reader. Beside crashes and what the
// sanitizers see, it is a finding when an error is not one clear line, or when a value does not
// survive being written and read again.

namespace neuroshard::fuzz {

/// An error of a reader is the input's fault, names the source, and prints as one short line.
inline void require_clear(const Status& status, std::string_view source = "input") {
  const std::string& message = status.message();
  require(status.code() == StatusCode::kInvalidInput, "bad input is kInvalidInput", message);
  require(message.starts_with(source), "the message names the source", message);
  require(message.size() < 2000, "the message is short", message);
  require(prints_as_one_line(message), "the message is one printable line", message);
}

/// The value, or nullptr after checking the error.
template <typename T>
const T* accepted(const Result<T>& result, std::string_view source = "input") {
  if (result.ok()) return &result.value();
  require_clear(result.status(), source);
  return nullptr;
}

/// The value of a text that a writer of ours made: it must be accepted.
template <typename T>
T reread(Result<T> result) {
  require(result.ok(), "what is written is read", result.status().message());
  return std::move(result).value();
}

}  // namespace neuroshard::fuzz
