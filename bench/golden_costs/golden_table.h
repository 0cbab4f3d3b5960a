#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/status.h"

namespace neuroshard::bench {

/// One line of the golden table: what the plans of a setting cost when it was written.
struct GoldenCost {
  std::string setting;
  std::int64_t tasks = 0;
  std::int64_t evaluations = 0;
  double mean_cost_ms = 0;
};

/// The table's lines in order; the first is a heading. Errors: kInvalidInput naming source and
/// line.
Result<std::vector<GoldenCost>> parse_golden(std::string_view bytes, const std::string& source);

/// The text that parse_golden() reads.
std::string format_golden(const std::vector<GoldenCost>& costs);

/// The golden cost of the same setting, tasks and evaluations, or null: of others it says nothing.
const GoldenCost* find_golden(const std::vector<GoldenCost>& golden, const GoldenCost& cost);

/// `golden` with the costs in place of those of the same settings, or behind all others.
std::vector<GoldenCost> replaced(std::vector<GoldenCost> golden,
                                 const std::vector<GoldenCost>& costs);

}  // namespace neuroshard::bench
