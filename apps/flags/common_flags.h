#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/flags/flags.h"
#include "engine/core/plan.h"
#include "engine/core/table.h"
#include "engine/cost_model/shipped_models.h"

namespace neuroshard::apps {

/// Most threads a flag accepts: a bound for mistyped numbers.
inline constexpr std::int64_t kMaxThreads = 1024;

/// --cost-model NAME|FILE, where `list` prints the shipped ones.
FlagSet::Flag& declare_cost_model(FlagSet& flags, std::string* out);
FlagSet::Flag& declare_devices(FlagSet& flags, std::int32_t* out);
FlagSet::Flag& declare_device_memory(FlagSet& flags, std::int64_t* out);
/// The same of commands that read a plan, which may say it.
FlagSet::Flag& declare_plan_memory(FlagSet& flags, std::int64_t* out);
/// What help says of cost models and bandwidths that plans may say.
inline constexpr const char* kPlansCostModel = "the plan's, or h200_sim";
FlagSet::Flag& declare_threads(FlagSet& flags, int* out);
/// Remarks when the cost models were trained on fewer or more devices, or other data types, only,
/// or do not count all samples of the batch, put costs in a poor order, and when `costs`, which are
/// shown, have times below 0.
/// `devices` are the numbers of them that there are costs of.
void note_guesses(const NamedCostModels& models, std::span<const std::int32_t> devices,
                  const Workload& workload, std::span<const DeviceCost> costs);
/// --batch-size, above the file's value.
FlagSet::Flag& declare_batch_size(FlagSet& flags, std::optional<std::int64_t>* out);

/// --buffers; a word of StepBuffers, which stays when it is not given.
FlagSet::Flag& declare_buffers(FlagSet& flags, std::optional<std::string>* out);
/// Those of the word, or without it `otherwise`. REQUIRES one of the flag's.
StepBuffers buffers_of(const std::optional<std::string>& word,
                       StepBuffers otherwise = StepBuffers::kOff);

/// Tables ready for planning, and the sha256 of the file they came from.
struct LoadedWorkload {
  Workload workload;
  std::string sha256;
  std::vector<std::string> modules{};  ///< as in io::TableFile
  std::string batch_note{};            ///< io::other_batch_note()
};

/// Reads tables ("-" = standard input) and validates them. The batch size is `batch_size` when set,
/// else the file's, else 65,536. Errors: unreadable, malformed, or tables without dims.
Result<LoadedWorkload> load_workload(const std::string& path,
                                     std::optional<std::int64_t> batch_size);

/// check_batch_size(), of what load_workload() has made of these: the error names the one that says
/// the size.
Status check_batch(const CostModels& models, const LoadedWorkload& loaded, const std::string& path,
                   std::optional<std::int64_t> batch_size);

}  // namespace neuroshard::apps
