#pragma once

#include <span>
#include <string>
#include <string_view>

#include "apps/flags/flags.h"
#include "io/plans/plan_export.h"

namespace neuroshard::apps {

/// What the flags say about the format of a plan that is written.
struct ExportFlags {
  std::string format = "json";
  io::PlanExportOptions options{};
};

/// --format and what single formats need. `source` is what help names as their defaults before the
/// formats' own: "the plan's, or ", or "" where there is no plan yet.
void declare_export_flags(FlagSet& flags, ExportFlags* out, const std::string& source);
/// A remark on standard error for each flag whose wish plans of that format have no place for.
/// `hosts_cost`: costs go by --devices-per-host, whatever the format. `html_flags` are those of the
/// command that only a report takes.
void note_unused_flags(const FlagSet& flags, std::string_view format, bool hosts_cost,
                       std::span<const std::string_view> html_flags = {});

}  // namespace neuroshard::apps
