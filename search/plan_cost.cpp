#include "search/plan_cost.h"

#include "engine/core/aligned_vector.h"

namespace neuroshard::search {

PlacedPlan place(const Plan& plan, PlanEvaluator& evaluator) {
  const auto devices = static_cast<std::size_t>(plan.devices);
  const std::size_t size = evaluator.state_size();
  AlignedVector<float> states(devices * size);
  evaluator.hold(hot_rows(plan));
  for (std::size_t device = 0; device < devices; ++device) {
    evaluator.clear(states.data() + device * size);
  }
  const std::vector<ShardShape> shapes = shapes_of(plan);
  const std::vector<ShapeId> ids = evaluator.intern_all(shapes);
  PlacedPlan placed{std::vector<float>(devices, evaluator.empty_cost()),
                    std::vector<std::int64_t>(devices),
                    {},
                    std::vector<DeviceWork>(devices)};
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const bool replicated = shapes[k].replicated;
    const Exchanged exchanged = evaluator.exchanged(shapes[k]);
    const std::size_t first = replicated ? 0 : static_cast<std::size_t>(plan.shards[k].device);
    for (std::size_t device = first; device < (replicated ? devices : first + 1); ++device) {
      placed.compute_ms[device] = evaluator.place(ids[k], states.data() + device * size);
      placed.dim_sums[device] += exchanged.dims;
      placed.work[device] += exchanged.work;
      placed.collectives += exchanged.collectives;
    }
  }
  return placed;
}

double plan_cost(const Plan& plan, PlanEvaluator& evaluator) {
  const PlacedPlan placed = place(plan, evaluator);
  double cost = 0;
  Scratch scratch;
  evaluator.plan_costs(
      {1, placed.compute_ms, placed.dim_sums, {&placed.collectives, 1}, placed.work}, {&cost, 1},
      scratch);
  return cost;
}

}  // namespace neuroshard::search
