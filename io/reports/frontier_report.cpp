#include "io/reports/frontier_report.h"

#include "io/json/json_writer.h"
#include "io/plans/plan_file.h"

namespace neuroshard::io {

std::string format_frontier(const FrontierReport& report) {
  JsonWriter writer;
  writer.begin_object();
  writer.key("format").text("neuroshard-frontier");
  writer.key("version").integer(1);
  writer.key("points").begin_array();
  for (const FrontierPlan& point : report.plans) {
    writer.begin_object();
    writer.key("devices").integer(point.document.plan.devices);
    writer.key("device_memory_bytes").integer(point.memory_bytes);
    writer.key("cost_ms").number(point.document.cost.cost_ms);
    writer.key("plan");
    write_plan(writer, point.document);
    writer.end_object();
  }
  writer.end_array().end_object();
  return writer.take();
}

}  // namespace neuroshard::io
