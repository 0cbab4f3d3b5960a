#include "apps/commands/policy_training_text.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "apps/console/console.h"
#include "apps/console/text_table.h"
#include "apps/console/words.h"
#include "engine/core/decimal.h"

namespace neuroshard::apps {
namespace {

constexpr std::size_t kLooksShown = 8;

std::string share_text(double share) { return fixed_decimals(100 * share, 2) + " %"; }

/// What was measured, and how well the networks of the rounds before knew it; "" without.
std::string rounds_text(const PolicyReport& report) {
  if (report.rounds.empty()) return "";
  TextTable table({{"plans measured"}, {"mean ms"}, {"predicted within"}});
  for (const PolicyRound& round : report.rounds) {
    table.add({with_commas(round.plans), fixed_decimals(round.measured_ms, 3),
               std::isnan(round.error) ? "-" : share_text(round.error)});
  }
  return table.render(Console::of(STDOUT_FILENO)) +
         "the first at random, then drawn by the policy; predicted by the networks before\n";
}

}  // namespace

std::string policy_training_text(const PolicyReport& report, PolicyReward reward) {
  TextTable table({{"update"}, {"plans drawn"}, {"entropy"}, {"held-out"}});
  const std::size_t looks = report.curve.size();
  const std::size_t each = std::max<std::size_t>(1, looks / kLooksShown);
  for (std::size_t k = 0; k < looks; ++k) {
    const PolicyPoint& point = report.curve[k];
    const bool best = point.update == report.best_update;
    if (k % each != 0 && k + 1 != looks && !best) continue;
    table.add({with_commas(point.update), share_text(point.drawn_share),
               fixed_decimals(point.entropy, 3), share_text(point.validation_share)},
              best ? Style::kBold : Style::kPlain);
  }
  return rounds_text(report) + "trained on " + counted(report.training_tables, "table") + ", " +
         counted(report.held_out_tables, "table") + " held out\n" +
         table.render(Console::of(STDOUT_FILENO)) +
         (reward == PolicyReward::kBalance ? "largest compute over the mean, both " : "costs ") +
         "over those of the best of some greedy rules; held-out: the policy's first "
         "choices in " +
         counted(report.validation_tasks, "task") + "; update " + with_commas(report.best_update) +
         " is kept: " + share_text(report.best_validation_share) + "\n";
}

}  // namespace neuroshard::apps
