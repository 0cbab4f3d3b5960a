#pragma once

#include <span>
#include <string>
#include <string_view>

#include "apps/flags/flags.h"
#include "engine/core/status.h"
#include "io/formats/plan_export.h"
#include "io/plans/plan_file.h"

namespace neuroshard::apps {

/// The word for the day on which the command runs.
inline constexpr std::string_view kToday = "today";

/// What the flags say about the format of a plan that is written.
struct ExportFlags {
  std::string format{io::kNativeFormat};
  io::PlanExportOptions options{};
  std::string date{};  ///< YYYY-MM-DD, kToday, or "" for what the environment says

  /// Whether it is a folder of files.
  [[nodiscard]] bool is_folder() const { return io::find_folder_format(format) != nullptr; }
  /// Whether it shows costs and baselines beside the plan.
  [[nodiscard]] bool shows_costs() const {
    const io::PlanFormat* known = io::find_plan_format(format);
    return known != nullptr && known->shows_costs;
  }
};

/// --format and what single formats need. `source` is what help names as their defaults before the
/// formats' own: "the plan's, or ", or "" where there is no plan yet.
void declare_export_flags(FlagSet& flags, ExportFlags* out, const std::string& source);
/// The same, with the formats that are folders of files, and what those need.
void declare_all_formats(FlagSet& flags, ExportFlags* out, const std::string& source);
/// kInvalidInput for a value that no plan could have, be there a plan file with a place for it or
/// not, and for a format other than the native one where no plan is to be written.
Status check_export_flags(const ExportFlags& given, bool is_written = true);
/// A remark on standard error for each flag whose wish plans of that format have no place for:
/// those of declare_export_flags() but for --devices-per-host, and the command's own `others`.
void note_unused_flags(const FlagSet& flags, std::string_view format,
                       std::span<const std::string_view> others = {});

}  // namespace neuroshard::apps
