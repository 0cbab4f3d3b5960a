#pragma once

// What the tests of the training backends share.
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <vector>

#include "engine/core/rng.h"
#include "nn/backend.h"
#include "nn/trainer.h"

namespace neuroshard::nn {

/// Every instruction set of this processor.
inline std::vector<Isa> usable_isas() {
  std::vector<Isa> result;
  for (const IsaInfo& info : isa_list()) {
    if (info.supported()) {
      result.push_back(info.isa);
    } else {
      BOOST_TEST_MESSAGE("skipped: this processor has no " << info.name);
    }
  }
  return result;
}

/// Every CPU backend this processor can run, the scalar reference first.
inline std::vector<const Backend*> usable_backends() {
  std::vector<const Backend*> backends{&cpu_backend(Isa::kScalar)};
  for (const Isa isa : usable_isas()) {
    if (isa != Isa::kScalar) backends.push_back(&cpu_backend(isa));
  }
  return backends;
}

/// Uniform in [-1, 1): no library function is involved, so the same on every machine.
inline std::vector<float> random_values(Rng& rng, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(2 * rng.uniform() - 1);
  return values;
}

/// The paper's network with other widths: odd ones, so that every kernel has a tail.
inline SetNetworkSpec small_set_network() {
  const int encoder[] = {5, 11, 7};
  const int head[] = {7, 9, 1};
  return {dense_stack(encoder, Activation::kRelu), dense_stack(head, Activation::kNone)};
}

/// A stack without an encoder and several outputs, like a communication network.
inline SetNetworkSpec small_dense_network() {
  const int head[] = {6, 13, 5, 3};
  return {{}, dense_stack(head, Activation::kNone)};
}

inline std::vector<float> random_parameters(const SetNetworkSpec& spec, Rng& rng) {
  std::vector<float> parameters;
  for (const auto* layers : {&spec.encoder, &spec.head}) {
    Mlp mlp(*layers);
    initialize(mlp, rng);
    parameters.insert(parameters.end(), mlp.parameters().begin(), mlp.parameters().end());
  }
  return parameters;
}

/// Ragged sets of `least`..15 of `rows` feature rows; one member each without an encoder.
inline SetSamples random_samples(const SetNetworkSpec& spec, std::int64_t rows, int count,
                                 int least, Rng& rng) {
  SetSamples samples;
  for (int s = 0; s < count; ++s) {
    const std::int64_t size = spec.encoder.empty() ? 1 : rng.between(least, 15);
    std::vector<std::int32_t> members;
    for (std::int64_t k = 0; k < size; ++k) {
      members.push_back(static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(rows))));
    }
    samples.add(members, random_values(rng, spec.outputs()));
  }
  return samples;
}

inline std::vector<std::int32_t> first_ids(std::int64_t count) {
  std::vector<std::int32_t> ids;
  for (std::int32_t i = 0; i < count; ++i) ids.push_back(i);
  return ids;
}

}  // namespace neuroshard::nn
