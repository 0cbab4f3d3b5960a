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

std::string_view to_string(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return "fp32";
    case Precision::kTf32:
      return "tf32";
    case Precision::kFp16:
      return "fp16";
    case Precision::kBf16:
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

std::span<const Interaction> interactions() {
  static constexpr std::array kAll{Interaction::kDcn, Interaction::kDot, Interaction::kCat};
  return kAll;
}

std::span<const Precision> precisions() {
  static constexpr std::array kAll{Precision::kFp32, Precision::kTf32, Precision::kFp16,
                                   Precision::kBf16};
  return kAll;
}

std::span<const DenseOptimizer> dense_optimizers() {
  static constexpr std::array kAll{DenseOptimizer::kSgd, DenseOptimizer::kAdagrad,
                                   DenseOptimizer::kAdam};
  return kAll;
}

double bytes_of(Precision precision) {
  return precision == Precision::kFp32 || precision == Precision::kTf32 ? 4 : 2;
}

}  // namespace neuroshard
