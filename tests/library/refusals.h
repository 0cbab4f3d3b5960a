#pragma once

#include <string>
#include <string_view>

#include "tests/library/support.h"

namespace neuroshard::test {

inline neuroshard_text text(std::string_view view) { return {view.data(), view.size()}; }

struct ErrorHandle {
  neuroshard_error* handle = neuroshard_error_create();
  ErrorHandle() = default;
  ErrorHandle(const ErrorHandle&) = delete;
  ErrorHandle& operator=(const ErrorHandle&) = delete;
  ~ErrorHandle() { neuroshard_error_destroy(handle); }
  [[nodiscard]] std::string message() const {
    const neuroshard_text words = neuroshard_error_message(handle);
    return {words.data, words.size};
  }
};

/// `status` is INVALID_INPUT and the error's line holds `words`.
#define EXPECT_REFUSED(call, words)                                                  \
  do {                                                                               \
    const neuroshard_status status = (call);                                         \
    BOOST_TEST(status == NEUROSHARD_INVALID_INPUT, #call << " gives " << status);    \
    const std::string line = error.message();                                        \
    BOOST_TEST((line.find(words) != std::string::npos), #call << " says: " << line); \
    BOOST_TEST((line.find('\n') == std::string::npos));                              \
  } while (false)

inline neuroshard_table good_table() {
  neuroshard_table table{};
  table.struct_size = sizeof table;
  table.name = text("t");
  table.rows = 100;
  table.dim = 8;
  table.pooling_factor = 1;
  return table;
}

/// Adds `table` to an empty workload.
inline neuroshard_status add(const neuroshard_table& table, const ErrorHandle& error) {
  const Workload workload = must(Workload::create());
  return neuroshard_workload_add_table(workload.get(), &table, error.handle);
}

}  // namespace neuroshard::test
