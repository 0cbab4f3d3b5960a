// Whole training steps: cost models with a model's dense part, and a plan's step by phase.
#include <memory>
#include <string>
#include <utility>

#include "engine/api/boundary.h"
#include "engine/api/handles.h"
#include "engine/api/inputs.h"
#include "engine/api/numbered_plan.h"
#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/capability_words.h"
#include "engine/ground_truth/sim/iteration_file.h"
#include "engine/ground_truth/sim/plan_model.h"
#include "engine/ground_truth/sim/simulated_dense_part.h"
#include "io/file.h"
#include "io/models/dense_model_file.h"
#include "io/sha256.h"
#include "io/text.h"

namespace neuroshard::api {
namespace {

using ModelsHandle = std::unique_ptr<neuroshard_cost_models>;

/// A model that a caller describes.
struct GivenModel {
  DenseModel model;
  DenseModelSource source;
  std::string profile;  ///< "": none was given
};

Result<GivenModel> read_model(const neuroshard_dense_model* model) {
  NEUROSHARD_ASSIGN_OR_RETURN(const neuroshard_dense_model given, read_struct(model, "model"));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view bytes, view_of(given.bytes, "model.bytes"));
  NEUROSHARD_ASSIGN_OR_RETURN(const std::string_view source, view_of(given.source, "model.source"));
  GivenModel own;
  if (given.profile.size > 0) {
    NEUROSHARD_ASSIGN_OR_RETURN(own.profile, path_of(given.profile, "model.profile"));
  }
  const std::string name(source);
  NEUROSHARD_ASSIGN_OR_RETURN(own.model, io::parse_dense_model(bytes, name));
  own.source = {io::printable(io::file_name(name)), io::sha256_hex(bytes)};
  return own;
}

Result<ChosenProfile> profile_named(const std::string& profile) {
  Result<ChosenProfile> hardware = choose_profile(profile);
  return hardware.ok() ? std::move(hardware) : hardware.status().with_context("model.profile");
}

Result<ModelsHandle> of_steps(const NamedCostModels& tables, const GivenModel& given) {
  if (capabilities(tables.models).additive) return invalid_input(lacks_steps(tables.name));
  const std::string profile = given.profile.empty() ? profile_of(tables.models) : given.profile;
  if (profile.empty()) {
    return invalid_input("model.profile: found none, and " + tables.name +
                         " is of no simulated hardware, expected a profile such as H100-80G");
  }
  NEUROSHARD_ASSIGN_OR_RETURN(const ChosenProfile hardware, profile_named(profile));
  NamedCostModels with = tables;
  NEUROSHARD_ASSIGN_OR_RETURN(with.models.dense,
                              simulated_dense_part(hardware, given.model, given.source));
  auto handle = std::make_unique<neuroshard_cost_models>();
  handle->models = std::make_shared<const NamedCostModels>(std::move(with));
  return handle;
}

/// The given profile, or the one that the plan's costs are of, with the plan's hosts.
Result<ChosenProfile> hardware_of(const std::string& given, const neuroshard_plan& plan) {
  const io::PlanDocument& document = plan.document;
  const bool costed = given.empty() && plan.models != nullptr;
  const std::string profile = costed ? profile_of(plan.models->models) : given;
  if (profile.empty()) {
    return invalid_input(
        "model.profile: found none, and the plan's costs are of no simulated "
        "hardware, expected a profile such as H100-80G");
  }
  NEUROSHARD_ASSIGN_OR_RETURN(ChosenProfile hardware, profile_named(profile));
  const std::int32_t devices = document.plan.devices;
  between_hosts(hardware, devices);
  const std::int32_t per_host = document.places.devices_per_host;
  const bool in_hosts = hardware.interconnect.devices_per_host.value > 0;
  if (!in_hosts || per_host == 0 || per_host >= devices) return hardware;
  return with_hosts(std::move(hardware), per_host, devices);
}

}  // namespace
}  // namespace neuroshard::api

using namespace neuroshard;
using namespace neuroshard::api;

neuroshard_status neuroshard_cost_models_of_steps(const neuroshard_cost_models* tables,
                                                  const neuroshard_dense_model* model,
                                                  neuroshard_cost_models** models,
                                                  neuroshard_error* error) {
  return make_handle(models, error, [&]() -> Result<ModelsHandle> {
    NEUROSHARD_REQUIRE(tables);
    NEUROSHARD_ASSIGN_OR_RETURN(const GivenModel given, read_model(model));
    return of_steps(*tables->models, given);
  });
}

neuroshard_status neuroshard_plan_iteration(const neuroshard_plan* plan,
                                            const neuroshard_workload* workload,
                                            const neuroshard_dense_model* model,
                                            neuroshard_bytes** bytes, neuroshard_error* error) {
  return make_handle(bytes, error, [&]() -> Result<std::unique_ptr<neuroshard_bytes>> {
    NEUROSHARD_REQUIRE(plan);
    NEUROSHARD_REQUIRE(workload);
    NEUROSHARD_RETURN_IF_ERROR(check_same_batch(*workload, *plan));
    NEUROSHARD_ASSIGN_OR_RETURN(const GivenModel given, read_model(model));
    NEUROSHARD_ASSIGN_OR_RETURN(const ChosenProfile hardware, hardware_of(given.profile, *plan));
    NEUROSHARD_ASSIGN_OR_RETURN(const io::PlanDocument document,
                                numbered_for(*workload, *plan, "plan"));
    NEUROSHARD_ASSIGN_OR_RETURN(
        IterationOutcome outcome,
        simulate_outcome(hardware, workload->workload, document.plan, given.model));
    outcome.tables_sha256 = workload->sha256;
    outcome.model_sha256 = given.source.sha256;
    auto made = std::make_unique<neuroshard_bytes>();
    made->content = iteration_json(outcome);
    return made;
  });
}
