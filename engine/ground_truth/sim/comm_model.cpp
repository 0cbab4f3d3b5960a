#include "engine/ground_truth/sim/comm_model.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "engine/core/exchange_format.h"
#include "engine/core/interconnect.h"
#include "engine/ground_truth/requests/request.h"

namespace neuroshard {
namespace {

constexpr double kBytesPerValue = 4;  // on the devices

std::size_t host_of(const InterconnectProfile& link, std::size_t device) {
  const auto per_host = static_cast<std::size_t>(link.devices_per_host.value);
  return per_host == 0 ? 0 : device / per_host;
}

/// The device's number on its host.
std::size_t place_of(const InterconnectProfile& link, std::size_t device) {
  const auto per_host = static_cast<std::size_t>(link.devices_per_host.value);
  return per_host == 0 ? device : device % per_host;
}

/// Of an exchange in steps: all but the partial sums that wait for others, or those.
enum class Part { kAll, kFirst, kSecond };

/// One exchange: bytes(q, r) go from device q to device r.
struct Exchange {
  const InterconnectProfile& link;
  const ExchangeValues& values;
  std::vector<double> samples;           ///< that each device keeps
  std::vector<double> samples_of_place;  ///< that all devices with one number on their host keep
  ExchangeFormat format;
  bool backward = false;
  Part part = Part::kAll;

  /// Forward: q's columns of r's samples. Backward: the gradients of r's columns of q's samples.
  [[nodiscard]] double bytes(std::size_t from, std::size_t to) const {
    double all = 0;
    if (part != Part::kSecond) all += exchange_bytes(whole(from, to), whole_precision());
    if (part == Part::kAll || part == part_of_sums(from, to)) {
      all += exchange_bytes(partial(from, to), partial_precision());
    }
    return all;
  }

  /// That a codec on `device` reads and writes of all that it sends, to itself too: fp32 values and
  /// what travels of them. As much of what it receives: `received`.
  [[nodiscard]] double codec_bytes(std::size_t device, bool received) const {
    double own_whole = 0;
    double own_partial = 0;
    for (std::size_t peer = 0; peer < samples.size(); ++peer) {
      const std::size_t from = received ? peer : device;
      const std::size_t to = received ? device : peer;
      own_whole += whole(from, to);
      own_partial += partial(from, to);
    }
    return both_sides(own_whole, whole_precision()) + both_sides(own_partial, partial_precision());
  }

 private:
  /// Forward those inside a host go first, backward those between hosts.
  [[nodiscard]] Part part_of_sums(std::size_t from, std::size_t to) const {
    const bool near = host_of(link, from) == host_of(link, to);
    return near != backward ? Part::kFirst : Part::kSecond;
  }
  /// Nothing where what travels is what there is.
  [[nodiscard]] static double both_sides(double count, Precision precision) {
    if (precision == Precision::kFp32) return 0;
    return count * kBytesPerValue + exchange_bytes(count, precision);
  }
  [[nodiscard]] Precision whole_precision() const {
    return backward ? format.backward : format.forward;
  }
  [[nodiscard]] Precision partial_precision() const {
    return backward ? summed_backward(format.backward) : summed_forward(format.forward);
  }
  [[nodiscard]] double whole(std::size_t from, std::size_t to) const {
    return backward ? values.whole[to] * samples[from] : values.whole[from] * samples[to];
  }
  [[nodiscard]] double partial(std::size_t from, std::size_t to) const {
    const std::size_t owner = backward ? to : from;
    const std::size_t keeper = backward ? from : to;
    const std::size_t place = place_of(link, keeper);
    if (host_of(link, owner) == host_of(link, keeper)) {
      return values.partial[owner] * samples_of_place[place];
    }
    const std::vector<double>& sums = values.added_up.empty() ? values.partial : values.added_up;
    return place_of(link, owner) == place ? sums[owner] * samples[keeper] : 0;
  }
};

/// How long one device's port is busy with its bytes so far, and when it can be done with them at
/// the earliest.
struct Port {
  double busy_ms = 0;
  double end_ms = 0;

  /// `more` bytes at this rate cannot move before `ready_ms`; called in descending order of
  /// `ready_ms`, so that all bytes counted so far have to move after it.
  void add(double more, double ready_ms, double gbps) {
    if (more <= 0) return;
    busy_ms += more / gbps * 1e-6;
    end_ms = std::max(end_ms, ready_ms + busy_ms);
  }
};

/// When the last port of `device` is done. `by_start` lists all devices, latest start first.
double device_end(const Exchange& exchange, std::span<const double> starts_ms,
                  const std::vector<std::size_t>& by_start, std::size_t device) {
  const InterconnectProfile& link = exchange.link;
  Port out_near;
  Port in_near;
  Port out_far;
  Port in_far;
  for (const std::size_t peer : by_start) {
    if (peer == device) continue;
    const double ready = std::max(starts_ms[device], starts_ms[peer]);
    const bool near = host_of(link, device) == host_of(link, peer);
    const double out = exchange.bytes(device, peer);
    const double in = exchange.bytes(peer, device);
    const auto gbps = [&](double bytes) {
      return near ? link.intra_host_gbps.value : inter_host_gbps(link, bytes);
    };
    (near ? out_near : out_far).add(out, ready, gbps(out));
    (near ? in_near : in_far).add(in, ready, gbps(in));
  }
  return std::max(
      {starts_ms[device], out_near.end_ms, in_near.end_ms, out_far.end_ms, in_far.end_ms});
}

/// When each device is done with its part.
std::vector<double> device_ends(const Exchange& exchange, std::span<const double> starts_ms) {
  std::vector<std::size_t> by_start(starts_ms.size());
  std::iota(by_start.begin(), by_start.end(), std::size_t{0});
  std::stable_sort(by_start.begin(), by_start.end(),
                   [&](std::size_t a, std::size_t b) { return starts_ms[a] > starts_ms[b]; });
  std::vector<double> ends;
  for (std::size_t device = 0; device < starts_ms.size(); ++device) {
    ends.push_back(device_end(exchange, starts_ms, by_start, device));
  }
  return ends;
}

/// Every device waits for the others of its host.
void meet_on_hosts(const InterconnectProfile& link, std::vector<double>& ends_ms) {
  std::vector<double> last(ends_ms.size());
  for (std::size_t device = 0; device < ends_ms.size(); ++device) {
    double& own = last[host_of(link, device)];
    own = std::max(own, ends_ms[device]);
  }
  for (std::size_t device = 0; device < ends_ms.size(); ++device) {
    ends_ms[device] = last[host_of(link, device)];
  }
}

/// When the whole exchange is over.
double exchange_end(Exchange exchange, std::span<const double> starts_ms) {
  const auto devices = static_cast<std::int32_t>(starts_ms.size());
  const InterconnectProfile& link = exchange.link;
  const bool in_steps = exchange.values.in_steps && hosts_of(link, devices) > 1;
  if (in_steps) exchange.part = Part::kFirst;
  std::vector<double> ends = device_ends(exchange, starts_ms);
  double latencies = devices > 1 ? exchange.values.collectives * latency_ms(link, devices) : 0;
  if (in_steps) {
    meet_on_hosts(link, ends);
    exchange.part = Part::kSecond;
    ends = device_ends(exchange, std::vector<double>(ends));
    latencies += 1e-3 * link.intra_host_latency_us.value;
  }
  return *std::max_element(ends.begin(), ends.end()) + latencies;
}

/// Of what one device keeps, read and written.
double copy_ms(const HardwareProfile& profile, const ExchangeValues& values,
               std::int64_t batch_size) {
  const auto devices = static_cast<std::int64_t>(values.whole.size());
  if (devices < 2) return 0;
  const double all = std::accumulate(values.whole.begin(), values.whole.end(), 0.0);
  const auto samples = static_cast<double>(samples_of_device(batch_size, devices, 0));
  return profile.exchange_copies.value * 2 * samples * all * kBytesPerValue /
         profile.dram_gbps.value * 1e-6;
}

/// Each device's time on one side of the exchange, at `gbps`; one device exchanges nothing.
std::vector<double> codec_ms(const Exchange& exchange, bool received, double gbps) {
  std::vector<double> ms(exchange.samples.size());
  if (ms.size() < 2) return ms;
  for (std::size_t device = 0; device < ms.size(); ++device) {
    ms[device] = exchange.codec_bytes(device, received) / gbps * 1e-6;
  }
  return ms;
}

/// When each device has what it is sent, decoded, if it begins to encode at its start.
std::vector<double> coded_ends(const Exchange& exchange, std::span<const double> starts_ms,
                               double codec_gbps) {
  std::vector<double> starts = codec_ms(exchange, false, codec_gbps);
  for (std::size_t device = 0; device < starts.size(); ++device)
    starts[device] += starts_ms[device];
  const double end = exchange_end(exchange, starts);
  std::vector<double> ends = codec_ms(exchange, true, codec_gbps);
  for (double& own : ends) own += end;
  return ends;
}

/// `codec_gbps`: of the devices' memory; nothing is asked of it where the format is exact.
CommTime simulate_network(const InterconnectProfile& link, const ExchangeValues& values,
                          std::span<const double> starts_ms, std::int64_t batch_size,
                          const ExchangeFormat& format, double codec_gbps) {
  const std::size_t devices = starts_ms.size();
  Exchange exchange{link, values, {}, std::vector<double>(devices), format, false};
  for (std::size_t device = 0; device < devices; ++device) {
    const std::int64_t samples = samples_of_device(batch_size, static_cast<std::int64_t>(devices),
                                                   static_cast<std::int64_t>(device));
    exchange.samples.push_back(static_cast<double>(samples));
    exchange.samples_of_place[place_of(link, device)] += exchange.samples.back();
  }
  CommTime time;
  time.forward_ms = coded_ends(exchange, starts_ms, codec_gbps);
  for (std::size_t device = 0; device < devices; ++device) {
    time.forward_ms[device] -= starts_ms[device];
  }
  exchange.backward = true;
  const std::vector<double> together(devices, 0.0);
  time.backward_ms = coded_ends(exchange, together, codec_gbps);
  return time;
}

}  // namespace

CommTime simulate_exchange(const HardwareProfile& profile, const InterconnectProfile& link,
                           const ExchangeValues& values, std::span<const double> starts_ms,
                           std::int64_t batch_size, const ExchangeFormat& format) {
  CommTime time =
      simulate_network(link, values, starts_ms, batch_size, format, profile.dram_gbps.value);
  const double copies = copy_ms(profile, values, batch_size);
  for (double& ms : time.forward_ms) ms += copies;
  for (double& ms : time.backward_ms) ms += copies;
  return time;
}

CommTime simulate_all_to_all(const InterconnectProfile& link, std::span<const std::int64_t> dims,
                             std::span<const double> starts_ms, std::int64_t batch_size) {
  const ExchangeValues values{{dims.begin(), dims.end()}, std::vector<double>(dims.size(), 0.0)};
  return simulate_network(link, values, starts_ms, batch_size, {}, 1);
}

}  // namespace neuroshard
