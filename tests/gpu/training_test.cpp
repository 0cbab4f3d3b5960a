// The GPU's training backend against the scalar reference: each operation on random shapes, then
// whole training runs.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "cuda/training/training_backend.h"
#include "nn/dense_stack.h"
#include "nn/device_array.h"
#include "tests/nn/backends.h"
#include "tests/support/sanitized.h"

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

/// `tolerance(i)` is of value i.
template <typename Tolerance>
void check_each(const Values& found, const Values& expected, const Tolerance& tolerance) {
  BOOST_REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::fabs(found[i] - expected[i]) < tolerance(i)) continue;
    BOOST_FAIL("at " << i << ": " << found[i] << ", expected " << expected[i]);
  }
}

/// Sums in another order: a few units in the last place of the sum of magnitudes.
void check_close(const Values& found, const Values& expected, const Values& scale) {
  check_each(found, expected, [&](std::size_t i) { return 4e-6 * (1e-3 + std::fabs(scale[i])); });
}

void check_within(const Values& found, const Values& expected, float tolerance) {
  check_each(found, expected, [&](std::size_t) { return tolerance; });
}

/// `what` names the values when they differ.
void check_bits(const Values& found, const Values& expected, const std::string& what) {
  std::vector<std::size_t> differ;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (found[i] != expected[i]) differ.push_back(i);
  }
  if (differ.empty()) return;
  BOOST_ERROR(what << ": " << differ.size() << " of " << expected.size() << " values differ, from "
                   << differ.front() << " to " << differ.back() << "; the first: "
                   << found[differ.front()] << ", then " << expected[differ.front()]);
}

struct Shape {
  std::int64_t rows;
  DenseSpec spec;
};

struct Layer {
  Values x, weight, bias, dy;
};

/// y, dweight, dbias, dx of one layer.
std::vector<Values> run_layer(const Backend& backend, const Shape& shape, const Layer& layer) {
  const auto x = on(backend, layer.x);
  const auto weight = on(backend, layer.weight);
  const auto bias = on(backend, layer.bias);
  const auto dy = on(backend, layer.dy);
  auto y = on(backend, Values(layer.dy.size(), 77.0F));
  auto dweight = on(backend, layer.weight);
  auto dbias = on(backend, layer.bias);
  auto dx = on(backend, Values(layer.x.size(), 77.0F));
  backend.run(DenseForward{shape.rows, shape.spec, x.data(), weight.data(), bias.data(), y.data()});
  backend.run(DenseBackward{shape.rows, shape.spec, x.data(), weight.data(), dy.data(),
                            dweight.data(), dbias.data(), Activation::kRelu, dx.data()});
  return {values_of(y, layer.dy.size()), values_of(dweight, layer.weight.size()),
          values_of(dbias, layer.bias.size()), values_of(dx, layer.x.size())};
}

SetNetworkSpec network(int inputs, int hidden, int outputs) {
  const int head[] = {inputs, hidden, outputs};
  return {{}, dense_stack(head, Activation::kNone)};
}

SetNetworkSpec paper_network() {
  const int encoder[] = {20, 128, 32};
  const int head[] = {32, 64, 1};
  return {dense_stack(encoder, Activation::kRelu), dense_stack(head, Activation::kNone)};
}

/// An index that says row 0, in the memory of each backend.
DeviceArray<std::int32_t>& first_row(const Backend& backend) {
  // Never freed: at the end of the program the driver is gone before statics are.
  static auto& known = *new std::map<const Backend*, DeviceArray<std::int32_t>>;
  auto found = known.find(&backend);
  if (found == known.end()) {
    found = known.emplace(&backend, on(backend, std::vector<std::int32_t>{0})).first;
  }
  return found->second;
}

struct TrainingRun {
  std::vector<double> losses;
  Values outputs;
};

/// Every fourth step is of another size, as the last batch of an epoch is. Twelve steps have both
/// issued, captured and replayed.
constexpr int kSteps = test::unless_sanitized(30, 12);
constexpr int kBatch = test::unless_sanitized(200, 24);
constexpr int kLastBatch = test::unless_sanitized(30, 10);
constexpr int kSamples = test::unless_sanitized(300, 40);

TrainingRun train(const Backend& backend, const SetNetworkSpec& spec) {
  Rng rng(3);
  const Values features = random_values(rng, std::int64_t{40} * spec.inputs());
  const SetSamples samples = random_samples(spec, 40, kSamples, 0, rng);
  auto trainer = Trainer::create(backend, nullptr, spec, features);
  BOOST_REQUIRE(trainer.ok());
  BOOST_REQUIRE(trainer->start(random_parameters(spec, rng)).ok());
  TrainingRun run;
  for (int step = 0; step < kSteps; ++step) {
    const int size = step % 4 == 3 ? kLastBatch : kBatch;
    std::vector<std::int32_t> batch;
    for (int i = 0; i < size; ++i) batch.push_back((step * 37 + i) % kSamples);
    StepOptions options;
    options.rate = 1e-3F / static_cast<float>(1 + step / 4);
    options.decay = 0.01F;
    options.average = warmed_average(0.9, step);
    BOOST_REQUIRE(trainer->step(samples, batch, options).ok());
    run.losses.push_back(trainer->take_loss().value() / size);
  }
  run.outputs.resize(kSamples * static_cast<std::size_t>(spec.outputs()));
  BOOST_REQUIRE(
      trainer->predict(samples, first_ids(kSamples), Trainer::Weights::kAverage, run.outputs).ok());
  return run;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(training)

BOOST_AUTO_TEST_CASE(dense_layers_agree_with_the_reference) {
  Rng rng(1);
  std::vector<Shape> shapes;
  for (const auto& [inputs, outputs] :
       {std::pair{20, 128}, {22, 128}, {128, 32}, {32, 64}, {64, 1}, {16, 8}, {5, 7}, {1, 1}}) {
    for (const std::int64_t rows : {1, 63, 512, test::unless_sanitized(4000, 700)}) {
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
    BOOST_TEST_CONTEXT(shape.rows << " rows, " << shape.spec.inputs << " -> "
                                  << shape.spec.outputs) {
      const auto found = run_layer(gpu(), shape, layer);
      const auto expected = run_layer(reference, shape, layer);
      const auto scale = run_layer(reference, shape, absolute);
      for (std::size_t k = 0; k < found.size(); ++k) check_close(found[k], expected[k], scale[k]);
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

BOOST_AUTO_TEST_CASE(gradients_through_a_relu_agree_with_the_reference) {
  Rng rng(4);
  for (const int hidden : {128, 64, 32, 24, 7}) {  // whole and part columns of a mask
    const SetNetworkSpec spec = network(20, hidden, 12);
    const std::int64_t rows = test::unless_sanitized(300, 70);
    const Values x = random_values(rng, rows * 20);
    const Values parameters = random_parameters(spec, rng);
    const Values dy = random_values(rng, rows * 12);
    std::vector<Values> gradients;
    for (const Backend* backend : {&cpu_backend(Isa::kScalar), &gpu()}) {
      const auto input = on(*backend, x);
      const auto weights = on(*backend, parameters);
      const auto slope = on(*backend, dy);
      auto gradient = on(*backend, Values(parameters.size(), 77.0F));
      DenseStack stack(*backend, spec.head);
      BOOST_REQUIRE(stack.reserve(rows, true).ok());
      Values once;
      for (int repeat = 0; repeat < 4; ++repeat) {  // issued, captured, replayed
        stack.forward(weights.data(), rows, input.data());
        backend->run(GatherRows{1, static_cast<int>(rows) * 12, first_row(*backend).data(),
                                slope.data(), stack.output_gradient()});
        stack.backward(weights.data(), rows, input.data(), gradient.data(), nullptr);
        const Values now = values_of(gradient, parameters.size());
        if (repeat > 0)
          check_bits(now, once,
                     std::to_string(hidden) + " hidden values, repeat " + std::to_string(repeat));
        once = now;
      }
      gradients.push_back(once);
    }
    BOOST_TEST_CONTEXT(hidden << " hidden values") {
      check_within(gradients[1], gradients[0], 2e-4F);
    }
  }
}

BOOST_AUTO_TEST_CASE(layers_of_one_output_need_no_product) {
  Rng rng(7);
  const auto backend = cuda::make_training_backend({.graphs = false});
  BOOST_REQUIRE(backend.ok());
  for (const int outputs : {1, 8}) {
    const Shape shape{63, {32, outputs, Activation::kRelu}};
    const Layer layer{random_values(rng, shape.rows * 32), random_values(rng, 32 * outputs),
                      random_values(rng, outputs), random_values(rng, shape.rows * outputs)};
    run_layer(**backend, shape, layer);
    BOOST_TEST((*backend)->counts().products.empty() == (outputs == 1));
  }
}

BOOST_AUTO_TEST_CASE(steps_are_replayed_while_the_average_warms_up) {
  const auto eager = cuda::make_training_backend({.graphs = false});
  const auto graphs = cuda::make_training_backend({.graphs = true});
  BOOST_REQUIRE(eager.ok());
  BOOST_REQUIRE(graphs.ok());
  const TrainingRun expected = train(**eager, small_dense_network());
  const TrainingRun found = train(**graphs, small_dense_network());
  BOOST_TEST(found.losses == expected.losses, boost::test_tools::per_element());
  BOOST_TEST(found.outputs == expected.outputs, boost::test_tools::per_element());
  BOOST_TEST((*graphs)->counts().replayed > (*graphs)->counts().issued);
}

BOOST_AUTO_TEST_CASE(whole_runs_have_the_references_losses_and_repeat_bit_for_bit) {
  const auto eager = cuda::make_training_backend({.graphs = false});
  const auto graphs = cuda::make_training_backend({.graphs = true});
  BOOST_REQUIRE(eager.ok());
  BOOST_REQUIRE(graphs.ok());
  for (const SetNetworkSpec& spec : {small_set_network(), small_dense_network(), paper_network()}) {
    std::vector<TrainingRun> runs;
    for (const Backend* backend :
         {&cpu_backend(Isa::kScalar), static_cast<const Backend*>(&**eager),
          static_cast<const Backend*>(&**graphs), static_cast<const Backend*>(&**graphs)}) {
      runs.push_back(train(*backend, spec));
    }
    for (std::size_t step = 0; step < runs[0].losses.size(); ++step) {
      BOOST_TEST(runs[1].losses[step] == runs[0].losses[step], boost::test_tools::tolerance(1e-3));
    }
    check_within(runs[1].outputs, runs[0].outputs, 2e-3F);
    for (const std::size_t again : {2, 3}) {  // graphs, twice: the stream's bits
      BOOST_TEST(runs[again].losses == runs[1].losses, boost::test_tools::per_element());
      BOOST_TEST(runs[again].outputs == runs[1].outputs, boost::test_tools::per_element());
    }
  }
  const cuda::TrainingCounts counts = (*graphs)->counts();
  BOOST_TEST_MESSAGE("lists issued " << counts.issued << ", captured " << counts.captured
                                     << ", replayed " << counts.replayed << ", refused "
                                     << counts.refused);
  BOOST_TEST(counts.refused == 0);
  BOOST_TEST(counts.captured > 0);
  BOOST_TEST(counts.replayed > counts.captured);
  BOOST_TEST((*eager)->counts().captured == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::nn
