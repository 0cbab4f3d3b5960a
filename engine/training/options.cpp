#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/decimal.h"
#include "engine/cost_model/comm_features.h"
#include "engine/cost_model/features.h"
#include "engine/training/fit.h"
#include "engine/training/train.h"
#include "io/json/json_writer.h"
#include "io/text.h"

namespace neuroshard {
namespace {

template <typename T>
struct Word {
  T value;
  std::string_view word;
};

constexpr std::array kSchedules{Word<RateSchedule>{RateSchedule::kConstant, "constant"},
                                Word<RateSchedule>{RateSchedule::kCosine, "cosine"}};
constexpr std::array kTargets{Word<CostTarget>{CostTarget::kMilliseconds, "ms"},
                              Word<CostTarget>{CostTarget::kLogMilliseconds, "log_ms"}};
constexpr std::array kArchitectures{
    Word<CommArchitecture>{CommArchitecture::kFixedDevices, "fixed-devices-mlp"},
    Word<CommArchitecture>{CommArchitecture::kPooledDevices, "pooled-devices-mlp"}};

template <typename Words>
auto parse_word(const Words& words, std::string_view text, const std::string& what)
    -> Result<decltype(words.front().value)> {
  std::string known;
  for (const auto& word : words) {
    if (word.word == text) return word.value;
    known += (known.empty() ? "" : ", ") + std::string(word.word);
  }
  return invalid_input("unknown " + what + " \"" + std::string(text) + "\", expected one of " +
                       known);
}

template <typename Words, typename T>
std::string_view word_of(const Words& words, T value) {
  for (const auto& word : words) {
    if (word.value == value) return word.word;
  }
  return "unknown";
}

}  // namespace

Result<RateSchedule> parse_rate_schedule(std::string_view text) {
  return parse_word(kSchedules, text, "learning-rate schedule");
}
std::string_view to_string(RateSchedule schedule) { return word_of(kSchedules, schedule); }

Result<CostTarget> parse_cost_target(std::string_view text) {
  return parse_word(kTargets, text, "target");
}
std::string_view to_string(CostTarget target) { return word_of(kTargets, target); }

Result<CommArchitecture> parse_comm_architecture(std::string_view text) {
  return parse_word(kArchitectures, text, "communication architecture");
}
std::string_view to_string(CommArchitecture architecture) {
  return word_of(kArchitectures, architecture);
}

std::string describe(const std::vector<int>& widths) {
  std::string text;
  for (const int width : widths) text += (text.empty() ? "" : "-") + std::to_string(width);
  return text;
}

TrainReport begin_report(std::vector<std::pair<std::string, std::string>> own, const FitOptions& o,
                         const Split& split) {
  using io::format_number;
  constexpr int kFloatDigits = std::numeric_limits<float>::digits10;  // survive it
  TrainReport report;
  report.options = std::move(own);
  for (auto& option : std::vector<std::pair<std::string, std::string>>{
           {"epochs", std::to_string(o.epochs)},
           {"patience", std::to_string(o.patience)},
           {"batch_size", std::to_string(o.batch_size)},
           {"learning_rate", format_number(o.learning_rate)},
           {"schedule", std::string(to_string(o.schedule))},
           {"weight_decay", format_number(o.weight_decay)},
           {"average", format_number(o.average)},
           {"members", std::to_string(o.members)},
           {"loss", std::string(nn::to_string(o.loss.kind))},
           {"loss_delta", general_decimals(static_cast<double>(o.loss.delta), kFloatDigits)},
           {"target_scale", format_number(o.target_scale)},
           {"train_share", format_number(o.train_share)},
           {"validation_share", format_number(o.validation_share)},
           {"seed", std::to_string(o.seed)}}) {
    report.options.push_back(std::move(option));
  }
  report.train_samples = std::ssize(split.train);
  report.validation_samples = std::ssize(split.validation);
  report.test_samples = std::ssize(split.test);
  return report;
}

ComputeTrainOptions default_compute_options() {
  ComputeTrainOptions options;
  options.features = default_features();
  options.table_widths = {128, 32};
  options.head_widths = {64};
  options.fit.epochs = 150;
  options.fit.batch_size = 64;
  options.fit.learning_rate = 4e-3;
  options.fit.average = 0.999;
  options.fit.members = 4;
  options.fit.loss = {nn::LossKind::kSquaredOverTarget, 0.1f};
  return options;
}

ComputeTrainOptions paper_compute_options() {
  ComputeTrainOptions options;
  options.features = paper_features();
  options.table_widths = {128, 32};
  options.head_widths = {64};
  options.fit.epochs = 1000;
  options.fit.target_scale = 6;
  return options;
}

CommTrainOptions default_comm_options() {
  CommTrainOptions options;
  options.features = default_comm_features();
  options.hidden_widths = {128, 64, 32, 16};
  options.fit.batch_size = 256;
  options.fit.average = 0.999;
  options.fit.loss = {nn::LossKind::kSquaredOverTarget, 0.1f};
  return options;
}

CommTrainOptions paper_comm_options() {
  CommTrainOptions options;
  options.architecture = CommArchitecture::kFixedDevices;
  options.hidden_widths = {128, 64, 32, 16};
  options.fit.epochs = 1000;
  return options;
}

}  // namespace neuroshard
