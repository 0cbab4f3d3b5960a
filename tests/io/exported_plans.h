#pragma once

// Plans as files of every format, and back.

#include <string>
#include <string_view>
#include <utility>

#include "io/formats/plan_export.h"
#include "io/plans/plan_import.h"
#include "tests/io/plans.h"
#include "tests/io/support.h"

namespace neuroshard::test {

/// user whole on 1, ad on every device, item in columns 0..4 on 2, 4..12 on 0 and 12..16 on 2.
inline io::PlanDocument every_kind_of_shard() {
  return document_of(4, {{0, 0, 10, 0, 8, 1},
                         {1, 0, 6, 0, 4, kEveryDevice},
                         {2, 0, 12, 0, 4, 2},
                         {2, 0, 12, 4, 12, 0},
                         {2, 0, 12, 12, 16, 2}});
}

/// The file of a plan of three_tables().
inline std::string written(std::string_view format, const io::PlanDocument& document,
                           const io::PlanExportOptions& options = {}) {
  return value_of(io::export_plan(format, three_tables(), document, options));
}

/// Why there is none.
inline Status refused(std::string_view format, const io::PlanDocument& document,
                      const io::PlanExportOptions& options = {}) {
  return io::export_plan(format, three_tables(), document, options).status();
}

inline Plan read_back(const std::string& text, const Workload& workload) {
  io::BoundPlan bound =
      value_of(io::bind_plan(value_of(io::parse_plan_input(text, "f")), workload, 0));
  canonicalize(bound.document.plan);
  return std::move(bound.document.plan);
}

}  // namespace neuroshard::test
