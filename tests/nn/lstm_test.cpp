// Long short-term memory: values and gradients against plain loops in double, written apart from
// it, on every instruction set, and steps one by one against a whole sequence.
#include "nn/lstm.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "tests/nn/backends.h"

namespace neuroshard::nn {

BOOST_AUTO_TEST_SUITE(lstm)

namespace {

using Numbers = std::vector<double>;

double sigmoid_of(double value) { return 1 / (1 + std::exp(-value)); }

/// Hidden values of all steps, as the definition has them.
Numbers hidden_of(const LstmSpec& spec, const Numbers& parameters, const Numbers& x) {
  const auto inputs = static_cast<std::size_t>(spec.inputs);
  const auto units = static_cast<std::size_t>(spec.units);
  const double* const bias = parameters.data() + 4 * units * inputs;
  const double* const recurrent = bias + 4 * units;
  Numbers hidden(units);
  Numbers cell(units);
  Numbers all;
  for (std::size_t t = 0; t < x.size() / inputs; ++t) {
    Numbers z(bias, bias + 4 * units);
    for (std::size_t gate = 0; gate < 4 * units; ++gate) {
      for (std::size_t i = 0; i < inputs; ++i) {
        z[gate] += parameters[gate * inputs + i] * x[t * inputs + i];
      }
      for (std::size_t u = 0; u < units; ++u) z[gate] += recurrent[gate * units + u] * hidden[u];
    }
    for (std::size_t u = 0; u < units; ++u) {
      cell[u] = sigmoid_of(z[units + u]) * cell[u] + sigmoid_of(z[u]) * std::tanh(z[2 * units + u]);
      hidden[u] = sigmoid_of(z[3 * units + u]) * std::tanh(cell[u]);
    }
    all.insert(all.end(), hidden.begin(), hidden.end());
  }
  return all;
}

/// A sequence, and what the gradients are of: its hidden values times some weights.
struct Sequence {
  Sequence(std::uint64_t seed, const LstmSpec& shape, std::int64_t length)
      : spec(shape), steps(length), rng(seed) {
    parameters = random_values(rng, static_cast<std::int64_t>(parameter_count(spec)));
    x = random_values(rng, steps * spec.inputs);
    slopes = random_values(rng, steps * spec.units);
  }
  [[nodiscard]] double objective(const Numbers& values, const Numbers& inputs) const {
    const Numbers hidden = hidden_of(spec, values, inputs);
    double sum = 0;
    for (std::size_t k = 0; k < hidden.size(); ++k) sum += hidden[k] * slopes[k];
    return sum;
  }

  LstmSpec spec;
  std::int64_t steps;
  Rng rng;
  std::vector<float> parameters;
  std::vector<float> x;
  std::vector<float> slopes;
};

/// Central differences by each of `values`.
template <typename Function>
Numbers slopes_of(const Function& function, Numbers values) {
  Numbers slopes;
  for (double& value : values) {
    const double middle = value;
    value = middle + 1e-5;
    const double up = function(values);
    value = middle - 1e-5;
    const double down = function(values);
    value = middle;
    slopes.push_back((up - down) / 2e-5);
  }
  return slopes;
}

void expect_near(const float* found, const Numbers& expected, double tolerance) {
  for (std::size_t k = 0; k < expected.size(); ++k) {
    BOOST_REQUIRE_MESSAGE(
        std::fabs(found[k] - expected[k]) <= tolerance * (1 + std::fabs(expected[k])),
        "at " << k << ": " << found[k] << ", expected " << expected[k]);
  }
}

const std::vector<Sequence>& sequences() {
  static const std::vector<Sequence> list{
      {1, {5, 3}, 7}, {2, {8, 16}, 4}, {3, {11, 8}, 1}, {4, {1, 1}, 9}};
  return list;
}

}  // namespace

BOOST_AUTO_TEST_CASE(hidden_values_are_those_of_the_definition) {
  for (const Backend* const backend : usable_backends()) {
    for (const Sequence& one : sequences()) {
      Lstm layer(*backend, one.spec);
      BOOST_REQUIRE(layer.reserve(one.steps, false).ok());
      expect_near(layer.forward(one.parameters.data(), one.steps, one.x.data()),
                  hidden_of(one.spec, {one.parameters.begin(), one.parameters.end()},
                            {one.x.begin(), one.x.end()}),
                  2e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_through_time_are_those_of_finite_differences) {
  for (const Backend* const backend : usable_backends()) {
    for (const Sequence& one : sequences()) {
      Lstm layer(*backend, one.spec);
      BOOST_REQUIRE(layer.reserve(one.steps, true).ok());
      layer.forward(one.parameters.data(), one.steps, one.x.data());
      std::copy(one.slopes.begin(), one.slopes.end(), layer.output_gradient());
      std::vector<float> d_parameters(one.parameters.size(), 9.0f);
      std::vector<float> dx(one.x.size(), 9.0f);
      layer.backward(one.parameters.data(), one.steps, one.x.data(), d_parameters.data(),
                     dx.data());
      const Numbers parameters(one.parameters.begin(), one.parameters.end());
      const Numbers x(one.x.begin(), one.x.end());
      expect_near(
          d_parameters.data(),
          slopes_of([&](const Numbers& values) { return one.objective(values, x); }, parameters),
          1e-5);
      expect_near(
          dx.data(),
          slopes_of([&](const Numbers& values) { return one.objective(parameters, values); }, x),
          1e-5);
    }
  }
}

BOOST_AUTO_TEST_CASE(steps_of_every_instruction_set_are_those_of_the_reference) {
  Rng rng(5);
  for (const int units : {8, 24, 32, 5}) {
    const auto size = static_cast<std::size_t>(units);
    // Gates from nearly closed to nearly open, and some beyond where exp() ends.
    for (const float scale : {0.1f, 3.0f, 40.0f, 1000.0f}) {
      std::vector<float> turned = random_values(rng, std::int64_t{4} * units * units);
      std::vector<float> projected = random_values(rng, std::int64_t{4} * units);
      for (float& value : projected) value *= scale;
      const std::vector<float> hidden = random_values(rng, units);
      const std::vector<float> cell = random_values(rng, units);
      const auto stepped = [&](Isa isa) {
        std::vector<float> all = hidden;
        all.insert(all.end(), cell.begin(), cell.end());
        all.resize(6 * size);
        run({units, turned.data(), projected.data(), all.data(), all.data() + size,
             all.data() + 2 * size},
            isa);
        return all;
      };
      const std::vector<float> reference = stepped(Isa::kScalar);
      for (const Isa isa : usable_isas()) {
        expect_near(stepped(isa).data(), {reference.begin(), reference.end()}, 1e-6);
        if (isa == Isa::kAvx512) BOOST_TEST(stepped(isa) == stepped(Isa::kAvx2));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(steps_one_by_one_are_the_sequence) {
  for (const Backend* const backend : usable_backends()) {
    for (const Sequence& one : sequences()) {
      Lstm layer(*backend, one.spec);
      BOOST_REQUIRE(layer.reserve(one.steps, false).ok());
      const float* const whole = layer.forward(one.parameters.data(), one.steps, one.x.data());
      const auto units = static_cast<std::size_t>(one.spec.units);
      std::vector<float> hidden(units);
      std::vector<float> cell(units);
      std::vector<float> projected(4 * units);
      std::vector<float> gates(4 * units);
      std::vector<float> turned(4 * units * units);
      turn_recurrent(one.spec, one.parameters.data(), turned.data());
      for (std::size_t t = 0; t < static_cast<std::size_t>(one.steps); ++t) {
        const auto inputs = static_cast<std::size_t>(one.spec.inputs);
        backend->run(DenseForward{.rows = 1,
                                  .spec = {one.spec.inputs, 4 * one.spec.units, Activation::kNone},
                                  .x = one.x.data() + t * inputs,
                                  .weight = one.parameters.data(),
                                  .bias = one.parameters.data() + 4 * units * inputs,
                                  .y = projected.data()});
        run(LstmStep{.units = one.spec.units,
                     .turned = turned.data(),
                     .projected = projected.data(),
                     .hidden = hidden.data(),
                     .cell = cell.data(),
                     .gates = gates.data()});
        expect_near(hidden.data(), {whole + t * units, whole + (t + 1) * units}, 1e-6);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::nn
