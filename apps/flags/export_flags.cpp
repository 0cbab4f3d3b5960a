#include "apps/flags/export_flags.h"

#include <unistd.h>

#include <charconv>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "apps/console/output.h"
#include "apps/console/text_table.h"
#include "apps/flags/host_flags.h"
#include "io/formats/plan_export.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

using Formats = std::vector<std::pair<std::string, std::string>>;  // names and summaries

Formats formats(bool folders) {
  Formats all;
  for (const io::PlanFormat& format : io::plan_formats()) {
    all.emplace_back(format.name, format.summary);
  }
  if (!folders) return all;
  for (const io::FolderFormat& format : io::folder_formats()) {
    all.emplace_back(format.name, format.summary);
  }
  return all;
}

std::string list_of(const Formats& all) {
  TextTable table({{"format", Align::kLeft}, {"", Align::kLeft}});
  for (const auto& [name, summary] : all) table.add({name, summary});
  return table.render(Console::of(STDOUT_FILENO));
}

void declare_format(FlagSet& flags, ExportFlags* out, bool folders) {
  std::vector<std::string> names;
  for (const auto& [name, summary] : formats(folders)) names.push_back(name);
  flags
      .choice("format", "NAME", "format of the plan; `list` explains them: " + join(names, ", "),
              &out->format, names)
      .answers("list", [folders]() -> Result<std::string> { return list_of(formats(folders)); });
}

/// What formats of one file need.
void declare_file_options(FlagSet& flags, ExportFlags* out, const std::string& source) {
  flags
      .text("torchrec-module", "NAME",
            "torchrec: dotted name inside the model of the embedding module with all tables",
            &out->options.module)
      .default_text(source + "the tables' modules, or the model itself");
  flags
      .choice("trainer-device", "NAME", "torchrec: where the trainer runs, cuda or cpu",
              &out->options.trainer_device, {"cuda", "cpu"})
      .default_text(source + "cuda");
  flags
      .text("date", "DAY",
            "html: the day that the report shows, such as 2026-11-25, or today, in UTC, with which "
            "the same plan gives other bytes tomorrow",
            &out->date)
      .default_text("SOURCE_DATE_EPOCH's, or none");
  declare_devices_per_host(flags, &out->options.devices_per_host)
      .default_text(source + "8, or all where 8 do not divide them");
}

/// Whether it is a day that there is, as YYYY-MM-DD.
bool is_day(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const auto number = [&](std::size_t from, std::size_t digits) {
    int value = -1;
    const char* const last = text.data() + from + digits;
    const auto [end, error] = std::from_chars(text.data() + from, last, value);
    return error == std::errc() && end == last ? value : -1;
  };
  if (number(0, 4) < 0 || number(5, 2) < 0 || number(8, 2) < 0) return false;
  return std::chrono::year_month_day(std::chrono::year(number(0, 4)),
                                     std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                     std::chrono::day(static_cast<unsigned>(number(8, 2))))
      .ok();
}

}  // namespace

Status check_export_flags(const ExportFlags& given, bool is_written) {
  if (!given.date.empty() && given.date != kToday && !is_day(given.date)) {
    return invalid_input("--date: found " + io::excerpt(given.date) +
                         ", expected a day such as 2026-11-25, or today");
  }
  const std::string& module = given.options.module;
  if (!module.empty() && !io::is_module_name(module)) {
    return invalid_input("--torchrec-module: found " + io::excerpt(module) +
                         ", expected a dotted name such as 'sparse.ebc'");
  }
  if (is_written || given.format == io::kNativeFormat) return {};
  return invalid_input("--format: found '" + given.format +
                       "' without --output, expected a file for the plan");
}

void note_unused_flags(const FlagSet& flags, std::string_view format,
                       std::span<const std::string_view> others) {
  const auto note = [&](std::string_view flag) {
    if (!flags.given(flag)) return;
    print_note("--" + std::string(flag) + ": " + std::string(format) + " has no place for it");
  };
  const io::PlanFormat* known = io::find_plan_format(format);
  if (known == nullptr || !known->names_places) {
    note("torchrec-module");
    note("trainer-device");
  }
  if (known == nullptr || !known->shows_costs) note("date");
  const io::FolderFormat* folder = io::find_folder_format(format);
  if (folder == nullptr) note("dense-ms");
  if (folder == nullptr || !folder->has_steps) {
    note("exchange-nodes");
    note("steps");
  }
  for (const std::string_view flag : others) note(flag);
}

void declare_export_flags(FlagSet& flags, ExportFlags* out, const std::string& source) {
  declare_format(flags, out, false);
  declare_file_options(flags, out, source);
}

void declare_all_formats(FlagSet& flags, ExportFlags* out, const std::string& source) {
  declare_format(flags, out, true);
  declare_file_options(flags, out, source);
  flags
      .choice("exchange-nodes", "NAME",
              "chakra: what an exchange is, collective (an all-to-all, which has one size for all "
              "ranks) or pairs (sends and receives)",
              &out->options.exchange_nodes, {"collective", "pairs"})
      .default_text("collective where all ranks send as much");
  flags.number("dense-ms", "MS",
               "chakra, benchmark: what the dense layers take between the exchanges",
               &out->options.dense_ms, {0, 1e6, true});
  flags.integer("steps", "chakra: steps, one after the other", &out->options.trace_steps, 1,
                1'000'000);
  flags.seed("seed", "benchmark: of the lookups, and of the sets of --for",
             &out->options.lookup_seed);
}

}  // namespace neuroshard::apps
