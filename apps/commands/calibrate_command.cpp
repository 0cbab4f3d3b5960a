#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/commands/data_origin.h"
#include "apps/commands/interruptible_training.h"
#include "apps/commands/known_data.h"
#include "apps/console/console.h"
#include "apps/console/output.h"
#include "apps/console/text_table.h"
#include "apps/console/words.h"
#include "apps/flags/common_flags.h"
#include "apps/make_commands.h"
#include "engine/core/decimal.h"
#include "engine/cost_model/cost_model_file.h"
#include "engine/cost_model/plan_error.h"
#include "engine/training/calibrate.h"
#include "engine/training/dataset.h"
#include "engine/training/report.h"

namespace neuroshard::apps {
namespace {

/// Reports of the networks that were calibrated, by their names.
using Reports = std::vector<std::pair<std::string, CalibrationReport>>;

std::vector<std::string> row_of(const std::string& network, const std::string& when,
                                const Metrics& metrics) {
  std::vector<std::string> cells = metrics_cells(metrics);
  cells.insert(cells.begin(), {network, when});
  cells.push_back(std::isnan(metrics.half_width)
                      ? "-"
                      : "+- " + fixed_decimals(100 * metrics.half_width, 1) + " %");
  return cells;
}

/// What both calibrations share: data, the base, where the model goes, and telling how it went.
class CalibrateCommand : public Command {
 public:
  void declare(FlagSet& flags) override {
    flags
        .text("base", "NAME|FILE", "trained cost models of hardware that is most like this one",
              &base_)
        .required()
        .reads("cost models");
    flags
        .texts("data", "DIR",
               "measurements of this hardware, as `collect` writes them; 50 to 200 samples do",
               &data_)
        .required()
        .reads();
    flags.text("output", "FILE", "the calibrated cost models, one safetensors file", &output_)
        .required()
        .writes("cost models");
    declare_kind(flags);
    flags.integer("epochs", "most passes over the samples", &options_.fit.epochs, 1, 100'000);
    flags.integer(
        "folds",
        "parts that the error is found with; as many as the base has networks, if it has more",
        &options_.folds, 2, 16);
    flags.seed("seed", "of the parts and the order of the samples", &options_.fit.seed);
    declare_threads(flags, &control_.threads);
    declare_data_origin(flags, &hardware_, &provenance_);
  }

  Status run(const FlagSet&) override {
    NEUROSHARD_ASSIGN_OR_RETURN(const ModelOrigin origin, origin_of(data_, hardware_, provenance_));
    if (release_of_model(base_)) {
      return invalid_input("--base: found '" + base_ +
                           "', expected trained cost models: a formula learns nothing");
    }
    NEUROSHARD_ASSIGN_OR_RETURN(NamedCostModels base, load_cost_models(base_));
    const Status status = train_interruptibly(control_, [&] { return calibrate(base, origin); });
    NEUROSHARD_RETURN_IF_ERROR(status);
    NEUROSHARD_RETURN_IF_ERROR(deliver(output_, format_cost_models(base.models)));
    const std::string poor = poor_order(base.models);
    if (output_ == "-") {
      note_if_any(poor);
      return {};
    }
    TextTable table({{"network", Align::kLeft},
                     {"", Align::kLeft},
                     {"MSE ms^2"},
                     {"MAPE"},
                     {"tau"},
                     {"90 % within"}});
    std::string settings;
    for (const auto& [name, report] : reports_) {
      table.add(row_of(name, "before", report.before));
      table.add(row_of(name, "after", report.after), Style::kBold);
      settings += name + ": " + how_it_learned(report) + "\n";
    }
    return print(
        "base " + base.name + "\ndata " + describe(origin) + ", " + counted(samples_, "sample") +
        "\n\n" + table.render(Console::of(STDOUT_FILENO)) +
        "before: the base, of all samples; after: of each sample by a network that has not "
        "learned from it\n" +
        settings + (poor.empty() ? "" : "NOT GOOD: " + poor + "\n") + "model written to " +
        output_ + (poor.empty() ? "" : " all the same") + "\n");
  }

 protected:
  virtual void declare_kind(FlagSet& flags) = 0;
  /// Puts the calibrated half in the place of the base's and fills `reports_` and `samples_`.
  virtual Status calibrate(NamedCostModels& models, const ModelOrigin& origin) = 0;

  template <typename Dataset>
  void count(const std::vector<Dataset>& data) {
    for (const Dataset& dataset : data) samples_ += std::ssize(dataset.samples);
  }

  std::vector<std::string> data_;
  CalibrateOptions options_ = default_calibrate_options();
  TrainControl control_{.threads = 0};
  Reports reports_;
  std::int64_t samples_ = 0;

 private:
  static std::string how_it_learned(const CalibrationReport& report) {
    if (report.epochs == 0) {
      return "no network did better than the base, at most with another factor and offset, of "
             "which that is";
    }
    return "learning rate " + general_decimals(report.learning_rate, 3) + ", epoch " +
           std::to_string(report.epochs);
  }

  std::string base_;
  std::string output_;
  std::optional<std::string> hardware_;
  std::optional<std::string> provenance_;
};

class CalibrateComputeCommand final : public CalibrateCommand {
 protected:
  void declare_kind(FlagSet& flags) override {
    flags.text("tables", "FILE", "the pool, instead of the data directory's own", &tables_).reads();
  }

  Status calibrate(NamedCostModels& base, const ModelOrigin& origin) override {
    if (!base.models.compute) return invalid_input(base.name + ": has no compute model");
    NEUROSHARD_ASSIGN_OR_RETURN(
        const std::vector<ComputeDataset> data,
        read_known_data(data_, base.models, [&](const std::string& directory) {
          return read_compute_dataset(directory, tables_.value_or(""));
        }));
    count(data);
    NEUROSHARD_ASSIGN_OR_RETURN(ComputeCalibration found,
                                calibrate_compute(*base.models.compute, data, options_, control_));
    base.models.compute = std::move(found.model);
    base.models.compute_origin = origin;
    reports_ = {{"compute", found.report}};
    return {};
  }

 private:
  std::optional<std::string> tables_;
};

class CalibrateCommCommand final : public CalibrateCommand {
 protected:
  void declare_kind(FlagSet&) override {}

  Status calibrate(NamedCostModels& base, const ModelOrigin& origin) override {
    if (!base.models.comm) return invalid_input(base.name + ": has no communication models");
    NEUROSHARD_ASSIGN_OR_RETURN(const std::vector<CommDataset> data,
                                read_known_data(data_, base.models, read_comm_dataset));
    count(data);
    NEUROSHARD_ASSIGN_OR_RETURN(CommCalibration found,
                                calibrate_comm(*base.models.comm, data, options_, control_));
    base.models.comm = std::move(found.models);
    base.models.comm_origin = origin;
    reports_ = {{"forward_comm", found.forward}, {"backward_comm", found.backward}};
    return {};
  }
};

}  // namespace

std::unique_ptr<Command> make_calibrate_compute_command() {
  return std::make_unique<CalibrateComputeCommand>();
}
std::unique_ptr<Command> make_calibrate_comm_command() {
  return std::make_unique<CalibrateCommCommand>();
}

}  // namespace neuroshard::apps
