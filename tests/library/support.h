#pragma once

#include <neuroshard/engine.hpp>

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace neuroshard::test {

/// The value of a call that has to succeed.
template <typename T>
T must(Result<T> result) {
  BOOST_REQUIRE_MESSAGE(result.ok(), result.error().message);
  return *std::move(result);
}

/// `count` tables of different sizes and dims.
inline Workload make_workload(int count) {
  Workload workload = must(Workload::create());
  for (int i = 0; i < count; ++i) {
    const Table table{.name = "table " + std::to_string(i),
                      .rows = 1000 + 7919 * std::int64_t{i} % 100003,
                      .dim = 16 << (i % 4),
                      .pooling_factor = 1.0 + i % 13,
                      .zipf_alpha = 0.1 * (i % 15)};
    BOOST_REQUIRE(workload.add(table).ok());
  }
  return workload;
}

inline Planner make_planner() { return must(Planner::create(must(CostModels::shipped()))); }

/// A whole table of the workload on `device`.
inline Shard whole_table(const Workload& workload, std::size_t index, std::int32_t device) {
  const Table table = must(workload.table(index));
  Shard shard{};
  shard.row_end = table.rows;
  shard.column_end = table.dim;
  shard.table = static_cast<std::int32_t>(index);
  shard.device = device;
  return shard;
}

/// Whole tables, round robin over the first `used` of the devices: what every format can express.
inline Plan whole_tables(const Workload& workload, std::int32_t devices, std::int32_t used) {
  std::vector<Shard> shards;
  for (std::size_t i = 0; i < workload.table_count(); ++i) {
    shards.push_back(whole_table(workload, i, static_cast<std::int32_t>(i) % used));
  }
  return must(Plan::create(devices, workload.batch_size(), shards));
}
inline Plan whole_tables(const Workload& workload, std::int32_t devices) {
  return whole_tables(workload, devices, devices);
}

/// Of all that neuroshard_plan_export() writes.
inline std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < neuroshard_export_format_count(); ++i) {
    const neuroshard_text name = neuroshard_export_format_name(i);
    names.emplace_back(name.data, name.size);
    BOOST_TEST(neuroshard_export_format_summary(i).size > 0u);
  }
  return names;
}

/// What a planner logs, a line each.
struct Log {
  std::string lines;
  [[nodiscard]] neuroshard_planner_options options() {
    neuroshard_planner_options options{};
    options.struct_size = sizeof options;
    options.log = [](void* log, std::int32_t, neuroshard_text line) {
      static_cast<std::string*>(log)->append(line.data, line.size).append("\n");
    };
    options.log_user_data = &lines;
    return options;
  }
  /// Whether `words` were logged since the last time that it was asked.
  bool take(std::string_view words) {
    const bool found = lines.find(words) != std::string::npos;
    lines.clear();
    return found;
  }
};

/// Devices without memory limits worth mentioning.
inline Cluster cluster_of(std::int32_t devices) {
  return {.devices = devices, .memory_bytes = std::int64_t{1} << 40};
}

}  // namespace neuroshard::test
