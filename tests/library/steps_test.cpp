// Whole training steps from a program: costs with a model's dense part, and a plan's step by phase.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/library/refusals.h"

namespace {

using namespace neuroshard;
using namespace neuroshard::test;

constexpr std::string_view kDcn =
    R"({"format": "neuroshard-model", "version": 1, "dense_features": 13,
        "bottom": [512, 256, 128], "interaction": {"kind": "dcn", "layers": 3, "rank": 512},
        "top": [1024, 1024, 512, 256, 1], "precision": "fp16", "optimizer": "adagrad"})";

neuroshard::DenseModel dcn(std::string_view profile = {}) {
  return {.bytes = kDcn, .source = "models/dcn.json", .profile = profile};
}

Workload tables_of_128() {
  Workload workload = must(Workload::create(32768));
  for (int k = 0; k < 12; ++k) {
    BOOST_REQUIRE(workload
                      .add({.name = "table " + std::to_string(k),
                            .rows = 100'000 + 7919 * k,
                            .dim = 128,
                            .pooling_factor = 1.0 + 3 * k,
                            .zipf_alpha = 1.05})
                      .ok());
  }
  return workload;
}

Plan plan_by(const CostModels& models, const Workload& workload, std::int32_t devices = 8,
             std::int64_t evaluations = 2000) {
  return must(must(Planner::create(models))
                  .plan(workload, cluster_of(devices), {.evaluations = evaluations, .threads = 1}));
}

CostModels networks(std::string_view name = "h100_sim") { return must(CostModels::shipped(name)); }

/// The number behind `"key": ` in a JSON text.
double number_of(const std::string& json, const std::string& key) {
  const std::size_t at = json.find("\"" + key + "\": ");
  BOOST_REQUIRE_MESSAGE(at != std::string::npos, key << " is not in " << json);
  return std::stod(json.substr(at + key.size() + 4));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(steps)

BOOST_AUTO_TEST_CASE(costs_are_of_whole_steps_and_say_of_which) {
  const Workload workload = tables_of_128();
  const CostModels tables = networks();
  BOOST_TEST(must(tables.info()).dense_model.size == 0u);
  const CostModels models = must(tables.of_steps(dcn()));
  const neuroshard_cost_models_info info = must(models.info());
  BOOST_TEST(detail::view(info.dense_model) == "dcn.json");
  BOOST_TEST(info.dense_model_sha256.size == 64u);
  BOOST_TEST(detail::view(info.dense_hardware).starts_with("H100-80G, "));

  constexpr std::int64_t kEvaluations = 30'000;  // enough for luck to matter little
  const Plan of_steps = plan_by(models, workload, 8, kEvaluations);
  BOOST_TEST(detail::view(of_steps.info().dense_model) == "dcn.json");
  BOOST_TEST(detail::view(of_steps.info().dense_model_sha256) ==
             detail::view(info.dense_model_sha256));
  const std::vector<double> dense = of_steps.dense_ms();
  const std::vector<DeviceCost> costs = of_steps.device_costs();
  BOOST_TEST_REQUIRE(dense.size() == 8u);
  double slowest = 0;
  for (std::size_t d = 0; d < dense.size(); ++d) {
    BOOST_TEST(dense[d] > 0);
    const double sum =
        costs[d].compute_ms + costs[d].forward_comm_ms + costs[d].backward_comm_ms + dense[d];
    BOOST_TEST(costs[d].total_ms == sum, boost::test_tools::tolerance(1e-6));
    slowest = std::max(slowest, costs[d].total_ms);
  }
  BOOST_TEST(of_steps.cost_ms() == slowest);

  const Plan alone = plan_by(tables, workload, 8, kEvaluations);
  BOOST_TEST(alone.dense_ms() == std::vector<double>(8, 0.0), boost::test_tools::per_element());
  const Plan same = must(must(Planner::create(models)).simulate(workload, alone));
  BOOST_TEST(of_steps.cost_ms() <=
             1.001 * same.cost_ms());  // short searches, with luck of their own
  BOOST_TEST(same.cost_ms() > alone.cost_ms());
}

BOOST_AUTO_TEST_CASE(a_plan_file_keeps_them) {
  const Workload workload = tables_of_128();
  const CostModels models = must(networks().of_steps(dcn("H100-80G+cluster")));
  const Plan plan = plan_by(models, workload);
  const Plan read = must(Plan::parse(must(plan.export_as(workload)), "plan.json"));
  BOOST_TEST(read.dense_ms() == plan.dense_ms(), boost::test_tools::per_element());
  BOOST_TEST(detail::view(read.info().dense_hardware) == "H100-80G, cluster");
}

BOOST_AUTO_TEST_CASE(a_step_comes_apart_by_phase) {
  const Workload workload = tables_of_128();
  const Plan plan = plan_by(networks(), workload);
  const std::string file = must(plan.iteration(workload, dcn()));
  BOOST_TEST(file.find("\"neuroshard-iteration\"") != std::string::npos);
  const double step = number_of(file, "iteration_ms");
  BOOST_TEST(step > number_of(file, "lookup_forward_ms"));
  BOOST_TEST(step < number_of(file, "sum_ms"));
  BOOST_TEST(number_of(file, "devices") == 8);
  BOOST_TEST(must(plan.iteration(workload, dcn())) == file);
  const std::string slower = must(plan.iteration(workload, dcn("A100-80G")));
  BOOST_TEST(number_of(slower, "iteration_ms") > step);
  // Of more devices than a host has, hosts are those of the plan.
  const Plan wide = plan_by(networks(), workload, 16);
  BOOST_TEST(number_of(must(wide.iteration(workload, dcn())), "devices_per_host") == 8);
}

BOOST_AUTO_TEST_CASE(models_of_measured_hardware_need_a_profile) {
  const Workload workload = tables_of_128();
  const Plan plan = whole_tables(workload, 8);
  const auto says = [](const auto& result, std::string_view words) {
    BOOST_TEST_REQUIRE(!result);
    BOOST_TEST(result.error().status == NEUROSHARD_INVALID_INPUT);
    BOOST_TEST((result.error().message.find(words) != std::string::npos), result.error().message);
    BOOST_TEST((result.error().message.find('\n') == std::string::npos));
  };
  says(plan.iteration(workload, dcn()), "model.profile: found none");
  says(plan.iteration(workload, dcn("H999")), "model.profile: ");
  says(networks().of_steps(dcn("H999")), "model.profile: ");
  says(networks("torchrec").of_steps(dcn()), "torchrec adds up all that a device does");
  says(networks().of_steps({.bytes = "{}", .source = "m.json"}), "m.json");
  const Plan other = must(Plan::create(8, 4096, plan.shards()));
  says(other.iteration(workload, dcn("H100-80G")), "batch");
  // The dot products of embeddings want one width, which is heard where tables are there.
  constexpr std::string_view kDot =
      R"({"format": "neuroshard-model", "version": 1, "dense_features": 13, "bottom": [64],
          "interaction": {"kind": "dot"}, "top": [1], "precision": "fp32", "optimizer": "sgd"})";
  const Planner planner =
      must(Planner::create(must(networks().of_steps({.bytes = kDot, .source = "dot.json"}))));
  says(planner.plan(workload, cluster_of(8), {.evaluations = 10, .threads = 1}), "dot.json");
}

BOOST_AUTO_TEST_CASE(wrong_arguments_and_callers_of_older_headers) {
  const ErrorHandle error;
  const Workload workload = tables_of_128();
  const Plan plan = plan_by(networks(), workload);
  double few = 0;
  EXPECT_REFUSED(neuroshard_plan_get_dense_ms(plan.get(), &few, 1, error.handle),
                 "capacity: found 1, expected at least 8");
  EXPECT_REFUSED(neuroshard_plan_get_dense_ms(nullptr, &few, 1, error.handle), "plan: found NULL");
  neuroshard_cost_models* models = nullptr;
  EXPECT_REFUSED(neuroshard_cost_models_of_steps(networks().get(), nullptr, &models, error.handle),
                 "model: found NULL");
  neuroshard_dense_model broken = dcn().c_struct();
  broken.bytes.data = nullptr;
  EXPECT_REFUSED(neuroshard_cost_models_of_steps(networks().get(), &broken, &models, error.handle),
                 "model.bytes: found NULL");
  BOOST_TEST(models == nullptr);
  neuroshard_bytes* bytes = nullptr;
  const neuroshard_dense_model given = dcn().c_struct();
  EXPECT_REFUSED(neuroshard_plan_iteration(plan.get(), nullptr, &given, &bytes, error.handle),
                 "workload: found NULL");
  BOOST_TEST(bytes == nullptr);
  neuroshard_plan_info older{};
  older.struct_size = offsetof(neuroshard_plan_info, dense_model);
  BOOST_TEST(neuroshard_plan_get_info(plan.get(), &older, error.handle) == NEUROSHARD_OK);
  BOOST_TEST(older.dense_model.size == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
