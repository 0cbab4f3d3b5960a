#pragma once

#include <vector>

#include "engine/core/thread_pool.h"
#include "engine/policy/policy_model.h"
#include "engine/policy/policy_tasks.h"

namespace neuroshard {

/// Mean penalty_of() the policy's plans of the tasks, each by its first choices, over the
/// teacher's. Where the costliest pieces first lead to no plan, the largest go first; where that
/// does not help, the plan counts as kStuckShare. The same for any number of threads.
double validation_share(const PolicyModel& model, const PolicyTaskSource& source,
                        const std::vector<PolicyTask>& tasks, ThreadPool& pool);

}  // namespace neuroshard
