// Part of neuroshard/engine.hpp: what a hardware costs.
#ifndef NEUROSHARD_ENGINE_COST_MODELS_HPP_
#define NEUROSHARD_ENGINE_COST_MODELS_HPP_

#include <neuroshard/engine/base.hpp>
#include <neuroshard/engine/cost_models.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace neuroshard {
inline namespace api {

/// What TorchRec's formula counts with; see neuroshard_torchrec_bandwidths. 0: TorchRec's own.
struct TorchRecBandwidths {
  double device_gbps = 0;
  double intra_host_gbps = 0;
  double inter_host_gbps = 0;
  double host_memory_gbps = 0;
  std::string_view model{};       ///< "torchrec", also "", or "torchrec-1.4"
  std::string_view cache_hits{};  ///< "load-factor", also "", or "curve"
};

/// What a model computes beside its tables, and on what; see neuroshard_dense_model.
struct DenseModel {
  std::string_view bytes{};    ///< of a model file
  std::string_view source{};   ///< what messages and plans call them
  std::string_view profile{};  ///< such as "H100-80G"; empty: that of the cost models

  [[nodiscard]] neuroshard_dense_model c_struct() const {
    auto given = detail::versioned<neuroshard_dense_model>();
    given.bytes = detail::text(bytes);
    given.source = detail::text(source);
    given.profile = detail::text(profile);
    return given;
  }
};

/// What knows what a hardware costs: networks, or TorchRec's formula.
class CostModels {
 public:
  explicit CostModels(neuroshard_cost_models* owned) : handle_(owned) {}

  /// Names of the models inside the library.
  static std::vector<std::string> shipped_names() {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < neuroshard_shipped_model_count(); ++i) {
      names.emplace_back(detail::view(neuroshard_shipped_model_name(i)));
    }
    return names;
  }
  /// The empty name means the default.
  static Result<CostModels> shipped(std::string_view name = {}) {
    return detail::made<CostModels, neuroshard_cost_models>([&](auto** out, auto* error) {
      return neuroshard_cost_models_shipped(detail::text(name), out, error);
    });
  }
  /// The cost model "torchrec" of a hardware with these bandwidths.
  static Result<CostModels> torchrec(const TorchRecBandwidths& bandwidths) {
    auto given = detail::versioned<neuroshard_torchrec_bandwidths>();
    given.device_gbps = bandwidths.device_gbps;
    given.intra_host_gbps = bandwidths.intra_host_gbps;
    given.inter_host_gbps = bandwidths.inter_host_gbps;
    given.host_memory_gbps = bandwidths.host_memory_gbps;
    given.model = detail::text(bandwidths.model);
    given.cache_hits = detail::text(bandwidths.cache_hits);
    return detail::made<CostModels, neuroshard_cost_models>([&](auto** out, auto* error) {
      return neuroshard_cost_models_torchrec(&given, out, error);
    });
  }
  static Result<CostModels> parse(std::string_view bytes, std::string_view source) {
    return detail::made<CostModels, neuroshard_cost_models>([&](auto** out, auto* error) {
      return neuroshard_cost_models_parse(detail::text(bytes), detail::text(source), out, error);
    });
  }
  static Result<CostModels> read_file(std::string_view path) {
    return detail::made<CostModels, neuroshard_cost_models>([&](auto** out, auto* error) {
      return neuroshard_cost_models_read_file(detail::text(path), out, error);
    });
  }

  /// These with that model's dense part: costs are then of whole training steps.
  [[nodiscard]] Result<CostModels> of_steps(const DenseModel& model) const {
    const neuroshard_dense_model given = model.c_struct();
    return detail::made<CostModels, neuroshard_cost_models>([&](auto** out, auto* error) {
      return neuroshard_cost_models_of_steps(get(), &given, out, error);
    });
  }

  /// Texts in it live as long as this object.
  [[nodiscard]] Result<neuroshard_cost_models_info> info() const {
    auto info = detail::versioned<neuroshard_cost_models_info>();
    if (Result<void> done = detail::checked([&](neuroshard_error* error) {
          return neuroshard_cost_models_get_info(get(), &info, error);
        });
        !done) {
      return done.error();
    }
    return info;
  }
  [[nodiscard]] const neuroshard_cost_models* get() const { return handle_.get(); }

 private:
  detail::Handle<neuroshard_cost_models, neuroshard_cost_models_destroy> handle_;
};

}  // namespace api
}  // namespace neuroshard

#endif
