#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/policy/policy_model.h"

namespace neuroshard {

/// Tables of a pool, by their index.
struct PolicySplit {
  std::vector<std::int32_t> training;
  std::vector<std::int32_t> held_out;
};

/// Which of so many tables are trained on and which are held out, at random: a tenth, or as many as
/// the largest task has, if that is more, but a quarter at most and enough for the smallest task. A
/// function of its arguments alone, so that a policy's file says which those were.
PolicySplit split_tables(std::size_t tables, const PolicyTasks& tasks, std::uint64_t seed);

/// Random numbers of a training, all of its seed.
enum class PolicyStream : std::uint64_t {
  kSplit,
  kWeights,
  kTasks,
  kHeldOutTasks,
  kEpisodes,
  kMeasuredPlans
};

}  // namespace neuroshard
