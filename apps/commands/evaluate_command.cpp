#include <unistd.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/commands/data_origin.h"
#include "apps/commands/known_data.h"
#include "apps/console/console.h"
#include "apps/console/output.h"
#include "apps/console/text_table.h"
#include "apps/console/words.h"
#include "apps/flags/common_flags.h"
#include "apps/make_commands.h"
#include "engine/core/decimal.h"
#include "engine/cost_model/cost_model_file.h"
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
        .text(
            "model-output", "FILE",
            "write the cost models with the error found here, for data that they were not trained "
            "with",
            &model_output_)
        .writes("cost models");
    flags
        .text("output", "FILE", "write the metrics as JSON; - = to stdout, and nothing else there",
              &output_)
        .writes();
  }

  Status run(const FlagSet&) override {
    NEUROSHARD_ASSIGN_OR_RETURN(const ModelOrigin origin,
                                origin_of(data_, std::nullopt, std::nullopt));
    NEUROSHARD_ASSIGN_OR_RETURN(NamedCostModels models, load_cost_models(cost_model_));
    NEUROSHARD_ASSIGN_OR_RETURN(const NamedMetrics metrics, evaluate(models));
    if (model_output_) {
      NEUROSHARD_RETURN_IF_ERROR(mark(metrics, origin, models.models));
      NEUROSHARD_RETURN_IF_ERROR(deliver(*model_output_, format_cost_models(models.models)));
      if (*model_output_ == "-") return {};
    }
    if (output_) {
      NEUROSHARD_RETURN_IF_ERROR(deliver(*output_, format_evaluation(metrics, models, origin)));
      if (*output_ == "-") return {};
    }
    TextTable table({{"network", Align::kLeft},
                     {"samples"},
                     {"MSE ms^2"},
                     {"MAPE"},
                     {"tau"},
                     {"90 % within"},
                     {"interval"},
                     {"covers"}});
    for (const auto& [name, fit] : metrics) {
      std::vector<std::string> cells = metrics_cells(fit);
      cells.insert(cells.begin(), {name, with_commas(fit.count)});
      for (const double share : {fit.half_width, fit.interval, fit.coverage}) {
        cells.push_back(std::isnan(share) ? "-" : fixed_decimals(100 * share, 1) + " %");
      }
      table.add(std::move(cells));
    }
    return print("cost model " + describe(models) + "\ndata " + describe(origin) + "\n\n" +
                 table.render(Console::of(STDOUT_FILENO)) + told_interval(metrics) +
                 (model_output_ ? "model written to " + *model_output_ + "\n" : ""));
  }

 protected:
  virtual void declare_kind(FlagSet& flags) = 0;
  virtual Result<NamedMetrics> evaluate(const NamedCostModels& models) = 0;
  /// Has the models say the error found.
  virtual void set_error(const NamedMetrics& metrics, CostModels& models) = 0;
  /// What the costs of that half are of.
  virtual ModelOrigin& origin_in(CostModels& models) = 0;

  std::vector<std::string> data_;

 private:
  /// Errors: too few samples, and data of other hardware: its error is not the models'.
  Status mark(const NamedMetrics& metrics, const ModelOrigin& data, CostModels& models) {
    ModelOrigin& own = origin_in(models);
    if (data.hardware != own.hardware || data.provenance != own.provenance) {
      return invalid_input("--model-output: found data " + describe(data) + ", expected data " +
                           describe(own) + " as the cost model is of");
    }
    for (const auto& [name, fit] : metrics) {
      if (held_out_error(fit)) continue;
      return invalid_input("--model-output: found " + std::to_string(fit.count) +
                           " costs, of which no 90 % interval can be told: expected more samples");
    }
    own.published = data.published;
    set_error(metrics, models);
    return {};
  }

  /// What the two last columns are of.
  static std::string told_interval(const NamedMetrics& metrics) {
    const Metrics& any = metrics.front().second;
    if (std::isnan(any.interval)) return "";
    return "interval: what the cost model says of its error or, where it says nothing, what half "
           "of "
           "these samples say of the others; covers: of the costs, 90 % are meant\n";
  }

  std::string cost_model_ = kDefaultCostModel;
  std::optional<std::string> output_;
  std::optional<std::string> model_output_;
};

class EvaluateComputeCommand final : public EvaluateCommand {
 protected:
  void declare_kind(FlagSet& flags) override {
    flags.text("tables", "FILE", "the pool, instead of the data directory's own", &tables_).reads();
  }

  Result<NamedMetrics> evaluate(const NamedCostModels& models) override {
    if (!models.models.compute) return invalid_input(models.name + ": has no compute model");
    NEUROSHARD_ASSIGN_OR_RETURN(
        const std::vector<ComputeDataset> data,
        read_known_data(data_, models.models, [&](const std::string& directory) {
          return read_compute_dataset(directory, tables_.value_or(""));
        }));
    NEUROSHARD_ASSIGN_OR_RETURN(const Metrics metrics,
                                evaluate_compute(*models.models.compute, data));
    return NamedMetrics{{"compute", metrics}};
  }

  void set_error(const NamedMetrics& metrics, CostModels& models) override {
    models.compute->error = held_out_error(metrics.front().second);
  }
  ModelOrigin& origin_in(CostModels& models) override { return models.compute_origin; }

 private:
  std::optional<std::string> tables_;
};

class EvaluateCommCommand final : public EvaluateCommand {
 protected:
  void declare_kind(FlagSet&) override {}

  Result<NamedMetrics> evaluate(const NamedCostModels& models) override {
    if (!models.models.comm) return invalid_input(models.name + ": has no communication models");
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<CommDataset> data,
                                read_known_data(data_, models.models, read_comm_dataset));
    NEUROSHARD_ASSIGN_OR_RETURN(const CommMetrics metrics,
                                evaluate_comm(*models.models.comm, data));
    return NamedMetrics{{"forward_comm", metrics.forward}, {"backward_comm", metrics.backward}};
  }

  void set_error(const NamedMetrics& metrics, CostModels& models) override {
    models.comm->forward.error = held_out_error(metrics.front().second);
    models.comm->backward.error = held_out_error(metrics.back().second);
  }
  ModelOrigin& origin_in(CostModels& models) override { return models.comm_origin; }
};

}  // namespace

std::unique_ptr<Command> make_evaluate_compute_command() {
  return std::make_unique<EvaluateComputeCommand>();
}
std::unique_ptr<Command> make_evaluate_comm_command() {
  return std::make_unique<EvaluateCommCommand>();
}

}  // namespace neuroshard::apps
