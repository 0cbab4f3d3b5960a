#include "io/cost_data/profile.h"

#include <cmath>
#include <utility>

#include "io/json/json.h"

namespace neuroshard::io {
namespace {

constexpr double kTiny = 1e-9;
constexpr double kHuge = 1e9;

/// {"value": number in [low, high], "source": "where it comes from"}.
Status read_constant(JsonObject& parent, std::string_view key, double low, double high,
                     SourcedValue& constant) {
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, parent.object(key));
  NEUROSHARD_ASSIGN_OR_RETURN(constant.value, object.number("value", low, high));
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue source, object.at("source"));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view text, source.text());
  if (text.empty()) return source.unexpected("where the value comes from");
  constant.source = text;
  return object.finish();
}

Status read_whole(JsonObject& parent, std::string_view key, double low, double high,
                  SourcedValue& constant) {
  NEUROSHARD_RETURN_IF_ERROR(read_constant(parent, key, low, high, constant));
  if (constant.value == std::floor(constant.value)) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, parent.object(key));
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonValue value, object.at("value"));
  return value.unexpected("a whole number");
}

/// A constant that older files do not have: `absent` then.
Status read_newer(JsonObject& parent, std::string_view key, double low, double high,
                  const SourcedValue& absent, SourcedValue& constant) {
  if (parent.has(key)) return read_constant(parent, key, low, high, constant);
  constant = absent;
  return {};
}

Status read_interconnect(JsonObject& object, InterconnectProfile& link) {
  NEUROSHARD_ASSIGN_OR_RETURN(link.name, object.shown_text("name"));
  NEUROSHARD_RETURN_IF_ERROR(
      read_whole(object, "devices_per_host", 0, 65536, link.devices_per_host));
  NEUROSHARD_RETURN_IF_ERROR(
      read_constant(object, "intra_host_gbps", kTiny, kHuge, link.intra_host_gbps));
  NEUROSHARD_RETURN_IF_ERROR(
      read_constant(object, "intra_host_latency_us", 0, kHuge, link.intra_host_latency_us));
  if (link.devices_per_host.value > 0) {
    NEUROSHARD_RETURN_IF_ERROR(
        read_constant(object, "inter_host_gbps", kTiny, kHuge, link.inter_host_gbps));
    NEUROSHARD_RETURN_IF_ERROR(
        read_constant(object, "inter_host_latency_us", 0, kHuge, link.inter_host_latency_us));
    NEUROSHARD_RETURN_IF_ERROR(read_newer(object, "inter_host_small_gbps", kTiny,
                                          link.inter_host_gbps.value, link.inter_host_gbps,
                                          link.inter_host_small_gbps));
    NEUROSHARD_RETURN_IF_ERROR(
        read_newer(object, "inter_host_half_mib", 0, kHuge, {}, link.inter_host_half_mib));
    NEUROSHARD_RETURN_IF_ERROR(read_newer(object, "inter_host_step_latency_us", 0, kHuge,
                                          link.inter_host_latency_us,
                                          link.inter_host_step_latency_us));
  }
  return object.finish();
}

Status read_interconnects(JsonObject& root, HardwareProfile& profile) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonArray links, root.array("interconnects"));
  if (links.size() == 0) return links.value().error("expected at least one interconnect");
  for (const JsonValue value : links) {
    NEUROSHARD_ASSIGN_OR_RETURN(JsonObject object, value.object());
    InterconnectProfile link;
    NEUROSHARD_RETURN_IF_ERROR(read_interconnect(object, link));
    if (link.name.empty()) return value.error("name is empty");
    for (const InterconnectProfile& other : profile.interconnects) {
      if (other.name == link.name) return value.error("a second interconnect '" + link.name + "'");
    }
    profile.interconnects.push_back(std::move(link));
  }
  return {};
}

Status read_memory(JsonObject& root, HardwareProfile& profile) {
  NEUROSHARD_RETURN_IF_ERROR(read_constant(root, "memory_gib", kTiny, kHuge, profile.memory_gib));
  NEUROSHARD_RETURN_IF_ERROR(read_constant(root, "dram_gbps", kTiny, kHuge, profile.dram_gbps));
  NEUROSHARD_RETURN_IF_ERROR(read_constant(root, "gather_share", kTiny, 1, profile.gather_share));
  NEUROSHARD_RETURN_IF_ERROR(read_constant(root, "l2_gbps", kTiny, kHuge, profile.l2_gbps));
  NEUROSHARD_RETURN_IF_ERROR(read_constant(root, "l2_mib", 0, kHuge, profile.l2_mib));
  NEUROSHARD_RETURN_IF_ERROR(read_constant(root, "l2_usable_share", 0, 1, profile.l2_usable_share));
  NEUROSHARD_RETURN_IF_ERROR(read_newer(root, "l1_kib", 0, kHuge, {}, profile.l1_kib));
  return read_whole(root, "sector_bytes", 1, 65536, profile.sector_bytes);
}

Status read_dense_layers(JsonObject& root, HardwareProfile& profile) {
  for (const auto& [key, constant] : {std::pair{"fp32_tflops", &profile.fp32_tflops},
                                      {"tf32_tflops", &profile.tf32_tflops},
                                      {"fp16_tflops", &profile.fp16_tflops},
                                      {"host_gbps", &profile.host_gbps}}) {
    NEUROSHARD_RETURN_IF_ERROR(read_newer(root, key, kTiny, kHuge, {}, *constant));
  }
  NEUROSHARD_RETURN_IF_ERROR(
      read_newer(root, "iteration_error", 0, kHuge, {}, profile.iteration_error));
  NEUROSHARD_RETURN_IF_ERROR(read_newer(root, "gemm_share", kTiny, 1, {}, profile.gemm_share));
  return read_newer(root, "elementwise_share", kTiny, 1, {}, profile.elementwise_share);
}

/// Of what a lookup's kernels do; a newer constant is as an older one where it is absent.
Status read_cycles(JsonObject& root, HardwareProfile& profile) {
  NEUROSHARD_RETURN_IF_ERROR(read_constant(root, "forward_cycles_per_lookup", 0, kHuge,
                                           profile.forward_cycles_per_lookup));
  NEUROSHARD_RETURN_IF_ERROR(read_constant(root, "backward_cycles_per_lookup", 0, kHuge,
                                           profile.backward_cycles_per_lookup));
  struct Newer {
    const char* key;
    SourcedValue* constant;
    const SourcedValue* absent;
  };
  const SourcedValue none;
  for (const Newer& newer : {
           Newer{"forward_cycles_per_l1_lookup", &profile.forward_cycles_per_l1_lookup,
                 &profile.forward_cycles_per_lookup},
           {"forward_cycles_per_miss", &profile.forward_cycles_per_miss,
            &profile.forward_cycles_per_lookup},
           {"forward_cycles_per_bag", &profile.forward_cycles_per_bag,
            &profile.forward_cycles_per_lookup},
           {"forward_cycles_per_sequence_row", &profile.forward_cycles_per_sequence_row,
            &profile.forward_cycles_per_bag},
           {"backward_cycles_per_row", &profile.backward_cycles_per_row,
            &profile.backward_cycles_per_lookup},
           {"backward_cycles_per_long_row", &profile.backward_cycles_per_long_row,
            &profile.backward_cycles_per_row},
           {"backward_cycles_per_miss", &profile.backward_cycles_per_miss, &none},
       }) {
    NEUROSHARD_RETURN_IF_ERROR(
        read_newer(root, newer.key, 0, kHuge, *newer.absent, *newer.constant));
  }
  return {};
}

Status read_execution(JsonObject& root, HardwareProfile& profile) {
  NEUROSHARD_RETURN_IF_ERROR(read_whole(root, "multiprocessors", 1, 1e6, profile.multiprocessors));
  NEUROSHARD_RETURN_IF_ERROR(read_constant(root, "clock_ghz", kTiny, 1e3, profile.clock_ghz));
  NEUROSHARD_RETURN_IF_ERROR(
      read_constant(root, "warps_per_multiprocessor", 1, 1e4, profile.warps_per_multiprocessor));
  NEUROSHARD_RETURN_IF_ERROR(read_cycles(root, profile));
  NEUROSHARD_RETURN_IF_ERROR(read_newer(root, "lane_exponent", 0, 10, {}, profile.lane_exponent));
  NEUROSHARD_RETURN_IF_ERROR(
      read_newer(root, "exchange_copies", 0, 100, {}, profile.exchange_copies));
  NEUROSHARD_RETURN_IF_ERROR(
      read_newer(root, "published_error", 0, kHuge, {}, profile.published_error));
  NEUROSHARD_RETURN_IF_ERROR(
      read_constant(root, "bag_latency_us", 0, kHuge, profile.bag_latency_us));
  NEUROSHARD_RETURN_IF_ERROR(
      read_constant(root, "overlap_exponent", 1, 100, profile.overlap_exponent));
  NEUROSHARD_RETURN_IF_ERROR(read_constant(root, "launch_us", 0, kHuge, profile.launch_us));
  NEUROSHARD_RETURN_IF_ERROR(
      read_constant(root, "forward_kernels", 1, 1e6, profile.forward_kernels));
  NEUROSHARD_RETURN_IF_ERROR(
      read_constant(root, "backward_kernels", 1, 1e6, profile.backward_kernels));
  return read_whole(root, "sort_bits_per_pass", 1, 64, profile.sort_bits_per_pass);
}

}  // namespace

Result<HardwareProfile> parse_profile(std::string_view bytes, const std::string& source) {
  NEUROSHARD_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(bytes, source));
  NEUROSHARD_ASSIGN_OR_RETURN(JsonObject root, document.root().object());
  NEUROSHARD_RETURN_IF_ERROR(root.format("neuroshard-hardware-profile", 1));
  HardwareProfile profile;
  NEUROSHARD_ASSIGN_OR_RETURN(profile.name, root.shown_text("name"));
  NEUROSHARD_ASSIGN_OR_RETURN(profile.description, root.text("description"));
  NEUROSHARD_RETURN_IF_ERROR(read_memory(root, profile));
  NEUROSHARD_RETURN_IF_ERROR(read_execution(root, profile));
  NEUROSHARD_RETURN_IF_ERROR(read_dense_layers(root, profile));
  NEUROSHARD_RETURN_IF_ERROR(read_interconnects(root, profile));
  NEUROSHARD_RETURN_IF_ERROR(root.finish());
  return profile;
}

}  // namespace neuroshard::io
