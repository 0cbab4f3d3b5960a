// Cost models, shipped or given.
#include <memory>
#include <string>
#include <utility>

#include "engine/api/boundary.h"
#include "engine/api/handles.h"
#include "engine/core/quoted_choices.h"
#include "engine/cost_model/capabilities.h"
#include "io/file.h"
#include "io/text.h"

namespace neuroshard::api {
namespace {

using ModelsHandle = std::unique_ptr<neuroshard_cost_models>;

Result<ModelsHandle> wrap(Result<NamedCostModels> models) {
  if (!models.ok()) return models.status();
  auto handle = std::make_unique<neuroshard_cost_models>();
  handle->models = std::make_shared<const NamedCostModels>(std::move(models).value());
  return handle;
}

/// Leaves TorchRec's own in `out` for 0.
Status read_bandwidth(double given, const std::string& name, double& out) {
  if (given == 0) return {};
  if (given >= kMinTorchRecGbps && given <= kMaxTorchRecGbps) {
    out = given;
    return {};
  }
  return invalid_input("bandwidths." + name + ": found " + io::format_number(given) +
                       " GB/s, expected " + io::format_number(kMinTorchRecGbps) + " to " +
                       io::format_number(kMaxTorchRecGbps) + ", or 0");
}

Result<TorchRecBandwidths> read_bandwidths(const neuroshard_torchrec_bandwidths& given) {
  TorchRecBandwidths own;
  NEUROSHARD_RETURN_IF_ERROR(read_bandwidth(given.device_gbps, "device_gbps", own.device_gbps));
  NEUROSHARD_RETURN_IF_ERROR(
      read_bandwidth(given.intra_host_gbps, "intra_host_gbps", own.intra_host_gbps));
  NEUROSHARD_RETURN_IF_ERROR(
      read_bandwidth(given.inter_host_gbps, "inter_host_gbps", own.inter_host_gbps));
  NEUROSHARD_RETURN_IF_ERROR(
      read_bandwidth(given.host_memory_gbps, "host_memory_gbps", own.host_memory_gbps));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view hits,
                              view_of(given.cache_hits, "bandwidths.cache_hits"));
  for (const CacheHits each : all_cache_hits()) {
    if (hits == to_string(each)) own.cache_hits = each;
  }
  if (hits.empty() || hits == to_string(own.cache_hits)) return own;
  return invalid_input("bandwidths.cache_hits: found " + io::excerpt(hits) + ", expected " +
                       quoted_choices(all_cache_hits()));
}

}  // namespace
}  // namespace neuroshard::api

using namespace neuroshard;
using namespace neuroshard::api;

size_t neuroshard_shipped_model_count(void) { return shipped_model_count(); }

neuroshard_text neuroshard_shipped_model_name(size_t index) {
  return text_of(shipped_model_name(index));
}

neuroshard_status neuroshard_cost_models_shipped(neuroshard_text name,
                                                 neuroshard_cost_models** models,
                                                 neuroshard_error* error) {
  return make_handle(models, error, [&]() -> Result<ModelsHandle> {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view given, view_of(name, "name"));
    return wrap(load_shipped_models(given.empty() ? kDefaultCostModel : std::string(given)));
  });
}

neuroshard_status neuroshard_cost_models_torchrec(const neuroshard_torchrec_bandwidths* bandwidths,
                                                  neuroshard_cost_models** models,
                                                  neuroshard_error* error) {
  return make_handle(models, error, [&]() -> Result<ModelsHandle> {
    NEUROSHARD_ASSIGN_OR_RETURN(const neuroshard_torchrec_bandwidths given,
                                read_optional_struct(bandwidths, "bandwidths"));
    NEUROSHARD_ASSIGN_OR_RETURN(const TorchRecBandwidths own, read_bandwidths(given));
    NEUROSHARD_ASSIGN_OR_RETURN(std::string_view name, view_of(given.model, "bandwidths.model"));
    if (name.empty()) name = kTorchRecCostModel;
    if (!release_of_model(name)) {
      return invalid_input("bandwidths.model: found " + io::excerpt(name) + ", expected " +
                           quoted_choices<TorchRecRelease>(torchrec_releases()));
    }
    NEUROSHARD_ASSIGN_OR_RETURN(NamedCostModels formula, load_shipped_models(std::string(name)));
    set_bandwidths(own, formula);
    return wrap(std::move(formula));
  });
}

neuroshard_status neuroshard_cost_models_parse(neuroshard_text bytes, neuroshard_text source,
                                               neuroshard_cost_models** models,
                                               neuroshard_error* error) {
  return make_handle(models, error, [&]() -> Result<ModelsHandle> {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view view, view_of(bytes, "bytes"));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view name, view_of(source, "source"));
    return wrap(parse_named_models(std::string(name), view));
  });
}

neuroshard_status neuroshard_cost_models_read_file(neuroshard_text path,
                                                   neuroshard_cost_models** models,
                                                   neuroshard_error* error) {
  return make_handle(models, error, [&]() -> Result<ModelsHandle> {
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string file, path_of(path, "path"));
    NEUROSHARD_ASSIGN_OR_RETURN(const std::string bytes, io::read_safetensors_file(file));
    return wrap(parse_named_models(file, bytes));
  });
}

neuroshard_status neuroshard_cost_models_get_info(const neuroshard_cost_models* models,
                                                  neuroshard_cost_models_info* info,
                                                  neuroshard_error* error) {
  return guarded(error, [&]() -> Status {
    NEUROSHARD_REQUIRE(models);
    const NamedCostModels& named = *models->models;
    const CostModels& own = named.models;
    neuroshard_cost_models_info local{};
    local.name = text_of(named.name);
    local.sha256 = text_of(named.sha256);
    local.compute_hardware = text_of(own.compute_origin.hardware);
    local.communication_hardware = text_of(own.comm_origin.hardware);
    local.simulated = simulated(own) ? 1 : 0;
    const Capabilities known = capabilities(own);
    local.min_batch_size = known.min_batch_size;
    local.max_batch_size = known.max_batch_size;
    local.devices = known.only_devices;
    local.row_parts = known.row_parts;
    local.min_devices = known.min_devices;
    local.max_devices = known.max_devices;
    if (own.dense) {
      const DenseOrigin& dense = own.dense->origin();
      local.dense_model = text_of(dense.model);
      local.dense_model_sha256 = text_of(dense.sha256);
      local.dense_hardware = text_of(dense.hardware);
    }
    return write_struct(info, local, "info");
  });
}

void neuroshard_cost_models_destroy(neuroshard_cost_models* models) { delete models; }
