#include "engine/ground_truth/sim/comm_model.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "engine/ground_truth/request.h"

namespace neuroshard {
namespace {

constexpr double kBytesPerValue = 4;

/// One exchange: flow(q, r) bytes go from device q to device r.
struct Exchange {
  std::span<const std::int64_t> dims;
  std::vector<double> samples;
  bool backward = false;

  /// Forward: q's columns of r's samples. Backward: the gradients of r's columns of q's samples.
  [[nodiscard]] double bytes(std::size_t from, std::size_t to) const {
    const std::size_t columns = backward ? to : from;
    const std::size_t rows = backward ? from : to;
    return static_cast<double>(dims[columns]) * samples[rows] * kBytesPerValue;
  }
};

/// Bytes of one device's port so far, and when it can be done with them at the earliest.
struct Port {
  double bytes = 0;
  double end_ms = 0;

  /// `more` bytes cannot move before `ready_ms`; called in descending order of `ready_ms`, so that
  /// all bytes counted so far have to move after it.
  void add(double more, double ready_ms, double gbps) {
    if (more <= 0) return;
    bytes += more;
    end_ms = std::max(end_ms, ready_ms + bytes / gbps * 1e-6);
  }
};

std::size_t host_of(const InterconnectProfile& link, std::size_t device) {
  const auto per_host = static_cast<std::size_t>(link.devices_per_host.value);
  return per_host == 0 ? 0 : device / per_host;
}

/// When the last port of `device` is done. `by_start` lists all devices, latest start first.
double device_end(const InterconnectProfile& link, const Exchange& exchange,
                  std::span<const double> starts_ms, const std::vector<std::size_t>& by_start,
                  std::size_t device) {
  Port out_near;
  Port in_near;
  Port out_far;
  Port in_far;
  for (const std::size_t peer : by_start) {
    if (peer == device) continue;
    const double ready = std::max(starts_ms[device], starts_ms[peer]);
    const bool near = host_of(link, device) == host_of(link, peer);
    const double gbps = near ? link.intra_host_gbps.value : link.inter_host_gbps.value;
    (near ? out_near : out_far).add(exchange.bytes(device, peer), ready, gbps);
    (near ? in_near : in_far).add(exchange.bytes(peer, device), ready, gbps);
  }
  return std::max(
      {starts_ms[device], out_near.end_ms, in_near.end_ms, out_far.end_ms, in_far.end_ms});
}

/// When the whole exchange is over.
double exchange_end(const InterconnectProfile& link, const Exchange& exchange,
                    std::span<const double> starts_ms) {
  const std::size_t devices = starts_ms.size();
  std::vector<std::size_t> by_start(devices);
  std::iota(by_start.begin(), by_start.end(), std::size_t{0});
  std::stable_sort(by_start.begin(), by_start.end(),
                   [&](std::size_t a, std::size_t b) { return starts_ms[a] > starts_ms[b]; });
  double end = 0;
  for (std::size_t device = 0; device < devices; ++device) {
    end = std::max(end, device_end(link, exchange, starts_ms, by_start, device));
  }
  if (devices == 1) return end;
  const bool far = host_of(link, devices - 1) != 0;
  return end + 1e-3 * (far ? link.inter_host_latency_us.value : link.intra_host_latency_us.value);
}

}  // namespace

CommTime simulate_all_to_all(const InterconnectProfile& link, std::span<const std::int64_t> dims,
                             std::span<const double> starts_ms, std::int64_t batch_size) {
  Exchange exchange{dims, {}, false};
  const auto devices = static_cast<std::int64_t>(dims.size());
  for (std::int64_t device = 0; device < devices; ++device) {
    exchange.samples.push_back(static_cast<double>(samples_of_device(batch_size, devices, device)));
  }
  CommTime time;
  const double forward_end = exchange_end(link, exchange, starts_ms);
  for (const double start : starts_ms) time.forward_ms.push_back(forward_end - start);
  exchange.backward = true;
  const std::vector<double> together(dims.size(), 0.0);
  time.backward_ms.assign(dims.size(), exchange_end(link, exchange, together));
  return time;
}

}  // namespace neuroshard
