#include "apps/commands/explanation_text.h"

#include <algorithm>
#include <cmath>

#include "apps/commands/plan_report.h"
#include "apps/console/text_table.h"
#include "apps/console/words.h"
#include "engine/core/bytes.h"
#include "engine/core/decimal.h"
#include "engine/planner/explain/layout_text.h"
#include "io/json/json_writer.h"
#include "io/plans/plan_cost_json.h"
#include "io/plans/plan_json.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

const Table& table_of(const Workload& workload, const TableExplanation& own) {
  return workload.tables[static_cast<std::size_t>(own.table)];
}

/// Its name, or its number.
std::string label_of(const Workload& workload, const TableExplanation& own) {
  const std::string& name = table_of(workload, own).name;
  return name.empty() ? std::to_string(own.table) : io::printable(name);
}

/// "+1.2 %", "-0.3 %", or "the same" where that would read as 0. Savings within the error are none.
std::string change_text(double cost_ms, double other_ms, const CostError& error) {
  if (cost_ms <= 0) return milliseconds(other_ms, other_ms) + " ms";
  const double percent = 100 * (other_ms / cost_ms - 1);
  if (std::abs(percent) < 0.05) return "the same";
  const std::string change = (percent > 0 ? "+" : "") + fixed_decimals(percent, 1) + " %";
  const bool no_saving = percent < 0 && within_error(error, cost_ms, other_ms);
  return no_saving ? change + ", within error" : change;
}

std::string percent_text(double share) { return general_decimals(100 * share, 3) + " %"; }

/// "saves 0.31 ms" or "costs 0.02 ms more".
std::string saving_text(double saved_ms, double cost_ms) {
  if (saved_ms >= 0) return "saves " + milliseconds(saved_ms, cost_ms) + " ms";
  return "costs " + milliseconds(-saved_ms, cost_ms) + " ms more";
}

void write_hot_gain(io::JsonWriter& json, const HotGain& gain) {
  json.key("hot_rows").begin_object(io::JsonWriter::Layout::kLine);
  json.key("rows").integer(gain.rows);
  json.key("counted_share").number(gain.counted_share);
  json.key("lookup_share").number(gain.lookup_share);
  json.key("saved_ms").number(gain.saved_ms);
  json.key("later").begin_array();
  for (const HotGain::Later& later : gain.later) {
    json.begin_object(io::JsonWriter::Layout::kLine);
    json.key("kept").number(later.kept).key("saved_ms").number(later.saved_ms).end_object();
  }
  json.end_array().key("break_even");
  if (gain.break_even) {
    json.number(*gain.break_even);
  } else {
    json.null();
  }
  json.end_object();
}

void write_layout(io::JsonWriter& json, const TableLayout& shards) {
  json.key("shards").begin_array(io::JsonWriter::Layout::kLine);
  for (const Shard& shard : shards) {
    json.begin_object(io::JsonWriter::Layout::kLine);
    io::write_shard_place(json, shard);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string explanation_table(const Console& console, const Workload& workload,
                              std::span<const TableExplanation> tables, double cost_ms,
                              const CostError& error) {
  double largest = 0;
  for (const TableExplanation& own : tables) largest = std::max(largest, own.alone_ms);
  TextTable text({{"table", Align::kLeft},
                  {"layout", Align::kLeft},
                  {"memory"},
                  {"alone ms"},
                  {"adds ms"},
                  {"next best", Align::kLeft},
                  {"plan then"}});
  for (const TableExplanation& own : tables) {
    const Table& table = table_of(workload, own);
    const auto& next = own.next_best;
    const bool cheaper =
        next && next->cost_ms < cost_ms && !within_error(error, cost_ms, next->cost_ms);
    text.add({label_of(workload, own), layout_text(table, own.shards), format_bytes(own.bytes),
              milliseconds(own.alone_ms, largest), milliseconds(own.adds_ms, largest),
              next ? layout_text(table, next->shards) : "-",
              next ? change_text(cost_ms, next->cost_ms, error) : ""},
             cheaper ? Style::kBold : Style::kPlain);
  }
  return text.render(console);
}

std::string cheaper_text(const Workload& workload, std::span<const TableExplanation> tables,
                         double cost_ms, const CostError& error) {
  const TableExplanation* best = nullptr;
  for (const TableExplanation& own : tables) {
    if (!own.next_best || own.next_best->cost_ms >= cost_ms) continue;
    if (best == nullptr || own.next_best->cost_ms < best->next_best->cost_ms) best = &own;
  }
  if (best == nullptr) return "no single change that was tried makes the plan cheaper\n";
  const TableLayout& layout = best->next_best->shards;
  const bool replica = layout.front().device == kEveryDevice;
  return "with table " + label_of(workload, *best) + " " +
         layout_text(table_of(workload, *best), layout) + " the plan costs " +
         milliseconds(best->next_best->cost_ms, cost_ms) + " ms" +
         (within_error(error, cost_ms, best->next_best->cost_ms)
              ? ", within the model's error of this one"
              : "") +
         ": plan" + (replica ? " --data-parallel on" : "") + " may find such plans\n";
}

std::string hot_gains_text(const Workload& workload, std::span<const TableExplanation> tables,
                           double cost_ms) {
  std::string text;
  for (const TableExplanation& own : tables) {
    if (!own.hot_rows) continue;
    const HotGain& gain = *own.hot_rows;
    text += "table " + label_of(workload, own) + ": " + counted(gain.rows, "hot row") + ", " +
            percent_text(gain.lookup_share) + " of the next batch's lookups (" +
            percent_text(gain.counted_share) +
            " of the counted one's): " + saving_text(gain.saved_ms, cost_ms);
    for (const HotGain::Later& later : gain.later) {
      text += ", when they keep " + percent_text(later.kept) + " of that " +
              saving_text(later.saved_ms, cost_ms);
    }
    if (gain.break_even && *gain.break_even > 0) {
      text += "; no more than without them from " + percent_text(*gain.break_even) + " on";
    }
    text += "\n";
  }
  return text;
}

std::string explanation_json(const Workload& workload, const io::PlanDocument& document,
                             const NamedCostModels& models,
                             std::span<const TableExplanation> tables) {
  const ModelOrigin origin = origin_of(models.models);
  io::JsonWriter json;
  json.begin_object();
  json.key("cost_model").text(models.name);
  json.key("hardware").text(origin.hardware);
  json.key("cost_provenance").text(word_of(origin.provenance));
  json.key("batch_size").integer(document.batch_size);
  json.key("devices").integer(document.plan.devices);
  json.key("cost_ms").number(document.cost.cost_ms);
  io::write_cost_error(json, document.cost_error);
  json.key("tables").begin_array();
  for (const TableExplanation& own : tables) {
    json.begin_object(io::JsonWriter::Layout::kLine);
    json.key("table").integer(own.table);
    json.key("name").text(table_of(workload, own).name);
    json.key("memory_bytes").integer(own.bytes);
    json.key("alone_ms").number(own.alone_ms);
    json.key("adds_ms").number(own.adds_ms);
    write_layout(json, own.shards);
    json.key("considered").integer(own.considered);
    json.key("next_best");
    if (own.next_best) {
      json.begin_object(io::JsonWriter::Layout::kLine);
      json.key("cost_ms").number(own.next_best->cost_ms);
      write_layout(json, own.next_best->shards);
      json.end_object();
    } else {
      json.null();
    }
    if (own.hot_rows) write_hot_gain(json, *own.hot_rows);
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

}  // namespace neuroshard::apps
