#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace neuroshard {

/// How the columns that were looked up meet the output of the bottom network.
enum class Interaction {
  kDcn,  ///< side by side, then cross layers x0 * (W (V x) + bias) + x of low rank (DCN v2)
  kDot,  ///< the dot products of every two of them, beside the bottom network's output (DLRM)
  kCat,  ///< side by side
};

/// What dense layers compute in; embeddings and gradients travel between devices in it, too.
enum class DensePrecision { kFp32, kTf32, kFp16, kBf16 };

/// Which trainer's order a step's work is done in.
enum class StepSchedule {
  /// Gradients of dense layers are added up in buckets while the backward pass goes on. All lookups
  /// of a device are one, and their backward pass sorts the rows.
  kTorchRec,
  /// All gradients are added up at once after the backward pass, those of tables on every device
  /// among them, which are looked up beside the exchange; so rows are sorted, too
  /// (HugeCTR/src/pybind/model_pipeline.cpp, grouped_all_reduce).
  kHugectr,
};

/// How the weights of the dense layers are updated.
enum class DenseOptimizer { kSgd, kAdagrad, kAdam };

/// The words of the file format.
std::string_view to_string(Interaction kind);
std::string_view to_string(DensePrecision precision);
std::string_view to_string(DenseOptimizer optimizer);
std::string_view to_string(StepSchedule schedule);
std::span<const Interaction> interactions();
std::span<const DensePrecision> dense_precisions();
std::span<const DenseOptimizer> dense_optimizers();
std::span<const StepSchedule> step_schedules();

/// Bytes of a value that is stored or sent in it.
double bytes_of(DensePrecision precision);

/// Most layers of a network, and most columns of a layer: far above real models.
inline constexpr std::int32_t kMaxLayers = 64;
inline constexpr std::int32_t kMaxLayerWidth = 65536;

/// What a recommendation model computes beside its tables: a bottom network over dense features, an
/// interaction, a top network, a loss. A plain value; read by io/models/dense_model_file.h.
struct DenseModel {
  std::int32_t dense_features = 0;   ///< of a sample; 0: none, and no bottom network
  std::vector<std::int32_t> bottom;  ///< columns of each layer's output
  Interaction interaction = Interaction::kCat;
  std::int32_t cross_layers = 0;  ///< of kDcn
  std::int32_t cross_rank = 0;    ///< of kDcn
  std::vector<std::int32_t> top;  ///< columns of each layer's output, at least one layer
  DensePrecision precision = DensePrecision::kFp32;
  DenseOptimizer optimizer = DenseOptimizer::kSgd;
  StepSchedule schedule = StepSchedule::kTorchRec;
  double bucket_mb = 25;    ///< 10^6 bytes of gradients that one all-reduce takes at least
  bool cuda_graph = false;  ///< whether a step is launched as a whole, at no cost of the processor

  friend bool operator==(const DenseModel&, const DenseModel&) = default;
};

}  // namespace neuroshard
