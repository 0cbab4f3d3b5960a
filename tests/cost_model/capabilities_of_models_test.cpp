// What cost models say that they know, and that they do what they say.
#include <boost/test/unit_test.hpp>
#include <string>

#include "engine/core/rng.h"
#include "engine/cost_model/capabilities.h"
#include "engine/cost_model/capability_words.h"
#include "engine/cost_model/check_plan.h"
#include "engine/cost_model/make_evaluator.h"
#include "engine/cost_model/shipped_models.h"
#include "tests/cost_model/random_models.h"
#include "tests/cost_model/torchrec_example.h"

namespace neuroshard::test {

BOOST_AUTO_TEST_SUITE(capabilities_of_models)

BOOST_AUTO_TEST_CASE(networks_know_what_they_were_trained_on) {
  Rng rng(1);
  CostModels models = random_models(4, rng);
  models.batch_size = 4096;
  const Capabilities four = capabilities(models);
  BOOST_TEST(four.only_devices == 4);
  BOOST_TEST(four.max_devices == 0);
  BOOST_TEST(four.min_batch_size == 4096);
  BOOST_TEST(four.max_batch_size == 4096);
  BOOST_TEST((four.row_splits == RowSplits::kOff));
  models = random_pooled_models(rng);
  models.min_batch_size = 1024;
  models.comm->min_devices = 2;
  models.comm->max_devices = 64;
  models.compute->row_parts = 8;
  const Capabilities any = capabilities(models);
  BOOST_TEST(any.only_devices == 0);
  BOOST_TEST(any.min_devices == 2);
  BOOST_TEST(any.max_devices == 64);
  BOOST_TEST(any.min_batch_size == 1024);
  BOOST_TEST((any.row_splits == RowSplits::kAny));
  BOOST_TEST(any.row_parts == 8);
  BOOST_TEST(!any.hosts);
}

/// A half that is missing is none that limits.
BOOST_AUTO_TEST_CASE(models_without_a_half_say_what_the_other_knows) {
  Rng rng(2);
  CostModels models = random_models(4, rng);
  models.compute.reset();
  BOOST_TEST(capabilities(models).only_devices == 4);
  BOOST_TEST(capabilities(models).row_parts == 1);
  models = random_models(4, rng);
  models.comm.reset();
  BOOST_TEST(capabilities(models).only_devices == 0);
}

BOOST_AUTO_TEST_CASE(the_formula_knows_its_hosts_and_bandwidths) {
  NamedCostModels formula = load_shipped_models(std::string(kTorchRecCostModel)).value();
  BOOST_TEST(capabilities(formula.models).hosts);
  BOOST_TEST(capabilities(formula.models).fused_is_fastest);
  BOOST_TEST(capabilities(formula.models).settable_bandwidths);
  BOOST_TEST((capabilities(formula.models).row_splits == RowSplits::kEven));
  set_bandwidths({.device_gbps = 1, .host_memory_gbps = 32}, formula);
  BOOST_TEST(!capabilities(formula.models).fused_is_fastest);
}

/// Each shipped model is held to its word.
BOOST_AUTO_TEST_CASE(evaluators_do_what_their_models_say) {
  const Workload workload = example();
  for (std::size_t index = 0; index < shipped_model_count(); ++index) {
    const std::string name(shipped_model_name(index));
    BOOST_TEST_CONTEXT(name) {
      const CostModels models = load_shipped_models(name).value().models;
      const Capabilities known = capabilities(models);
      const std::int32_t devices = known.only_devices > 0 ? known.only_devices : 2;
      const auto evaluator = make_evaluator(models, workload, devices);
      BOOST_REQUIRE(evaluator.ok());
      BOOST_TEST((*evaluator)->additive() == known.additive);
      Workload sequences = workload;
      sequences.tables[0].pooled = false;
      BOOST_TEST(make_evaluator(models, sequences, devices).ok() == known.sequences);
      Plan offloaded{.devices = devices,
                     .shards = {{0, 0, 1000, 0, 128, 0, {ComputeKernel::kFusedUvm, 0}},
                                {1, 0, 500, 0, 64, 0},
                                {2, 0, 100, 0, 16, 0}}};
      BOOST_TEST(check_plan(models, workload, offloaded, 0).ok() == known.host_memory);
      Plan replica{.devices = devices, .shards = {{1, 0, 500, 0, 64, 0}, {2, 0, 100, 0, 16, 0}}};
      replica.shards.push_back({0, 0, 1000, 0, 128, kEveryDevice});
      BOOST_TEST(check_plan(models, workload, replica, 0).ok() == known.replicas);
    }
  }
}

BOOST_AUTO_TEST_CASE(kernels_cost_what_the_evaluator_says) {
  const CostModels models = torchrec();
  const Workload workload = example();
  const TableKernel cached{ComputeKernel::kFusedUvmCaching, 0.25};
  const auto kernels = make_kernel_costs(models, workload, 2);
  const auto evaluator = make_evaluator(models, workload, 2).value();
  for (std::size_t index = 0; index < workload.tables.size(); ++index) {
    const Table& table = workload.tables[index];
    ShardShape shape{static_cast<std::int32_t>(index), table.rows, table.dim, 0};
    if (index == 1) shape.kernel = cached;
    BOOST_TEST(kernels->shard_ms(table, shape) == evaluator->shape_cost(evaluator->intern(shape)));
  }
  BOOST_TEST(kernels->bandwidth_of(1, cached) < kernels->bandwidth_of(1, {}));
}

BOOST_AUTO_TEST_CASE(words_name_the_model) {
  BOOST_TEST(lacks_host_memory("mine") == "mine knows no tables in host memory");
  BOOST_TEST(torchrec_alone("goes by it") == "the cost model torchrec alone goes by it");
  BOOST_TEST(only_torchrec("counts") == "only the cost model torchrec counts");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::test
