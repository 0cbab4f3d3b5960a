#include "engine/training/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "cuda/training/training_backend.h"
#include "engine/core/thread_pool.h"
#include "engine/training/member.h"
#include "nn/backend.h"
#include "nn/loss.h"

namespace neuroshard {
namespace {

class Fit {
 public:
  Fit(const FitProblem& problem, const FitOptions& options, const TrainControl& control,
      std::vector<FitMember>& members)
      : problem_(problem), options_(options), control_(control), members_(members) {
    for (const FitPart& part : problem.parts) {
      measured_.insert(measured_.end(), part.validation_ms.begin(), part.validation_ms.end());
    }
    predicted_.resize(measured_.size());
    outputs_.resize(measured_.size());
  }

  Result<FitResult> run(std::string_view phase) {
    FitResult result;
    double best = std::numeric_limits<double>::infinity();
    if (!problem_.starts.empty()) {  // may be as good as it gets
      NEUROSHARD_RETURN_IF_ERROR(validate());
      best = validation_loss();
      NEUROSHARD_RETURN_IF_ERROR(keep(0, result));
    }
    for (std::int32_t epoch = 1; epoch <= options_.epochs; ++epoch) {
      EpochPoint point{.epoch = epoch};
      for (FitMember& member : members_) {
        NEUROSHARD_ASSIGN_OR_RETURN(const double loss, member.run_epoch(epoch, control_.cancel));
        point.train_loss += loss / static_cast<double>(members_.size());
      }
      NEUROSHARD_RETURN_IF_ERROR(validate());
      point.validation_loss = validation_loss();
      point.validation_mse = validation_mse();
      if (!std::isfinite(point.train_loss) || !std::isfinite(point.validation_mse)) {
        return internal_error("epoch " + std::to_string(epoch) +
                              ": the loss is not finite; a lower learning rate may help");
      }
      if (point.validation_loss < best) {
        best = point.validation_loss;
        NEUROSHARD_RETURN_IF_ERROR(keep(epoch, result));
      }
      result.curve.push_back(point);
      if (control_.progress != nullptr) {
        control_.progress->update(phase, epoch, options_.epochs, "epochs");
      }
      if (options_.patience > 0 && epoch - result.best_epoch >= options_.patience) break;
    }
    return result;
  }

 private:
  /// Has the members say what their validation parts take.
  Status validate() {
    std::size_t at = 0;
    for (FitMember& member : members_) {
      NEUROSHARD_ASSIGN_OR_RETURN(const std::span<const float> outputs, member.validate());
      for (const float output : outputs) {
        outputs_[at] = output;
        predicted_[at] = problem_.scale.milliseconds(output);
        ++at;
      }
    }
    return {};
  }

  /// What is minimised decides which epoch is the best, too: squared errors are those of the few
  /// largest sets, which may be 1,000 times as large as most.
  [[nodiscard]] double validation_loss() const {
    double sum = 0;
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      sum += nn::loss_at(options_.loss, outputs_[k], problem_.scale.learned(measured_[k])).value;
    }
    return sum / static_cast<double>(outputs_.size());
  }

  [[nodiscard]] double validation_mse() const {
    double sum = 0;
    for (std::size_t k = 0; k < predicted_.size(); ++k) {
      const double error = predicted_[k] - measured_[k];
      sum += error * error;
    }
    return sum / static_cast<double>(predicted_.size());
  }

  Status keep(std::int32_t epoch, FitResult& result) const {
    result.best_epoch = epoch;
    result.validation = measure_fit(predicted_, measured_);
    result.parameters.clear();
    for (const FitMember& member : members_) {
      NEUROSHARD_ASSIGN_OR_RETURN(result.parameters.emplace_back(), member.parameters());
    }
    return {};
  }

  const FitProblem& problem_;
  const FitOptions& options_;
  const TrainControl& control_;
  std::vector<FitMember>& members_;
  std::vector<double> measured_;   // of all members' validation parts, behind each other
  std::vector<double> predicted_;  // the same, of the last epoch
  std::vector<double> outputs_;    // and as the networks say it, in units of what is learned
};

Status expect(bool holds, const char* option, double found, const char* expected) {
  if (holds) return {};
  return invalid_input(std::string(option) + ": found " + std::to_string(found) + ", expected " +
                       expected);
}

}  // namespace

Status validate(const FitOptions& o) {
  NEUROSHARD_RETURN_IF_ERROR(expect(o.epochs >= 1, "epochs", o.epochs, "at least 1"));
  NEUROSHARD_RETURN_IF_ERROR(
      expect(o.members >= 1 && o.members <= 16, "members", o.members, "1 to 16"));
  NEUROSHARD_RETURN_IF_ERROR(expect(o.patience >= 0, "patience", o.patience, "at least 0"));
  NEUROSHARD_RETURN_IF_ERROR(expect(o.batch_size >= 1, "batch size", o.batch_size, "at least 1"));
  NEUROSHARD_RETURN_IF_ERROR(expect(o.learning_rate > 0 && o.learning_rate <= 1, "learning rate",
                                    o.learning_rate, "above 0, at most 1"));
  NEUROSHARD_RETURN_IF_ERROR(expect(o.weight_decay >= 0 && o.weight_decay * o.learning_rate < 1,
                                    "weight decay", o.weight_decay,
                                    "at least 0, and below 1 / learning rate"));
  NEUROSHARD_RETURN_IF_ERROR(
      expect(o.average >= 0 && o.average < 1, "average", o.average, "at least 0, below 1"));
  NEUROSHARD_RETURN_IF_ERROR(expect(o.loss.delta > 0 && std::isfinite(o.loss.delta), "loss delta",
                                    o.loss.delta, "above 0"));
  return expect(o.target_scale > 0 && o.target_scale <= 1e6, "target scale", o.target_scale,
                "above 0, at most 1e6");
}

Status check_widths(const std::vector<int>& widths, const std::string& option) {
  constexpr int kMaxWidth = 4096;
  for (const int width : widths) {
    if (width >= 1 && width <= kMaxWidth) continue;
    return invalid_input(option + ": found " + std::to_string(width) +
                         ", expected widths from 1 to " + std::to_string(kMaxWidth));
  }
  return {};
}

Result<FitResult> fit(const FitProblem& problem, const FitOptions& options,
                      const TrainControl& control, std::string_view phase) {
  NEUROSHARD_RETURN_IF_ERROR(validate(options));
  for (const FitPart& part : problem.parts) {
    NEUROSHARD_RETURN_IF_ERROR(check_costs(part.validation_ms, problem.scale.target));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const nn::Backend* backend,
                              control.gpu ? cuda::training_backend() : nn::select_backend());
  ThreadPool pool(control.threads);
  std::vector<FitMember> members;
  for (std::size_t k = 0; k < problem.parts.size(); ++k) {
    NEUROSHARD_ASSIGN_OR_RETURN(FitMember member,
                                FitMember::create(*backend, pool, problem, options, k));
    members.push_back(std::move(member));
  }
  return Fit(problem, options, control, members).run(phase);
}

}  // namespace neuroshard
