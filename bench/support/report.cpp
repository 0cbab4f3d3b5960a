#include "bench/support/report.h"

#include <cstdio>
#include <utility>

#include "engine/core/version.h"
#include "io/file.h"
#include "io/json/json_writer.h"

namespace neuroshard::bench {

void Report::add(Row row) {
  std::printf("%-34s %-6s %2d thread%s %10.2f %s (%.2f..%.2f) %12.0f /s", row.name.c_str(),
              row.isa.c_str(), row.threads, row.threads == 1 ? " " : "s", row.figure.median,
              row.unit.c_str(), row.figure.low, row.figure.high, row.per_second);
  if (row.floor > 0) {
    std::printf("  floor %.2f, %.0f %% of it", row.floor, 100 * row.share);
  }
  std::printf("\n");
  rows_.push_back(std::move(row));
}

void Report::add_roofline(nn::Isa isa, const Roofline& roofline) {
  const double ns = 1 / static_cast<double>(roofline.lanes);
  std::printf(
      "%s: %.1f G multiply-adds/s, %.0f GB/s from the first cache, %.1f G (max, multiply-"
      "add)/s, %.1f G (add, max, multiply-add)/s\n",
      std::string(to_string(isa)).c_str(), 1 / (ns * roofline.fma_ns), 4 / (ns * roofline.load_ns),
      1 / (ns * roofline.max_fma_ns), 1 / (ns * roofline.head_ns));
  rooflines_.emplace_back(isa, roofline);
}

Status Report::write(const std::string& path) const {
  if (path.empty()) return {};
  using Layout = io::JsonWriter::Layout;
  io::JsonWriter json;
  json.begin_object().key("version").text(version()).key("commit").text(commit());
  json.key("rooflines").begin_array();
  for (const auto& [isa, roofline] : rooflines_) {
    json.begin_object(Layout::kLine).key("isa").text(to_string(isa)).key("lanes");
    json.integer(roofline.lanes).key("fma_ns").number(roofline.fma_ns);
    json.key("load_ns").number(roofline.load_ns).key("max_fma_ns").number(roofline.max_fma_ns);
    json.key("add_max_fma_ns").number(roofline.head_ns).end_object();
  }
  json.end_array().key("rows").begin_array();
  for (const Row& row : rows_) {
    json.begin_object(Layout::kLine).key("name").text(row.name).key("isa").text(row.isa);
    json.key("threads").integer(row.threads).key("unit").text(row.unit);
    json.key("median").number(row.figure.median).key("low").number(row.figure.low);
    json.key("high").number(row.figure.high).key("per_second").number(row.per_second);
    json.key("floor").number(row.floor).key("share").number(row.share).end_object();
  }
  json.end_array().end_object();
  return io::write_file_atomically(path, json.take());
}

}  // namespace neuroshard::bench
