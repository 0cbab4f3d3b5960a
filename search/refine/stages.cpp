#include "search/refine/stages.h"

#include <algorithm>
#include <array>

namespace neuroshard::search {
namespace {

// Where stages end that have as many evaluations as there are tables, and the last of them in any
// case; what is left beyond that is one more. (steps_up_bench, 40 tasks, two seeds,
// beside one first plan that each budget has of its own: of the steps from 1,000 to 100,000
// evaluations none is up instead of 4.4 %.)
constexpr std::array<std::int64_t, 4> kEnds{1'000, 3'000, 10'000, 30'000};
constexpr std::int64_t kGrowth = 3;
// Of a stage's end, what its first plans may take: so much that the paper's search is not cut
// short. (The same bench: two ninths and a third of it are within 0.8 % of it at each budget.)
constexpr double kFirstShare = 2.0 / 3;

std::int64_t share_of_first(std::int64_t end) {
  return static_cast<std::int64_t>(kFirstShare * static_cast<double>(end));
}

}  // namespace

void Stage::go_on_from(const StartPlan& best, const Stage& before) {
  earlier = &best;
  if (walks_only()) rivals = before.rivals;
}

std::vector<Stage> stages_of(const SearchOptions& options, std::size_t tables) {
  const std::int64_t all = options.evaluations;
  if (all <= 0) return {Stage{options, options}};
  std::vector<Stage> stages;
  const auto add = [&](std::int64_t limit, std::int64_t end, std::int64_t first) {
    Stage& stage = stages.emplace_back(Stage{options, options, end, all});
    stage.limits.evaluations = limit;
    stage.first.evaluations = std::max<std::int64_t>(1, first);
    stage.limits.advise = stage.first.advise = stage.last() && options.advise;
  };
  std::int64_t end = kEnds.back();
  for (const std::int64_t next : kEnds) {
    end = next;
    const bool too_short = next < static_cast<std::int64_t>(tables);
    if (too_short && next < kEnds.back()) continue;
    if (next > all) break;
    add(next, next, share_of_first(next));
  }
  if (!stages.empty() && stages.back().last()) return stages;
  std::int64_t first = share_of_first(end);
  while (first > all) first /= kGrowth;
  while (end < all) end *= kGrowth;
  add(all, end, first);
  stages.back().no_first_plans = true;
  return stages;
}

}  // namespace neuroshard::search
