#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "apps/flags/common_flags.h"
#include "apps/flags/flags.h"
#include "apps/flags/host_flags.h"
#include "io/plans/plan_import.h"

namespace neuroshard::apps {

/// --tables, --plan and what foreign plans do not say.
struct PlanInputFlags {
  std::string tables;
  std::string plan;
  std::int32_t devices = 0;
  std::optional<std::int64_t> batch_size;
};
/// Returns the flag of the plan.
FlagSet::Flag& declare_plan_input(FlagSet& flags, PlanInputFlags* out);

/// A plan of any format and the tables it is for. The batch size is the flag's, else the plan's,
/// else the tables'.
struct PlanAndTables {
  io::PlanInput plan;
  LoadedWorkload loaded;
};
Result<PlanAndTables> load_plan_and_tables(const PlanInputFlags& flags,
                                           io::PlanUse use = io::PlanUse::kBind);

/// The same of tables that the plan was not made of: their own batch size counts before the plan's,
/// and a remark on standard error says so where the two differ.
Result<PlanAndTables> load_plan_and_new_tables(const PlanInputFlags& flags);

/// A remark on standard error when the plan was made of another table file.
void note_other_tables(const PlanAndTables& input);

/// The plan in the terms of its tables; remarks of the conversion go to standard error.
Result<io::PlanDocument> bind_to_any(const PlanAndTables& input, std::int32_t devices,
                                     io::PlanAge age = io::PlanAge::kOfTheseTables,
                                     RowDeal deal = RowDeal::kEven);
/// The same and note_other_tables().
Result<io::PlanDocument> bind(const PlanAndTables& input, std::int32_t devices);

/// Has the document say which buffers its bytes count: what --buffers says or, without it, the
/// plan.
void set_plan_buffers(const std::optional<std::string>& word, io::PlanDocument& document);

/// The hosts `given` by --devices-per-host or, where that is 0, those of the plan.
Hosts hosts_of(std::int32_t given, const PlanAndTables& input, const io::PlanDocument& document);

/// A remark on standard error about what a file in that format does not keep of a trainer's plan.
void note_lost_places(const PlanAndTables& input, const io::PlanDocument& document,
                      std::string_view format);

/// What the bound plan costs, and what it takes with the buffers and hosts of the cluster, of which
/// nothing else counts; refusals name the plan's file. A remark on standard error says when the
/// cost models were not trained on shards and tables like the plan's or on as many devices,
/// leave samples out or give times below 0.
Result<PlanCost> costs_of(const PlanAndTables& input, const Plan& plan,
                          const NamedCostModels& named, const Cluster& cluster = {});

}  // namespace neuroshard::apps
