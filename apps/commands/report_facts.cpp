#include "apps/commands/report_facts.h"

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "apps/console/progress_bar.h"
#include "apps/interrupt.h"
#include "engine/planner/explain/report_facts.h"
#include "io/text.h"

namespace neuroshard::apps {
namespace {

constexpr const char* kEpoch = "SOURCE_DATE_EPOCH";
constexpr std::int64_t kLastSecond = 253402300799;  // of the year 9999

std::string two_digits(unsigned number) {
  return (number < 10 ? "0" : "") + std::to_string(number);
}

/// The day in UTC as YYYY-MM-DD.
std::string day_of(std::chrono::sys_seconds time) {
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(time));
  return std::to_string(static_cast<int>(day.year())) + "-" +
         two_digits(static_cast<unsigned>(day.month())) + "-" +
         two_digits(static_cast<unsigned>(day.day()));
}

/// What builds that are to be repeated say instead of a clock.
Result<std::string> day_of_environment() {
  const char* const text = std::getenv(kEpoch);
  if (text == nullptr || *text == 0) return std::string();
  std::int64_t seconds = -1;
  const char* const last = text + std::strlen(text);
  const auto [end, error] = std::from_chars(text, last, seconds);
  if (error != std::errc() || end != last || seconds < 0 || seconds > kLastSecond) {
    return invalid_input(std::string(kEpoch) + ": found " + io::excerpt(text) +
                         ", expected seconds since 1970");
  }
  return day_of(std::chrono::sys_seconds(std::chrono::seconds(seconds)));
}

Result<std::string> date_of(const std::string& given) {
  if (given.empty()) return day_of_environment();
  if (given != kToday) return given;
  return day_of(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
}

}  // namespace

Status add_report(const FlagSet& flags, const std::string& command, const Workload& workload,
                  const io::PlanDocument& document, std::int32_t devices_per_host,
                  const NamedCostModels& models, ExportFlags& out) {
  if (!out.shows_costs()) return {};
  NEUROSHARD_ASSIGN_OR_RETURN(out.options.date, date_of(out.date));
  out.options.command = "neuroshard " + command + flags.given_text();
  ProgressBar progress;
  return add_report_facts(workload, document, devices_per_host, models, &progress, &cancel_token(),
                          out.options);
}

}  // namespace neuroshard::apps
