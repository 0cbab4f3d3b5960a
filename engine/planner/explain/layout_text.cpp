#include "engine/planner/explain/layout_text.h"

#include <algorithm>

namespace neuroshard {
namespace {

constexpr std::size_t kNamedDevices = 4;

std::string devices_of(const TableLayout& shards) {
  std::string text;
  for (std::size_t k = 0; k < std::min(shards.size(), kNamedDevices); ++k) {
    text += (k == 0 ? "" : ", ") + std::to_string(shards[k].device);
  }
  return text + (shards.size() > kNamedDevices ? ", .." : "");
}

/// Whether each is on the device behind the one before.
bool consecutive(const TableLayout& shards) {
  for (std::size_t k = 1; k < shards.size(); ++k) {
    if (shards[k].device != shards[k - 1].device + 1) return false;
  }
  return true;
}

}  // namespace

std::string layout_text(const Table& table, const TableLayout& shards) {
  const Shard& first = shards.front();
  if (first.device == kEveryDevice) return "on every device";
  if (shards.size() == 1) return "whole on " + std::to_string(first.device);
  const auto holds = [&](const auto& check) {
    return std::all_of(shards.begin(), shards.end(), check);
  };
  const bool all_rows = holds([&](const Shard& shard) { return shard.rows() == table.rows; });
  const bool all_columns = holds([&](const Shard& shard) { return shard.dim() == table.dim; });
  const std::string count = std::to_string(shards.size());
  if (all_columns && !all_rows) {
    if (!consecutive(shards)) return count + " row blocks on " + devices_of(shards);
    return "rows over devices " + std::to_string(first.device) + " to " +
           std::to_string(shards.back().device);
  }
  return count + (all_rows ? " column blocks on " : " blocks on ") + devices_of(shards);
}

}  // namespace neuroshard
