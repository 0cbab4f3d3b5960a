#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/core/status.h"
#include "engine/core/table.h"
#include "io/plans/plan_file.h"
#include "io/trainers/hugectr_plan.h"
#include "io/trainers/torchrec_plan.h"

// Plans of any format in: the engine's own, TorchRec's and HugeCTR's JSON, told apart by their
// keys. Foreign formats know tables by name and little else, so that a plan comes about in two
// steps: parse the file, then bind it to the tables it is for.

namespace neuroshard::io {

/// A parsed plan file.
struct PlanInput {
  std::variant<PlanDocument, TorchRecPlan, HugeCtrPlan> content;
  std::string source;    ///< for messages
  std::string sha256{};  ///< of the bytes of a file that was read
  /// Of a neuroshard-plan read to be checked: devices it does not have, one line each.
  std::vector<std::string> faults{};

  /// "json", "torchrec" or "hugectr": the name export_plan() knows.
  [[nodiscard]] std::string_view format() const;
  /// 0 = the file does not say.
  [[nodiscard]] std::int32_t devices() const;
  [[nodiscard]] std::int64_t batch_size() const;
  /// Empty where the file says nothing of how it was made.
  [[nodiscard]] PlanProvenance provenance() const;
};

/// What a plan is read for: to be checked, shards may say anything that lint_plan() can tell of.
enum class PlanUse { kBind, kCheck };

/// Errors: kInvalidInput naming source and JSON path.
Result<PlanInput> parse_plan_input(std::string_view bytes, const std::string& source,
                                   PlanUse use = PlanUse::kBind);
Result<PlanInput> read_plan_input(const std::string& path, PlanUse use = PlanUse::kBind);

/// A plan in the terms of a workload, and what had to be said differently to put it so.
struct BoundPlan {
  PlanDocument document;
  std::vector<std::string> notes;
};

/// Whether a plan has to be one of just these tables, or may be older than they are: shards of
/// tables that have other rows by now get those (fit_rows()), and new tables have no shards.
enum class PlanAge { kOfTheseTables, kOlder };

/// The plan of `input` for `workload`. `devices` is the number of devices when the file does not
/// say it, 0 = not given either. Errors: kInvalidInput naming the source: a table without a place
/// or a place without a table, a number of devices that is unknown or not the file's, a
/// TorchRec compute kernel that the engine cannot cost or write again, a data-parallel table on
/// some of the ranks only, and what validate() refuses.
Result<BoundPlan> bind_plan(const PlanInput& input, const Workload& workload, std::int32_t devices,
                            PlanAge age = PlanAge::kOfTheseTables);

/// What to hold a plan against.
struct PlanRules {
  std::int32_t devices = 0;              ///< as for bind_plan()
  std::int32_t devices_per_host = 0;     ///< 0 = the file's, or the usual (core host_devices())
  std::int64_t memory_limit = 0;         ///< per device; 0 = any
  std::int64_t host_memory_limit = 0;    ///< per host, of tables there; 0 = any
  std::optional<StepBuffers> buffers{};  ///< that count as memory; nothing = the file's
  std::string target{};  ///< "torchrec" or "hugectr": must run there too; "" = the file's format
};

/// One thing that is wrong with a plan.
struct PlanFault {
  bool memory = false;  ///< too much on a device or host; all else makes the plan unusable anywhere
  std::string text;     ///< one line
};

/// Every fault of a plan: cells that no shard or two shards hold, unknown tables and devices,
/// devices and hosts beyond their limits (but for tables of uncounted_memory()), the
/// rules of the format it is written in or meant for, and tables in a way that their sharding does
/// not allow. Empty for a good plan. Errors: kInvalidInput for rules that make no sense (an unknown
/// target or an unknown number of devices). Cost: O(n log n) in shards.
Result<std::vector<PlanFault>> lint_plan(const PlanInput& input, const Workload& workload,
                                         const PlanRules& rules);

/// How many of the plan's tables lint_plan() does not count in device memory and why, for people;
/// "" where all are: tables with a kernel of TorchRec's that keeps rows elsewhere are not, but
/// those with fused_uvm, or with fused_uvm_caching and the size of the cache.
std::string uncounted_memory(const PlanInput& input);

}  // namespace neuroshard::io
