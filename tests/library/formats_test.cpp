// What the library lists it can do: formats are written, those it reads come back as the same plan,
// cost models are there.
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

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < neuroshard_export_format_count(); ++i) {
    names.emplace_back(neuroshard_export_format_name(i).data,
                       neuroshard_export_format_name(i).size);
    BOOST_TEST(neuroshard_export_format_summary(i).size > 0u);
  }
  return names;
}

/// Whole tables, round robin: what every format can express.
Plan whole_tables(const Workload& workload, std::int32_t devices) {
  std::vector<Shard> shards;
  for (std::size_t i = 0; i < workload.table_count(); ++i) {
    const Table table = must(workload.table(i));
    shards.push_back({0, table.rows, 0, table.dim, static_cast<std::int32_t>(i),
                      static_cast<std::int32_t>(i) % devices});
  }
  return must(Plan::create(devices, workload.batch_size(), shards));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(formats)

BOOST_AUTO_TEST_CASE(hugectr_takes_plans_of_equal_columns) {
  // The cheapest plan has blocks of 16 and 32 columns.
  Workload workload = must(Workload::create(65536));
  const Table table{.name = "a", .rows = 10'000'000, .dim = 128, .pooling_factor = 3};
  BOOST_REQUIRE(workload.add(table).ok());
  const Cluster cluster{.devices = 5, .memory_bytes = 1'424'000'000};
  PlanOptions options{.evaluations = 2000, .threads = 1};
  const Plan any = must(make_planner().plan(workload, cluster, options));
  BOOST_TEST(!any.export_as(workload, "hugectr").ok());
  options.equal_columns = true;
  const Plan equal = must(make_planner().plan(workload, cluster, options));
  BOOST_TEST(equal.export_as(workload, "hugectr").ok());
  BOOST_TEST(equal.shards().size() == 4U);
}

BOOST_AUTO_TEST_CASE(plans_for_a_format_can_be_exported_in_it) {
  // The cheapest plans have row halves, or blocks of 16 and 32 columns, or columns to be joined.
  Workload workload = must(Workload::create(65536));
  for (const std::int32_t dim : {128, 12}) {
    const Table table{
        .name = "a" + std::to_string(dim), .rows = 10'000'000, .dim = dim, .pooling_factor = 3};
    BOOST_REQUIRE(workload.add(table).ok());
  }
  const Cluster cluster{.devices = 5, .memory_bytes = 1'624'000'000};
  PlanOptions options{.evaluations = 1000, .threads = 1, .row_splits = NEUROSHARD_ROW_SPLITS_ANY};
  const Planner planner = make_planner();
  for (const std::string& name : format_names()) {
    options.target = name;
    const Plan plan = must(planner.plan(workload, cluster, options));
    const std::string text = must(plan.export_as(workload, name));
    BOOST_TEST(plan.check(workload, cluster).ok(), name);
    if (name != "json" && name != "torchrec" && name != "hugectr") continue;
    // What is told of the costs is of the file.
    const Plan back = must(Plan::import_from(text, name, workload, cluster.devices));
    BOOST_TEST(must(planner.simulate(workload, back)).cost_ms() == plan.cost_ms(), name);
  }
}

BOOST_AUTO_TEST_CASE(a_search_without_a_plan_for_its_format_says_what_would_do) {
  // Half of 12 columns are 8 and 4, and whole the table does not fit.
  Workload workload = must(Workload::create(65536));
  const Table table{.name = "hot", .rows = 1'000'000, .dim = 12, .pooling_factor = 100};
  BOOST_REQUIRE(workload.add(table).ok());
  const Cluster cluster{.devices = 2, .memory_bytes = 40'000'000};
  PlanOptions options{.evaluations = 500, .threads = 1, .target = "hugectr"};
  const Planner planner = make_planner();
  const Result<Plan> none = planner.plan(workload, cluster, options);
  BOOST_TEST_REQUIRE(!none);
  BOOST_TEST(none.error().status == NEUROSHARD_INFEASIBLE);
  BOOST_TEST(
      none.error().message.ends_with("45.78MiB of memory per device would do, with whole tables"),
      none.error().message);
  options.algorithm = "refine";  // and no other
  const Result<Plan> refused = planner.plan(workload, cluster, options);
  BOOST_TEST_REQUIRE(!refused);
  BOOST_TEST(refused.error().status == NEUROSHARD_INVALID_INPUT);
  BOOST_TEST(refused.error().message.find("equal width") != std::string::npos);
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

BOOST_AUTO_TEST_CASE(every_listed_cost_model_says_what_it_knows) {
  const std::vector<std::string> names = CostModels::shipped_names();
  BOOST_TEST(names == (std::vector<std::string>{"a100_sim", "h200_sim", "torchrec"}),
             boost::test_tools::per_element());
  for (const std::string& name : names) {
    BOOST_TEST_CONTEXT(name) {
      const CostModels models = must(CostModels::shipped(name));
      const neuroshard_cost_models_info info = must(models.info());
      const bool formula = name == "torchrec";
      BOOST_TEST(info.row_parts == (formula ? 65536 : 128));
      BOOST_TEST(info.min_devices == (formula ? 0 : 2));
      BOOST_TEST(info.max_devices == (formula ? 0 : 128));
      BOOST_TEST(info.min_batch_size == (formula ? 1 : 4096));
      BOOST_TEST(info.max_batch_size == (formula ? INT64_MAX : 131072));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_log_hears_of_costs_that_are_guesses) {
  std::string log;
  neuroshard_planner_options options{};
  options.struct_size = sizeof options;
  options.log = [](void* lines, std::int32_t, neuroshard_text line) {
    static_cast<std::string*>(lines)->append(line.data, line.size);
  };
  options.log_user_data = &log;
  const Planner planner = must(Planner::create(must(CostModels::shipped()), &options));
  const Workload workload = make_workload(3);
  for (const std::int32_t devices : {128, 129}) {
    log.clear();
    const PlanOptions greedy{.algorithm = "size-greedy", .threads = 1};
    const Plan plan = must(planner.plan(workload, cluster_of(devices), greedy));
    BOOST_TEST((log.find("what it says of 129 is a guess") != std::string::npos) ==
               (devices == 129));
    log.clear();
    BOOST_TEST(planner.simulate(workload, plan).ok());
    BOOST_TEST((log.find("what it says of 129 is a guess") != std::string::npos) ==
               (devices == 129));
  }
  Workload half = make_workload(1);
  BOOST_REQUIRE(half.add({.name = "half", .rows = 10, .dim = 4, .data_type = "fp16"}).ok());
  BOOST_TEST(planner.plan(half, cluster_of(2), {.algorithm = "size-greedy", .threads = 1}).ok());
  BOOST_TEST(log.find("of the compute of 1 other is a guess") != std::string::npos);
  const Planner formula = must(Planner::create(must(CostModels::shipped("torchrec")), &options));
  log.clear();
  BOOST_TEST(
      formula.plan(workload, cluster_of(3), {.algorithm = "size-greedy", .threads = 1}).ok());
  BOOST_TEST(log.find("is no multiple of 3 devices") != std::string::npos, log);
}

BOOST_AUTO_TEST_CASE(features_and_weights_of_a_table_count_and_come_back) {
  const Planner planner = must(Planner::create(must(CostModels::shipped("torchrec"))));
  const auto cost = [&](std::int32_t features, bool weighted, bool pooled = true) {
    Workload workload = must(Workload::create(65536));
    BOOST_REQUIRE(workload
                      .add({.name = "t",
                            .rows = 1000,
                            .dim = 128,
                            .pooling_factor = 4,
                            .features = features,
                            .weighted = weighted,
                            .pooled = pooled})
                      .ok());
    const Table back = must(workload.table(0));
    BOOST_TEST(back.features == features);
    BOOST_TEST(back.weighted == weighted);
    BOOST_TEST(back.pooled == pooled);
    const PlanOptions greedy{.algorithm = "size-greedy", .threads = 1};
    return must(planner.simulate(workload, must(planner.plan(workload, cluster_of(2), greedy))))
        .cost_ms();
  };
  BOOST_TEST(cost(2, false) > cost(1, false));
  BOOST_TEST(cost(1, true) > cost(1, false));
  BOOST_TEST(cost(1, false, false) > cost(1, false));
}

BOOST_AUTO_TEST_CASE(what_sharding_tables_forbid_comes_back) {
  Workload workload = must(Workload::create(65536));
  for (std::uint32_t forbidden = 0; forbidden < 15; ++forbidden) {
    const std::string name = std::to_string(forbidden);
    BOOST_REQUIRE(workload
                      .add({.name = name,
                            .rows = 10,
                            .dim = 64,
                            .forbidden_sharding = forbidden,
                            .min_columns = forbidden == 3 ? 0 : 32})
                      .ok());
    const Table back = must(workload.table(forbidden));
    BOOST_TEST(back.forbidden_sharding == forbidden);
    BOOST_TEST(back.min_columns == (forbidden == 3 ? 4 : 32));
  }
}

BOOST_AUTO_TEST_CASE(tables_are_on_the_devices_that_they_name) {
  const Planner planner = must(Planner::create(must(CostModels::shipped("h200_sim"))));
  Workload workload = must(Workload::create(65536));
  for (int k = 0; k < 6; ++k) {
    BOOST_REQUIRE(
        workload
            .add({.name = "t" + std::to_string(k),
                  .rows = 1000,
                  .dim = 16,
                  .pooling_factor = 2,
                  .devices = k < 3 ? std::vector<std::int32_t>{k, 3} : std::vector<std::int32_t>{}})
            .ok());
  }
  BOOST_TEST(must(workload.table(2)).devices == (std::vector<std::int32_t>{2, 3}),
             boost::test_tools::per_element());
  BOOST_TEST(must(workload.table(5)).devices.empty());
  const Plan plan = must(planner.plan(workload, cluster_of(4), {.evaluations = 1000}));
  for (const Shard& shard : plan.shards()) {
    if (shard.table < 3) BOOST_TEST((shard.device == shard.table || shard.device == 3));
  }
  BOOST_TEST(plan.check(workload, cluster_of(4)).ok());
  const auto elsewhere = whole_tables(workload, 2).check(workload, cluster_of(2));
  BOOST_REQUIRE(!elsewhere.ok());
  BOOST_TEST(elsewhere.error().message ==
             "table 2 't2': found a shard on device 0, it may be on devices 2 and 3");
  const auto refused = planner.plan(workload, cluster_of(3));
  BOOST_REQUIRE(!refused.ok());
  BOOST_TEST(refused.error().message ==
             "table 0 (t0): found device 3 among its devices, expected below 3");
}

BOOST_AUTO_TEST_CASE(sharding_of_a_table_file_is_forbidden_in_bits) {
  const auto forbidden = [](const std::string& allowed) {
    const Workload workload = must(Workload::parse(
        R"({"format": "neuroshard-tables", "version": 1, "tables": [{"name": "t", "rows": 10,
            "dim": 8, "pooling_factor": 1, "sharding": [")" +
            allowed + "\"]}]}",
        "f"));
    return must(workload.table(0)).forbidden_sharding;
  };
  const std::uint32_t all = NEUROSHARD_SHARDING_WHOLE + NEUROSHARD_SHARDING_COLUMNS +
                            NEUROSHARD_SHARDING_ROWS + NEUROSHARD_SHARDING_DATA_PARALLEL;
  BOOST_TEST(forbidden("whole") == all - NEUROSHARD_SHARDING_WHOLE);
  BOOST_TEST(forbidden("columns") == all - NEUROSHARD_SHARDING_COLUMNS);
  BOOST_TEST(forbidden("rows") == all - NEUROSHARD_SHARDING_ROWS);
  BOOST_TEST(forbidden("data_parallel") == all - NEUROSHARD_SHARDING_DATA_PARALLEL);
}

BOOST_AUTO_TEST_CASE(a_plan_for_hosts_remembers_them) {
  const Planner planner = must(Planner::create(must(CostModels::shipped("torchrec"))));
  Workload workload = must(Workload::create(65536));
  BOOST_REQUIRE(
      workload.add({.name = "t", .rows = 1000000, .dim = 128, .pooling_factor = 100}).ok());
  const PlanOptions options{.evaluations = 1000, .threads = 1};
  for (const std::int32_t per_host : {0, 4, 16}) {  // none says 8
    const Cluster cluster{32, std::int64_t{1} << 40, per_host};
    const Plan plan = must(planner.plan(workload, cluster, options));
    BOOST_TEST(must(planner.simulate(workload, plan)).cost_ms() == plan.cost_ms());
    const std::string file = must(plan.export_as(workload, "torchrec"));
    BOOST_TEST((file.find("table_row_wise") != std::string::npos ||
                file.find("grid_shard") != std::string::npos));
    const std::string last = "/cuda:" + std::to_string((per_host == 0 ? 8 : per_host) - 1) + "\"";
    BOOST_TEST(file.find("rank:31" + last) != std::string::npos, file);
    const Plan again = must(Plan::import_from(file, "again", workload, 32));
    BOOST_TEST(must(planner.simulate(workload, again)).cost_ms() == plan.cost_ms());
  }
}

BOOST_AUTO_TEST_CASE(the_formula_counts_with_the_bandwidths_that_it_is_made_with) {
  const auto planner_with = [](double device, double intra_host, double inter_host) {
    return must(Planner::create(must(CostModels::torchrec({device, intra_host, inter_host}))));
  };
  const Planner usual_planner = must(Planner::create(must(CostModels::shipped("torchrec"))));
  const Planner fast_planner = planner_with(2 * 897, 2 * 600, 25);
  const Workload workload = make_workload(6);
  const PlanOptions greedy{.algorithm = "size-greedy", .threads = 1};
  const Plan usual = must(usual_planner.plan(workload, cluster_of(16), greedy));
  const Plan said = must(planner_with(897, 0, 12.5).plan(workload, cluster_of(16), greedy));
  BOOST_TEST(must(said.export_as(workload)) == must(usual.export_as(workload)));
  // All of it twice as fast: half the costs, also of plans that another planner made or a file has.
  const auto close = boost::test_tools::tolerance(1e-12);
  const Plan fast = must(fast_planner.plan(workload, cluster_of(16), greedy));
  BOOST_TEST(fast.cost_ms() == usual.cost_ms() / 2, close);
  BOOST_TEST(must(fast_planner.simulate(workload, usual)).cost_ms() == fast.cost_ms(), close);
  const std::string file = must(fast.export_as(workload));
  BOOST_TEST(file.find("estimator with 1794, 1200 and 25 GB/s") != std::string::npos);
  const Plan read = must(Plan::parse(file, "fast"));
  BOOST_TEST(must(fast_planner.simulate(workload, read)).cost_ms() == fast.cost_ms(), close);
  BOOST_TEST(must(usual_planner.simulate(workload, read)).cost_ms() == usual.cost_ms(), close);
}

BOOST_AUTO_TEST_CASE(a_plan_of_other_costs_remembers_given_hosts) {
  const Workload workload = make_workload(6);
  const Cluster hosts{4, std::int64_t{1} << 40, 2};
  const PlanOptions greedy{.algorithm = "size-greedy", .threads = 1};
  const std::string said =
      must(must(make_planner().plan(workload, hosts, greedy)).export_as(workload, "torchrec"));
  BOOST_TEST(said.find("rank:3/cuda:1") != std::string::npos);
  const std::string unsaid = must(
      must(make_planner().plan(workload, cluster_of(4), greedy)).export_as(workload, "torchrec"));
  BOOST_TEST(unsaid.find("rank:3/cuda:3") != std::string::npos);
  const Workload many = make_workload(16);
  for (const std::int32_t devices : {12, 16}) {  // only 16 are a whole number of the usual hosts
    const std::string usual = must(
        must(make_planner().plan(many, cluster_of(devices), greedy)).export_as(many, "torchrec"));
    const std::string place = devices == 12 ? "rank:11/cuda:11" : "rank:11/cuda:3";
    BOOST_TEST(usual.find(place) != std::string::npos, usual);
  }
}

BOOST_AUTO_TEST_CASE(data_parallel_tables_are_shards_on_every_device) {
  const Planner planner = must(Planner::create(must(CostModels::shipped("torchrec"))));
  Workload workload = must(Workload::create(65536));
  for (const std::int64_t rows : {100, 1000000}) {
    BOOST_REQUIRE(
        workload.add({.name = std::to_string(rows), .rows = rows, .dim = 64, .pooling_factor = 2})
            .ok());
  }
  for (const bool data_parallel : {false, true}) {
    PlanOptions options{.evaluations = 1000, .threads = 1};
    options.data_parallel = data_parallel;
    const Plan plan = must(planner.plan(workload, cluster_of(16), options));
    const std::vector<Shard> shards = plan.shards();
    BOOST_TEST((shards.front().device == NEUROSHARD_EVERY_DEVICE) == data_parallel);
    BOOST_TEST(must(planner.simulate(workload, plan)).cost_ms() == plan.cost_ms());
    BOOST_TEST(plan.device_costs().size() == 16u);
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
