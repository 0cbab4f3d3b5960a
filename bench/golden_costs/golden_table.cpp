#include "bench/golden_costs/golden_table.h"

#include <algorithm>
#include <limits>

#include "apps/console/words.h"
#include "engine/core/decimal.h"
#include "io/lines.h"

namespace neuroshard::bench {
namespace {

constexpr std::string_view kHeading = "setting,tasks,evaluations,mean_cost_ms";
constexpr std::size_t kFields = 4;
constexpr int kDecimals = 6;

Result<GoldenCost> parse_line(const io::Line& line) {
  const std::vector<std::string> fields = apps::split(std::string(line.text), ',');
  if (fields.size() != kFields) {
    return line.error("found " + std::to_string(fields.size()) + " fields, expected " +
                      std::string(kHeading));
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<std::int64_t> tasks,
                              io::parse_integers(line, fields[1], "tasks", 1, kMost));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<std::int64_t> evaluations,
                              io::parse_integers(line, fields[2], "evaluations", 1, kMost));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<double> mean,
                              io::parse_numbers(line, fields[3], "mean_cost_ms", 0, 1e12));
  return GoldenCost{fields[0], tasks.front(), evaluations.front(), mean.front()};
}

}  // namespace

Result<std::vector<GoldenCost>> parse_golden(std::string_view bytes, const std::string& source) {
  NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<io::Line> lines,
                              io::split_lines(bytes, source, io::LastLine::kMayLackBreak));
  if (lines.front().text != kHeading) {
    return lines.front().error("expected the heading " + std::string(kHeading));
  }
  std::vector<GoldenCost> costs;
  for (auto line = lines.begin() + 1; line != lines.end(); ++line) {
    NEUROSHARD_ASSIGN_OR_RETURN(GoldenCost cost, parse_line(*line));
    costs.push_back(std::move(cost));
  }
  return costs;
}

std::string format_golden(const std::vector<GoldenCost>& costs) {
  std::string text = std::string(kHeading) + "\n";
  for (const GoldenCost& cost : costs) {
    text += cost.setting + "," + std::to_string(cost.tasks) + "," +
            std::to_string(cost.evaluations) + "," + fixed_decimals(cost.mean_cost_ms, kDecimals) +
            "\n";
  }
  return text;
}

const GoldenCost* find_golden(const std::vector<GoldenCost>& golden, const GoldenCost& cost) {
  const auto found = std::find_if(golden.begin(), golden.end(), [&](const GoldenCost& other) {
    return other.setting == cost.setting && other.tasks == cost.tasks &&
           other.evaluations == cost.evaluations;
  });
  return found == golden.end() ? nullptr : &*found;
}

std::vector<GoldenCost> replaced(std::vector<GoldenCost> golden,
                                 const std::vector<GoldenCost>& costs) {
  for (const GoldenCost& cost : costs) {
    const auto same = std::find_if(golden.begin(), golden.end(), [&](const GoldenCost& other) {
      return other.setting == cost.setting;
    });
    if (same != golden.end()) {
      *same = cost;
    } else {
      golden.push_back(cost);
    }
  }
  return golden;
}

}  // namespace neuroshard::bench
