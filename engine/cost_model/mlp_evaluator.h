#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/core/cluster.h"
#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/cost_model/comm_predictor.h"
#include "engine/cost_model/compute_predictor.h"
#include "engine/cost_model/cost_evaluator.h"
#include "engine/cost_model/cost_models.h"
#include "engine/cost_model/dense_part.h"
#include "engine/cost_model/exchange_costs.h"
#include "engine/cost_model/shard_traffic.h"
#include "nn/isa.h"
#include "search/plan_evaluator.h"

namespace neuroshard {

/// Cost models as the search sees them. Thread-safety: as PlanEvaluator says.
class MlpEvaluator final : public CostEvaluator {
 public:
  /// For plans of `workload`, which must outlive it, on `devices` devices. Errors: kInvalidInput
  /// when a half of the models is missing or malformed, they are for another device count, or for
  /// another batch size than the workload's while no feature tells them so, and those of the
  /// models' dense part, which alone goes by hosts. REQUIRES an exchange that capabilities(models)
  /// know.
  static Result<std::unique_ptr<MlpEvaluator>> create(const CostModels& models,
                                                      const Workload& workload,
                                                      std::int32_t devices, nn::Isa isa,
                                                      const ExchangeFormat& exchange = {},
                                                      std::int32_t devices_per_host = 0);

  [[nodiscard]] std::int32_t devices() const override { return devices_; }
  search::ShapeId intern(const ShardShape& shape) override {
    search::ShapeId id = 0;
    compute_.intern_all({&shape, 1}, {&id, 1});
    return id;
  }
  std::vector<search::ShapeId> intern_all(std::span<const ShardShape> shapes) override {
    std::vector<search::ShapeId> ids(shapes.size());
    compute_.intern_all(shapes, ids);
    return ids;
  }
  void hold(std::span<const HotRows> hot) override;
  [[nodiscard]] search::Exchanged exchanged(const ShardShape& shape) const override {
    return with_work(shape, traffic_.of(shape));
  }
  [[nodiscard]] std::int32_t host_devices() const override { return traffic_.host_devices(); }
  [[nodiscard]] bool counts_work() const override {
    return dense_.has_value() || traffic_.counts_work();
  }
  [[nodiscard]] double shape_cost(search::ShapeId shape) const override {
    return compute_.shape_cost(shape);
  }
  [[nodiscard]] std::size_t state_size() const override { return compute_.state_size(); }
  void clear(float* state) const override { compute_.clear(state); }
  float place(search::ShapeId shape, float* state) const override {
    return compute_.place(shape, state);
  }
  [[nodiscard]] float empty_cost() const override { return compute_.empty_cost(); }
  [[nodiscard]] const float* addend(search::ShapeId shape) const override {
    return compute_.addend(shape);
  }
  [[nodiscard]] float cost_of_sum(std::span<const float* const> parts) const override {
    return compute_.cost_of_sum(parts);
  }
  void costs_with(search::ShapeId shape, std::span<const float> states,
                  std::span<float> costs) const override {
    compute_.costs_with(shape, states, costs);
  }
  [[nodiscard]] std::unique_ptr<search::DeviceCosts> device_costs() const override;
  [[nodiscard]] bool devices_alike() const override { return comm_.devices_alike(); }
  void plan_costs(const search::PlanBatch& batch, std::span<double> costs,
                  search::Scratch& scratch) const override;
  void plan_details(const search::PlanBatch& batch, const search::PlanDetails& details,
                    search::Scratch& scratch) const override;

  PlanCost evaluate(const Plan& plan) override;

 private:
  MlpEvaluator(const CostModels& models, const Workload& workload, std::int32_t devices,
               nn::Isa isa, const ExchangeCosts& exchange, const std::optional<DenseTime>& dense);

  [[nodiscard]] CommBatch predict_comm(const search::PlanBatch& batch,
                                       search::Scratch& scratch) const;
  void add_other_collectives(const search::PlanBatch& batch, const CommBatch& comm) const;
  [[nodiscard]] search::Collectives collectives_of(const search::PlanBatch& batch,
                                                   std::size_t plan) const;
  [[nodiscard]] search::Exchanged with_work(const ShardShape& shape, search::Exchanged all) const;
  [[nodiscard]] double lookups_ms(float compute_ms) const;
  [[nodiscard]] StepLoad common_load(const search::PlanBatch& batch, std::size_t plan) const;
  [[nodiscard]] StepTime time_of(StepLoad load, const search::DeviceWork& work, float compute,
                                 float backward, float forward) const;

  const Workload& workload_;
  const std::int32_t devices_;
  const std::optional<DenseTime> dense_;
  const ShardTraffic traffic_;
  std::vector<HotRows> hot_;  // on every device
  search::Collectives held_;  // theirs, on all devices together
  ComputePredictor compute_;
  CommPredictor comm_;
};

}  // namespace neuroshard
