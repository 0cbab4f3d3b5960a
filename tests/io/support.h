#pragma once

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>
#include <string_view>

#include "engine/core/status.h"

namespace neuroshard::test {

/// A folder of its own for one test, removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "neuroshard-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  /// Files and folders in it, hidden ones too.
  [[nodiscard]] std::ptrdiff_t entries() const {
    return std::distance(std::filesystem::directory_iterator(path_), {});
  }

 private:
  std::filesystem::path path_;
};

/// The status must be this error, on one line, with every one of `parts` in its text.
inline void check_error(const Status& status, StatusCode code,
                        std::initializer_list<std::string_view> parts) {
  BOOST_TEST(!status.ok());
  BOOST_TEST(static_cast<int>(status.code()) == static_cast<int>(code), status.message());
  BOOST_TEST(status.message().find('\n') == std::string::npos, status.message());
  for (const std::string_view part : parts) {
    BOOST_TEST(status.message().find(part) != std::string::npos,
               "'" << status.message() << "' lacks '" << part << "'");
  }
}

/// The usual case: kInvalidInput.
inline void check_refused(const Status& status, std::initializer_list<std::string_view> parts) {
  check_error(status, StatusCode::kInvalidInput, parts);
}

template <typename T>
const T& value_of(const Result<T>& result) {
  BOOST_REQUIRE_MESSAGE(result.ok(), result.status().message());
  return result.value();
}

/// The same for a result nobody keeps.
template <typename T>
T value_of(Result<T>&& result) {
  BOOST_REQUIRE_MESSAGE(result.ok(), result.status().message());
  return std::move(result).value();
}

/// Every proper prefix of `bytes` is refused by `parse` with one line that names `source`: no
/// crash, no half-read value. `bytes` may be complete before its last `slack` bytes (a final
/// newline).
template <typename Parse>
void check_prefixes_refused(std::string_view bytes, std::string_view source, Parse parse,
                            std::size_t slack = 0) {
  for (std::size_t size = 0; size + slack < bytes.size(); ++size) {
    // A copy of exactly this size: the address sanitizer sees a read behind the end.
    const std::string prefix(bytes.substr(0, size));
    const auto result = parse(std::string_view(prefix));
    BOOST_TEST(!result.ok(), "the first " << size << " bytes were accepted");
    if (!result.ok()) check_refused(result.status(), {source});
  }
}

}  // namespace neuroshard::test
