#include "search/surco/start_costs.h"

#include <algorithm>

#include "engine/core/rng.h"
#include "search/policy/device_chooser.h"
#include "search/policy/episode.h"
#include "search/policy/rollout.h"

namespace neuroshard::search {
std::vector<double> random_costs(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<double> costs(count);
  for (double& cost : costs) cost = rng.uniform();
  return costs;
}

std::vector<double> policy_costs(std::span<const PolicyPiece> pieces, PolicyRun& policy,
                                 const PlanEvaluator& evaluator, std::int64_t memory_bytes,
                                 double temperature) {
  const auto devices = static_cast<std::size_t>(evaluator.devices());
  std::vector<double> costs(pieces.size() * devices, 1.0);
  learn_shapes(pieces, policy);
  Episode episode(evaluator, policy);
  episode.reset(episode_setting(pieces, evaluator, memory_bytes));
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    if (!episode.offer(pieces[p])) break;
    const std::span<const float> scores = episode.scores(pieces[p]);
    const std::int32_t best = best_device(scores, episode.allowed());
    const double highest = scores[static_cast<std::size_t>(best)];
    for (std::size_t d = 0; d < devices; ++d) {
      if (episode.allowed()[d] == 0) continue;
      costs[p * devices + d] = std::min(1.0, temperature * (highest - scores[d]));
    }
    episode.place(pieces[p], best);
  }
  return costs;
}

}  // namespace neuroshard::search
