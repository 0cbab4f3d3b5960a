// The formats that the library lists: all are written, those it reads come back as the same plan.
#include <unistd.h>

#include <clocale>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/library/support.h"

namespace {

using namespace neuroshard;
using namespace neuroshard::test;

}  // namespace

BOOST_AUTO_TEST_SUITE(formats)

BOOST_AUTO_TEST_CASE(every_listed_format_is_written) {
  const Workload workload = make_workload(6);
  const Plan plan = must(make_planner().simulate(workload, whole_tables(workload, 4)));
  const std::vector<std::string> names = format_names();
  BOOST_REQUIRE(!names.empty());
  BOOST_TEST(names[0] == "json");
  for (const std::string& name : names) {
    const std::string text = must(plan.export_as(workload, name));
    BOOST_TEST(!text.empty(), name);
    BOOST_TEST(text == must(plan.export_as(workload, name)), name);
  }
  BOOST_TEST(must(plan.export_as(workload)) == must(plan.export_as(workload, "json")));
}

BOOST_AUTO_TEST_CASE(what_is_read_is_what_was_written) {
  const Workload workload = make_workload(6);
  const Plan plan = whole_tables(workload, 4);
  for (const std::string name : {"json", "torchrec", "hugectr"}) {
    BOOST_TEST_CONTEXT(name) {
      const std::string text = must(plan.export_as(workload, name, {.module = "sparse"}));
      const Plan read = must(Plan::import_from(text, name, workload, name == "json" ? 0 : 4));
      BOOST_TEST(must(read.export_as(workload, "csv")) == must(plan.export_as(workload, "csv")));
      BOOST_TEST(read.notes().empty());
      // With the module that was asked for then.
      if (name == "torchrec") BOOST_TEST(must(read.export_as(workload, name)) == text);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_report_says_that_its_hardware_is_simulated) {
  const Workload workload = make_workload(6);
  const Plan plan = must(make_planner().simulate(workload, whole_tables(workload, 4)));
  const std::string report = must(plan.export_as(workload, "html", {.memory_bytes = 1 << 30}));
  BOOST_TEST(report.find("SIMULATED") != std::string::npos);
}

/// Sets a locale with a decimal comma, made in `folder` where the system has none.
bool set_comma_locale(const std::filesystem::path& folder) {
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) != nullptr) return true;
  }
  const std::string make = "localedef -i de_DE -f UTF-8 '" + folder.string() + "/de_DE.UTF-8' > '" +
                           folder.string() + "/log' 2>&1";
  if (std::system(make.c_str()) != 0) return false;
  setenv("LOCPATH", folder.c_str(), 1);
  return std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
}

BOOST_AUTO_TEST_CASE(a_locale_with_a_decimal_comma_changes_no_file) {
  const Workload workload = make_workload(6);
  const Plan plan = must(make_planner().simulate(workload, whole_tables(workload, 4)));
  std::vector<std::string> before;
  for (const std::string& name : format_names()) {
    before.push_back(must(plan.export_as(workload, name, {.memory_bytes = 1 << 30})));
  }
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("neuroshard_locale_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  if (set_comma_locale(folder)) {
    BOOST_TEST(*std::localeconv()->decimal_point == ',');
    std::vector<std::string> after;
    for (const std::string& name : format_names()) {
      after.push_back(must(plan.export_as(workload, name, {.memory_bytes = 1 << 30})));
    }
    BOOST_TEST((after == before));
  } else {
    BOOST_TEST_MESSAGE("skipped: no locale with a decimal comma");
  }
  std::setlocale(LC_ALL, "C");
  std::filesystem::remove_all(folder);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_written_or_read_is_refused) {
  const Workload workload = make_workload(2);
  const Plan plan = whole_tables(workload, 2);
  BOOST_TEST(!plan.export_as(workload, "stone tablets"));
  BOOST_TEST(!plan.export_as(workload, "torchrec", {.trainer_device = "abacus"}));
  BOOST_TEST(!plan.export_as(workload, "torchrec", {.devices_per_host = -1}));
  BOOST_TEST(!plan.export_as(workload, "html", {.memory_bytes = -1}));
  BOOST_TEST(!Plan::import_from("", "nothing", workload, 2));
  BOOST_TEST(!Plan::import_from("{}", "nothing", workload, 2));
  for (const std::int32_t devices : {-1, 65537}) {
    const Result<Plan> refused = Plan::import_from("[]", "nothing", workload, devices);
    BOOST_TEST_REQUIRE(!refused);
    BOOST_TEST(refused.error().message ==
               "devices: found " + std::to_string(devices) + ", expected 0 to 65536");
  }
  const Result<Plan> other = Plan::import_from(must(plan.export_as(workload, "torchrec")),
                                               "plan.json", make_workload(3), 2);
  BOOST_REQUIRE(!other);
  BOOST_TEST(other.error().message.starts_with("plan.json: "));
}

BOOST_AUTO_TEST_SUITE_END()
