#include "engine/planner/tried_advice.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/core/bytes.h"
#include "engine/core/shard_bytes.h"
#include "engine/core/step_memory.h"
#include "engine/planner/search_run.h"
#include "search/algorithms.h"
#include "search/feasibility.h"
#include "search/row_shapes.h"

namespace neuroshard {
namespace {

// Trials for each word of advice. A count, not a time: the same input is refused in the same words.
// With host memory, of 100 and of 1,300 tables all took 2.4 s, of 20,000 tables 8.5 s (`plan
// --evaluations 1000` on 8 devices, two cores of an AMD EPYC).
constexpr std::size_t kMostTrials = 20;
constexpr std::size_t kFewestTrials = 4;
constexpr std::size_t kTablesOfAll = 100'000;  // in all trials for one word
constexpr int kHalvings = 4;                   // of the last step
constexpr std::array kSteps{1.0, 1.02, 1.05, 1.1, 1.2, 1.4, 1.7, 2.0, 3.0};
constexpr double kBeyond = 2;  // then times as much a step

/// How sentences go on that say what was proven, not what was tried.
constexpr std::array<std::string_view, 4> kUntried{": needs ", ": more memory per device may do",
                                                   ": more of either may do",
                                                   ": more of it may do"};
/// What a search with other options adds to them.
constexpr std::string_view kWider = "; it fits with ";

/// Where the advice of a refusal begins, if it was not tried.
std::size_t place_of_advice(const std::string& message, bool all) {
  for (const std::string_view untried : kUntried) {
    const std::size_t place = message.rfind(untried);
    if (place != std::string::npos) return place;
  }
  if (!all || message.find(" of memory per device") == std::string::npos) return std::string::npos;
  return message.rfind(": ");
}

/// What the advice says of memory per device, which less than would not do; 0: nothing.
std::int64_t memory_said(std::string_view advice) {
  const std::size_t end = advice.find(" of memory per device");
  if (end == std::string_view::npos) return 0;
  const std::size_t blank = advice.rfind(' ', end - 1);
  const Result<std::int64_t> bytes = parse_bytes(advice.substr(blank + 1, end - blank - 1));
  return bytes.ok() ? *bytes : 0;
}

class Trials {
 public:
  /// `least`: memory per device below which nothing need be tried.
  Trials(const TrialSetting& setting, std::int64_t least) : setting_(setting), least_(least) {
    bytes_ = workload_bytes(setting.workload, step_memory(setting.workload, setting.cluster));
    const std::size_t tables = std::max<std::size_t>(1, setting.workload.tables.size());
    most_ = std::clamp(kTablesOfAll / tables, kFewestTrials, kMostTrials);
    // Fewer trials go up in larger steps.
    stride_ = most_ < kSteps.size() ? kSteps.size() / 2 : 1;
  }

  std::optional<std::int64_t> memory_per_device() {
    return least_of(std::max(setting_.cluster.memory_bytes, least_), &Cluster::memory_bytes);
  }
  std::optional<std::int64_t> memory_per_host() {
    if (setting_.cluster.host_memory_bytes == 0) return std::nullopt;
    return least_of(setting_.cluster.host_memory_bytes, &Cluster::host_memory_bytes);
  }

 private:
  /// About the least from `start` on with which there is a plan.
  [[nodiscard]] std::optional<std::int64_t> least_of(std::int64_t start,
                                                     std::int64_t Cluster::*memory) {
    // With room for all tables on every device, more brings nothing.
    const std::int64_t most = scaled_bytes(std::max(start, bytes_), 2);
    std::int64_t too_little = start;
    double step = 1;
    left_ = most_;
    for (std::size_t k = 0; left_ > 0; k += stride_) {
      step = k < kSteps.size() ? kSteps[k] : kBeyond * step;
      const std::int64_t bytes = as_told(std::min(most, scaled_bytes(start, step)));
      if (works(memory, bytes)) return narrowed(memory, too_little, bytes);
      if (bytes >= most) return std::nullopt;
      too_little = bytes;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::int64_t narrowed(std::int64_t Cluster::*memory, std::int64_t too_little,
                                      std::int64_t enough) {
    for (int halving = 0; halving < kHalvings && left_ > 0; ++halving) {
      const std::int64_t middle = as_told(too_little + (enough - too_little) / 2);
      if (middle <= too_little || middle >= enough) break;
      (works(memory, middle) ? enough : too_little) = middle;
    }
    return enough;
  }

  [[nodiscard]] bool works(std::int64_t Cluster::*memory, std::int64_t bytes) {
    --left_;
    Cluster own = setting_.cluster;
    own.*memory = bytes;
    return setting_.trial(setting_.workload, own).ok();
  }

  /// As people read it: that is what has to work.
  static std::int64_t as_told(std::int64_t bytes) {
    const Result<std::int64_t> parsed = parse_bytes(format_bytes_at_least(bytes));
    return parsed.ok() ? *parsed : bytes;
  }

  const TrialSetting& setting_;
  const std::int64_t least_;
  std::int64_t bytes_ = 0;
  std::size_t most_ = 0;
  std::size_t stride_ = 1;
  std::size_t left_ = 0;
};

/// REQUIRES that advice begins at `place` of the refusal's message.
Status with_memory(const Status& refusal, std::size_t place, const TrialSetting& setting) {
  const std::string& message = refusal.message();
  const std::size_t wider = message.find(kWider, place);
  Trials trials(setting, memory_said(std::string_view(message).substr(place)));
  const auto device = trials.memory_per_device();
  const auto host = trials.memory_per_host();
  if (!device && !host) return refusal;
  std::string text = message.substr(0, place) + ": ";
  if (device) text += search::memory_would_do(*device);
  if (host) {
    text += (device ? ", or " : "") + format_bytes_at_least(*host) +
            " of memory per host for tables" + (device ? "" : " would do");
  }
  return infeasible(text + (wider == std::string::npos ? "" : message.substr(wider)));
}

}  // namespace

Status with_tried_advice(const Status& refusal, const TrialSetting& setting) {
  const std::string& message = refusal.message();
  const std::size_t place = place_of_advice(message, setting.all);
  if (place == std::string::npos) return refusal;
  return with_memory(refusal, place, setting);
}

std::optional<Workload> with_wholes(const Status& refusal, const Workload& workload,
                                    const Cluster& cluster, const CostModels& models,
                                    const PlanOptions& options) {
  if (refusal.message().find(search::kAllowWhole) == std::string::npos) return std::nullopt;
  const search::Problem problem(workload, cluster, search::space_of(workload, cluster));
  const search::Algorithm* algorithm = search::find_algorithm(options.algorithm);
  search::RowShapes rows;
  if (algorithm != nullptr && algorithm->makes_row_shards) {
    rows = search::row_shapes(search_options(as_trainer_runs(options), models, cluster),
                              cluster.devices);
  }
  Workload whole = workload;
  bool changed = false;
  for (const std::int32_t table : search::tables_without_pieces(problem, rows)) {
    bool& own = whole.tables[static_cast<std::size_t>(table)].sharding.whole;
    changed |= !std::exchange(own, true);
  }
  if (!changed) return std::nullopt;
  return whole;
}

Status with_next_refusal(const Status& refusal, const Status& then) {
  const std::string& message = refusal.message();
  const std::size_t place = message.find(search::kAllowWhole);
  return infeasible(message.substr(0, place) +
                    "allowing whole is needed, and then: " + then.message());
}

PlanOptions for_trials(PlanOptions options) {
  constexpr std::int64_t kEvaluations = 200;
  options.advise = false;
  options.progress = nullptr;
  options.plans = nullptr;
  options.threads = 1;
  const bool fewer = options.evaluations > 0 && options.evaluations < kEvaluations;
  if (!fewer) options.evaluations = kEvaluations;
  options.time_limit_s = 0;
  return options;
}

}  // namespace neuroshard
