#pragma once

#include <cstdint>
#include <string>

#include "engine/core/rng.h"
#include "engine/cost_model/cost_model_file.h"
#include "tests/cost_model/random_models.h"

namespace neuroshard::test {

/// A file of cost models for so many devices, of hardware that no built-in profile describes: they
/// know neither codecs nor tables on every device.
inline std::string unknown_hardware(std::int32_t devices) {
  Rng rng(1);
  CostModels models = random_models(devices, rng);
  models.min_batch_size = 1;
  models.batch_size = 1 << 20;
  return format_cost_models(models);
}

}  // namespace neuroshard::test
