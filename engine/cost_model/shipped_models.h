#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/cost_models.h"
#include "io/plans/plan_file.h"

namespace neuroshard {

/// The shipped model that is used when none is named.
inline constexpr const char* kDefaultCostModel = "h200_sim";

/// Cost models with what a plan's provenance records of them.
struct NamedCostModels {
  std::string name;    ///< shipped name, or that of a file without its folders, or "<stdin>"
  std::string sha256;  ///< of the file's bytes
  CostModels models;
  bool own_file = false;  ///< not linked in, whatever it is called
};

/// What load_shipped_models() knows by name: the files linked into this library
/// (models/*.safetensors at build time), sorted, then TorchRec's formula. Out of range: an empty
/// name.
std::size_t shipped_model_count();
std::string_view shipped_model_name(std::size_t index);

/// The bytes of a shipped file; empty when there is none of that name.
std::string_view shipped_model_bytes(std::string_view name);

/// The shipped model of that name. Errors: kInvalidInput naming those there are.
Result<NamedCostModels> load_shipped_models(const std::string& name);

/// Of which shipped model compute was measured on such hardware, with the engine's own kernels:
/// `hardware` is a GPU's name, "NVIDIA H100 80GB HBM3". kDefaultCostModel where of none.
std::string shipped_model_of_hardware(std::string_view hardware);

/// Models from a file's bytes; `source`, the file, names them in messages.
Result<NamedCostModels> parse_named_models(const std::string& source, std::string_view bytes);

/// Makes TorchRec's formula one of those bandwidths; its hash is of its constants, and of the usual
/// hosts. Others stay as they are: they have the hardware they were trained on. REQUIRES each in
/// [kMinTorchRecGbps, kMaxTorchRecGbps].
void set_bandwidths(const TorchRecBandwidths& bandwidths, NamedCostModels& named);

/// Whether any half of the models comes from simulated hardware.
bool simulated(const CostModels& models);

/// Where costs of the models come from, in one: simulated when either half is. When the halves
/// differ, `hardware` says of each what it is.
ModelOrigin origin_of(const CostModels& models);

/// What a plan file records of how `algorithm` made a plan with these models, on a cluster with
/// hosts of so many devices (0: the usual number): the hash of costs that go by hosts is of those,
/// too.
io::PlanProvenance provenance_of(const NamedCostModels& models, std::int32_t devices_per_host,
                                 const std::string& input_sha256, const std::string& algorithm,
                                 std::uint64_t seed);

/// "H200-141G, nvswitch": without a word on whether it was simulated, which has to stand beside it.
std::string hardware_of(const ModelOrigin& origin);

/// "SIMULATED hardware H200-141G, nvswitch" or "measured on ...".
std::string describe(const ModelOrigin& origin);

/// "h200_sim: SIMULATED hardware H200-141G, nvswitch": name and where the numbers come from;
/// whatever is simulated says so, and so does a file that is called like a shipped model.
std::string describe(const NamedCostModels& models);

/// "trained on 2 to 128 devices, what it says of 200 is a guess", with the name in front; "" for
/// numbers of devices that the training data has on both sides of them, for one device, which
/// exchanges nothing, or where that is not known. Of several numbers it names those that are.
std::string device_guess(const NamedCostModels& models, std::span<const std::int32_t> devices);
inline std::string device_guess(const NamedCostModels& models, std::int32_t devices) {
  return device_guess(models, {&devices, 1});
}

/// "trained on fp32 tables, what it says of 3 others is a guess", with the name in front; "" where
/// all are fp32 with optimizers that ground truth has, as in all data that `collect` makes, or
/// where a formula stands for the networks.
std::string table_guess(const NamedCostModels& models, std::span<const Table> tables);

/// "batch 4099 is no multiple of 8 devices, ..", with the name in front: which samples TorchRec's
/// formula counts instead, as many on each device. "" where it counts all, and of networks.
std::string dropped_samples(const NamedCostModels& models, std::int32_t devices,
                            std::int64_t batch_size);

/// "times below 0 (forward), ..", with the name in front: which of these times are, as no real
/// ones; "" where none is.
std::string negative_times(const NamedCostModels& models, std::span<const DeviceCost> costs);

/// describe(), and behind it device_guess() where that says something.
std::string describe_costs(const NamedCostModels& models, std::int32_t devices);

/// What `--cost-model` means: a shipped name, "torchrec" (TorchRec's formula), else a path. Errors:
/// kInvalidInput naming the shipped models when it is neither, or what is wrong with the file.
Result<NamedCostModels> load_cost_models(const std::string& name_or_path);

}  // namespace neuroshard
