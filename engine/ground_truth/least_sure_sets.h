#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/status.h"
#include "engine/core/table.h"
#include "engine/cost_model/shipped_models.h"
#include "io/benchmark/set_benchmark.h"

namespace neuroshard {

/// Sets that the least sure ones are chosen from.
inline constexpr std::int64_t kCandidateSets = 512;

struct LeastSureOptions {
  std::int64_t sets = 20;                                 ///< to choose
  std::int64_t max_memory_bytes = std::int64_t{4} << 30;  ///< of each
  std::uint64_t seed = 0;
};

/// Those of kCandidateSets random sets about which the members of the compute model disagree most
/// (member_spread()), the least sure first. Sets are drawn as collect_compute() draws them: tables
/// at their largest dim, its half, .., whole or in as many parts of rows as the model knows.
/// A function of the arguments alone. Errors: kInvalidInput for a model without members, tables
/// that a collection has no place for, more `sets` than different ones were drawn, sets that do not
/// fit the memory.
Result<io::SetBenchmark> least_sure_sets(const NamedCostModels& models, const Workload& workload,
                                         const LeastSureOptions& options);

}  // namespace neuroshard
