#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/core/plan.h"
#include "engine/core/status.h"
#include "engine/core/table.h"

namespace neuroshard {

/// The workload with the kernels that a plan gives its tables: what bytes and costs of the plan are
/// counted with. Borrows a workload where the plan has all tables on its devices, which must
/// outlive it.
class PlannedWorkload {
 public:
  /// REQUIRES that what plan.offloaded names are tables of the workload.
  PlannedWorkload(const Workload& workload, const Plan& plan);
  [[nodiscard]] const Workload& get() const { return own_ ? *own_ : given_; }

 private:
  const Workload& given_;
  std::optional<Workload> own_;
};

/// What Plan::offloaded says of tables with those kernels, or of a workload whose tables have them.
std::vector<OffloadedTable> offloaded_tables(std::span<const TableKernel> kernels);
std::vector<OffloadedTable> offloaded_tables(const Workload& workload);

/// kInvalidInput when tables are so large that bytes of a plan with all of them in host memory, and
/// the caches that they may have, are not known to be below 2^63. REQUIRES a valid workload.
Status check_offloaded_bytes(const Workload& workload);

/// kInvalidInput, naming the first table that the plan has in host memory, with `why` that is
/// refused.
Status check_none_offloaded(const Plan& plan, std::string_view why);

}  // namespace neuroshard
