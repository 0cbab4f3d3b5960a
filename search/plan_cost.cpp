#include "search/plan_cost.h"

#include <algorithm>
#include <array>
#include <set>

#include "engine/core/aligned_vector.h"
#include "search/host_sums.h"

namespace neuroshard::search {

PlacedPlan::PlacedPlan(const PlanEvaluator& evaluator)
    : compute_ms(static_cast<std::size_t>(evaluator.devices()), evaluator.empty_cost()),
      dim_sums(compute_ms.size()),
      work(compute_ms.size()) {}

void PlacedPlan::clear(float empty_cost) {
  std::fill(compute_ms.begin(), compute_ms.end(), empty_cost);
  std::fill(dim_sums.begin(), dim_sums.end(), 0);
  std::fill(work.begin(), work.end(), DeviceWork{});
  collectives = {};
}

void PlacedPlan::add(std::size_t device, const Exchanged& exchanged) {
  dim_sums[device] += exchanged.dims;
  collectives += exchanged.collectives;
  work[device] += exchanged.work;
}

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
  PlacedPlan placed(evaluator);
  const std::int32_t of_host = evaluator.host_devices();
  std::set<std::array<std::int32_t, 3>> added_up;  // tables, their columns and the hosts
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const bool replicated = shapes[k].replicated;
    const Exchanged exchanged = evaluator.exchanged(shapes[k]);
    const std::size_t first = replicated ? 0 : static_cast<std::size_t>(plan.shards[k].device);
    for (std::size_t device = first; device < (replicated ? devices : first + 1); ++device) {
      placed.compute_ms[device] = evaluator.place(ids[k], states.data() + device * size);
      placed.add(device, exchanged);
    }
    if (exchanged.host_dims == 0) continue;
    const Shard& shard = plan.shards[k];
    const std::array<std::int32_t, 3> sum{shard.table, shard.column_begin, shard.device / of_host};
    if (!added_up.insert(sum).second) continue;
    add_host_dims(exchanged.host_dims, shard.device, of_host, placed.dim_sums, placed.work);
  }
  return placed;
}

double plan_cost(const Plan& plan, PlanEvaluator& evaluator) {
  double cost = 0;
  Scratch scratch;
  evaluator.plan_costs(place(plan, evaluator).batch(), {&cost, 1}, scratch);
  return cost;
}

}  // namespace neuroshard::search
