#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/commands/data_origin.h"
#include "apps/commands/interruptible_training.h"
#include "apps/commands/training_text.h"
#include "apps/console/console.h"
#include "apps/console/output.h"
#include "apps/console/words.h"
#include "apps/flags/common_flags.h"
#include "apps/flags/fit_flags.h"
#include "apps/make_commands.h"
#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/comm_features.h"
#include "engine/cost_model/cost_model_file.h"
#include "engine/cost_model/features.h"
#include "engine/cost_model/plan_error.h"
#include "engine/cost_model/validate_models.h"
#include "engine/training/dataset.h"
#include "engine/training/report.h"
#include "engine/training/train.h"

namespace neuroshard::apps {
namespace {

constexpr int kMaxWidth = 4096;

/// What both trainings share: data, where the model goes, and telling how it went.
class TrainCommand : public Command {
 public:
  void declare(FlagSet& flags) override {
    flags.texts("data", "DIR", "data directory, as `collect` writes it", &data_).required().reads();
    flags.text("output", "FILE", "the cost models, one safetensors file", &output_)
        .required()
        .writes("cost models");
    flags.text("base", "NAME|FILE", "cost models whose other half is kept", &base_)
        .reads("cost models");
    flags.choice("recipe", "NAME", "where the settings below start: default (ours) or paper",
                 &recipe_, {"default", "paper"});
    declare_kind(flags);
    fit_.declare(flags);
    declare_threads(flags, &control_.threads);
    flags.choice("backend", "NAME", "what trains: cpu or cuda (a GPU)", &backend_, {"cpu", "cuda"});
    flags.text("report", "FILE", "settings, learning curve and metrics as JSON", &report_).writes();
    declare_data_origin(flags, &hardware_, &provenance_);
  }

  Status run(const FlagSet&) override {
    NEUROSHARD_ASSIGN_OR_RETURN(const ModelOrigin origin, origin_of(data_, hardware_, provenance_));
    CostModels models;
    if (base_ && release_of_model(*base_)) {
      return invalid_input("--base: found '" + *base_ +
                           "', expected trained cost models: there is no half of it to keep");
    }
    if (base_) {
      NEUROSHARD_ASSIGN_OR_RETURN(NamedCostModels base, load_cost_models(*base_));
      models = std::move(base.models);
    }
    control_.gpu = backend_ == "cuda";
    NEUROSHARD_RETURN_IF_ERROR(
        train_interruptibly(control_, [&] { return train(models, origin); }));
    NEUROSHARD_RETURN_IF_ERROR(deliver(output_, format_cost_models(models)));
    if (report_) NEUROSHARD_RETURN_IF_ERROR(deliver(*report_, format_training(reports(), origin)));
    if (output_ == "-" || report_ == "-") {
      note_if_any(poor_order(models));
      return {};
    }
    return print(describe(origin) + "\n" + training_text(Console::of(STDOUT_FILENO), reports()) +
                 verdict(models) + missing_half(models) + "\n");
  }

 protected:
  virtual void declare_kind(FlagSet& flags) = 0;
  /// Fits and puts the new half into `models`.
  virtual Status train(CostModels& models, const ModelOrigin& origin) = 0;
  /// Of the finished training, by network.
  [[nodiscard]] virtual TrainReports reports() const = 0;

  /// The batch sizes between the data sets' smallest and largest, as far as the base models know
  /// them too.
  template <typename Dataset>
  Status set_batch_sizes(const std::vector<Dataset>& data, CostModels& models) const {
    const auto [least, most] = std::minmax_element(
        data.begin(), data.end(),
        [](const Dataset& a, const Dataset& b) { return a.batch_size < b.batch_size; });
    std::int64_t from = least->batch_size;
    std::int64_t to = most->batch_size;
    if (base_) {
      const Capabilities known = capabilities(models);
      from = std::max(from, known.min_batch_size);
      to = std::min(to, known.max_batch_size);
    }
    if (from > to) {
      return invalid_input(data_.front() + ": found batch size " +
                           std::to_string(data.front().batch_size) + ", expected " +
                           describe_batch_sizes(models) + " as in " + *base_);
    }
    models.batch_size = to;
    models.min_batch_size = from < to ? from : 0;
    return {};
  }

  std::vector<std::string> data_;
  std::string recipe_ = "default";
  FitFlags fit_;
  TrainControl control_{.threads = 0};

 private:
  /// A file is never called good whose order is none to plan by.
  [[nodiscard]] std::string verdict(const CostModels& models) const {
    const std::string poor = poor_order(models);
    return (poor.empty() ? "" : "NOT GOOD: " + poor + "\n") + "model written to " + output_ +
           (poor.empty() ? "" : " all the same");
  }

  [[nodiscard]] std::string missing_half(const CostModels& models) const {
    if (!models.comm) return "; it still lacks the other half: train comm --base " + output_;
    if (!models.compute) return "; it still lacks the other half: train compute --base " + output_;
    return "";
  }

  std::string output_;
  std::string backend_ = "cpu";
  std::optional<std::string> base_;
  std::optional<std::string> report_;
  std::optional<std::string> hardware_;
  std::optional<std::string> provenance_;
};

class TrainComputeCommand final : public TrainCommand {
 protected:
  void declare_kind(FlagSet& flags) override {
    flags.text("tables", "FILE", "the pool, instead of the data directory's own", &tables_).reads();
    flags.text("features", "LIST", "default, paper, or names such as dim,log_rows,log_lookups",
               &features_);
    flags
        .text("start", "NAME|FILE",
              "cost models whose network is trained on, one member, with its own inputs, to which "
              "--features may add",
              &start_)
        .reads("cost models");
    flags.choice("target", "NAME", "what the network learns: ms or log_ms", &target_,
                 {"ms", "log_ms"});
    flags.integers("table-widths", "layers of the network of a table", &table_widths_, 1,
                   kMaxWidth);
    flags.integers("head-widths", "hidden layers behind their sum", &head_widths_, 1, kMaxWidth);
  }

  Status train(CostModels& models, const ModelOrigin& origin) override {
    ComputeTrainOptions options =
        recipe_ == "paper" ? paper_compute_options() : default_compute_options();
    if (features_ == "paper") {
      options.features = paper_features();
    } else if (features_ == "default") {
      options.features = default_features();
    } else if (features_) {
      const auto features = FeatureSet::parse(*features_);
      if (!features.ok()) return features.status().with_context("--features");
      options.features = *features_;
    }
    if (target_) {
      NEUROSHARD_ASSIGN_OR_RETURN(options.target, parse_cost_target(*target_));
    }
    if (!table_widths_.empty()) options.table_widths = table_widths_;
    if (!head_widths_.empty()) options.head_widths = head_widths_;
    CostModels start;
    if (start_) {
      NEUROSHARD_ASSIGN_OR_RETURN(start, read_start(options));
    }
    NEUROSHARD_RETURN_IF_ERROR(fit_.apply(options.fit));
    if (start_ && options.fit.members > 1) {
      return invalid_input("--members: found " + std::to_string(options.fit.members) +
                           " with --start, expected 1: all would begin alike");
    }
    if (start_) options.start = &*start.compute;
    std::vector<ComputeDataset> data;
    for (const std::string& directory : data_) {
      NEUROSHARD_ASSIGN_OR_RETURN(ComputeDataset dataset,
                                  read_compute_dataset(directory, tables_.value_or("")));
      data.push_back(std::move(dataset));
    }
    NEUROSHARD_RETURN_IF_ERROR(set_batch_sizes(data, models));
    NEUROSHARD_ASSIGN_OR_RETURN(ComputeTraining training, train_compute(data, options, control_));
    models.compute = std::move(training.model);
    models.compute_origin = origin;
    if (start_ && !(start.compute_origin == origin)) {
      models.compute_origin.hardware += ", trained on from " + describe(start.compute_origin);
    }
    report_of_training_ = std::move(training.report);
    return {};
  }

  [[nodiscard]] TrainReports reports() const override {
    return {{"compute", &report_of_training_}};
  }

 private:
  /// The models of --start; of `options` what goes with a network that there is.
  Result<CostModels> read_start(ComputeTrainOptions& options) const {
    NEUROSHARD_ASSIGN_OR_RETURN(NamedCostModels named, load_cost_models(*start_));
    if (!named.models.compute) {
      return invalid_input("--start: found '" + *start_ + "' without a compute half");
    }
    if (target_ || !table_widths_.empty() || !head_widths_.empty()) {
      return invalid_input(
          "--start: found with --target, --table-widths or --head-widths, expected none: a "
          "network that there is has its own");
    }
    if (!features_) options.features = named.models.compute->features.to_string();
    options.fit.members = 1;
    return std::move(named.models);
  }

  std::optional<std::string> tables_;
  std::optional<std::string> features_;
  std::optional<std::string> start_;
  std::optional<std::string> target_;
  std::vector<int> table_widths_;
  std::vector<int> head_widths_;
  TrainReport report_of_training_;
};

class TrainCommCommand final : public TrainCommand {
 protected:
  void declare_kind(FlagSet& flags) override {
    flags.choice("architecture", "NAME", "pooled (any device count) or fixed (that of the data)",
                 &architecture_, {"pooled", "fixed"});
    flags.text("features", "LIST", "pooled: default, or names such as dim,dim_max,start_wait",
               &features_);
    flags.integers("hidden-widths", "hidden layers", &hidden_widths_, 1, kMaxWidth);
  }

  Status train(CostModels& models, const ModelOrigin& origin) override {
    CommTrainOptions options = recipe_ == "paper" ? paper_comm_options() : default_comm_options();
    if (architecture_) {
      options.architecture = architecture_ == "fixed" ? CommArchitecture::kFixedDevices
                                                      : CommArchitecture::kPooledDevices;
    }
    NEUROSHARD_RETURN_IF_ERROR(set_features(options));
    if (!hidden_widths_.empty()) options.hidden_widths = hidden_widths_;
    NEUROSHARD_RETURN_IF_ERROR(fit_.apply(options.fit));
    std::vector<CommDataset> data;
    for (const std::string& directory : data_) {
      NEUROSHARD_ASSIGN_OR_RETURN(CommDataset dataset, read_comm_dataset(directory));
      data.push_back(std::move(dataset));
    }
    NEUROSHARD_RETURN_IF_ERROR(set_batch_sizes(data, models));
    NEUROSHARD_ASSIGN_OR_RETURN(CommTraining training, train_comm(data, options, control_));
    models.comm = std::move(training.models);
    models.comm_origin = origin;
    forward_ = std::move(training.forward);
    backward_ = std::move(training.backward);
    return {};
  }

  [[nodiscard]] TrainReports reports() const override {
    return {{"forward_comm", &forward_}, {"backward_comm", &backward_}};
  }

 private:
  Status set_features(CommTrainOptions& options) const {
    if (options.architecture == CommArchitecture::kFixedDevices) {
      if (features_)
        return invalid_input("--features: found with a fixed architecture, which has none");
      options.features.clear();
      return {};
    }
    if (options.features.empty() || features_ == "default") {
      options.features = default_comm_features();
    }
    if (!features_ || features_ == "default") return {};
    const auto parsed = CommFeatureSet::parse(*features_);
    if (!parsed.ok()) return parsed.status().with_context("--features");
    options.features = *features_;
    return {};
  }

  std::optional<std::string> architecture_;
  std::optional<std::string> features_;
  std::vector<int> hidden_widths_;
  TrainReport forward_;
  TrainReport backward_;
};

}  // namespace

std::unique_ptr<Command> make_train_compute_command() {
  return std::make_unique<TrainComputeCommand>();
}
std::unique_ptr<Command> make_train_comm_command() { return std::make_unique<TrainCommCommand>(); }

}  // namespace neuroshard::apps
