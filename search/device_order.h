#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
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
/// one that a shard fits on is the one it goes to. An update looks at some devices nearby, then
/// halves the rest, and moves an index for each device passed.
class DeviceOrder {
 public:
  /// All devices empty, or with what `each` has.
  void reset(std::int32_t devices, const DeviceLoad& each = {}) {
    loads_.assign(static_cast<std::size_t>(devices), each);
    ranks_.resize(loads_.size());
    for (std::int32_t device = 0; device < devices; ++device) {
      loads_[static_cast<std::size_t>(device)].device = device;
      ranks_[static_cast<std::size_t>(device)] = device;
    }
  }

  /// Every device of a host with what its host has in `hosts`, which are in order.
  void reset(const DeviceOrder& hosts, std::int32_t devices_per_host) {
    reset(static_cast<std::int32_t>(hosts.size()) * devices_per_host);
    std::size_t rank = 0;
    for (const std::int32_t host : hosts.ranks_) {
      const std::int32_t first = host * devices_per_host;
      for (std::int32_t device = first; device < first + devices_per_host; ++device) {
        const auto index = static_cast<std::size_t>(device);
        loads_[index] = hosts.loads_[static_cast<std::size_t>(host)];
        loads_[index].device = device;
        ranks_[rank++] = device;
      }
    }
  }

  [[nodiscard]] std::size_t size() const { return ranks_.size(); }
  [[nodiscard]] const DeviceLoad& operator[](std::size_t rank) const {
    return loads_[static_cast<std::size_t>(ranks_[rank])];
  }

  /// Adds a shard to the device at `rank`, whose load becomes `load` (not NaN).
  void add(std::size_t rank, double load, std::int64_t bytes, std::int64_t dims) {
    DeviceLoad& moved = loads_[static_cast<std::size_t>(ranks_[rank])];
    moved.load = load;
    moved.bytes += bytes;
    moved.dims += dims;
    const auto at = ranks_.begin() + static_cast<std::ptrdiff_t>(rank);
    const auto end = first_not(at + 1, ranks_.end(), [&](std::int32_t device) {
      return loads_[static_cast<std::size_t>(device)].before(moved);
    });
    std::rotate(at, at + 1, end);
    if (end != at + 1) return;
    const auto before = std::make_reverse_iterator(at);
    const auto begin = first_not(before, ranks_.rend(), [&](std::int32_t device) {
      return moved.before(loads_[static_cast<std::size_t>(device)]);
    });
    std::rotate(begin.base(), at, at + 1);
  }

 private:
  /// The first that is not; all after it are not, either. It is mostly near.
  template <typename Iterator, typename Is>
  static Iterator first_not(Iterator begin, Iterator end, const Is& is) {
    constexpr std::ptrdiff_t kNear = 16;
    const Iterator near = begin + std::min(kNear, end - begin);
    for (; begin != near; ++begin) {
      if (!is(*begin)) return begin;
    }
    return std::partition_point(begin, end, is);
  }

  std::vector<DeviceLoad> loads_;    // of each device
  std::vector<std::int32_t> ranks_;  // devices in order
};

}  // namespace neuroshard::search
