#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/policy/placement_policy.h"
#include "search/policy/policy_pieces.h"

namespace neuroshard::search {

/// A cost in [0, 1) for each piece on each device, drawn at random.
std::vector<double> random_costs(std::size_t count, std::uint64_t seed);

/// Costs with which, at that temperature, shares (RelaxedAssignment) are the probabilities by which
/// the policy puts a piece on a device, as it goes through the pieces in their order and puts each
/// where it likes it best: [pieces, devices], 0 there and 1 at most. 1 where a piece may not be,
/// and of all pieces from the first on that fits nowhere. Has the policy learn the shapes.
std::vector<double> policy_costs(std::span<const PolicyPiece> pieces, PolicyRun& policy,
                                 const PlanEvaluator& evaluator, std::int64_t memory_bytes,
                                 double temperature);

}  // namespace neuroshard::search
