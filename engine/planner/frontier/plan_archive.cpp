#include "engine/planner/frontier/plan_archive.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "engine/core/plan_bytes.h"

namespace neuroshard {
namespace {

bool beats(const ArchivedPlan& one, const ArchivedPlan& other) {
  return one.plan.devices == other.plan.devices && one.memory_bytes <= other.memory_bytes &&
         one.cost_ms <= other.cost_ms;
}

/// The number of the step that so much memory is in.
double step_of(std::int64_t bytes) {
  return std::floor(std::log(std::max(1.0, static_cast<double>(bytes))) /
                    std::log1p(PlanArchive::kMemoryStep));
}

}  // namespace

void PlanArchive::offer(const Plan& plan, double cost_ms) { add(plan, cost_ms, false); }

void PlanArchive::keep(const Plan& plan, double cost_ms) { add(plan, cost_ms, true); }

void PlanArchive::add(const Plan& plan, double cost_ms, bool kept) {
  const std::vector<std::int64_t> bytes = device_bytes(workload_, plan, buffers_);
  Entry entry{{{plan.devices, {}}, *std::max_element(bytes.begin(), bytes.end()), cost_ms}, kept};
  const ArchivedPlan& own = entry.archived;
  const double step = step_of(own.memory_bytes);
  const auto near = [&](const Entry& other) {
    return !other.kept && other.archived.plan.devices == own.plan.devices &&
           step_of(other.archived.memory_bytes) == step;
  };
  for (const Entry& other : entries_) {
    if (beats(other.archived, own)) return;
    if (!kept && near(other) && other.archived.cost_ms <= own.cost_ms) return;
  }
  std::erase_if(entries_, [&](const Entry& other) {
    return beats(own, other.archived) || (near(other) && own.cost_ms <= other.archived.cost_ms);
  });
  entry.archived.plan = plan;
  entries_.push_back(std::move(entry));
}

const ArchivedPlan* PlanArchive::within(std::int32_t devices, std::int64_t memory_bytes) const {
  const ArchivedPlan* best = nullptr;
  for (const Entry& entry : entries_) {
    const ArchivedPlan& own = entry.archived;
    if (own.plan.devices != devices || own.memory_bytes > memory_bytes) continue;
    if (best == nullptr || own.cost_ms < best->cost_ms) best = &own;
  }
  return best;
}

std::vector<ArchivedPlan> PlanArchive::plans() const {
  std::vector<ArchivedPlan> plans;
  for (const Entry& entry : entries_) plans.push_back(entry.archived);
  std::sort(plans.begin(), plans.end(), [](const ArchivedPlan& a, const ArchivedPlan& b) {
    return std::tuple(a.plan.devices, a.memory_bytes, a.cost_ms) <
           std::tuple(b.plan.devices, b.memory_bytes, b.cost_ms);
  });
  return plans;
}

}  // namespace neuroshard
