#include "search/exact.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/bytes.h"
#include "search/exact_enumeration.h"
#include "search/feasibility.h"
#include "search/workers.h"

namespace neuroshard::search {
namespace {

constexpr std::size_t kPrefixes = 256;  // parts of the search, at least, when there are as many

/// Largest first, so that memory rules out early; equal sizes: the lower table first.
std::vector<ExactItem> items_of(const Problem& problem, PlanEvaluator& evaluator) {
  std::vector<ShardShape> shapes;
  for (std::size_t index = 0; index < problem.workload.tables.size(); ++index) {
    shapes.push_back(problem.space.whole(static_cast<std::int32_t>(index)));
  }
  const std::vector<ShapeId> ids = evaluator.intern_all(shapes);
  std::vector<ExactItem> items;
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    const ShardShape& shape = shapes[k];
    items.push_back({shape.table, ids[k], problem.space.bytes(shape), evaluator.exchanged(shape),
                     &problem.space.tables[k].devices});
  }
  std::stable_sort(items.begin(), items.end(),
                   [](const ExactItem& a, const ExactItem& b) { return a.bytes > b.bytes; });
  return items;
}

std::string told(double plans) {
  if (plans <= kMostExactPlans) return std::to_string(static_cast<std::int64_t>(plans));
  return "more than " + std::to_string(static_cast<std::int64_t>(kMostExactPlans));
}

Status too_many(const Problem& problem, bool are_alike, double plans, std::int64_t most) {
  return invalid_input("this algorithm goes through all plans, at most " + std::to_string(most) +
                       ": " + std::to_string(problem.workload.tables.size()) + " tables on " +
                       std::to_string(problem.cluster.devices) + " devices" +
                       (are_alike ? "" : ", which are not alike,") + " have " + told(plans) +
                       "; fewer tables or another algorithm would do");
}

Status no_placement(const Problem& problem) {
  return infeasible("no placement of " + std::to_string(problem.workload.tables.size()) +
                    " whole tables fits on " + std::to_string(problem.cluster.devices) +
                    " devices of " + format_bytes(problem.cluster.memory_bytes) +
                    ": an algorithm that splits tables may fit them");
}

/// The shortest prefixes that give every thread enough to do.
std::vector<Devices> prefixes_of(const std::vector<ExactItem>& items, Enumeration& enumeration) {
  std::vector<Devices> prefixes;
  for (std::size_t length = 0; length <= items.size(); ++length) {
    prefixes.clear();
    enumeration.list_prefixes(length, prefixes);
    if (prefixes.empty() || prefixes.size() >= kPrefixes) break;
  }
  return prefixes;
}

}  // namespace

double exact_plans(std::int32_t tables, std::int32_t devices, bool devices_alike) {
  if (!devices_alike) {
    double plans = 1;
    for (std::int32_t table = 0; table < tables && plans <= kMostExactPlans; ++table) {
      plans *= devices;
    }
    return plans;
  }
  // Partitions of the tables into at most `devices` parts, by the number of parts so far.
  std::vector<double> parts(static_cast<std::size_t>(std::min(tables, devices)) + 1, 0.0);
  parts[0] = 1;
  for (std::int32_t table = 0; table < tables; ++table) {
    for (std::size_t k = parts.size() - 1; k > 0; --k) {
      parts[k] = parts[k] * static_cast<double>(k) + parts[k - 1];
    }
    parts[0] = 0;
    const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
    if (sum > kMostExactPlans) return sum;
  }
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

Result<SearchResult> shard_exact(const Problem& problem, PlanEvaluator& evaluator,
                                 const SearchOptions& options) {
  const bool are_alike = alike(problem.space, evaluator);
  const double plans = exact_plans(static_cast<std::int32_t>(problem.workload.tables.size()),
                                   problem.cluster.devices, are_alike);
  constexpr auto kMost = static_cast<std::int64_t>(kMostExactPlans);
  const std::int64_t most = options.evaluations > 0 ? std::min(options.evaluations, kMost) : kMost;
  if (plans > static_cast<double>(most)) return too_many(problem, are_alike, plans, most);
  NEUROSHARD_RETURN_IF_ERROR(check_whole_tables(problem));
  NEUROSHARD_RETURN_IF_ERROR(check_total_memory(problem));
  const StopCheck stop(options);
  const std::vector<ExactItem> items = items_of(problem, evaluator);
  std::vector<std::unique_ptr<Enumeration>> enumerations;
  for (int worker = 0; worker < workers_of(options.pool); ++worker) {
    enumerations.push_back(std::make_unique<Enumeration>(problem, evaluator, items, stop));
  }
  // What a prefix finds does not depend on the others, so neither does the best of all.
  const std::vector<Devices> prefixes = prefixes_of(items, *enumerations.front());
  const auto count = static_cast<std::int64_t>(prefixes.size());
  std::vector<ExactFound> found(prefixes.size());
  for_each_index(options.pool, count, [&](std::int64_t index, int worker) {
    if (worker == 0 && options.progress != nullptr) {
      options.progress->update("exact", index, count, "parts");
    }
    found[static_cast<std::size_t>(index)] = enumerations[static_cast<std::size_t>(worker)]->run(
        prefixes[static_cast<std::size_t>(index)]);
  });
  SearchResult result;
  const ExactFound* best = nullptr;
  for (const ExactFound& part : found) {
    result.evaluations += part.evaluations;
    result.stopped_early = result.stopped_early || part.stopped;
    if (part.devices.empty()) continue;
    if (best == nullptr || part.cost < best->cost) best = &part;
  }
  if (best == nullptr && stop.cancelled()) return stopped_before_plan();
  if (best == nullptr && result.stopped_early) {
    return infeasible("the time limit ended the search before any plan: more time would do");
  }
  if (best == nullptr) return no_placement(problem);
  result.plan.devices = problem.cluster.devices;
  for (std::size_t item = 0; item < items.size(); ++item) {
    result.plan.shards.push_back(problem.space.whole_on(best->devices[item], items[item].table));
  }
  return result;
}

}  // namespace neuroshard::search
