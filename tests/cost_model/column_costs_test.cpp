// Costs of devices by columns against those by rows, to the bit, while tables go to them.
#include "engine/cost_model/column_costs.h"

#include <boost/test/unit_test.hpp>
#include <memory>
#include <vector>

#include "engine/core/rng.h"
#include "engine/cost_model/mlp_evaluator.h"
#include "engine/cost_model/shipped_models.h"
#include "engine/ground_truth/table_pool.h"

namespace neuroshard {

BOOST_AUTO_TEST_SUITE(column_costs)

BOOST_AUTO_TEST_CASE(devices_cost_the_same_by_columns_and_by_rows) {
  const CostModels models = load_shipped_models("h100_sim").value().models;
  GenerateOptions generate;
  generate.count = 120;
  const Workload workload = generate_tables(generate).value();
  for (const std::int32_t devices : {32, 45}) {
    for (const nn::IsaInfo& info : nn::isa_list()) {
      if (!info.supported()) continue;
      const auto evaluator = MlpEvaluator::create(models, workload, devices, info.isa).value();
      const std::unique_ptr<search::DeviceCosts> costs = evaluator->device_costs();
      if (costs == nullptr) continue;
      const std::size_t size = evaluator->state_size();
      const auto count = static_cast<std::size_t>(devices);
      Rng rng(1);
      for (int episode = 0; episode < 2; ++episode) {  // the second one begins anew
        AlignedVector<float> states(count * size);
        for (std::size_t d = 0; d < count; ++d) evaluator->clear(states.data() + d * size);
        costs->begin();
        std::vector<float> found(count);
        std::vector<float> expected(count);
        for (std::int32_t table = 0; table < 120; ++table) {
          const Table& own = workload.tables[static_cast<std::size_t>(table)];
          const search::ShapeId shape =
              evaluator->intern({.table = table, .rows = own.rows, .dim = own.dim});
          costs->costs_with(shape, states, found);
          evaluator->costs_with(shape, states, expected);
          BOOST_TEST(found == expected, info.name << ", table " << table);
          const std::size_t device = rng.below(count);
          evaluator->place(shape, states.data() + device * size);
          costs->change(device, states.data() + device * size);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
