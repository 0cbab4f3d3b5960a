#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/commands/data_origin.h"
#include "apps/console/console.h"
#include "apps/console/output.h"
#include "apps/console/text_table.h"
#include "apps/console/words.h"
#include "apps/flags/common_flags.h"
#include "apps/make_commands.h"
#include "engine/core/decimal.h"
#include "engine/cost_model/validate_models.h"
#include "engine/training/dataset.h"
#include "engine/training/evaluate.h"
#include "engine/training/report.h"

namespace neuroshard::apps {
namespace {

using NamedMetrics = std::vector<std::pair<std::string, Metrics>>;

class EvaluateCommand : public Command {
 public:
  void declare(FlagSet& flags) override {
    flags.texts("data", "DIR", "data directory, as `collect` writes it", &data_).required().reads();
    declare_kind(flags);
    declare_cost_model(flags, &cost_model_);
    flags
        .text("output", "FILE", "write the metrics as JSON; - = to stdout, and nothing else there",
              &output_)
        .writes();
  }

  Status run(const FlagSet&) override {
    NEUROSHARD_ASSIGN_OR_RETURN(const ModelOrigin origin,
                                origin_of(data_, std::nullopt, std::nullopt));
    NEUROSHARD_ASSIGN_OR_RETURN(const NamedCostModels models, load_cost_models(cost_model_));
    NEUROSHARD_ASSIGN_OR_RETURN(const NamedMetrics metrics, evaluate(models));
    if (output_) {
      NEUROSHARD_RETURN_IF_ERROR(deliver(*output_, format_evaluation(metrics, models, origin)));
      if (*output_ == "-") return {};
    }
    TextTable table({{"network", Align::kLeft}, {"samples"}, {"MSE ms^2"}, {"MAPE"}, {"tau"}});
    for (const auto& [name, fit] : metrics) {
      std::vector<std::string> cells = metrics_cells(fit);
      cells.insert(cells.begin(), {name, with_commas(fit.count)});
      table.add(std::move(cells));
    }
    return print("cost model " + describe(models) + "\ndata " + describe(origin) + "\n\n" +
                 table.render(Console::of(STDOUT_FILENO)));
  }

 protected:
  virtual void declare_kind(FlagSet& flags) = 0;
  virtual Result<NamedMetrics> evaluate(const NamedCostModels& models) = 0;

  std::vector<std::string> data_;

 private:
  std::string cost_model_ = kDefaultCostModel;
  std::optional<std::string> output_;
};

class EvaluateComputeCommand final : public EvaluateCommand {
 protected:
  void declare_kind(FlagSet& flags) override {
    flags.text("tables", "FILE", "the pool, instead of the data directory's own", &tables_).reads();
  }

  Result<NamedMetrics> evaluate(const NamedCostModels& models) override {
    if (!models.models.compute) return invalid_input(models.name + ": has no compute model");
    std::vector<ComputeDataset> data;
    for (const std::string& directory : data_) {
      NEUROSHARD_ASSIGN_OR_RETURN(ComputeDataset dataset,
                                  read_compute_dataset(directory, tables_.value_or("")));
      NEUROSHARD_RETURN_IF_ERROR(
          check_batch_size(models.models, dataset.batch_size).with_context(directory));
      data.push_back(std::move(dataset));
    }
    NEUROSHARD_ASSIGN_OR_RETURN(const Metrics metrics,
                                evaluate_compute(*models.models.compute, data));
    return NamedMetrics{{"compute", metrics}};
  }

 private:
  std::optional<std::string> tables_;
};

class EvaluateCommCommand final : public EvaluateCommand {
 protected:
  void declare_kind(FlagSet&) override {}

  Result<NamedMetrics> evaluate(const NamedCostModels& models) override {
    if (!models.models.comm) return invalid_input(models.name + ": has no communication models");
    std::vector<CommDataset> data;
    for (const std::string& directory : data_) {
      NEUROSHARD_ASSIGN_OR_RETURN(CommDataset dataset, read_comm_dataset(directory));
      NEUROSHARD_RETURN_IF_ERROR(
          check_batch_size(models.models, dataset.batch_size).with_context(directory));
      data.push_back(std::move(dataset));
    }
    NEUROSHARD_ASSIGN_OR_RETURN(const CommMetrics metrics,
                                evaluate_comm(*models.models.comm, data));
    return NamedMetrics{{"forward_comm", metrics.forward}, {"backward_comm", metrics.backward}};
  }
};

}  // namespace

std::unique_ptr<Command> make_evaluate_compute_command() {
  return std::make_unique<EvaluateComputeCommand>();
}
std::unique_ptr<Command> make_evaluate_comm_command() {
  return std::make_unique<EvaluateCommCommand>();
}

}  // namespace neuroshard::apps
