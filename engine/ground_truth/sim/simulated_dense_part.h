#pragma once

#include <memory>
#include <string>

#include "engine/core/dense_model.h"
#include "engine/core/status.h"
#include "engine/cost_model/cost_models.h"
#include "engine/cost_model/dense_part.h"
#include "engine/ground_truth/sim/profile_library.h"

namespace neuroshard {

/// The file that a model was read from.
struct DenseModelSource {
  std::string name;  ///< without its folders
  std::string sha256;
};

/// The dense part of `model` as simulate_dense_time() has it on the chosen hardware. Errors:
/// kInvalidInput where the profile knows nothing of dense layers.
Result<std::shared_ptr<const DensePart>> simulated_dense_part(const ChosenProfile& hardware,
                                                              const DenseModel& model,
                                                              const DenseModelSource& source);

/// The profile, "NAME+LINKS", of the simulated hardware that the networks' exchanges were learned
/// on; "" where there is none that choose_profile() knows.
std::string profile_of(const CostModels& models);

}  // namespace neuroshard
