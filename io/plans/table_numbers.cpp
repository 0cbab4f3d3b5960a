#include "io/plans/table_numbers.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "io/plans/plan_tables.h"
#include "io/text.h"

namespace neuroshard::io {
namespace {

constexpr std::int32_t kNoTable = -1;

/// Which of a workload's tables those are that a plan names.
struct FoundTables {
  std::vector<std::int32_t> numbers;  ///< by the plan's number; kNoTable where there is none
  std::vector<std::string> unknown;   ///< names of those, in the plan's order
  bool in_place = true;               ///< all others have the numbers that they had
};

std::string not_given(const std::vector<std::string>& names) {
  return "table " + excerpt(names.front()) + and_more(names.size() - 1) +
         (names.size() == 1 ? " is" : " are") + " not among the tables given";
}

/// Nothing where the plan, or the workload, has no names to go by.
std::optional<FoundTables> find_tables(const std::vector<std::string>& names,
                                       const Workload& workload) {
  const auto given = tables_by_name(workload);
  if (names.empty() || !given.ok()) return std::nullopt;
  FoundTables found;
  found.numbers.reserve(names.size());
  for (std::size_t index = 0; index < names.size(); ++index) {
    const auto place = given->find(names[index]);
    const std::int32_t number = place == given->end() ? kNoTable : place->second;
    found.numbers.push_back(number);
    if (number == kNoTable) {
      found.unknown.push_back(names[index]);
    } else {
      found.in_place &= std::cmp_equal(number, index);
    }
  }
  return found;
}

/// Shards by numbers that the plan has no name for stay as they are.
void renumber_shards(const FoundTables& found, Plan& plan, std::vector<std::size_t>& kept) {
  std::vector<Shard> shards;
  shards.reserve(plan.shards.size());
  for (std::size_t place = 0; place < plan.shards.size(); ++place) {
    Shard shard = plan.shards[place];
    if (shard.table >= 0 && shard.table < std::ssize(found.numbers)) {
      shard.table = found.numbers[static_cast<std::size_t>(shard.table)];
      if (shard.table == kNoTable) continue;
    }
    shards.push_back(shard);
    kept.push_back(place);
  }
  if (kept.size() == plan.shards.size()) kept.clear();
  plan.shards = std::move(shards);
}

void renumber_modules(const FoundTables& found, std::size_t tables, TrainerPlaces& places) {
  if (places.modules.empty()) return;
  std::vector<std::optional<std::string>> before = std::move(places.modules);
  places.modules.assign(tables, std::nullopt);
  for (std::size_t index = 0; index < std::min(before.size(), found.numbers.size()); ++index) {
    const std::int32_t number = found.numbers[index];
    if (number == kNoTable) continue;
    places.modules[static_cast<std::size_t>(number)] = std::move(before[index]);
  }
}

/// A shard that would pass for one of another table.
bool has_nameless_shard(const Plan& plan, std::size_t names, std::size_t tables) {
  return std::any_of(plan.shards.begin(), plan.shards.end(), [&](const Shard& shard) {
    return std::cmp_greater_equal(shard.table, names) && std::cmp_less(shard.table, tables);
  });
}

}  // namespace

void tell_unknown(const std::vector<std::string>& names, std::size_t known, UnknownTables unknown,
                  NumberedTables& told) {
  if (names.empty()) return;
  if (unknown != UnknownTables::kDropped) {
    for (const std::string& name : names) told.faults.push_back(not_given({name}));
  } else if (known == 0) {
    told.faults.push_back(not_given(names) + ", and the plan has no others");
  } else {
    told.notes.push_back(not_given(names) +
                         (names.size() == 1 ? ": it is dropped" : ": they are dropped"));
  }
}

NumberedTables number_by_names(const Workload& workload, UnknownTables unknown,
                               PlanDocument& document) {
  NumberedTables told;
  const std::size_t tables = workload.tables.size();
  const std::vector<std::string> names =
      std::exchange(document.setting.table_names, names_for_plan(workload));
  const auto found = find_tables(names, workload);
  if (!found || (found->unknown.empty() && found->in_place && names.size() == tables)) return told;
  if (unknown == UnknownTables::kRenamed && found->in_place && names.size() == tables) {
    told.notes.push_back("has a table " + excerpt(found->unknown.front()) +
                         ", which is not among the tables given: its tables are taken in their "
                         "order");
    return told;
  }
  tell_unknown(found->unknown, names.size() - found->unknown.size(), unknown, told);
  if (has_nameless_shard(document.plan, names.size(), tables)) {
    told.faults.push_back("table_names: found " + std::to_string(names.size()) +
                          " names, expected one for each table that has shards");
  }
  renumber_shards(*found, document.plan, told.kept);
  renumber_modules(*found, tables, document.places);
  return told;
}

}  // namespace neuroshard::io
