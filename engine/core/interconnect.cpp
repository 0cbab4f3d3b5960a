#include "engine/core/interconnect.h"

#include <algorithm>

namespace neuroshard {

std::int32_t hosts_of(const InterconnectProfile& link, std::int32_t devices) {
  const auto per_host = static_cast<std::int32_t>(link.devices_per_host.value);
  return per_host == 0 ? 1 : (devices - 1) / per_host + 1;
}

std::int32_t devices_of_host(const InterconnectProfile& link, std::int32_t devices) {
  const auto per_host = static_cast<std::int32_t>(link.devices_per_host.value);
  return hosts_of(link, devices) > 1 ? per_host : devices;
}

double inter_host_gbps(const InterconnectProfile& link, double bytes) {
  const double half = link.inter_host_half_mib.value * 0x1p20;
  const double small = link.inter_host_small_gbps.value;
  if (!(half > 0)) return link.inter_host_gbps.value;
  return small + (link.inter_host_gbps.value - small) * bytes / (bytes + half);
}

double latency_ms(const InterconnectProfile& link, std::int32_t devices) {
  const bool far = hosts_of(link, devices) > 1;
  return 1e-3 * (far ? link.inter_host_latency_us.value : link.intra_host_latency_us.value);
}

double all_reduce_ms(const InterconnectProfile& link, std::int32_t devices, double bytes) {
  if (devices < 2 || !(bytes > 0)) return 0;
  const double hosts = hosts_of(link, devices);
  const double near = devices_of_host(link, devices);
  // A reduce-scatter and an all-gather, each of all parts but the device's own.
  double ms = 2 * (near - 1) / near * bytes / link.intra_host_gbps.value * 1e-6;
  if (hosts > 1) {
    const double part = bytes / near / hosts;  // what a ring of the hosts passes on at a time
    ms += 2 * (hosts - 1) * part / inter_host_gbps(link, part) * 1e-6;
  }
  return ms + latency_ms(link, devices);
}

double all_to_all_ms(const InterconnectProfile& link, std::int32_t devices, double bytes) {
  if (devices < 2) return 0;
  const std::int32_t host = devices_of_host(link, devices);
  double ms = (host - 1) * bytes / link.intra_host_gbps.value * 1e-6;
  if (hosts_of(link, devices) > 1 && bytes > 0) {
    const std::int32_t fewest = (devices - 1) % host + 1;  // devices of the last host
    ms = std::max(ms, (devices - fewest) * bytes / inter_host_gbps(link, bytes) * 1e-6);
  }
  return ms + latency_ms(link, devices);
}

PortTimes output_times(const InterconnectProfile& link, std::int32_t devices) {
  const double near = devices_of_host(link, devices);
  const double inside = (near - 1) / devices / link.intra_host_gbps.value * 1e-6;
  if (near >= devices) return {inside, 0};
  return {inside, (devices - near) / devices / link.inter_host_gbps.value * 1e-6};
}

PortTimes partial_sum_times(const InterconnectProfile& link, std::int32_t devices) {
  const double near = devices_of_host(link, devices);
  const double hosts = hosts_of(link, devices);
  const double inside = (near - 1) / near / link.intra_host_gbps.value * 1e-6;
  if (hosts < 2) return {inside, 0};
  return {inside, (hosts - 1) / devices / link.inter_host_gbps.value * 1e-6};
}

}  // namespace neuroshard
