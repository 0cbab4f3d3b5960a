#include "io/traces/astra_sim.h"

#include "engine/core/interconnect.h"
#include "io/json/json_writer.h"
#include "io/text.h"

namespace neuroshard::io {
namespace {

constexpr double kGigabyte = 1e9;
constexpr double kNanosecondsInUs = 1e3;

void write_algorithm(JsonWriter& json, const char* key, const char* algorithm) {
  json.key(key).begin_array(JsonWriter::Layout::kLine).text(algorithm).end_array();
}

}  // namespace

Result<std::string> astra_network(const InterconnectProfile& link, std::int32_t devices) {
  if (hosts_of(link, devices) > 1) {
    return invalid_input("links " + link.name + ": found " +
                         std::to_string(hosts_of(link, devices)) + " hosts of " +
                         std::to_string(devices_of_host(link, devices)) +
                         " devices, expected one: a network file has one switch");
  }
  const double gbps = link.intra_host_gbps.value * kGigabyte / 0x1p30;
  const double latency_ns = link.intra_host_latency_us.value * kNanosecondsInUs / 2;
  return "topology: [ Switch ]\nnpus_count: [ " + std::to_string(devices) + " ]\nbandwidth: [ " +
         format_number(gbps) + " ]\nlatency: [ " + format_number(latency_ns) + " ]\n";
}

std::string astra_system() {
  JsonWriter json;
  json.begin_object();
  json.key("scheduling-policy").text("FIFO");
  json.key("endpoint-delay").integer(0);
  json.key("active-chunks-per-dimension").integer(1);
  json.key("preferred-dataset-splits").integer(1);
  write_algorithm(json, "all-reduce-implementation", "ring");
  write_algorithm(json, "all-gather-implementation", "ring");
  write_algorithm(json, "reduce-scatter-implementation", "ring");
  write_algorithm(json, "all-to-all-implementation", "direct");
  json.key("collective-optimization").text("localBWAware");
  json.key("local-mem-bw").integer(1600);  // of chunks that ranks pass on, which none here does
  json.key("boost-mode").integer(0);
  json.end_object();
  return json.take();
}

std::string astra_memory() { return "{\"memory-type\": \"NO_MEMORY_EXPANSION\"}\n"; }

}  // namespace neuroshard::io
