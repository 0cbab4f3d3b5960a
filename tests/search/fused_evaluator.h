#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/core/rng.h"
#include "tests/search/summed_evaluator.h"
#include "tests/search/table_evaluator.h"

namespace neuroshard::test {

/// Costs with what makes real ones hard: a device's shards cost less together than apart, halves
/// more than half, the forward exchange waits for the slowest, and (unless `alike`) devices differ.
class FusedEvaluator : public SummedEvaluator {
 public:
  FusedEvaluator(const Workload& workload, std::int32_t devices, std::vector<float> table_costs,
                 double waiting, bool alike)
      : SummedEvaluator(workload, devices),
        table_costs_(std::move(table_costs)),
        waiting_(waiting),
        alike_(alike) {}

  [[nodiscard]] bool devices_alike() const override { return alike_; }
  void plan_costs(const search::PlanBatch& batch, std::span<double> costs,
                  search::Scratch& scratch) const override;
  void plan_details(const search::PlanBatch& batch, const search::PlanDetails& details,
                    search::Scratch& scratch) const override;

 protected:
  [[nodiscard]] State addend_of(std::size_t table, float share) const override;
  [[nodiscard]] float cost_of_state(const float* state) const override;

 private:
  std::vector<float> table_costs_;
  double waiting_;
  bool alike_;
};

/// One for a random workload: costs between 0.5 and 12 ms.
FusedEvaluator random_fused(Rng& rng, const Workload& workload, std::int32_t devices);

/// `count` tables of 8 to 64 columns.
Workload many_tables(Rng& rng, std::int64_t count);

}  // namespace neuroshard::test
