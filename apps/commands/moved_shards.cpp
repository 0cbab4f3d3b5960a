#include "apps/commands/moved_shards.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "apps/commands/plan_report.h"
#include "apps/console/text_table.h"
#include "apps/console/words.h"
#include "engine/core/bytes.h"
#include "engine/core/decimal.h"
#include "engine/core/held_cells.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

constexpr std::size_t kMostRows = 10;
constexpr int kMostDonors = 3;

using Moved = std::pair<std::int64_t, Shard>;  // bytes, and to where

std::vector<Moved> moved_shards(const HeldCells& held, const Plan& to) {
  std::vector<Moved> moved;
  for (const Shard& shard : to.shards) {
    const std::int64_t bytes = held.missing_bytes(shard);
    if (bytes > 0) moved.emplace_back(bytes, shard);
  }
  std::stable_sort(moved.begin(), moved.end(),
                   [](const Moved& a, const Moved& b) { return a.first > b.first; });
  return moved;
}

std::string columns_of(const Table& table, const Shard& shard) {
  if (shard.dim() == table.dim) return "all";
  return std::to_string(shard.column_begin) + " to " + std::to_string(shard.column_end - 1);
}

/// The devices, but its own, that hold what the shard has to get: "3", "0, 3", "0, 3, ..".
std::string donors_of(const HeldCells& held, const Shard& shard) {
  std::string text;
  int named = 0;
  for (const std::int32_t device : held.holders_of(shard)) {
    if (device == shard.device) continue;
    if (named++ == kMostDonors) return text + ", ..";
    text += (text.empty() ? "" : ", ") + std::to_string(device);
  }
  return text;
}

}  // namespace

std::string gain_text(const std::string& source, double now_ms, double cost_ms,
                      const CostError& error) {
  const std::string now = source + " costs " + milliseconds(now_ms, now_ms) + " ms";
  if (cost_ms >= now_ms) return now + ", and no cheaper plan was found to take its place\n";
  if (now_ms <= 0)
    return now + ", this plan " + milliseconds(now_ms - cost_ms, now_ms) + " ms less\n";
  const double percent = 100 * (1 - cost_ms / now_ms);
  const std::string much = percent < 0.05 ? "less than 0.1" : fixed_decimals(percent, 1);
  return now + ": this plan is " + much + " % cheaper, " + milliseconds(now_ms - cost_ms, now_ms) +
         " ms a step" +
         (within_error(error, now_ms, cost_ms) ? ": within the model's error, no sure gain\n"
                                               : "\n");
}

std::string regret_gain_text(const std::string& source, double now, double regret) {
  const auto percent = [](double share) { return fixed_decimals(100 * share, 2) + " %"; };
  const std::string running = source + " has a largest regret of " + percent(now);
  if (regret >= now) return running + ", and no plan with a smaller one was found\n";
  return running + ", this plan " + percent(regret) + "\n";
}

std::string moves_text(const Console& console, const Workload& workload, const Plan& from,
                       const Plan& to, std::int64_t limit_bytes) {
  const HeldCells held(workload, from);
  const std::vector<Moved> moved = moved_shards(held, to);
  std::int64_t bytes = 0;  // in the plan to which tables move no table is on every device
  for (const Moved& one : moved) bytes += one.first;
  std::int64_t all = 0;
  for (const Table& table : workload.tables) all += table.rows * row_bytes(table, table.dim);
  std::string text = "moves " + format_bytes(bytes) + " of " + format_bytes(all) + ", at most " +
                     format_bytes(limit_bytes) + ", in " + counted(std::ssize(moved), "shard") +
                     "\n";
  if (moved.empty()) return text;
  TextTable table({{"table", Align::kLeft}, {"columns"}, {"moves"}, {"from"}, {"to"}});
  for (std::size_t k = 0; k < std::min(kMostRows, moved.size()); ++k) {
    const auto& [missing, shard] = moved[k];
    const Table& of = workload.tables[static_cast<std::size_t>(shard.table)];
    table.add({io::printable(of.name), columns_of(of, shard), format_bytes(missing),
               donors_of(held, shard), std::to_string(shard.device)});
  }
  text += "\n" + table.render(console);
  if (moved.size() > kMostRows) {
    text += "and " + std::to_string(moved.size() - kMostRows) + " more\n";
  }
  return text;
}

}  // namespace neuroshard::apps
