// The GPU's training backend against the scalar reference: each operation on random shapes, then
// whole training runs.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "cuda/training_backend.h"
#include "nn/device_array.h"
#include "tests/nn/backends.h"

namespace neuroshard::nn {
namespace {

using Values = std::vector<float>;

const Backend& gpu() {
  const auto backend = cuda::training_backend();
  BOOST_REQUIRE_MESSAGE(backend.ok(), backend.status().message());
  return **backend;
}

template <typename T>
DeviceArray<T> on(const Backend& backend, const std::vector<T>& values) {
  DeviceArray<T> array(backend);
  BOOST_REQUIRE(array.reserve(std::max<std::size_t>(values.size(), 1)).ok());
  BOOST_REQUIRE(array.assign(values).ok());
  return array;
}

template <typename T>
std::vector<T> values_of(const DeviceArray<T>& array, std::size_t count) {
  std::vector<T> values(count);
  BOOST_REQUIRE(array.read(values).ok());
  return values;
}

Values magnitudes(Values values) {
  for (float& value : values) value = std::fabs(value);
  return values;
}

/// Sums in another order: a few units in the last place of the sum of magnitudes.
void check_close(const Values& found, const Values& expected, const Values& scale) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    BOOST_REQUIRE_MESSAGE(std::fabs(found[i] - expected[i]) <= 4e-6 * (1e-3 + std::fabs(scale[i])),
                          "at " << i << ": " << found[i] << ", expected " << expected[i]);
  }
}

struct Shape {
  std::int64_t rows;
  DenseSpec spec;
};

struct Layer {
  Values x, weight, bias, dy;
};

/// y, dweight, dbias, dx of one layer.
std::vector<Values> run_layer(const Backend& backend, const Shape& shape, const Layer& layer,
                              GradMode mode) {
  const auto x = on(backend, layer.x);
  const auto weight = on(backend, layer.weight);
  const auto bias = on(backend, layer.bias);
  const auto dy = on(backend, layer.dy);
  auto y = on(backend, Values(layer.dy.size(), 77.0F));
  auto dweight = on(backend, layer.weight);
  auto dbias = on(backend, layer.bias);
  auto dx = on(backend, Values(layer.x.size(), 77.0F));
  backend.run(DenseForward{shape.rows, shape.spec, x.data(), weight.data(), bias.data(), y.data()});
  backend.run(DenseBackward{shape.rows, shape.spec, x.data(), weight.data(), dy.data(), mode,
                            dweight.data(), dbias.data(), Activation::kRelu, dx.data()});
  return {values_of(y, layer.dy.size()), values_of(dweight, layer.weight.size()),
          values_of(dbias, layer.bias.size()), values_of(dx, layer.x.size())};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(training)

BOOST_AUTO_TEST_CASE(dense_layers_agree_with_the_reference) {
  Rng rng(1);
  std::vector<Shape> shapes;
  for (const auto& [inputs, outputs] :
       {std::pair{20, 128}, {22, 128}, {128, 32}, {32, 64}, {64, 1}, {16, 8}, {5, 7}, {1, 1}}) {
    for (const std::int64_t rows : {1, 63, 512, 4000}) {
      shapes.push_back({rows, {inputs, outputs, Activation::kRelu}});
    }
  }
  shapes.push_back({0, {8, 4, Activation::kNone}});
  shapes.push_back({100, {12, 16, Activation::kNone}});
  const Backend& reference = cpu_backend(Isa::kScalar);
  for (const Shape& shape : shapes) {
    const Layer layer{random_values(rng, shape.rows * shape.spec.inputs),
                      random_values(rng, std::int64_t{shape.spec.inputs} * shape.spec.outputs),
                      random_values(rng, shape.spec.outputs),
                      random_values(rng, shape.rows * shape.spec.outputs)};
    const Layer absolute{magnitudes(layer.x), magnitudes(layer.weight), magnitudes(layer.bias),
                         magnitudes(layer.dy)};
    for (const GradMode mode : {GradMode::kOverwrite, GradMode::kAccumulate}) {
      BOOST_TEST_CONTEXT(shape.rows << " rows, " << shape.spec.inputs << " -> "
                                    << shape.spec.outputs) {
        const auto found = run_layer(gpu(), shape, layer, mode);
        const auto expected = run_layer(reference, shape, layer, mode);
        const auto scale = run_layer(reference, shape, absolute, mode);
        for (std::size_t k = 0; k < found.size(); ++k) check_close(found[k], expected[k], scale[k]);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(every_loss_agrees_with_the_reference) {
  Rng rng(2);
  const Values prediction = random_values(rng, 1000);
  const Values target = random_values(rng, 1000);
  for (const LossKind kind : {LossKind::kSquared, LossKind::kHuber, LossKind::kLogCosh,
                              LossKind::kRelative, LossKind::kSquaredOverTarget}) {
    std::vector<Values> slopes;
    std::vector<double> sums;
    for (const Backend* backend : {&cpu_backend(Isa::kScalar), &gpu()}) {
      const auto p = on(*backend, prediction);
      const auto t = on(*backend, target);
      auto slope = on(*backend, Values(1000));
      auto sum = on(*backend, std::vector<double>{3});
      backend->run(Loss{1000, {kind, 0.3F}, p.data(), t.data(), 0.01, slope.data(), sum.data()});
      slopes.push_back(values_of(slope, 1000));
      sums.push_back(values_of(sum, 1)[0]);
    }
    BOOST_TEST_CONTEXT(to_string(kind)) {
      BOOST_TEST(sums[1] == sums[0], boost::test_tools::tolerance(1e-12));
      check_close(slopes[1], slopes[0], slopes[0]);
    }
  }
}

BOOST_AUTO_TEST_CASE(whole_runs_have_the_references_losses_and_repeat_bit_for_bit) {
  for (const SetNetworkSpec& spec : {small_set_network(), small_dense_network()}) {
    std::vector<std::vector<double>> losses;
    std::vector<Values> outputs;
    for (const Backend* backend : {&cpu_backend(Isa::kScalar), &gpu(), &gpu()}) {
      Rng rng(3);
      const Values features = random_values(rng, std::int64_t{40} * spec.inputs());
      const SetSamples samples = random_samples(spec, 40, 300, 0, rng);
      auto trainer = Trainer::create(*backend, nullptr, spec, features);
      BOOST_REQUIRE(trainer.ok());
      BOOST_REQUIRE(trainer->start(random_parameters(spec, rng)).ok());
      std::vector<double> run;
      for (int step = 0; step < 20; ++step) {
        std::vector<std::int32_t> batch;
        for (int i = 0; i < 200; ++i) batch.push_back((step * 37 + i) % 300);
        StepOptions options;
        options.decay = 0.01F;
        options.average = 0.9F;
        BOOST_REQUIRE(trainer->step(samples, batch, options).ok());
        run.push_back(trainer->take_loss().value() / 200);
      }
      losses.push_back(run);
      Values out(300 * static_cast<std::size_t>(spec.outputs()));
      BOOST_REQUIRE(
          trainer->predict(samples, first_ids(300), Trainer::Weights::kAverage, out).ok());
      outputs.push_back(out);
    }
    for (std::size_t step = 0; step < losses[0].size(); ++step) {
      BOOST_TEST(losses[1][step] == losses[0][step], boost::test_tools::tolerance(1e-3));
    }
    BOOST_TEST(losses[1] == losses[2], boost::test_tools::per_element());
    BOOST_TEST(outputs[1] == outputs[2], boost::test_tools::per_element());
    for (std::size_t i = 0; i < outputs[0].size(); ++i) {
      BOOST_REQUIRE_SMALL(outputs[1][i] - outputs[0][i], 2e-3F);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::nn
