#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace neuroshard {

/// Devices that something may be on: all, unless it is told which.
class DeviceSet {
 public:
  DeviceSet() = default;
  /// These, each at least 0, in any order; none: all.
  explicit DeviceSet(std::vector<std::int32_t> devices);

  [[nodiscard]] bool all() const { return words_.empty(); }
  [[nodiscard]] bool has(std::int32_t device) const {
    const auto word = static_cast<std::size_t>(device) / kBits;
    if (word >= words_.size()) return all();
    return (words_[word] >> (static_cast<std::size_t>(device) % kBits) & 1) != 0;
  }
  /// Whether it has all of so many devices from `first` on.
  [[nodiscard]] bool has_all(std::int32_t first, std::int32_t count) const;
  /// In ascending order; empty: all.
  [[nodiscard]] const std::vector<std::int32_t>& devices() const { return devices_; }

  friend bool operator==(const DeviceSet&, const DeviceSet&) = default;

 private:
  static constexpr std::size_t kBits = 64;
  std::vector<std::int32_t> devices_;
  std::vector<std::uint64_t> words_;  // of their bits
};

/// The set, or null where it is all devices: hot loops then look at no table, and ask may_be_on().
inline const DeviceSet* limit_of(const DeviceSet& devices) {
  return devices.all() ? nullptr : &devices;
}
/// Whether what has that limit may be on the device.
inline bool may_be_on(const DeviceSet* only_on, std::int32_t device) {
  return only_on == nullptr || only_on->has(device);
}

/// "devices 0, 1 and 5", or "any device".
std::string describe(const DeviceSet& set);

}  // namespace neuroshard
