#include "engine/api/numbered_plan.h"

#include "engine/core/plan.h"

namespace neuroshard::api {

Result<io::PlanDocument> numbered_for(const neuroshard_workload& workload,
                                      const neuroshard_plan& plan, const std::string& name,
                                      io::UnknownTables unknown,
                                      const std::function<void(const std::string&)>& note) {
  io::PlanDocument document = plan.document;
  const io::NumberedTables told = io::number_by_names(workload.workload, unknown, document);
  if (!told.faults.empty()) return invalid_input(name + ": " + told.faults.front());
  for (const std::string& line : told.notes) note(name + ": " + line);
  canonicalize(document.plan);
  return document;
}

}  // namespace neuroshard::api
