#include "search/refine/stages.h"

#include <algorithm>

namespace neuroshard::search {
namespace {

// Where stages end: at kLast, its thirds, and so on. Beyond it there is one more, to the end.
// (steps_up_bench, 40 tasks, two seeds, beside a first plan of its own for each budget, which had
// 4.4 % of all steps from 300 to 300,000 evaluations up, by 2.2 % in the mean: at 1,000 and 3,000
// plans are 0.3 and 1.5 % costlier, at 30,000 and 100,000 as cheap and 0.3 % cheaper. With ninths
// they are costlier up to 10,000, by 0.1 to 1.4 %.)
constexpr double kLast = 90'000;
constexpr double kGrowth = 3;
constexpr double kLeast = 1'200;    // the shortest of all is no longer, ..
constexpr double kEvaluations = 1;  // .. or has fewer than so many a table
// Of a stage's end, what its first plans may take: enough for the paper's search to end below the
// baselines, and no more than kMostForFirst. (The same bench: two ninths and a third of it are
// within 0.8 % of it at each budget.)
constexpr double kFirstShare = 2.0 / 3;
constexpr double kMostForFirst = 60'000;

std::int64_t whole(double evaluations) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(evaluations));
}

}  // namespace

void Stage::go_on_from(const StartPlan& best, const Stage& before) {
  earlier = &best;
  const std::int64_t left = std::max<std::int64_t>(1, limits.evaluations - so_far());
  if (kGrowth * static_cast<double>(before.first_took) < static_cast<double>(left)) return;
  first.evaluations = std::min(first.evaluations, left);
}

std::vector<Stage> stages_of(const SearchOptions& options, std::size_t tables) {
  if (options.evaluations <= 0) return {Stage{options, options}};
  const auto all = static_cast<double>(options.evaluations);
  const double least = std::max(kLeast, kEvaluations * static_cast<double>(tables));
  double end = kLast;
  while (end > least) end /= kGrowth;
  std::vector<Stage> stages;
  const auto add = [&](double limit, double first) {
    Stage& stage = stages.emplace_back(Stage{options, options, whole(end), options.evaluations});
    stage.limits.evaluations = whole(limit);
    stage.first.evaluations = whole(first);
    stage.limits.advise = stage.first.advise = stage.last() && options.advise;
  };
  for (; end <= kLast && end < all; end *= kGrowth) add(end, kFirstShare * end);
  const double first = std::min(kMostForFirst, kFirstShare * end);
  while (end < all) end *= kGrowth;
  add(all, std::min(all, first));
  return stages;
}

}  // namespace neuroshard::search
