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

BOOST_AUTO_TEST_CASE(workloads_are_written_as_table_files) {
  const std::string_view csv = "name,rows,dim,pooling_factor,zipf_alpha\na,900,16,3,1.1\n";
  const Workload first = must(Workload::parse(csv, "csv", 4096));
  const std::string text = must(first.format());
  const Workload again = must(Workload::parse(text, "again"));
  BOOST_TEST(again.batch_size() == 4096);
  BOOST_TEST(again.table_count() == 1U);
  const Table before = must(first.table(0));
  const Table after = must(again.table(0));
  BOOST_TEST(after.name == before.name);
  BOOST_TEST(after.rows == before.rows);
  BOOST_TEST(after.reuse_histogram == before.reuse_histogram);
  BOOST_TEST(must(again.format()) == text);
  // A table of no module may stand behind those of one.
  const std::string_view described =
      R"([{"name": "a", "num_embeddings": 9, "embedding_dim": 4, "feature_names": ["f"],)"
      R"( "pooling_factors": [1], "module": "sparse.bags"}])";
  Workload longer = must(Workload::parse(described, "described"));
  BOOST_REQUIRE(longer.add({.name = "b", .rows = 9, .dim = 4, .pooling_factor = 1}).ok());
  const std::string both = must(longer.format());
  BOOST_TEST(both.find("\"sparse.bags\"") != std::string::npos, both);
  BOOST_TEST(must(Workload::parse(both, "both")).table_count() == 2U);
}

BOOST_AUTO_TEST_CASE(a_plan_file_says_what_it_was_made_for) {
  Workload workload = must(Workload::create(65536));
  BOOST_REQUIRE(workload.add({.name = "a", .rows = 9000, .dim = 64, .pooling_factor = 3}).ok());
  const auto models = must(CostModels::torchrec({.device_gbps = 2000, .inter_host_gbps = 25}));
  const auto planner = must(Planner::create(models));
  const Cluster cluster{.devices = 4,
                        .memory_bytes = 1'000'000'000,
                        .devices_per_host = 2,
                        .host_memory_bytes = 2'000'000'000};
  const Plan plan = must(planner.plan(workload, cluster, {.evaluations = 200, .threads = 1}));
  const std::string text = must(plan.export_as(workload));
  const Plan read = must(Plan::import_from(text, "plan", workload));
  for (const Plan* each : {&plan, &read}) {
    const neuroshard_plan_info info = each->info();
    BOOST_TEST(info.memory_bytes == cluster.memory_bytes);
    BOOST_TEST(info.host_memory_bytes == cluster.host_memory_bytes);
    BOOST_TEST(info.devices_per_host == 2);
    BOOST_TEST(std::string(info.cost_model.data, info.cost_model.size) == "torchrec");
    BOOST_TEST(info.cost_model_sha256.size == 64U);
    BOOST_TEST(info.device_gbps == 2000);
    BOOST_TEST(info.intra_host_gbps == 600);
    BOOST_TEST(info.inter_host_gbps == 25);
    BOOST_TEST(info.host_memory_gbps == 32);
  }
  BOOST_TEST(must(read.export_as(workload)) == text);
  const std::string page = must(plan.export_as(workload, "html"));
  BOOST_TEST(page.find(">FORMULA<") != std::string::npos);
  BOOST_TEST(page.find("Why the dearest tables are where they are") != std::string::npos);
}

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
