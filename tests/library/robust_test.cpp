// One plan for several cost models from a program: what each says of it, its file, targets, what
// the log is told and what is refused.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/library/refusals.h"

namespace {

using namespace neuroshard;
using namespace neuroshard::test;

/// The `others` of a search, in their order.
std::vector<CostModels> shipped_models(const std::vector<std::string>& names) {
  std::vector<CostModels> models;
  for (const std::string& name : names) models.push_back(must(CostModels::shipped(name)));
  return models;
}

/// Skewed tables that networks and TorchRec's formula put in other places.
Workload varied_tables() {
  Workload workload = must(Workload::create(65536));
  for (int k = 0; k < 20; ++k) {
    const Table table{.name = "table " + std::to_string(k),
                      .rows = 10'000 + 399'989 * (k % 7),
                      .dim = 32 << (k % 3),
                      .pooling_factor = 1.0 + 5 * (k % 8),
                      .zipf_alpha = 0.3 * (k % 5)};
    BOOST_REQUIRE(workload.add(table).ok());
  }
  return workload;
}

Planner planner_with(const std::string& name, const neuroshard_planner_options* options = nullptr) {
  return must(Planner::create(must(CostModels::shipped(name)), options));
}

Plan plan_for_both(const Workload& workload, const std::string& target = {}) {
  return must(planner_with("h200_sim")
                  .plan_robust(shipped_models({"torchrec"}), workload, cluster_of(8),
                               {.evaluations = 4000, .threads = 1, .target = target}));
}

double largest_regret(const Plan& plan) {
  double largest = 0;
  for (const RobustCost& one : plan.robust_costs()) largest = std::max(largest, one.regret);
  return largest;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(robust)

BOOST_AUTO_TEST_CASE(each_model_says_what_it_says_of_the_plan_alone) {
  const Workload workload = varied_tables();
  const Plan plan = plan_for_both(workload);
  const std::vector<RobustCost> costs = plan.robust_costs();
  BOOST_TEST_REQUIRE(costs.size() == 2u);
  const std::string names[] = {"h200_sim", "torchrec"};
  for (std::size_t k = 0; k < 2; ++k) {
    BOOST_TEST(detail::view(costs[k].cost_model) == names[k]);
    const Planner alone = planner_with(names[k]);
    const Plan same = must(alone.simulate(workload, plan));
    BOOST_TEST(costs[k].cost_ms == same.cost_ms());
    BOOST_TEST(costs[k].regret == costs[k].cost_ms / costs[k].best_ms - 1,
               boost::test_tools::tolerance(1e-9));
    BOOST_TEST(costs[k].regret >= 0);
    BOOST_TEST(same.robust_costs().empty());
    // No plan for one of them is as good for both; the search has seen it.
    const Plan own = must(
        alone.plan(workload, cluster_of(8),
                   {.evaluations = 4000, .threads = 1, .row_splits = NEUROSHARD_ROW_SPLITS_EVEN}));
    BOOST_TEST(costs[k].best_ms <= own.cost_ms() * (1 + 1e-9));
    const Plan by_other = must(planner_with(names[1 - k]).simulate(workload, own));
    BOOST_TEST(by_other.cost_ms() / costs[1 - k].best_ms - 1 > largest_regret(plan));
  }
  BOOST_TEST(plan.cost_ms() == costs[0].cost_ms);
  BOOST_TEST(detail::view(plan.info().cost_model) == "h200_sim");
  BOOST_TEST(plan.info().evaluations >= 4000);
  BOOST_TEST(plan.check(workload, cluster_of(8)).ok());
  BOOST_TEST(must(planner_with("h200_sim")
                      .plan(workload, cluster_of(8), {.evaluations = 100, .threads = 1}))
                 .robust_costs()
                 .empty());
}

BOOST_AUTO_TEST_CASE(a_plan_file_keeps_them_and_a_replan_does_not) {
  const Workload workload = varied_tables();
  const Plan plan = plan_for_both(workload);
  const std::string file = must(plan.export_as(workload));
  BOOST_TEST((file.find("\"robust\": [") != std::string::npos));
  const Plan read = must(Plan::parse(file, "plan.json"));
  const std::vector<RobustCost> costs = plan.robust_costs();
  const std::vector<RobustCost> again = read.robust_costs();
  BOOST_TEST_REQUIRE(again.size() == costs.size());
  for (std::size_t k = 0; k < costs.size(); ++k) {
    BOOST_TEST(detail::view(again[k].cost_model) == detail::view(costs[k].cost_model));
    BOOST_TEST(again[k].cost_ms == costs[k].cost_ms);
    BOOST_TEST(again[k].best_ms == costs[k].best_ms);
    BOOST_TEST(again[k].regret == costs[k].regret);
  }
  BOOST_TEST(must(read.export_as(workload)) == file);
  BOOST_TEST(must(plan_for_both(workload).export_as(workload)) == file);
  const Plan near =
      must(planner_with("h200_sim")
               .replan(workload, cluster_of(8), plan, 0, {.evaluations = 100, .threads = 1}));
  BOOST_TEST(near.robust_costs().empty());
}

// Every plan that a model's search finds is one of those that its costs are held against.
BOOST_AUTO_TEST_CASE(a_robust_replan_moves_no_more_than_the_limit_and_regrets_no_more_than_before) {
  const Workload workload = varied_tables();
  const Planner network = planner_with("h200_sim");
  const Planner formula = planner_with("torchrec");
  const PlanOptions options{.evaluations = 4000, .threads = 1};
  const Plan now = must(
      network.plan(workload, cluster_of(8),
                   {.evaluations = 1000, .threads = 1, .row_splits = NEUROSHARD_ROW_SPLITS_EVEN}));
  for (const std::int64_t limit : {std::int64_t{0}, std::int64_t{500'000'000}}) {
    const Plan near = must(network.replan_robust(shipped_models({"torchrec"}), workload,
                                                 cluster_of(8), now, limit, options));
    BOOST_TEST(must(near.moved_bytes(workload, now)) <= limit);
    const std::vector<RobustCost> costs = near.robust_costs();
    BOOST_TEST_REQUIRE(costs.size() == 2u);
    double before = 0;
    for (std::size_t k = 0; k < 2; ++k) {
      const Planner& alone = k == 0 ? network : formula;
      BOOST_TEST(costs[k].cost_ms == must(alone.simulate(workload, near)).cost_ms());
      const Plan own = must(alone.replan(workload, cluster_of(8), now, limit, options));
      BOOST_TEST(costs[k].best_ms <= own.cost_ms() * (1 + 1e-9));
      before =
          std::max(before, must(alone.simulate(workload, now)).cost_ms() / costs[k].best_ms - 1);
    }
    BOOST_TEST(largest_regret(near) <= before);
    if (limit > 0) BOOST_TEST(largest_regret(near) < before);
    BOOST_TEST(near.cost_ms() == costs[0].cost_ms);
  }
}

BOOST_AUTO_TEST_CASE(targets_have_a_place_for_the_plan) {
  const Workload workload = varied_tables();
  for (const std::string target : {"torchrec", "hugectr"}) {
    const Plan plan = plan_for_both(workload, target);
    BOOST_TEST(plan.export_as(workload, target).ok());
    BOOST_TEST(plan.robust_costs().size() == 2u);
    const Plan near = must(
        planner_with("torchrec")
            .replan_robust(shipped_models({"h200_sim"}), workload, cluster_of(8), plan,
                           1'000'000'000, {.evaluations = 2000, .threads = 1, .target = target}));
    BOOST_TEST(near.export_as(workload, target).ok());
    BOOST_TEST(near.robust_costs().size() == 2u);
  }
}

BOOST_AUTO_TEST_CASE(the_log_names_the_model_that_does_not_know_something) {
  Log log;
  const neuroshard_planner_options options = log.options();
  const Workload workload = varied_tables();
  const auto planned = [&](const std::string& first, const std::string& other, Cluster cluster,
                           bool hot) {
    const Planner planner = planner_with(first, &options);
    log.lines.clear();
    must(planner.plan_robust(shipped_models({other}), workload, cluster,
                             {.evaluations = 200, .threads = 1, .hot_rows = hot}));
  };
  planned("torchrec", "h100_sim", cluster_of(8), false);
  BOOST_TEST((log.lines.find("cost model h100_sim: ") != std::string::npos), log.lines);
  BOOST_TEST((log.lines.find("h100_sim: plan cost ") != std::string::npos), log.lines);
  Cluster with_hosts = cluster_of(8);
  with_hosts.host_memory_bytes = std::int64_t{1} << 40;
  for (const auto& [first, other] : {std::pair{"torchrec", "h100_sim"}, {"h100_sim", "torchrec"}}) {
    planned(first, other, with_hosts, false);
    BOOST_TEST(log.take("cluster.host_memory_bytes: changes nothing, h100_sim knows no"));
    planned(first, other, cluster_of(8), true);
    BOOST_TEST(log.take("options.hot_rows: changes nothing, torchrec knows no"));
  }
  planned("h100_sim", "h200_sim", cluster_of(8), true);
  BOOST_TEST(!log.take("changes nothing"));
}

BOOST_AUTO_TEST_CASE(formulas_of_other_bandwidths_are_other_models) {
  std::vector<CostModels> others;
  others.push_back(must(CostModels::torchrec({.intra_host_gbps = 50})));
  const Workload workload = make_workload(12);
  const Planner planner = planner_with("torchrec");
  const PlanOptions options{.evaluations = 200, .threads = 1};
  const Plan plan = must(planner.plan_robust(others, workload, cluster_of(4), options));
  const std::vector<RobustCost> costs = plan.robust_costs();
  BOOST_TEST_REQUIRE(costs.size() == 2u);
  BOOST_TEST(costs[1].cost_ms > costs[0].cost_ms);
}

BOOST_AUTO_TEST_CASE(wrong_arguments) {
  const ErrorHandle error;
  const Workload workload = make_workload(3);
  const Planner planner = planner_with("h200_sim");
  const std::vector<CostModels> owned = shipped_models({"torchrec", "h200_sim"});
  const neuroshard_cost_models* others[] = {owned[0].get(), owned[1].get(), nullptr};
  const neuroshard_cluster cluster = cluster_of(2).c_struct();
  neuroshard_plan* plan = nullptr;
  const auto planned = [&](const neuroshard_cost_models* const* given, std::size_t count,
                           const neuroshard_cluster& devices,
                           const neuroshard_plan_options* options = nullptr) {
    return neuroshard_planner_plan_robust(planner.get(), given, count, workload.get(), &devices,
                                          options, &plan, error.handle);
  };
  EXPECT_REFUSED(planned(nullptr, 0, cluster), "cost models: found 1, expected at least 2");
  EXPECT_REFUSED(planned(nullptr, 1, cluster), "others: found NULL");
  EXPECT_REFUSED(planned(others, 3, cluster), "cost models: found 'h200_sim' twice");
  EXPECT_REFUSED(planned(others + 2, 1, cluster), "others[0]: found NULL");
  EXPECT_REFUSED(planned(others, 256, cluster), "count: found 256, expected less than 256");
  neuroshard_cluster any = cluster;
  any.exchange_forward = NEUROSHARD_EXCHANGE_AUTO;
  EXPECT_REFUSED(planned(others, 1, any), "cluster.exchange_forward: found AUTO");
  neuroshard_plan_options whole{};
  whole.struct_size = sizeof whole;
  whole.whole_tables = 1;
  EXPECT_REFUSED(planned(others, 1, cluster, &whole), "options.whole_tables: found 1");
  BOOST_TEST(plan == nullptr);

  const Plan found = must(planner.plan_robust({&owned[0], 1}, workload, cluster_of(2),
                                              {.evaluations = 100, .threads = 1}));
  neuroshard_robust_cost cost{};
  EXPECT_REFUSED(neuroshard_plan_get_robust_cost(found.get(), 0, &cost, error.handle),
                 "cost.struct_size: found 0");
  cost.struct_size = sizeof cost;
  EXPECT_REFUSED(neuroshard_plan_get_robust_cost(found.get(), 2, &cost, error.handle),
                 "index: found 2, expected less than 2");
  EXPECT_REFUSED(neuroshard_plan_get_robust_cost(nullptr, 0, &cost, error.handle),
                 "plan: found NULL");
  BOOST_TEST(neuroshard_plan_get_robust_cost(found.get(), 1, &cost, error.handle) == NEUROSHARD_OK);
  BOOST_TEST(detail::view(cost.cost_model) == "torchrec");
  BOOST_TEST(neuroshard_plan_robust_cost_count(nullptr) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
