#include "engine/core/device_set.h"

#include <algorithm>
#include <utility>

namespace neuroshard {

DeviceSet::DeviceSet(std::vector<std::int32_t> devices) : devices_(std::move(devices)) {
  std::sort(devices_.begin(), devices_.end());
  devices_.erase(std::unique(devices_.begin(), devices_.end()), devices_.end());
  for (const std::int32_t device : devices_) {
    const auto bit = static_cast<std::size_t>(device);
    words_.resize(bit / kBits + 1);
    words_.back() |= std::uint64_t{1} << bit % kBits;
  }
}

bool DeviceSet::has_all(std::int32_t first, std::int32_t count) const {
  for (std::int32_t device = first; device < first + count && !all(); ++device) {
    if (!has(device)) return false;
  }
  return true;
}

std::string describe(const DeviceSet& set) {
  constexpr std::size_t kMost = 8;
  const std::vector<std::int32_t>& devices = set.devices();
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
