#include "apps/commands/iteration_report.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "apps/commands/plan_report.h"
#include "apps/console/text_table.h"
#include "apps/console/words.h"
#include "engine/core/decimal.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

constexpr int kStepBar = 30;

StepPhase phase_of(std::size_t index) { return static_cast<StepPhase>(index); }

std::string_view words_of(StepPhase phase) {
  switch (phase) {
    case StepPhase::kInputCopy:
      return "copy of a later batch";
    case StepPhase::kInputExchange:
      return "exchange of the next batch's rows";
    case StepPhase::kLookupForward:
      return "lookup";
    case StepPhase::kExchangeForward:
      return "exchange of embeddings";
    case StepPhase::kBottomForward:
      return "bottom network";
    case StepPhase::kInteractionForward:
      return "interaction";
    case StepPhase::kTopForward:
      return "top network and loss";
    case StepPhase::kTopBackward:
      return "top network, backward";
    case StepPhase::kInteractionBackward:
      return "interaction, backward";
    case StepPhase::kBottomBackward:
      return "bottom network, backward";
    case StepPhase::kExchangeBackward:
      return "exchange of gradients";
    case StepPhase::kLookupBackward:
      return "lookup, backward and update";
    case StepPhase::kAllReduce:
      return "all-reduce of gradients";
    case StepPhase::kOptimizer:
      return "dense optimizer";
    case StepPhase::kLaunches:
      return "launches";
  }
  return "";
}

std::string phase_table(const Console& console, const IterationCost& cost) {
  TextTable table({{"phase", Align::kLeft},
                   {"runs ms"},
                   {"exposed ms"},
                   {"hidden ms"},
                   {"of step"},
                   {"", Align::kLeft}});
  const double step = cost.iteration_ms;
  const auto share = [&](double ms) { return fixed_decimals(100 * ms / step, 1) + " %"; };
  for (std::size_t i = 0; i < kStepPhases; ++i) {
    const PhaseTime& phase = cost.phases[i];
    if (!(phase.ms > 0)) continue;
    table.add({std::string(words_of(phase_of(i))), milliseconds(phase.ms, step),
               milliseconds(phase.exposed_ms, step),
               milliseconds(std::max(0.0, phase.ms - phase.exposed_ms), step),
               share(phase.exposed_ms), console.bar(phase.exposed_ms / step, kStepBar)});
  }
  if (cost.waiting_ms > 0) {
    table.add({"waiting", "", milliseconds(cost.waiting_ms, step), "", share(cost.waiting_ms),
               console.bar(cost.waiting_ms / step, kStepBar)});
  }
  return table.render(console);
}

/// "lookup (device 3) > exchange > ..": neighbours of one phase and device are one.
std::string path_line(const IterationCost& cost) {
  std::vector<std::string> steps;
  const TimelineEntry* before = nullptr;
  for (const TimelineEntry& one : cost.critical_path) {
    if (before == nullptr || before->phase != one.phase || before->device != one.device) {
      std::string text(words_of(one.phase));
      if (before == nullptr || before->device != one.device) {
        text += " (device " + std::to_string(one.device) + ")";
      }
      steps.push_back(std::move(text));
    }
    before = &one;
  }
  return "critical path: " + join(steps, " > ") + "\n";
}

std::string origin_text(const IterationOutcome& outcome) {
  const bool hosts = outcome.devices_per_host < outcome.plan.devices;
  return std::string(outcome.calibrated ? "CALIBRATED simulation of " : "SIMULATED for ") +
         std::to_string(outcome.plan.devices) + " x " + outcome.hardware +
         (hosts ? ", hosts of " + std::to_string(outcome.devices_per_host) : "") + "\n" +
         io::printable(outcome.description) + "\nbatch " + with_commas(outcome.batch_size) +
         (outcome.made_by.empty() ? ""
                                  : ", plan: " + outcome.made_by + ", " +
                                        counted(std::ssize(outcome.plan.shards), "shard")) +
         "\n";
}

}  // namespace

std::string iteration_report(const Console& console, const IterationOutcome& outcome) {
  const IterationCost& cost = outcome.cost;
  const double step = cost.iteration_ms;
  std::string text = origin_text(outcome) + "\n" + phase_table(console, cost) + "\n";
  text += "of device " + std::to_string(cost.slowest_device) +
          ", which is done last; what is not exposed is hidden behind compute\n" + path_line(cost);
  std::string told = "iteration " + milliseconds(step, step) + " ms";
  if (outcome.error.share) {
    told += " +- " + fixed_decimals(100 * *outcome.error.share, 0) + " %";
  }
  told +=
      ", " +
      with_commas(static_cast<std::int64_t>(static_cast<double>(outcome.batch_size) / step * 1e3)) +
      " samples a second";
  text += console.paint(told, Style::kBold) + " (" +
          (outcome.calibrated ? "calibrated" : "simulated") + ")\n";
  return text + "error: " + outcome.error.basis +
         "\nwithout streams, one after the other: " + milliseconds(cost.sum_ms, step) + " ms\n";
}

}  // namespace neuroshard::apps
