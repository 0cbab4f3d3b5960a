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
// Until which share of a time limit stages go on that pace themselves by evaluations. (40 tasks of
// 8 to 300 generated tables on 4 to 32 devices, h200_sim, 1 s: 0.1 % beside none of them, up to 3 %
// either way. One of seven tables is 19 % cheaper.)
constexpr std::array<double, kEnds.size()> kTimeShares{0.1, 0.15, 0.2, 0.3};
constexpr std::int64_t kMostTimed = 100'000;  // tables times devices: of more, one takes long

std::int64_t share_of_first(std::int64_t end) {
  return static_cast<std::int64_t>(kFirstShare * static_cast<double>(end));
}

bool too_short(std::int64_t end, std::size_t tables) {
  return end < static_cast<std::int64_t>(tables) && end < kEnds.back();
}

/// Of a search that time paces: the first stages of one with evaluations, each until some share of
/// the time at most, then one for what is left.
std::vector<Stage> timed_stages(const SearchOptions& options, std::size_t tables) {
  std::vector<Stage> stages;
  for (std::size_t k = 0; k < kEnds.size(); ++k) {
    if (too_short(kEnds[k], tables)) continue;
    Stage& stage = stages.emplace_back(Stage{options, options, kEnds[k]});
    stage.limits.evaluations = kEnds[k];
    stage.first.evaluations = share_of_first(kEnds[k]);
    stage.limits.advise = stage.first.advise = false;
    stage.limits.time_limit_s = stage.first.time_limit_s = kTimeShares[k] * options.time_limit_s;
  }
  stages.push_back(Stage{options, options});
  return stages;
}

}  // namespace

void Stage::go_on_from(const StartPlan& best, const Stage& before) {
  earlier = &best;
  if (walks_only()) rivals = before.rivals;
}

std::vector<Stage> stages_of(const SearchOptions& options, std::size_t tables,
                             std::int32_t devices) {
  const std::int64_t all = options.evaluations;
  if (all <= 0) {
    const bool many = static_cast<std::int64_t>(tables) * devices > kMostTimed;
    if (many || !paced_by_time(options)) return {Stage{options, options}};
    return timed_stages(options, tables);
  }
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
    if (too_short(next, tables)) continue;
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
