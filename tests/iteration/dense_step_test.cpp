#include "engine/iteration/dense_step.h"

#include <boost/test/unit_test.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "tests/iteration/dense_models.h"

namespace neuroshard {
namespace {

using test::dcnv2;
using test::some_rates;
using test::tables_of;

double gradient_bytes_of(const DenseStep& step) {
  double bytes = 0;
  for (const auto* part : {&step.top_backward, &step.interaction_backward, &step.bottom_backward}) {
    for (const DenseOperator& one : *part) bytes += one.gradient_bytes;
  }
  return bytes;
}

double ms_of(const std::vector<DenseOperator>& operators) {
  return std::accumulate(operators.begin(), operators.end(), 0.0,
                         [](double sum, const DenseOperator& one) { return sum + one.ms; });
}

double dense_ms(const DenseStep& step) {
  return ms_of(step.bottom_forward) + ms_of(step.interaction_forward) + ms_of(step.top_forward) +
         ms_of(step.top_backward) + ms_of(step.interaction_backward) + ms_of(step.bottom_backward) +
         ms_of(step.optimizer);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(dense_step)

BOOST_AUTO_TEST_CASE(mlperfs_model_has_its_parameters) {
  const DenseStep step = make_dense_step(dcnv2(), tables_of(26, 128), 6912, some_rates()).value();
  BOOST_TEST(step.parameters == 16'044'545);
  BOOST_TEST(gradient_bytes_of(step) == 2 * 16'044'545.0);
  BOOST_TEST(step.bottom_forward.size() == 3U);
  BOOST_TEST(step.interaction_forward.size() == 4U);  // side by side, three cross layers
  BOOST_TEST(step.top_forward.size() == 6U);          // and the loss
}

BOOST_AUTO_TEST_CASE(operations_are_those_of_three_passes) {
  // Nothing but operations, and multiprocessors so small that all are full.
  KernelRates rates = some_rates();
  rates.multiprocessors = 1;
  rates.dram_bytes_per_ms = rates.l2_bytes_per_ms = 1e30;
  rates.launch_ms = 0;
  DenseModel model = dcnv2();
  model.top = {1024, 1024, 512, 256};  // the last layer's one column would fill no tile
  model.dense_features = 128;          // and so would 13
  const double samples = 12800;
  const DenseStep step = make_dense_step(model, tables_of(26, 128), samples, rates).value();
  const double bottom = 128 * 512 + 512 * 256 + 256 * 128;
  const double products =
      3 * 2 * 3456.0 * 512 + 3456.0 * 1024 + 1024 * 1024 + 1024 * 512 + 512 * 256 + bottom;
  // Three passes, but for the gradient of the inputs, which nobody needs.
  const double flops = 2 * samples * (3 * products - 128 * 512);
  BOOST_TEST(dense_ms(step) == flops / rates.flops_per_ms, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(gradients_are_complete_from_the_top_down) {
  const DenseStep step = make_dense_step(dcnv2(), tables_of(26, 128), 6912, some_rates()).value();
  BOOST_TEST(step.top_backward.front().name == "loss");
  BOOST_TEST(step.top_backward[1].name == "top layer 5");
  BOOST_TEST(step.top_backward.back().name == "top layer 1");
  BOOST_TEST(step.bottom_backward.back().name == "bottom layer 1");
  BOOST_TEST(step.bottom_backward.back().kernels == 1);  // no gradient of the inputs
  BOOST_TEST(step.bottom_backward.front().kernels == 2);
}

BOOST_AUTO_TEST_CASE(dot_products_need_vectors_of_one_length) {
  DenseModel model = dcnv2();
  model.interaction = Interaction::kDot;
  const DenseStep step = make_dense_step(model, tables_of(26, 128), 6912, some_rates()).value();
  // The top network takes 27 * 26 / 2 products beside 128 columns.
  BOOST_TEST(step.top_backward.back().gradient_bytes == 2 * ((351 + 128) * 1024.0 + 1024));
  Workload other = tables_of(26, 128);
  other.tables[3].dim = 64;
  const Status status = make_dense_step(model, other, 6912, some_rates()).status();
  BOOST_TEST((status.code() == StatusCode::kInvalidInput));
  BOOST_TEST(status.message().find("table 3: found dim 64, expected the 128") == 0U);
}

BOOST_AUTO_TEST_CASE(one_vector_has_no_dot_products_and_a_step_nevertheless) {
  DenseModel model = dcnv2();
  model.interaction = Interaction::kDot;
  model.dense_features = 0;
  model.bottom.clear();
  const DenseStep step = make_dense_step(model, tables_of(1, 64), 6912, some_rates()).value();
  // The first layer has biases and no weights; the others are as ever.
  const DenseOperator& first = step.top_backward.back();
  BOOST_TEST(first.ms == 0);
  BOOST_TEST(first.kernels == 0);
  BOOST_TEST(first.gradient_bytes == 2 * 1024.0);
  BOOST_TEST(step.parameters ==
             1024 + (1024 + 1) * 1024.0 + (1024 + 1) * 512.0 + (512 + 1) * 256.0 + (256 + 1));
  const DenseStep two = make_dense_step(model, tables_of(2, 64), 6912, some_rates()).value();
  BOOST_TEST(dense_ms(step) > 0.5 * dense_ms(two));
  BOOST_TEST(dense_ms(step) < dense_ms(two));
}

BOOST_AUTO_TEST_CASE(states_of_the_optimizer_are_moved) {
  DenseModel model = dcnv2();
  double before = 0;
  for (const DenseOptimizer optimizer :
       {DenseOptimizer::kSgd, DenseOptimizer::kAdagrad, DenseOptimizer::kAdam}) {
    model.optimizer = optimizer;
    const DenseStep step = make_dense_step(model, tables_of(26, 128), 6912, some_rates()).value();
    BOOST_TEST(ms_of(step.optimizer) > before);
    before = ms_of(step.optimizer);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard
