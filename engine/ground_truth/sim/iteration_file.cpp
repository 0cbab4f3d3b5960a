#include "engine/ground_truth/sim/iteration_file.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "engine/ground_truth/sim/iteration_model.h"
#include "engine/ground_truth/sim/plan_model.h"
#include "io/json/json_writer.h"

namespace neuroshard {
namespace {

using Layout = io::JsonWriter::Layout;

StepPhase phase_of(std::size_t index) { return static_cast<StepPhase>(index); }

/// Whether the phase is something to compute, whose time is never hidden.
bool is_compute(StepPhase phase) {
  switch (phase) {
    case StepPhase::kInputCopy:
    case StepPhase::kInputExchange:
    case StepPhase::kExchangeForward:
    case StepPhase::kExchangeBackward:
    case StepPhase::kAllReduce:
      return false;
    default:
      return true;
  }
}

void write_times(io::JsonWriter& json, const IterationCost& cost, bool compute, bool exposed) {
  for (std::size_t i = 0; i < kStepPhases; ++i) {
    if (is_compute(phase_of(i)) != compute) continue;
    const PhaseTime& phase = cost.phases[i];
    json.key(std::string(to_string(phase_of(i))) + "_ms")
        .number(exposed ? phase.exposed_ms : std::max(0.0, phase.ms - phase.exposed_ms));
  }
}

void write_entry(io::JsonWriter& json, const TimelineEntry& one) {
  json.begin_object(Layout::kLine);
  json.key("name").text(one.name);
  json.key("phase").text(to_string(one.phase));
  json.key("stream").text(to_string(one.stream));
  json.key("device").integer(one.device);
  json.key("start_ms").number(one.start_ms);
  json.key("end_ms").number(one.end_ms);
  json.end_object();
}

void write_error(io::JsonWriter& json, const CostError& error) {
  json.key("iteration_error").begin_object(Layout::kLine);
  json.key("share");
  if (error.share) {
    json.number(*error.share);
  } else {
    json.null();
  }
  json.key("basis").text(error.basis);
  json.end_object();
}

}  // namespace

Result<IterationOutcome> simulate_outcome(const ChosenProfile& hardware, const Workload& workload,
                                          Plan plan, const DenseModel& model) {
  IterationOutcome outcome;
  NEUROSHARD_ASSIGN_OR_RETURN(outcome.cost, simulate_iteration(hardware, workload, plan, model));
  outcome.error = iteration_error(hardware.profile);
  outcome.batch_size = workload.batch_size;
  outcome.devices_per_host = devices_on_a_host(hardware, plan.devices);
  outcome.hardware = hardware.profile.name + ", " + hardware.interconnect.name;
  outcome.description = hardware.profile.description;
  outcome.calibrated = is_calibrated(hardware);
  outcome.plan = std::move(plan);
  return outcome;
}

std::string iteration_json(const IterationOutcome& outcome) {
  const IterationCost& cost = outcome.cost;
  io::JsonWriter json;
  json.begin_object();
  json.key("format").text("neuroshard-iteration");
  json.key("version").integer(1);
  json.key("iteration_ms").number(cost.iteration_ms);
  write_error(json, outcome.error);
  json.key("simulation").text(outcome.calibrated ? "calibrated" : "simulated");
  json.key("hardware").text(outcome.hardware);
  json.key("devices").integer(outcome.plan.devices);
  json.key("devices_per_host").integer(outcome.devices_per_host);
  json.key("batch_size").integer(outcome.batch_size);
  json.key("samples_per_second")
      .number(static_cast<double>(outcome.batch_size) / cost.iteration_ms * 1e3);
  json.key("plan").text(outcome.made_by.empty() ? "given" : outcome.made_by);
  json.key("plan_sha256").text(outcome.plan_sha256);
  json.key("tables_sha256").text(outcome.tables_sha256);
  json.key("model_sha256").text(outcome.model_sha256);
  json.key("sum_ms").number(cost.sum_ms);
  json.key("slowest_device").integer(cost.slowest_device);
  json.key("compute").begin_object();
  write_times(json, cost, true, true);
  json.end_object();
  json.key("exposed").begin_object();
  write_times(json, cost, false, true);
  json.key("waiting_ms").number(cost.waiting_ms);
  json.end_object();
  json.key("hidden").begin_object();
  write_times(json, cost, false, false);
  json.end_object();
  json.key("critical_path").begin_array();
  for (const TimelineEntry& one : cost.critical_path) write_entry(json, one);
  json.end_array();
  json.key("timeline").begin_array();
  for (const TimelineEntry& one : cost.timeline) {
    if (one.device == cost.slowest_device) write_entry(json, one);
  }
  json.end_array().end_object();
  return json.take();
}

}  // namespace neuroshard
