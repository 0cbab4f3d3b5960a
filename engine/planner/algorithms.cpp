#include "engine/planner/algorithms.h"

#include <utility>

#include "search/algorithms.h"

namespace neuroshard {

std::string_view default_algorithm() { return search::kDefaultAlgorithm; }

std::span<const AlgorithmInfo> algorithms() {
  static const std::vector<AlgorithmInfo> infos = [] {
    std::vector<AlgorithmInfo> list;
    for (const search::Algorithm& algorithm : search::algorithms()) {
      list.push_back({algorithm.name, algorithm.summary, algorithm.heeds_evaluations,
                      algorithm.makes_row_shards, algorithm.holds_hot_rows,
                      algorithm.heeds_policy});
    }
    return list;
  }();
  return infos;
}

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const search::Algorithm& algorithm : search::algorithms()) {
    names.emplace_back(algorithm.name);
  }
  return names;
}

std::vector<std::string> policy_algorithm_names() {
  std::vector<std::string> names;
  for (const search::Algorithm& algorithm : search::policy_algorithms()) {
    names.emplace_back(algorithm.name);
  }
  return names;
}

std::vector<std::string> all_algorithm_names() {
  std::vector<std::string> names = algorithm_names();
  for (std::string& name : policy_algorithm_names()) names.push_back(std::move(name));
  return names;
}

std::vector<std::string> policy_heeding_names() {
  std::vector<std::string> names = policy_algorithm_names();
  for (const AlgorithmInfo& info : algorithms()) {
    if (info.heeds_policy) names.emplace_back(info.name);
  }
  return names;
}

std::vector<std::string> baseline_names() {
  std::vector<std::string> names;
  for (const search::Algorithm& algorithm : search::algorithms()) {
    if (algorithm.baseline) names.emplace_back(algorithm.name);
  }
  return names;
}

}  // namespace neuroshard
