// Hand-written backward passes against finite differences. The functions are evaluated by plain
// loops in double, written apart from the backends, so a mistake in a formula cannot hide in both.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "nn/dense_stack.h"
#include "nn/set_network.h"
#include "tests/nn/backends.h"

namespace neuroshard::nn {
namespace {

using Doubles = std::vector<double>;

// Slope of f at values[i] by central differences, or nothing where two step sizes disagree: there
// a ReLU opens or closes between them.
struct Slope {
  double value;
  bool kink;
};

Slope numeric_slope(const std::function<double(const Doubles&)>& f, Doubles values, std::size_t i) {
  const auto central = [&](double h) {
    const double middle = values[i];
    values[i] = middle + h;
    const double up = f(values);
    values[i] = middle - h;
    const double down = f(values);
    values[i] = middle;
    return (up - down) / (2 * h);
  };
  const double wide = central(1e-4);
  const double narrow = central(2.5e-5);
  return {narrow, std::fabs(wide - narrow) > 1e-5 * (1 + std::fabs(narrow))};
}

// The slopes of f by every value at `at`.
std::vector<Slope> numeric_slopes(const std::function<double(const Doubles&)>& f,
                                  const std::vector<float>& at) {
  const Doubles values(at.begin(), at.end());
  std::vector<Slope> slopes;
  for (std::size_t i = 0; i < values.size(); ++i) slopes.push_back(numeric_slope(f, values, i));
  return slopes;
}

// Checks `gradient` value by value. Few kinks are allowed, so that none go unseen.
void check_gradient(const std::vector<Slope>& slopes, const std::vector<float>& gradient) {
  BOOST_REQUIRE(gradient.size() == slopes.size());
  std::size_t kinks = 0;
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    const Slope& slope = slopes[i];
    if (slope.kink) {
      ++kinks;
      continue;
    }
    BOOST_REQUIRE_MESSAGE(
        std::fabs(gradient[i] - slope.value) <= 2e-5 * (1 + std::fabs(slope.value)),
        "at " << i << ": " << gradient[i] << ", expected " << slope.value);
  }
  BOOST_TEST(kinks <= 1 + slopes.size() / 20);
}

Doubles dense(const DenseSpec& spec, const double* weight, const Doubles& x) {
  const auto inputs = static_cast<std::size_t>(spec.inputs);
  const auto outputs = static_cast<std::size_t>(spec.outputs);
  const double* bias = weight + inputs * outputs;
  Doubles y;
  for (std::size_t row = 0; row < x.size() / inputs; ++row) {
    for (std::size_t o = 0; o < outputs; ++o) {
      double sum = bias[o];
      for (std::size_t i = 0; i < inputs; ++i) sum += weight[o * inputs + i] * x[row * inputs + i];
      y.push_back(spec.activation == Activation::kRelu ? std::max(sum, 0.0) : sum);
    }
  }
  return y;
}

Doubles stack(const std::vector<DenseSpec>& layers, const double* parameters, Doubles x) {
  for (const DenseSpec& layer : layers) {
    x = dense(layer, parameters, x);
    parameters += parameter_count(layer);
  }
  return x;
}

double network_loss(const SetNetworkSpec& spec, const Doubles& parameters,
                    const SetSamples& samples, const std::vector<float>& features,
                    const LossSpec& loss) {
  const auto inputs = static_cast<std::size_t>(spec.inputs());
  const auto width = static_cast<std::size_t>(spec.head.front().inputs);
  double total = 0;
  for (std::size_t s = 0; s < static_cast<std::size_t>(samples.size()); ++s) {
    Doubles sum(width);
    for (std::int64_t k = samples.offsets[s]; k < samples.offsets[s + 1]; ++k) {
      const auto row = static_cast<std::size_t>(samples.members[static_cast<std::size_t>(k)]);
      Doubles x(features.begin() + static_cast<std::ptrdiff_t>(row * inputs),
                features.begin() + static_cast<std::ptrdiff_t>((row + 1) * inputs));
      if (!spec.encoder.empty()) x = stack(spec.encoder, parameters.data(), x);
      for (std::size_t j = 0; j < width; ++j) sum[j] += x[j];
    }
    const Doubles out = stack(spec.head, parameters.data() + parameter_count(spec.encoder), sum);
    for (std::size_t o = 0; o < out.size(); ++o) {
      total += loss_at(loss, out[o], samples.targets[s * out.size() + o]).value;
    }
  }
  return total;
}

// Gradient of the summed loss as the trainer computes it, by SetNetwork and the Loss operation.
std::vector<float> network_gradient(const Backend& backend, const SetNetworkSpec& spec,
                                    const std::vector<float>& parameters, const SetSamples& samples,
                                    const std::vector<float>& features, const LossSpec& loss) {
  const auto members = static_cast<std::int64_t>(samples.members.size());
  std::vector<float> x(static_cast<std::size_t>(members * spec.inputs()));
  backend.run(
      GatherRows{members, spec.inputs(), samples.members.data(), features.data(), x.data()});
  const std::vector<std::int32_t> offsets(samples.offsets.begin(), samples.offsets.end());
  SetNetwork network(backend, spec);
  BOOST_REQUIRE(network.reserve(samples.size(), members, true).ok());
  const SetBatch batch{samples.size(), members, offsets.data(), x.data()};
  const float* prediction = network.forward(parameters.data(), batch);
  double sum = 0;
  backend.run(Loss{samples.size() * spec.outputs(), loss, prediction, samples.targets.data(), 1.0,
                   network.output_gradient(), &sum});
  std::vector<float> gradient(parameters.size(), 9.0f);
  network.backward(parameters.data(), batch, gradient.data());
  const Doubles exact(parameters.begin(), parameters.end());
  BOOST_TEST(sum == network_loss(spec, exact, samples, features, loss),
             boost::test_tools::tolerance(1e-5));
  return gradient;
}

void check_network(const SetNetworkSpec& spec, std::uint64_t seed, int least,
                   const LossSpec& loss) {
  Rng rng(seed);
  const std::vector<float> features = random_values(rng, std::int64_t{12} * spec.inputs());
  const std::vector<float> parameters = random_parameters(spec, rng);
  const SetSamples samples = random_samples(spec, 12, 6, least, rng);
  const auto f = [&](const Doubles& p) { return network_loss(spec, p, samples, features, loss); };
  const std::vector<Slope> slopes = numeric_slopes(f, parameters);
  for (const Backend* backend : usable_backends()) {
    check_gradient(slopes, network_gradient(*backend, spec, parameters, samples, features, loss));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(gradient)

BOOST_AUTO_TEST_CASE(of_a_dense_layer_by_weights_and_inputs) {
  for (const Backend* backend : usable_backends()) {
    Rng rng(5);
    for (const Activation activation : {Activation::kNone, Activation::kRelu}) {
      const DenseSpec spec{5, 7, activation};
      const std::vector<float> parameters =
          random_values(rng, static_cast<std::int64_t>(parameter_count(spec)));
      const std::vector<float> x = random_values(rng, 4 * 5);
      const std::vector<float> dy = random_values(rng, 4 * 7);
      const auto loss = [&](const Doubles& p, const Doubles& in) {
        const Doubles y = dense(spec, p.data(), in);
        return std::inner_product(y.begin(), y.end(), dy.begin(), 0.0);
      };
      DenseStack layer(*backend, {spec});
      BOOST_REQUIRE(layer.reserve(4, true).ok());
      layer.forward(parameters.data(), 4, x.data());
      std::copy(dy.begin(), dy.end(), layer.output_gradient());
      std::vector<float> d_parameters(parameters.size());
      std::vector<float> dx(x.size());
      layer.backward(parameters.data(), 4, x.data(), d_parameters.data(), dx.data());
      const Doubles exact_p(parameters.begin(), parameters.end());
      const Doubles exact_x(x.begin(), x.end());
      const auto by_weights = [&](const Doubles& p) { return loss(p, exact_x); };
      const auto by_inputs = [&](const Doubles& in) { return loss(exact_p, in); };
      check_gradient(numeric_slopes(by_weights, parameters), d_parameters);
      check_gradient(numeric_slopes(by_inputs, x), dx);
    }
  }
}

BOOST_AUTO_TEST_CASE(of_the_sum_over_a_set) {
  for (const Backend* backend : usable_backends()) {
    Rng rng(6);
    const std::vector<std::int32_t> offsets{0, 3, 3, 4, 8};
    const std::vector<float> dy = random_values(rng, 4 * 3);
    std::vector<float> dx(10 * 3, 7.0f);
    backend->run(SegmentSumBackward{4, 3, offsets.data(), dy.data(), dx.data(), 10});
    for (std::size_t i = 8 * 3; i < dx.size(); ++i) BOOST_TEST(dx[i] == 0.0f);  // of no segment
    dx.resize(8 * 3);
    const auto f = [&](const Doubles& x) {
      double total = 0;
      for (std::size_t s = 0; s < 4; ++s) {
        for (auto i = static_cast<std::size_t>(offsets[s]);
             i < static_cast<std::size_t>(offsets[s + 1]); ++i) {
          for (std::size_t j = 0; j < 3; ++j) total += x[i * 3 + j] * dy[s * 3 + j];
        }
      }
      return total;
    };
    check_gradient(numeric_slopes(f, random_values(rng, 8 * 3)), dx);
  }
}

BOOST_AUTO_TEST_CASE(of_every_loss) {
  for (const LossKind kind : {LossKind::kSquared, LossKind::kHuber, LossKind::kLogCosh,
                              LossKind::kRelative, LossKind::kSquaredOverTarget}) {
    const LossSpec spec{kind, 0.7f};
    for (const double target : {0.1, -2.0, 3.0}) {
      // Both sides of Huber's corner, none on it.
      for (double error = -2.03; error < 2; error += 0.101) {
        const auto f = [&](const Doubles& p) { return loss_at(spec, p[0], target).value; };
        const Slope slope = numeric_slope(f, {target + error}, 0);
        BOOST_TEST(!slope.kink);
        const double found = loss_at(spec, target + error, target).slope;
        BOOST_TEST(std::fabs(found - slope.value) <= 1e-6 * (1 + std::fabs(found)));
      }
      BOOST_TEST(loss_at(spec, target, target).value == 0.0);
    }
  }
}

BOOST_AUTO_TEST_CASE(of_the_whole_set_network_with_every_loss_and_ragged_sets) {
  for (const LossKind kind : {LossKind::kSquared, LossKind::kHuber, LossKind::kLogCosh,
                              LossKind::kRelative, LossKind::kSquaredOverTarget}) {
    check_network(small_set_network(), 10, 1, {kind, 0.5f});
    check_network(small_set_network(), 11, 0, {kind, 0.5f});  // with empty sets
  }
}

BOOST_AUTO_TEST_CASE(of_the_whole_dense_network) {
  check_network(small_dense_network(), 12, 1, {LossKind::kSquared, 1.0f});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::nn
