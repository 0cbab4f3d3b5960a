#include <functional>

#include "io/json/json_writer.h"
#include "io/plans/plan_tables.h"
#include "io/text.h"
#include "io/trainers/hugectr_plan.h"

namespace neuroshard::io {
namespace {

struct Lists {
  std::vector<std::vector<std::string>> matrix;  ///< names per GPU, in the workload's order
  std::vector<HugeCtrTable> tables;
  bool hierarchical = false;
};

Result<Lists> make_lists(const Workload& workload, const PlanDocument& document,
                         const PlanExportOptions& options) {
  if (!is_exact(document.exchange)) {
    return invalid_input("exchange: found " + to_string(document.exchange) +
                         ", expected fp32: HugeCTR's lists have no place for it");
  }
  NEUROSHARD_RETURN_IF_ERROR(tables_by_name(workload).status());
  const Plan& plan = document.plan;
  const ShardsByTable by_table(workload, plan);
  Lists lists;
  lists.matrix.resize(static_cast<std::size_t>(plan.devices));
  lists.hierarchical = host_size(plan.devices, options.devices_per_host) < plan.devices;
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    const Table& table = workload.tables[index];
    Result<HugeCtrTable> held = hugectr_table(table, by_table.of(index));
    if (!held.ok()) {
      return held.status().with_context(describe_table(workload, static_cast<std::int32_t>(index)));
    }
    for (std::size_t gpu = 0; held->data_parallel && gpu < lists.matrix.size(); ++gpu) {
      lists.matrix[gpu].push_back(table.name);
    }
    for (const std::int32_t gpu : held->gpus) {
      lists.matrix[static_cast<std::size_t>(gpu)].push_back(table.name);
    }
    lists.tables.push_back(*std::move(held));
  }
  return lists;
}

void write_strategy(JsonWriter& writer, const Lists& lists, bool data_parallel) {
  writer.begin_array(JsonWriter::Layout::kLine).text(data_parallel ? "dp" : "mp").begin_array();
  for (const HugeCtrTable& table : lists.tables) {
    if (table.data_parallel != data_parallel) continue;
    if (table.column_factor == 1) {
      writer.text(table.name);
    } else {
      writer.begin_array().text(table.name).integer(table.column_factor).end_array();
    }
  }
  writer.end_array().end_array();
}

bool any(const Lists& lists, bool data_parallel) {
  for (const HugeCtrTable& table : lists.tables) {
    if (table.data_parallel == data_parallel) return true;
  }
  return false;
}

/// A Python string literal: JSON's escapes are Python's.
std::string python_text(const std::string& text) {
  JsonWriter writer;
  writer.text(text);
  std::string literal = writer.take();
  literal.pop_back();  // the line break
  return literal;
}

template <typename T>
std::string python_list(const std::vector<T>& values,
                        const std::function<std::string(const T&)>& format) {
  std::string list;
  for (const T& value : values) list += (list.empty() ? "" : ", ") + format(value);
  return "[" + list + "]";
}

std::string python_strategy(const Lists& lists, bool data_parallel) {
  std::vector<HugeCtrTable> chosen;
  for (const HugeCtrTable& table : lists.tables) {
    if (table.data_parallel == data_parallel) chosen.push_back(table);
  }
  const std::string list = python_list<HugeCtrTable>(chosen, [](const HugeCtrTable& table) {
    const std::string name = python_text(table.name);
    if (table.column_factor == 1) return name;
    return "(" + name + ", " + std::to_string(table.column_factor) + ")";
  });
  return std::string("    (\"") + (data_parallel ? "dp" : "mp") + "\", " + list + "),\n";
}

}  // namespace

Result<std::string> format_hugectr_plan(const Workload& workload, const PlanDocument& document,
                                        const PlanExportOptions& options) {
  NEUROSHARD_ASSIGN_OR_RETURN(const Lists lists, make_lists(workload, document, options));
  JsonWriter writer;
  writer.begin_object().key("shard_matrix").begin_array();
  for (const std::vector<std::string>& names : lists.matrix) {
    writer.begin_array(JsonWriter::Layout::kLine);
    for (const std::string& name : names) writer.text(name);
    writer.end_array();
  }
  writer.end_array().key("shard_strategy").begin_array();
  for (const bool data_parallel : {false, true}) {
    if (any(lists, data_parallel)) write_strategy(writer, lists, data_parallel);
  }
  writer.end_array();
  writer.key("comm_strategy").text(lists.hierarchical ? "Hierarchical" : "Uniform");
  writer.end_object();
  return writer.take();
}

Result<std::string> format_hugectr_python(const Workload& workload, const PlanDocument& document,
                                          const PlanExportOptions& options) {
  NEUROSHARD_ASSIGN_OR_RETURN(const Lists lists, make_lists(workload, document, options));
  std::string python = "shard_matrix = [\n";
  for (const std::vector<std::string>& names : lists.matrix) {
    python += "    " + python_list<std::string>(names, python_text) + ",\n";
  }
  python += "]\nshard_strategy = [\n";
  for (const bool data_parallel : {false, true}) {
    if (any(lists, data_parallel)) python += python_strategy(lists, data_parallel);
  }
  return python + "]\ncomm_strategy = \"" + (lists.hierarchical ? "Hierarchical" : "Uniform") +
         "\"\n";
}

}  // namespace neuroshard::io
