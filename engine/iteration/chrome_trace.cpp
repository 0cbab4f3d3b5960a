#include "engine/iteration/chrome_trace.h"

#include <algorithm>
#include <cstddef>

#include "io/json/json_writer.h"

namespace neuroshard {
namespace {

using Layout = io::JsonWriter::Layout;

/// A name for a device, or for one of its streams.
void write_name(io::JsonWriter& writer, std::string_view what, std::int32_t device,
                std::int32_t stream, const std::string& name) {
  writer.begin_object(Layout::kLine);
  writer.key("name").text(what).key("ph").text("M");
  writer.key("pid").integer(device).key("tid").integer(stream);
  writer.key("args").begin_object(Layout::kLine).key("name").text(name).end_object();
  writer.end_object();
}

}  // namespace

std::string format_chrome_trace(const IterationCost& cost) {
  double first_ms = 0;
  std::int32_t devices = 0;
  for (const TimelineEntry& one : cost.timeline) {
    first_ms = std::min(first_ms, one.start_ms);
    devices = std::max(devices, one.device + 1);
  }
  io::JsonWriter writer;
  writer.begin_object();
  writer.key("displayTimeUnit").text("ms");
  writer.key("traceEvents").begin_array();
  for (std::int32_t device = 0; device < devices; ++device) {
    write_name(writer, "process_name", device, 0, "device " + std::to_string(device));
    for (std::size_t stream = 0; stream < kStreams; ++stream) {
      write_name(writer, "thread_name", device, static_cast<std::int32_t>(stream),
                 std::string(to_string(static_cast<Stream>(stream))));
    }
  }
  for (const TimelineEntry& one : cost.timeline) {
    if (!(one.end_ms > one.start_ms)) continue;
    writer.begin_object(Layout::kLine);
    writer.key("name").text(one.name).key("cat").text(to_string(one.phase)).key("ph").text("X");
    writer.key("ts").number((one.start_ms - first_ms) * 1e3);
    writer.key("dur").number((one.end_ms - one.start_ms) * 1e3);
    writer.key("pid").integer(one.device).key("tid").integer(static_cast<int>(one.stream));
    writer.end_object();
  }
  writer.end_array().end_object();
  return writer.take();
}

}  // namespace neuroshard
