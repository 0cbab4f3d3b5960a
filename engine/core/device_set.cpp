#include "engine/core/device_set.h"

namespace neuroshard {

DeviceSet::DeviceSet(const std::vector<std::int32_t>& devices) {
  for (const std::int32_t device : devices) {
    const auto word = static_cast<std::size_t>(device) / kBits;
    if (word >= words_.size()) words_.resize(word + 1);
    words_[word] |= std::uint64_t{1} << static_cast<std::size_t>(device) % kBits;
  }
}

bool DeviceSet::has_all(std::int32_t first, std::int32_t count) const {
  for (std::int32_t device = first; device < first + count && !all(); ++device) {
    if (!has(device)) return false;
  }
  return true;
}

std::vector<std::int32_t> DeviceSet::devices() const {
  std::vector<std::int32_t> devices;
  const auto end = static_cast<std::int32_t>(words_.size() * kBits);
  for (std::int32_t device = 0; device < end; ++device) {
    if (has(device)) devices.push_back(device);
  }
  return devices;
}

std::string describe(const DeviceSet& set) {
  constexpr std::size_t kMost = 8;
  const std::vector<std::int32_t> devices = set.devices();
  if (devices.empty()) return "any device";
  if (devices.size() == 1) return "device " + std::to_string(devices[0]);
  std::string text = "devices ";
  const std::size_t named = devices.size() <= kMost + 1 ? devices.size() - 1 : kMost;
  for (std::size_t k = 0; k < named; ++k) text += (k == 0 ? "" : ", ") + std::to_string(devices[k]);
  const std::size_t rest = devices.size() - named;
  return text + " and " +
         (rest == 1 ? std::to_string(devices.back()) : std::to_string(rest) + " more");
}

}  // namespace neuroshard
