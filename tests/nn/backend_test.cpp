// Every operation of every backend against the scalar reference, on random shapes whose widths
// leave tails of every length.
#include "nn/backend.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/nn/backends.h"

namespace neuroshard::nn {
namespace {

using Values = std::vector<float>;

// Products and sums in another order differ by rounding: at most a few units in the last place of
// the sum of magnitudes, which the scalar backend computes from absolute values.
constexpr double kSumTolerance = 2e-6;

Values magnitudes(Values values) {
  for (float& value : values) value = std::fabs(value);
  return values;
}

void check_close(const Values& found, const Values& expected, const Values& scale) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double allowed = kSumTolerance * (1e-3 + std::fabs(scale[i]));
    BOOST_REQUIRE_MESSAGE(std::fabs(found[i] - expected[i]) <= allowed,
                          "at " << i << ": " << found[i] << ", expected " << expected[i]);
  }
}

struct Shape {
  std::int64_t rows;
  DenseSpec spec;
};

std::vector<Shape> shapes(Rng& rng) {
  std::vector<Shape> list;
  for (const auto& [inputs, outputs] : {std::pair{20, 128},
                                        {22, 128},
                                        {128, 32},
                                        {32, 64},
                                        {64, 1},
                                        {16, 128},
                                        {16, 8},
                                        {300, 4}}) {
    list.push_back({rng.between(1, 70), {inputs, outputs, Activation::kRelu}});
  }
  for (int k = 0; k < 60; ++k) {
    const auto width = [&] { return static_cast<int>(rng.between(1, 40)); };
    list.push_back({rng.between(0, 40),
                    {width(), width(), k % 2 == 0 ? Activation::kRelu : Activation::kNone}});
  }
  return list;
}

struct Layer {
  Layer(const Shape& shape, Rng& rng)
      : x(random_values(rng, shape.rows * shape.spec.inputs)),
        weight(random_values(rng, std::int64_t{shape.spec.inputs} * shape.spec.outputs)),
        bias(random_values(rng, shape.spec.outputs)),
        dy(random_values(rng, shape.rows * shape.spec.outputs)) {}
  Values x, weight, bias, dy;
};

Values forward(const Backend& backend, const Shape& shape, const Layer& layer) {
  // One guard value at the end: kernels may not write past it.
  Values y(layer.dy.size() + 1, 77.0f);
  backend.run(DenseForward{shape.rows, shape.spec, layer.x.data(), layer.weight.data(),
                           layer.bias.data(), y.data()});
  BOOST_TEST(y.back() == 77.0f);
  y.pop_back();
  return y;
}

struct Gradients {
  Values weight, bias, x;
};

Gradients backward(const Backend& backend, const Shape& shape, const Layer& layer,
                   Activation gate) {
  Gradients g{layer.weight, layer.bias, Values(layer.x.size())};
  for (Values* values : {&g.weight, &g.bias, &g.x}) values->push_back(77.0f);
  backend.run(DenseBackward{shape.rows, shape.spec, layer.x.data(), layer.weight.data(),
                            layer.dy.data(), g.weight.data(), g.bias.data(), gate, g.x.data()});
  for (Values* values : {&g.weight, &g.bias, &g.x}) {
    BOOST_TEST(values->back() == 77.0f);
    values->pop_back();
  }
  return g;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(backend)

BOOST_AUTO_TEST_CASE(dense_layers_agree_with_the_reference) {
  Rng rng(1);
  const Backend& reference = cpu_backend(Isa::kScalar);
  for (const Backend* tested : usable_backends()) {
    for (const Shape& shape : shapes(rng)) {
      const Layer layer(shape, rng);
      Layer absolute = layer;
      for (Values* v : {&absolute.x, &absolute.weight, &absolute.bias, &absolute.dy}) {
        *v = magnitudes(*v);
      }
      check_close(forward(*tested, shape, layer), forward(reference, shape, layer),
                  forward(reference, shape, absolute));
      for (const Activation gate : {Activation::kNone, Activation::kRelu}) {
        const Gradients found = backward(*tested, shape, layer, gate);
        const Gradients expected = backward(reference, shape, layer, gate);
        const Gradients scale = backward(reference, shape, absolute, gate);
        check_close(found.weight, expected.weight, scale.weight);
        check_close(found.bias, expected.bias, scale.bias);
        check_close(found.x, expected.x, scale.x);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(segment_sums_agree_with_the_reference_and_empty_sets_give_zeros) {
  Rng rng(2);
  for (const Backend* tested : usable_backends()) {
    for (int width = 1; width <= 40; ++width) {
      std::vector<std::int32_t> offsets{0};
      for (int s = 0; s < 9; ++s) {
        offsets.push_back(offsets.back() + static_cast<std::int32_t>(rng.between(0, 4)));
      }
      offsets.push_back(offsets.back());  // an empty set for certain
      const Values x = random_values(rng, std::int64_t{offsets.back()} * width);
      Values found(10 * static_cast<std::size_t>(width), 5.0f);
      Values expected = found;
      tested->run(SegmentSum{10, width, offsets.data(), x.data(), found.data()});
      cpu_backend(Isa::kScalar)
          .run(SegmentSum{10, width, offsets.data(), x.data(), expected.data()});
      BOOST_TEST(found == expected, boost::test_tools::per_element());  // one order: equal bits
      for (int j = 0; j < width; ++j)
        BOOST_TEST(found[9 * static_cast<std::size_t>(width) + static_cast<std::size_t>(j)] ==
                   0.0f);
    }
  }
}

BOOST_AUTO_TEST_CASE(relu_adam_and_averages_agree_with_the_reference) {
  Rng rng(3);
  const Backend& reference = cpu_backend(Isa::kScalar);
  for (const Backend* tested : usable_backends()) {
    for (std::int64_t count = 0; count <= 33; ++count) {
      const Values y = random_values(rng, count);
      Values found = random_values(rng, count);
      Values expected = found;
      tested->run(ReluBackward{count, y.data(), found.data()});
      reference.run(ReluBackward{count, y.data(), expected.data()});
      BOOST_TEST(found == expected, boost::test_tools::per_element());

      struct State {
        Values p, m, v, average;
      };
      State a{random_values(rng, count), random_values(rng, count),
              magnitudes(random_values(rng, count)), random_values(rng, count)};
      State b = a;
      for (std::int64_t step = 1; step <= 5; ++step) {
        const Values g = random_values(rng, count);
        for (auto& [backend, s] : {std::pair{tested, &a}, {&reference, &b}}) {
          Adam adam{.count = count,
                    .step = step,
                    .decay = 0.1f,
                    .gradient = g.data(),
                    .parameter = s->p.data(),
                    .m = s->m.data(),
                    .v = s->v.data()};
          backend->run(adam);
          backend->run(MovingAverage{count, 0.9f, s->p.data(), s->average.data()});
        }
      }
      for (std::int64_t i = 0; i < count; ++i) {
        const auto k = static_cast<std::size_t>(i);
        BOOST_TEST(std::fabs(a.p[k] - b.p[k]) <= 1e-6);
        BOOST_TEST(std::fabs(a.average[k] - b.average[k]) <= 1e-6);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(adam_takes_the_published_first_step) {
  // m = 0.1 g, v = 0.001 g^2, both corrected to g and g^2: the step is rate * sign(g).
  for (const Backend* tested : usable_backends()) {
    Values p{1.0f, 1.0f}, m(2), v(2);
    const Values g{4.0f, -0.5f};
    tested->run(Adam{.count = 2,
                     .step = 1,
                     .rate = 0.01f,
                     .gradient = g.data(),
                     .parameter = p.data(),
                     .m = m.data(),
                     .v = v.data()});
    BOOST_TEST(p[0] == 0.99f, boost::test_tools::tolerance(1e-6f));
    BOOST_TEST(p[1] == 1.01f, boost::test_tools::tolerance(1e-6f));
  }
}

BOOST_AUTO_TEST_CASE(the_environment_forces_a_backend_and_unknown_names_are_errors) {
  const char* before = std::getenv("NEUROSHARD_BACKEND");
  const std::string saved = before != nullptr ? before : "";
  setenv("NEUROSHARD_BACKEND", "scalar", 1);
  const auto forced = select_backend();
  BOOST_REQUIRE(forced.ok());
  BOOST_TEST((*forced)->name() == "scalar");
  setenv("NEUROSHARD_BACKEND", "quantum", 1);
  const auto unknown = select_backend();
  BOOST_REQUIRE(!unknown.ok());
  BOOST_TEST((unknown.status().code() == StatusCode::kInvalidInput));
  BOOST_TEST(unknown.status().message().find("quantum") != std::string::npos);
  BOOST_TEST(unknown.status().message().find("avx512, avx2, neon, scalar") != std::string::npos);
  if (before != nullptr) {
    setenv("NEUROSHARD_BACKEND", saved.c_str(), 1);
  } else {
    unsetenv("NEUROSHARD_BACKEND");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::nn
