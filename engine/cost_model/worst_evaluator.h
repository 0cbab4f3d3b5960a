#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/core/aligned_vector.h"
#include "engine/cost_model/cost_evaluator.h"
#include "engine/cost_model/shape_ids.h"

namespace neuroshard {

/// The worst of what several cost models say (CostModels::worst_of) as one evaluator, so that
/// searches need to know nothing of them. A device costs what the worst model says of it; whole
/// plans go through the first model's exchanges. So their costs are exact where the first model is
/// the worst, and else off by as much as exchanges differ from those that the offsets are of:
/// evaluate() alone asks every model about the whole plan. Thread-safety: as PlanEvaluator says.
class WorstEvaluator final : public CostEvaluator {
 public:
  /// As ModelInWorst has them.
  struct Model {
    std::unique_ptr<CostEvaluator> evaluator;
    double scale = 1;
    double offset_ms = 0;
  };

  /// REQUIRES two models or more, for the same workload and devices.
  explicit WorstEvaluator(std::vector<Model> models);

  [[nodiscard]] std::int32_t devices() const override { return first().devices(); }
  search::ShapeId intern(const ShardShape& shape) override;
  void hold(std::span<const HotRows> hot) override;
  [[nodiscard]] search::Exchanged exchanged(const ShardShape& shape) const override {
    return first().exchanged(shape);
  }
  [[nodiscard]] std::int32_t host_devices() const override { return first().host_devices(); }
  [[nodiscard]] bool counts_work() const override { return first().counts_work(); }
  [[nodiscard]] double shape_cost(search::ShapeId shape) const override;
  [[nodiscard]] std::size_t state_size() const override { return state_size_; }
  void clear(float* state) const override;
  float place(search::ShapeId shape, float* state) const override;
  [[nodiscard]] float empty_cost() const override;
  [[nodiscard]] const float* addend(search::ShapeId shape) const override {
    return addends_.data() + static_cast<std::size_t>(shape) * state_size_;
  }
  [[nodiscard]] float cost_of_sum(std::span<const float* const> parts) const override;
  void costs_with(search::ShapeId shape, std::span<const float> states,
                  std::span<float> costs) const override;
  [[nodiscard]] bool devices_alike() const override;
  void plan_costs(const search::PlanBatch& batch, std::span<double> costs,
                  search::Scratch& scratch) const override {
    first().plan_costs(batch, costs, scratch);
  }
  void plan_details(const search::PlanBatch& batch, const search::PlanDetails& details,
                    search::Scratch& scratch) const override {
    first().plan_details(batch, details, scratch);
  }
  /// The first model's, but for the plan's cost, which is the largest scaled one of any.
  PlanCost evaluate(const Plan& plan) override;

 private:
  /// A model, and where in states and addends its own are.
  struct Part {
    Model model;
    std::size_t at = 0;
    std::vector<search::ShapeId> shapes{};  // its own numbers of ours
  };

  [[nodiscard]] const CostEvaluator& first() const { return *parts_.front().model.evaluator; }
  /// The largest of what `ms_of` says of a part, scaled.
  template <typename MsOf>
  [[nodiscard]] double worst(const MsOf& ms_of) const;

  std::vector<Part> parts_;
  std::size_t state_size_ = 0;
  ShapeIds ids_;
  AlignedVector<float> addends_;  // [shapes, state_size]
};

}  // namespace neuroshard
