#pragma once

#include <cstdint>
#include <vector>

namespace neuroshard::search {

/// What a greedy rule knows of a device.
struct DeviceLoad {
  double load = 0;  ///< what the rule balances: predicted ms, bytes, dims, ...
  std::int64_t bytes = 0;
  std::int64_t dims = 0;
  std::int32_t device = 0;

  /// Least load first; equal loads: less memory used, then lower index.
  [[nodiscard]] bool before(const DeviceLoad& other) const {
    if (load != other.load) return load < other.load;
    if (bytes != other.bytes) return bytes < other.bytes;
    return device < other.device;
  }
};

/// All devices in the order in which greedy rules try them, kept sorted as loads change: the first
/// one that a shard fits on is the one it goes to. An update costs O(devices moved past), which in
/// practice is short for few devices and one memmove for many.
class DeviceOrder {
 public:
  /// All devices empty, or with what `each` has.
  void reset(std::int32_t devices, const DeviceLoad& each = {}) {
    devices_.assign(static_cast<std::size_t>(devices), each);
    for (std::int32_t device = 0; device < devices; ++device) {
      devices_[static_cast<std::size_t>(device)].device = device;
    }
  }

  /// Every device of a host with what its host has in `hosts`, which are in order.
  void reset(const DeviceOrder& hosts, std::int32_t devices_per_host) {
    devices_.clear();
    for (const DeviceLoad& host : hosts.devices_) {
      for (std::int32_t rank = 0; rank < devices_per_host; ++rank) {
        devices_.push_back(host);
        devices_.back().device = host.device * devices_per_host + rank;
      }
    }
  }

  [[nodiscard]] std::size_t size() const { return devices_.size(); }
  [[nodiscard]] const DeviceLoad& operator[](std::size_t rank) const { return devices_[rank]; }

  /// Adds a shard to the device at `rank`, whose load becomes `load` (not NaN).
  void add(std::size_t rank, double load, std::int64_t bytes, std::int64_t dims) {
    DeviceLoad moved = devices_[rank];
    moved.load = load;
    moved.bytes += bytes;
    moved.dims += dims;
    while (rank + 1 < devices_.size() && devices_[rank + 1].before(moved)) {
      devices_[rank] = devices_[rank + 1];
      ++rank;
    }
    while (rank > 0 && moved.before(devices_[rank - 1])) {
      devices_[rank] = devices_[rank - 1];
      --rank;
    }
    devices_[rank] = moved;
  }

 private:
  std::vector<DeviceLoad> devices_;
};

}  // namespace neuroshard::search
