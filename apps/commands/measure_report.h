#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/console/console.h"
#include "engine/core/plan.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/ground_truth/measure.h"

namespace neuroshard::apps {

/// Everything there is to report of a plan that was measured or simulated.
struct MeasureOutcome {
  Plan plan;
  std::int64_t batch_size = 0;
  int runs = 0;  ///< timed ones; 1 of a simulation, which never varies
  std::uint64_t seed = 0;
  std::string plan_sha256;
  std::string tables_sha256;
  std::int32_t devices_per_host = 0;  ///< of a simulation; 0: nobody says
  ExchangeFormat exchange{};          ///< the same; measured ones are fp32
  bool calibrated = false;            ///< whether it was fitted to published measurements
  PlanMeasurement measurement;
  std::optional<NamedCostModels> models;
  std::optional<PlanCost> predicted;
  std::string hardware;
  std::string profile;      ///< that was simulated, "V100-32G, nvswitch"; "" for what ran
  std::string description;  ///< of that profile
  std::string conditions;
};

/// What people see.
std::string measure_report(const Console& console, const MeasureOutcome& outcome);
/// The `neuroshard-measurement` file; `backend` is the flag's word.
std::string measure_json(const MeasureOutcome& outcome, const std::string& backend);

}  // namespace neuroshard::apps
