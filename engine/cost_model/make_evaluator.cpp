#include "engine/cost_model/make_evaluator.h"

#include <utility>
#include <vector>

#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/capability_words.h"
#include "engine/cost_model/kernel_bandwidths.h"
#include "engine/cost_model/mlp_evaluator.h"
#include "engine/cost_model/torchrec_evaluator.h"
#include "engine/cost_model/torchrec_formula.h"
#include "engine/cost_model/worst_evaluator.h"
#include "nn/isa.h"

namespace neuroshard {
namespace {

/// Outputs that are not pooled are as many times more as a bag has lookups: no guess would do.
Status check_pooled(const Workload& workload) {
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    if (workload.tables[index].pooled) continue;
    return invalid_input(table_label(workload, static_cast<std::int32_t>(index)) +
                         ": lookups are not pooled: " + lacks_sequences());
  }
  return {};
}

Status check_exchange(const CostModels& models, const ExchangeFormat& exchange) {
  if (capabilities(models).exchange.has(exchange)) return {};
  const std::string name = models.source.empty() ? "the cost models" : models.source;
  return invalid_input("exchange: found " + to_string(exchange) +
                       ", expected fp32: " + lacks_codecs(name));
}

class FormulaKernels final : public KernelCostModel {
 public:
  FormulaKernels(const TorchRecCosts& costs, const Workload& workload, std::int32_t devices)
      : formula_(costs, workload.batch_size, devices), bandwidths_(costs, workload) {}

  [[nodiscard]] double bandwidth_of(std::int32_t table, const TableKernel& kernel) const override {
    return bandwidths_.of(table, kernel);
  }
  [[nodiscard]] double shard_ms(const Table& table, const ShardShape& shape) const override {
    return formula_.shard(table, shape, bandwidth_of(shape.table, shape.kernel)).total_ms();
  }

 private:
  const TorchRecFormula formula_;
  const KernelBandwidths bandwidths_;
};

Result<std::unique_ptr<CostEvaluator>> make_worst_evaluator(const CostModels& models,
                                                            const Workload& workload,
                                                            std::int32_t devices,
                                                            std::int32_t devices_per_host,
                                                            const ExchangeFormat& exchange) {
  std::vector<WorstEvaluator::Model> all;
  for (const ModelInWorst& one : models.worst_of) {
    NEUROSHARD_ASSIGN_OR_RETURN(
        std::unique_ptr<CostEvaluator> own,
        make_evaluator(*one.models, workload, devices, devices_per_host, exchange));
    all.push_back({std::move(own), one.scale, one.offset_ms});
  }
  return std::unique_ptr<CostEvaluator>(std::make_unique<WorstEvaluator>(std::move(all)));
}

}  // namespace

Result<std::unique_ptr<CostEvaluator>> make_evaluator(const CostModels& models,
                                                      const Workload& workload,
                                                      std::int32_t devices,
                                                      std::int32_t devices_per_host,
                                                      const ExchangeFormat& exchange) {
  if (!models.worst_of.empty()) {
    return make_worst_evaluator(models, workload, devices, devices_per_host, exchange);
  }
  const Capabilities known = capabilities(models);
  if (!known.sequences) NEUROSHARD_RETURN_IF_ERROR(check_pooled(workload));
  NEUROSHARD_RETURN_IF_ERROR(check_exchange(models, exchange));
  if (models.torchrec) {
    if (models.dense) {
      return invalid_input("costs of whole steps: " + lacks_steps(models.source));
    }
    return std::unique_ptr<CostEvaluator>(std::make_unique<TorchRecEvaluator>(
        torchrec_costs(*models.torchrec, devices_per_host, exchange), workload, devices));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const nn::Isa isa, nn::select_isa());
  NEUROSHARD_ASSIGN_OR_RETURN(
      std::unique_ptr<MlpEvaluator> evaluator,
      MlpEvaluator::create(models, workload, devices, isa, exchange, devices_per_host));
  return std::unique_ptr<CostEvaluator>(std::move(evaluator));
}

std::unique_ptr<const KernelCostModel> make_kernel_costs(const CostModels& models,
                                                         const Workload& workload,
                                                         std::int32_t devices,
                                                         std::int32_t devices_per_host,
                                                         const ExchangeFormat& exchange) {
  return std::make_unique<FormulaKernels>(
      torchrec_costs(*models.torchrec, devices_per_host, exchange), workload, devices);
}

}  // namespace neuroshard
