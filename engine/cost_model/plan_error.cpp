#include "engine/cost_model/plan_error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "engine/core/decimal.h"

namespace neuroshard {
namespace {

/// A part of a device's cost, and what is known of its error.
struct Part {
  std::string_view name;
  double ms = 0;
  const std::optional<HeldOutError>* held_out = nullptr;
  const ModelOrigin* origin = nullptr;

  [[nodiscard]] bool simulated() const { return origin->provenance == Provenance::kSimulated; }
  [[nodiscard]] bool known() const {
    return held_out->has_value() && (!simulated() || origin->published.has_value());
  }
  /// REQUIRES known().
  [[nodiscard]] double share() const {
    const double fit = (*held_out)->share;
    const double hardware = simulated() ? origin->published->share : 0;
    // Not std::hypot: its newest version in glibc is of 2.35, and wheels run from 2.27 on.
    return std::sqrt(fit * fit + hardware * hardware);
  }
};

std::string percent(double share) {
  return fixed_decimals(100 * share, 100 * share < 0.995 ? 1 : 0) + " %";
}

/// The parts of the bottleneck device's cost that there are.
std::vector<Part> parts_of(const CostModels& models, const PlanCost& cost) {
  static const std::optional<HeldOutError> kNone;
  const DeviceCost& dearest = cost.per_device[static_cast<std::size_t>(bottleneck_of(cost))];
  const bool comm = models.comm.has_value();
  std::vector<Part> parts{
      {"compute", std::abs(dearest.compute_ms), models.compute ? &models.compute->error : &kNone,
       &models.compute_origin},
      {"forward exchange", std::abs(dearest.forward_comm_ms),
       comm ? &models.comm->forward.error : &kNone, &models.comm_origin},
      {"backward exchange", std::abs(dearest.backward_comm_ms),
       comm ? &models.comm->backward.error : &kNone, &models.comm_origin}};
  std::erase_if(parts, [](const Part& part) { return part.ms == 0; });
  return parts;
}

CostError unknown(std::string why) { return {std::nullopt, std::move(why)}; }

CostError unknown_part(const Part& part) {
  if (!part.held_out->has_value()) {
    return unknown("the cost model does not say how far off its " + std::string(part.name) +
                   " is: `evaluate --model-output` finds it out");
  }
  return unknown("the simulated hardware of its " + std::string(part.name) +
                 " was never held against measurements");
}

/// Adds `text` where no part before it had the same.
void add_once(const std::string& text, std::string& basis) {
  if (basis.find(text) == std::string::npos) basis += "; " + text;
}

}  // namespace

CostError error_of(const CostModels& models, const PlanCost& cost) {
  if (models.torchrec) {
    return unknown("TorchRec's formula is an estimate that nobody has held against measurements");
  }
  if (cost.per_device.empty()) return unknown("there is no cost");
  double error_ms = 0;
  double all_ms = 0;
  std::string basis = "90 % of held-out costs within";
  std::string simulations;
  const std::vector<Part> parts = parts_of(models, cost);
  for (const Part& part : parts) {
    if (!part.known()) return unknown_part(part);
    error_ms += part.ms * part.share();
    all_ms += part.ms;
    basis += (&part == &parts.front() ? " " : ", ") + percent((*part.held_out)->share) + " (" +
             std::string(part.name) + ")";
    if (part.simulated()) {
      add_once("simulation within " + percent(part.origin->published->share) + " of 90 % of " +
                   part.origin->published->basis,
               simulations);
    }
  }
  if (parts.empty() && !models.dense) return {0, "nothing costs anything"};
  if (models.dense) {
    const CostError steps = models.dense->error();
    if (!steps.share) return steps;
    const double dense_ms = cost.per_device[static_cast<std::size_t>(bottleneck_of(cost))].dense_ms;
    error_ms += dense_ms * *steps.share;
    all_ms += dense_ms;
    add_once("dense part: " + steps.basis, simulations);
  }
  return {error_ms / all_ms, basis + simulations};
}

std::string error_text(const CostError& error) {
  return error.share ? "+- " + percent(*error.share) : "error not known";
}

std::string poor_order(const CostModels& models) {
  std::string poor;
  const auto judge = [&](std::string_view name, const std::optional<HeldOutError>& error) {
    // NaN is no order to judge.
    if (!error || !(error->tau <= kPoorTau)) return;
    poor += (poor.empty() ? "" : ", ") + std::string(name) + " " + fixed_decimals(error->tau, 2);
  };
  if (models.compute) judge("compute", models.compute->error);
  if (models.comm) {
    judge("forward exchange", models.comm->forward.error);
    judge("backward exchange", models.comm->backward.error);
  }
  if (poor.empty()) return "";
  return "not good enough to plan by: Kendall's tau on held-out costs, 1 for the right order, is " +
         poor + ", expected above " + fixed_decimals(kPoorTau, 1) +
         "; collect more samples, on a machine that does nothing else, with more --runs each";
}

}  // namespace neuroshard
