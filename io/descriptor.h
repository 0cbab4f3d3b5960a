#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace neuroshard::io {

/// Owns a POSIX file descriptor; -1 is "not open". Use from one thread at a time.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  [[nodiscard]] bool is_open() const { return value_ >= 0; }
  [[nodiscard]] int get() const { return value_; }
  /// Closes it now; false with errno set when that failed.
  bool close();

 private:
  int value_ = -1;
};

/// Writes all of `bytes`, however many calls that takes; false with errno set on failure.
bool write_all(int descriptor, std::string_view bytes);

/// Makes the names in `directory` durable; false with errno set on failure. File systems that
/// cannot do it (EINVAL) count as done.
bool sync_directory(const std::string& directory);

/// Takes the lock of a file or folder until that is closed; false, with errno set, where somebody
/// else has it, the file system has no locks, or nothing is open. With it, what a killed process
/// left can be told from what is being written.
bool lock_alone(const Descriptor& file);

/// Text of errno.
std::string last_error();

}  // namespace neuroshard::io
