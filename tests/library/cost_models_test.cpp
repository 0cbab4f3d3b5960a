// What cost models know, and what they count with: hosts, bandwidths, replicas.
#include <cstdint>
#include <string>
#include <vector>

#include "tests/library/support.h"

namespace {

using namespace neuroshard;
using namespace neuroshard::test;

}  // namespace

BOOST_AUTO_TEST_SUITE(cost_models)

BOOST_AUTO_TEST_CASE(every_listed_cost_model_says_what_it_knows) {
  const std::vector<std::string> names = CostModels::shipped_names();
  BOOST_TEST(names == (std::vector<std::string>{"a100_sim", "h100", "h100_fbgemm", "h100_sim",
                                                "h200_sim", "torchrec", "torchrec-1.4"}),
             boost::test_tools::per_element());
  for (const std::string& name : names) {
    BOOST_TEST_CONTEXT(name) {
      const CostModels models = must(CostModels::shipped(name));
      const neuroshard_cost_models_info info = must(models.info());
      const bool formula = name.starts_with("torchrec");
      BOOST_TEST(info.row_parts == (formula ? 65536 : 128));
      BOOST_TEST(info.min_devices == (formula ? 0 : 2));
      BOOST_TEST(info.max_devices == (formula ? 0 : 1024));
      const bool ours = name == "h100";  // a GPU's time is dear
      BOOST_TEST(info.min_batch_size == (formula ? 1 : ours ? 4096 : 1024));
      BOOST_TEST(info.max_batch_size == (formula ? INT64_MAX : ours ? 262144 : 1048576));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_log_hears_of_costs_that_are_guesses) {
  Log log;
  const neuroshard_planner_options options = log.options();
  const Planner planner = must(Planner::create(must(CostModels::shipped()), &options));
  const Workload workload = make_workload(3);
  for (const std::int32_t devices : {1024, 1025}) {
    const PlanOptions greedy{.algorithm = "size-greedy", .threads = 1};
    const Plan plan = must(planner.plan(workload, cluster_of(devices), greedy));
    BOOST_TEST(log.take("what it says of 1025 is a guess") == (devices == 1025));
    BOOST_TEST(planner.simulate(workload, plan).ok());
    BOOST_TEST(log.take("what it says of 1025 is a guess") == (devices == 1025));
  }
  Workload half = make_workload(1);
  BOOST_REQUIRE(half.add({.name = "half", .rows = 10, .dim = 4, .data_type = "fp16"}).ok());
  BOOST_TEST(planner.plan(half, cluster_of(2), {.algorithm = "size-greedy", .threads = 1}).ok());
  BOOST_TEST(log.take("of the compute of 1 other is a guess"));
  const Planner formula = must(Planner::create(must(CostModels::shipped("torchrec")), &options));
  BOOST_TEST(
      formula.plan(workload, cluster_of(3), {.algorithm = "size-greedy", .threads = 1}).ok());
  BOOST_TEST(log.take("is no multiple of 3 devices"));
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

BOOST_AUTO_TEST_SUITE_END()
