#include "io/plan_json.h"

namespace neuroshard::io {
namespace {

void write_range(JsonWriter& writer, const char* name, std::int64_t begin, std::int64_t end) {
  writer.key(name).begin_array().integer(begin).integer(end).end_array();
}

}  // namespace

void write_shards(JsonWriter& writer, Plan plan) {
  canonicalize(plan);
  writer.begin_array();
  for (const Shard& shard : plan.shards) {
    writer.begin_object(JsonWriter::Layout::kLine);
    writer.key("table").integer(shard.table);
    write_range(writer, "rows", shard.row_begin, shard.row_end);
    write_range(writer, "columns", shard.column_begin, shard.column_end);
    writer.key("device");
    if (shard.device == kEveryDevice) {
      writer.text("all");
    } else {
      writer.integer(shard.device);
    }
    writer.end_object();
  }
  writer.end_array();
}

void write_device_costs(JsonWriter& writer, const std::vector<DeviceCost>& costs) {
  writer.begin_array();
  std::int64_t device = 0;
  for (const DeviceCost& cost : costs) {
    writer.begin_object(JsonWriter::Layout::kLine);
    writer.key("device").integer(device++);
    writer.key("compute_ms").number(cost.compute_ms);
    writer.key("forward_comm_ms").number(cost.forward_comm_ms);
    writer.key("backward_comm_ms").number(cost.backward_comm_ms);
    writer.key("total_ms").number(cost.total_ms());
    writer.key("memory_bytes").integer(cost.memory_bytes);
    writer.key("dim_sum").integer(cost.dim_sum);
    writer.end_object();
  }
  writer.end_array();
}

}  // namespace neuroshard::io
