#include "io/reports/sweep_report.h"

#include <algorithm>

#include "io/json/json_writer.h"
#include "io/plans/plan_json.h"

namespace neuroshard::io {
namespace {

/// Whether `one` is no larger than `other`, in devices and in their memory, and another size.
bool smaller(const Cluster& one, const Cluster& other) {
  return one.devices <= other.devices && one.memory_bytes <= other.memory_bytes &&
         (one.devices < other.devices || one.memory_bytes < other.memory_bytes);
}

/// Whether a smaller cluster than `one` costs about as much, or less.
bool beaten(const SweepCluster& one, std::span<const SweepCluster> clusters) {
  return std::any_of(clusters.begin(), clusters.end(), [&](const SweepCluster& other) {
    return other.feasible && smaller(other.cluster, one.cluster) &&
           one.cost_ms >= (1 - kWorthwhile) * other.cost_ms;
  });
}

void write_cluster(JsonWriter& writer, const SweepCluster& one, bool hosts, bool pareto) {
  writer.begin_object(JsonWriter::Layout::kLine);
  writer.key("devices").integer(one.cluster.devices);
  writer.key("device_memory_bytes").integer(one.cluster.memory_bytes);
  write_exchange(writer, one.cluster.exchange);
  writer.key("feasible").boolean(one.feasible);
  if (one.feasible) {
    writer.key("cost_ms").number(one.cost_ms);
    writer.key("device_ms").number(one.device_ms());
    writer.key("memory_bytes").integer(one.memory_bytes);
    writer.key("shards").integer(one.shards);
    if (hosts) {
      writer.key("offloaded").integer(one.offloaded);
      writer.key("host_bytes").integer(one.host_bytes);
    }
    if (one.lower_bound_ms) writer.key("lower_bound_ms").number(*one.lower_bound_ms);
  } else {
    for (const char* key : {"cost_ms", "device_ms", "memory_bytes", "shards"}) {
      writer.key(key).null();
    }
    if (hosts) {
      for (const char* key : {"offloaded", "host_bytes"}) writer.key(key).null();
    }
    writer.key("refusal").text(one.refusal);
  }
  writer.key("seconds").number(one.seconds);
  writer.key("stopped_early").boolean(one.stopped_early);
  if (!one.skipped.empty()) writer.key("skipped").text(one.skipped);
  writer.key("pareto").boolean(pareto);
  writer.end_object();
}

}  // namespace

std::vector<bool> worth_it(std::span<const SweepCluster> clusters) {
  std::vector<bool> worth;
  for (const SweepCluster& one : clusters) {
    worth.push_back(one.feasible && !beaten(one, clusters));
  }
  return worth;
}

std::string format_sweep(const SweepReport& report) {
  const std::vector<bool> worth = worth_it(report.clusters);
  JsonWriter writer;
  writer.begin_object();
  writer.key("cost_model").text(report.cost_model);
  writer.key("hardware").text(report.hardware);
  writer.key("cost_provenance").text(report.cost_provenance);
  if (!report.dense_model.empty()) writer.key("dense_model").text(report.dense_model);
  writer.key("batch_size").integer(report.batch_size);
  writer.key("tables").integer(report.tables);
  const bool hosts = report.host_memory_bytes > 0;
  if (hosts) writer.key("host_memory_bytes").integer(report.host_memory_bytes);
  writer.key("clusters").begin_array();
  for (std::size_t index = 0; index < report.clusters.size(); ++index) {
    write_cluster(writer, report.clusters[index], hosts, worth[index]);
  }
  writer.end_array().end_object();
  return writer.take();
}

}  // namespace neuroshard::io
