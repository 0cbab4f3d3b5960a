#include "apps/flags/dense_model_flags.h"

#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/capability_words.h"
#include "engine/ground_truth/sim/profile_library.h"
#include "engine/ground_truth/sim/simulated_dense_part.h"
#include "io/file.h"
#include "io/models/dense_model_file.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

/// The profile that the dense part is simulated on.
Result<ChosenProfile> dense_hardware(const std::optional<std::string>& given,
                                     const NamedCostModels& models) {
  if (given) return choose_profile(*given);
  const std::string own = profile_of(models.models);
  if (!own.empty()) return choose_profile(own);
  return invalid_input("--model: found without --profile, and " + models.name +
                       " is of no simulated hardware, expected a profile such as H100-80G");
}

}  // namespace

void DenseModelFlags::declare(FlagSet& flags) {
  flags
      .text("model", "FILE",
            "what the model computes beside its tables, as `iteration` takes it: costs are then of "
            "whole training steps, in which exchanges hide behind dense layers, and travel in what "
            "the model computes in: that is what --exchange fp32 then stands for",
            &model)
      .reads();
  flags
      .text("profile", "NAME|FILE",
            "with --model: the hardware of the dense layers; +LINKS picks other links", &profile)
      .default_text("that of the cost model");
}

Status DenseModelFlags::apply(std::span<NamedCostModels> all) const {
  if (!model) {
    if (!profile) return {};
    return invalid_input(
        "--profile: found without --model, expected the model whose dense layers "
        "that hardware runs");
  }
  for (const NamedCostModels& models : all) {
    if (!capabilities(models.models).additive) continue;
    return invalid_input("--model: " + lacks_steps(models.name));
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const io::DenseModelFile file, io::read_dense_model(*model));
  const DenseModelSource source{io::printable(io::file_name(io::source_name(*model))), file.sha256};
  for (NamedCostModels& models : all) {
    NEUROSHARD_ASSIGN_OR_RETURN(const ChosenProfile hardware, dense_hardware(profile, models));
    NEUROSHARD_ASSIGN_OR_RETURN(models.models.dense,
                                simulated_dense_part(hardware, file.model, source));
  }
  return {};
}

}  // namespace neuroshard::apps
