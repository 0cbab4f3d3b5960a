// Networks of exchanges learn what they are shown, and what follows from it.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "engine/training/evaluate.h"
#include "engine/training/train.h"
#include "tests/training/quick_comm.h"
#include "tests/training/samples.h"

namespace neuroshard {

BOOST_AUTO_TEST_SUITE(exchange_training)

BOOST_AUTO_TEST_CASE(communication_of_one_device_count_with_either_network) {
  const CommDataset data = test::made_up_comm(500, 4, 9);
  for (const auto architecture :
       {CommArchitecture::kFixedDevices, CommArchitecture::kPooledDevices}) {
    const auto training = train_comm({&data, 1}, test::quick_comm(architecture), {});
    BOOST_REQUIRE_MESSAGE(training.ok(), training.status().message());
    BOOST_TEST(training->forward.test.mape < 0.1);
    BOOST_TEST(training->backward.test.mape < 0.1);
    BOOST_TEST(training->models.forward.mlp.outputs() ==
               (architecture == CommArchitecture::kFixedDevices ? 4 : 1));
  }
}

BOOST_AUTO_TEST_CASE(exchanges_of_one_size_teach_what_others_cost) {
  const auto exchanges = [](int samples, std::uint64_t seed, double scale) {
    CommDataset data = test::made_up_comm(samples, 4, seed);
    for (io::CommSample& sample : data.samples) {
      for (std::int64_t& dims : sample.dims) dims = std::llround(static_cast<double>(dims) * scale);
      for (double& ms : sample.starts_ms) ms *= scale;
      // Without the latency of 2 and 1 ms, so that costs are proportional.
      for (double& ms : sample.forward_ms) ms = (ms - 2) * scale;
      for (double& ms : sample.backward_ms) ms = (ms - 1) * scale;
    }
    return data;
  };
  const CommDataset data = exchanges(500, 9, 1);
  const auto training =
      train_comm({&data, 1}, test::quick_comm(CommArchitecture::kPooledDevices), {});
  BOOST_REQUIRE_MESSAGE(training.ok(), training.status().message());
  for (const double scale : {0.25, 16.0}) {
    const CommDataset other = exchanges(100, 10, scale);
    const CommMetrics metrics = evaluate_comm(training->models, {&other, 1}).value();
    BOOST_TEST_CONTEXT(scale) {
      BOOST_TEST(metrics.forward.mape < 0.02);
      BOOST_TEST(metrics.backward.mape < 0.02);
    }
  }
}

BOOST_AUTO_TEST_CASE(exchanges_of_the_same_tables_in_other_places_are_learned) {
  for (const std::int64_t more : {0, 40}) {
    CommDataset data = test::made_up_comm(500, 4, 9);
    Rng rng(1);
    for (io::CommSample& sample : data.samples) {
      // Of as many columns together, or nearly.
      std::int64_t left = 1920 + rng.between(0, more);
      for (std::int64_t& dims : sample.dims) {
        dims = &dims == &sample.dims.back() ? left : std::min(left, 4 * rng.between(40, 150));
        left -= dims;
      }
      const auto most =
          static_cast<double>(*std::max_element(sample.dims.begin(), sample.dims.end()));
      std::fill(sample.forward_ms.begin(), sample.forward_ms.end(), 0.1 + most / 1000);
      std::fill(sample.backward_ms.begin(), sample.backward_ms.end(), 0.1 + most / 1000);
    }
    const auto training =
        train_comm({&data, 1}, test::quick_comm(CommArchitecture::kPooledDevices), {});
    BOOST_REQUIRE_MESSAGE(training.ok(), training.status().message());
    const CommMetrics metrics = evaluate_comm(training->models, {&data, 1}).value();
    BOOST_TEST(metrics.forward.mape < 0.03);
    BOOST_TEST(metrics.backward.mape < 0.03);
  }
}

BOOST_AUTO_TEST_CASE(one_pooled_network_serves_several_device_counts_a_fixed_one_refuses) {
  const std::vector<CommDataset> data = {test::made_up_comm(300, 4, 10),
                                         test::made_up_comm(300, 8, 11)};
  const auto training = train_comm(data, test::quick_comm(CommArchitecture::kPooledDevices), {});
  BOOST_REQUIRE_MESSAGE(training.ok(), training.status().message());
  BOOST_TEST(training->models.min_devices == 4);
  BOOST_TEST(training->models.max_devices == 8);
  const CommDataset six = test::made_up_comm(100, 6, 12);  // a count it has never seen
  const auto metrics = evaluate_comm(training->models, {&six, 1});
  BOOST_REQUIRE(metrics.ok());
  BOOST_TEST(metrics->forward.mape < 0.02);
  BOOST_TEST(metrics->backward.mape < 0.02);

  BOOST_TEST(!train_comm(data, test::quick_comm(CommArchitecture::kFixedDevices), {}).ok());
  const auto fixed =
      train_comm({data.data(), 1}, test::quick_comm(CommArchitecture::kFixedDevices), {});
  BOOST_REQUIRE(fixed.ok());
  BOOST_TEST(!evaluate_comm(fixed->models, {&six, 1}).ok());
}

BOOST_AUTO_TEST_CASE(an_input_that_differs_for_some_members_only_is_scaled_for_them) {
  const std::vector<CommDataset> data = {test::made_up_comm(200, 4, 3),
                                         test::made_up_comm(1, 8, 4)};
  CommTrainOptions options = test::quick_comm(CommArchitecture::kPooledDevices);
  options.fit.members = 3;
  // The first member is judged by the one exchange of 8 devices, the others learn from it.
  const auto judged_by_it = [&] {
    const Split split = *split_samples(201, 0.8, 0.1, options.fit.seed);
    return std::count(split.validation.begin(), split.validation.end(), 200) > 0;
  };
  while (!judged_by_it()) ++options.fit.seed;
  const auto training = train_comm(data, options, {});
  BOOST_REQUIRE_MESSAGE(training.ok(), training.status().message());
  const CommDataset between = test::made_up_comm(50, 6, 5);
  BOOST_TEST(evaluate_comm(training->models, {&between, 1})->forward.mape < 0.15);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
