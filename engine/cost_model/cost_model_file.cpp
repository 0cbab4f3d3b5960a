#include "engine/cost_model/cost_model_file.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "engine/core/cluster.h"
#include "engine/cost_model/cost_model_tensors.h"
#include "engine/cost_model/known_hardware.h"
#include "engine/cost_model/metadata_reader.h"
#include "engine/cost_model/validate_models.h"
#include "io/safetensors.h"
#include "io/text.h"

namespace neuroshard {
namespace {

constexpr const char* kFormat = "neuroshard-cost-models";
constexpr const char* kVersion = "1";
constexpr const char* kTableSum = "table-sum-mlp";
constexpr const char* kFixedDevices = "fixed-devices-mlp";
constexpr const char* kPooledDevices = "pooled-devices-mlp";
constexpr double kMaxError = 1e9;  // a share: what is meant is below 1

/// "ms" where a file does not say it.
Result<CostTarget> take_target(const std::string& key, MetadataReader& metadata) {
  const std::string text = metadata.take_optional(key).value_or("ms");
  if (text == "ms") return CostTarget::kMilliseconds;
  if (text == "log_ms") return CostTarget::kLogMilliseconds;
  return invalid_input("metadata " + key + ": found " + io::excerpt(text) +
                       ", expected 'ms' or 'log_ms'");
}

/// What a network's error is, as `prefix`_error, .._tau and .._samples say; nothing in older files.
Result<std::optional<HeldOutError>> read_error(const std::string& prefix,
                                               MetadataReader& metadata) {
  if (!metadata.has(prefix + "_error")) return std::optional<HeldOutError>();
  HeldOutError error;
  NEUROSHARD_ASSIGN_OR_RETURN(error.share, metadata.take_number(prefix + "_error", 0, kMaxError));
  NEUROSHARD_ASSIGN_OR_RETURN(error.samples,
                              metadata.take_integer(prefix + "_samples", 1, INT64_MAX));
  error.tau = std::numeric_limits<double>::quiet_NaN();
  if (metadata.has(prefix + "_tau")) {
    NEUROSHARD_ASSIGN_OR_RETURN(error.tau, metadata.take_number(prefix + "_tau", -1, 1));
  }
  return std::optional(error);
}

Result<ComputeModel> read_compute(MetadataReader& metadata, TensorReader& tensors) {
  NEUROSHARD_RETURN_IF_ERROR(metadata.take_word("compute_architecture", kTableSum));
  ComputeModel model;
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string features, metadata.take("compute_features"));
  Result<FeatureSet> parsed = FeatureSet::parse(features);
  if (!parsed.ok()) return parsed.status().with_context("metadata compute_features");
  model.features = std::move(parsed).value();
  NEUROSHARD_ASSIGN_OR_RETURN(model.target, take_target("compute_target", metadata));
  if (metadata.has("row_parts")) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t parts,
                                metadata.take_integer("row_parts", 1, kMaxDevices));
    model.row_parts = static_cast<std::int32_t>(parts);
  }
  if (metadata.has("max_dim")) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t dim,
                                metadata.take_integer("max_dim", 1, kMaxDim));
    model.max_dim = static_cast<std::int32_t>(dim);
  }
  NEUROSHARD_ASSIGN_OR_RETURN(model.error, read_error("compute", metadata));
  NEUROSHARD_ASSIGN_OR_RETURN(model.scaling, tensors.take_scaling("compute."));
  NEUROSHARD_ASSIGN_OR_RETURN(model.table,
                              tensors.take_mlp("compute.table.", nn::Activation::kRelu));
  NEUROSHARD_ASSIGN_OR_RETURN(model.head, tensors.take_mlp("compute.head.", nn::Activation::kNone));
  return model;
}

Result<CommModel> read_direction(const std::string& prefix, CostTarget target,
                                 TensorReader& tensors) {
  CommModel model;
  model.target = target;
  NEUROSHARD_ASSIGN_OR_RETURN(model.scaling, tensors.take_scaling(prefix));
  NEUROSHARD_ASSIGN_OR_RETURN(model.mlp, tensors.take_mlp(prefix, nn::Activation::kNone));
  return model;
}

Result<CommModels> read_comm(MetadataReader& metadata, TensorReader& tensors) {
  CommModels models;
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string architecture, metadata.take("comm_architecture"));
  if (architecture == kFixedDevices) {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t devices,
                                metadata.take_integer("devices", 1, kMaxDevices));
    models.devices = static_cast<std::int32_t>(devices);
  } else if (architecture == kPooledDevices) {
    models.architecture = CommArchitecture::kPooledDevices;
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string features, metadata.take("comm_features"));
    Result<CommFeatureSet> parsed = CommFeatureSet::parse(features);
    if (!parsed.ok()) return parsed.status().with_context("metadata comm_features");
    models.features = std::move(parsed).value();
    if (metadata.has("min_devices") || metadata.has("max_devices")) {
      NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t most,
                                  metadata.take_integer("max_devices", 1, kMaxDevices));
      NEUROSHARD_ASSIGN_OR_RETURN(const std::int64_t least,
                                  metadata.take_integer("min_devices", 1, most));
      models.min_devices = static_cast<std::int32_t>(least);
      models.max_devices = static_cast<std::int32_t>(most);
    }
  } else {
    return invalid_input("metadata comm_architecture: found " + io::excerpt(architecture) +
                         ", expected '" + kFixedDevices + "' or '" + kPooledDevices + "'");
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const CostTarget target, take_target("comm_target", metadata));
  NEUROSHARD_ASSIGN_OR_RETURN(models.forward, read_direction("forward_comm.", target, tensors));
  NEUROSHARD_ASSIGN_OR_RETURN(models.backward, read_direction("backward_comm.", target, tensors));
  NEUROSHARD_ASSIGN_OR_RETURN(models.forward.error, read_error("forward_comm", metadata));
  NEUROSHARD_ASSIGN_OR_RETURN(models.backward.error, read_error("backward_comm", metadata));
  return models;
}

Result<ModelOrigin> read_origin(const std::string& prefix, MetadataReader& metadata) {
  ModelOrigin origin;
  NEUROSHARD_ASSIGN_OR_RETURN(origin.hardware, metadata.take(prefix + "hardware"));
  NEUROSHARD_ASSIGN_OR_RETURN(origin.provenance, metadata.take_provenance(prefix + "provenance"));
  if (!metadata.has(prefix + "published_error")) return origin;
  PublishedError published;
  NEUROSHARD_ASSIGN_OR_RETURN(published.share,
                              metadata.take_number(prefix + "published_error", 0, kMaxError));
  NEUROSHARD_ASSIGN_OR_RETURN(published.basis, metadata.take(prefix + "published_basis"));
  origin.published = std::move(published);
  return origin;
}

Result<CostModels> read_models(io::TensorFile file) {
  MetadataReader metadata(std::move(file.metadata));
  TensorReader tensors(std::move(file));
  CostModels models;
  NEUROSHARD_RETURN_IF_ERROR(metadata.take_word("format", kFormat));
  NEUROSHARD_RETURN_IF_ERROR(metadata.take_word("version", kVersion));
  NEUROSHARD_RETURN_IF_ERROR(metadata.take_word("cost_unit", "ms"));
  NEUROSHARD_ASSIGN_OR_RETURN(models.batch_size, metadata.take_integer("batch_size", 1, INT64_MAX));
  if (metadata.has("min_batch_size")) {
    NEUROSHARD_ASSIGN_OR_RETURN(models.min_batch_size,
                                metadata.take_integer("min_batch_size", 1, models.batch_size));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(models.compute_origin, read_origin("", metadata));
  models.comm_origin = models.compute_origin;
  if (metadata.has("comm_hardware") || metadata.has("comm_provenance")) {
    NEUROSHARD_ASSIGN_OR_RETURN(models.comm_origin, read_origin("comm_", metadata));
  }
  if (auto known = known_hardware(models.comm_origin)) {
    models.device_gbps = known->copy_gbps;
    models.exchange_copies = known->exchange_copies;
    models.links = std::move(known->links);
  }
  if (tensors.has_prefix("compute.")) {
    NEUROSHARD_ASSIGN_OR_RETURN(models.compute, read_compute(metadata, tensors));
  }
  if (tensors.has_prefix("forward_comm.") || tensors.has_prefix("backward_comm.")) {
    NEUROSHARD_ASSIGN_OR_RETURN(models.comm, read_comm(metadata, tensors));
  }
  // What nobody has taken is a fault: a key that is ignored could change what the costs mean.
  NEUROSHARD_RETURN_IF_ERROR(tensors.finish());
  NEUROSHARD_RETURN_IF_ERROR(metadata.finish(", or one of a half that the file has no tensors of"));
  NEUROSHARD_RETURN_IF_ERROR(validate(models));
  return models;
}

std::string target_text(CostTarget target) {
  return target == CostTarget::kMilliseconds ? "ms" : "log_ms";
}

void put_error(const std::optional<HeldOutError>& error, const std::string& prefix,
               io::TensorFile& file) {
  if (!error) return;
  file.metadata[prefix + "_error"] = io::format_number(error->share);
  file.metadata[prefix + "_samples"] = std::to_string(error->samples);
  if (!std::isnan(error->tau)) file.metadata[prefix + "_tau"] = io::format_number(error->tau);
}

void put_origin(const ModelOrigin& origin, const std::string& prefix, io::TensorFile& file) {
  file.metadata[prefix + "hardware"] = origin.hardware;
  file.metadata[prefix + "provenance"] = word_of(origin.provenance);
  if (!origin.published) return;
  file.metadata[prefix + "published_error"] = io::format_number(origin.published->share);
  file.metadata[prefix + "published_basis"] = origin.published->basis;
}

void put_compute(const ComputeModel& model, io::TensorFile& file) {
  file.metadata["compute_architecture"] = kTableSum;
  file.metadata["compute_features"] = model.features.to_string();
  file.metadata["compute_target"] = target_text(model.target);
  if (model.row_parts > 1) file.metadata["row_parts"] = std::to_string(model.row_parts);
  if (model.max_dim != kTrainedColumns) file.metadata["max_dim"] = std::to_string(model.max_dim);
  put_error(model.error, "compute", file);
  put_scaling(model.scaling, "compute.", file);
  put_mlp(model.table, "compute.table.", file);
  put_mlp(model.head, "compute.head.", file);
}

void put_comm(const CommModels& models, io::TensorFile& file) {
  if (models.architecture == CommArchitecture::kFixedDevices) {
    file.metadata["comm_architecture"] = kFixedDevices;
    file.metadata["devices"] = std::to_string(models.devices);
  } else {
    file.metadata["comm_architecture"] = kPooledDevices;
    file.metadata["comm_features"] = models.features.to_string();
    if (models.max_devices > 0) {
      file.metadata["min_devices"] = std::to_string(models.min_devices);
      file.metadata["max_devices"] = std::to_string(models.max_devices);
    }
  }
  file.metadata["comm_target"] = target_text(models.forward.target);
  put_error(models.forward.error, "forward_comm", file);
  put_error(models.backward.error, "backward_comm", file);
  put_scaling(models.forward.scaling, "forward_comm.", file);
  put_mlp(models.forward.mlp, "forward_comm.", file);
  put_scaling(models.backward.scaling, "backward_comm.", file);
  put_mlp(models.backward.mlp, "backward_comm.", file);
}

}  // namespace

Result<CostModels> parse_cost_models(std::string_view bytes, const std::string& source) {
  NEUROSHARD_ASSIGN_OR_RETURN(io::TensorFile file, io::parse_safetensors(bytes, source));
  Result<CostModels> models = read_models(std::move(file));
  if (!models.ok()) return models.status().with_context(source);
  models->source = source;
  return models;
}

std::string format_cost_models(const CostModels& models) {
  io::TensorFile file;
  const ModelOrigin& origin = models.compute ? models.compute_origin : models.comm_origin;
  file.metadata["format"] = kFormat;
  file.metadata["version"] = kVersion;
  file.metadata["batch_size"] = std::to_string(models.batch_size);
  if (models.min_batch_size > 0) {
    file.metadata["min_batch_size"] = std::to_string(models.min_batch_size);
  }
  file.metadata["cost_unit"] = models.cost_unit;
  put_origin(origin, "", file);
  if (models.compute) put_compute(*models.compute, file);
  if (models.comm) put_comm(*models.comm, file);
  if (models.compute && models.comm && models.comm_origin != origin) {
    put_origin(models.comm_origin, "comm_", file);
  }
  return io::format_safetensors(file);
}

}  // namespace neuroshard
