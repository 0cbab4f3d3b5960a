// Several networks as one: it says what they would have said.
#include "nn/merge.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "engine/core/rng.h"

namespace neuroshard::nn {
namespace {

// Forward in double, layer by layer: nothing shared with the code under test.
std::vector<double> run(const Mlp& mlp, std::vector<double> values) {
  for (std::size_t k = 0; k < mlp.depth(); ++k) {
    const DenseSpec& layer = mlp.layer(k);
    std::vector<double> out;
    for (int o = 0; o < layer.outputs; ++o) {
      double sum = static_cast<double>(mlp.bias(k)[static_cast<std::size_t>(o)]);
      for (int i = 0; i < layer.inputs; ++i) {
        const auto at = static_cast<std::size_t>(o * layer.inputs + i);
        sum += static_cast<double>(mlp.weight(k)[at]) * values[static_cast<std::size_t>(i)];
      }
      out.push_back(layer.activation == Activation::kRelu ? std::max(0.0, sum) : sum);
    }
    values = std::move(out);
  }
  return values;
}

struct Networks {
  explicit Networks(Activation last) {
    Rng rng(11);
    const int widths[] = {5, 9, 6, 3};
    for (int n = 0; n < 3; ++n) {
      Mlp& mlp = all.emplace_back(dense_stack(widths, last));
      initialize(mlp, rng);
      for (float& parameter : mlp.parameters()) {
        parameter += 0.2f * static_cast<float>(rng.uniform() - 0.5);  // biases begin at 0
      }
    }
    for (int i = 0; i < 15; ++i) inputs.push_back(2 * rng.uniform() - 1);
  }

  [[nodiscard]] std::vector<double> part(std::size_t n) const {
    return {inputs.begin() + static_cast<std::ptrdiff_t>(5 * n),
            inputs.begin() + static_cast<std::ptrdiff_t>(5 * n + 5)};
  }

  std::vector<Mlp> all;
  std::vector<double> inputs;  // of all three, behind each other
};

}  // namespace

BOOST_AUTO_TEST_SUITE(merge)

BOOST_AUTO_TEST_CASE(side_by_side_each_says_what_it_said_of_the_shared_inputs) {
  const Networks networks(Activation::kRelu);
  const std::vector<double> merged = run(stack_side_by_side(networks.all), networks.part(0));
  BOOST_REQUIRE(merged.size() == 9);
  for (std::size_t n = 0; n < 3; ++n) {
    const std::vector<double> alone = run(networks.all[n], networks.part(0));
    for (std::size_t k = 0; k < 3; ++k) BOOST_TEST(std::abs(merged[3 * n + k] - alone[k]) < 1e-6);
  }
}

BOOST_AUTO_TEST_CASE(the_average_is_the_mean_of_what_they_say) {
  const Networks networks(Activation::kNone);
  const std::vector<double> shared = run(average_of(networks.all, false), networks.part(1));
  const std::vector<double> own = run(average_of(networks.all, true), networks.inputs);
  BOOST_REQUIRE(shared.size() == 3);
  BOOST_REQUIRE(own.size() == 3);
  for (std::size_t k = 0; k < 3; ++k) {
    double mean_shared = 0;
    double mean_own = 0;
    for (std::size_t n = 0; n < 3; ++n) {
      mean_shared += run(networks.all[n], networks.part(1))[k] / 3;
      mean_own += run(networks.all[n], networks.part(n))[k] / 3;
    }
    BOOST_TEST(std::abs(shared[k] - mean_shared) < 1e-6);
    BOOST_TEST(std::abs(own[k] - mean_own) < 1e-6);
  }
}

BOOST_AUTO_TEST_CASE(one_network_stays_what_it_is) {
  const Networks networks(Activation::kNone);
  const std::span<const Mlp> one(networks.all.data(), 1);
  BOOST_TEST(average_of(one, true).parameters() == networks.all[0].parameters(),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::nn
