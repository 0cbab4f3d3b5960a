#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace neuroshard::io {

/// Writes JSON that is the same for the same calls: members in the order given, numbers in the
/// shortest form that reads back to the same double, two spaces per level. A container opened with
/// Layout::kLine stays on one line with everything inside it. Calls must nest; a value inside an
/// object follows its key. Not thread-safe.
class JsonWriter {
 public:
  enum class Layout { kBlock, kLine };

  JsonWriter& begin_object(Layout layout = Layout::kBlock);
  JsonWriter& end_object();
  JsonWriter& begin_array(Layout layout = Layout::kBlock);
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);

  /// Text that is not UTF-8 is written with U+FFFD for each bad byte: the output is always JSON.
  JsonWriter& text(std::string_view value);
  JsonWriter& integer(std::int64_t value);
  JsonWriter& unsigned_integer(std::uint64_t value);
  /// NaN and infinities become null, which readers refuse.
  JsonWriter& number(double value);
  JsonWriter& boolean(bool value);
  JsonWriter& null();

  /// The text so far plus a final newline; leaves the writer empty.
  std::string take();

 private:
  struct Level {
    bool line;
    bool empty;
  };

  void before_value();
  void open(char bracket, Layout layout);
  void close(char bracket);
  void separate();
  JsonWriter& raw(std::string_view value);

  std::string out_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace neuroshard::io
