#include "engine/core/dense_model.h"

#include <array>

namespace neuroshard {

std::string_view to_string(Interaction kind) {
  switch (kind) {
    case Interaction::kDcn:
      return "dcn";
    case Interaction::kDot:
      return "dot";
    case Interaction::kCat:
      return "cat";
  }
  return "";
}

std::string_view to_string(DensePrecision precision) {
  switch (precision) {
    case DensePrecision::kFp32:
      return "fp32";
    case DensePrecision::kTf32:
      return "tf32";
    case DensePrecision::kFp16:
      return "fp16";
    case DensePrecision::kBf16:
      return "bf16";
  }
  return "";
}

std::string_view to_string(DenseOptimizer optimizer) {
  switch (optimizer) {
    case DenseOptimizer::kSgd:
      return "sgd";
    case DenseOptimizer::kAdagrad:
      return "adagrad";
    case DenseOptimizer::kAdam:
      return "adam";
  }
  return "";
}

std::string_view to_string(StepSchedule schedule) {
  switch (schedule) {
    case StepSchedule::kTorchRec:
      return "torchrec";
    case StepSchedule::kHugectr:
      return "hugectr";
  }
  return "";
}

std::span<const Interaction> interactions() {
  static constexpr std::array kAll{Interaction::kDcn, Interaction::kDot, Interaction::kCat};
  return kAll;
}

std::span<const DensePrecision> dense_precisions() {
  static constexpr std::array kAll{DensePrecision::kFp32, DensePrecision::kTf32,
                                   DensePrecision::kFp16, DensePrecision::kBf16};
  return kAll;
}

std::span<const DenseOptimizer> dense_optimizers() {
  static constexpr std::array kAll{DenseOptimizer::kSgd, DenseOptimizer::kAdagrad,
                                   DenseOptimizer::kAdam};
  return kAll;
}

std::span<const StepSchedule> step_schedules() {
  static constexpr std::array kAll{StepSchedule::kTorchRec, StepSchedule::kHugectr};
  return kAll;
}

double bytes_of(DensePrecision precision) {
  return precision == DensePrecision::kFp32 || precision == DensePrecision::kTf32 ? 4 : 2;
}

}  // namespace neuroshard
